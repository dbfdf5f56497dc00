"""New random tensors: `rand`, `randn`, `randint`, `randperm`, `normal`, `multinomial`.

Numbers are PyTorch's for the same seed. `FUNCTIONS` are the free functions by name, `METHODS` the
tensor's methods (those in place come from `random_fills.py`, dropout and the like from `noise.py`).
"""

from __future__ import annotations

from math import prod
from typing import Any

from ..base.errors import argument_error, type_name
from ..base.naming import public_module
from ..core.devices import CPU, META, resolve
from ..core.dtypes import (
    COMPLEX, FLOATING, SCALAR_NAMES, DType, as_dtype, bool_, float16, float32, float64,
    get_default_dtype, int64, uint16, uint32, uint64,
)  # fmt: skip
from ..core.spec import Spec, spec
from ..core.tensor_base import TensorBase, address_of
from ..core.views import broadcast_shapes
from ..operators.argument_types import is_whole, whole
from ..runtime import draws
from ..runtime.generator import Generator
from ..runtime.plan import new_storage
from . import noise, parametric
from . import random_fills as fills
from .call import OPERATORS
from .creation import (
    check_out, empty, empty_like, finished, full_like, into, make, newborn, refuse_tape, sizes_of,
)  # fmt: skip
from .handlers import factory, handled, owners
from .levels import fresh, random_call
from .parametric import on_tape
from .state import STATE, set_grad

_MOST_CATEGORIES = 1 << 24


def _new(name: str, sizes: Any, size: Any, out: Any, dtype: DType | None, layout: Any,
         device: Any, pin_memory: bool) -> Any:
    """The tensor to draw into: a new one, or `out`, resized. The spec alone where a plan makes it.
    """
    if size is None and not sizes:
        raise TypeError(f"{name}() received an invalid combination of arguments - got (), but "
                        "expected sizes: a tuple of ints, or several ints")
    dtype = as_dtype(dtype)
    if dtype is not None and not isinstance(dtype, DType):
        raise TypeError(f"{name}(): argument 'dtype' must be torch.dtype, not {type_name(dtype)}")
    shape = sizes_of(sizes if size is None else (size,), name)
    if out is not None:
        check_out(name, out, dtype, device, resizes=name == "randn")
        return into(out, shape)
    if layout is None and not pin_memory:
        made = spec(dtype or get_default_dtype(), shape, None, resolve(device))
        if fills.planned(made):
            return made
        return fresh(make(made))
    return fresh(empty(shape, dtype=dtype, layout=layout, device=device, pin_memory=pin_memory))


def _planned(made: Spec, source: Generator, kind: str, first: float, second: float,
             requires_grad: bool) -> Any:
    """A new tensor of random numbers."""
    drawn = fills.planned_draw(made, source, kind, first, second)
    return finished(drawn, requires_grad)


def _resized(name: str, out: Any, shape: tuple[int, ...], *read: Any) -> Any:
    """`out` as an operator writes to it: refused on the tape, and of this shape."""
    refuse_tape(name, out, *(t for t in read if isinstance(t, TensorBase)))
    if tuple(out._spec.shape) != shape:
        out.resize_(shape)
    return out


def _finished(tensor: Any, requires_grad: bool = False, out: Any = None) -> Any:
    """A new tensor starts at version 0: the draw is not a write that anybody could have missed."""
    if out is None:
        newborn(tensor)
    return finished(tensor, requires_grad)


# ---- sizes to tensors ------------------------------------------------------------------------

def rand(*sizes: Any, size: Any = None, generator: Any = None,
         out: Any = None, dtype: DType | None = None, layout: Any = None, device: Any = None,
         requires_grad: bool = False, pin_memory: bool = False) -> Any:
    """Uniform numbers of [0, 1).

    >>> import yesca as torch
    >>> _ = torch.manual_seed(0)
    >>> torch.rand(2)
    tensor([0.4963, 0.7682])
    """
    source = fills.generator_of("rand", generator)
    made = _new("rand", sizes, size, out, dtype, layout, device, pin_memory)
    if type(made) is Spec:
        fills.check_uniform(made.dtype, 0.0, 1.0)
        return _planned(made, source, "uniform", 0.0, 1.0, requires_grad)
    return _finished(fills.uniform_(made, 0, 1, generator=generator), requires_grad, out)


def randn(*sizes: Any, size: Any = None, generator: Any = None,
          out: Any = None, dtype: DType | None = None, layout: Any = None, device: Any = None,
          requires_grad: bool = False, pin_memory: bool = False) -> Any:
    """Normal numbers of mean 0 and variance 1.

    >>> import yesca as torch
    >>> _ = torch.manual_seed(0)
    >>> torch.randn(2)
    tensor([ 1.5410, -0.2934])
    """
    source = fills.generator_of("randn", generator)
    made = _new("randn", sizes, size, out, dtype, layout, device, pin_memory)
    if type(made) is Spec:
        return _planned(made, source, "normal", 0.0, fills.checked_width(made, 1.0), requires_grad)
    return _finished(fills.normal_(made, generator=generator), requires_grad, out)


def _range_and_sizes(args: tuple[Any, ...], low: Any, high: Any, size: Any) -> tuple[Any, ...]:
    """randint(high, size), randint(low, high, size), or by keyword."""
    rest = list(args)
    if size is None and len(rest) > 1 or rest and not fills._is_whole(rest[-1]):
        size = rest.pop()
    if high is None and rest:
        high = rest.pop()
    if low is None:
        low = rest.pop() if rest else 0
    if rest or size is None or not (fills._is_whole(low) and fills._is_whole(high)):
        shown = ", ".join(map(type_name, args))
        raise TypeError(f"randint() received an invalid combination of arguments - got ({shown}), "
                        "but expected (int high, tuple of ints size) or (int low, int high, tuple "
                        "of ints size)")
    if not isinstance(size, (tuple, list)):
        raise TypeError("randint(): argument 'size' (position 2) must be tuple of ints, not "
                        f"{type_name(size)}")
    return low, high, size


def randint(*args: Any, low: Any = None, high: Any = None, size: Any = None,
            generator: Any = None, out: Any = None, dtype: DType | None = None,
            layout: Any = None, device: Any = None, requires_grad: bool = False,
            pin_memory: bool = False) -> Any:
    """randint(high, size) or randint(low, high, size): integers of [low, high), int64.

    >>> import yesca as torch
    >>> _ = torch.manual_seed(0)
    >>> torch.randint(10, (4,))
    tensor([4, 9, 3, 0])
    """
    source = fills.generator_of("randint", generator)
    low, high, size = _range_and_sizes(args, low, high, size)
    wanted = int64 if dtype is None and out is None else dtype
    made = _new("randint", (), tuple(size), out, wanted, layout, device, pin_memory)
    if type(made) is Spec:
        recipe = fills.integers(made, *fills.integer_bounds((low, high), {}))
        return _planned(made, source, *recipe, requires_grad)
    return _finished(fills.random_(made, low, high, generator=generator), requires_grad, out)


@random_call
def randperm(n: int, *, generator: Any = None, out: Any = None, dtype: DType | None = None,
             layout: Any = None, device: Any = None, requires_grad: bool = False,
             pin_memory: bool = False) -> Any:
    """The integers below n in random order.

    >>> import yesca as torch
    >>> _ = torch.manual_seed(0)
    >>> torch.randperm(4)
    tensor([0, 1, 3, 2])
    """
    source = fills.generator_of("randperm", generator)
    if out is not None:
        check_out("randperm", out, dtype, device)
    if not is_whole(n):
        raise TypeError(f"randperm(): argument 'n' (position 1) must be int, not {type_name(n)}")
    wanted = out._spec.dtype if out is not None else as_dtype(dtype) or int64
    _check_permutation(wanted, int(n))
    place = CPU if out is not None else resolve(device)
    if fills.planned(spec(int64, (int(n),), None, place)):
        drawn = _planned(spec(int64, (int(n),)), source, "permutation", 0, 0, False)
    else:
        drawn = empty(int(n), dtype=int64, device=place)
        fills.fill(drawn, "permutation", source, 0, 0)
    made = drawn if wanted is int64 else drawn.to(wanted)
    if out is not None:
        made = into(out, (int(n),)).copy_(made)
    return _finished(made, requires_grad, out)


def _check_permutation(dtype: DType, n: int) -> None:
    if dtype in (bool_, uint16, uint32, uint64) or dtype.category == COMPLEX:
        raise NotImplementedError(f'"randperm" not implemented for \'{SCALAR_NAMES[dtype]}\'')
    if dtype in (float16, float32, float64):
        most = (1 << fills.DIGITS[dtype]) + 1
        shown = most if dtype is float16 else f"2^{fills.DIGITS[dtype]}+1"
        if n > most:
            raise RuntimeError(f"n cannot be greater than {shown} for {SCALAR_NAMES[dtype]} type.")
    elif n > 0 and dtype not in fills.DIGITS and n - 1 > fills._limits(dtype)[1]:
        raise RuntimeError(f"value cannot be converted to type {dtype.name}_t without overflow: "
                           f"randperm({n}) needs a wider dtype than {dtype}")


# ---- like another tensor ---------------------------------------------------------------------

def _like(name: str, other: Any, options: dict[str, Any]) -> Any:
    """The tensor to draw into, or the spec alone where a plan makes it."""
    if not isinstance(other, TensorBase):
        raise TypeError(f"{name}(): argument 'input' (position 1) must be Tensor, not "
                        f"{type_name(other)}")
    made = other._spec
    if not options and fills.planned(made):
        return made
    if not options and made.dense and not made.conj and not made.neg:
        return fresh(make(made))
    return fresh(empty_like(other, **options))


def rand_like(input: Any, *, generator: Any = None, requires_grad: bool = False,
              **options: Any) -> Any:
    """Uniform numbers of [0, 1), with shape, dtype and strides of another tensor."""
    if handled(input):
        return factory("rand_like", (input,), {
            **options, "generator": generator, "requires_grad": requires_grad})
    source = fills.generator_of("rand_like", generator)
    made = _like("rand_like", input, options)
    if type(made) is Spec:
        fills.check_uniform(made.dtype, 0.0, 1.0)
        return _planned(made, source, "uniform", 0.0, 1.0, requires_grad)
    return _finished(fills.uniform_(made, generator=generator), requires_grad)


def randn_like(input: Any, *, generator: Any = None, requires_grad: bool = False,
               **options: Any) -> Any:
    """Normal numbers, with shape, dtype and strides of another tensor."""
    if handled(input):
        return factory("randn_like", (input,), {
            **options, "generator": generator, "requires_grad": requires_grad})
    source = fills.generator_of("randn_like", generator)
    made = _like("randn_like", input, options)
    if type(made) is Spec:
        width = fills.checked_width(made, 1.0)
        return _planned(made, source, "normal", 0.0, width, requires_grad)
    return _finished(fills.normal_(made, generator=generator), requires_grad)


def randint_like(input: Any, *args: Any, low: Any = None, high: Any = None,
                 generator: Any = None, requires_grad: bool = False, **options: Any) -> Any:
    """randint_like(input, high) or (input, low, high), with the dtype of `input`."""
    low, high, _ = _range_and_sizes(args, low, high, ())
    if handled(input):
        return factory("randint_like", (input, low, high), {
            **options, "generator": generator, "requires_grad": requires_grad})
    source = fills.generator_of("randint_like", generator)
    made = _like("randint_like", input, options)
    if type(made) is Spec:
        recipe = fills.integers(made, *fills.integer_bounds((low, high), {}))
        return _planned(made, source, *recipe, requires_grad)
    return _finished(fills.random_(made, low, high, generator=generator), requires_grad)


# ---- distributions with tensors as parameters ------------------------------------------------

def normal(mean: Any, std: Any = 1.0, size: Any = None, *, generator: Any = None,
           out: Any = None, dtype: DType | None = None, layout: Any = None, device: Any = None,
           requires_grad: bool = False, pin_memory: bool = False) -> Any:
    """normal(mean, std): one number for each mean and std, tensors that broadcast, or numbers.

    With two numbers, `size` is the shape of the result.
    """
    if owners((mean, std)):
        return factory("normal", (mean, std), {"generator": generator, "out": out})
    if not isinstance(mean, TensorBase) and not isinstance(std, TensorBase):
        if not isinstance(size, (tuple, list)):
            raise TypeError("normal() received an invalid combination of arguments - got (float, "
                            "float), but expected tensors, or (float mean, float std, tuple of "
                            "ints size)")
        made = _new("normal", (), tuple(size), out, dtype, layout,
                    (device or CPU) if out is None else device, pin_memory)
        if type(made) is Spec:
            source = fills.generator_of("normal", generator)
            center, width = (fills.number("normal_", n, k, v)
                             for k, (n, v) in enumerate((("mean", mean), ("std", std)), 1))
            return _planned(made, source, "normal", center, fills.checked_width(made, width),
                            requires_grad)
        return _finished(fills.normal_(made, mean, std, generator=generator), requires_grad, out)
    return _normal_around(mean, std, generator, out)


@random_call
def _normal_around(mean: Any, std: Any, generator: Any, out: Any) -> Any:
    """One number for each mean and deviation."""
    _check_deviation(std)
    specs = [p._spec for p in (mean, std) if isinstance(p, TensorBase)]
    shape = broadcast_shapes(*(s.shape for s in specs))
    if out is None:
        made = make(spec(specs[0].dtype, tuple(shape), None, specs[0].device))
    else:
        made = _resized("normal", out, tuple(shape), mean, std)
    return _finished(_scaled(made, mean, std, generator), out=out)


def _check_deviation(std: Any) -> None:
    if not isinstance(std, TensorBase):
        if not std >= 0.0:
            raise RuntimeError(f"normal expects std >= 0.0, but found std {std:g}")
        return
    if std._spec.dtype.category == COMPLEX:
        raise RuntimeError("normal expects standard deviation to be non-complex")
    if std._spec.numel and std._spec.device is not META and not std.detach().min().item() >= 0:
        raise RuntimeError("normal expects all elements of std >= 0.0")


def _scaled(made: Any, mean: Any, std: Any, generator: Any) -> Any:
    """PyTorch's order of operations, so that roundings agree."""
    before = STATE.grad
    set_grad(False)
    try:
        if isinstance(std, TensorBase):
            fills.normal_(made, 0, 1, generator=generator).mul_(std).add_(mean)
        else:
            fills.normal_(made, 0, std, generator=generator).add_(mean)
    finally:
        set_grad(before)
    if not isinstance(std, TensorBase):
        return on_tape("normal_mean", made, mean)
    if not isinstance(mean, TensorBase):
        return on_tape("normal_std", made, std)
    return on_tape("normal", made, mean, std)


@random_call
def bernoulli(input: Any, p: float | None = None, *, generator: Any = None,
              out: Any = None) -> Any:
    """Ones with the chances that `input` holds (or all with the chance p), else zeros."""
    made = input._spec
    if p is None and out is None and made.contiguous and made.dtype in (float32, float64) \
            and fills.planned(made) and not (input._requires_grad and STATE.tape) \
            and not input._spec.neg:
        source = fills.generator_of("bernoulli_", generator)
        return OPERATORS.random_chances(input, source._ready())
    if out is not None:
        chosen = _resized("bernoulli", out, tuple(made.shape), input)
    else:
        chosen = empty(tuple(made.shape), dtype=made.dtype, device=made.device)
    fills.bernoulli_(chosen, input if p is None else p, generator=generator)
    if out is not None:
        return _finished(chosen, out=out)
    return on_tape("bernoulli" if p is None else "bernoulli_p", _finished(chosen), input)


def _address(tensor: Any) -> int:
    return address_of(tensor)


# ---- categories ------------------------------------------------------------------------------

_WRONG_WEIGHTS = {
    1: "invalid multinomial distribution (encountering probability entry < 0)",
    2: "invalid multinomial distribution (encountering probability entry = infinity or NaN)",
    3: "invalid multinomial distribution (sum of probabilities <= 0)",
}


def multinomial(input: Any, num_samples: int, replacement: bool = False, *,
                generator: Any = None, out: Any = None) -> Any:
    """Categories drawn by weight: (n,) gives (num_samples,), (rows, n) gives (rows, num_samples).

    >>> import yesca as torch
    >>> torch.multinomial(torch.tensor([0.0, 1.0, 0.0]), 3, replacement=True)
    tensor([1, 1, 1])
    """
    num_samples = whole("multinomial", "num_samples", 2, num_samples)
    if not isinstance(replacement, bool):
        raise argument_error("multinomial", "replacement", 3, "bool", replacement)
    _check_multinomial(input._spec, num_samples, replacement, out)
    chosen = _categories(input, num_samples, replacement, generator)
    if out is not None:
        return _resized("multinomial", out, tuple(chosen._spec.shape), input).copy_(chosen)
    return chosen


@random_call
def _categories(input: Any, samples: int, replacement: bool, generator: Any) -> Any:
    """Categories for any number of rows of weights."""
    source = fills.generator_of("multinomial", generator)
    weights = input.detach().resolve_neg()
    made = weights._spec
    chosen = empty((*made.shape[:-1], samples), dtype=int64, device=made.device)
    if chosen._spec.numel and made.device is not META:
        several = replacement and samples > 1
        sample = _with_replacement if several else _without_replacement
        sample(source, chosen, weights, prod(made.shape[:-1]))
    return chosen


def _check_multinomial(made: Any, samples: int, replacement: bool, out: Any) -> None:
    if not 0 < made.ndim <= 2:
        raise RuntimeError("prob_dist must be 1 or 2 dim")
    if made.dtype.category != FLOATING:
        raise RuntimeError("multinomial only supports floating-point dtypes for input, got: "
                           f"{SCALAR_NAMES[made.dtype]}")
    if out is not None and out._spec.dtype is not int64:
        raise RuntimeError("multinomial expects Long tensor out, got: "
                           f"{SCALAR_NAMES[out._spec.dtype]}")
    if samples <= 0:
        raise RuntimeError("cannot sample n_sample <= 0 samples")
    if not replacement and samples > made.shape[-1]:
        raise RuntimeError("cannot sample n_sample > prob_dist.size(-1) samples without "
                           f"replacement: {samples} of {made.shape[-1]}; pass replacement=True")
    if made.shape[-1] > _MOST_CATEGORIES:
        raise RuntimeError("number of categories cannot exceed 2^24")


def _with_replacement(source: Generator, chosen: Any, weights: Any, rows: int) -> None:
    double = weights._spec.dtype is float64
    table = (weights if double else weights.to(float32)).contiguous()
    categories = table._spec.shape[-1]
    if not categories:
        raise RuntimeError("cannot sample from no categories: input has size 0 in its last "
                           "dimension")
    sums = new_storage(8 * categories)
    samples = chosen._spec.shape[-1]
    wrong = draws.multinomial(source, _address(chosen), samples, _address(table), categories,
                              rows, sums._address, double)
    if wrong:
        raise RuntimeError(_WRONG_WEIGHTS[wrong])


def _without_replacement(source: Generator, chosen: Any, weights: Any, rows: int) -> None:
    """The largest weights divided by exponential numbers (the exponential race)."""
    dtype = weights._spec.dtype
    double = dtype is float64
    table = (weights if double else weights.to(float32)).contiguous()
    categories = table._spec.shape[-1]
    wrong = draws.check_weights(_address(table), categories, rows, double)
    if wrong == 1:
        raise RuntimeError("probability tensor contains either `inf`, `nan` or element < 0")
    if wrong:
        raise RuntimeError(_WRONG_WEIGHTS[wrong])
    times = fills.exponential_(fresh(empty_like(weights)), 1, generator=source)
    if dtype is not float64 and dtype is not float32:  # quotients are rounded to the dtype
        table = OPERATORS.div(weights, times).to(float32)
        times = full_like(table, 1)
    table, times = table.contiguous(), times.contiguous()
    keys = new_storage(8 * rows * categories)
    draws.race(_address(chosen), chosen._spec.shape[-1], keys._address, _address(table),
               _address(times), categories, rows, double)


FUNCTIONS: dict[str, Any] = {
    f.__name__: f for f in (
        rand, randn, randint, randperm, rand_like, randn_like, randint_like, normal, bernoulli,
        multinomial)
}
FUNCTIONS.update(noise.FUNCTIONS)
FUNCTIONS.update(parametric.FUNCTIONS)

METHODS: dict[str, Any] = {
    **fills.METHODS, "bernoulli": bernoulli, "multinomial": multinomial,
}
for _function in (*FUNCTIONS.values(), *METHODS.values()):
    _function.__module__ = public_module("torch")

bernoulli_mask = noise.bernoulli_mask

__all__ = ["FUNCTIONS", "METHODS", "bernoulli_mask"]
