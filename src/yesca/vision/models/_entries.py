"""Makes the two public names of a model, its weights and its function, from one line.

The facts about the files of weights (`weights.json`, `categories.json`) are torchvision's;
`tests/fixtures/record_weights.py` writes them.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from functools import cache, partial
from pathlib import Path
from typing import Any

from ...base.naming import answered_module, public_module
from ...nn import Module
from ._api import Weights, WeightsEnum, register_model
from ._utils import _ovewrite_named_param, handle_legacy_interface

HERE = Path(__file__).parent


@cache
def _table(name: str) -> dict[str, Any]:
    return json.loads((HERE / f"{name}.json").read_text(encoding="utf-8"))


def preset(name: str, **settings: Any) -> Any:
    """The transforms that a file of weights expects of its images."""
    from ..transforms import InterpolationMode, _presets

    if "interpolation" in settings:
        settings["interpolation"] = InterpolationMode(settings["interpolation"])
    return getattr(_presets, name)(**settings)


def _tuples(values: Mapping[str, Any]) -> dict[str, Any]:
    """JSON has no tuples."""
    return {key: tuple(each) if isinstance(each, list) else each for key, each in values.items()}


def _weights(row: Mapping[str, Any]) -> Weights:
    meta = _tuples(row["meta"])
    classes = row["categories"]
    meta["categories"] = _table("categories")[classes] if classes else None
    return Weights(row["url"], partial(preset, row["preset"], **_tuples(row["settings"])), meta)


def weights_enum(name: str, module: str) -> Any:
    """The enumeration of the weights that the table has under `name`."""
    rows = _table("weights")[name]
    made = {key: _weights(row) for key, row in rows.items() if not isinstance(row, str)}
    same = {key: made[row] for key, row in rows.items() if isinstance(row, str)}
    members: Any = {**made, **same}
    return WeightsEnum(name, members, module=public_module(answered_module(module)))


def load(model: Module, weights: WeightsEnum | None, progress: bool) -> Module:
    """The model with the values of the weights, if there are any."""
    if weights is not None:
        model.load_state_dict(weights.get_state_dict(progress=progress, check_hash=True))
    return model


def classifier(
    cls: Callable[..., Module], *config: Any, weights: WeightsEnum | None, progress: bool,
    **kwargs: Any,
) -> Module:
    """A model whose number of classes is that of its weights."""
    if weights is not None:
        _ovewrite_named_param(kwargs, "num_classes", len(weights.meta["categories"]))
    return load(cls(*config, **kwargs), weights, progress)


def entry(
    module: str, make: Callable[..., Module], enum_name: str, name: str, *config: Any,
    legacy: str = "IMAGENET1K_V1", fixed: Mapping[str, Any] | None = None, **defaults: Any,
) -> tuple[Any, Any]:
    """The weights and the function of one model.

    Args:
        module: whose names they will be.
        make: is called as `make(*config, weights=, progress=, **keywords)`.
        enum_name, name: the names.
        legacy: the member that `pretrained=True` means, if there is such a member.
        fixed: keywords that have no other value in this model.
        defaults: keywords that may be given another value.
    """
    enum = weights_enum(enum_name, module)

    def build(*, weights: Any = None, progress: bool = True, **kwargs: Any) -> Module:
        weights = enum.verify(weights)
        for key, value in (fixed or {}).items():
            _ovewrite_named_param(kwargs, key, value)
        return make(*config, weights=weights, progress=progress, **{**defaults, **kwargs})

    return enum, published(build, name, {"weights": (enum, legacy)}, {"weights": "pretrained"})


def published(
    build: Callable[..., Module], name: str, weights: Mapping[str, tuple[Any, str]],
    former: Mapping[str, str],
) -> Any:
    """A function that makes a model under its name: registered, and open to old arguments.

    Args:
        weights: argument -> (its enumeration, the member that True meant, if it has it); the
            first is the model's own.
        former: argument -> its former name.
    """
    own = next(iter(weights.values()))[0]
    build.__name__ = build.__qualname__ = name
    build.__module__ = own.__module__
    build.__annotations__.update({key: enum | None for key, (enum, _) in weights.items()})
    build.__doc__ = (
        f"The model {name}, with `weights` (a member of {own.__name__}, its name, or None).\n\n"
        "`progress` shows the download of the weights; the rest goes to the model's class.")
    old = {key: (former[key], enum.__members__.get(member))
           for key, (enum, member) in weights.items()}
    return register_model()(handle_legacy_interface(**old)(build))
