"""What the inner layers of a model give.

The model runs as it is, and its modules are listened to: the names of nodes are those of
`named_modules()`. Operators between modules have no names here.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping, Sequence
from typing import Any

from ... import nn
from ...base import absent

__all__ = ["create_feature_extractor"]

#: (name of a module, which of its calls).
Place = tuple[str, int]


class _Done(Exception):
    """All that was asked for is there: the rest of the model need not run."""


def _place(model: nn.Module, node: str) -> Place:
    """Calls of one module after the first are told apart as in `relu`, `relu_1`, `relu_2`."""
    names = dict(model.named_modules())
    base, _, number = node.rpartition("_")
    if node in names and node:
        return node, 0
    if base in names and base and number.isdigit():
        return base, int(number)
    raise ValueError(
        f"node: '{node}' is not present in model. Nodes are the modules of `named_modules()`, "
        "with `_1`, `_2`, ... for further calls of one; operators between modules are none")


def _named(nodes: Sequence[str] | Mapping[str, str]) -> dict[str, str]:
    if isinstance(nodes, Mapping):
        return {str(node): str(name) for node, name in nodes.items()}
    return {str(node): str(node) for node in nodes}


class FeatureExtractor(nn.Module):
    """A model that gives what some of its modules give, as an OrderedDict by name.

    It has the model's own parameters, buffers and modules, under their names.
    """

    def __init__(
        self, model: nn.Module, train: Mapping[str, str], eval: Mapping[str, str]
    ) -> None:
        super().__init__()
        vars(self)["_model"] = model
        vars(self).update({part: vars(model)[part] for part in (
            "_parameters", "_buffers", "_non_persistent_buffers_set", "_modules")})
        self.training = model.training
        self._wanted: dict[bool, dict[Place, str]] = {
            mode: {_place(model, node): name for node, name in nodes.items()}
            for mode, nodes in ((True, train), (False, eval))}

    def train(self, mode: bool = True) -> FeatureExtractor:
        vars(self)["_model"].training = mode
        return super().train(mode)

    def forward(self, *args: Any, **kwargs: Any) -> dict[str, Any]:
        wanted = self._wanted[self.training]
        found: dict[str, Any] = OrderedDict()
        model: nn.Module = vars(self)["_model"]
        handles = []

        def listen(name: str) -> Any:
            calls = 0

            def heard(module: nn.Module, inputs: Any, output: Any) -> None:
                nonlocal calls
                if (name, calls) in wanted:
                    found[wanted[name, calls]] = output
                    if len(found) == len(wanted):
                        raise _Done
                calls += 1

            return heard

        for name in {name for name, _ in wanted}:
            handles.append(model.get_submodule(name).register_forward_hook(listen(name)))
        try:
            model(*args, **kwargs)
        except _Done:
            pass
        finally:
            for handle in handles:
                handle.remove()
        silent = [f"{place[0]} (call {place[1]})" for place, name in wanted.items()
                  if name not in found]
        if silent:
            raise ValueError(f"the model did not call {', '.join(silent)}")
        return found


def create_feature_extractor(
    model: nn.Module, return_nodes: Sequence[str] | Mapping[str, str] | None = None,
    train_return_nodes: Sequence[str] | Mapping[str, str] | None = None,
    eval_return_nodes: Sequence[str] | Mapping[str, str] | None = None,
    tracer_kwargs: Mapping[str, Any] | None = None, suppress_diff_warning: bool = False,
    concrete_args: Mapping[str, Any] | None = None,
) -> FeatureExtractor:
    """A model that gives what some of its modules give, as an OrderedDict in their order.

    Args:
        return_nodes: names of modules, or a mapping of them to the names of the outputs. A second
            call of a module is its name and `_1`.
        train_return_nodes, eval_return_nodes: both, instead, where the two modes differ.
        tracer_kwargs, suppress_diff_warning, concrete_args: nothing is traced; they change nothing.

    What runs after the last of them is left out. Unknown names, and none at all, are a ValueError.

    >>> from yesca.vision import models
    >>> from yesca.vision.models.feature_extraction import create_feature_extractor
    >>> net = create_feature_extractor(models.resnet18(), {"layer2": "mid", "avgpool": "top"})
    >>> [(name, tuple(x.shape)) for name, x in net.eval()(torch.zeros(1, 3, 64, 64)).items()]
    [('mid', (1, 128, 8, 8)), ('top', (1, 512, 1, 1))]
    """
    if return_nodes is None and train_return_nodes is None and eval_return_nodes is None:
        raise ValueError("Either `return_nodes` or `train_return_nodes` and `eval_return_nodes` "
                         "together, should be specified")
    if (train_return_nodes is None) != (eval_return_nodes is None):
        raise ValueError("If any of `train_return_nodes` and `eval_return_nodes` are specified, "
                         "then both should be specified")
    if (return_nodes is None) == (train_return_nodes is None):
        raise ValueError("`return_nodes` and the two of `train_return_nodes` and "
                         "`eval_return_nodes` exclude each other")
    if return_nodes is not None:
        train_return_nodes = eval_return_nodes = return_nodes
    assert train_return_nodes is not None and eval_return_nodes is not None
    return FeatureExtractor(model, _named(train_return_nodes), _named(eval_return_nodes))


__getattr__ = absent.names_of(__name__)
