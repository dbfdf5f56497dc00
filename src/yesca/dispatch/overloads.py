"""Functions with several forms that one schema cannot say: max, min, and their named results."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cache
from typing import Any

from ..base.errors import argument_error, type_name
from ..base.naming import public_module
from ..core import registry
from ..core.dtypes import DType, as_dtype
from ..core.spec import spec
from ..core.tensor_base import TensorBase
from ..core.views import retyped
from ..operators import families
from ..operators.argument_types import checked, is_whole, refuse_others
from ..operators.schema import NUMPY_NAMES


def named_result(name: str, fields: tuple[str, ...]) -> type:
    """A tuple type with field names that prints as PyTorch's (torch.return_types.max)."""
    made = type(name, (NamedResult,), {"_fields": fields, "__slots__": ()})
    for k, field in enumerate(fields):
        setattr(made, field, property(lambda self, k=k: tuple.__getitem__(self, k)))
    made.__module__ = "torch.return_types"
    made.__qualname__ = name
    return made


class NamedResult(tuple):  # type: ignore[type-arg]
    """A tuple whose items have names."""

    __slots__ = ()
    _fields: tuple[str, ...] = ()

    def __repr__(self) -> str:
        inside = ",\n".join(f"{name}={value!r}" for name, value in
                            zip(self._fields, self, strict=True))
        return f"torch.return_types.{type(self).__name__}(\n{inside})"

    @classmethod
    def _make(cls, values: Iterable[Any]) -> NamedResult:
        """As named tuples have it: containers of tensors are rebuilt by it."""
        return cls(values)

    def __reduce__(self) -> tuple[Any, ...]:
        return (_rebuild, (type(self).__name__, tuple(self)))

    def __new__(cls, values: Iterable[Any] = (), rest: object = None) -> NamedResult:
        return tuple.__new__(cls, values)  # checkpoints give PyTorch's a dictionary as well


def _rebuild(name: str, values: tuple[Any, ...]) -> Any:
    return TYPES[name](values)


#: Factorisations and solvers: the names of their results.
DECOMPOSITIONS = {
    "linalg_qr": ("Q", "R"), "qr": ("Q", "R"), "geqrf": ("a", "tau"),
    "linalg_svd": ("U", "S", "Vh"), "svd": ("U", "S", "V"),
    "linalg_eigh": ("eigenvalues", "eigenvectors"), "linalg_eig": ("eigenvalues", "eigenvectors"),
    "linalg_cholesky_ex": ("L", "info"), "linalg_inv_ex": ("inverse", "info"),
    "linalg_lu": ("P", "L", "U"), "lu_unpack": ("P", "L", "U"),
    "linalg_lu_factor": ("LU", "pivots"), "linalg_lu_factor_ex": ("LU", "pivots", "info"),
    "linalg_ldl_factor": ("LD", "pivots"), "linalg_ldl_factor_ex": ("LD", "pivots", "info"),
    "_lu_with_info": ("LU", "pivots", "info"),
    "linalg_solve_ex": ("result", "info"), "triangular_solve": ("solution", "cloned_coefficient"),
    "linalg_lstsq": ("solution", "residuals", "rank", "singular_values"),
    "linalg_slogdet": ("sign", "logabsdet"), "slogdet": ("sign", "logabsdet"),
}
TYPES = {
    name: named_result(name, ("values", "indices"))
    for name in ("max", "min", "sort", "topk", "median", "nanmedian", "mode", "kthvalue",
                 "cummax", "cummin")
}
TYPES.update((name, named_result(name, fields)) for name, fields in DECOMPOSITIONS.items())
TYPES["aminmax"] = named_result("aminmax", ("min", "max"))
TYPES["frexp"] = named_result("frexp", ("mantissa", "exponent"))
TYPES["histogram"] = named_result("histogram", ("hist", "bin_edges"))
TYPES["histogramdd"] = named_result("histogramdd", ("hist", "bin_edges"))


def _extreme(name: str) -> Any:
    def function(input: Any, *args: Any, **kwargs: Any) -> Any:
        from .call import OPERATORS
        from .outputs import write_out

        if not isinstance(input, TensorBase):
            raise TypeError(f"{name}(): argument 'input' (position 1) must be Tensor, not "
                            f"{type(input).__name__}")
        out = kwargs.pop("out", None)
        if out is not None:
            return write_out(name, function, (input, *args), kwargs, out)
        other, dim, keepdim = _extreme_arguments(name, args, kwargs)
        if other is not None:
            return getattr(OPERATORS, f"{name}imum")(input, other)
        if dim is None:
            if input.numel() == 0:
                raise RuntimeError(
                    f"{name}(): Expected reduction dim to be specified for input.numel() == 0. "
                    "Specify the reduction dim with the 'dim' argument.")
            return getattr(OPERATORS, f"{name}_all")(input)
        return TYPES[name](getattr(OPERATORS, f"{name}_dim")(input, dim, keepdim))

    function.__name__ = function.__qualname__ = name
    function.__module__ = public_module("torch")
    function.__doc__ = (f"{name}(input), {name}(input, dim, keepdim=False) with values and "
                        f"indices, or {name}(input, other) elementwise.")
    return function


_EXTREME_FORMS = """
 * (Tensor input, *, Tensor out = None)
 * (Tensor input, Tensor other, *, Tensor out = None)
 * (Tensor input, int dim, bool keepdim = False, *, tuple of Tensors out = None)
"""


def _extreme_arguments(name: str, args: tuple[Any, ...], kwargs: dict[str, Any]
                       ) -> tuple[Any, Any, bool]:
    """(other, dim, keepdim): one of the first two, or neither, after which `keepdim` has no place.
    """
    given = {NUMPY_NAMES.get(key, key): value for key, value in kwargs.items()}
    first = "other" if args and isinstance(args[0], TensorBase) else "dim"
    placed = dict(zip((first, "keepdim"), args, strict=False))
    both = {**placed, **given}
    fits = len(placed) == len(args) and not placed.keys() & given.keys() and (
        not both or both.keys() == {"other"} and isinstance(both["other"], TensorBase)
        or {"dim"} <= both.keys() <= {"dim", "keepdim"} and is_whole(both["dim"])
        and isinstance(both.get("keepdim", False), bool))
    if not fits:
        shown = [type_name(value) for value in args]
        shown += [f"{key}={type_name(value)}" for key, value in kwargs.items()]
        raise TypeError(f"{name}() received an invalid combination of arguments - got "
                        f"({', '.join(['Tensor', *shown])}), but expected one of:{_EXTREME_FORMS}")
    return both.get("other"), both.get("dim"), both.get("keepdim", False)


def named_out(made: Any, values: Any) -> Any:
    """Tensors that were written to, under the names of the results `made`."""
    if not isinstance(made, NamedResult):
        return values
    return out_type(type(made).__name__, made._fields)(values)


OUT = "_out"  # the end of the names of such results


def out_type(name: str, fields: tuple[str, ...]) -> Any:
    """The type of results that were written to, from that of new ones."""
    shown = name + OUT
    if shown not in TYPES:
        TYPES[shown] = named_result(shown, fields)
    return TYPES[shown]


def field(made: Any, place: int) -> str:
    """The name of one of several results."""
    return made._fields[place] if isinstance(made, NamedResult) else ""


def named(name: str, values: tuple[Any, ...]) -> Any:
    """Results under PyTorch's names for them."""
    return TYPES[name](values)


def view(self: Any, *size: Any, dtype: DType | None = None, **named: Any) -> Any:
    """The same memory in another shape, or as another dtype.

    >>> import yesca as torch
    >>> torch.tensor([1.0, -0.0]).view(torch.int32).tolist()
    [1065353216, -2147483648]
    """
    from ..operators.schema import gather
    from .call import call

    dtype = as_dtype(size[0] if len(size) == 1 and isinstance(size[0], DType | type) else dtype)
    if dtype is None:
        if not size and "size" not in named:
            raise TypeError("view() received an invalid combination of arguments - got (), but "
                            "expected sizes: a tuple of ints, or several ints; or a dtype")
        shape = gather(size) if size else tuple(named["size"])
        _check_view()((self, shape))
        return call(families.get("view"), (self, shape))
    return _retyped(self, dtype)


def to_dense(self: Any, dtype: DType | None = None, *, masked_grad: bool | None = None) -> Any:
    """The tensor itself, or its values in another dtype: all tensors are dense.

    >>> import yesca as torch
    >>> x = torch.ones(2)
    >>> x.to_dense() is x, x.to_dense(torch.float64).dtype
    (True, torch.float64)
    """
    from .call import OPERATORS

    if dtype is not None and not isinstance(dtype, DType):
        raise argument_error("to_dense", "dtype", 1, "torch.dtype", dtype)
    return self if dtype in (None, self._spec.dtype) else OPERATORS.to_dtype(self, dtype)


@cache
def _check_view() -> Callable[[tuple[Any, ...]], None]:
    return checked("view", families.get("view"), True)


def _retyped(self: Any, dtype: DType) -> Any:
    """The bytes seen as another dtype: off the tape and no view of `self`, as in PyTorch."""
    base = self._spec
    if base.conj or base.neg:
        what = "conjugate view tensors" if base.conj else "tensors with negative bit set"
        raise RuntimeError(f"torch.Tensor.view is not supported for {what} when converting to a "
                           "different dtype.")
    shape, strides, offset = retyped(base, dtype, self._offset)
    made = registry.wrap(self._storage, spec(dtype, shape, strides, base.device), offset)
    made._counter = self._counter
    return made


FUNCTIONS = {"max": _extreme("max"), "min": _extreme("min"), "named": named}


def _einsum(*args: Any) -> Any:
    """Products of tensors by Einstein's summation: einsum("ij,jk->ik", a, b)."""
    from ..operators.einsum_plan import einsum
    from .call import OPERATORS

    return einsum(OPERATORS, args)


def _chain_matmul(*matrices: Any, out: Any = None) -> Any:
    """The product of matrices in the cheapest order."""
    from ..operators.matrix_chains import chain
    from .call import OPERATORS
    from .outputs import write_out

    if out is not None:
        return write_out("chain_matmul", _chain_matmul, matrices, {}, out)
    if len(matrices) == 1 and isinstance(matrices[0], (list, tuple)):
        matrices = tuple(matrices[0])
    refuse_others(matrices, 0)
    return chain(OPERATORS, matrices)


for _name, _function in (("einsum", _einsum), ("chain_matmul", _chain_matmul)):
    _function.__name__ = _function.__qualname__ = _name
    _function.__module__ = public_module("torch.functional")
    FUNCTIONS[_name] = _function


def _question(name: str) -> Any:
    """`torch.is_complex(x)`: what the method says."""
    def function(input: Any) -> Any:
        if not isinstance(input, TensorBase):
            raise TypeError(f"{name}(): argument 'input' (position 1) must be Tensor, not "
                            f"{type(input).__name__}")
        return getattr(input, name)()

    function.__name__ = function.__qualname__ = name
    function.__module__ = public_module("torch")
    return function


for _name in ("is_complex", "is_conj", "is_neg", "is_floating_point", "is_signed", "is_inference"):
    FUNCTIONS[_name] = _question(_name)


#: Methods that one schema cannot say.
def _polygamma(self: Any, n: int) -> Any:
    """The n-th derivative of digamma."""
    from .call import OPERATORS

    return OPERATORS.polygamma(n, self)


def _polygamma_(self: Any, n: int) -> Any:
    """The n-th derivative of digamma, in place."""
    from .call import OPERATORS, stored

    return stored(self, OPERATORS.polygamma(n, self))


METHODS = {"view": view, "to_dense": to_dense, "polygamma": _polygamma, "polygamma_": _polygamma_}
