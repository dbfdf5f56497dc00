"""Blocks: the values of a kernel, numbers or arrays of them, with Python's operators.

Types, promotion, broadcasting and refusals are settled here once. What a block *is* is the matter
of the machine that runs the kernel: `tracing.Recorder` keeps an expression of the loop IR for
later, `interpreter.Interpreter` a NumPy array.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from . import types
from .types import dtype, pointer_type

MOST_ELEMENTS = 1 << 20  # of one block
COMPARISONS = ("lt", "le", "gt", "ge", "eq", "ne")
_running = threading.local()


def machine() -> Any:
    """The machine that runs the kernel of this thread. Raises RuntimeError outside of kernels."""
    found = current()
    if found is None:
        raise RuntimeError("Did you forget to add @triton.jit ? the functions of the language work "
                           "inside of kernels only: decorate the function with @yesca.kernel and "
                           "launch it, kernel[grid](...)")
    return found


def current() -> Any:
    """The machine of this thread, None outside of kernels."""
    return getattr(_running, "machine", None)


def run(made: Any, function: Callable[[], Any]) -> Any:
    """Call a function while a machine runs."""
    before = current()
    _running.machine = made
    try:
        return function()
    finally:
        _running.machine = before


class Block:
    """A number (shape ()) or an array of numbers or pointers, inside of a kernel.

    value  what the machine knows of it
    type   the type of its elements
    base   of pointers: the argument that they point into; `value` is then an offset in elements
    """

    __slots__ = ("value", "type", "shape", "base")
    __array_ufunc__ = None  # a NumPy number on the left leaves the operator to the block

    def __init__(self, value: Any, kind: Any, shape: tuple[int, ...] = (), base: Any = None
                 ) -> None:
        self.value, self.type, self.shape, self.base = value, kind, shape, base

    @property
    def dtype(self) -> Any:
        return self.type

    @property
    def numel(self) -> int:
        return size_of(self.shape)

    def __repr__(self) -> str:
        shape = f"[{', '.join(map(str, self.shape))}]"
        return str(machine().shown(self)) if current() else f"{self.type}{shape}"

    def __bool__(self) -> bool:
        return bool(machine().number(self, "bool"))

    def __index__(self) -> int:
        return int(machine().number(self, "int"))

    def __int__(self) -> int:
        return int(machine().number(self, "int"))

    def __float__(self) -> float:
        return float(machine().number(self, "float"))

    __hash__ = None  # type: ignore[assignment]

    def __add__(self, other: Any) -> Block:
        return add(self, other)

    def __radd__(self, other: Any) -> Block:
        return add(other, self)

    def __sub__(self, other: Any) -> Block:
        return subtract(self, other)

    def __rsub__(self, other: Any) -> Block:
        return subtract(other, self)

    def __mul__(self, other: Any) -> Block:
        return binary("mul", self, other)

    def __rmul__(self, other: Any) -> Block:
        return binary("mul", other, self)

    def __truediv__(self, other: Any) -> Block:
        return divide(self, other)

    def __rtruediv__(self, other: Any) -> Block:
        return divide(other, self)

    def __floordiv__(self, other: Any) -> Block:
        return whole("idiv", "//", self, other)

    def __rfloordiv__(self, other: Any) -> Block:
        return whole("idiv", "//", other, self)

    def __mod__(self, other: Any) -> Block:
        return remainder(self, other)

    def __rmod__(self, other: Any) -> Block:
        return remainder(other, self)

    def __and__(self, other: Any) -> Block:
        return whole("and", "&", self, other)

    def __rand__(self, other: Any) -> Block:
        return whole("and", "&", other, self)

    def __or__(self, other: Any) -> Block:
        return whole("or", "|", self, other)

    def __ror__(self, other: Any) -> Block:
        return whole("or", "|", other, self)

    def __xor__(self, other: Any) -> Block:
        return whole("xor", "^", self, other)

    def __rxor__(self, other: Any) -> Block:
        return whole("xor", "^", other, self)

    def __lshift__(self, other: Any) -> Block:
        return whole("shl", "<<", self, other)

    def __rlshift__(self, other: Any) -> Block:
        return whole("shl", "<<", other, self)

    def __rshift__(self, other: Any) -> Block:
        return whole("shr", ">>", self, other)

    def __rrshift__(self, other: Any) -> Block:
        return whole("shr", ">>", other, self)

    def __pow__(self, other: Any) -> Block:
        raise TypeError("a block has no `**`: write x * x, or tl.exp2(y * tl.log2(x))")

    __rpow__ = __pow__

    def __matmul__(self, other: Any) -> Block:
        raise TypeError("a block has no `@`: tl.dot(a, b) multiplies matrices")

    def __lt__(self, other: Any) -> Block:
        return binary("lt", self, other)

    def __le__(self, other: Any) -> Block:
        return binary("le", self, other)

    def __gt__(self, other: Any) -> Block:
        return binary("gt", self, other)

    def __ge__(self, other: Any) -> Block:
        return binary("ge", self, other)

    def __eq__(self, other: Any) -> Any:
        return binary("eq", self, other)

    def __ne__(self, other: Any) -> Any:
        return binary("ne", self, other)

    def __neg__(self) -> Block:
        return unary("neg", self)

    def __pos__(self) -> Block:
        return self

    def __invert__(self) -> Block:
        if self.type.is_floating() or self.type.is_ptr():
            raise TypeError(f"[~] wants integers or truth values, not {self.type}")
        return unary("not", self)

    def __getitem__(self, key: Any) -> Block:
        """`x[:, None]`: new dimensions of size 1; every old one is named by a `:`."""
        keys = key if isinstance(key, tuple) else (key,)
        if any(not (k is None or k == slice(None)) for k in keys):
            raise ValueError(f"unsupported tensor index: {key}; a block takes `:` and None only; "
                             "where single elements are wanted, load them from memory")
        if sum(k is not None for k in keys) > len(self.shape):
            raise IndexError(f"too many indices for a block of shape {self.shape}")
        made = self
        for axis, k in enumerate(keys):
            if k is None:
                made = expand_dims(made, axis)
        return made

    @property
    def T(self) -> Block:  # noqa: N802 - NumPy's name
        return permute(self, tuple(reversed(range(len(self.shape)))))

    def __getattr__(self, name: str) -> Any:
        """Functions of the language as methods: `x.to(tl.float16)`, `x.sum(axis=0)`."""
        from . import language

        if name in language.METHODS:
            function = getattr(language, "cast" if name == "to" else name)
            return lambda *args, **kwargs: function(self, *args, **kwargs)
        raise AttributeError(f"a block has no attribute {name!r}")


# ---- shapes ----------------------------------------------------------------------------------

def size_of(shape: tuple[int, ...]) -> int:
    """Elements of a shape."""
    count = 1
    for extent in shape:
        count *= extent
    return count


def checked_shape(shape: Any, what: str) -> tuple[int, ...]:
    """A shape of powers of two, of at most a million elements."""
    given = tuple(shape) if isinstance(shape, (list, tuple)) else (shape,)
    for extent in given:
        if isinstance(extent, Block) or not isinstance(extent, int):
            raise TypeError(f"[{what}] the shape must be known when the kernel is compiled, got "
                            f"{given}: make it a parameter annotated `tl.constexpr`")
        if extent < 1 or extent & (extent - 1):
            raise ValueError(f"[{what}] Shape element must be a power of two, got {extent}; take "
                             "triton.next_power_of_2 of it and mask what is too much")
    if size_of(given) > MOST_ELEMENTS:
        raise ValueError(f"[{what}] numel ({size_of(given)}) exceeds triton maximum tensor numel "
                         f"({MOST_ELEMENTS}); loop over smaller blocks")
    return given


def block(value: Any, like: dtype | None = None) -> Block:
    """A Python number as a block; a block stays as it is."""
    if isinstance(value, Block):
        return value
    if not isinstance(value, (bool, int, float)):
        raise TypeError(f"[kernel] neither a block nor a number: {type(value).__name__} {value!r}")
    kind = types.of_number(value) if like is None else like
    return Block(machine().constant(value, kind.core), kind)


def broadcast_to(x: Block, shape: tuple[int, ...]) -> Block:
    """Repeat dimensions of size 1, and a number, to a shape."""
    if x.shape == shape:
        return x
    if len(x.shape) > len(shape):
        raise ValueError(f"Cannot broadcast, rank mismatch: {list(x.shape)} to {list(shape)}")
    for _ in range(len(shape) - len(x.shape)):
        x = expand_dims(x, 0)
    for a, b in zip(x.shape, shape, strict=True):
        if a not in (1, b):
            raise ValueError(f"Cannot broadcast, the expanded size of the tensor ({b}) must match "
                             f"the existing size ({a}): {list(x.shape)} to {list(shape)}")
    return Block(machine().broadcast(x.value, x.shape, shape), x.type, shape, x.base)


def common_shape(*blocks: Block) -> tuple[int, ...]:
    """The shape that blocks are broadcast to when they meet."""
    rank = max(len(b.shape) for b in blocks)
    aligned = [(1,) * (rank - len(b.shape)) + b.shape for b in blocks]
    made = []
    for axis, extents in enumerate(zip(*aligned, strict=True)):
        wide = max(extents)
        if any(e not in (1, wide) for e in extents):
            shapes = " and ".join(str(list(b.shape)) for b in blocks)
            raise ValueError("Cannot make_shape_compatible: incompatible dimensions at index "
                             f"{axis}: {' and '.join(map(str, extents))}, of blocks {shapes}; "
                             "x[:, None] adds a dimension of size 1")
        made.append(wide)
    if size_of(tuple(made)) > MOST_ELEMENTS:
        checked_shape(made, "broadcast")
    return tuple(made)


def expand_dims(x: Block, axis: int) -> Block:
    """A new dimension of size 1."""
    rank = len(x.shape) + 1
    place = axis_of(axis, rank)
    shape = (*x.shape[:place], 1, *x.shape[place:])
    return Block(machine().expand(x.value, x.shape, place), x.type, shape, x.base)


def permute(x: Block, order: tuple[int, ...]) -> Block:
    """Dimensions in another order."""
    if sorted(order) != list(range(len(x.shape))):
        raise ValueError(f"permute dims must be a permutation of 0, 1, ..., n-1, but were {order}")
    return Block(machine().permute(x.value, x.shape, order), x.type,
                 tuple(x.shape[k] for k in order), x.base)


def reshape(x: Block, shape: tuple[int, ...]) -> Block:
    """The same elements, in row-major order, under another shape."""
    if size_of(shape) != x.numel:
        raise ValueError("reshape() cannot change total number of elements in tensor: "
                         f"{list(x.shape)} to {list(shape)}")
    if shape == x.shape:
        return x
    return Block(machine().reshape(x.value, x.shape, shape), x.type, shape, x.base)


def axis_of(axis: Any, rank: int) -> int:
    """A dimension's number, counted from the front."""
    if not isinstance(axis, int) or not -rank <= axis < rank:
        raise ValueError(f"invalid axis {axis}. Expected -{rank} <= axis < {rank}")
    return axis % rank


# ---- arithmetic ------------------------------------------------------------------------------

def cast(x: Block, kind: Any, bits: bool = False) -> Block:
    """Numbers of another type; `bits`: the same bits read as another type."""
    if isinstance(kind, pointer_type):
        if x.type.is_ptr() and x.type.element_ty.itemsize == kind.element_ty.itemsize:
            return Block(x.value, kind, x.shape, x.base)
        raise TypeError(f"[cast] {x.type} to {kind}: pointers keep the size of what they point to")
    kind = types.of(kind)
    if x.type.is_ptr():
        raise TypeError(f"[cast] {x.type} to {kind}: an address has no number here")
    if x.type is kind:
        return x
    if bits and x.type.itemsize != kind.itemsize:
        raise ValueError(f"Cannot bitcast data-type of size {x.type.primitive_bitwidth} to "
                         f"data-type of size {kind.primitive_bitwidth}")
    made = (machine().bitcast if bits else machine().cast)(x.value, kind.core)
    return Block(made, kind, x.shape)


def met(what: str, a: Any, b: Any, divides: bool = False) -> tuple[Block, Block]:
    """Two operands of one type and shape."""
    for operand in (a, b):
        if isinstance(operand, Block) and operand.type.is_ptr():
            raise TypeError(f"[{what}] invalid operands of type {_type(a)} and {_type(b)}; only "
                            "offsets are added to pointers, and only comparisons take two")
    kind = types.promoted(a.type if isinstance(a, Block) else _number(what, a),
                          b.type if isinstance(b, Block) else _number(what, b), divides)
    if divides and kind.is_int():
        kind = types.float32
    x, y = (cast(v, kind) if isinstance(v, Block) else block(_fitting(v, kind), kind)
            for v in (a, b))
    shape = common_shape(x, y)
    return broadcast_to(x, shape), broadcast_to(y, shape)


def _number(what: str, value: Any) -> Any:
    if not isinstance(value, (bool, int, float)):
        raise TypeError(f"[{what}] neither a block nor a number: {type(value).__name__}")
    return value


def _type(value: Any) -> Any:
    return value.type if isinstance(value, Block) else type(value).__name__


def _fitting(value: Any, kind: dtype) -> Any:
    """A Python number for a type. Raises ValueError for a whole number that it does not hold."""
    if kind.is_floating() or isinstance(value, float) or kind is types.int1:
        return value
    bits = kind.primitive_bitwidth
    low, high = (-(1 << bits - 1), 1 << bits - 1) if kind.core.is_signed else (0, 1 << bits)
    if not low <= value < high:
        raise ValueError(f"Scalar {value} is out of range for type {kind}; cast the block beside "
                         "it to a wider type")
    return value


def binary(op: str, a: Any, b: Any) -> Block:
    """An operation on two operands that meet in one type."""
    if op in COMPARISONS and all(isinstance(v, Block) and v.type.is_ptr() for v in (a, b)):
        if a.base is not b.base:
            raise TypeError("[compare] pointers into two tensors")
        a, b = (Block(v.value, types.int64, v.shape) for v in (a, b))
    x, y = met(op, a, b)
    if x.type is types.int1 and op in ("add", "sub", "mul"):
        x, y = cast(x, types.int32), cast(y, types.int32)
    kind = types.int1 if op in COMPARISONS else x.type
    return Block(machine().operate(op, x.value, y.value), kind, x.shape)


def whole(op: str, sign: str, a: Any, b: Any) -> Block:
    """An operation of integers."""
    x, y = met(sign, a, b)
    if x.type.is_floating():
        raise TypeError(f"unexpected type {x.type}: `{sign}` is an operation of integers; "
                        "tl.floor(x / y) divides numbers")
    if x.type is types.int1 and op in ("idiv", "shl", "shr"):
        x, y = cast(x, types.int32), cast(y, types.int32)
    return Block(machine().operate(op, x.value, y.value), x.type, x.shape)


def remainder(a: Any, b: Any) -> Block:
    """`%`, with the sign of the dividend as in C."""
    x, y = met("%", a, b)
    if x.type is types.int1:
        x, y = cast(x, types.int32), cast(y, types.int32)
    if not x.type.is_floating():
        return Block(machine().operate("irem", x.value, y.value), x.type, x.shape)
    wide = x.type if x.type in (types.float32, types.float64) else types.float32
    made = machine().operate("fmod", cast(x, wide).value, cast(y, wide).value)
    return cast(Block(made, wide, x.shape), x.type)


def divide(a: Any, b: Any) -> Block:
    """`/`: of integers and half types in float32."""
    x, y = met("/", a, b, divides=True)
    return Block(machine().operate("div", x.value, y.value), x.type, x.shape)


def unary(op: str, x: Block) -> Block:
    """An operation on one operand."""
    if x.type.is_ptr():
        raise TypeError(f"[{op}] wrong type argument to unary operation: {x.type}")
    return Block(machine().operate(op, x.value), x.type, x.shape)


def add(a: Any, b: Any) -> Block:
    """`+`, of a pointer and offsets too."""
    pointer, offset = (b, a) if isinstance(b, Block) and b.type.is_ptr() else (a, b)
    if isinstance(pointer, Block) and pointer.type.is_ptr():
        return moved(pointer, offset, "add")
    return binary("add", a, b)


def subtract(a: Any, b: Any) -> Block:
    """`-`, of a pointer and offsets too."""
    if isinstance(a, Block) and a.type.is_ptr():
        return moved(a, b, "sub")
    return binary("sub", a, b)


def moved(pointer: Block, offset: Any, op: str) -> Block:
    """A pointer some elements on."""
    offset = block(offset)
    if not offset.type.is_int():
        raise TypeError(f"[pointer] the offset must be an integer, not {offset.type}")
    shape = common_shape(pointer, offset)
    x = broadcast_to(Block(pointer.value, types.int64, pointer.shape), shape)
    y = broadcast_to(cast(offset, types.int64), shape)
    return Block(machine().operate(op, x.value, y.value), pointer.type, shape, pointer.base)


def where(condition: Any, a: Any, b: Any) -> Block:
    """Elements of one block or of the other."""
    mask = block(condition)
    mask = binary("ne", mask, 0) if mask.type is not types.int1 else mask
    if all(isinstance(v, Block) and v.type.is_ptr() for v in (a, b)):
        if a.base is not b.base or a.type != b.type:
            raise TypeError("[where] pointers into two tensors; choose between the values loaded")
        x, y, kind, base = a, b, a.type, a.base
    else:
        x, y = met("where", a, b)
        kind, base = x.type, None
    shape = common_shape(mask, x, y)
    mask, x, y = (broadcast_to(v, shape) for v in (mask, x, y))
    return Block(machine().operate("where", mask.value, x.value, y.value), kind, shape, base)
