"""How a tensor is written: `repr`, `str`, `format` and the print options.

Everything here works on Python lists. The values are fetched once with `tolist()`; of a tensor that
is summarised only the corners are fetched, through slices, so printing a large tensor costs no more
than printing a small one and never runs an arithmetic kernel. In reading order:

* `PrintOptions`, `set_printoptions`: what the user may choose;
* `NumberStyle`: how one number is written, chosen by looking at all numbers that will be shown;
* `_bracketed`: nested brackets, broken into lines;
* `tensor_repr`, `format_tensor`: the entries, used by `Tensor.__repr__` and `Tensor.__format__`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from typing import Any

from .core.dtypes import float4_e2m1fn_x2, get_default_dtype, uint8
from .dispatch.handlers import takes_over
from .dispatch.state import STATE


@dataclass(slots=True)
class PrintOptions:
    """What `set_printoptions` sets; `sci_mode=None` means: decide by the numbers."""

    precision: int = 4
    threshold: float = 1000
    edgeitems: int = 3
    linewidth: int = 80
    sci_mode: bool | None = None


_PROFILES: dict[str, dict[str, Any]] = {
    "default": {"precision": 4, "threshold": 1000, "edgeitems": 3, "linewidth": 80},
    "short": {"precision": 2, "threshold": 1000, "edgeitems": 2, "linewidth": 80},
    "full": {"precision": 4, "threshold": math.inf, "edgeitems": 3, "linewidth": 80},
}

OPTIONS = PrintOptions()


def set_printoptions(
    precision: int | None = None,
    threshold: float | None = None,
    edgeitems: int | None = None,
    linewidth: int | None = None,
    profile: str | None = None,
    sci_mode: bool | None = None,
) -> None:
    """Choose how tensors are printed, for the whole process.

    Args:
        precision: digits after the decimal point (4).
        threshold: a tensor with more elements than this is summarised (1000).
        edgeitems: how many items a summary shows at each end of a dimension (3).
        linewidth: where rows of numbers are broken (80 characters).
        profile: "default", "short" or "full": sets the four above before they are applied.
        sci_mode: True or False forces or forbids scientific notation. Left out, it is chosen by
            the numbers again, whatever an earlier call said.

    Example:
        >>> import yesca as torch
        >>> torch.set_printoptions(precision=2)
        >>> torch.tensor([3.14159])
        tensor([3.14])
        >>> torch.set_printoptions(profile="default")
    """
    chosen = dict(_PROFILES.get(profile, {})) if profile is not None else {}
    given = {
        "precision": precision,
        "threshold": threshold,
        "edgeitems": edgeitems,
        "linewidth": linewidth,
    }
    chosen.update((name, value) for name, value in given.items() if value is not None)
    for name, value in chosen.items():
        setattr(OPTIONS, name, value)
    OPTIONS.sci_mode = sci_mode


def get_printoptions() -> dict[str, Any]:
    """The options in force, as keyword arguments for `set_printoptions`."""
    return asdict(OPTIONS)


@contextmanager
def printoptions(**options: Any) -> Iterator[None]:
    """Use other print options inside a `with` block."""
    before = get_printoptions()
    set_printoptions(**options)
    try:
        yield
    finally:
        set_printoptions(**before)


# --- one number -----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class NumberStyle:
    """How every number of one tensor is written: `notation` and the width of the column."""

    notation: str  # "exact" (int, bool), "whole" (1.), "fixed" (1.0000) or "scientific"
    width: int
    precision: int

    def text(self, value: float) -> str:
        """The number in its column, as wide as `width` or wider."""
        return self._digits(value).rjust(self.width)

    def _digits(self, value: float) -> str:
        if self.notation == "exact":
            return str(value)
        if self.notation == "scientific":
            return f"{value:.{self.precision}e}"
        if self.notation == "fixed":
            return f"{value:.{self.precision}f}"
        # A point without digits says "this is a float"; inf and nan say so themselves.
        return f"{value:.0f}." if math.isfinite(value) else f"{value:.0f}"


def _exact_style(values: list[Any]) -> NumberStyle:
    return NumberStyle("exact", max(len(str(value)) for value in values), 0)


def _float_style(values: list[float]) -> NumberStyle:
    """The style that the finite nonzero numbers among `values` ask for.

    Zeros, infinities and nans have no say, neither in the notation nor in the width: a column may
    hold a nan that is wider than the column.
    """
    telling = [value for value in values if value and math.isfinite(value)]
    precision = OPTIONS.precision
    if not telling:
        return NumberStyle("whole", 1, precision)
    if _wants_scientific(telling):
        notation = "scientific"
    elif all(value.is_integer() for value in telling):
        notation = "whole"
    else:
        notation = "fixed"
    unaligned = NumberStyle(notation, 0, precision)
    return NumberStyle(notation, max(len(unaligned.text(value)) for value in telling), precision)


def _wants_scientific(telling: list[float]) -> bool:
    if OPTIONS.sci_mode is not None:
        return OPTIONS.sci_mode
    largest, smallest = max(map(abs, telling)), min(map(abs, telling))
    return largest / smallest > 1000 or largest > 1e8 or smallest < 1e-4


def _cell_writer(values: list[Any], dtype: Any) -> tuple[Callable[[Any], str], int]:
    """How to write one element, and the width that line breaking reckons with."""
    if not dtype.is_complex:
        style = _float_style(values) if dtype.is_floating_point else _exact_style(values)
        return style.text, style.width
    real = _float_style([value.real for value in values])
    imaginary = _float_style([value.imag for value in values])

    def complex_text(value: complex) -> str:
        second = imaginary.text(value.imag).lstrip() + "j"
        sign = "" if second.startswith(("-", "+")) else "+"
        return real.text(value.real) + sign + second

    return complex_text, real.width + imaginary.width + 1  # 1: the letter j


# --- the values that will be shown ----------------------------------------------------------------


def _corners(tensor: Any, axis: int, edge: int) -> Any:
    """`tensor.tolist()` without the middle of each dimension longer than `2 * edge`."""
    if axis == len(tensor.shape):
        return tensor.tolist()
    size = tensor.shape[axis]
    if size <= 2 * edge:
        return _corners(tensor, axis + 1, edge)
    outer = (slice(None),) * axis
    head = _corners(tensor[outer + (slice(0, edge),)], axis + 1, edge)
    tail = _corners(tensor[outer + (slice(size - edge, size),)], axis + 1, edge)
    return _joined(head, tail, axis)


def _joined(head: list[Any], tail: list[Any], axis: int) -> list[Any]:
    if axis == 0:
        return head + tail
    return [_joined(first, second, axis - 1) for first, second in zip(head, tail, strict=True)]


def _flattened(nested: Any, rank: int) -> list[Any]:
    if rank == 0:
        return [nested]
    for _ in range(rank - 1):
        nested = [item for part in nested for item in part]
    return nested


# --- brackets and lines ---------------------------------------------------------------------------


def _contents(tensor: Any, indent: int) -> str:
    """The bracketed numbers of a tensor with at least one element."""
    if takes_over(type(tensor)):  # numbers are those of its memory, whatever its class does
        from ._tensor import wrap

        tensor = wrap(tensor._storage, tensor._spec, tensor._offset)
    if tensor.dtype is float4_e2m1fn_x2:  # as the numbers of their bytes
        tensor = tensor.detach().view(uint8).float()
    shape = tuple(tensor.shape)
    edge = OPTIONS.edgeitems
    summarised = math.prod(shape) > OPTIONS.threshold
    if summarised and shape and not edge:
        return "[...]"
    if summarised:
        shown = _corners(tensor.detach(), 0, edge)
        cuts = tuple(edge if size > 2 * edge else 0 for size in shape)
    else:
        shown = tensor.tolist()
        cuts = (0,) * len(shape)
    cell, width = _cell_writer(_flattened(shown, len(shape)), tensor.dtype)
    if not shape:
        return cell(shown)
    return _bracketed(shown, cuts, indent, cell, width)


def _bracketed(
    shown: list[Any], cuts: tuple[int, ...], indent: int, cell: Callable[[Any], str], width: int
) -> str:
    """Nested lists as text. `cuts[0]` is where "..." goes in the outermost list, 0 for nowhere."""
    cut, *inner = cuts
    if inner:
        parts = [_bracketed(part, tuple(inner), indent + 1, cell, width) for part in shown]
        between = "," + "\n" * len(inner)
        gap = "..."
    else:
        parts = [cell(value) for value in shown]
        between = ",\n"
        gap = " ..."
    if cut:
        parts.insert(cut, gap)
    if not inner:
        parts = _filled_lines(parts, indent, width)
    return "[" + (between + " " * (indent + 1)).join(parts) + "]"


def _filled_lines(cells: list[str], indent: int, width: int) -> list[str]:
    """As many cells on each line as fit beside the indentation, at least one."""
    each = max(1, math.floor((OPTIONS.linewidth - indent) / (width + 2)))  # 2: comma and space
    return [", ".join(cells[start : start + each]) for start in range(0, len(cells), each)]


# --- the whole text -------------------------------------------------------------------------------


_PARAMETER_FLAG = "_is_param"


def _is_plain(kind: type) -> bool:
    """Tensor and Parameter print as `tensor(...)`, their subclasses by their own name."""
    from ._tensor import Tensor

    return kind is Tensor or vars(kind).get("_instance_flag") == _PARAMETER_FLAG


def _is_parameter(tensor: Any) -> bool:
    """Whether `isinstance(tensor, Parameter)`, told by the flags: this room is below `nn`."""
    of_class = getattr(type(tensor), "_instance_flag", None) == _PARAMETER_FLAG
    return of_class or getattr(tensor, _PARAMETER_FLAG, False)


def _size_and_dtype(tensor: Any) -> list[str]:
    """The notes on what the numbers alone do not tell."""
    dtype, default = str(tensor.dtype), str(get_default_dtype())
    shape = tuple(tensor.shape)
    notes = []
    if tensor.is_meta or 0 in shape:
        shows_size = tensor.is_meta or len(shape) != 1
        usual = {default}  # no element shows whether it is a float or an int
    else:
        shows_size = not OPTIONS.edgeitems
        complex_default = "torch.complex128" if default == "torch.float64" else "torch.complex64"
        usual = {default, complex_default, "torch.int64", "torch.bool"}
    if shows_size:
        notes.append(f"size={shape}")
    if dtype not in usual:
        notes.append(f"dtype={dtype}")
    return notes


def _gradient_note(tensor: Any) -> list[str]:
    try:
        node = tensor.grad_fn
    except RuntimeError:
        # A view made and written without gradients cannot say where it came from.
        return ["grad_fn=<Invalid>"]
    if node is not None:
        return [f"grad_fn=<{node.name().rsplit('::', 1)[-1]}>"]
    return ["requires_grad=True"] if tensor.requires_grad else []


def _with_notes(text: str, notes: list[str], indent: int) -> str:
    """Append the notes, each on a new line where the line would grow too long."""
    column = len(text) - text.rfind("\n") + 1
    for note in notes:
        if column + len(note) + 2 > OPTIONS.linewidth:
            text += ",\n" + " " * indent + note
            column = indent + len(note)
        else:
            text += ", " + note
            column += len(note) + 2
    return text + ")"


def tensor_repr(
    tensor: Any, *, tensor_contents: str | None = None, tangent: Any | None = None
) -> str:
    """What `repr(tensor)` and `str(tensor)` give.

    Args:
        tensor: needs `shape`, `dtype`, `device`, `is_meta`, `requires_grad`, `grad_fn`,
            `tolist()` and, to be summarised, `detach()` and basic slicing.
        tensor_contents: stands in for the bracketed numbers, for subclasses that write their own.
        tangent: the tangent of a dual tensor of forward mode.

    Torch-function overrides must be off while this runs, or a subclass sees its own printing.
    """
    kind = type(tensor)
    plain = _is_plain(kind)
    opening = "tensor(" if plain else f"{kind.__name__}("
    indent = len(opening)
    if tensor_contents is None:
        if tensor.is_meta:
            tensor_contents = "..."
        else:
            if STATE.recorder is not None:
                STATE.recorder.shown()
            tensor_contents = "[]" if 0 in tensor.shape else _contents(tensor, indent)
    notes = [f"device='{tensor.device}'"] if tensor.device.type != "cpu" else []
    notes += _size_and_dtype(tensor) + _gradient_note(tensor)
    if tangent is not None:
        notes.append(f"tangent={tangent}")
    text = _with_notes(opening + tensor_contents, notes, indent)
    return f"Parameter({text})" if not plain and _is_parameter(tensor) else text


def quantized_repr(values: Any, dtype: Any, notes: list[str]) -> str:
    """What `repr` gives for a quantized tensor.

    Args:
        values: the numbers that it stands for, as a plain tensor.
        notes: how the integers stand for them, and whatever else is told.
    """
    opening = "tensor("
    shape = tuple(values.shape)
    contents = "[]" if 0 in shape else _contents(values, len(opening))
    return _with_notes(opening + contents, [f"size={shape}", f"dtype={dtype}", *notes],
                       len(opening))


def sparse_repr(tensor: Any, indices: Any, values: Any) -> str:
    """What `repr` gives for a sparse tensor.

    Args:
        tensor: needs `shape`, `dtype`, `device`, `layout`, `requires_grad` and `grad_fn`.
        indices, values: its parts, as plain tensors off the tape.
    """
    opening = "tensor("
    indent = len(opening)
    parts = []
    for name, part in (("indices", indices), ("values", values)):
        head, shape = f"{name}=tensor(", tuple(part.shape)
        text = "[]" if 0 in shape else _contents(part, indent + len(head))
        parts.append(f"{head}{text}" + (f", size={shape})" if 0 in shape else ")"))
    notes = [f"device='{tensor.device}'"] if tensor.device.type != "cpu" else []
    notes += [f"size={tuple(tensor.shape)}", f"nnz={values.shape[0]}"]
    notes += [n for n in _size_and_dtype(values) if n.startswith("dtype=")]
    notes += [f"layout={tensor.layout}", *_gradient_note(tensor)]
    text = f"{opening}{parts[0]},\n{' ' * indent}{parts[1]},\n{' ' * indent}{notes[0]}"
    return _with_notes(text, notes[1:], indent)


def format_tensor(tensor: Any, format_spec: str) -> str:
    """What `format(tensor, format_spec)` gives: a single number obeys the number formats.

    Example:
        >>> import yesca as torch
        >>> f"{torch.tensor(3.14159):.2f}"
        '3.14'

    Raises:
        TypeError: for a format on a tensor with dimensions, as `f"{torch.ones(2):.2f}"`.
    """
    from ._tensor import Tensor

    if type(tensor) is Tensor and not tensor.shape and not tensor.is_meta:
        return format(tensor.detach().item(), format_spec)
    return object.__format__(tensor, format_spec)
