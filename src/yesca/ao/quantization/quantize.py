"""`quantize_dynamic`: a model's layers replaced by ones with quantized weights."""

from __future__ import annotations

import copy
from collections.abc import Iterable
from typing import Any

from ...base import absent
from ...base.frames import warn
from ...core.dtypes import NAMED, DType, float16
from ...nn.modules import linear, rnn, sparse
from ...nn.modules.module import Module
from ...nn.utils.parametrize import type_before_parametrizations
from .qconfig import (
    default_dynamic_qconfig, float16_dynamic_qconfig, float_qparams_weight_only_qconfig,
)
from .quantization_mappings import get_default_dynamic_quant_module_mappings

__all__ = ["convert", "propagate_qconfig_", "quantize_dynamic", "swap_module"]

DEPRECATION_WARNING = (
    "torch.ao.quantization is deprecated and will be removed in 2.10. \n"
    "For migrations of users: \n"
    "1. Eager mode quantization (torch.ao.quantization.quantize, "
    "torch.ao.quantization.quantize_dynamic), please migrate to use torchao eager mode quantize_ "
    "API instead \n"
    "2. FX graph mode quantization (torch.ao.quantization.quantize_fx.prepare_fx,"
    "torch.ao.quantization.quantize_fx.convert_fx, please migrate to use torchao pt2e quantization "
    "API instead (prepare_pt2e, convert_pt2e) \n"
    "3. pt2e quantization has been migrated to torchao "
    "(https://github.com/pytorch/ao/tree/main/torchao/quantization/pt2e) \n"
    "see https://github.com/pytorch/ao/issues/2259 for more details")
_PRODUCTS = (linear.Linear, rnn.LSTM, rnn.GRU, rnn.LSTMCell, rnn.RNNCell, rnn.GRUCell)
_TABLES = (sparse.EmbeddingBag, sparse.Embedding)
#: Default settings, and what is quantized where no layers are named.
_DEFAULTS: dict[DType, tuple[Any, tuple[type, ...]]] = {
    NAMED["qint8"]: (default_dynamic_qconfig, _PRODUCTS),
    float16: (float16_dynamic_qconfig, _PRODUCTS),
    NAMED["quint8"]: (float_qparams_weight_only_qconfig, _TABLES),
}


def quantize_dynamic(model: Module, qconfig_spec: Any = None, dtype: DType = NAMED["qint8"],
                     mapping: dict[type, Any] | None = None, inplace: bool = False) -> Module:
    """A copy of `model` for inference whose layers have quantized weights.

    Activations are quantised as they come, by the range of each input.

    Args:
        qconfig_spec: a set of classes of layers, or of names of modules, which get the default
            settings of `dtype`; or a dictionary from such to a `QConfig` (None leaves what it is
            for as it is). A name counts for all layers inside. By default linear and recurrent
            layers, with `quint8` embeddings.
        dtype: `qint8`, or `float16`, which rounds weights and quantises nothing; `quint8` for
            embeddings. Of no effect where settings are given.
        mapping: class of a layer -> the class that takes its place, by its `from_float`.
        inplace: change the model itself. It is the only way to replace what was not copied; a
            model that is one layer itself is not replaced.

    Raises ValueError and RuntimeError for other dtypes, AssertionError for a recurrent layer
    without biases, NotImplementedError for `quint4x2`. Warns of PyTorch's deprecation.

    >>> import yesca as torch, warnings
    >>> warnings.simplefilter("ignore")
    >>> model = torch.nn.Sequential(torch.nn.Linear(784, 10))
    >>> small = torch.ao.quantization.quantize_dynamic(model, {torch.nn.Linear}, dtype=torch.qint8)
    >>> small[0].weight().dtype, small(torch.zeros(1, 784)).shape
    (torch.qint8, torch.Size([1, 10]))
    """
    warn(DEPRECATION_WARNING, DeprecationWarning)
    if not isinstance(qconfig_spec, dict):
        qconfig_spec = _by_default(qconfig_spec, dtype)
    if mapping is None:
        mapping = get_default_dynamic_quant_module_mappings()
    if not inplace:
        model = copy.deepcopy(model)
    model.eval()
    propagate_qconfig_(model, qconfig_spec)
    return _convert(model, mapping)


def _by_default(layers: Iterable[Any] | None, dtype: DType) -> dict[Any, Any]:
    """The settings of a dtype for layers, by default for all that it is for."""
    if dtype is NAMED["quint4x2"]:
        raise NotImplementedError("PyTorch quantizes embeddings to torch.quint4x2, yesca does not "
                                  "have that yet; torch.quint8 is there")
    if dtype not in _DEFAULTS:
        if layers is None:
            raise ValueError(f"Don't know how to quantize with default settings for {dtype}. "
                             "Provide full qconfig please")
        raise RuntimeError("Unknown dtype specified for quantize_dynamic: ", str(dtype))
    config, usual = _DEFAULTS[dtype]
    return dict.fromkeys(usual if layers is None else layers, config)


def propagate_qconfig_(module: Module, qconfig_dict: dict[Any, Any] | None = None,
                       prepare_custom_config_dict: dict[str, Any] | None = None) -> None:
    """Give each module inside the `qconfig` that its class or name has, else that of its parent.

    Args:
        qconfig_dict: class or dotted name -> QConfig or None; "" is for all.
    """
    _propagate(module, qconfig_dict or {}, (qconfig_dict or {}).get(""), "")


def _propagate(module: Any, spec: dict[Any, Any], inherited: Any, name: str) -> None:
    found = spec.get(name, spec.get(type_before_parametrizations(module), inherited))
    found = getattr(module, "qconfig", found)
    module.qconfig = found
    for part, child in module.named_children():
        _propagate(child, spec, found, f"{name}.{part}" if name else part)


def convert(module: Module, mapping: dict[type, Any] | None = None, inplace: bool = False,
            remove_qconfig: bool = True) -> Module:
    """A copy of a model with the layers that have a `qconfig` replaced by quantized ones.

    Args:
        mapping: class of a layer -> the class that takes its place; by default those of
            `quantize_dynamic`: layers that quantise with fixed ranges are not there.
        inplace: change the model itself.
        remove_qconfig: take the `qconfig` off the modules afterwards.
    """
    warn(DEPRECATION_WARNING, DeprecationWarning)
    if not inplace:
        module = copy.deepcopy(module)
    return _convert(module, get_default_dynamic_quant_module_mappings() if mapping is None
                    else mapping, remove_qconfig)


def _convert(model: Module, mapping: dict[type, Any], remove_qconfig: bool = True) -> Module:
    _swap_children(model, mapping, {})
    if remove_qconfig:
        for one in model.modules():
            vars(one).pop("qconfig", None)
    return model


def _swap_children(module: Module, mapping: dict[type, Any], swapped: dict[int, Any]) -> None:
    """Replace all layers inside; a layer that stands in several places stays one."""
    for name, child in list(_children(module)):
        if id(child) not in swapped:
            _swap_children(child, mapping, swapped)
            swapped[id(child)] = swap_module(child, mapping)
        module._modules[name] = swapped[id(child)]


def _children(module: Module) -> Iterable[tuple[str, Module]]:
    return ((name, child) for name, child in module._modules.items() if child is not None)


def swap_module(mod: Any, mapping: dict[type, Any], custom_module_class_mapping: Any = None,
                use_precomputed_fake_quant: bool = False) -> Any:
    """The quantized layer for a layer with a `qconfig`, with its hooks; else the layer itself."""
    kind = type_before_parametrizations(mod)
    if getattr(mod, "qconfig", None) is None or kind not in mapping:
        return mod
    made = mapping[kind].from_float(mod)
    if made is not mod:
        made._forward_pre_hooks.update(mod._forward_pre_hooks)
        made._forward_hooks.update(mod._forward_hooks)
    return made


__getattr__ = absent.names_of(__name__)
