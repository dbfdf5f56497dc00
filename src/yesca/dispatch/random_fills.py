"""Random numbers in place: `uniform_`, `normal_`, `random_` and the like.

Each method checks its arguments, then draws into the tensor's memory in the order in which its
elements lie there. To the tape a draw is the storing of constants: gradients of what was there
before are zero.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..base.frames import warn
from ..base.errors import type_name
from ..core import registry
from ..core.devices import CPU, META
from ..core.dtypes import (
    BOOL, COMPLEX, FLOATING, SCALAR_NAMES, DType, bfloat16, bool_, float16, float32, float64,
    int8, int16, int32, int64, uint8, uint16, uint32, uint64,
)
from ..core.spec import Spec, negated, spec
from ..core.tensor_base import TensorBase, address_of
from ..operators.random_numbers import no_chance, recipe
from ..runtime import draws
from ..runtime.generator import Generator, default_generator
from ..runtime.plan import new_storage
from . import inplace, observing
from .call import OPERATORS
from .levels import random_fill
from .shortcuts import note_read
from .state import STATE

#: Significant bits of the floating-point dtypes, and their largest numbers.
DIGITS = {float32: 24, float64: 53, float16: 11, bfloat16: 8}
_LARGEST = {float32: (2 - 2.0**-23) * 2.0**127, float64: (2 - 2.0**-52) * 2.0**1023,
            float16: 65504.0, bfloat16: (2 - 2.0**-7) * 2.0**127}
#: What C++ calls the types, as some messages do.
_C_NAMES = {
    uint8: "unsigned char", int8: "signed char", int16: "short int", int32: "int",
    int64: "long int", float16: "c10::Half", float32: "float", float64: "double",
    bfloat16: "c10::BFloat16", bool_: "bool", uint16: "short unsigned int",
    uint32: "unsigned int", uint64: "long unsigned int",
}
_PLAIN = (float, int)
_MOST = (1 << 63) - 1
_LEAST = -(1 << 63)


# ---- the common parts ------------------------------------------------------------------------

def generator_of(name: str, generator: Any) -> Generator:
    """The generator to draw from: the given one, or the default."""
    for level in STATE.levels:
        level.drawing()
    if generator is None:
        return default_generator
    if not isinstance(generator, Generator):
        raise TypeError(f"{name}(): argument 'generator' must be torch.Generator, not "
                        f"{type_name(generator)}")
    return generator


def number(name: str, argument: str, position: int, value: Any) -> float:
    """A parameter of a distribution as a Python number; 0-dim tensors count."""
    if type(value) in _PLAIN or isinstance(value, (int, float)):
        return value
    if isinstance(value, TensorBase) and value._spec.numel == 1:
        return number(name, argument, position, value.item())  # type: ignore[attr-defined]
    if type(value).__module__ == "numpy" and getattr(value, "__float__", None) is not None:
        return float(value)
    raise TypeError(f"{name}(): argument '{argument}' (position {position}) must be float, not "
                    f"{type_name(value)}")


def written(tensor: Any, node: str) -> None:
    """Refuse what may not be written in place, and count the write. `node`: its name on the tape,
    which is that of constants stored."""
    if tensor._requires_grad and STATE.tape:
        OPERATORS.fill_(tensor, 0)
        extra = tensor._extra
        if extra is None or extra.base is None:
            tensor._node.extra.label = node
        return
    if not tensor._spec.dense:
        inplace.check(None, tensor, False, False)
    version = tensor._counter
    if version is not None:
        version.value += 1


def memory_order(made: Spec) -> list[int]:
    """The dimensions from the outermost in memory to the innermost."""
    return sorted(range(made.ndim), key=lambda d: -made.strides[d])


def plainly() -> bool:
    """Whether nobody stands between a call and its plan: no level, and nobody who watches."""
    return not STATE.levels and observing.current is None


def planned(made: Spec) -> bool:
    """Whether a plan makes a new tensor of this spec with random numbers in it."""
    return made.numel > 0 and made.device is CPU and made.contiguous and plainly() \
        and spec(made.dtype, made.shape) is made


def planned_draw(made: Spec, source: Generator, kind: str, first: float, second: float) -> Any:
    """The new tensor."""
    return OPERATORS.random_new(tuple(made.shape), made.dtype, kind, first, second,
                                source._ready())


def drawn(tensor: Any, source: Generator, kind: str, first: float, second: float,
          node: str = "") -> Any:
    """Draw into a tensor in place; a plan does it where one can."""
    made = tensor._spec
    if tensor._extra is not None:
        inplace.settle(tensor)
    if made.dense and made.numel and made.device is CPU and not made.neg and plainly() and not (
            tensor._requires_grad and STATE.tape):
        return OPERATORS.random_fill_(tensor, kind, first, second, source._ready())
    written(tensor, node or kind.title().replace("_", "") + "Backward0")
    return fill(tensor, kind, source, first, second)


def fill(tensor: Any, kind: str, source: Generator, first: float, second: float) -> Any:
    """Draw the elements in the order of memory, whatever stands between."""
    return fill_by(tensor, draws.draw, source, recipe(kind, tensor._spec), first, second)


def fill_by(tensor: Any, draw: Callable[..., Any], source: Generator, *arguments: Any) -> Any:
    """Let `draw(source, address, *arguments)` write the elements in the order of memory."""
    note_read()  # no plan says what happens here
    made = tensor._spec
    if made.numel == 0 or made.device is META:
        return tensor
    if made.neg:
        plain = registry.wrap(tensor._storage, negated(made, False), tensor._offset)
        fill_by(plain, draw, source, *arguments)
        OPERATORS.neg_(plain)
        return tensor
    if made.dense:
        draw(source, address_of(tensor), *arguments)
        return tensor
    order = memory_order(made)
    shape = tuple(made.shape[d] for d in order)
    packed = new_storage(made.numel * made.dtype.itemsize)
    draw(source, packed._address, *arguments)
    target = spec(made.dtype, shape, tuple(made.strides[d] for d in order), made.device)
    wrap = registry.wrap
    view = wrap(tensor._storage, target, tensor._offset)
    view.copy_(wrap(packed, spec(made.dtype, shape), 0))
    return tensor


def _not_implemented(kernel: str, dtype: DType) -> NotImplementedError:
    return NotImplementedError(f'"{kernel}" not implemented for \'{SCALAR_NAMES[dtype]}\'')


# ---- uniform and normal ----------------------------------------------------------------------

def _bounds(args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[float, float]:
    """`from` is a word of Python's, so the two come as they are given."""
    if len(args) == 2 and not kwargs and type(args[0]) in _PLAIN and type(args[1]) in _PLAIN:
        return args
    given = dict(zip(("from", "to"), args, strict=False))
    if len(args) > 2 or not kwargs.keys() <= {"from", "to"} - given.keys():
        names = ", ".join([*map(type_name, args), *kwargs])
        raise TypeError("uniform_() received an invalid combination of arguments - got "
                        f"({names}), but expected (float from = 0, float to = 1, *, "
                        "torch.Generator generator = None)")
    given.update(kwargs)
    return (number("uniform_", "from", 1, given.get("from", 0)),
            number("uniform_", "to", 2, given.get("to", 1)))


def _check_bounds(dtype: DType, low: float, high: float) -> None:
    limit = _LARGEST[dtype]
    for name, value in (("from", low), ("to", high)):
        if not -limit <= value <= limit:
            raise RuntimeError(f"{name} is out of bounds for {_C_NAMES[dtype]}")
    if low > high:
        raise RuntimeError(f"uniform_ expects to return a [from, to) range, but found "
                           f"from={low:g} > to={high:g}")
    if high - low > limit:
        raise RuntimeError(
            f"uniform_ expects to-from <= std::numeric_limits<{SCALAR_NAMES[dtype]}>::max(), but "
            f"found to={high:g} and from={low:g} which result in to-from to exceed the limit")


@random_fill
def uniform_(self: Any, *args: Any, generator: Any = None, **kwargs: Any) -> Any:
    """uniform_(from=0, to=1): numbers of [from, to), in place."""
    low, high = _bounds(args, kwargs)
    source = generator_of("uniform_", generator)
    check_uniform(self._spec.dtype, low, high)
    return drawn(self, source, "uniform", low, high)


def check_uniform(dtype: DType, low: float, high: float) -> None:
    """Refuse what `uniform_` has no numbers for."""
    if dtype.category == COMPLEX:
        dtype = dtype.to_real()
    if dtype not in DIGITS:
        raise _not_implemented("check_uniform_bounds", dtype)
    _check_bounds(dtype, low, high)


@random_fill
def normal_(self: Any, mean: float = 0, std: float = 1, *, generator: Any = None) -> Any:
    """Normal numbers, in place."""
    center, width = number("normal_", "mean", 1, mean), number("normal_", "std", 2, std)
    source = generator_of("normal_", generator)
    return drawn(self, source, "normal", center, checked_width(self._spec, width))


def checked_width(made: Spec, width: float) -> float:
    """The deviation of the parts of a target of `normal_`, which may be refused."""
    if not width >= 0.0:
        raise RuntimeError(f"normal expects std >= 0.0, but found std {width:g}")
    shared = made.dtype.category == COMPLEX  # two parts share the variance
    if not shared and made.dtype not in DIGITS and made.numel:
        raise _not_implemented("normal_kernel_cpu", made.dtype)
    return width / 2.0**0.5 if shared else width


# ---- other distributions ---------------------------------------------------------------------

@random_fill
def exponential_(self: Any, lambd: float = 1, *, generator: Any = None) -> Any:
    """Exponentially distributed numbers with the rate `lambd`, in place."""
    rate = number("exponential_", "lambd", 1, lambd)
    source = generator_of("exponential_", generator)
    dtype = self._spec.dtype
    if dtype not in DIGITS and self._spec.numel:
        raise RuntimeError("Exponential distribution is a continuous probability distribution. "
                           f"dtype must be a floating point but you specified "
                           f"{SCALAR_NAMES[dtype]}")
    if not rate > 0.0:
        raise RuntimeError(f"exponential_ expects lambda > 0.0, but found lambda={rate:g}")
    return drawn(self, source, "exponential", rate, 0.0)


@random_fill
def geometric_(self: Any, p: float, *, generator: Any = None) -> Any:
    """How many trials it takes to the first success, in place; any real dtype but bool."""
    chance = number("geometric_", "p", 1, p)
    source = generator_of("geometric_", generator)
    if not 0 < chance < 1:
        raise RuntimeError(f"geometric_ expects p to be in (0, 1), but got p={chance:g}")
    dtype = self._spec.dtype
    if self._spec.numel and (dtype.category in (BOOL, COMPLEX) or _is_large_unsigned(dtype)):
        raise _not_implemented("geometric_cpu", dtype)
    return drawn(self, source, "geometric", chance, 0.0)


@random_fill
def log_normal_(self: Any, mean: float = 1, std: float = 2, *, generator: Any = None) -> Any:
    """Numbers whose logarithms are normal, in place."""
    center, width = number("log_normal_", "mean", 1, mean), number("log_normal_", "std", 2, std)
    source = generator_of("log_normal_", generator)
    if not width > 0.0:
        raise RuntimeError(f"log_normal_ expects std > 0.0, but found std={width:g}")
    if self._spec.numel and self._spec.dtype not in DIGITS:
        raise _not_implemented("log_normal_cpu", self._spec.dtype)
    return drawn(self, source, "log_normal", center, width)


@random_fill
def cauchy_(self: Any, median: float = 0, sigma: float = 1, *, generator: Any = None) -> Any:
    """Cauchy distributed numbers, in place."""
    center, width = number("cauchy_", "median", 1, median), number("cauchy_", "sigma", 2, sigma)
    source = generator_of("cauchy_", generator)
    if not width > 0.0:
        raise RuntimeError(f"cauchy_ expects sigma > 0.0, but found sigma={width:g}")
    dtype = self._spec.dtype
    if dtype not in DIGITS:
        raise RuntimeError("Cauchy distribution is a continuous probability distribution. dtype "
                           f"must be a floating point but you specified {_c_name(dtype)}")
    return drawn(self, source, "cauchy", center, width)


def _c_name(dtype: DType) -> str:
    if dtype.category == COMPLEX:
        return f"c10::complex<{_C_NAMES[dtype.to_real()]}>"
    return _C_NAMES[dtype]


def _is_large_unsigned(dtype: DType) -> bool:
    return dtype in (uint16, uint32, uint64)


# ---- truth values ----------------------------------------------------------------------------

@random_fill
def bernoulli_(self: Any, p: Any = 0.5, *, generator: Any = None) -> Any:
    """Ones with the chance `p` (a number, or a tensor that broadcasts to self), else zeros."""
    source = generator_of("bernoulli_", generator)
    made = self._spec
    each = isinstance(p, TensorBase)
    chance = 0.0 if each else number("bernoulli_", "p", 1, p)
    check_chance(made, chance, "bernoulli_tensor_cpu_self_" if each else "bernoulli_scalar_cpu_")
    if not each:
        return drawn(self, source, "bernoulli", chance, 0.0, "BernoulliBackward2")
    chances = _chances(self, p)
    written(self, "BernoulliBackward1")
    return fill_by(self, _draw_chances, source, made, chances)


def check_chance(made: Spec, chance: float, kernel: str = "bernoulli_scalar_cpu_") -> None:
    """Refuse what `bernoulli_` has no numbers for."""
    if not 0 <= chance <= 1:
        raise RuntimeError(f"bernoulli_ expects p to be in [0, 1], but got p={chance:g}")
    if made.numel and (made.dtype.category == COMPLEX or _is_large_unsigned(made.dtype)):
        raise _not_implemented(kernel, made.dtype)


def _chances(target: Any, p: Any) -> Any:
    """The chances of the target's elements in the order of its memory: float32 or float64."""
    mine, own = target._spec, p._spec
    if mine.contiguous and own.contiguous and mine.shape == own.shape and own.dtype is float32 \
            and not own.neg:
        return p
    given = p.detach().resolve_neg()
    if given._spec.dtype not in DIGITS and target._spec.numel:
        raise _not_implemented("bernoulli_tensor_cpu_p_", given._spec.dtype)
    if given._spec.dtype is not float64:
        given = given.to(float32)
    order = memory_order(target._spec)
    return given.expand(tuple(target._spec.shape)).permute(order).contiguous()


def _draw_chances(source: Generator, address: int, made: Spec, chances: Any) -> None:
    place = address_of(chances)
    drawn = draws.chances(source, address, made.dtype, made.numel, place,
                          chances._spec.dtype is float64)
    if drawn < made.numel:
        no_chance(0)


# ---- integers --------------------------------------------------------------------------------

@random_fill
def random_(self: Any, *args: Any, generator: Any = None, **kwargs: Any) -> Any:
    """random_(), random_(to) or random_(from, to): integers of [from, to), in place.

    Without bounds: of all that the dtype holds (floating-point dtypes: up to 2**digits).
    """
    source = generator_of("random_", generator)
    low, high = integer_bounds(args, kwargs)
    overload = 2 - (high is not None) - (low is not None and len(args) + len(kwargs) > 1)
    return drawn(self, source, *integers(self._spec, low, high), f"RandomBackward{overload}")


def integers(made: Spec, low: int | None, high: int | None) -> tuple[str, int, int]:
    """The recipe of integers of [low, high), or what stands for them where they are None."""
    dtype = made.dtype
    if not made.numel and high is None:
        base, bound, wide = 0, 1, False
    elif low is None:
        base, bound, wide = 0, _whole_range(dtype), dtype in (float64, int64)
    elif high is None and low == _LEAST:
        if _is_large_unsigned(dtype):
            raise _not_implemented("random_full_64_bits_range_kernel_cpu", dtype)
        if dtype not in (int64, float64, float32, bfloat16):
            raise RuntimeError("random_full_64_bits_range_kernel_cpu handles only int64, double, "
                               "float and bfloat16")
        base, bound, wide = 0, 1 << 64, True
    else:
        base, last = _checked_range(dtype, low, high)
        bound = last - base + 1
        wide = bound >= draws.WIDE_FROM
    return "wide_integers" if wide else "integers", bound & ((1 << 64) - 1), base


def integer_bounds(args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, Any]:
    """(from, to); (None, None) without bounds; (from, None) up to the dtype's largest."""
    names = ("to",) if len(args) == 1 and "to" not in kwargs else ("from", "to")
    given = dict(zip(names, args, strict=False))
    unknown = len(args) > 2 or not kwargs.keys() <= {"from", "to"} - given.keys()
    given.update(kwargs)
    if "to" in given and given["to"] is not None:
        given.setdefault("from", 0)
    if unknown or not all(_is_whole(v) or (v is None and k == "to") for k, v in given.items()):
        shown = ", ".join([*map(type_name, args), *(f"{k}={type_name(v)}"
                                                    for k, v in kwargs.items())])
        raise TypeError(
            f"random_() received an invalid combination of arguments - got ({shown}), but expected"
            " (), (int to) or (int from, int to), each with *, torch.Generator generator = None")
    low, high = (None if v is None else int(v) for v in (given.get("from"), given.get("to")))
    for value in (low, high):
        if value is not None and not _LEAST <= value <= _MOST:
            raise ValueError("Overflow when unpacking long long")
    return low, high


def _is_whole(value: Any) -> bool:
    if isinstance(value, TensorBase):
        return value._spec.numel == 1 and value._spec.dtype.category < FLOATING
    return isinstance(value, int) or (
        type(value).__module__ == "numpy" and getattr(value, "__index__", None) is not None)


def _whole_range(dtype: DType) -> int:
    """How many integers `random_()` draws from."""
    if dtype in DIGITS:
        return (1 << DIGITS[dtype]) + 1
    if dtype is bool_:
        return 2
    if dtype.category == COMPLEX or _is_large_unsigned(dtype):
        raise _not_implemented("random_kernel_cpu", dtype)
    return _limits(dtype)[1] + 1


def _limits(dtype: DType) -> tuple[int, int]:
    """The least and the largest integer that a bool or integer dtype can be filled with."""
    if dtype is bool_:
        return 0, 1
    bits = dtype.itemsize * 8
    if dtype.is_signed:
        return -(1 << (bits - 1)), (1 << (bits - 1)) - 1
    return 0, min((1 << bits) - 1, _MOST)


def _rounded(value: int, digits: int, limit: float) -> int | None:
    """The nearest integer of `digits` bits; None beyond the dtype's largest number."""
    shift = max(abs(value).bit_length() - digits, 0)
    if shift:
        half = 1 << (shift - 1)
        whole, rest = abs(value) >> shift, abs(value) & ((1 << shift) - 1)
        whole += rest > half or (rest == half and whole & 1)
        value = (whole << shift) * (-1 if value < 0 else 1)
    return value if abs(value) <= limit else None


def _inside(dtype: DType, bound: int, upper: bool) -> int:
    """`bound` moved inwards when a rounded draw could pass it."""
    digits = DIGITS[dtype]
    beside = bound - 1 if upper else bound + 1
    near = _rounded(beside, digits, _LARGEST[dtype])
    if near is None or (near < bound if upper else near >= bound):
        return bound
    step = 1 << max(abs(beside).bit_length() - digits, 0)
    return near - step if upper else near + step


def _checked_range(dtype: DType, low: int, high: int | None) -> tuple[int, int]:
    """The first and the last integer to draw."""
    if dtype.category == COMPLEX:
        raise RuntimeError("check_random_bounds handles only integral, floating-point and boolean "
                           "types")
    floating = dtype in DIGITS
    if high is None:
        last = 1 << DIGITS[dtype] if floating else _limits(dtype)[1]
        last = -1 if dtype is uint64 else last  # as PyTorch has it, which then refuses it
        low = _inside(dtype, low, False) if floating else low
        if floating and low >= last:
            raise RuntimeError("random_ expects 'from' casted to dtype to be less than or equal to"
                               f" 'to_inc' casted to dtype, but got from={low} > to_inc={last}")
    else:
        if low >= high:
            raise RuntimeError("random_ expects 'from' to be less than 'to', but got "
                               f"from={low} >= to={high}")
        if floating:
            low, high = _inside(dtype, low, False), _inside(dtype, high, True)
            if low >= high:
                raise RuntimeError("random_ expects 'from' casted to dtype to be less than 'to' "
                                   f"casted to dtype, but got from={low} >= to={high}")
        last = high - 1
    for name, value in (("from", low), ("to - 1", last)):
        _check_within(dtype, name, value)
    return low, last


def _check_within(dtype: DType, name: str, value: int) -> None:
    digits = DIGITS.get(dtype)
    low, high = (-_LARGEST[dtype], _LARGEST[dtype]) if digits else _limits(dtype)
    if not low <= value <= high:
        raise RuntimeError(f"{name} is out of bounds for {_C_NAMES[dtype]}")
    if digits and abs(value) > 1 << digits:
        warn(
            f"{name} is out of bounds [-(2^{digits}), 2^{digits}]. Due to precision limitations "
            f"{_C_NAMES[dtype]} can support discrete uniform distribution only within this range. "
            "This warning will become an error in version 1.7 release, please fix the code in "
            "advance")


METHODS = {f.__name__: f for f in (
    uniform_, normal_, exponential_, geometric_, log_normal_, cauchy_, bernoulli_, random_)}
