"""`grad`, `vjp`, `jvp` and what is made of them.

They use the ordinary tape. Each takes its arguments as new places on it, so that nested ones do
not see each other's; what they give stays on the tape only where something outside depends on it.
"""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from .._access import require_gradient
from .._tensor import Tensor
from ..base.errors import in_forward_mode
from ..autograd import calls, products
from ..autograd.duals import along
from ..autograd.modes import enable_grad
from ..dispatch.call import OPERATORS as ops
from ..dispatch.levels import off_tape
from ..dispatch.state import STATE, pop_transform, push_transform, set_levels
from ..utils._pytree import tree_flatten, tree_leaves, tree_map, tree_unflatten
from ._batched import active_levels, fully_lowered, raised
from ._watching import Derivative, foreign


class _Depth(threading.local):
    """How many derivatives are being taken, one inside the other."""

    value = 0


_depth = _Depth()


@contextmanager
def _deeper() -> Iterator[None]:
    _depth.value += 1
    try:
        with enable_grad():
            yield
    finally:
        _depth.value -= 1


@contextmanager
def _deriving() -> Iterator[Derivative]:
    """A derivative that sees what is written meanwhile."""
    derivative = Derivative()
    with _deeper():
        push_transform(derivative)
        try:
            yield derivative
        finally:
            pop_transform()


@contextmanager
def _below_levels() -> Iterator[None]:
    """Off all batches: backward runs on the values, whose tangents it takes along."""
    levels = STATE.levels
    set_levels([level for level in levels if level.transforms and not level.is_batch])
    try:
        yield
    finally:
        set_levels(levels)


# ---- places on the tape ----------------------------------------------------------------------

def _everywhere(tensor: Any) -> Any:
    """A tensor batched at every active level: each example gets a derivative of its own."""
    value, levels = fully_lowered(tensor)
    active = active_levels()
    if levels == active:
        return tensor
    shape = tuple(tensor.shape)
    with _below_levels():
        sizes = [level.size for level in active]
        at = [1 if level not in levels else level.size for level in active]
        value = ops.expand(ops.reshape(value, (*at, *shape)), (*sizes, *shape))
    return raised(value, active)


def _tracked(tensor: Any) -> Any:
    """A new place on the tape for a tensor."""
    tensor = _everywhere(tensor)
    value, levels = fully_lowered(tensor)
    with _below_levels():
        if value.requires_grad:
            value = ops.alias(value)
        else:
            value = ops.alias(value) if any(level.tangent(value) is not None
                                            for level in STATE.levels) else value.detach()
            require_gradient(value, True)
    return raised(value, levels)


def _track_tree(tree: Any, derivative: Derivative) -> Any:
    def place(x: Any) -> Any:
        return derivative.admit(_tracked(x), x) if isinstance(x, Tensor) else x

    return tree_map(place, tree)


def _values(tensors: list[Any]) -> list[Any]:
    return [fully_lowered(t)[0] for t in tensors]


def _pull(outputs: list[Any], inputs: list[Any], grads: list[Any] | None, create: bool
          ) -> list[Any]:
    """Gradients of the outputs with respect to the inputs, batched as these are."""
    chosen = [k for k, o in enumerate(outputs) if o.requires_grad]
    if not chosen:
        return [ops.zeros_like(x) for x in inputs]
    roots = [_everywhere(outputs[k]) for k in chosen]
    if grads is None:
        given = None
    else:
        given = _values([_everywhere(grads[k]) for k in chosen])
    levels = [fully_lowered(x)[1] for x in inputs]
    with _below_levels():
        values = _values(inputs)
        seeds = [ops.ones_like(r) for r in _values(roots)] if given is None else given
        found = calls.gradients(_values(roots), values, seeds, retain_graph=True,
                                create_graph=create, allow_unused=True, materialize_grads=True)
    return [raised(g, own) for g, own in zip(found, levels, strict=True)]


def _settled(tree: Any, keep: bool) -> Any:
    """Results off the tape, unless something outside hangs on it."""
    if keep:
        return tree
    return tree_map(lambda x: off_tape(x) if isinstance(x, Tensor) and x.requires_grad else x,
                    tree)


# ---- grad ------------------------------------------------------------------------------------

def _split(argnums: Any, args: tuple[Any, ...]) -> tuple[Any, tuple[Any, ...]]:
    """(the chosen arguments, their positions)."""
    many = isinstance(argnums, (tuple, list))
    places = tuple(argnums) if many else (argnums,)
    for place in places:
        if not isinstance(place, int):
            raise RuntimeError(f"argnum must be int or Tuple[int, ...], got: {type(place)}")
        if not -len(args) <= place < len(args):
            raise RuntimeError(f"Got argnum={place}, but only {len(args)} positional inputs")
    if not places:
        raise RuntimeError("argnums must be non-empty")
    if len({p % len(args) for p in places}) != len(places):
        raise RuntimeError(f"argnums elements must be unique, got {argnums}")
    chosen = tuple([args[p] for p in places])
    return (chosen if many else chosen[0]), places


def _replaced(args: tuple[Any, ...], places: tuple[int, ...], tracked: Any, many: bool
              ) -> tuple[Any, ...]:
    given = list(args)
    for place, value in zip(places, tracked if many else (tracked,), strict=True):
        given[place] = value
    return tuple(given)


def grad_and_value(func: Callable[..., Any], argnums: Any = 0, has_aux: bool = False
                   ) -> Callable[..., Any]:
    """As `grad`; gives (gradient, value), or (gradient, (value, aux))."""

    @functools.wraps(func, updated=())
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        chosen, places = _split(argnums, args)
        with _deriving() as derivative:
            tracked = _track_tree(chosen, derivative)
            inputs = [x for x in tree_leaves(tracked) if isinstance(x, Tensor)]
            made = func(*_replaced(args, places, tracked, isinstance(argnums, (tuple, list))),
                        **kwargs)
            output, aux = _with_aux(made, has_aux, "grad_and_value(f)(*args)")
            if not isinstance(output, Tensor):
                raise RuntimeError("grad_and_value(f)(*args): Expected f(*args) to return a "
                                   f"Tensor, got {type(output)}")
            if output.dim() != 0:
                raise RuntimeError(
                    "grad_and_value(f)(*args): Expected f(*args) to return a scalar Tensor, got "
                    f"tensor with {output.dim()} dims. Maybe you wanted to use the vjp or jacrev "
                    "APIs instead?")
            keep = _depth.value > 1 or foreign(
                [output, *[a for a in tree_leaves(aux) if isinstance(a, Tensor)]], inputs)
            found = iter(_pull([output], inputs, None, keep))
        slopes = tree_map(lambda x: next(found) if isinstance(x, Tensor) else x, tracked)
        value = (output, aux) if has_aux else output
        return _settled(slopes, keep), _settled(value, keep)

    return wrapped


def _with_aux(made: Any, has_aux: bool, name: str) -> tuple[Any, Any]:
    if not has_aux:
        return made, None
    if not (isinstance(made, tuple) and len(made) == 2):
        raise RuntimeError(f"{name}: output of function f should be a tuple: (output, aux) if "
                           "has_aux is True")
    return made


def grad(func: Callable[..., Any], argnums: Any = 0, has_aux: bool = False) -> Callable[..., Any]:
    """A function that gives the gradient of `func`, whose result is a scalar tensor.

    Args:
        argnums: the position, or positions, of the arguments to differentiate by.
        has_aux: `func` gives (result, aux); the new function gives (gradient, aux).

    >>> import yesca as torch
    >>> torch.func.grad(torch.func.grad(lambda x: x ** 3))(torch.tensor(2.0))
    tensor(12.)
    """
    both = grad_and_value(func, argnums, has_aux)

    @functools.wraps(func, updated=())
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        slopes, value = both(*args, **kwargs)
        return (slopes, value[1]) if has_aux else slopes

    return wrapped


# ---- products with the Jacobian --------------------------------------------------------------

def _tensors_only(tree: Any, message: str) -> tuple[list[Any], Any]:
    leaves, structure = tree_flatten(tree)
    for leaf in leaves:
        if not isinstance(leaf, Tensor):
            raise RuntimeError(f"{message}, got {type(leaf)}")
    return leaves, structure


def vjp(func: Callable[..., Any], *primals: Any, has_aux: bool = False) -> Any:
    """(outputs, vjp_fn): `vjp_fn(cotangents)` gives them times the Jacobian, for each primal.

    >>> import yesca as torch
    >>> value, back = torch.func.vjp(torch.sin, torch.tensor(0.0))
    >>> back(torch.tensor(2.0))
    (tensor(2.),)
    """
    with _deriving() as derivative:
        tracked = _track_tree(primals, derivative)
        inputs = [x for x in tree_leaves(tracked) if isinstance(x, Tensor)]
        output, aux = _with_aux(func(*tracked), has_aux, "vjp(f, *primals)")
        outputs, structure = _tensors_only(
            output, "vjp(f, *primals): Expected f(*primals) to return only tensors")
        for one in outputs:
            if not (one.dtype.is_floating_point or one.dtype.is_complex):
                raise RuntimeError("vjp(f, ...): All outputs of f must be floating-point or "
                                   f"complex Tensors, got Tensor with dtype {one.dtype}")
        keep = _depth.value > 1 or foreign(outputs, inputs)

    def vjp_fn(*cotangents: Any, retain_graph: bool = True, create_graph: bool | None = None
               ) -> Any:
        given = cotangents[0] if len(cotangents) == 1 else cotangents
        leaves, shape = tree_flatten(given)
        if shape != structure:
            raise RuntimeError(
                "Expected pytree structure of cotangents to be the same as pytree structure of "
                f"outputs to the function. cotangents: {shape}, primal output: {structure}")
        create = STATE.tape and (_depth.value > 0 or keep or
                                 any(x.requires_grad for x in leaves))
        with enable_grad():
            found = iter(_pull_batched(outputs, inputs, leaves, create))
        made = tree_map(lambda x: next(found) if isinstance(x, Tensor) else x, tracked)
        return _settled(made, create)

    shown = _settled(output, keep)
    return (shown, vjp_fn, _settled(aux, keep)) if has_aux else (shown, vjp_fn)


def _pull_batched(outputs: list[Any], inputs: list[Any], grads: list[Any], create: bool
                  ) -> list[Any]:
    """As `_pull`, where the gradients may be batched at levels that the outputs do not know.

    The tape is walked once, on values that only these later levels have not been taken off.
    """
    known = {level for x in inputs for level in fully_lowered(x)[1]}
    active = active_levels()
    used = {level for g in grads for level in fully_lowered(g)[1]}
    later = [level for level in active if level in used and level not in known]
    rest = [level for level in active if level not in known and level not in later]
    if not later:
        return _outside(rest, lambda: _pull(outputs, inputs, grads, create))
    return _outside(rest, lambda: _pull_later(outputs, inputs, grads, create, later))


def _pull_later(outputs: list[Any], inputs: list[Any], grads: list[Any], create: bool,
                later: list[Any]) -> list[Any]:
    chosen = [k for k, o in enumerate(outputs) if o.requires_grad]
    if not chosen:
        return [ops.zeros_like(x) for x in inputs]
    roots = _outside(later, lambda: _values([_everywhere(outputs[k]) for k in chosen]))
    whole = [fully_lowered(_everywhere(grads[k])) for k in chosen]
    values = _values(inputs)
    levels = STATE.levels
    set_levels([level for level in levels if level.transforms and not level.is_batch])
    count = len(whole[0][1]) - len(later)  # dimensions of the batches that the outputs know
    behind, front = tuple(range(count, count + len(later))), tuple(range(len(later)))
    try:
        given = [raised(ops.movedim(g, behind, front), tuple(later)) for g, _ in whole]
        set_levels([*STATE.levels, *later])
        found = calls.gradients(roots, values, given, retain_graph=True, create_graph=create,
                                allow_unused=True, materialize_grads=True)
        made = [fully_lowered(_everywhere(f))[0] for f in found]
        set_levels([level for level in STATE.levels if not level.is_batch])
        made = [ops.movedim(m, front, behind) for m in made]
    finally:
        set_levels(levels)
    return [raised(m, active_levels()) for m in made]


def _outside(levels: list[Any], function: Callable[[], Any]) -> Any:
    before = STATE.levels
    set_levels([level for level in before if level not in levels])
    try:
        return function()
    finally:
        set_levels(before)


def jvp(func: Callable[..., Any], primals: Any, tangents: Any, *, strict: bool = False,
        has_aux: bool = False) -> Any:
    """(outputs, the Jacobian times the tangents), both of the outputs' structure.

    >>> import yesca as torch
    >>> torch.func.jvp(lambda x: x * x, (torch.tensor(3.0),), (torch.tensor(1.0),))
    (tensor(9.), tensor(6.))
    """
    if not isinstance(primals, tuple):
        raise RuntimeError("jvp(f, primals, tangents): Expected primals to be a tuple. E.g. it "
                           "should be valid to call f(*primals).")
    leaves, structure = tree_flatten(primals)
    vectors, other = tree_flatten(tangents)
    if structure != other:
        raise RuntimeError(
            "jvp(f, primals, tangents): Expected primals and tangents to have the same python "
            f"structure. For example, if primals is a tuple of 3 tensors, tangents also must be. "
            f"Got primals with structure {structure} and tangents with structure {other}")
    if not active_levels():
        return _along(func, leaves, vectors, structure, has_aux)
    with _deriving() as derivative:
        inputs = [derivative.admit(_tracked(x), x) for x in leaves]
        output, aux = _with_aux(func(*tree_unflatten(inputs, structure)), has_aux,
                                "jvp(f, primals, tangents)")
        outputs, shape = _tensors_only(
            output, "jvp(f, primals, tangents): Expected f(*primals) to return only tensors")
        keep = _depth.value > 1 or foreign(outputs, inputs) \
            or any(v.requires_grad for v in vectors)
        found = _push(outputs, inputs, vectors, keep)
    made = (_settled(output, keep), _settled(tree_unflatten(found, shape), keep))
    return (*made, _settled(aux, keep)) if has_aux else made


def _along(func: Callable[..., Any], leaves: list[Any], vectors: list[Any], structure: Any,
           has_aux: bool) -> Any:
    """`jvp` outside all batches: on a level of forward mode."""
    kept: list[Any] = []
    derivative = Derivative()

    def flat(*duals: Any) -> Any:
        for dual, leaf in zip(duals, leaves, strict=True):
            derivative.admit(dual, leaf)
        output, aux = _with_aux(func(*tree_unflatten(list(duals), structure)), has_aux,
                                "jvp(f, primals, tangents)")
        outputs, shape = _tensors_only(
            output, "jvp(f, primals, tangents): Expected f(*primals) to return only tensors")
        kept[:] = [shape, aux]
        return tuple(outputs)

    push_transform(derivative)
    try:
        outputs, found = along(flat, leaves, vectors)
    finally:
        pop_transform()
    shape, aux = kept
    made = (tree_unflatten(list(outputs), shape), tree_unflatten(found, shape))
    return (*made, aux) if has_aux else made


def _push(outputs: list[Any], inputs: list[Any], vectors: list[Any], create: bool) -> list[Any]:
    """The Jacobian times vectors: twice backward (see `autograd.functional.jvp`)."""
    roots = [_everywhere(o) for o in outputs]
    levels = [fully_lowered(r)[1] for r in roots]
    given = _values([_everywhere(v) for v in vectors])
    with _below_levels(), in_forward_mode():
        found = products.forward_product(tuple(_values(roots)), tuple(_values(inputs)),
                                         tuple(given), create)
    return [raised(f, own) for f, own in zip(found, levels, strict=True)]


def linearize(func: Callable[..., Any], *primals: Any) -> tuple[Any, Callable[..., Any]]:
    """(outputs, jvp_fn): `jvp_fn(*tangents)` gives the Jacobian at the primals times them."""
    with _deeper():
        leaves, structure = tree_flatten(primals)
        inputs = [_tracked(x) for x in leaves]
        output = func(*tree_unflatten(inputs, structure))
        outputs, shape = _tensors_only(output, "linearize: Expected f(*primals) to return only "
                                       "tensors")
        keep = _depth.value > 1 or foreign(outputs, inputs)

    def jvp_fn(*tangents: Any) -> Any:
        vectors = tree_leaves(tangents)
        with enable_grad():
            found = _push(outputs, inputs, vectors, keep)
        return _settled(tree_unflatten(found, shape), keep)

    return _settled(output, keep), jvp_fn
