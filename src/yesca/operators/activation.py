"""Activations. Those that PyTorch differentiates from the result read the result."""

# Names: celu celu_ elu elu_ hardsigmoid hardsigmoid_ hardswish hardswish_ hardtanh hardtanh_
# Names: leaky_relu leaky_relu_ mish mish_ selu selu_ silu silu_ threshold threshold_

from __future__ import annotations

import math
from typing import Any

from ..core.dtypes import FLOATING, SCALAR_NAMES, DType, bool_
from ..core.memory_formats import kept, row_major
from ..core.numeric_limits import finfo
from ..loops.ir import Expr, const
from ..loops.scalar import absolute, exp, expm1, log1p, maximum, minimum, ndtr, tanh, where
from .kinds import composite, elementwise
from .transcendental import sigmoid_of

_DENSITY = 1.0 / math.sqrt(2.0 * math.pi)
_TANH_SCALE = math.sqrt(2.0 / math.pi)
_TANH_CUBE = 0.044715


def _zero(x: Expr) -> Expr:
    return const(0, x.dtype)


def _no_truths(message: str) -> Any:
    def rule(promoted: DType, values: tuple[Any, ...]) -> tuple[DType, DType]:
        if promoted is bool_:
            raise RuntimeError(message)
        return promoted, promoted
    return rule


relu = elementwise("relu(Tensor self) -> Tensor", lambda x: where(x < 0, _zero(x), x), out=False,
                   dtype=_no_truths("Boolean inputs not supported for relu"),
                   no_complex="clamp is not supported for complex types",
                   backward={"self": lambda grad, result: where(result <= 0.0, 0.0, grad)},
                   doc="max(self, 0); NaN stays.", twice="ThresholdBackwardBackward0")
relu6 = composite("relu6(Tensor self, any inplace=False) -> Tensor",
                  lambda ops, self, inplace: ops.hardtanh(self, 0.0, 6.0, inplace), method=False,
                  doc="min(max(self, 0), 6).")
composite("relu6_(Tensor self) -> Tensor",
          lambda ops, self: ops._hardtanh_(self, 0.0, 6.0), method=False, doc="relu6 in place.")


def _or_inplace(name: str, parameters: str = "", defaults: str = "", doc: str = "") -> None:
    """`F.name(x, ..., inplace=False)`: a composite that chooses the form; and `F.name_`."""
    names = [p.split()[-1].split("=")[0] for p in parameters.split(", ") if p]
    text = f"{name}(Tensor self{', ' + parameters if parameters else ''}"
    source = "lambda ops, self" + "".join(f", {n}" for n in names)
    if "inplace" not in names:
        return
    plain = ", ".join(n for n in names if n != "inplace")
    call = f"self{', ' + plain if plain else ''}"
    file = f"<schema {name}>"  # the package's own: errors and warnings name the program's lines
    source += f": ops._{name}_({call}) if inplace else ops._{name}({call})"
    body = eval(compile(source, file, "eval"))  # noqa: S307
    composite(f"{text}) -> Tensor", body, method=False, doc=doc)
    rest = [p for p in parameters.split(", ") if "inplace" not in p]
    write = eval(compile(f"lambda ops, {call}: ops._{name}_({call})", file, "eval"))  # noqa: S307
    composite(f"{name}_({', '.join(['Tensor self', *rest])}) -> Tensor", write, method=False,
              doc=f"{name} in place.")


def _gelu(x: Expr, approximate: str) -> Expr:
    if approximate == "none":
        return x * ndtr(x)
    if approximate != "tanh":
        raise RuntimeError("approximate argument must be either none or tanh.")
    inner = (x + x * x * x * _TANH_CUBE) * _TANH_SCALE
    return x * 0.5 * (tanh(inner) + 1.0)


def _gelu_grad(grad: Expr, self: Expr, approximate: str) -> Expr:
    x = self
    if approximate == "none":
        return grad * (ndtr(x) + x * exp(x * x * -0.5) * _DENSITY)
    inner = (x + x * x * x * _TANH_CUBE) * _TANH_SCALE
    t = tanh(inner)
    slope = (x * x * (3.0 * _TANH_CUBE) + 1.0) * _TANH_SCALE
    return grad * ((t + 1.0) * 0.5 + x * 0.5 * (1.0 - t * t) * slope)


gelu = elementwise("gelu(Tensor self, *, str approximate='none') -> Tensor", _gelu,
                   takes="f", kernel="GeluKernelImpl",
                   backward={"self": _gelu_grad}, method=False,
                   doc="self times the normal distribution's cumulative function.",
                twice="GeluBackwardBackward0")
_silu = elementwise("_silu(Tensor self) -> Tensor", lambda x: x / (exp(-x) + 1.0),
                   takes="fc",
                    backward={"self": lambda grad, self: grad * (sigmoid_of(self) * (
                        self * (1.0 - sigmoid_of(self)) + 1.0))}, method=False,
                    node_name="SiluBackward0")
_mish = elementwise("_mish(Tensor self) -> Tensor", lambda x: x * tanh(_soft(x)),
                   takes="f",
                    backward="derive", method=False, node_name="MishBackward0")


def _soft(x: Expr) -> Expr:
    """log(1 + e ** x) without overflow."""
    return maximum(x, 0.0) + log1p(exp(-absolute(x)))


_leaky = elementwise(
    "_leaky_relu(Tensor self, Scalar negative_slope=0.01) -> Tensor",
    lambda x, slope: where(x > 0, x, x * slope), takes="f", method=False,
    node_name=lambda plan: f"LeakyReluBackward{int(plan.inplace)}",
    backward={"self": lambda grad, self, negative_slope: where(
        self > 0, grad, grad * negative_slope)}, twice="LeakyReluBackwardBackward0")


def _elu_body(x: Expr, alpha: Any, scale: Any, input_scale: Any) -> Expr:
    return where(x <= 0, expm1(x * input_scale) * (alpha * scale), x * scale)


def _elu_grad(grad: Expr, self: Expr, alpha: Any, scale: Any, input_scale: Any) -> Expr:
    """At 0 it is that from the left, whose own derivative there is 0, as in PyTorch."""
    below = where(self < 0, self, _zero(self))
    low = grad * (alpha * scale * input_scale) * exp(below * input_scale)
    return where(self <= 0, low, grad * scale)


_elu = elementwise(
    "_elu_scaled(Tensor self, Scalar alpha=1, Scalar scale=1, Scalar input_scale=1) -> Tensor",
    _elu_body, takes="f", kernel="elu_cpu", method=False,
    node_name=lambda plan: f"EluBackward{int(plan.inplace)}",
    backward={"self": _elu_grad}, twice="EluBackwardBackward0")
composite("_elu(Tensor self, Scalar alpha=1.0) -> Tensor",
          lambda ops, self, alpha: ops._elu_scaled(self, alpha, 1, 1), method=False)
composite("_elu_(Tensor self, Scalar alpha=1.0) -> Tensor",
          lambda ops, self, alpha: ops._elu_scaled_(self, alpha, 1, 1), method=False)
_celu_scaled = elementwise(
    "_celu_scaled(Tensor self, Scalar alpha=1, Scalar input_scale=1) -> Tensor",
    lambda x, alpha, input_scale: _elu_body(x, alpha, 1, input_scale), takes="f", kernel="elu_cpu",
    method=False, node_name=lambda plan: f"CeluBackward{int(plan.inplace)}",
    backward={"self": lambda grad, self, alpha, input_scale:
              _elu_grad(grad, self, alpha, 1, input_scale)}, twice="EluBackwardBackward0")


def _celu(name: str) -> Any:
    def body(ops: Any, self: Any, alpha: Any) -> Any:
        if not alpha:
            raise RuntimeError("ZeroDivisionError: alpha cannot be 0 for CELU")
        return getattr(ops, name)(self, alpha, 1.0 / alpha)
    return body


composite("_celu(Tensor self, Scalar alpha=1.0) -> Tensor", _celu("_celu_scaled"), method=False)
composite("_celu_(Tensor self, Scalar alpha=1.0) -> Tensor", _celu("_celu_scaled_"), method=False)
_SELU = (1.6732632423543772848170429916717, 1.0507009873554804934193349852946)
composite("_selu(Tensor self) -> Tensor",
          lambda ops, self: ops._elu_scaled(self, *_SELU, 1), method=False)
composite("_selu_(Tensor self) -> Tensor",
          lambda ops, self: ops._elu_scaled_(self, *_SELU, 1), method=False)


def _softplus(x: Expr, beta: Any, threshold: Any) -> Expr:
    return where(x * beta > threshold, x, log1p(exp(x * beta)) / beta)


def _softplus_grad(grad: Expr, self: Expr, beta: Any, threshold: Any) -> Expr:
    z = exp(self * beta)
    return where(self * beta > threshold, grad, grad * (z / (z + 1.0)))


softplus = elementwise(
    "softplus(Tensor self, Scalar beta=1, Scalar threshold=20) -> Tensor", _softplus,
    backward={"self": _softplus_grad}, inplace=False, takes="f", method=False,
    doc="log(1 + e ** (beta * self)) / beta; self itself above the threshold.",
    twice="SoftplusBackwardBackward0")
_hardtanh = elementwise(
    "_hardtanh(Tensor self, Scalar min_val=-1, Scalar max_val=1) -> Tensor",
    lambda x, low, high: where(x < low, low, where(x > high, high, x)), method=False,
    dtype=_no_truths("Bool inputs not supported for hardtanh"), node_name="HardtanhBackward0",
    backward={"self": lambda grad, self, min_val, max_val: where(
        (self <= min_val) | (self >= max_val), 0.0, grad)}, twice="HardtanhBackwardBackward0")
_hardsigmoid = elementwise(
    "_hardsigmoid(Tensor self) -> Tensor",
    lambda x: minimum(maximum(x + 3.0, 0.0), 6.0) / 6.0, takes="f", method=False,
    node_name="HardsigmoidBackward0",
    backward={"self": lambda grad, self: where(
        (self > -3.0) & (self < 3.0), grad * (1.0 / 6.0), 0.0)},
        twice="HardsigmoidBackwardBackward0")
_hardswish = elementwise(
    "_hardswish(Tensor self) -> Tensor",
    lambda x: x * minimum(maximum(x + 3.0, 0.0), 6.0) / 6.0, takes="f", method=False,
    node_name="HardswishBackward0",
    backward={"self": lambda grad, self: where(
        self <= -3.0, 0.0, where(self >= 3.0, grad, grad * (self / 3.0 + 0.5)))},
        twice="HardswishBackwardBackward0")
hardshrink = elementwise(
    "hardshrink(Tensor self, Scalar lambd=0.5) -> Tensor",
    lambda x, lambd: where((x >= -lambd) & (x <= lambd), 0.0, x), takes="f", inplace=False,
    backward={"self": lambda grad, self, lambd: where(
        (self >= -lambd) & (self <= lambd), 0.0, grad)},
    doc="0 within lambd of 0, else self.", twice="HardshrinkBackwardBackward0")
_softshrink = elementwise(
    "_softshrink(Tensor self, Scalar lambd) -> Tensor",
    lambda x, lambd: where(x > lambd, x - lambd, where(x < -lambd, x + lambd, x * 0.0)),
    inplace=False, takes="f", kernel="softshrink_check", method=False,
    node_name="SoftshrinkBackward0",
    backward={"self": lambda grad, self, lambd: where(
        (self >= -lambd) & (self <= lambd), 0.0, grad)}, twice="SoftshrinkBackwardBackward0")


def _checked_softshrink(ops: Any, self: Any, lambd: Any) -> Any:
    if self.dtype.category == FLOATING and not 0 <= lambd <= finfo(self.dtype).max:
        raise RuntimeError(f"lambda must be in range [0, {finfo(self.dtype).max:g}] for input "
                           f"dtype {SCALAR_NAMES[self.dtype]}, but found {float(lambd):g}")
    return ops._softshrink(self, lambd)


softshrink = composite("softshrink(Tensor self, Scalar lambd=0.5) -> Tensor", _checked_softshrink,
                       out=True, method=False, doc="Shrunk towards 0 by lambd.")
_threshold = elementwise(
    "_threshold(Tensor self, Scalar threshold, Scalar value) -> Tensor",
    lambda x, threshold, value: where(x <= threshold, value, x), takes="if", method=False,
    node_name=lambda plan: f"ThresholdBackward{int(plan.inplace)}", stretched="allowed",
    backward={"self": lambda grad, self, threshold: where(self <= threshold, 0.0, grad)},
    twice="ThresholdBackwardBackward0")
logsigmoid = elementwise(
    "logsigmoid(Tensor self) -> Tensor", lambda x: minimum(x, 0.0) - log1p(exp(-absolute(x))),
    inplace=False, takes="f", kernel="log_sigmoid_cpu", method=False, strides=row_major,
    node_name="LogSigmoidBackward0",
    backward={"self": lambda grad, self: grad * sigmoid_of(-self)},
    doc="log(sigmoid(self)).", twice="LogSigmoidBackwardBackward0")
softsign = composite("softsign(Tensor self) -> Tensor",
                     lambda ops, self: ops.div(self, ops.add(ops.abs(self), 1)), method=False)
tanhshrink = composite("tanhshrink(Tensor self) -> Tensor",
                       lambda ops, self: ops.sub(self, ops.tanh(self)), method=False)

for _name, _parameters in (
    ("silu", "any inplace=False"), ("mish", "any inplace=False"),
    ("leaky_relu", "Scalar negative_slope=0.01, any inplace=False"),
    ("elu", "Scalar alpha=1.0, any inplace=False"),
    ("celu", "Scalar alpha=1.0, any inplace=False"), ("selu", "any inplace=False"),
    ("hardtanh", "Scalar min_val=-1.0, Scalar max_val=1.0, any inplace=False"),
    ("hardsigmoid", "any inplace=False"), ("hardswish", "any inplace=False"),
    ("threshold", "Scalar threshold, Scalar value, any inplace=False"),
):
    _or_inplace(_name, _parameters)

prelu_kernel = elementwise(
    "prelu_kernel(Tensor self, Tensor weight) -> Tensor",
    lambda x, w: where(x > 0, x, x * w), takes="f", kernel="prelu_cpu", inplace=False, method=False,
    strides=kept,
    backward={"self": lambda grad, self, weight: where(self > 0, grad, grad * weight),
              "weight": lambda grad, self: where(self > 0, 0.0, grad * self)})


def _prelu(ops: Any, self: Any, weight: Any) -> Any:
    if self.dtype is not weight.dtype:
        raise RuntimeError("prelu: Type promoting not supported. Got "
                           f"{SCALAR_NAMES[self.dtype]} and {SCALAR_NAMES[weight.dtype]}")
    if weight.numel() != 1:
        if self.dim() == 0:
            raise RuntimeError("Not allow zero-dim input tensor.")
        channels = self.shape[1] if self.dim() >= 2 else 1
        if channels != weight.numel():
            raise RuntimeError(f"Mismatch of parameter numbers and input channel size. Found "
                               f"parameter numbers = {weight.numel()} and channel size = "
                               f"{channels}.")
    if weight.dim() > 1:
        raise RuntimeError("prelu: Expected `weight` to be a scalar or 1D tensor, but got: ndim = "
                           f"{weight.dim()}")
    shape = [1] * self.dim()
    if self.dim() >= 2:
        shape[1] = weight.numel()
    return ops.prelu_kernel(self, ops.reshape(weight, tuple(shape)))


composite("prelu(Tensor self, Tensor weight) -> Tensor", _prelu, autocast="lower",
          samples=lambda make: [(make(3, 4), make(1)), (make(2, 3, 4), make(3))],
          doc="self where positive, else weight * self; one weight a channel or one in all.")


def _glu(ops: Any, self: Any, dim: int) -> Any:
    if self.dim() == 0:
        raise RuntimeError("glu does not support 0-dimensional tensors")
    size = self.shape[dim]
    if size % 2:
        at = dim % self.dim()
        raise RuntimeError(f"Halving dimension must be even, but dimension {at} is size {size}")
    first = ops.narrow(self, dim, 0, size // 2)
    return ops.gated(first, ops.narrow(self, dim, size // 2, size // 2))


elementwise("gated(Tensor self, Tensor other) -> Tensor", lambda x, gate: x * sigmoid_of(gate),
            takes="f", kernel="glu_cpu", numbers=(), inplace=False, out=False, method=False,
            node_name="GluBackward0",
            backward={"self": lambda grad, other: grad * sigmoid_of(other),
                      "other": lambda grad, self, other: grad * self * sigmoid_of(other)
                      * (1.0 - sigmoid_of(other))})
composite("glu(Tensor self, int dim=-1) -> Tensor", _glu, method=False,
          samples=lambda make: [(make(3, 4),), (make(2, 3), 0)],
          doc="The first half times the sigmoid of the second.")
