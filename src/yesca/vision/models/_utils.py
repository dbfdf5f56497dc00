"""What the models share: arguments of former versions, widths, and parts of models."""

from __future__ import annotations

import functools
import inspect
import warnings
from collections import OrderedDict
from collections.abc import Callable
from typing import Any

from ... import nn
from ..._tensor import Tensor
from ._api import WeightsEnum

Function = Callable[..., Any]


class IntermediateLayerGetter(nn.ModuleDict):
    """A model up to the last of some layers; a call gives what these give.

    Args:
        model: its children run one after the other.
        return_layers: name of a child -> name of its output.

    The outputs are an OrderedDict by the new names. A name that is no child is a ValueError.

    >>> from yesca.vision import models
    >>> from yesca.vision.models._utils import IntermediateLayerGetter
    >>> body = IntermediateLayerGetter(models.resnet18(), {"layer1": "low", "layer3": "high"})
    >>> [(name, list(x.shape)) for name, x in body(torch.ones(1, 3, 32, 32)).items()]
    [('low', [1, 64, 8, 8]), ('high', [1, 256, 2, 2])]
    """

    _version = 2

    def __init__(self, model: nn.Module, return_layers: dict[str, str]) -> None:
        children = dict(model.named_children())
        if not set(return_layers).issubset(children):
            raise ValueError("return_layers are not present in model")
        missing = {str(name) for name in return_layers}
        layers = OrderedDict()
        for name, module in children.items():
            layers[name] = module
            missing.discard(name)
            if not missing:
                break
        super().__init__(layers)
        self.return_layers = return_layers

    def forward(self, x: Tensor) -> dict[str, Tensor]:
        out = OrderedDict()
        for name, module in self.items():
            x = module(x)
            if name in self.return_layers:
                out[self.return_layers[name]] = x
        return out


def _make_divisible(v: float, divisor: int, min_value: int | None = None) -> int:
    """The multiple of `divisor` nearest to `v`, at least `min_value` and nine tenths of `v`."""
    least = divisor if min_value is None else min_value
    nearest = max(least, int(v + divisor / 2) // divisor * divisor)
    return nearest + divisor if nearest < 0.9 * v else nearest


def _listed(names: list[str]) -> str:
    *most, last = (f"'{name}'" for name in names)
    comma = "," if len(most) > 1 else ""
    return f"{', '.join(most)}{comma} and {last}" if most else last


def kwonly_to_pos_or_kw(fn: Function) -> Function:
    """Decorator: keyword-only arguments may also be given by position, with a warning."""
    parameters = list(inspect.signature(fn).parameters.values())
    first = next((place for place, each in enumerate(parameters)
                  if each.kind is each.KEYWORD_ONLY), None)
    if first is None:
        raise TypeError(f"Found no keyword-only parameter on function '{fn.__name__}'")
    names = [each.name for each in parameters[first:]]

    @functools.wraps(fn)
    def called(*args: Any, **kwargs: Any) -> Any:
        late = dict(zip(names, args[first:]))
        if late:
            warnings.warn(
                f"Using {_listed(list(late))} as positional parameter(s) is deprecated since "
                "0.13 and may be removed in the future. Please use keyword parameter(s) instead.")
            kwargs.update(late)
        return fn(*args[:first], **kwargs)

    return called


def _legacy_weights(
    kwargs: dict[str, Any], name: str, former: str, default: Any, model: str
) -> None:
    """Puts the weights in `kwargs` that a boolean stood for; says so."""
    by_place = name in kwargs
    if by_place:
        kwargs[former] = kwargs.pop(name)
    wanted = kwargs[former]
    weights = (default(kwargs) if callable(default) else default) if wanted else None
    if wanted and not isinstance(weights, WeightsEnum):
        raise ValueError(f"No weights available for model {model}")
    if not by_place:
        warnings.warn(f"The parameter '{former}' is deprecated since 0.13 and may be removed in "
                      f"the future, please use '{name}' instead.")
    text = (f"Arguments other than a weight enum or `None` for '{name}' are deprecated since 0.13 "
            "and may be removed in the future. The current behavior is equivalent to passing "
            f"`{name}={weights!r}`.")
    if wanted:
        text += (f" You can also use `{name}={type(weights).__name__}.DEFAULT` to get the most "
                 "up-to-date weights.")
    warnings.warn(text)
    del kwargs[former]
    kwargs[name] = weights


def handle_legacy_interface(**weights: tuple[str, Any]) -> Callable[[Function], Function]:
    """Decorator: `pretrained=True`, by name or by place, stands for weights, with a warning.

    Args:
        weights: argument -> (its former name, the weights that True meant, or a function of the
            call's keywords that gives them).
    """

    def decorate(builder: Function) -> Function:
        @kwonly_to_pos_or_kw
        @functools.wraps(builder)
        def build(*args: Any, **kwargs: Any) -> Any:
            for name, (former, default) in weights.items():
                given = kwargs.get(name)
                modern = given is None or isinstance(given, WeightsEnum) or (
                    isinstance(given, str) and given != "legacy")
                if not modern or (name not in kwargs and former in kwargs):
                    _legacy_weights(kwargs, name, former, default, builder.__name__)
            return builder(*args, **kwargs)

        return build

    return decorate


def _ovewrite_named_param(kwargs: dict[str, Any], param: str, new_value: Any) -> None:
    """Sets an argument that the weights decide; another value than theirs is a ValueError."""
    if kwargs.setdefault(param, new_value) != new_value:
        raise ValueError(f"The parameter '{param}' expected value {new_value} but got "
                         f"{kwargs[param]} instead.")


def _ovewrite_value_param(param: str, actual: Any, expected: Any) -> Any:
    """`expected`, unless `actual` is something else: a ValueError."""
    if actual is not None and actual != expected:
        raise ValueError(
            f"The parameter '{param}' expected value {expected} but got {actual} instead.")
    return expected
