"""The models by name, and what is known of their pretrained weights."""

from __future__ import annotations

import fnmatch
import inspect
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from enum import Enum
from functools import partial
from importlib import import_module
from types import ModuleType
from typing import Any, TypeVar, get_args

from ...base.naming import answered_module
from ...nn import Module

__all__ = ["Weights", "WeightsEnum", "get_model", "get_model_builder", "get_model_weights",
           "get_weight", "list_models"]

#: Name of a model -> the function that makes it.
BUILTIN_MODELS: dict[str, Callable[..., Module]] = {}

#: Modules that register models, loaded when a model is asked for by its name.
FAMILIES = (
    "alexnet convnext densenet efficientnet googlenet inception maxvit mnasnet mobilenetv2 "
    "mobilenetv3 regnet resnet shufflenetv2 squeezenet swin_transformer vgg vision_transformer "
    "segmentation.deeplabv3 segmentation.fcn segmentation.lraspp"
).split()

F = TypeVar("F", bound=Callable[..., Module])


@dataclass
class Weights:
    """A file of pretrained weights.

    Attributes:
        url: where the file is.
        transforms: a callable that makes the transforms of its images.
        meta: what is known of it: `num_params`, `min_size`, `categories`, ...
    """

    url: str
    transforms: Callable[..., Any]
    meta: Mapping[str, Any]

    def __eq__(self, other: Any) -> bool:
        if not isinstance(other, Weights):
            return NotImplemented
        return ((self.url, self.meta) == (other.url, other.meta)
                and _parts(self.transforms) == _parts(other.transforms))


def _parts(function: Any) -> Any:
    """What makes two callables equal; partial functions have no equality of their own."""
    if isinstance(function, partial):
        return function.func, function.args, function.keywords
    return function


class WeightsEnum(Enum):
    """The pretrained weights of one model; its members are made of `Weights`.

    >>> from yesca.vision import models
    >>> models.ResNet18_Weights.DEFAULT
    ResNet18_Weights.IMAGENET1K_V1
    >>> models.ResNet18_Weights.DEFAULT.meta["categories"][1]
    'goldfish'
    """

    @classmethod
    def verify(cls, obj: Any) -> Any:
        """`obj`, or the member of its name (`"DEFAULT"`, `"ResNet18_Weights.DEFAULT"`).

        Raises:
            KeyError: there is no member of that name.
            TypeError: neither None, a name, nor a member of this enumeration.
        """
        if isinstance(obj, str):
            return cls[obj.replace(cls.__name__ + ".", "")]
        if obj is not None and not isinstance(obj, cls):
            raise TypeError(f"Invalid Weight class provided; expected {cls.__name__} but received "
                            f"{type(obj).__name__}.")
        return obj

    def get_state_dict(self, *args: Any, **kwargs: Any) -> Mapping[str, Any]:
        """The weights, downloaded once; arguments as `torch.hub.load_state_dict_from_url`'s."""
        from ...hub import load_state_dict_from_url

        return load_state_dict_from_url(self.url, *args, **kwargs)

    def __repr__(self) -> str:
        return f"{type(self).__name__}.{self._name_}"

    @property
    def url(self) -> str:
        return self.value.url

    @property
    def transforms(self) -> Callable[..., Any]:
        return self.value.transforms

    @property
    def meta(self) -> Mapping[str, Any]:
        return self.value.meta


def register_model(name: str | None = None) -> Callable[[F], F]:
    """Decorator that makes a function that builds a model known by `name`, or by its own."""

    def register(function: F) -> F:
        key = function.__name__ if name is None else name
        if key in BUILTIN_MODELS:
            raise ValueError(f"An entry is already registered under the name '{key}'.")
        BUILTIN_MODELS[key] = function
        return function

    return register


def _load_families() -> None:
    for family in FAMILIES:
        import_module(f".{family}", __package__)


def _filters(patterns: Iterable[str] | str | None) -> list[str]:
    return [patterns] if isinstance(patterns, str) else list(patterns or ())


def list_models(
    module: ModuleType | None = None, include: Iterable[str] | str | None = None,
    exclude: Iterable[str] | str | None = None,
) -> list[str]:
    """The names of all models, sorted.

    Args:
        module: only those of this package (`torchvision.models` has the classifiers).
        include, exclude: patterns as of file names; a name is listed that fits one of the first
            (of any, if there is none) and none of the others.

    >>> from yesca.vision import models
    >>> models.list_models(include="resnet*", exclude="*1*")
    ['resnet34', 'resnet50']
    """
    _load_families()
    home = None if module is None else answered_module(module.__name__)
    names = {name for name, function in BUILTIN_MODELS.items()
             if home in (None, answered_module(function.__module__).rpartition(".")[0])}
    wanted, unwanted = _filters(include), _filters(exclude)
    if wanted:
        names = {name for name in names if any(fnmatch.fnmatch(name, each) for each in wanted)}
    return sorted(n for n in names if not any(fnmatch.fnmatch(n, each) for each in unwanted))


def get_model_builder(name: str) -> Callable[..., Module]:
    """The function that makes the model of a name; ValueError if there is none."""
    key = name.lower()
    if key not in BUILTIN_MODELS:
        _load_families()
    try:
        return BUILTIN_MODELS[key]
    except KeyError:
        raise ValueError(f"Unknown model {key}") from None


def get_model(name: str, **config: Any) -> Module:
    """A model by its name, made with `config`.

    >>> from yesca.vision import models
    >>> models.get_model("squeezenet1_1", num_classes=10).num_classes
    10
    """
    return get_model_builder(name)(**config)


def get_model_weights(name: Callable[..., Module] | str) -> type[WeightsEnum]:
    """The enumeration of a model's weights; of a name, or of the function that makes the model.

    >>> from yesca.vision import models
    >>> list(models.get_model_weights("mobilenet_v2"))
    [MobileNet_V2_Weights.IMAGENET1K_V1, MobileNet_V2_Weights.IMAGENET1K_V2]
    """
    function = get_model_builder(name) if isinstance(name, str) else name
    parameters = inspect.signature(function).parameters
    if "weights" not in parameters:
        raise ValueError("The method is missing the 'weights' argument.")
    annotation = parameters["weights"].annotation
    for each in (annotation, *get_args(annotation)):
        if isinstance(each, type) and issubclass(each, WeightsEnum):
            return each
    raise ValueError("The WeightsEnum class for the specific method couldn't be retrieved. Make "
                     "sure the typing info is correct.")


def _enumerations(base: type[WeightsEnum]) -> Iterable[type[WeightsEnum]]:
    """Every enumeration of weights, a program's own among them."""
    for enum in base.__subclasses__():
        yield enum
        yield from _enumerations(enum)


def get_weight(name: str) -> WeightsEnum:
    """The weights of a full name, as `"ResNet50_Weights.IMAGENET1K_V1"`.

    Raises:
        ValueError: not of the form `Enumeration.MEMBER`, or an unknown enumeration.
        KeyError: an unknown member.
    """
    parts = name.split(".")
    if len(parts) != 2:
        raise ValueError(f"Invalid weight name provided: '{name}'.")
    _load_families()
    for enum in _enumerations(WeightsEnum):
        if enum.__name__ == parts[0]:
            return enum[parts[1]]
    raise ValueError(f"The weight enum '{parts[0]}' for the specific method couldn't be retrieved.")
