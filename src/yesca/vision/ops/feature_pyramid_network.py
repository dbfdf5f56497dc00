"""Feature maps of several sizes, each told what the smaller ones saw."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Mapping
from typing import Any

from ... import nn
from ..._tensor import Tensor
from ...nn import functional as F
from .misc import Conv2dNormActivation

__all__ = ["ExtraFPNBlock", "FeaturePyramidNetwork", "LastLevelMaxPool", "LastLevelP6P7"]

Layer = Callable[..., nn.Module]


class ExtraFPNBlock(nn.Module):
    """What may follow the pyramid: takes and gives its maps and their names."""

    def forward(
        self, results: list[Tensor], x: list[Tensor], names: list[str]
    ) -> tuple[list[Tensor], list[str]]:
        raise NotImplementedError(
            f'Module [{type(self).__name__}] is missing the required "forward" function')


class FeaturePyramidNetwork(nn.Module):
    """Maps of several widths and sizes as maps of one width.

    Args:
        in_channels_list: channels of the maps, largest image first; 0 is a ValueError.
        out_channels: of all results.
        extra_blocks: an `ExtraFPNBlock` (else a TypeError) that may add maps.

    It takes an ordered mapping of names to [N, C, H, W], and gives one with the same names.

    >>> from yesca.vision.ops import FeaturePyramidNetwork
    >>> maps = {"low": torch.ones(1, 4, 8, 8), "high": torch.ones(1, 6, 4, 4)}
    >>> {name: tuple(x.shape) for name, x in FeaturePyramidNetwork([4, 6], 5)(maps).items()}
    {'low': (1, 5, 8, 8), 'high': (1, 5, 4, 4)}
    """

    _version = 2

    def __init__(
        self, in_channels_list: list[int], out_channels: int,
        extra_blocks: ExtraFPNBlock | None = None, norm_layer: Layer | None = None,
    ) -> None:
        super().__init__()
        self.inner_blocks = nn.ModuleList()
        self.layer_blocks = nn.ModuleList()
        for channels in in_channels_list:
            if channels == 0:
                raise ValueError("in_channels=0 is currently not supported")
            self.inner_blocks.append(Conv2dNormActivation(
                channels, out_channels, kernel_size=1, padding=0, norm_layer=norm_layer,
                activation_layer=None))
            self.layer_blocks.append(Conv2dNormActivation(
                out_channels, out_channels, kernel_size=3, norm_layer=norm_layer,
                activation_layer=None))
        for each in self.modules():
            if isinstance(each, nn.Conv2d):
                nn.init.kaiming_uniform_(each.weight, a=1)
                if each.bias is not None:
                    nn.init.constant_(each.bias, 0)
        if extra_blocks is not None and not isinstance(extra_blocks, ExtraFPNBlock):
            raise TypeError(
                f"extra_blocks should be of type ExtraFPNBlock not {type(extra_blocks)}")
        self.extra_blocks = extra_blocks

    def _load_from_state_dict(
        self, state_dict: Any, prefix: str, local_metadata: Any, *rest: Any
    ) -> None:
        # Layers of the first version were convolutions without a container.
        if (local_metadata.get("version") or 1) < 2:
            for name in ("inner_blocks", "layer_blocks"):
                for place in range(len(self.inner_blocks)):
                    for kind in ("weight", "bias"):
                        former = f"{prefix}{name}.{place}.{kind}"
                        if former in state_dict:
                            state_dict[f"{prefix}{name}.{place}.0.{kind}"] = state_dict.pop(former)
        super()._load_from_state_dict(state_dict, prefix, local_metadata, *rest)

    def get_result_from_inner_blocks(self, x: Tensor, idx: int) -> Tensor:
        return self.inner_blocks[idx](x)

    def get_result_from_layer_blocks(self, x: Tensor, idx: int) -> Tensor:
        return self.layer_blocks[idx](x)

    def forward(self, x: Mapping[str, Tensor]) -> dict[str, Tensor]:
        names, maps = list(x), list(x.values())
        results: list[Tensor] = []
        seen: Tensor | None = None
        for place in reversed(range(len(maps))):
            own = self.get_result_from_inner_blocks(maps[place], place)
            seen = own if seen is None else own + F.interpolate(
                seen, size=own.shape[-2:], mode="nearest")
            results.insert(0, self.get_result_from_layer_blocks(seen, place))
        if self.extra_blocks is not None:
            results, names = self.extra_blocks(results, maps, names)
        return OrderedDict(zip(names, results))


class LastLevelMaxPool(ExtraFPNBlock):
    """Adds every other pixel of the last map, as "pool"."""

    def forward(
        self, x: list[Tensor], y: list[Tensor], names: list[str]
    ) -> tuple[list[Tensor], list[str]]:
        pooled = F.max_pool2d(x[-1], kernel_size=1, stride=2, padding=0)
        return [*x, pooled], [*names, "pool"]


class LastLevelP6P7(ExtraFPNBlock):
    """Adds two smaller maps, "p6" and "p7", by convolutions of the last."""

    def __init__(self, in_channels: int, out_channels: int) -> None:
        super().__init__()
        self.p6 = nn.Conv2d(in_channels, out_channels, 3, 2, 1)
        self.p7 = nn.Conv2d(out_channels, out_channels, 3, 2, 1)
        for each in (self.p6, self.p7):
            nn.init.kaiming_uniform_(each.weight, a=1)
            nn.init.constant_(each.bias, 0)
        self.use_P5 = in_channels == out_channels

    def forward(
        self, p: list[Tensor], c: list[Tensor], names: list[str]
    ) -> tuple[list[Tensor], list[str]]:
        p6 = self.p6(p[-1] if self.use_P5 else c[-1])
        return [*p, p6, self.p7(F.relu(p6))], [*names, "p6", "p7"]
