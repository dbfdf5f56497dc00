"""The trie of recordings: edges are calls, nodes hold the programs that end there.

The key of an edge is the call's plan and what its operands are: the number of each storage in
order of first sight, and where in it the operand begins. So two runs that take the same edges do
the same work on storages that share memory in the same way, and need no planning.
"""

from __future__ import annotations

import ctypes

from ..runtime.plan import NUMBER, Plan
from .program import Entry, Operand, Program, build

MOST_NODES = 1 << 15  # of one function; then its trie starts anew


class Node:
    """One recorded call after those of its parents.

    block: what native code compares the next call with: address of the likeliest child's block,
    length of this node's key, the key.
    """

    __slots__ = ("parent", "children", "entry", "sizes", "numbers", "values", "block", "address",
                 "programs", "new", "after", "latest")

    def __init__(self, parent: Node | None, key: bytes, entry: Entry | None,
                 sizes: dict[int, int], numbers: int, values: int) -> None:
        self.parent = parent
        self.children: dict[bytes, Node] = {}
        self.entry = entry
        self.sizes = sizes  # bytes of the new storages that this call makes
        self.numbers = numbers  # storages seen up to here
        self.values = values  # run-time values up to here
        words = memoryview(key).cast("q").tolist()
        self.block = (ctypes.c_int64 * (2 + len(words)))(0, len(words), *words)
        self.address = ctypes.addressof(self.block)
        self.programs: dict[tuple[int, ...], Program] = {}
        self.latest: Program | None = None  # the one that ran last: the likeliest to run next
        self.after: Node | None = None  # where recording goes on after a break here
        self.new: tuple[int, ...] = (*parent.new, *sizes) if parent is not None else ()

    def path(self) -> list[Node]:
        """The nodes from the first call to this one."""
        found: list[Node] = []
        node = self
        while node.parent is not None:
            found.append(node)
            node = node.parent
        found.reverse()
        return found

    def program(self, live: tuple[int, ...]) -> Program:
        """What computes the new storages in `live`, and every write to earlier ones."""
        found = self.programs.get(live)
        if found is None:
            path = self.path()
            sizes = {n: nbytes for node in path for n, nbytes in node.sizes.items()}
            entries = [node.entry for node in path if node.entry is not None]
            found = self.programs[live] = build(entries, live, sizes, self.numbers)
        self.latest = found
        return found


class Trie:
    """The recordings of one function."""

    def __init__(self) -> None:
        self.root = _start()
        self.nodes: dict[int, Node] = {self.root.address: self.root}

    def at(self, address: int) -> Node:
        """The node whose block is at an address."""
        return self.nodes[address]

    def branch(self, address: int, key: bytes) -> Node:
        """The node after a call; made when the call is new there."""
        node = self.nodes[address]
        child = node.children.get(key)
        if child is None:
            child = node.children[key] = _child(node, key)
            self.nodes[child.address] = child
        node.block[0] = child.address
        return child

    def resumed(self, node: Node) -> Node:
        """Where recording goes on after what led to a node has run: numbering starts anew."""
        if node.after is None:
            if len(self.nodes) >= MOST_NODES:
                return self.root
            node.after = _start()
            self.nodes[node.after.address] = node.after
        return node.after

    def bounded(self) -> Trie:
        """This trie, or an empty one in its place when it has grown too large."""
        return self if len(self.nodes) < MOST_NODES else Trie()


def _start() -> Node:
    return Node(None, b"", None, {}, 0, 0)


def _child(node: Node, key: bytes) -> Node:
    words = memoryview(key).cast("q").tolist()
    plan: Plan = ctypes.cast(words[0], ctypes.py_object).value
    numbers, values = node.numbers, node.values
    operands = []
    for number, offset in zip(words[1::2], words[2::2], strict=True):
        numbers = max(numbers, number + 1)
        if offset < 0:
            operands.append(Operand(number, 0, -1 - offset))
            values = max(values, -offset)
        else:
            operands.append(Operand(number, offset, -1))
    sizes: dict[int, int] = {}
    if not plan.inplace:
        sizes = {numbers + k: spec.nbytes for k, spec in enumerate(plan.results)}
    entry = Entry(plan, tuple(operands), tuple(sizes), values)
    return Node(node, key, entry, sizes, numbers + len(sizes), values + 2 * scalars(plan))


def scalars(plan: Plan) -> int:
    """How many run-time numbers a call of this plan has."""
    return sum(value is NUMBER for value in plan.values)
