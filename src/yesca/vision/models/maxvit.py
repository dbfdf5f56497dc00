"""MaxViT."""

from __future__ import annotations

import math
from collections import OrderedDict
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from ... import functional as ops
from ... import nn
from ..._tensor import Tensor
from ...core.dtypes import float32
from ...nn import functional as F
from ..ops.misc import Conv2dNormActivation, SqueezeExcitation
from ..ops.stochastic_depth import StochasticDepth
from ._api import WeightsEnum
from ._entries import classifier, entry
from ._utils import _ovewrite_named_param
from ._windows import relative_places

__all__ = ["MaxVit", "MaxVit_T_Weights", "maxvit_t"]

Layer = Callable[..., nn.Module]
Size = tuple[int, int]


def _get_conv_output_shape(input_size: Size, kernel_size: int, stride: int, padding: int) -> Size:
    height, width = ((size - kernel_size + 2 * padding) // stride + 1 for size in input_size)
    return height, width


def _make_block_input_shapes(input_size: Size, n_blocks: int) -> list[Size]:
    """The size of the images in each block, after the stem's halving."""
    sizes = [_get_conv_output_shape(input_size, 3, 2, 1)]
    for _ in range(n_blocks):
        sizes.append(_get_conv_output_shape(sizes[-1], 3, 2, 1))
    return sizes[1:]


class MBConv(nn.Module):
    """Normalised, wider, in each channel by itself, weighted channels, narrower; beside the input.

    The input is averaged and projected where the shapes differ.
    """

    def __init__(
        self, in_channels: int, out_channels: int, expansion_ratio: float, squeeze_ratio: float,
        stride: int, activation_layer: Layer, norm_layer: Layer,
        p_stochastic_dropout: float = 0.0,
    ) -> None:
        super().__init__()
        self.proj: nn.Module = nn.Identity()
        if stride != 1 or in_channels != out_channels:
            project = nn.Conv2d(in_channels, out_channels, kernel_size=1, stride=1, bias=True)
            halve = [nn.AvgPool2d(kernel_size=3, stride=stride, padding=1)] if stride == 2 else []
            self.proj = nn.Sequential(*halve, project)
        wide, narrow = int(out_channels * expansion_ratio), int(out_channels * squeeze_ratio)
        self.stochastic_depth: nn.Module = (
            StochasticDepth(p_stochastic_dropout, mode="row") if p_stochastic_dropout
            else nn.Identity())
        conv = partial(Conv2dNormActivation, activation_layer=activation_layer,
                       norm_layer=norm_layer, inplace=None)
        self.layers = nn.Sequential(OrderedDict(
            pre_norm=norm_layer(in_channels),
            conv_a=conv(in_channels, wide, kernel_size=1, stride=1, padding=0),
            conv_b=conv(wide, wide, kernel_size=3, stride=stride, padding=1, groups=wide),
            squeeze_excitation=SqueezeExcitation(wide, narrow, activation=nn.SiLU),
            conv_c=nn.Conv2d(wide, out_channels, kernel_size=1, bias=True)))

    def forward(self, x: Tensor) -> Tensor:
        return self.proj(x) + self.stochastic_depth(self.layers(x))


class RelativePositionalMultiHeadAttention(nn.Module):
    """Attention over [N, G, P, feat_dim] inside each of G groups, biased by distance.

    Channels that are no multiple of `head_dim` are a ValueError.
    """

    relative_position_index: Tensor

    def __init__(self, feat_dim: int, head_dim: int, max_seq_len: int) -> None:
        super().__init__()
        if feat_dim % head_dim != 0:
            raise ValueError(f"feat_dim: {feat_dim} must be divisible by head_dim: {head_dim}")
        self.n_heads = feat_dim // head_dim
        self.head_dim = head_dim
        self.size = int(math.sqrt(max_seq_len))
        self.max_seq_len = max_seq_len
        self.to_qkv = nn.Linear(feat_dim, self.n_heads * head_dim * 3)
        self.scale_factor = feat_dim**-0.5
        self.merge = nn.Linear(head_dim * self.n_heads, feat_dim)
        self.relative_position_bias_table = nn.Parameter(
            ops.empty((2 * self.size - 1) ** 2, self.n_heads, dtype=float32))
        self.register_buffer("relative_position_index", relative_places(self.size, self.size))
        nn.init.trunc_normal_(self.relative_position_bias_table, std=0.02)

    def get_relative_positional_bias(self) -> Tensor:
        bias = self.relative_position_bias_table[self.relative_position_index.view(-1)]
        bias = bias.view(self.max_seq_len, self.max_seq_len, -1)
        return bias.permute(2, 0, 1).contiguous().unsqueeze(0)

    def forward(self, x: Tensor) -> Tensor:
        count, groups, places, channels = x.shape
        q, k, v = (
            each.reshape(count, groups, places, self.n_heads, self.head_dim).transpose(2, 3)
            for each in self.to_qkv(x).chunk(3, dim=-1))
        weights = q @ (k * self.scale_factor).transpose(-2, -1)
        weights = F.softmax(weights + self.get_relative_positional_bias(), dim=-1)
        return self.merge((weights @ v).transpose(2, 3).reshape(count, groups, places, channels))


class SwapAxes(nn.Module):
    def __init__(self, a: int, b: int) -> None:
        super().__init__()
        self.a = a
        self.b = b

    def forward(self, x: Tensor) -> Tensor:
        return x.swapaxes(self.a, self.b)


class WindowPartition(nn.Module):
    """[N, C, H, W] to [N, windows, p * p, C]."""

    def forward(self, x: Tensor, p: int) -> Tensor:
        count, channels, height, width = x.shape
        x = x.reshape(count, channels, height // p, p, width // p, p).permute(0, 2, 4, 3, 5, 1)
        return x.reshape(count, (height // p) * (width // p), p * p, channels)


class WindowDepartition(nn.Module):
    """The inverse of `WindowPartition`."""

    def forward(self, x: Tensor, p: int, h_partitions: int, w_partitions: int) -> Tensor:
        count, _, _, channels = x.shape
        x = x.reshape(count, h_partitions, w_partitions, p, p, channels)
        x = x.permute(0, 5, 1, 3, 2, 4)
        return x.reshape(count, channels, h_partitions * p, w_partitions * p)


class PartitionAttentionLayer(nn.Module):
    """Attention among the places of a window, or ("grid") among places as far apart as windows."""

    def __init__(
        self, in_channels: int, head_dim: int, partition_size: int, partition_type: str,
        grid_size: Size, mlp_ratio: int, activation_layer: Layer, norm_layer: Layer,
        attention_dropout: float, mlp_dropout: float, p_stochastic_dropout: float,
    ) -> None:
        super().__init__()
        self.n_heads = in_channels // head_dim
        self.head_dim = head_dim
        self.n_partitions = grid_size[0] // partition_size
        self.partition_type = partition_type
        self.grid_size = grid_size
        if partition_type not in ("grid", "window"):
            raise ValueError("partition_type must be either 'grid' or 'window'")
        grid = partition_type == "grid"
        self.p, self.g = partition_size, self.n_partitions
        if grid:
            self.p, self.g = self.g, self.p
        self.partition_op = WindowPartition()
        self.departition_op = WindowDepartition()
        self.partition_swap: nn.Module = SwapAxes(-2, -3) if grid else nn.Identity()
        self.departition_swap: nn.Module = SwapAxes(-2, -3) if grid else nn.Identity()
        self.attn_layer = nn.Sequential(
            norm_layer(in_channels),
            RelativePositionalMultiHeadAttention(in_channels, head_dim, partition_size**2),
            nn.Dropout(attention_dropout))
        self.mlp_layer = nn.Sequential(
            nn.LayerNorm(in_channels), nn.Linear(in_channels, in_channels * mlp_ratio),
            activation_layer(), nn.Linear(in_channels * mlp_ratio, in_channels),
            nn.Dropout(mlp_dropout))
        self.stochastic_dropout = StochasticDepth(p_stochastic_dropout, mode="row")

    def forward(self, x: Tensor) -> Tensor:
        if any(size % self.p for size in self.grid_size):
            raise AssertionError(
                f"Grid size must be divisible by partition size. Got grid size of "
                f"{self.grid_size} and partition size of {self.p}")
        rows, columns = (size // self.p for size in self.grid_size)
        x = self.partition_swap(self.partition_op(x, self.p))
        x = x + self.stochastic_dropout(self.attn_layer(x))
        x = x + self.stochastic_dropout(self.mlp_layer(x))
        return self.departition_op(self.departition_swap(x), self.p, rows, columns)


class MaxVitLayer(nn.Module):
    """`MBConv`, then attention in windows, then in grids."""

    def __init__(
        self, in_channels: int, out_channels: int, squeeze_ratio: float, expansion_ratio: float,
        stride: int, norm_layer: Layer, activation_layer: Layer, head_dim: int, mlp_ratio: int,
        mlp_dropout: float, attention_dropout: float, p_stochastic_dropout: float,
        partition_size: int, grid_size: Size,
    ) -> None:
        super().__init__()
        layers: dict[str, nn.Module] = OrderedDict()
        layers["MBconv"] = MBConv(
            in_channels, out_channels, expansion_ratio, squeeze_ratio, stride, activation_layer,
            norm_layer, p_stochastic_dropout)
        for kind in ("window", "grid"):
            layers[f"{kind}_attention"] = PartitionAttentionLayer(
                out_channels, head_dim, partition_size, kind, grid_size, mlp_ratio,
                activation_layer, nn.LayerNorm, attention_dropout, mlp_dropout,
                p_stochastic_dropout)
        self.layers = nn.Sequential(layers)

    def forward(self, x: Tensor) -> Tensor:
        return self.layers(x)


class MaxVitBlock(nn.Module):
    """Layers of one width, the first of which halves the image; `p_stochastic` has their depths."""

    def __init__(
        self, in_channels: int, out_channels: int, squeeze_ratio: float, expansion_ratio: float,
        norm_layer: Layer, activation_layer: Layer, head_dim: int, mlp_ratio: int,
        mlp_dropout: float, attention_dropout: float, partition_size: int, input_grid_size: Size,
        n_layers: int, p_stochastic: list[float],
    ) -> None:
        super().__init__()
        if len(p_stochastic) != n_layers:
            raise ValueError(f"p_stochastic must have length n_layers={n_layers}, got "
                             f"p_stochastic={p_stochastic}.")
        self.grid_size = _get_conv_output_shape(input_grid_size, 3, 2, 1)
        self.layers = nn.ModuleList(
            MaxVitLayer(
                out_channels if place else in_channels, out_channels, squeeze_ratio,
                expansion_ratio, 1 if place else 2, norm_layer, activation_layer, head_dim,
                mlp_ratio, mlp_dropout, attention_dropout, p, partition_size, self.grid_size)
            for place, p in enumerate(p_stochastic))

    def forward(self, x: Tensor) -> Tensor:
        for layer in self.layers:
            x = layer(x)
        return x


class MaxVit(nn.Module):
    """Convolutions and two kinds of attention: [N, 3, *input_size] to logits [N, num_classes].

    A size whose halves are no multiples of `partition_size` is a ValueError.
    """

    def __init__(
        self, input_size: Size, stem_channels: int, partition_size: int,
        block_channels: list[int], block_layers: list[int], head_dim: int,
        stochastic_depth_prob: float, norm_layer: Layer | None = None,
        activation_layer: Layer = nn.GELU, squeeze_ratio: float = 0.25,
        expansion_ratio: float = 4, mlp_ratio: int = 4, mlp_dropout: float = 0.0,
        attention_dropout: float = 0.0, num_classes: int = 1000,
    ) -> None:
        super().__init__()
        norm = norm_layer or partial(nn.BatchNorm2d, eps=1e-3, momentum=0.01)
        self._check_sizes(input_size, len(block_channels), partition_size)
        self.stem = nn.Sequential(
            Conv2dNormActivation(
                3, stem_channels, 3, stride=2, norm_layer=norm,
                activation_layer=activation_layer, bias=False, inplace=None),
            Conv2dNormActivation(
                stem_channels, stem_channels, 3, stride=1, norm_layer=None,
                activation_layer=None, bias=True))
        size = _get_conv_output_shape(input_size, 3, 2, 1)
        self.partition_size = partition_size
        depths = iter(_spaced(stochastic_depth_prob, sum(block_layers)))
        self.blocks = nn.ModuleList()
        width = stem_channels
        for outer, count in zip(block_channels, block_layers):
            block = MaxVitBlock(
                width, outer, squeeze_ratio, expansion_ratio, norm, activation_layer, head_dim,
                mlp_ratio, mlp_dropout, attention_dropout, partition_size, size, count,
                [next(depths) for _ in range(count)])
            self.blocks.append(block)
            width, size = outer, block.grid_size
        self.classifier = nn.Sequential(
            nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.LayerNorm(width), nn.Linear(width, width),
            nn.Tanh(), nn.Linear(width, num_classes, bias=False))
        self._init_weights()

    @staticmethod
    def _check_sizes(input_size: Size, count: int, partition: int) -> None:
        sizes = _make_block_input_shapes(input_size, count)
        for place, size in enumerate(sizes):
            if size[0] % partition or size[1] % partition:
                raise ValueError(
                    f"Input size {size} of block {place} is not divisible by partition size "
                    f"{partition}. Consider changing the partition size or the input size.\n"
                    f"Current configuration yields the following block input sizes: {sizes}.")

    def forward(self, x: Tensor) -> Tensor:
        x = self.stem(x)
        for block in self.blocks:
            x = block(x)
        return self.classifier(x)

    def _init_weights(self) -> None:
        for each in self.modules():
            if isinstance(each, (nn.Conv2d, nn.Linear)):
                nn.init.normal_(each.weight, std=0.02)
                if each.bias is not None:
                    nn.init.zeros_(each.bias)
            elif isinstance(each, nn.BatchNorm2d):
                nn.init.constant_(each.weight, 1)
                nn.init.constant_(each.bias, 0)


def _spaced(end: float, count: int) -> Sequence[float]:
    """From 0 to `end` in even steps."""
    return [end / (count - 1) * place for place in range(count - 1)] + [end] if count > 1 else [0.0]


def _maxvit(
    stem_channels: int, block_channels: list[int], block_layers: list[int], partition_size: int,
    head_dim: int, *, weights: WeightsEnum | None, progress: bool, **kwargs: Any,
) -> nn.Module:
    if weights is not None:
        _ovewrite_named_param(kwargs, "input_size", weights.meta["min_size"])
    input_size = kwargs.pop("input_size", (224, 224))
    return classifier(
        MaxVit, input_size, stem_channels, partition_size, block_channels, block_layers, head_dim,
        weights=weights, progress=progress, **kwargs)


MaxVit_T_Weights, maxvit_t = entry(
    __name__, _maxvit, "MaxVit_T_Weights", "maxvit_t", 64, [64, 128, 256, 512], [2, 2, 5, 2], 7,
    32, stochastic_depth_prob=0.2)
