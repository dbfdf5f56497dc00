"""One operator, one record.

A record says everything about an operator in one place; the function, the method, `op_`, `out=`,
the meta run, the kernels, the derivative and the tests follow from it. Kinds differ in how a
*program* (results, and the stages that fill them) comes from the arguments: `operators.kinds`.

Derivatives. `backward` maps a tensor argument to a formula whose parameter names say what it
reads, and thereby what the tape keeps:

    grad            the gradient of the result (grads: of all results, as a tuple)
    result          the result (result0, result1 ...: one of several)
    an argument     its value (a saved tensor, or the number or static argument as given)
    NAME_spec       the Spec of a tensor argument; keeps no tensor
    ops             the tensor operators, for formulas that call them
    needs           tuple of bool: which tensor arguments want a gradient

An elementwise record's formulas are kernel bodies over expressions; elsewhere they call `ops`.
A key that is a tuple of argument names has one formula that gives a tuple.

A composite with formulas is *explicit*: one node of the tape, not those of its parts. Its formulas
may do what its body did once more, to keep no more than its operands.

Complex numbers. A gradient is the conjugate of the derivative, so formulas of holomorphic
functions, written for real numbers, get the conjugate of `grad` and give the conjugate of the
gradient; a record with `holomorphic=False` has formulas that see the gradients themselves.
Records of the kinds that move data, and products, take complex operands; others where `takes`
has a "c".

Autocast. `autocast` is the class of the operator under `torch.autocast("cpu")`: "lower" (its
tensors are cast to the lower precision), "float32" (halves are widened), "promote" (all go to
the widest dtype among them), "given" (a composite whose parts run without autocast), "told"
(such a one that widens its first argument as it reads it: its last argument tells the dtype of
the result, halves between are widened) or "" (it takes what comes, and so do its parts).

Memory. Results lie as PyTorch's do: `core.memory_formats` has its rules, by name. An elementwise
record whose results do not follow its operands says so with `strides`, a function of the first
operand's spec. `overlap` and `stretched` are about targets of writes: how they may meet operands
(see `meets`), and whether they may be expanded tensors.

Tests. `tests/support/operator_cases.py` makes arguments from the schema and the kind. What it
cannot guess stands here: `domain`, the interval that values are drawn from (or one for each
argument that needs its own), and `samples(make)`, which gives tuples of arguments in the schema's
order, with `make(*shape)`, `make.integers(*shape, low=, high=)` and `make.truths(*shape)`.
"""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from ..base.caching import once
from .schema import Schema, parse

RECORDS: dict[str, Record] = {}
ALIASES: dict[str, Record] = {}
BY_NUMBER: list[Record] = []
#: Called with the names of each method that is declared from now on.
followers: list[Callable[[tuple[str, ...]], None]] = []

Formula = Callable[..., Any]


@dataclass(eq=False)
class Record:
    """The declaration of an operator. See the module's docstring; kinds add what they need."""

    text: str
    kind: str
    body: Formula | None = None
    program: Callable[..., Any] | None = None
    composite: Formula | None = None
    backward: dict[Any, Formula] | str | None = None
    dtype: Any = "promote"
    takes: str = "bif"  # dtypes it has kernels for: bool, integers, floats, complex
    holomorphic: bool = True
    no_complex: str = ""  # what PyTorch says instead of naming a kernel
    kernel: str = ""  # what PyTorch's message calls the kernel that lacks a dtype
    numbers: tuple[str, ...] | None = None  # tensor arguments that may be numbers (`other`)
    steps: bool = False  # the body takes `narrow`, which rounds a step of it to a half type
    in_range: bool = False  # integers refuse numbers beyond their range (elementwise)
    exact: tuple[str, ...] = ()  # arguments whose numbers and 0-dim tensors half types do not round
    fold: str = ""
    final: Formula | None = None
    view: Formula | None = None
    inplace: bool = False
    out: bool = False
    method: bool = True
    function: bool = True
    methods: tuple[str, ...] = ()
    aliases: tuple[str, ...] = ()
    autocast: str = ""
    holds: Formula | None = None  # what must be true of the operands at every point, or `fail`
    fail: Callable[[int], None] | None = None  # raises; gets the first operand's value there
    domain: Any = (-2.0, 2.0)
    samples: Formula | None = None
    overlap: str = ""  # how a written tensor may meet operands; see `meets`
    stretched: str = ""  # targets of stride 0: refused, "allowed", or named in a warning
    strides: Formula | None = None  # of results that do not lie as the operands do (elementwise)
    forms: str = ""  # the signatures that PyTorch lists where none of several fits
    keeps_views: bool = False  # PyTorch's derivative reads views of the operands made at the call
    keeps_more: bool = False  # PyTorch's node keeps a tensor where the formulas here read none
    counts_absent: bool = False  # a tensor that was not given is an edge of the tape's node
    derived_from: Record | None = None
    node_name: str | Callable[[Any], str] = ""
    twice: str = "MulBackward0"  # PyTorch's name of the node of its derivative (elementwise)
    carriers: int | None = None  # leading results that carry gradients (all)
    doc: str = ""
    number: int = -1
    plans: dict[Any, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.name = self.text.partition("(")[0]
        if self.numbers is None:
            self.numbers = ("other",) if self.kind == "elementwise" else ()
        self.number = len(BY_NUMBER)
        BY_NUMBER.append(self)

    def __repr__(self) -> str:
        return f"<record {self.name}: {self.kind}>"

    @once
    def schema(self) -> Schema:
        return parse(self.text)

    @once
    def modes(self) -> str:
        """Per argument: T tensor or number, L tensors, S run-time number, X part of the key."""
        codes = {"Tensor": "T", "Tensor[]": "L", "Scalar": "S", "float": "S"}
        return "".join(codes.get(p.type, "X") for p in self.schema.parameters)

    @once
    def spread(self) -> int:
        """Position of the argument that a method call may spread (`view(2, 3)`), or -1."""
        name = self.schema.variadic
        return self.schema.index(name) if name else -1

    @once
    def tensors(self) -> tuple[int, ...]:
        """Positions of the arguments that hold tensors."""
        return tuple(k for k, p in enumerate(self.schema.parameters)
                     if p.type in ("Tensor", "Tensor[]"))

    @once
    def meets(self) -> str:
        """How memory that is written may meet that of other operands: "same" means element on
        element or not at all, "none" not at all, "any" is for what PyTorch does not look at."""
        return self.overlap or {"contraction": "any", "library": "any", "reduce": "any",
                                "gather": "none", "scatter": "none"}.get(self.kind, "same")

    @property
    def counts_numbers(self) -> bool:
        """Whether a number in the place of a tensor is an edge of the tape's node, as PyTorch has
        it: there, such a number is made a tensor."""
        return self.name == "select_where" or self.kind == "elementwise" and self.name not in (
            "rsub", "remainder", "fmod", "lerp", "clamp", "floor_divide", "pow_general", "xlogy",
            "special_xlog1py", "copysign", "clamp_min", "clamp_max")

    def saved_names(self, wanted: set[str]) -> list[str]:
        """Names that the formulas for these arguments read: what the tape must keep."""
        if self.backward == "derive":
            return [p.name for p in self.schema.parameters if p.is_tensor]
        names: dict[str, None] = {}
        for key, formula in (self.backward or {}).items():  # type: ignore[union-attr]
            if wanted.intersection((key,) if isinstance(key, str) else key):
                names.update(dict.fromkeys(reads(formula)))
        return [n for n in names if n not in ("ops", "grad", "grads", "needs")
                and not n.endswith("_spec")]

    def lacks(self, shown: str) -> NotImplementedError:
        """The error for a dtype without a kernel; `shown`: as in 'Long'."""
        if self.no_complex and shown.startswith("Complex"):
            return NotImplementedError(self.no_complex)
        kernel = self.kernel or f"{self.name.strip('_')}_cpu"
        return NotImplementedError(f'"{kernel}" not implemented for \'{shown}\'')

    @once
    def grad_name(self) -> str:
        """PyTorch's name of the tape node: `add` gives AddBackward0, `log1p` Log1PBackward0."""
        if isinstance(self.node_name, str) and self.node_name:
            return self.node_name
        made = "".join(part.capitalize() if not part[:1].isupper() else part
                       for part in self.name.strip("_").split("_"))
        return re.sub(r"\d[a-z]", lambda pair: pair[0].upper(), made) + "Backward0"

    def grad_name_of(self, plan: Any) -> str:
        """The name of the tape node of a plan, where it depends on the operands' ranks."""
        return self.node_name(plan) if callable(self.node_name) else self.grad_name


@lru_cache(4096)
def reads(formula: Formula) -> tuple[str, ...]:
    """The parameter names of a formula."""
    return tuple(inspect.signature(formula).parameters)


def _declaring_module() -> dict[str, Any]:
    """The namespace of the module that is being executed: a new one each time it is imported."""
    frame: Any = sys._getframe(2)
    while frame.f_code.co_name != "<module>" and frame.f_back is not None:
        frame = frame.f_back
    return frame.f_globals  # type: ignore[no-any-return]


_HOMES: dict[str, dict[str, Any]] = {}


def register(record: Record) -> Record:
    """Enter a record under its name.

    A module whose import was broken off is executed again, and declares its records again.
    """
    home = _declaring_module()
    earlier = _HOMES.setdefault(record.name, home)
    if earlier is not home and earlier["__name__"] != home["__name__"] or \
            earlier is home and record.name in RECORDS:
        raise ValueError(f"[operators] two records are called {record.name!r}")
    _HOMES[record.name] = home
    RECORDS[record.name] = record
    ALIASES.update(dict.fromkeys(record.aliases, record))
    if record.method and record.derived_from is None:
        for follower in followers:
            follower((record.name, *record.aliases))
    return record
