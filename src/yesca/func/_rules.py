"""Batching rules: how an operator of one example is computed for the whole batch at once.

`rule(record)(level, record, values)` gives the results with the batch in front. The level is off
the stack then: operators called here see the batch as an ordinary dimension. What has no rule is
computed one example after the other (`by_example`), which is always right.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from .._tensor import Tensor
from ..core import dtypes
from ..core.views import infer_shape, wrap_dim, wrap_dims
from ..dispatch.call import OPERATORS as ops
from ..dispatch.call import call, call_inplace
from ..operators import families
from ..operators.record import Record
from ..profiler import names
from ._batched import lowered

Values = tuple[Any, ...]
Rule = Callable[[Any, Record, Values], Any]
RULES: dict[str, Rule] = {}


def rule(record: Record) -> Rule:
    """The batching rule of a record: its own, or its kind's."""
    found = RULES.get(record.name)
    if found is None:
        found = _KINDS.get(record.kind, by_example)
    return found


def of(*names: str) -> Callable[[Rule], Rule]:
    """Enter a rule under the names of records."""
    def enter(function: Rule) -> Rule:
        RULES.update(dict.fromkeys(names, function))
        return function

    return enter


def _is_tensor(value: Any) -> bool:
    return isinstance(value, Tensor)


def write(level: Any, record: Record, values: Values) -> None:
    """An in-place call: the batch of the first argument is written."""
    if record.name == "fill" and _is_tensor(values[1]):
        record, values = families.get("copy"), (values[0], values[1], False)
    if record.kind == "elementwise" or record.name in ("copy", "fill"):
        call_inplace(record, _aligned(level, values, values[0].dim()))
        return
    write_by_example(level, record, values)


def write_by_example(level: Any, record: Record, values: Values) -> None:
    """An in-place call for each example by itself."""
    for k in range(level.size):
        call_inplace(record, _example(level, values, k))


# ---- one example after the other -------------------------------------------------------------

def _example(level: Any, values: Values, k: int) -> Values:
    def one(value: Any) -> Any:
        if isinstance(value, (tuple, list)):
            return type(value)([one(v) for v in value]) if type(value) in (tuple, list) else value
        return ops.select(value._value, 0, k) if level.owns(value) else value

    return tuple([one(v) for v in values])


def by_example(level: Any, record: Record, values: Values) -> Any:
    """Each example by itself; the results are stacked."""
    if level.size == 0:
        return _without_examples(level, record, values)
    rows = [call(record, _example(level, values, k)) for k in range(level.size)]
    return _stacked(rows)


def _stacked(rows: Sequence[Any]) -> Any:
    """Results of all examples as one, whatever holds them."""
    if isinstance(rows[0], (tuple, list)):
        return type(rows[0])([_stacked(column) for column in zip(*rows, strict=True)])
    return ops.stack(list(rows))


def _without_examples(level: Any, record: Record, values: Values) -> Any:
    """What a batch of no examples gives: a call without values tells the shapes."""
    def one(value: Any) -> Any:
        if isinstance(value, (tuple, list)):
            return type(value)([one(v) for v in value]) if type(value) in (tuple, list) else value
        return ops.empty(tuple(value.shape), dtype=value.dtype, device="meta") \
            if _is_tensor(value) else value

    try:
        made = call(record, tuple([one(v) for v in values]))
    except (RuntimeError, NotImplementedError):
        raise RuntimeError(f"Batching rule not implemented for {names.of(record, False)}. The "
                           "fallback path does not support vmap over dims of size 0.") from None
    return _emptied(made)


def _emptied(made: Any) -> Any:
    """No examples of a result."""
    if isinstance(made, (tuple, list)):
        return type(made)([_emptied(m) for m in made])
    return ops.zeros((0, *made.shape), dtype=made.dtype)


# ---- elementwise -----------------------------------------------------------------------------

def _aligned(level: Any, values: Values, ndim: int) -> Values:
    """Batched tensors with the batch in front and dimensions of size 1 behind it, up to `ndim`."""
    def one(value: Any) -> Any:
        if not level.owns(value):
            return value
        missing = ndim - value.dim()
        whole = value._value
        if missing <= 0:
            return whole
        shape = tuple(whole.shape)
        return ops.reshape(whole, (shape[0], *(1,) * missing, *shape[1:]))

    return tuple([one(v) for v in values])


def _same_weight(level: Any, values: Values) -> Values:
    """Examples without dimensions do not widen the dtype of others; as a batch they would."""
    tensors = [v for v in values if _is_tensor(v)]
    kinds = {t.dtype for t in tensors}
    if len(kinds) < 2 or not any(level.owns(t) and t.dim() == 0 for t in tensors):
        return values
    dimmed = [t.dtype for t in tensors if t.dim()]
    plain = [t.dtype for t in tensors if not t.dim()]
    if not dimmed:
        return values
    promoted = dtypes.combine(dimmed, plain, [])
    return tuple([v.to(promoted) if level.owns(v) and v.dim() == 0 and v.dtype is not dtypes.bool_
                  else v for v in values])


def elementwise(level: Any, record: Record, values: Values) -> Any:
    """Line the examples' dimensions up from the right."""
    values = level.inside(lambda: _same_weight(level, values))
    ndim = max(v.dim() for v in values if _is_tensor(v))
    return call(record, _aligned(level, values, ndim))


of("select_where", "nan_to_num", "clone", "to_dtype", "as_element", "zero")(elementwise)


@of("fill_where")
def _fill_where(level: Any, record: Record, values: Values) -> Any:
    target, mask, value = values
    if level.owns(value):
        return level.inside(lambda: ops.where(mask, value, target))._value
    return elementwise(level, record, values)


@of("fill")
def _fill(level: Any, record: Record, values: Values) -> Any:
    return ops.expand(level.inside(lambda: ops.zeros_like(values[0]) + values[1])._value
                      if level.owns(values[1]) else ops.fill(values[0]._value, values[1]),
                      (level.size, *values[0].shape))


@of("copy")
def _copy(level: Any, record: Record, values: Values) -> Any:
    target = ops.clone(level.lift(values[0]))
    (source,) = _aligned(level, (values[1],), values[0].dim())
    return call(record, (target, source, False))


@of("filled_like")
def _filled_like(level: Any, record: Record, values: Values) -> Any:
    return call(record, (values[0]._value, *values[1:]))


@of("constant_pad_nd")
def _constant_pad(level: Any, record: Record, values: Values) -> Any:
    x, pad, value = values
    if len(pad) > 2 * x.dim():
        return by_example(level, record, values)
    return call(record, (x._value, pad, value))


# ---- along dimensions ------------------------------------------------------------------------

def _place(record: Record, *names: str) -> int | None:
    for k, parameter in enumerate(record.schema.parameters):
        if parameter.name in names:
            return k
    return None


def _shifted(dim: Any, ndim: int) -> Any:
    """A dimension (or several, or None for all) of an example as dimensions of the batch."""
    if dim is None or (isinstance(dim, (tuple, list)) and not dim):
        return tuple(range(1, ndim + 1))
    if isinstance(dim, int):
        return wrap_dim(dim, ndim) + 1
    return tuple([d + 1 for d in wrap_dims(tuple(dim), ndim)])


def along(level: Any, record: Record, values: Values) -> Any:
    """Operators with a dimension argument (`dim`, `dims`): it moves by one."""
    place = _place(record, "dim", "dims")
    tensors = [v for v in values if _is_tensor(v)]
    ndim = tensors[0].dim()
    if place is None or ndim == 0 or any(t.dim() != ndim for t in tensors):
        return by_example(level, record, values)
    dim = _shifted(values[place], ndim)
    given = [level.lift(v) if _is_tensor(v) else v for v in values]
    given[place] = dim
    return call(record, tuple(given))


of("softmax", "log_softmax", "softmax_backward_data", "log_softmax_backward_data", "cumsum",
   "cumprod", "argmax_dim", "argmin_dim", "max_dim", "min_dim", "sort_order", "topk_order",
   "kthvalue_order", "median_order", "nanmedian_order", "mode_order", "cummax_order",
   "cummin_order", "logsumexp_dims", "moments", "flip", "roll_one", "unbind",
   "split_views")(along)


@of("gather", "scatter_fold", "scatter_reduce_fold")
def _gather(level: Any, record: Record, values: Values) -> Any:
    return along(level, record, values)


def reduction(level: Any, record: Record, values: Values) -> Any:
    """Reductions: all dimensions of the example, where none is named."""
    if values[0].dim() == 0:
        return by_example(level, record, values)
    place = _place(record, "dim")
    if place is not None:
        if values[place] is None and record.schema.parameters[place].type == "int":
            return by_example(level, record, values)
        return along(level, record, values)
    other = {"max_all": "amax", "min_all": "amin"}.get(record.name)
    if other is None:
        return by_example(level, record, values)
    return getattr(ops, other)(values[0]._value, tuple(range(1, values[0].dim() + 1)))


@of("prod")
def _prod(level: Any, record: Record, values: Values) -> Any:
    x, dim, keepdim, dtype = values
    if dim is not None and x.dim():
        return along(level, record, values)
    if keepdim:
        return by_example(level, record, values)
    return ops.prod(ops.reshape(x._value, (level.size, x.numel())), 1, dtype=dtype)


# ---- views -----------------------------------------------------------------------------------

@of("view")
def _view(level: Any, record: Record, values: Values) -> Any:
    x, size = values[0], tuple(values[1])
    if not all(isinstance(n, int) for n in size):
        return by_example(level, record, values)
    return ops.view(x._value, (level.size, *infer_shape(size, x.numel())))


#: Of one tensor's elements or last dimensions: how many of these they want.
_LAST = {
    **dict.fromkeys("alias conj_view _neg_view view_as_real real_part imag_part".split(), 0),
    "view_as_complex": 1,
    **dict.fromkeys("""
        tril triu geqrf_parts linalg_cholesky_parts linalg_cofactors linalg_det linalg_eig_parts
        linalg_eigh_parts linalg_eigh_values linalg_eigvals linalg_inv_parts linalg_lu_packed
        linalg_slogdet_parts linalg_svd_parts linalg_svd_values matrix_exp_parts
        """.split(), 2),
}


@of(*_LAST)
def _last(level: Any, record: Record, values: Values) -> Any:
    x, *rest = values
    if x.dim() < _LAST[record.name]:
        return by_example(level, record, values)  # which refuses it
    return call(record, (x._value, *rest))


@of("spread")
def _spread(level: Any, record: Record, values: Values) -> Any:
    x, shape, dim, keepdim = values
    if not shape:
        return ops.alias(x._value)
    return call(record, (x._value, (level.size, *shape), _shifted(dim, len(shape)), keepdim))


@of("transpose")
def _transpose(level: Any, record: Record, values: Values) -> Any:
    x, a, b = values
    if x.dim() == 0:
        return ops.alias(x._value)
    return ops.transpose(x._value, _shifted(a, x.dim()), _shifted(b, x.dim()))


@of("t")
def _t(level: Any, record: Record, values: Values) -> Any:
    x = values[0]
    if x.dim() > 2:
        raise RuntimeError(f"t() expects a tensor with <= 2 dimensions, but self is {x.dim()}D")
    return ops.transpose(x._value, 1, 2) if x.dim() == 2 else ops.alias(x._value)


@of("permute")
def _permute(level: Any, record: Record, values: Values) -> Any:
    x, dims = values
    return ops.permute(x._value, (0, *[_shifted(d, x.dim()) for d in dims]))


@of("unsqueeze")
def _unsqueeze(level: Any, record: Record, values: Values) -> Any:
    x, dim = values
    return ops.unsqueeze(x._value, wrap_dim(dim, x.dim() + 1) + 1)


@of("squeeze")
def _squeeze(level: Any, record: Record, values: Values) -> Any:
    x, dim = values
    shape = tuple(x.shape)
    dims = range(len(shape)) if dim is None else \
        wrap_dims((dim,) if isinstance(dim, int) else tuple(dim), len(shape))
    kept = [n for k, n in enumerate(shape) if k not in dims or n != 1]
    return ops.view(x._value, (level.size, *kept)) if len(kept) != len(shape) else \
        ops.alias(x._value)


@of("expand")
def _expand(level: Any, record: Record, values: Values) -> Any:
    x, size = values[0], tuple(values[1])
    (whole,) = _aligned(level, (x,), len(size))
    sizes = [whole.shape[k + 1] if n == -1 else n for k, n in enumerate(size)]
    return ops.expand(whole, (level.size, *sizes))


@of("select", "narrow", "slice", "unfold")
def _part(level: Any, record: Record, values: Values) -> Any:
    x, dim, *rest = values
    if x.dim() == 0:
        return by_example(level, record, values)
    return call(record, (x._value, _shifted(dim, x.dim()), *rest))


@of("diagonal")
def _diagonal(level: Any, record: Record, values: Values) -> Any:
    x, offset, a, b = values
    return ops.diagonal(x._value, offset, _shifted(a, x.dim()), _shifted(b, x.dim()))


@of("getitem")
def _getitem(level: Any, record: Record, values: Values) -> Any:
    x, index = values
    items = index if isinstance(index, tuple) else (index,)
    used = sum(i is not None and i is not Ellipsis for i in items)
    if used > x.dim():
        raise IndexError(f"too many indices for tensor of dimension {x.dim()}")
    return call(record, (x._value, (slice(None), *items)))


@of("as_strided_view")
def _as_strided(level: Any, record: Record, values: Values) -> Any:
    x, size, stride, offset = values
    whole = x._value
    if not whole._spec.dense:
        return by_example(level, record, values)
    return ops.as_strided_view(whole, (level.size, *size), (whole.stride(0), *stride), offset)


@of("cat_list", "stack_list")
def _joined(level: Any, record: Record, values: Values) -> Any:
    tensors, dim = values
    ndim = tensors[0].dim() + (record.name == "stack_list")
    return call(record, ([level.lift(t) for t in tensors], _shifted(dim, ndim)))


# ---- indices ---------------------------------------------------------------------------------

@of("index_select")
def _index_select(level: Any, record: Record, values: Values) -> Any:
    x, dim, index = values
    if level.owns(index) or x.dim() == 0:
        return by_example(level, record, values)
    return call(record, (x._value, _shifted(dim, x.dim()), index))


@of("embedding")
def _embedding(level: Any, record: Record, values: Values) -> Any:
    if level.owns(values[0]):
        return by_example(level, record, values)
    return call(record, tuple([lowered(v, level) for v in values]))


@of("index_at")
def _index_at(level: Any, record: Record, values: Values) -> Any:
    x, where, indices = values
    adjacent = list(where) == list(range(where[0], where[0] + len(where)))
    if any(level.owns(i) for i in indices) or not adjacent:
        return by_example(level, record, values)
    return call(record, (x._value, tuple([d + 1 for d in where]), indices))


# ---- products --------------------------------------------------------------------------------

@of("matmul", "mm", "bmm", "mv", "dot")
def _matmul(level: Any, record: Record, values: Values) -> Any:
    a, b = values
    _check_product(record.name, a, b)
    row, column = a.dim() == 1, b.dim() == 1
    if not level.owns(a) and a.dim() <= 2 and not row and not column and b.dim() == 2:
        return ops.matmul(a, b._value)
    ndim = max(a.dim() + row, b.dim() + column)
    left, right = [level.inside(lambda x=x, d=d: ops.unsqueeze(x, d) if d else x)
                   for x, d in ((a, -2 if row else 0), (b, -1 if column else 0))]
    left, right = _aligned(level, (left, right), ndim)
    made = ops.matmul(left, right)
    made = ops.squeeze(made, -1) if column else made
    return ops.squeeze(made, -1 if column else -2) if row else made


def _check_product(name: str, a: Any, b: Any) -> None:
    """What the batch's shapes would no longer tell."""
    wanted = {"mm": (2, 2), "bmm": (3, 3), "mv": (2, 1), "dot": (1, 1)}.get(name)
    if wanted is not None and (a.dim(), b.dim()) != wanted:
        raise RuntimeError(f"{name}: expected tensors of {wanted[0]} and {wanted[1]} dimensions, "
                           f"got {a.dim()} and {b.dim()}")
    if a.dim() == 0 or b.dim() == 0:
        raise RuntimeError("both arguments to matmul need to be at least 1D, but they are "
                           f"{a.dim()}D and {b.dim()}D")


@of("linear")
def _linear(level: Any, record: Record, values: Values) -> Any:
    x, weight, bias = values
    if not level.owns(weight) and not (bias is not None and level.owns(bias)):
        return call(record, (x._value, weight, bias))

    def parts() -> Any:
        made = ops.matmul(x, ops.t(weight))
        return made if bias is None else ops.add(made, bias)

    return level.inside(parts)._value


@of("addmm", "addmv", "baddbmm")
def _add_product(level: Any, record: Record, values: Values) -> Any:
    start, a, b, beta, alpha = values
    product = {"addmm": "mm", "addmv": "mv", "baddbmm": "bmm"}[record.name]

    def parts() -> Any:
        made = getattr(ops, product)(a, b)
        made = made if alpha == 1 else ops.mul(made, alpha)
        if beta == 0:
            return made
        return ops.add(start if beta == 1 else ops.mul(start, beta), made)

    return level.lift(level.inside(parts))


# ---- layers ----------------------------------------------------------------------------------

@of("native_layer_norm", "fused_rms_norm")
def _layer_norm(level: Any, record: Record, values: Values) -> Any:
    if any(level.owns(v) for v in values[1:]):
        return by_example(level, record, values)
    return call(record, (values[0]._value, *values[1:]))


@of("attention")
def _attention(level: Any, record: Record, values: Values) -> Any:
    query, key, value, mask, *rest = values
    if mask is not None or query.dim() != 4:
        return by_example(level, record, values)
    whole = [level.lift(t) for t in (query, key, value)]
    folded = [ops.flatten(t, 0, 1) for t in whole]
    made = call(record, (*folded, None, *rest))
    return tuple([ops.unflatten(m, 0, (level.size, query.shape[0])) for m in made])


@of("convolution")
def _convolution(level: Any, record: Record, values: Values) -> Any:
    x, weight, bias = values[:3]
    if not level.owns(x) or level.owns(weight) or (bias is not None and level.owns(bias)):
        return by_example(level, record, values)
    made = call(record, (ops.flatten(x._value, 0, 1), *values[1:]))
    return ops.unflatten(made, 0, (level.size, x.shape[0]))


_KINDS: dict[str, Rule] = {"elementwise": elementwise, "map": elementwise, "reduce": reduction}
