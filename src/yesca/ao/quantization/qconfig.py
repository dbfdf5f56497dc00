"""`QConfig`: which observers a layer's activations and weights get."""

from __future__ import annotations

from typing import Any, NamedTuple

from ...base import absent
from ...core.dtypes import float16
from ...nn.modules.module import Module
from . import observer

__all__ = ["QConfig", "default_dynamic_qconfig", "default_qconfig", "float16_dynamic_qconfig",
           "float16_static_qconfig", "float_qparams_weight_only_qconfig",
           "per_channel_dynamic_qconfig"]


class _Observers(NamedTuple):
    activation: Any
    weight: Any


class QConfig(_Observers):
    """Classes of observers for the activations and the weight of a layer, or what makes them.

    >>> import yesca as torch
    >>> from yesca.ao.quantization import MinMaxObserver, QConfig, default_dynamic_quant_observer
    >>> config = QConfig(activation=default_dynamic_quant_observer,
    ...                  weight=MinMaxObserver.with_args(dtype=torch.qint8))
    >>> config.weight().dtype
    torch.qint8
    """

    __slots__ = ()

    def __new__(cls, activation: Any, weight: Any) -> QConfig:
        if isinstance(activation, Module) or isinstance(weight, Module):
            raise ValueError(
                "QConfig received observer instance, please pass observer class instead. Use "
                "MyObserver.with_args(x=1) to override arguments to constructor if needed")
        return super().__new__(cls, activation, weight)


default_qconfig = QConfig(activation=observer.default_observer,
                          weight=observer.default_weight_observer)
default_dynamic_qconfig = QConfig(activation=observer.default_dynamic_quant_observer,
                                  weight=observer.default_weight_observer)
per_channel_dynamic_qconfig = QConfig(activation=observer.default_dynamic_quant_observer,
                                      weight=observer.default_per_channel_weight_observer)
float16_dynamic_qconfig = QConfig(
    activation=observer.PlaceholderObserver.with_args(dtype=float16, is_dynamic=True),
    weight=observer.PlaceholderObserver.with_args(dtype=float16))
float16_static_qconfig = QConfig(
    activation=observer.PlaceholderObserver.with_args(dtype=float16),
    weight=observer.PlaceholderObserver.with_args(dtype=float16))
float_qparams_weight_only_qconfig = QConfig(
    activation=observer.default_placeholder_observer,
    weight=observer.default_float_qparams_observer)

__getattr__ = absent.names_of(__name__)
