"""PyTorch's operators for calls that yesca does in another way.

PROGRAMS: record -> function of its arguments that runs what PyTorch's dispatcher sees, or gives
NotImplemented where the record's own parts stand for it. Records that are not here are the operator
of their name. FACTORIES: the same for public functions that are no records.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from .._ops import ops
from ..core.devices import CPU
from ..core.dtypes import as_dtype, bfloat16, bool_, float16, uint8
from ..core.layouts import contiguous_format, preserve_format, strided
from ..core.numeric_limits import finfo
from ..core.tensor_base import TensorBase
from .formulas_of_shapes import reshaped
from .programs_of_updates import UPDATES

a = ops.aten
PROGRAMS: dict[str, Callable[..., Any]] = {**UPDATES}
_FLASH = "_scaled_dot_product_flash_attention_for_cpu"
_REDUCTIONS = {"none": 0, "mean": 1, "sum": 2}


def program(name: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Enter a function under a record's name."""
    def enter(function: Callable[..., Any]) -> Callable[..., Any]:
        PROGRAMS[name] = function
        return function

    return enter


# ---- products ----------------------------------------------------------------------------------

@program("linear")
def _linear(input: Any, weight: Any, bias: Any) -> Any:
    if weight.dim() != 2 or input.dim() < 2:
        return NotImplemented
    shape = [*input.shape[:-1], weight.shape[0]]
    if bias is None:
        return _matmul(input, a.t.default(weight))
    if input.dim() == 2:
        return a.addmm.default(bias, input, a.t.default(weight))
    flat = reshaped(input, (math.prod(shape[:-1]), input.shape[-1]))
    made = a.addmm.default(bias, flat, a.t.default(weight))
    return a.view.default(made, shape)


@program("matmul")
def _matmul(self: Any, other: Any) -> Any:
    ranks = self.dim(), other.dim()
    if ranks == (1, 1):
        return a.dot.default(self, other)
    if ranks == (2, 1):
        return a.mv.default(self, other)
    if ranks == (1, 2):
        return a.squeeze.dim(a.mm.default(a.unsqueeze.default(self, 0), other), 0)
    if ranks == (2, 2):
        return a.mm.default(self, other)
    if ranks[0] >= 3 and ranks[1] in (1, 2):
        flat = reshaped(self, (math.prod(self.shape[:-1]), self.shape[-1]))
        made = a.mm.default(flat, other) if ranks[1] == 2 else a.mv.default(flat, other)
        return a._unsafe_view.default(made, [*self.shape[:-1], *other.shape[1:]])
    if min(ranks) < 2:
        return NotImplemented
    return _batched(self, other)


def _batched(self: Any, other: Any) -> Any:
    from ..core.views import broadcast_shapes

    batch = list(broadcast_shapes(self.shape[:-2], other.shape[:-2]))
    count, sizes = math.prod(batch), []
    flat = []
    for one in (self, other):
        size = list(one.shape[-2:])
        sizes.append(size)
        flat.append(reshaped(a.expand.default(one, [*batch, *size]), (count, *size)))
    made = a.bmm.default(*flat)
    return a._unsafe_view.default(made, [*batch, sizes[0][0], sizes[1][1]])


@program("contraction")
def _contraction(self: Any, other: Any, left: Any, right: Any, out: Any) -> Any:
    """A product of labelled dimensions as one product of stacks of matrices."""
    both = [label for label in left if label in right and label in out]
    summed = [label for label in left if label in right and label not in out]
    if {*left} - {*right} - {*out} or {*right} - {*left} - {*out}:
        return NotImplemented  # a label that one operand alone has is summed
    own = [label for label in left if label not in right]
    others = [label for label in right if label not in left]
    sizes = {**dict(zip(right, other.shape, strict=True)), **dict(zip(left, self.shape,
                                                                      strict=True))}

    def stack(tensor: Any, labels: Any, *groups: Any) -> Any:
        order = [list(labels).index(label) for group in groups for label in group]
        return reshaped(a.permute.default(tensor, order),
                         [math.prod(sizes[label] for label in group) for group in groups])

    made = a.bmm.default(stack(self, left, both, own, summed),
                         stack(other, right, both, summed, others))
    order = [*both, *own, *others]
    made = a.view.default(made, [sizes[label] for label in order])
    return a.permute.default(made, [order.index(label) for label in out])


@program("fold_product")
def _fold_product(self: Any, other: Any, alpha: Any) -> Any:
    left, right = (reshaped(t, (math.prod(t.shape[:-1]), t.shape[-1])) for t in (self, other))
    made = a.mm.default(a.t.default(left), right)
    return made if alpha == 1 else a.mul.Scalar(made, alpha)


# ---- views and copies --------------------------------------------------------------------------

@program("reshape")
def _reshape(self: Any, shape: Any) -> Any:
    return reshaped(self, shape)


@program("contiguous")
def _contiguous(self: Any, memory_format: Any) -> Any:
    if self.is_contiguous(memory_format=memory_format or contiguous_format):
        return self
    return a.clone.default(self, memory_format=memory_format or contiguous_format)


@program("getitem")
def _getitem(self: Any, index: Any) -> Any:
    items = index if isinstance(index, tuple) else (index,)
    used = sum(1 for i in items if i is not None and i is not Ellipsis and not isinstance(i, bool))
    if any(isinstance(i, bool) for i in items) or used > self.dim():
        return NotImplemented
    made, dim = self, 0
    for item in items:
        if item is None:
            made, dim = a.unsqueeze.default(made, dim), dim + 1
        elif item is Ellipsis:
            dim += self.dim() - used
        elif isinstance(item, slice):
            if item != slice(None):
                end = item.stop
                made = a.slice.Tensor(made, dim, 0 if item.start is None else item.start,
                                      (1 << 63) - 1 if end is None else end,
                                      1 if item.step is None else item.step)
            dim += 1
        else:
            made = a.select.int(made, dim, int(item))
    return a.alias.default(self) if made is self else made


@program("narrow")
def _narrow(self: Any, dim: int, start: Any, length: int) -> Any:
    begin = int(start)
    begin = begin + self.shape[dim] if begin < 0 else begin
    return a.slice.Tensor(self, dim, begin, begin + length)


@program("index_at")
def _index_at(self: Any, where: Any, indices: Any) -> Any:
    listed: list[Any] = [None] * (max(where) + 1)
    for dim, index in zip(where, indices, strict=True):
        listed[dim] = index
    return a.index.Tensor(self, listed)


@program("split_views")
def _split_views(self: Any, sizes: Any, dim: int, listed: bool) -> Any:
    sizes = list(sizes)
    if not listed and sizes:
        return tuple(a.split.Tensor(self, sizes[0], dim))
    return tuple(a.split_with_sizes.default(self, sizes, dim))


@program("to_dtype")
def _to_dtype(self: Any, dtype: Any, memory_format: Any) -> Any:
    return a._to_copy.default(self, dtype=dtype)


@program("copy_like")
def _copy_like(self: Any, size: Any, stride: Any) -> Any:
    made = a.new_empty_strided.default(self, list(size), list(stride), dtype=self.dtype,
                                       layout=self.layout, device=self.device)
    return a.copy_.default(made, self)


@program("filled_like")
def _filled_like(self: Any, dtype: Any, value: Any) -> Any:
    if value not in (0, 1):
        return NotImplemented
    op = a.ones_like.default if value else a.zeros_like.default
    named = {} if dtype is None else {"dtype": dtype}
    return op(self, **named, pin_memory=False, memory_format=preserve_format)


@program("filled")
def _filled(size: Any, dtype: Any, value: Any) -> Any:
    named = {"dtype": dtype, "device": CPU, "pin_memory": False}
    if type(value) in (int, float) and value in (0, 1):
        return (a.ones if value else a.zeros).default(list(size), **named)
    return a.full.default(list(size), value, **named)


PROGRAMS["transpose"] = lambda self, dim0, dim1: a.transpose.int(self, dim0, dim1)
PROGRAMS["squeeze"] = lambda self, dim: a.squeeze.default(self) if dim is None else \
    a.squeeze.dim(self, dim) if isinstance(dim, int) else a.squeeze.dims(self, list(dim))


@program("select_where")
def _select_where(condition: Any, self: Any, other: Any) -> Any:
    """A number becomes a tensor of the common dtype first, and then the other operand too."""
    from ..functional import result_type

    if not all(isinstance(one, TensorBase) for one in (self, other)):
        dtype = result_type(self, other)
        other, self = (a.scalar_tensor.default(one, dtype=dtype, layout=strided,
                                               device=condition.device)
                       if not isinstance(one, TensorBase) else one for one in (other, self))
        self, other = (one if one.dtype is dtype else a._to_copy.default(one, dtype=dtype)
                       for one in (self, other))
    return a.where.self(condition, self, other)


PROGRAMS["square"] = lambda self: a.pow.Tensor_Scalar(self, 2)


# ---- activations -------------------------------------------------------------------------------

PROGRAMS["relu6"] = lambda self, inplace: NotImplemented if inplace else \
    a.hardtanh.default(self, 0.0, 6.0)
PROGRAMS["elu"] = lambda self, alpha, inplace: NotImplemented if inplace else \
    a.elu.default(self, float(alpha))
PROGRAMS["hardtanh"] = lambda self, low, high, inplace: NotImplemented if inplace else \
    a.hardtanh.default(self, float(low), float(high))
PROGRAMS["logsigmoid"] = lambda self: a.log_sigmoid_forward.default(self)[0]


def _softmax_like(name: str) -> None:
    def run(self: Any, dim: int, dtype: Any) -> Any:
        if dtype is not None and dtype is not self.dtype:
            self = a._to_copy.default(self, dtype=dtype)
        return getattr(a, f"_{name}").default(self, dim, False)

    PROGRAMS[name] = run


_softmax_like("softmax")
_softmax_like("log_softmax")


# ---- losses ------------------------------------------------------------------------------------

def _number(reduction: Any) -> int:
    return _REDUCTIONS[reduction] if isinstance(reduction, str) else int(reduction)


@program("cross_entropy")
def _cross_entropy(input: Any, target: Any, weight: Any, ignore_index: int, reduction: Any,
                   label_smoothing: float, dtype: Any) -> Any:
    if target.shape == input.shape or label_smoothing:
        return NotImplemented
    if dtype is not None and input.dtype in (float16, bfloat16):
        input = a._to_copy.default(input, dtype=dtype)
    scores = a._log_softmax.default(input, 1 if input.dim() > 1 else 0, False)
    return _nll(scores, target, weight, ignore_index, reduction)


@program("nll_loss")
def _nll(input: Any, target: Any, weight: Any, ignore_index: int, reduction: Any) -> Any:
    if input.dim() not in (1, 2, 4):
        return NotImplemented
    op = a.nll_loss2d_forward.default if input.dim() == 4 else a.nll_loss_forward.default
    return op(input, target, weight, _number(reduction), ignore_index)[0]


PROGRAMS["mse_loss"] = lambda input, target, reduction: a.mse_loss.default(
    input, target, _number(reduction))
PROGRAMS["binary_cross_entropy_with_logits"] = lambda *args: \
    a.binary_cross_entropy_with_logits.default(*args[:-1], _number(args[-1]))


@program("l1_loss")
def _l1_loss(input: Any, target: Any, reduction: Any) -> Any:
    made = a.abs.default(a.sub.Tensor(input, target))
    return (made, a.mean.default, a.sum.default)[_number(reduction)](made) \
        if _number(reduction) else made


# ---- folds ---------------------------------------------------------------------------------------

def _spread(name: str) -> None:
    def run(self: Any, dim: Any, unbiased: Any, keepdim: bool, correction: Any) -> Any:
        if isinstance(dim, bool):
            dim, unbiased = None, dim
        op = getattr(a, name).correction
        if dim is None and unbiased is None and correction is None and not keepdim:
            return op(self)
        if correction is None:
            correction = int(unbiased is not False)
        dims = [dim] if isinstance(dim, int) else dim if dim is None else list(dim)
        return op(self, dims, correction=correction, keepdim=keepdim)

    PROGRAMS[name] = run


_spread("var")
_spread("std")


PROGRAMS["max_dim"] = lambda self, dim, keepdim: tuple(a.max.dim(self, dim, keepdim))
PROGRAMS["min_dim"] = lambda self, dim, keepdim: tuple(a.min.dim(self, dim, keepdim))


@program("norm")
def _norm(self: Any, p: Any, dim: Any, keepdim: bool, dtype: Any) -> Any:
    if isinstance(p, str) and p != "fro":
        return NotImplemented
    order = 2 if p in ("fro", None) else p
    dims = [dim] if isinstance(dim, int) else dim if dim is None else list(dim)
    return a.linalg_vector_norm.default(self, order, dims, keepdim, dtype=dtype)


# ---- layers --------------------------------------------------------------------------------------

@program("layer_norm")
def _layer_norm(input: Any, shape: Any, weight: Any, bias: Any, eps: float, _: bool) -> Any:
    return a.native_layer_norm.default(input, list(shape), weight, bias, eps)[0]


@program("rms_norm")
def _rms_norm(input: Any, shape: Any, weight: Any, eps: float | None) -> Any:
    dims = [input.dim() - len(shape) + k for k in range(len(shape))]
    mean = a.mean.dim(a.pow.Tensor_Scalar(input, 2), dims, True)
    rstd = a.rsqrt.default(a.add_.Scalar(mean, finfo(input.dtype).eps if eps is None else eps))
    made = a.mul.Tensor(input, rstd)
    return made if weight is None else a.mul.Tensor(made, weight)


@program("batch_norm")
def _batch_norm(input: Any, weight: Any, bias: Any, mean: Any, var: Any, training: bool,
                momentum: float, eps: float, _: bool) -> Any:
    a.empty.memory_format([0], dtype=uint8, layout=strided, device=input.device)
    return a.native_batch_norm.default(input, weight, bias, mean, var, bool(training), momentum,
                                       eps)[0]


@program("group_norm")
def _group_norm(input: Any, groups: int, weight: Any, bias: Any, eps: float, _: bool) -> Any:
    n, c = input.shape[:2]
    if c % groups:
        return NotImplemented
    return a.native_group_norm.default(input, weight, bias, n, c, math.prod(input.shape[2:]),
                                       groups, eps)[0]


@program("convolution_derivatives")
def _convolution_derivatives(grad: Any, input: Any, weight: Any, bias_dtype: Any, *rest: Any
                             ) -> Any:
    *numbers, mask = rest
    sizes = [0] if bias_dtype is None else [grad.shape[1]]
    return a.convolution_backward.default(grad, input, weight, sizes, *numbers, list(mask))


def _pair(value: Any) -> list[int]:
    values = [value, value] if isinstance(value, int) else list(value)
    return values * 2 if len(values) == 1 else values


@program("max_pool2d")
def _max_pool2d(self: Any, kernel_size: Any, stride: Any, padding: Any, dilation: Any,
                ceil_mode: bool) -> Any:
    return a.max_pool2d_with_indices.default(
        self, _pair(kernel_size), [] if stride is None else _pair(stride), _pair(padding),
        _pair(dilation), ceil_mode)[0]


@program("avg_pool2d")
def _avg_pool2d(self: Any, kernel_size: Any, stride: Any, padding: Any, *rest: Any) -> Any:
    return a.avg_pool2d.default(self, _pair(kernel_size), [] if stride is None else _pair(stride),
                                _pair(padding), *rest)


@program("adaptive_avg_pool2d")
def _adaptive_avg_pool2d(self: Any, output_size: Any) -> Any:
    size = _pair(output_size)
    if size == [1, 1]:
        return a.mean.dim(self, [-1, -2], True)
    return a._adaptive_avg_pool2d.default(self, size)


@program("scaled_dot_product_attention")
def _attention(query: Any, key: Any, value: Any, mask: Any, dropout_p: float, causal: bool,
               scale: Any, grouped: bool) -> Any:
    plain = query.dim() == key.dim() == value.dim() == 4 and not dropout_p and not grouped
    if not plain or query.shape[-1] != value.shape[-1] or \
            mask is not None and mask._requires_grad:
        return NotImplemented
    if mask is not None and mask.dtype is bool_:
        zeros = a.zeros_like.default(mask, dtype=query.dtype)
        mask = a.masked_fill_.Scalar(zeros, a.logical_not.default(mask), -math.inf)
    return getattr(a, _FLASH).default(query, key, value, dropout_p, causal, attn_mask=mask,
                                      scale=scale)[0]


# ---- functions that are no records ---------------------------------------------------------------

def _factory(func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """A factory: sizes as one list, and what PyTorch's functions add to the call."""
    from .choosing import chosen
    from .stations import leaf

    if kwargs.get("out") is not None:
        return NotImplemented
    wanted = kwargs.pop("requires_grad", False)
    name = func.__name__
    like = int(name.endswith("_like"))
    args = (*args[:like], *[v.item() if isinstance(v, TensorBase) else v for v in args[like:]])
    kwargs = {k: v.item() if k != "input" and isinstance(v, TensorBase) else v
              for k, v in kwargs.items()}
    if "dtype" in kwargs:
        kwargs["dtype"] = as_dtype(kwargs["dtype"])
    if name in _SIZED and args and isinstance(args[0], int):
        args = (list(args),)
    kwargs = {k: v for k, v in kwargs.items() if v is not None}
    if not like:
        kwargs.setdefault("device", CPU)
    kwargs.setdefault("pin_memory", False)
    made = leaf(chosen(getattr(ops.aten, name), args, kwargs), args, kwargs)
    return made.requires_grad_(True) if wanted else made


_SIZED = frozenset("zeros ones empty rand randn".split())


def _dropout(func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    def parts(input: Any, p: float = 0.5, train: bool = True) -> Any:
        if not 0 <= p <= 1 or p == 1 or not input.numel():
            return NotImplemented
        if p == 0 or not train:
            return input
        noise = a.bernoulli_.float(a.empty_like.default(input), 1 - p)
        return a.mul.Tensor(input, a.div_.Scalar(noise, 1 - p))

    return parts(*args, **kwargs)


def _normal(func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """One operator, also around tensors."""
    if kwargs.get("out") is not None:
        return NotImplemented
    from .stations import named

    wanted = kwargs.pop("requires_grad", False)
    made = named("normal", args, {k: v for k, v in kwargs.items() if v is not None})
    return made.requires_grad_(True) if wanted else made


FACTORIES: dict[str, Callable[..., Any]] = {
    **dict.fromkeys("""zeros ones full empty arange rand randn randint randperm eye linspace
                    zeros_like ones_like full_like empty_like rand_like randn_like""".split(),
                    _factory),
    "dropout": _dropout, "normal": _normal,
}
