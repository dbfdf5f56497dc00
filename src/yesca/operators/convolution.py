"""conv1d, conv2d, conv3d, their transposes, and the derivatives; see `windows` and `unfolding`."""

# Names: conv1d conv2d conv3d conv_tbc conv_transpose1d conv_transpose2d conv_transpose3d

from __future__ import annotations

import math
from typing import Any

from ..core.dtypes import SCALAR_NAMES, bfloat16, bool_, float16, float32
from ..core.layouts import channels_last_3d, contiguous_format
from ..core.memory_formats import strides_in, suggested
from ..core.spec import spec
from . import unfolding, windows
from .argument_types import is_whole
from .kinds import composite, rows
from .normalisation import absent
from .products import spoken
from .windows import Windows

# ---- checks ----------------------------------------------------------------------------------


def _list(value: Any) -> list[int]:
    return [int(n) for n in value]


def _check_numbers(stride: Any, padding: Any, dilation: Any, groups: int) -> None:
    if any(n < 0 for n in padding):
        raise RuntimeError("negative padding is not supported")
    if any(n <= 0 for n in stride):
        raise RuntimeError("non-positive stride is not supported")
    if any(n <= 0 for n in dilation):
        raise RuntimeError(f"dilation should be greater than zero, but got {_list(dilation)}")
    if groups <= 0:
        raise RuntimeError("non-positive groups is not supported")


def _check_operands(input: Any, weight: Any, bias: Any, groups: int, transposed: bool) -> None:
    shape, kernel = tuple(input.spec.shape), tuple(weight.spec.shape)
    if len(shape) != len(kernel):
        raise RuntimeError(
            f"Expected {len(kernel)}-dimensional input for {len(kernel)}-dimensional weight "
            f"{list(kernel)}, but got {len(shape)}-dimensional input of size {list(shape)} instead")
    wanted = kernel[0] if transposed else kernel[1] * groups
    opening = f"Given transposed={int(transposed)}" if transposed else f"Given groups={groups}"
    if kernel[0] % groups or kernel[0] < groups:
        raise RuntimeError(
            f"Given groups={groups}, expected weight to be divisible by {groups} at dimension 0, "
            f"but got weight of size {list(kernel)} instead")
    if shape[1] != wanted:
        raise RuntimeError(
            f"{opening}, weight of size {list(kernel)}, expected input{list(shape)} to have "
            f"{wanted} channels, but got {shape[1]} channels instead")
    outputs = kernel[1] * groups if transposed else kernel[0]
    if bias is not None and tuple(bias.spec.shape) != (outputs,):
        raise RuntimeError(
            f"Given weight of size {list(kernel)}, expected bias to be 1-dimensional with "
            f"{outputs} elements, but got bias of size {list(bias.spec.shape)} instead")
    if transposed:
        _check_weight(input, weight)
    if bias is not None and bias.spec.dtype is not input.spec.dtype:
        raise RuntimeError(f"Input type ({spoken(input)}) and bias type ({spoken(bias)}) should "
                           "be the same")
    _check_weight(input, weight)


def _check_weight(input: Any, weight: Any) -> None:
    if weight.spec.dtype is not input.spec.dtype:
        if input.spec.dtype in (float16, bfloat16):
            raise RuntimeError(
                f"Input type ({_type_name(input)}) and weight type ({_type_name(weight)}) should "
                "be the same or input should be a MKLDNN tensor and weight is a dense tensor")
        raise RuntimeError(f"expected scalar type {SCALAR_NAMES[input.spec.dtype]} but found "
                           f"{SCALAR_NAMES[weight.spec.dtype]}")


def _type_name(ref: Any) -> str:
    """What PyTorch's messages about halves call the type of a tensor."""
    dtype = ref.spec.dtype
    return "CPUBFloat16Type" if dtype is bfloat16 else f"torch.{SCALAR_NAMES[dtype]}Tensor"


def _geometry(shape: tuple[int, ...], weight: tuple[int, ...], stride: Any, padding: Any,
              dilation: Any, transposed: bool, output_padding: Any, groups: int) -> Windows:
    """X is what a convolution reads: the input, or a transposed convolution's result."""
    size, kernel = shape[2:], weight[2:]
    if transposed:
        made = tuple((n - 1) * s - 2 * p + d * (k - 1) + 1 + o for n, s, p, d, k, o in
                     zip(size, stride, padding, dilation, kernel, output_padding, strict=True))
        if any(n <= 0 for n in made):
            raise RuntimeError(f"Given input size per channel: ({_by(size)}). Calculated output "
                               f"size per channel: ({_by(made)}). Output size is too small")
        return Windows(shape[0], groups, weight[1] * groups, weight[0], made, size, kernel,
                       tuple(stride), tuple(padding), tuple(dilation))
    padded = tuple(n + 2 * p for n, p in zip(size, padding, strict=True))
    span = tuple(d * (k - 1) + 1 for k, d in zip(kernel, dilation, strict=True))
    if any(n < k for n, k in zip(padded, span, strict=True)):
        raise RuntimeError(
            f"Calculated padded input size per channel: ({_by(padded)}). Kernel size: "
            f"({_by(span)}). Kernel size can't be greater than actual input size")
    result = tuple((n - k) // s + 1 for n, k, s in zip(padded, span, stride, strict=True))
    return Windows(shape[0], groups, weight[1] * groups, weight[0], size, result, kernel,
                   tuple(stride), tuple(padding), tuple(dilation))


def _by(sizes: tuple[int, ...]) -> str:
    return " x ".join(str(n) for n in sizes)


def _check_output_padding(stride: Any, dilation: Any, output_padding: Any) -> None:
    if all(o < max(s, d) for o, s, d in zip(output_padding, stride, dilation, strict=True)):
        return
    labels = ("height", "width") if len(stride) == 2 else ("depth", "height", "width") \
        if len(stride) == 3 else ("width",)
    shown = " ".join(f"{kind}_{label}: {n}" for kind, values in (
        ("output_padding", output_padding), ("stride", stride), ("dilation", dilation))
        for label, n in zip(labels, values, strict=True))
    raise RuntimeError("output padding must be smaller than either stride or dilation, but got "
                       f"{shown}")


# ---- the operator ----------------------------------------------------------------------------

def _layout(input: Any, weight: Any, shape: tuple[int, ...], groups: int, p: Any) -> Any:
    """A result: channels last in memory if the input or the weight is."""
    base = input.spec
    form = suggested(base)
    if form is contiguous_format and weight.spec.ndim == base.ndim:
        form = suggested(weight.spec)
    volumes = form is channels_last_3d and (base.dtype not in (float32, bfloat16) or _single(
        base.shape, weight.spec.shape, groups))
    if volumes or not base.numel:  # what PyTorch computes by itself, it lays in rows
        form = contiguous_format
    return spec(base.dtype, shape, strides_in(shape, form.name), p.device)


def _single(shape: Any, weight: Any, groups: int) -> bool:
    """One small volume, which PyTorch computes by a method that knows row-major results only."""
    return shape[0] == 1 and groups == 1 and min(weight[-2:]) <= 3 \
        and math.prod(shape[:4]) <= 20480


def _convolution(p: Any, input: Any, weight: Any, bias: Any, stride: Any, padding: Any,
                 dilation: Any, transposed: bool, output_padding: Any, groups: int) -> None:
    _check_numbers(stride, padding, dilation, groups)
    _check_operands(input, weight, bias, groups, transposed)
    if transposed:
        _check_output_padding(stride, dilation, output_padding)
    shape = tuple(input.spec.shape)
    w = _geometry(shape, tuple(weight.spec.shape), stride, padding, dilation, transposed,
                  output_padding, groups)
    channels, size = (w.inputs, w.size) if transposed else (w.outputs, w.result)
    made = p.result(_layout(input, weight, (shape[0], channels, *size), groups, p))
    if made.spec.numel == 0:
        return
    if input.spec.numel == 0 or weight.spec.numel == 0:
        windows.fill(p, made, bias)
        return
    way: Any = unfolding if unfolding.pays(w) else windows
    if transposed:
        way.input_gradient(p, w, way.lay_output(p, w, input), weight, made, bias)
    else:
        way.forward(p, w, way.lay_input(p, w, input), weight, made, bias)


def _convolution_backward(p: Any, grad_output: Any, input: Any, weight: Any, bias_dtype: Any,
                          stride: Any, padding: Any, dilation: Any, transposed: bool,
                          output_padding: Any, groups: int, output_mask: Any) -> None:
    w = _geometry(tuple(input.spec.shape), tuple(weight.spec.shape), stride, padding, dilation,
                  transposed, output_padding, groups)
    wants = output_mask
    to_input = p.result(_layout(input, weight, tuple(input.spec.shape), groups, p)) \
        if wants[0] else absent(p, input)
    to_weight = p.result(_layout(input, weight, tuple(weight.spec.shape), groups, p)) \
        if wants[1] else absent(p, input)
    to_bias = p.result(spec(bias_dtype, (grad_output.spec.shape[1],), None, p.device)) \
        if wants[2] else absent(p, input)
    if grad_output.spec.numel == 0 or input.spec.numel == 0 or weight.spec.numel == 0:
        for made in (to_input, to_weight):
            if made.spec.numel:
                windows.fill(p, made, None)
    else:
        _gradients(p, w, grad_output, input, weight, transposed, to_input if wants[0] else None,
                   to_weight if wants[1] else None)
    if wants[2]:
        windows.bias_gradient(p, grad_output, to_bias)


def _gradients(p: Any, w: Windows, grad_output: Any, input: Any, weight: Any, transposed: bool,
               to_input: Any, to_weight: Any) -> None:
    """The products; what two of them read is laid out once."""
    way: Any = unfolding if unfolding.pays(w) else windows
    reads = to_weight is not None  # ... the ends of rows as well
    if transposed:
        laid = way.lay_input(p, w, grad_output, reads)
        if to_input is not None:
            way.forward(p, w, laid, weight, to_input, None)
        if reads:
            way.weight_gradient(p, w, laid, way.lay_output(p, w, input, reads), to_weight)
        return
    laid = way.lay_output(p, w, grad_output, reads)
    if to_input is not None:
        way.input_gradient(p, w, laid, weight, to_input)
    if reads:
        way.weight_gradient(p, w, way.lay_input(p, w, input, reads), laid, to_weight)


def _second(ops: Any, grads: Any, grad_output: Any, input: Any, weight: Any, stride: Any,
            padding: Any, dilation: Any, transposed: bool, output_padding: Any, groups: int,
            needs: Any) -> tuple[Any, Any, Any]:
    """A convolution is linear in its input and in its weight: each gradient is one again."""
    numbers = (stride, padding, dilation, transposed, output_padding, groups)
    of_input, of_weight, of_bias = grads
    to_output = to_input = to_weight = None
    if needs[0]:
        parts = []
        if of_input is not None:
            parts.append(ops.convolution(of_input, weight, of_bias, *numbers))
        elif of_bias is not None:
            shape = [1] * grad_output.dim()
            shape[1] = -1
            parts.append(ops.expand(ops.reshape(of_bias, tuple(shape)), tuple(grad_output.shape)))
        if of_weight is not None:
            parts.append(ops.convolution(input, of_weight, None, *numbers))
        to_output = parts[0] if len(parts) == 1 else ops.add(*parts) if parts else None
    if needs[1] and of_weight is not None:
        to_input = ops.convolution_derivatives(grad_output, input, of_weight, None, *numbers,
                                               (True, False, False))[0]
    if needs[2] and of_input is not None:
        to_weight = ops.convolution_derivatives(grad_output, of_input, weight, None, *numbers,
                                                (False, True, False))[1]
    return to_output, to_input, to_weight


_NUMBERS = ("any stride, any padding, any dilation, bool transposed, any output_padding, "
            "int groups")
rows(f"convolution_derivatives(Tensor grad_output, Tensor input, Tensor weight, any bias_dtype, "
     f"{_NUMBERS}, any output_mask) -> (Tensor, Tensor, Tensor)", _convolution_backward,
     method=False, node_name="ConvolutionBackwardBackward0",
     backward={("grad_output", "input", "weight"): _second})


def _back(ops: Any, grad: Any, input: Any, weight: Any, bias_spec: Any, stride: Any, padding: Any,
          dilation: Any, transposed: bool, output_padding: Any, groups: int, needs: Any
          ) -> tuple[Any, ...]:
    mask = (needs[0], needs[1], len(needs) > 2 and needs[2])
    return ops.convolution_derivatives(
        grad, input, weight, None if bias_spec is None else bias_spec.dtype, stride, padding,
        dilation, transposed, output_padding, groups, mask)


rows(f"convolution(Tensor input, Tensor weight, Tensor? bias, {_NUMBERS}) -> Tensor",
     _convolution, method=False, backward={("input", "weight", "bias"): _back},
     counts_absent=True,
     doc="The general (transposed) convolution of any rank.")


# ---- the public functions --------------------------------------------------------------------

def _numbers(name: str, value: Any, rank: int) -> tuple[int, ...]:
    """An argument that is one number or one for each dimension."""
    if is_whole(value):
        return (int(value),) * rank
    values = tuple(int(n) for n in value)
    if len(values) == 1:
        return values * rank
    if len(values) != rank:
        raise RuntimeError(
            f"expected {name} to be a single integer value or a list of {rank} values to match "
            f"the convolution dimensions, but got {name}={list(values)}")
    return values


def _batched(ops: Any, name: str, input: Any, weight: Any, rank: int) -> tuple[Any, bool]:
    if weight.dim() != rank + 2:
        raise RuntimeError(
            f"Expected {weight.dim()}-dimensional input for {weight.dim()}-dimensional weight "
            f"{list(weight.shape)}, but got {input.dim()}-dimensional input of size "
            f"{list(input.shape)} instead ({name} takes a {rank + 2}-dimensional weight)")
    if input.dim() == rank + 2:
        return input, True
    if input.dim() != rank + 1:
        raise RuntimeError(
            f"Expected {rank + 1}D (unbatched) or {rank + 2}D (batched) input to {name}, but got "
            f"input of size: {list(input.shape)}")
    return ops.unsqueeze(input, 0), False


def _same_padding(ops: Any, input: Any, weight: Any, stride: tuple[int, ...],
                  dilation: tuple[int, ...]) -> tuple[Any, tuple[int, ...]]:
    """padding="same": what cannot be split evenly is added at the end."""
    if any(s != 1 for s in stride):
        raise RuntimeError("padding='same' is not supported for strided convolutions")
    totals = [d * (k - 1) for d, k in zip(dilation, tuple(weight.shape)[2:], strict=True)]
    for d, total in enumerate(totals):
        if total % 2:
            shape = list(input.shape)
            shape[2 + d] = 1
            input = ops.cat([input, ops.zeros(tuple(shape), dtype=input.dtype,
                                              device=input.device)], 2 + d)
    return input, tuple(total // 2 for total in totals)


def _convolved(ops: Any, input: Any, weight: Any, bias: Any, *numbers: Any) -> Any:
    """The convolution; of complex numbers, three real ones (Gauss's way)."""
    for name, other in (("weight", weight), ("bias", bias)):
        if other is not None and other.dtype.is_complex is not input.dtype.is_complex:
            raise RuntimeError(f"Input type ({input.dtype}) and {name} type ({other.dtype}) should "
                               "be the same")
    if not input.dtype.is_complex:
        return ops.convolution(input, weight, bias, *numbers)
    a, b, c, d = ops.real(input), ops.imag(input), ops.real(weight), ops.imag(weight)
    first = ops.convolution(a, c, None, *numbers)
    second = ops.convolution(b, d, None, *numbers)
    both = ops.convolution(ops.add(a, b), ops.add(c, d), None, *numbers)
    made = ops.complex(ops.sub(first, second), ops.sub(ops.sub(both, first), second))
    if bias is None:
        return made
    return ops.add(made, ops.reshape(bias, (-1, *(1 for _ in weight.shape[2:]))))


def _check_kernel(weight: Any, dilation: tuple[int, ...]) -> None:
    """Refuse kernels without an element, in the words of the several ways that PyTorch has."""
    sizes = tuple(weight.shape)[2:]
    if all(sizes):
        return
    if any(d > 1 for d in dilation):
        shown = f"but got {list(sizes)}"
    elif len(sizes) == 3:
        shown = f"but got: {' x '.join(map(str, sizes))} (TxHxW)"
    else:
        height, width = (1, *sizes)[-2:]
        shown = f"but got kernel_height: {height} kernel_width: {width}"
    raise RuntimeError(f"kernel size should be greater than zero, {shown}")


def _refuse_truths(input: Any, rank: int, dilation: tuple[int, ...], transposed: bool) -> None:
    """Refuse truth values, of which there is no sum of products."""
    if input.dtype is not bool_:
        return
    kernel = f"slow_conv_transpose{max(rank, 2)}d_out_cpu" if transposed else \
        "slow_conv_dilated<>" if any(d > 1 for d in dilation) else f"slow_conv{max(rank, 2)}d_cpu"
    raise NotImplementedError(f'"{kernel}" not implemented for \'Bool\'')


def _plain(rank: int) -> Any:
    name = f"conv{rank}d"

    def conv(ops: Any, input: Any, weight: Any, bias: Any, stride: Any, padding: Any,
             dilation: Any, groups: int) -> Any:
        x, batched = _batched(ops, name, input, weight, rank)
        steps = _numbers("stride", stride, rank)
        apart = _numbers("dilation", dilation, rank)
        _check_kernel(weight, apart)
        _refuse_truths(input, rank, apart, False)
        if isinstance(padding, str):
            if padding not in ("same", "valid"):
                raise RuntimeError(f"Invalid padding string: '{padding}'")
            x, around = _same_padding(ops, x, weight, steps, apart) if padding == "same" else \
                (x, (0,) * rank)
        else:
            around = _numbers("padding", padding, rank)
        made = _convolved(ops, x, weight, bias, steps, around, apart, False, (0,) * rank, groups)
        return made if batched else ops.squeeze(made, 0)
    return conv


def _transposed(rank: int) -> Any:
    name = f"conv_transpose{rank}d"

    def conv(ops: Any, input: Any, weight: Any, bias: Any, stride: Any, padding: Any,
             output_padding: Any, groups: int, dilation: Any) -> Any:
        x, batched = _batched(ops, name, input, weight, rank)
        apart = _numbers("dilation", dilation, rank)
        _check_kernel(weight, apart)
        _refuse_truths(input, rank, apart, True)
        made = _convolved(
            ops, x, weight, bias, _numbers("stride", stride, rank),
            _numbers("padding", padding, rank), apart, True,
            _numbers("output_padding", output_padding, rank), groups)
        return made if batched else ops.squeeze(made, 0)
    return conv


for _rank in (1, 2, 3):
    composite(f"conv{_rank}d(Tensor input, Tensor weight, Tensor? bias=None, int[1] stride=1, "
              "int[1]|str padding=0, int[1] dilation=1, int groups=1) -> Tensor", _plain(_rank),
              method=False, autocast="lower",
              doc="Each output channel: the kernel's products with every window.")
    composite(f"conv_transpose{_rank}d(Tensor input, Tensor weight, Tensor? bias=None, "
              "int[1] stride=1, int[1] padding=0, int[1] output_padding=0, int groups=1, "
              "int[1] dilation=1) "
              "-> Tensor", _transposed(_rank), method=False, autocast="lower",
              doc="The gradient of a convolution with respect to its input, as an operator.")


def _time_first(ops: Any, self: Any, weight: Any, bias: Any, pad: int) -> Any:
    for value, rank, words in (
            (self, 3, "Input must have 3 dims: time, batch, in_channel"),
            (weight, 3, "Weight tensor must have 3 dims: kernel_width, in_channels, out_channels."),
            (bias, 1, "Bias must be 1-D")):
        if value.dim() != rank:
            raise RuntimeError(words)
    made = ops.conv1d(ops.permute(self, (1, 2, 0)), ops.permute(weight, (2, 1, 0)), bias,
                      padding=pad)
    return ops.contiguous(ops.permute(made, (2, 0, 1)))


def _time_first_back(ops: Any, grad: Any, self: Any, weight: Any, bias_spec: Any, pad: int,
                     needs: Any) -> tuple[Any, ...]:
    x, w, bias = ops.convolution_derivatives(
        ops.permute(grad, (1, 2, 0)), ops.permute(self, (1, 2, 0)), ops.permute(weight, (2, 1, 0)),
        bias_spec.dtype, (1,), (pad,), (1,), False, (0,), 1, tuple(needs))
    return (ops.permute(x, (2, 0, 1)) if needs[0] else None,
            ops.permute(w, (2, 1, 0)) if needs[1] else None, bias if needs[2] else None)


composite("conv_tbc(Tensor self, Tensor weight, Tensor bias, int pad=0) -> Tensor", _time_first,
          method=False, backward={("self", "weight", "bias"): _time_first_back},
          samples=lambda make: [(make(5, 2, 3), make(2, 3, 4), make(4), 1),
                                              (make(4, 1, 2), make(3, 2, 2), make(2))],
          doc="conv1d of (time, batch, channel), with a weight (kernel, channel in, channel out).")
