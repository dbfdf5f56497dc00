"""`out=`: results written into the caller's tensors, with PyTorch's checks.

What `out` may be depends on how PyTorch writes to it. Operators that go element by element, and
reductions, cast their result; all others want its very dtype. `_TEXTS` has what they say.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..base.errors import type_name
from ..base.frames import warn
from ..core.dtypes import FLOATING, SCALAR_NAMES, DType, as_dtype, can_cast, uint8
from ..core.tensor_base import TensorBase
from ..operators.record import Record
from . import inplace, overloads, shortcuts
from .creation import refuse_tape
from .state import STATE, set_autocast, set_grad, unwatched

C_NAMES = {
    "float32": "float", "float64": "double", "float16": "c10::Half", "int64": "long int",
    "bfloat16": "c10::BFloat16", "int32": "int", "int16": "short int", "int8": "signed char",
    "uint8": "unsigned char", "bool": "bool", "complex64": "c10::complex<float>",
    "complex128": "c10::complex<double>"}
_PLAIN = "Expected out tensor to have dtype {c_wanted}, but got {c_given} instead"
_PER_NAME: dict[str, str] = {
    "mv": "addmv input tensors must have the same dtype, but got {given}, {wanted}, and "
                "{wanted}",
    "dot vdot": "result dtype {given} does not match input dtype {wanted}",
    "addbmm": "self and mat2 must have the same dtype, but got {given} and {wanted}",
    "inner tensordot": "tensordot: Expected the output tensor to have dtype {wanted}, but got an "
                       "output tensor with dtype {given}",
    "amax amin": "Expected the dtype for input and out to match, but got {wanted} for input's "
                 "dtype and {given} for out's dtype.",
    "all any": "{name} only supports bool tensor for result, got: {given}",
    "mode": "expected scalar type '{wanted}' but got '{given}' for {part} output",
    "cummax cummin logcumsumexp": "expected scalar_type {wanted} but found {given}",
    "index_select masked_select": "{name}(): self and result must have the same scalar type",
    "take": "take(): self and out expected to have the same dtype, but got self.dtype = {wanted} "
            "and out.dtype = {given}",
    "nonzero nonzero_static": "{name}: Expected out tensor to have scalar type Long but got scalar "
                              "type{given}",
    "hash_tensor": "Expected result to be of dtype uint64, but got {given}",
    "where": "Expected out type to be {wanted} but got {given}",
    "histc": "torch.histogram: input tensor and hist tensor should have the same dtype, but got "
             "input {c_wanted} and hist {c_given}",
    "quantile nanquantile": "quantile() out tensor must be same dtype as the input tensor",
    "abs absolute neg negative sign sgn round floor ceil trunc fix frac bitwise_not clamp clip "
    "clamp_min clamp_max conj_physical positive": "Found dtype {given} but expected {wanted}",
    "nan_to_num": "nan_to_num: dtype of out: {given} should be same as input: {wanted}",
    "isposinf isneginf signbit": "{name} does not support non-boolean outputs.",
    "complex polar": "Expected object of scalar type {wanted} but got scalar type {given} for "
                     "argument 'out'",
    "heaviside": "heaviside is not yet implemented for tensors with different dtypes.",
    "linalg_norm linalg_matrix_norm": "{dotted} expected out tensor dtype {wanted} but got: "
                                      "{given}",
    "linalg_multi_dot chain_matmul": "multi_dot(): expected out tensor to have dtype {c_wanted} "
                                     "but got {c_given}",
    "float_power": "the output given to float_power has dtype {given} but the operation's result "
                   "requires dtype {wanted}",
    "linalg_vecdot": "linalg.vecdot: Expected out of dtype{wanted} but found {given}",
    "frexp": "torch.frexp() expects mantissa to have dtype {c_wanted} but got {c_given}",
    "kthvalue": "output {part} must be of same type as input",
    "bucketize searchsorted": "torch.searchsorted(): output tensor's dtype is wrong, it can only "
                              "be Int(int32) or Long(int64) depending on whether out_int32 flag is "
                              "True, but we got output tensor's dtype {given} and out_int32 flag "
                              "is False",
    "bmm mm matmul addmv addmm baddbmm linear norm argmax argmin sort msort topk max min aminmax "
    "gather take_along_dim scatter scatter_add scatter_reduce index_add index_copy index_reduce "
    "tril triu diag renorm cross softmax log_softmax isin inverse matrix_power qr svd geqrf "
    "triangular_solve split_copy split_with_sizes_copy unbind_copy "
    "linalg_svd linalg_qr linalg_eigh linalg_inv linalg_det linalg_slogdet linalg_cholesky "
    "linalg_solve linalg_vector_norm linalg_matrix_power linalg_eigvalsh linalg_svdvals "
    "linalg_cross linalg_lu_factor linalg_lu": _PLAIN,
}
#: What operators say of an `out` that has not the result's dtype; others cast.
_TEXTS = {name: text for names, text in _PER_NAME.items() for name in names.split()}
_INDICES = {
    "frexp": "torch.frexp() expects exponent to have int dtype but got {c_given}",
    "kthvalue": "output indices must be of scalar type Long",
    "median": "Expected tensor for argument #1 'indices' to have scalar type Long; but got "
              "torch.{given}Tensor instead (while checking arguments for median)",
}
_INDICES["nanmedian"] = _INDICES["median"]
_TEXTS |= dict.fromkeys(
    ("median", "nanmedian"),
    "Expected tensor for 'values' to have the same type as tensor for argument #2 'self'; but type "
    "torch.{given}Tensor does not equal torch.{wanted}Tensor (while checking arguments for median)")

#: Operators that compute in the dtype of `out` where no other is named.
_ACCUMULATE = frozenset("sum prod cumsum cumprod".split())
_WHOLE = frozenset("sum prod".split())  # without a dimension they take no `out`
_JOIN = frozenset(
    "cat concat concatenate stack hstack vstack dstack column_stack row_stack".split())

#: Memory of operands that `out` may share, where the operator's kind says otherwise (see `meets`).
_MEETS = dict.fromkeys(
    "aminmax cholesky cholesky_inverse cholesky_solve cummax cummin diag diff histc inner inverse "
    "log_softmax logsumexp matrix_power median mvlgamma nanmean nanmedian nanquantile nansum "
    "narrow_copy norm qr quantile softmax std svd tensordot triangular_solve tril triu var "
    "geqrf".split(), "any") | dict.fromkeys(
    "max min cross kthvalue linalg_cross mode take_along_dim".split(), "none") | {"ldexp": "same"}
_FIRST = frozenset("addmm addbmm addmv baddbmm".split())  # look at what they add to, as "same"


def casts(name: str) -> bool:
    """Whether an operator casts its result to the dtype of `out`."""
    return name not in _TEXTS


def write_out(name: str, plain: Callable[..., Any], args: tuple[Any, ...],
              kwargs: dict[str, Any], out: Any, found: Record | None = None) -> Any:
    """Compute, then put the result into `out`, resized when its shape differs.

    found: the record, which knows how `out` may meet operands in memory.
    """
    outs = out if isinstance(out, (tuple, list)) else (out,)
    if outs is out:
        _check_several(name, outs, found)
    elif not isinstance(out, TensorBase):
        raise TypeError(f"{name}(): argument 'out' must be Tensor, not {type_name(out)}")
    elif name in _ACCUMULATE:
        kwargs = _accumulating(name, args, kwargs, out._spec.dtype)
    read = shortcuts.tensors_in((*args, *kwargs.values()))
    for level in STATE.levels:
        level.refuse_out(name, [*read, *outs])
    before, lower = STATE.grad, STATE.autocast
    set_grad(False)
    if lower is not None:  # as in PyTorch: who names the result's memory names its dtype
        set_autocast(None)
    try:
        made = plain(*args, **kwargs)
        if _has_derivative(made):  # truth values and positions are written off the tape
            set_grad(before)
            refuse_tape(name, *read, *outs)
            set_grad(False)
        _check_number(name, made, out, outs, found)
        _check_memory(name, found, outs, read, isinstance(made, tuple))
        for k, (target, result) in enumerate(
                zip(outs, made if isinstance(made, tuple) else (made,), strict=True)):
            with unwatched():
                _deliver(name, target, result, overloads.field(made, k), read)
    finally:
        set_grad(before)
        if lower is not None:
            set_autocast(lower)
    if found is not None and found.schema.results == 0:
        return None  # as in PyTorch: lists of results are not returned
    return overloads.named_out(made, outs) if outs is out else out


def _has_derivative(made: Any) -> bool:
    return any(t._spec.dtype.category >= FLOATING
               for t in (made if isinstance(made, (tuple, list)) else (made,)))


def _check_several(name: str, outs: Any, found: Record | None) -> None:
    """Refuse several tensors for one result, and what is no tensor among them."""
    if found is not None and found.schema.results == 1 and not found.schema.text.endswith("[]") \
            and name not in overloads.TYPES:
        raise TypeError(f"{name}(): argument 'out' must be Tensor, not {type_name(outs)}")
    for k, one in enumerate(outs):
        if not isinstance(one, TensorBase):
            place = 3 if found is None else len(found.schema.parameters)
            raise TypeError(f"expected Tensor as element {k} in argument {place}, but got "
                            f"{type_name(one)}")


def _check_number(name: str, made: Any, out: Any, outs: Any, found: Record | None) -> None:
    """As many tensors as results."""
    if isinstance(made, tuple) and outs is not out:
        raise TypeError(f"{name}(): argument 'out' must be tuple of Tensors, not Tensor")
    if not isinstance(made, tuple) and outs is out:
        raise TypeError(f"{name}(): argument 'out' must be Tensor, not {type_name(out)}")
    if isinstance(made, tuple) and len(made) != len(outs):
        if found is not None and found.schema.results == 0:
            raise RuntimeError(f"{name}_out expected an out= argument of size {len(made)}, got "
                               f"size {len(outs)}")
        raise TypeError(f"expected tuple of {len(made)} elements but got {len(outs)}")


def _check_memory(name: str, found: Record | None, outs: Any, read: list[Any], several: bool
                  ) -> None:
    """Refuse an `out` that lies over operands where PyTorch does; it reads them all first."""
    if found is None:
        meets = _MEETS.get(name, "same") if several else "same"
    elif name.startswith("linalg_"):
        meets = _MEETS.get(name, "any")
    elif name in _FIRST:
        meets, read = "same", read[:1]
    else:
        meets = _MEETS.get(name, found.meets)
    for one in outs:
        inplace.check_places(one._spec)
        inplace.check_meeting(meets, one, read)


def check_call(name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    """Refuse `out=` in calls of forms that have none."""
    if name in _WHOLE and len(args) < 2 and not {"dim", "axis"} & kwargs.keys():
        got = "Tensor, " * len(args) + "".join(f"{k}={type_name(v)}, " for k, v in kwargs.items())
        raise TypeError(f"{name}() received an invalid combination of arguments - got ({got}"
                        "out=Tensor): a sum or product of all elements has no `out`; name the "
                        "dimensions")
    if name == "nonzero" and kwargs.get("as_tuple"):
        raise RuntimeError("nonzero does not support the out kwarg when as_tuple is True")


def _accumulating(name: str, args: tuple[Any, ...], kwargs: dict[str, Any], dtype: DType
                  ) -> dict[str, Any]:
    """The arguments with the dtype of `out`, in which PyTorch then adds or multiplies."""
    named = as_dtype(kwargs.get("dtype")) or dtype
    if named is not dtype:
        raise RuntimeError(_PLAIN.format(c_wanted=C_NAMES.get(named.name, named.name),
                                         c_given=C_NAMES.get(dtype.name, dtype.name)))
    return {**kwargs, "dtype": dtype}


def _deliver(name: str, target: Any, result: Any, part: str, read: list[Any]) -> None:
    """Put a result into the caller's tensor; `part`: its name among several."""
    source, wanted = result._spec, target._spec
    if source.device is not wanted.device:
        raise RuntimeError(f"Expected out tensor to have device {source.device}, but got "
                           f"{wanted.device} instead")
    if source.dtype is not wanted.dtype:
        _check_dtype(name, source.dtype, wanted.dtype, part, read)
    if tuple(source.shape) != tuple(wanted.shape):
        if wanted.numel:
            warn(
                f"An output with one or more elements was resized since it had shape "
                f"{list(wanted.shape)}, which does not match the required output shape "
                f"{list(source.shape)}. This behavior is deprecated, and in a future PyTorch "
                "release outputs will not be resized unless they have zero elements. You can "
                "explicitly reuse an out tensor t by resizing it, inplace, to zero elements "
                "with t.resize_(0).")
        target.resize_(source.shape)
    target.copy_(result)


def _check_dtype(name: str, wanted: DType, given: DType, part: str, read: list[Any]) -> None:
    text = _INDICES.get(name) if part in ("indices", "exponent") else None
    text = text or _TEXTS.get(name)
    if name in ("abs", "absolute") and read[0]._spec.dtype.is_complex \
            or name in ("all", "any") and given is uint8:
        text = None  # these cast
    mine, other = SCALAR_NAMES[wanted], SCALAR_NAMES[given]
    if text is not None:
        raise RuntimeError(text.format(
            name=name, wanted=mine, given=other, part=part, dotted=name.replace("_", ".", 1),
            c_wanted=C_NAMES.get(wanted.name, wanted.name),
            c_given=C_NAMES.get(given.name, given.name)))
    if not can_cast(wanted, given):
        if name in _JOIN:
            raise TypeError("torch.cat(): input types can't be cast to the desired output type "
                            f"{other}")
        raise RuntimeError(f"result type {mine} can't be cast to the desired output type {other}")


__all__ = ["casts", "check_call", "write_out"]
