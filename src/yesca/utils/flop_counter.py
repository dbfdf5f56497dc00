"""`torch.utils.flop_counter`: how many floating point operations products and convolutions take.

The formulas count a multiplication and an addition as two. What has no formula counts for nothing,
as in PyTorch: attention on the CPU (`_scaled_dot_product_flash_attention_for_cpu`) is among it, and
`custom_mapping` or `register_flop_formula` gives it one.
"""

from __future__ import annotations

import functools
import math
from collections import defaultdict
from collections.abc import Callable, Iterable
from typing import Any

from .._ops import OpOverloadPacket, ops
from ..base import absent
from ..base.frames import warn
from ..core.tensor_base import TensorBase
from ._pytree import tree_map
from ._python_dispatch import TorchDispatchMode
from .module_tracker import ModuleTracker

__all__ = ["FlopCounterMode", "register_flop_formula"]

aten = ops.aten
#: Packet of an operator -> its formula, which takes the call's arguments and `out_val`.
flop_registry: dict[Any, Callable[..., Any]] = {}
suffixes = ["", "K", "M", "B", "T"]


def get_shape(i: Any) -> Any:
    """The shape of a tensor; other values as they are."""
    return i.shape if isinstance(i, TensorBase) else i


def shape_wrapper(f: Callable[..., Any]) -> Callable[..., Any]:
    """A formula of shapes as one of tensors."""
    @functools.wraps(f)
    def wrapped(*args: Any, out_val: Any = None, **kwargs: Any) -> Any:
        given, named, out = tree_map(get_shape, (args, kwargs, out_val))
        return f(*given, out_shape=out, **named)

    return wrapped


def register_flop_formula(targets: Any, get_raw: bool = False) -> Callable[[Any], Any]:
    """Decorates a formula: it gives the operations of one call of an operator, or of several ones.

    Args:
        targets: `torch.ops.namespace.name`, or a list of such packets.
        get_raw: the formula takes the tensors and `out_val`; by default it takes their shapes and
            `out_shape`.

    Raises ValueError for what is no packet, RuntimeError for one that has a formula.

    >>> import yesca as torch
    >>> @register_flop_formula(torch.ops.aten.cumsum)
    ... def cumsum_flop(shape, dim, *args, out_shape=None, **kwargs):
    ...     return shape[0] * shape[1]
    >>> with FlopCounterMode(display=False) as counter:
    ...     _ = torch.ones(2, 3).cumsum(1)
    >>> counter.get_total_flops(), flop_registry.pop(torch.ops.aten.cumsum) is not None
    (6, True)
    """
    def enter(formula: Callable[..., Any]) -> Callable[..., Any]:
        made = formula if get_raw else shape_wrapper(formula)
        for target in targets if isinstance(targets, (list, tuple)) else (targets,):
            if not isinstance(target, OpOverloadPacket):
                raise ValueError(
                    "register_flop_formula(targets): expected each target to be OpOverloadPacket "
                    f"(i.e. torch.ops.mylib.foo), got {target} which is of type {type(target)}")
            if target in flop_registry:
                raise RuntimeError(f"duplicate registrations for {target}")
            flop_registry[target] = made
        return formula

    return enter


# ---- formulas ----------------------------------------------------------------------------------

@register_flop_formula(aten.mm)
def mm_flop(a_shape: Any, b_shape: Any, *args: Any, out_shape: Any = None, **kwargs: Any) -> int:
    """(m, k) @ (k, n)."""
    return int(2 * a_shape[0] * a_shape[1] * b_shape[1])


@register_flop_formula(aten.addmm)
def addmm_flop(self_shape: Any, a_shape: Any, b_shape: Any, out_shape: Any = None, **kwargs: Any
               ) -> int:
    """(m, k) @ (k, n); the sum is not counted."""
    return mm_flop(a_shape, b_shape)


@register_flop_formula(aten.bmm)
def bmm_flop(a_shape: Any, b_shape: Any, out_shape: Any = None, **kwargs: Any) -> int:
    """(b, m, k) @ (b, k, n)."""
    return int(2 * math.prod(a_shape) * b_shape[2])


@register_flop_formula(aten.baddbmm)
def baddbmm_flop(self_shape: Any, a_shape: Any, b_shape: Any, out_shape: Any = None, **kwargs: Any
                 ) -> int:
    """(b, m, k) @ (b, k, n); the sum is not counted."""
    return bmm_flop(a_shape, b_shape)


def conv_flop_count(x_shape: Any, w_shape: Any, out_shape: Any, transposed: bool = False) -> int:
    """A convolution of (N, C, ...) by (O, I, ...): every window meets every weight."""
    windows = math.prod((x_shape if transposed else out_shape)[2:])
    return int(2 * x_shape[0] * windows * math.prod(w_shape))


@register_flop_formula([aten.convolution])
def conv_flop(x_shape: Any, w_shape: Any, _bias: Any, _stride: Any, _padding: Any, _dilation: Any,
              transposed: bool, *args: Any, out_shape: Any = None, **kwargs: Any) -> int:
    """As `conv_flop_count`."""
    return conv_flop_count(x_shape, w_shape, out_shape, transposed)


@register_flop_formula(aten.convolution_backward)
def conv_backward_flop(grad_out_shape: Any, x_shape: Any, w_shape: Any, _bias: Any, _stride: Any,
                       _padding: Any, _dilation: Any, transposed: bool, _output_padding: Any,
                       _groups: int, output_mask: Any, out_shape: Any, **kwargs: Any) -> int:
    """The gradients that are wanted: each is a convolution again."""
    def turned(shape: Any) -> list[int]:
        return [shape[1], shape[0], *shape[2:]]

    count = 0
    if output_mask[0]:
        count += conv_flop_count(grad_out_shape, w_shape, out_shape[0], not transposed)
    if output_mask[1]:
        pair = (grad_out_shape, x_shape) if transposed else (x_shape, grad_out_shape)
        count += conv_flop_count(turned(pair[0]), turned(pair[1]), turned(out_shape[1]))
    return count


def _attention_parts(query: Any, key: Any, value: Any) -> tuple[int, int, int, int, int]:
    stacks = query[0] * query[1]
    return stacks, query[2], key[2], query[3], value[3]


def sdpa_flop_count(query_shape: Any, key_shape: Any, value_shape: Any) -> int:
    """Attention of (B, H, T, D): two products of stacks."""
    stacks, rows, keys, width, out = _attention_parts(query_shape, key_shape, value_shape)
    return int(2 * stacks * rows * keys * (width + out))


def sdpa_backward_flop_count(grad_out_shape: Any, query_shape: Any, key_shape: Any,
                             value_shape: Any) -> int:
    """Five products of stacks: the weights again, and the gradients of weights, v, q and k."""
    stacks, rows, keys, width, out = _attention_parts(query_shape, key_shape, value_shape)
    return int(2 * stacks * rows * keys * (3 * width + 2 * out))


def sdpa_flop(query_shape: Any, key_shape: Any, value_shape: Any, *args: Any,
              out_shape: Any = None, **kwargs: Any) -> int:
    """As `sdpa_flop_count`, in the form of a formula."""
    return sdpa_flop_count(query_shape, key_shape, value_shape)


def sdpa_backward_flop(grad_out_shape: Any, query_shape: Any, key_shape: Any, value_shape: Any,
                       *args: Any, out_shape: Any = None, **kwargs: Any) -> int:
    """As `sdpa_backward_flop_count`, in the form of a formula."""
    return sdpa_backward_flop_count(grad_out_shape, query_shape, key_shape, value_shape)


# ---- numbers as text ---------------------------------------------------------------------------

def get_suffix_str(number: int) -> str:
    """The unit that a number is shown in: one to four digits stand before the point."""
    return suffixes[max(0, min(len(suffixes) - 1, (len(str(number)) - 2) // 3))]


def convert_num_with_suffix(number: int, suffix: str) -> str:
    """A number in a unit."""
    power = suffixes.index(suffix)
    return f"{number / 1000 ** power:.3f}{suffix}" if power else f"{number}"


def convert_to_percent_str(num: int, denom: int) -> str:
    """A share of a whole."""
    return f"{num / denom:.2%}" if denom else "0%"


def _table(header: list[str], rows: Iterable[list[str]]) -> str:
    """The first column to the left, the others to the right, a line under the header."""
    lines = [header, *([cell.strip() for cell in row] for row in rows)]
    widths = [max(len(header[k]) + 2, *(len(line[k]) for line in lines))
              for k in range(len(header))]
    lines.insert(1, ["-" * width for width in widths])
    return "\n".join("  ".join([line[0].ljust(widths[0]),
                                *(c.rjust(w) for c, w in zip(line[1:], widths[1:], strict=True))])
                     for line in lines)


# ---- the mode ------------------------------------------------------------------------------------

class FlopCounterMode:
    """Inside, counts operations by module and operator; prints a table at the end.

    Args:
        mods: no longer needed: modules are known as they are called.
        depth: how many levels of modules the table has.
        display: whether the table is printed.
        custom_mapping: further formulas, by packet; they are asked first.

    >>> import yesca as torch
    >>> with FlopCounterMode() as counter:
    ...     _ = torch.nn.Linear(10, 20)(torch.ones(5, 10))
    Module          FLOP    % Total
    ------------  ------  ---------
    Linear          2000    100.00%
    - aten.addmm    2000    100.00%
    """

    def __init__(self, mods: Any = None, depth: int = 2, display: bool = True,
                 custom_mapping: dict[Any, Any] | None = None) -> None:
        self.flop_counts: dict[str, dict[Any, int]] = defaultdict(lambda: defaultdict(int))
        self.depth, self.display = depth, display
        self.mode: _Counter | None = None
        if mods is not None:
            warn("mods argument is not needed anymore, you can stop passing it")
        self.flop_registry = {**flop_registry, **{
            k: v if getattr(v, "_get_raw", False) else shape_wrapper(v)
            for k, v in (custom_mapping or {}).items()}}
        self.mod_tracker = ModuleTracker()

    def get_total_flops(self) -> int:
        """The operations of all calls."""
        return sum(self.flop_counts["Global"].values())

    def get_flop_counts(self) -> dict[str, dict[Any, int]]:
        """Module -> {packet: operations}; "Global" has all."""
        return {name: dict(counts) for name, counts in self.flop_counts.items()}

    def get_table(self, depth: int | None = None) -> str:
        """The table as text; depth: how many levels of modules (default: the mode's own)."""
        depth = self.depth if depth is None else depth
        depth = 999999 if depth is None else depth
        whole = self.get_total_flops()
        suffix = get_suffix_str(whole)

        def rows(name: str) -> list[list[str]]:
            counts = self.flop_counts[name]
            items = [(name, sum(counts.values())),
                     *((f"- {packet}", count) for packet, count in counts.items())]
            return [[shown, convert_num_with_suffix(count, suffix),
                     convert_to_percent_str(count, whole)] for shown, count in items]

        lines: list[list[str]] = []
        subsumed = False
        for name in sorted(self.flop_counts):
            if name == "Global" or name.count(".") + 1 > depth:
                continue
            subsumed = subsumed or sum(self.flop_counts[name].values()) >= whole
            lines += rows(name)
        if "Global" in self.flop_counts and not subsumed:
            lines = rows("Global") + lines
        return _table(["Module", "FLOP", "% Total"], lines or [["Global", "0", "0%"]])

    def __enter__(self) -> FlopCounterMode:
        self.flop_counts.clear()
        self.mod_tracker.__enter__()
        self.mode = _Counter(self)
        self.mode.__enter__()
        return self

    def __exit__(self, *args: Any) -> None:
        assert self.mode is not None
        self.mode.__exit__(*args)
        self.mode = None
        self.mod_tracker.__exit__()
        if self.display:
            print(self.get_table(self.depth))

    def _count_flops(self, func_packet: Any, out: Any, args: tuple[Any, ...],
                     kwargs: dict[str, Any]) -> Any:
        formula = self.flop_registry.get(func_packet)
        if formula is not None:
            count = formula(*args, **kwargs, out_val=out)
            for parent in set(self.mod_tracker.parents):
                self.flop_counts[parent][func_packet] += count
        return out


class _Counter(TorchDispatchMode):
    """What stands in the stack of modes for a counter."""

    def __init__(self, counter: FlopCounterMode) -> None:
        super().__init__()
        self.counter = counter

    def __torch_dispatch__(self, func: Any, types: tuple[type, ...], args: tuple[Any, ...] = (),
                           kwargs: dict[str, Any] | None = None) -> Any:
        kwargs = kwargs or {}
        out = func(*args, **kwargs)
        return self.counter._count_flops(func.overloadpacket, out, args, kwargs)


__getattr__ = absent.names_of(__name__)
