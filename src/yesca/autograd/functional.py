"""`torch.autograd.functional`: Jacobians, Hessians and their products with vectors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..core.tensor_base import TensorBase
from ..dispatch.call import OPERATORS
from ..dispatch.levels import off_tape
from ..func._jacobians import columns_of, linear_rows
from .duals import along
from .modes import enable_grad
from .products import Tensors, filled, forward_product, pulled


def _as_tuple(value: Any, what: str, name: str) -> tuple[bool, Tensors]:
    """(whether it was a tuple, the tuple); refuses what is no tensor."""
    many = isinstance(value, tuple)
    values = value if many else (value,)
    shown = "outputs of the user-provided function" if what == "outputs" else what
    for k, one in enumerate(values):
        if not isinstance(one, TensorBase):
            place = f"the value at index {k} of the given {shown}" if many else f"the given {shown}"
            raise TypeError(f"The {shown} given to {name} must be either a Tensor or a tuple of "
                            f"Tensors but {place} has type {type(one)}.")
    return many, tuple(values)


def _prepared(inputs: Tensors, create_graph: bool, need_graph: bool = True) -> Tensors:
    """Inputs as places of their own on the tape: views for `create_graph`, else new leaves."""
    if create_graph:
        return tuple([OPERATORS.alias(x) if x.requires_grad
                      else x.detach().requires_grad_(need_graph) for x in inputs])
    return tuple([x.detach().requires_grad_(need_graph) for x in inputs])


def _check_strict(outputs: Tensors, strict: bool, what: str = "") -> None:
    if not strict:
        return
    for k, output in enumerate(outputs):
        if not output.requires_grad:
            if what:
                raise RuntimeError(
                    f"The {what} of the user-provided function with respect to input {k} does not "
                    "require gradients. The function must depend on it in a differentiable way "
                    "when running in strict mode.")
            raise RuntimeError(
                f"Output {k} of the user-provided function does not require gradients. The "
                "outputs must be computed in a differentiable manner from the input when running "
                "in strict mode.")


def _vector(v: Any, like: Tensors, many: bool, message: str, name: str) -> Tensors:
    """The vector of a product: of the same shapes as `like`, or ones for a single element."""
    if v is None:
        if len(like) != 1 or like[0].numel() != 1:
            raise RuntimeError(message)
        return (OPERATORS.ones_like(like[0]),)
    _, vectors = _as_tuple(v, "v", name)
    if len(vectors) != len(like):
        if not many:
            raise RuntimeError("The given v should contain a single Tensor.")
        raise RuntimeError(f"v is a tuple of invalid length: should be {len(like)} but got "
                           f"{len(vectors)}.")
    for k, (one, other) in enumerate(zip(vectors, like, strict=True)):
        if tuple(one.shape) != tuple(other.shape):
            entry = f"Entry {k} in " if many else ""
            raise RuntimeError(f"{entry}v has invalid size: should be {other.shape} but got "
                               f"{one.shape}.")
    return vectors


def _settled(values: Tensors, create_graph: bool) -> Tensors:
    return values if create_graph else tuple([v.detach() for v in values])


def _shown(values: Tensors, many: bool) -> Any:
    return tuple(values) if many else values[0]


_INDEPENDENT = ("The output of the user-provided function is independent of input {k}. This is "
                "not allowed in strict mode.")


def jacobian(func: Callable[..., Any], inputs: Any, create_graph: bool = False,
             strict: bool = False, vectorize: bool = False, strategy: str = "reverse-mode") -> Any:
    """The Jacobian of a function of tensors.

    Args:
        func: takes the inputs, gives a tensor or a tuple of tensors.
        inputs: a tensor or a tuple of tensors.
        create_graph: make the result differentiable.
        strict: raise where an output does not depend on an input (else it is zero there).
        vectorize: take all products at once, as `torch.vmap` would, in place of one after the
            other; "forward-mode" needs it, `strict` forbids it.
        strategy: "reverse-mode" (products of the outputs' unit vectors, by a pass backward) or
            "forward-mode" (products of the inputs' unit vectors, by a run of the function).

    Returns a tensor of shape `output.shape + input.shape`; tuples of outputs or inputs give
    (tuples of) tuples.

    >>> import yesca as torch
    >>> torch.autograd.functional.jacobian(lambda x: x * x, torch.tensor([1.0, 2.0]))
    tensor([[2., 0.],
            [0., 4.]])
    """
    _check_strategy(strategy, create_graph, strict, vectorize)
    with enable_grad():
        many_in, given = _as_tuple(inputs, "inputs", "jacobian")
        if strategy == "forward-mode":
            return _by_tangents(func, given, many_in)
        given = _prepared(given, create_graph)
        many_out, outputs = _as_tuple(func(*given), "outputs", "jacobian")
        _check_strict(outputs, strict)
        if vectorize:
            return _by_batch(outputs, given, create_graph, many_in, many_out)
        rows = []
        for k, output in enumerate(outputs):
            columns = _rows(output, given, create_graph, strict,
                            f"Output {k} of the user-provided function is independent of input "
                            "{k}. This is not allowed in strict mode.")
            rows.append(_shown(_settled(columns, create_graph), many_in))
    return _shown(tuple(rows), many_out)


def _check_strategy(strategy: str, create_graph: bool, strict: bool, vectorize: bool) -> None:
    name = "torch.autograd.functional.jacobian"
    if strategy not in ("forward-mode", "reverse-mode"):
        raise AssertionError(
            'Expected strategy to be either "forward-mode" or "reverse-mode". Hint: If your '
            'function has more outputs than inputs, "forward-mode" tends to be more performant. '
            'Otherwise, prefer to use "reverse-mode".')
    if strategy == "forward-mode" and create_graph:
        raise NotImplementedError(
            f'{name}: `create_graph=True` and `strategy="forward-mode"` are not supported together '
            '(yet). Please either set `create_graph=False` or `strategy="reverse-mode"`.')
    if strict and vectorize:
        raise RuntimeError(
            f"{name}: `strict=True` and `vectorized=True` are not supported together. Please "
            "either set `strict=False` or `vectorize=False`.")
    if strategy == "forward-mode" and not vectorize:
        raise NotImplementedError("Computing Jacobian using forward-AD or forward-over-reverse "
                                  "Hessian isonly implemented for `vectorize=True`.")


def _by_batch(outputs: Tensors, inputs: Tensors, create_graph: bool, many_in: bool,
              many_out: bool) -> Any:
    """The Jacobian by one pass backward with a batch of all rows."""
    def products(*rows: Any) -> Tensors:
        return filled(pulled(outputs, inputs, rows, create_graph), inputs, False, "")

    if not any(output.numel() for output in outputs):
        raise IndexError("index 0 is out of bounds for dimension 0 with size 0")
    blocks = linear_rows(products, list(outputs), list(inputs), "error", None)
    rows = []
    for output, own in zip(outputs, columns_of(blocks, list(outputs)), strict=True):
        columns = tuple([OPERATORS.reshape(part, (*output.shape, *x.shape))
                         for part, x in zip(own, inputs, strict=True)])
        rows.append(_shown(_settled(columns, create_graph), many_in))
    return _shown(tuple(rows), many_out)


def _by_tangents(func: Callable[..., Any], inputs: Tensors, many_in: bool) -> Any:
    """The Jacobian by forward mode: one run of the function with a batch of all columns."""
    known: dict[str, Any] = {}

    def products(*ways: Any) -> Tensors:
        made, tangents = along(func, list(inputs), list(ways))
        known["many"], outputs = _as_tuple(made, "outputs", "jacobian")
        known["shapes"] = [(tuple(o.shape), o.dtype) for o in outputs]
        return tuple(tangents)

    blocks = linear_rows(products, list(inputs), [], "error", None)
    if not blocks:  # no element to differentiate by
        products(*[OPERATORS.zeros_like(x.detach()) for x in inputs])
        blocks = [OPERATORS.zeros((0, *shape), dtype=dtype) for shape, dtype in known["shapes"]]
    rows = []
    for block, (shape, _) in zip(blocks, known["shapes"], strict=True):
        columns = [OPERATORS.reshape(OPERATORS.movedim(own.detach(), 0, -1), (*shape, *x.shape))
                   for (own,), x in zip(columns_of([block], list(inputs)), inputs, strict=True)]
        rows.append(_shown(tuple(columns), many_in))
    return _shown(tuple(rows), known["many"])


def _rows(output: Any, inputs: Tensors, create_graph: bool, strict: bool, message: str
          ) -> Tensors:
    """Per input: the Jacobian of one output."""
    columns: list[list[Any]] = [[] for _ in inputs]
    flat = OPERATORS.reshape(output, (-1,))
    for j in range(output.numel()):
        found = pulled((OPERATORS.select(flat, 0, j),), inputs, None, create_graph)
        for column, one in zip(columns, filled(found, inputs, strict, message), strict=True):
            column.append(one)
    return tuple([OPERATORS.reshape(OPERATORS.stack(column), (*output.shape, *x.shape))
                  for column, x in zip(columns, inputs, strict=True)])


def hessian(func: Callable[..., Any], inputs: Any, create_graph: bool = False,
            strict: bool = False, vectorize: bool = False,
            outer_jacobian_strategy: str = "reverse-mode") -> Any:
    """The Hessian of a function with one result of a single element.

    Returns a tensor of shape `input.shape + input.shape`, or a tuple of tuples of them.
    `outer_jacobian_strategy`: how the gradient is differentiated, as for `jacobian`.
    """
    if outer_jacobian_strategy not in ("forward-mode", "reverse-mode"):
        raise AssertionError(
            'Expected strategy to be either "forward-mode" or "reverse-mode".')
    many, given = _as_tuple(inputs, "inputs", "hessian")

    def slope(*values: Any) -> Tensors:
        with enable_grad():
            values = tuple([v if v.requires_grad else _leaf(off_tape(v)) for v in values])
            if strict:
                values = tuple([OPERATORS.alias(v) for v in values])
            output = func(*values)
            _scalar(output, "hessian")
            _check_strict((output,), strict)
            found = pulled((output,), values, None, True)
            return filled(found, values, strict, _INDEPENDENT)

    made = jacobian(slope, given, create_graph, strict, vectorize, outer_jacobian_strategy)
    return made if many else made[0][0]


def _leaf(tensor: Any) -> Any:
    tensor.requires_grad = True
    return tensor


def _scalar(output: Any, name: str) -> None:
    if isinstance(output, tuple):
        raise RuntimeError(f"The function given to {name} should return a single Tensor")
    _as_tuple(output, "outputs", name)
    if output.numel() != 1:
        raise RuntimeError(f"The Tensor returned by the function given to {name} should contain a "
                           "single element")


def vjp(func: Callable[..., Any], inputs: Any, v: Any = None, create_graph: bool = False,
        strict: bool = False) -> tuple[Any, Any]:
    """(outputs, vector v times the Jacobian): the product has the inputs' shapes."""
    with enable_grad():
        many_in, given = _as_tuple(inputs, "inputs", "vjp")
        given = _prepared(given, create_graph)
        many_out, outputs = _as_tuple(func(*given), "outputs", "vjp")
        _check_strict(outputs, strict)
        vectors = _vector(v, outputs, many_out,
                          "The vector v can only be None if the user-provided function returns a "
                          "single Tensor with a single element.", "vjp")
        found = filled(pulled(outputs, given, vectors, create_graph), given, strict,
                        _INDEPENDENT)
    return (_shown(_settled(outputs, create_graph), many_out),
            _shown(_settled(found, create_graph), many_in))


def jvp(func: Callable[..., Any], inputs: Any, v: Any = None, create_graph: bool = False,
        strict: bool = False) -> tuple[Any, Any]:
    """(outputs, the Jacobian times vector v): the product has the outputs' shapes.

    Computed by two passes backward: v times the Jacobian is linear in v, and its derivative with
    respect to v is the product that is wanted.
    """
    with enable_grad():
        many_in, given = _as_tuple(inputs, "inputs", "jvp")
        given = _prepared(given, create_graph)
        vectors = _vector(v, given, many_in,
                          "The vector v can only be None if the input to the user-provided "
                          "function is a single Tensor with a single element.", "jvp")
        many_out, outputs = _as_tuple(func(*given), "outputs", "jvp")
        _check_strict(outputs, strict)
        found = forward_product(outputs, given, vectors, create_graph, strict)
    return (_shown(_settled(outputs, create_graph), many_out),
            _shown(_settled(found, create_graph), many_out))


def vhp(func: Callable[..., Any], inputs: Any, v: Any = None, create_graph: bool = False,
        strict: bool = False) -> tuple[Any, Any]:
    """(output, vector v times the Hessian) of a function with one single-element result."""
    with enable_grad():
        many, given = _as_tuple(inputs, "inputs", "vhp")
        given = _prepared(given, create_graph)
        vectors = _vector(v, given, many, _HESSIAN_VECTOR, "vhp")
        output = func(*given)
        _scalar(output, "vhp")
        _check_strict((output,), strict)
        slopes = filled(pulled((output,), given, None, True), given, strict, _INDEPENDENT)
        found = filled(pulled(slopes, given, vectors, create_graph), given, strict, _LINEAR)
    return (_settled((output,), create_graph)[0], _shown(_settled(found, create_graph), many))


_LINEAR = ("While computing the hessian, found that the jacobian of the user-provided function "
           "with respect to input {k} is independent of the input. This is not allowed in strict "
           "mode. You should ensure that your function is twice differentiable and that the "
           "jacobian depends on the inputs (this would be violated by a linear function for "
           "example).")
_HESSIAN_VECTOR = ("The vector v can only be None if the input to the user-provided function is a "
                   "single Tensor with a single element.")


def hvp(func: Callable[..., Any], inputs: Any, v: Any = None, create_graph: bool = False,
        strict: bool = False) -> tuple[Any, Any]:
    """(output, the Hessian times vector v); the Hessian is symmetric, so this is `vhp`."""
    with enable_grad():
        many, given = _as_tuple(inputs, "inputs", "hvp")
        given = _prepared(given, create_graph)
        vectors = _vector(v, given, many, _HESSIAN_VECTOR, "hvp")
        output = func(*given)
        _scalar(output, "hvp")
        _check_strict((output,), strict)
        slopes = filled(pulled((output,), given, None, True), given, strict, _INDEPENDENT)
        found = forward_product(slopes, given, vectors, create_graph, strict, _LINEAR)
    return (_settled((output,), create_graph)[0], _shown(_settled(found, create_graph), many))


__all__ = ["vjp", "jvp", "jacobian", "hessian", "hvp", "vhp"]
