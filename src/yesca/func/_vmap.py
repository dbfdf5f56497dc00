"""`vmap`: a function of one example as a function of a batch."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, NamedTuple

from .._tensor import Tensor
from ..core.views import wrap_dim
from ..dispatch import call as calls
from ..dispatch.call import OPERATORS, call, call_inplace
from ..dispatch.levels import Level
from ..dispatch.state import STATE, pop_level, pop_transform, push_level, push_transform
from ..operators.record import Record
from ..utils._pytree import broadcast_to, tree_flatten, tree_unflatten
from . import _rules
from ._batched import (
    batched, fully_lowered, is_unreadable, lowered, refreshed,
)
from ._refusals import refuse


class VmapLevel(Level):
    """A batch level: hands each operator call on with the batch as one dimension more."""

    is_batch = transforms = True
    birth = 0  # takes no derivative

    def __init__(self, size: int, randomness: str) -> None:
        self.size, self.randomness = size, randomness
        self.draws_apart = randomness == "different"
        self.number = len(STATE.transforms) + 1

    def call(self, record: Record, values: tuple[Any, ...], target: Any) -> Any:
        """Run a record on examples; the level itself is off the stack."""
        owned = any(self.owns(v) for value in values
                    for v in (value if isinstance(value, (tuple, list)) else (value,)))
        if owned:
            refuse(self, record, values, target)
        if record.composite is not None:
            return self.composed(record, values, target, owned)
        if not owned:
            return call(record, values) if target is None else call_inplace(record, values)
        if target is None:
            return self.wrap(_rules.rule(record)(self, record, values))
        _rules.write(self, record, values)
        return refreshed(target)

    def composed(self, record: Record, values: tuple[Any, ...], target: Any, owned: bool) -> Any:
        """A composite by its parts, or, where it asks for numbers, example by example."""
        try:
            return self.inside(lambda: calls.run(record, values, target))
        except RuntimeError as error:
            if record.name.endswith("_") or not is_unreadable(error):
                raise
        if not owned:
            return call(record, values) if target is None else call_inplace(record, values)
        if target is not None:
            _rules.write_by_example(self, record, values)
            return refreshed(target)
        return self.wrap(_rules.by_example(self, record, values))

    def owns(self, value: Any) -> bool:
        """Whether a value is batched at this level."""
        return getattr(value, "_level", None) is self

    def inside(self, function: Callable[[], Any]) -> Any:
        """Run code that calls operators at this level."""
        push_level(self)
        try:
            return function()
        finally:
            pop_level()

    def wrap(self, made: Any) -> Any:
        """Results with the batch in front, as examples."""
        if isinstance(made, (tuple, list)):
            return type(made)([self.wrap(m) for m in made])
        return batched(self, made) if isinstance(made, Tensor) else made

    def lift(self, value: Any) -> Any:
        """A tensor's value with the batch in front; others are repeated without a copy."""
        if self.owns(value):
            return value._value
        return OPERATORS.expand(OPERATORS.unsqueeze(value, 0), (self.size, *value.shape))

    def drawing(self) -> None:
        """Asked before random numbers are drawn."""
        if self.randomness == "error":
            raise RuntimeError(
                "vmap: called random operation while in randomness error mode. Please either use "
                "the 'same' or 'different' randomness flags on vmap or perform the randomness "
                "operation out of vmap")

    def fill(self, function: Callable[..., Any], tensor: Any, args: tuple[Any, ...],
             kwargs: dict[str, Any]) -> Any:
        """Fill the batch, or all its examples alike."""
        if not self.owns(tensor):
            if self.draws_apart:
                raise RuntimeError(
                    "vmap: Cannot ask for different inplace randomness on an unbatched tensor. "
                    "This will appear like same randomness. If this is necessary for your usage, "
                    "please file an issue with functorch.")
            return function(tensor, *args, **kwargs)
        if self.draws_apart:
            function(tensor._value, *[self.spread(a, tensor.dim()) for a in args],
                     **{k: self.spread(v, tensor.dim()) for k, v in kwargs.items()})
            return tensor
        self.draws_alike(args, kwargs)
        made = function(OPERATORS.empty(tensor.shape, dtype=tensor.dtype), *args, **kwargs)
        return self.inside(lambda: tensor.copy_(made))

    def draw(self, function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
             ) -> Any:
        """Draw for the whole batch of parameters, or for each example, or once for all."""
        self.drawing()
        if not self.draws_apart:
            self.draws_alike(args, kwargs)
            return function(*args, **kwargs)
        given = (*args, *kwargs.values())
        ndim = max([v.dim() for v in given if isinstance(v, Tensor)], default=None)
        if ndim is None:
            return self.wrap(OPERATORS.stack([function(*args, **kwargs)
                                              for _ in range(self.size)]))
        return self.wrap(function(*[self.spread(a, ndim) for a in args],
                                  **{k: self.spread(v, ndim) for k, v in kwargs.items()}))

    def draws_alike(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """Refuse parameters that are batched where all examples get the same numbers."""
        if any(self.owns(v) for v in (*args, *kwargs.values())):
            raise RuntimeError("Vmap does not currently support same randomness with a batched "
                               "tensor input. Please file an issue with functorch")

    def spread(self, value: Any, ndim: int) -> Any:
        """A tensor's value with the batch in front, and ones behind it up to `ndim` dimensions."""
        if not isinstance(value, Tensor):
            return value
        whole = self.lift(value)
        return OPERATORS.reshape(whole, (self.size, *(1,) * (ndim - value.dim()), *value.shape))

    def beside(self, tensor: Any, made: Any) -> Any:
        """A new tensor with a batch of its own, where the tensor it goes with has one."""
        if self not in fully_lowered(tensor)[1]:
            return made
        return batched(self, OPERATORS.clone(self.lift(made)))

    def custom_function(self, function: Any, args: tuple[Any, ...]) -> tuple[bool, Any]:
        """A `Function` inside vmap: by its own rule, or by its parts."""
        from ..autograd.function import Function

        if not any(self.owns(a) for a in args):
            return False, None
        if function.setup_context is Function.setup_context:
            raise RuntimeError(
                "In order to use an autograd.Function with functorch transforms (vmap, grad, jvp, "
                "jacrev, ...), it must override the setup_context staticmethod. For more details, "
                "please see https://pytorch.org/docs/main/notes/extending.func.html")
        if function.generate_vmap_rule and function.vmap is not Function.vmap:
            raise RuntimeError(
                f"You tried to vmap over {function.__name__}, but it has both "
                "generate_vmap_rule=True and an overridden vmap staticmethod. Please set "
                "generate_vmap_rule=False or delete the overridden vmap staticmethod to avoid "
                "ambiguity. For more details, please see "
                "https://pytorch.org/docs/main/notes/extending.func.html")
        if function.generate_vmap_rule:
            return True, self.generated(function, args)
        if function.vmap is Function.vmap:
            raise RuntimeError(
                "You tried to vmap over an autograd.Function that does not have vmap support. "
                "Please override and implement the vmap staticmethod or set "
                "generate_vmap_rule=True.")
        info = VmapInfo(self.size, self.randomness)
        dims = tuple([0 if self.owns(a) else None for a in args])
        STATE.levels.remove(self)
        try:
            made, out_dims = function.vmap(info, dims, *[lowered(a, self) for a in args])
        finally:
            push_level(self)
        many = isinstance(made, tuple)
        outs = made if many else (made,)
        places = out_dims if isinstance(out_dims, tuple) else (out_dims,) * len(outs)
        wrapped = tuple([o if d is None else batched(self, _to_front(o, d))
                         for o, d in zip(outs, places, strict=True)])
        return True, wrapped if many else wrapped[0]

    def generated(self, function: Any, args: tuple[Any, ...]) -> Any:
        """A custom Function by the rule made of its own methods."""
        from ._functions import over_batch

        made = over_batch(function, self, tuple([self.owns(a) for a in args]))
        STATE.levels.remove(self)
        try:
            return self.wrap(made.apply(*[lowered(a, self) for a in args]))
        finally:
            push_level(self)


class VmapInfo(NamedTuple):
    """What a Function's `vmap` is told: the batch's size and how to draw random numbers."""

    batch_size: int
    randomness: str


def _to_front(tensor: Any, dim: int) -> Any:
    return tensor if dim == 0 else OPERATORS.movedim(tensor, dim, 0)


def vmap(func: Callable[..., Any], in_dims: Any = 0, out_dims: Any = 0,
         randomness: str = "error", *, chunk_size: int | None = None) -> Callable[..., Any]:
    """`func` of one example as a function of a batch of examples.

    Args:
        func: takes and gives tensors (in nested containers, if need be).
        in_dims: for each argument the dimension that is the batch, None where there is none; may
            be nested as the arguments are.
        out_dims: where the batch goes in each result.
        randomness: "error" refuses random numbers inside, "same" draws once for all examples,
            "different" draws for each.
        chunk_size: at most so many examples at once.

    >>> import yesca as torch
    >>> x = torch.tensor([[1.0, 2.0], [3.0, 4.0]])
    >>> torch.vmap(torch.dot)(x, x)
    tensor([ 5., 25.])
    """
    if randomness not in ("error", "different", "same"):
        raise RuntimeError("Only allowed values for randomness are 'error', 'different', or "
                           f"'same'. Got {randomness}")
    if not (chunk_size is None or chunk_size > 0):
        raise ValueError(f"vmap: chunk_size should be None or greater than 0. (got {chunk_size})")

    @functools.wraps(func, updated=())
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        name = getattr(func, "__name__", repr(func))
        leaves, structure, dims, size = _inputs(name, in_dims, args)
        if chunk_size is None or chunk_size >= size:
            return _mapped(func, name, leaves, structure, dims, size, out_dims, randomness, kwargs)
        parts = []
        for start in range(0, size, chunk_size):
            count = min(chunk_size, size - start)
            part = [x if d is None else OPERATORS.narrow(x, d, start, count)
                    for x, d in zip(leaves, dims, strict=True)]
            parts.append(_mapped(func, name, part, structure, dims, count, out_dims, randomness,
                                 kwargs))
        return _joined(parts, out_dims)

    return wrapped


def _inputs(name: str, in_dims: Any, args: tuple[Any, ...]
            ) -> tuple[list[Any], Any, list[int | None], int]:
    """Leaves of the arguments, their structure, batch dimensions and the batch's size."""
    if not isinstance(in_dims, (int, tuple, list, dict)):
        raise ValueError(f"vmap({name}, in_dims={in_dims}, ...)(<inputs>): expected `in_dims` to "
                         "be int or a (potentially nested) tuple matching the structure of inputs, "
                         f"got: {type(in_dims)}.")
    if not args:
        raise ValueError(f"vmap({name})(<inputs>): got no inputs. Maybe you forgot to add inputs, "
                         "or you are trying to vmap over a function with no inputs. The latter is "
                         "unsupported.")
    leaves, structure = tree_flatten(args)
    given = tuple(in_dims) if isinstance(in_dims, list) else in_dims
    dims = broadcast_to(given, structure)
    if dims is None:
        raise ValueError(
            f"vmap({name}, in_dims={in_dims}, ...)(<inputs>): in_dims is not compatible with the "
            "structure of `inputs`. in_dims has structure "
            f"{tree_flatten(in_dims)[1]} but inputs has structure {structure}.")
    settled = [_checked_dim(name, in_dims, x, d) for x, d in zip(leaves, dims, strict=True)]
    sizes = [x.shape[d] for x, d in zip(leaves, settled, strict=True) if d is not None]
    if not sizes:
        raise ValueError(f"vmap({name}, in_dims={in_dims}, ...)(<inputs>): at least one input "
                         "must have a batch dimension")
    if any(s != sizes[0] for s in sizes):
        raise ValueError("vmap: Expected all tensors to have the same size in the mapped "
                         f"dimension, got sizes {sizes} for the mapped dimension")
    return leaves, structure, settled, sizes[0]


def _checked_dim(name: str, in_dims: Any, leaf: Any, dim: Any) -> int | None:
    start = f"vmap({name}, in_dims={in_dims}, ...)(<inputs>): Got in_dim={dim} for "
    if dim is None:
        return None
    if not isinstance(dim, int):
        raise ValueError(f"{start}an input but in_dim must be either an integer dimension or None.")
    if not isinstance(leaf, Tensor):
        raise ValueError(f"{start}an input but the input is of type {type(leaf)}. We cannot vmap "
                         "over non-Tensor arguments, please use None as the respective in_dim")
    if not -leaf.dim() <= dim < leaf.dim():
        raise ValueError(f"{start}some input, but that input is a Tensor of dimensionality "
                         f"{leaf.dim()} so expected in_dim to satisfy -{leaf.dim()} <= in_dim < "
                         f"{leaf.dim()}.")
    return dim % leaf.dim()


def _mapped(func: Callable[..., Any], name: str, leaves: list[Any], structure: Any,
            dims: list[int | None], size: int, out_dims: Any, randomness: str,
            kwargs: dict[str, Any]) -> Any:
    """One run of the function on examples."""
    level = VmapLevel(size, randomness)
    examples = [x if d is None else batched(level, _to_front(x, d))
                for x, d in zip(leaves, dims, strict=True)]
    push_level(level)
    push_transform(level)
    try:
        made = func(*tree_unflatten(examples, structure), **kwargs)
    finally:
        pop_transform()
        pop_level()
    results, shape = tree_flatten(made)
    places = broadcast_to(tuple(out_dims) if isinstance(out_dims, list) else out_dims, shape)
    if places is None:
        raise ValueError(f"vmap({name}, ..., out_dims={out_dims})(<inputs>): out_dims is not "
                         "compatible with the structure of `outputs`. out_dims has structure "
                         f"{tree_flatten(out_dims)[1]} but outputs has structure {shape}.")
    return tree_unflatten([_result(level, name, r, d)
                           for r, d in zip(results, places, strict=True)], shape)


def _result(level: VmapLevel, name: str, made: Any, dim: int | None) -> Any:
    if not isinstance(made, Tensor):
        if dim is None:
            return made
        raise ValueError(f"vmap({name}, ...): `{name}` must only return Tensors, got type "
                         f"{type(made)}. Did you mean to set out_dims= to None for output?")
    if dim is None:
        if level.owns(made):
            raise ValueError(f"vmap({name}, ...): `{name}` can not return a BatchedTensor when "
                             "out_dim is None")
        return made
    whole = level.lift(made)
    dim = wrap_dim(dim, whole.dim())
    return whole if dim == 0 else OPERATORS.movedim(whole, 0, dim)


def _joined(parts: list[Any], out_dims: Any) -> Any:
    """The results of chunks, one behind the other."""
    flat = [tree_flatten(p)[0] for p in parts]
    structure = tree_flatten(parts[0])[1]
    places = broadcast_to(out_dims, structure) or []
    return tree_unflatten(
        [column[0] if d is None else OPERATORS.cat(list(column), d)
         for column, d in zip(zip(*flat, strict=True), places, strict=True)], structure)
