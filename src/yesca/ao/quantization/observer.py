"""Observers: modules that see values pass and choose scale and zero point for their range."""

from __future__ import annotations

from abc import ABC, abstractmethod
from functools import partial
from typing import Any, ClassVar

from ... import functional as ops
from ..._tensor import Tensor
from ...autograd.modes import no_grad
from ...base import absent
from ...base.frames import warn
from ...core import layouts
from ...core.dtypes import (
    NAMED, DType, float16, float32, int8, int16, int32, int64, uint8, uint16,
)
from ...core.layouts import QScheme
from ...nn.modules.module import Module

__all__ = [
    "FixedQParamsObserver", "MinMaxObserver", "MovingAverageMinMaxObserver",
    "MovingAveragePerChannelMinMaxObserver", "NoopObserver", "ObserverBase",
    "PerChannelMinMaxObserver", "PlaceholderObserver", "RecordingObserver",
    "UniformQuantizationObserverBase", "default_dynamic_quant_observer",
    "default_float_qparams_observer", "default_observer", "default_per_channel_weight_observer",
    "default_placeholder_observer", "default_weight_observer",
    "weight_observer_range_neg_127_to_127",
]

QINT8, QUINT8, QINT32 = NAMED["qint8"], NAMED["quint8"], NAMED["qint32"]
#: Dtypes that may be observed for -> their integers.
RANGES: dict[DType, tuple[int, int]] = {
    QINT8: (-128, 127), int8: (-128, 127), QUINT8: (0, 255), uint8: (0, 255),
    QINT32: (-(1 << 31), (1 << 31) - 1), int32: (-(1 << 31), (1 << 31) - 1),
    int16: (-(1 << 15), (1 << 15) - 1), uint16: (0, (1 << 16) - 1),
}
EPSILON = 2.0 ** -23
_SYMMETRIC = (layouts.per_tensor_symmetric, layouts.per_channel_symmetric)
_CHANNELS = (layouts.per_channel_symmetric, layouts.per_channel_affine,
             layouts.per_channel_affine_float_qparams)


class _PartialWrapper:
    """A class with some of its arguments given; calling it makes an instance."""

    def __init__(self, p: Any) -> None:
        self.p = p
        self.callable_args: dict[str, Any] = {}

    def __call__(self, *args: Any, **keywords: Any) -> Any:
        made = {name: call() for name, call in self.callable_args.items() if name not in keywords}
        return self.p(*args, **keywords, **made)

    def __repr__(self) -> str:
        return f"{self.p!r}{self.callable_args!r}"

    def with_args(self, **kwargs: Any) -> _PartialWrapper:
        """The same with further arguments given."""
        return _with_args(self, **kwargs)

    def with_callable_args(self, **kwargs: Any) -> _PartialWrapper:
        """The same with arguments that are computed anew for each instance."""
        made = _PartialWrapper(self.p)
        made.callable_args = {**self.callable_args, **kwargs}
        return made


def _with_args(made: Any, **kwargs: Any) -> _PartialWrapper:
    """A class (or what makes one) with arguments given: `MinMaxObserver.with_args(eps=1e-3)`."""
    return _PartialWrapper(partial(made, **kwargs))


class ObserverBase(ABC, Module):
    """The base of all observers.

    Args:
        dtype: what the values will be quantized to.
        is_dynamic: whether that happens anew for each input, so that nothing is learnt here.
    """

    with_args: ClassVar[Any] = classmethod(_with_args)

    def __init__(self, dtype: DType, is_dynamic: bool = False) -> None:
        super().__init__()
        self.dtype = dtype
        self.is_dynamic = is_dynamic

    @abstractmethod
    def forward(self, x: Tensor) -> Tensor:
        """See the values; gives them back as they are."""

    @abstractmethod
    def calculate_qparams(self, **kwargs: Any) -> Any:
        """(scale, zero point) for what has been seen."""

    @classmethod
    def with_callable_args(cls, **kwargs: Any) -> _PartialWrapper:
        """The class with arguments that are computed anew for each instance."""
        return _PartialWrapper(partial(cls)).with_callable_args(**kwargs)


class UniformQuantizationObserverBase(ObserverBase):
    """The base of observers that learn a range and cut it into equal steps.

    Args:
        dtype: `qint8`, `quint8`, `qint32`, or the integer dtype that is stored.
        qscheme: affine (a zero point of its own) or symmetric (around 0), per tensor or channel.
        reduce_range: use half of the integers.
        quant_min, quant_max: use these integers instead of all that the dtype has.
        eps: the smallest scale.

    Raises AssertionError for another dtype or scheme, and for integers that make no range.
    """

    min_val: Tensor
    max_val: Tensor
    eps: Tensor

    def __init__(self, dtype: DType = QUINT8, qscheme: QScheme = layouts.per_tensor_affine,
                 reduce_range: bool = False, quant_min: int | None = None,
                 quant_max: int | None = None, factory_kwargs: Any = None,
                 eps: float = EPSILON, is_dynamic: bool = False, **kwargs: Any) -> None:
        super().__init__(dtype=dtype, is_dynamic=is_dynamic)
        self.qscheme = qscheme
        if reduce_range:
            warn("Please use quant_min and quant_max to specify the range for observers. "
                 "reduce_range will be deprecated in a future release of PyTorch.")
        self.reduce_range = reduce_range
        self._options = dict(factory_kwargs or {})
        self.register_buffer("eps", ops.tensor([eps], **self._options))
        if qscheme not in (layouts.per_tensor_affine, layouts.per_tensor_symmetric, *_CHANNELS):
            raise AssertionError("Default Observer only works for per_tensor_affine, "
                                 "per_tensor_symmetric, per_channel_affine, per_channel_symmetric "
                                 "and per_channel_float_qparams quantization scheme, not "
                                 f"{qscheme}")
        if dtype not in RANGES:
            raise AssertionError(f"Default Observer only works for {tuple(RANGES)} data type, not "
                                 f"{dtype}")
        self.has_customized_qrange = quant_min is not None and quant_max is not None
        low, high = RANGES[dtype]
        if self.has_customized_qrange:
            _check_range(quant_min, quant_max)
            low, high = quant_min, quant_max  # type: ignore[assignment]
        elif reduce_range and dtype is not QINT32:
            low, high = -(-low // 2) if low else 0, high // 2
        self.quant_min, self.quant_max = low, high

    def _start(self) -> None:
        """The range before anything was seen."""
        self.register_buffer("min_val", ops.tensor(float("inf"), **self._options))
        self.register_buffer("max_val", ops.tensor(float("-inf"), **self._options))

    def reset_min_max_vals(self) -> None:
        """Forget what has been seen."""
        raise NotImplementedError("Cannot reset min/max values in the given observer.")

    def calculate_qparams(self, **kwargs: Any) -> tuple[Tensor, Tensor]:
        """(scale, zero point) of the range that has been seen, with 0 in it.

        The zero point is int64 for symmetric schemes, int32 for affine ones, float32 for
        `per_channel_affine_float_qparams`. Before anything was seen they are 1 and 0.

        Raises AssertionError for a range that is none.
        """
        least, most = self.min_val, self.max_val
        if not _is_range(least, most):
            return ops.tensor([1.0]), ops.tensor([0])
        low, high = self.quant_min, self.quant_max
        least, most = ops.clamp(least, max=0.0), ops.clamp(most, min=0.0)
        shape = least.shape or (1,)
        if self.qscheme in _SYMMETRIC:
            reach = ops.maximum(-least, most)
            scale = ops.maximum(reach / (float(high - low) / 2), self.eps)
            middle = 128 if self.dtype in (QUINT8, uint8) else 0
            if middle and self.has_customized_qrange:
                middle = (low + high) // 2
            return ops.reshape(scale, shape), ops.full(shape, middle, dtype=int64)
        if self.qscheme is layouts.per_channel_affine_float_qparams:
            scale = (self.max_val - self.min_val) / float(high - low)
            scale = ops.where(scale > self.eps, scale, 1.0)
            return scale, -self.min_val / scale
        scale = ops.maximum((most - least) / float(high - low), self.eps)
        zero = ops.clamp(low - ops.round(least / scale).to(int32), low, high)
        return ops.reshape(scale, shape), ops.reshape(zero, shape)

    def extra_repr(self) -> str:
        return f"min_val={_shown(self.min_val)}, max_val={_shown(self.max_val)}"

    def _load_from_state_dict(self, state_dict: Any, prefix: str, *rest: Any) -> None:
        for name in ("min_val", "max_val"):  # their sizes are those of what was observed
            given = state_dict.get(prefix + name)
            if given is not None and given.shape != getattr(self, name).shape:
                setattr(self, name, ops.empty_like(given))
        super()._load_from_state_dict(state_dict, prefix, *rest)


def _shown(value: Tensor) -> Any:
    return value if value.dim() else value.item()


def _check_range(low: Any, high: Any) -> None:
    if not low <= 0 <= high:
        raise AssertionError("Used-specified quantization range must include 0.")
    if low >= high:
        raise AssertionError("qmin must be strictly less than qmax for user-specified "
                             "quantization range.")


def _is_range(least: Tensor, most: Tensor) -> bool:
    """Whether something has been seen; a range upside down is refused."""
    if not least.numel() or not most.numel():
        seen = False
    elif not least.dim():
        seen = not (least.item() == float("inf") and most.item() == float("-inf"))
    else:
        seen = True
    if not seen:
        warn("must run observer before calling calculate_qparams. Returning default values.")
        return False
    if not bool(ops.all(least <= most)):
        raise AssertionError(f"min {_shown(least)} should be less than max {_shown(most)}")
    return True


class MinMaxObserver(UniformQuantizationObserverBase):
    """Learns the least and the largest value of all inputs.

    Raises NotImplementedError for a scheme with channels; else see the base.

    >>> import yesca as torch
    >>> observer = torch.ao.quantization.MinMaxObserver()
    >>> _ = observer(torch.tensor([-1.0, 4.1]))
    >>> observer.calculate_qparams()
    (tensor([0.0200]), tensor([50], dtype=torch.int32))
    """

    def __init__(self, dtype: DType = QUINT8, qscheme: QScheme = layouts.per_tensor_affine,
                 *args: Any, **kwargs: Any) -> None:
        if qscheme in _CHANNELS:
            raise NotImplementedError("MinMaxObserver's qscheme only support "
                                      "torch.per_tensor_symmetric and torch.per_tensor_affine.")
        super().__init__(dtype, qscheme, *args, **kwargs)
        self._start()

    def forward(self, x: Tensor) -> Tensor:
        if x.numel():
            with no_grad():
                values = x.detach().to(self.min_val.dtype)
                self._see(ops.amin(values), ops.amax(values))
        return x

    def _see(self, least: Tensor, most: Tensor) -> None:
        self.min_val = ops.minimum(least, self.min_val)
        self.max_val = ops.maximum(most, self.max_val)

    def reset_min_max_vals(self) -> None:
        self._start()


class MovingAverageMinMaxObserver(MinMaxObserver):
    """Learns moving averages of the inputs' least and largest values.

    Args:
        averaging_constant: how much a new input counts.
    """

    def __init__(self, averaging_constant: float = 0.01, *args: Any, **kwargs: Any) -> None:
        self._constant = averaging_constant
        super().__init__(*args, **kwargs)
        self.averaging_constant = averaging_constant

    def _see(self, least: Tensor, most: Tensor) -> None:
        if self.min_val.numel() == 1 and not bool(ops.isfinite(self.min_val)):
            self.min_val, self.max_val = least, most
            return
        step = self.averaging_constant
        self.min_val = self.min_val + step * (least - self.min_val)
        self.max_val = self.max_val + step * (most - self.max_val)


class PerChannelMinMaxObserver(UniformQuantizationObserverBase):
    """Learns the least and the largest value for each index of the dimension `ch_axis`.

    Raises NotImplementedError for a scheme without channels; else see the base.

    >>> import yesca as torch
    >>> observer = torch.ao.quantization.PerChannelMinMaxObserver(
    ...     dtype=torch.qint8, qscheme=torch.per_channel_symmetric)
    >>> _ = observer(torch.tensor([[-1.0, 2.55], [0.1, -5.1]]))
    >>> observer.calculate_qparams()
    (tensor([0.0200, 0.0400]), tensor([0, 0]))
    """

    def __init__(self, ch_axis: int = 0, dtype: DType = QUINT8,
                 qscheme: QScheme = layouts.per_channel_affine, *args: Any, **kwargs: Any) -> None:
        if qscheme not in _CHANNELS:
            raise NotImplementedError(
                "PerChannelMinMaxObserver's qscheme only support torch.per_channel_symmetric, "
                "torch.per_channel_affine and torch.per_channel_affine_float_qparams.")
        super().__init__(dtype, qscheme, *args, **kwargs)
        self.ch_axis = ch_axis
        self._start()

    def _start(self) -> None:
        self.register_buffer("min_val", ops.tensor([], **self._options))
        self.register_buffer("max_val", ops.tensor([], **self._options))

    def forward(self, x: Tensor) -> Tensor:
        if x.numel():
            with no_grad():
                values = x.detach().to(self.min_val.dtype)
                rows = ops.flatten(ops.transpose(values, 0, self.ch_axis).contiguous(), 1) \
                    if values.dim() > 1 else ops.unsqueeze(values, 1)
                self._see(ops.amin(rows, 1), ops.amax(rows, 1))
        return x

    def _see(self, least: Tensor, most: Tensor) -> None:
        seen = self.min_val.numel() > 0
        self.min_val = ops.minimum(least, self.min_val) if seen else least
        self.max_val = ops.maximum(most, self.max_val) if seen else most

    def reset_min_max_vals(self) -> None:
        self._start()


class MovingAveragePerChannelMinMaxObserver(PerChannelMinMaxObserver):
    """Learns moving averages of the least and largest value for each index of `ch_axis`."""

    def __init__(self, averaging_constant: float = 0.01, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.averaging_constant = averaging_constant

    def _see(self, least: Tensor, most: Tensor) -> None:
        if not self.min_val.numel():
            self.min_val, self.max_val = least, most
            return
        step = self.averaging_constant
        self.min_val = self.min_val + step * (least - self.min_val)
        self.max_val = self.max_val + step * (most - self.max_val)


class FixedQParamsObserver(ObserverBase):
    """Gives a scale and a zero point that are known beforehand."""

    scale: Tensor
    zero_point: Tensor

    def __init__(self, scale: float, zero_point: int, dtype: DType = QUINT8,
                 qscheme: QScheme = layouts.per_tensor_affine, quant_min: int = 0,
                 quant_max: int = 255, is_dynamic: bool = False, **kwargs: Any) -> None:
        super().__init__(dtype=dtype, is_dynamic=is_dynamic)
        self.quant_min, self.quant_max = quant_min, quant_max
        self.register_buffer("scale", ops.tensor([scale], dtype=float32))
        self.register_buffer("zero_point", ops.tensor([zero_point], dtype=int32))
        self.qscheme = qscheme

    def forward(self, x: Tensor) -> Tensor:
        return x

    def calculate_qparams(self, **kwargs: Any) -> tuple[Tensor, Tensor]:
        return self.scale, self.zero_point


class PlaceholderObserver(ObserverBase):
    """Says a dtype, and observes nothing: what is quantized dynamically, or cast to float16."""

    def __init__(self, dtype: DType = float32, custom_op_name: str = "",
                 compute_dtype: DType | None = None, quant_min: int | None = None,
                 quant_max: int | None = None, qscheme: QScheme | None = None,
                 eps: float | None = None, is_dynamic: bool = False) -> None:
        super().__init__(dtype=dtype, is_dynamic=is_dynamic)
        self.qscheme = layouts.per_tensor_affine if qscheme is None else qscheme
        self.quant_min, self.quant_max = quant_min, quant_max
        self.eps = EPSILON if eps is None else eps
        self.custom_op = custom_op_name
        if compute_dtype:
            self.is_dynamic = True
            warn("Please use `is_dynamic` instead of `compute_dtype`. `compute_dtype` will be "
                 "deprecated in a future release of PyTorch.")

    def forward(self, x: Tensor) -> Tensor:
        return x

    def extra_repr(self) -> str:
        return f"dtype={self.dtype}, is_dynamic={self.is_dynamic}"

    def calculate_qparams(self, **kwargs: Any) -> Any:
        raise Exception("calculate_qparams should not be called for PlaceholderObserver")


class RecordingObserver(ObserverBase):
    """Keeps a copy of every input."""

    def __init__(self, dtype: DType = QUINT8) -> None:
        super().__init__(dtype=dtype)
        self.tensor_val: list[Tensor] = []

    def forward(self, x: Tensor) -> Tensor:
        self.tensor_val.append(x.clone())
        return x

    def calculate_qparams(self, **kwargs: Any) -> Any:
        raise Exception("calculate_qparams should not be called for RecordingObserver")

    def get_tensor_value(self) -> list[Tensor]:
        """The inputs so far."""
        return self.tensor_val


class NoopObserver(ObserverBase):
    """Observes nothing."""

    def __init__(self, dtype: DType = float16, custom_op_name: str = "") -> None:
        super().__init__(dtype=dtype, is_dynamic=False)
        self.custom_op = custom_op_name

    def forward(self, x: Tensor) -> Tensor:
        return x

    def calculate_qparams(self, **kwargs: Any) -> Any:
        raise Exception("calculate_qparams should not be called for NoopObserver")


default_observer = MinMaxObserver.with_args(quant_min=0, quant_max=127)
default_placeholder_observer = PlaceholderObserver
default_weight_observer = MinMaxObserver.with_args(
    dtype=QINT8, qscheme=layouts.per_tensor_symmetric)
weight_observer_range_neg_127_to_127 = MinMaxObserver.with_args(
    dtype=QINT8, qscheme=layouts.per_tensor_symmetric, quant_min=-127, quant_max=127, eps=2 ** -12)
default_per_channel_weight_observer = PerChannelMinMaxObserver.with_args(
    dtype=QINT8, qscheme=layouts.per_channel_symmetric)
default_dynamic_quant_observer = PlaceholderObserver.with_args(
    dtype=QUINT8, quant_min=0, quant_max=255, is_dynamic=True)
default_float_qparams_observer = PerChannelMinMaxObserver.with_args(
    dtype=QUINT8, qscheme=layouts.per_channel_affine_float_qparams, ch_axis=0)

__getattr__ = absent.names_of(__name__)
