"""Swin Transformer, versions 1 and 2."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from ... import functional as ops
from ... import nn
from ..._tensor import Tensor
from ...core.dtypes import float32
from ...nn import functional as F
from ..ops.misc import MLP, Permute
from ..ops.stochastic_depth import StochasticDepth
from ._entries import classifier, entry
from ._windows import relative_places, shifted_window_attention

__all__ = [
    "SwinTransformer", "Swin_B_Weights", "Swin_S_Weights", "Swin_T_Weights",
    "Swin_V2_B_Weights", "Swin_V2_S_Weights", "Swin_V2_T_Weights", "swin_b", "swin_s", "swin_t",
    "swin_v2_b", "swin_v2_s", "swin_v2_t",
]

Layer = Callable[..., nn.Module]


def _patch_merging_pad(x: Tensor) -> Tensor:
    """[..., H, W, C] to [..., H/2, W/2, 4 C]: the four of each 2x2 patch, zeros beyond the rim."""
    height, width = x.shape[-3:-1]
    x = F.pad(x, (0, 0, 0, width % 2, 0, height % 2))
    return ops.cat([x[..., row::2, column::2, :] for column in (0, 1) for row in (0, 1)], -1)


class PatchMerging(nn.Module):
    """Half the height and width, twice the channels [..., dim]; normalised, then mapped."""

    def __init__(self, dim: int, norm_layer: Layer = nn.LayerNorm) -> None:
        super().__init__()
        self.dim = dim
        self.reduction = nn.Linear(4 * dim, 2 * dim, bias=False)
        self.norm = norm_layer(4 * dim)

    def forward(self, x: Tensor) -> Tensor:
        return self.reduction(self.norm(_patch_merging_pad(x)))


class PatchMergingV2(nn.Module):
    """`PatchMerging` that maps, then normalises."""

    def __init__(self, dim: int, norm_layer: Layer = nn.LayerNorm) -> None:
        super().__init__()
        self.dim = dim
        self.reduction = nn.Linear(4 * dim, 2 * dim, bias=False)
        self.norm = norm_layer(2 * dim)

    def forward(self, x: Tensor) -> Tensor:
        return self.norm(self.reduction(_patch_merging_pad(x)))


class ShiftedWindowAttention(nn.Module):
    """Attention inside windows of [N, H, W, dim], which `shift_size` moves.

    A learnt bias for each head says how two places of a window, by their distance, attend.
    Lists of another length than 2 are a ValueError.
    """

    relative_position_index: Tensor

    def __init__(
        self, dim: int, window_size: list[int], shift_size: list[int], num_heads: int,
        qkv_bias: bool = True, proj_bias: bool = True, attention_dropout: float = 0.0,
        dropout: float = 0.0,
    ) -> None:
        super().__init__()
        if len(window_size) != 2 or len(shift_size) != 2:
            raise ValueError("window_size and shift_size must be of length 2")
        self.window_size = window_size
        self.shift_size = shift_size
        self.num_heads = num_heads
        self.attention_dropout = attention_dropout
        self.dropout = dropout
        self.qkv = nn.Linear(dim, dim * 3, bias=qkv_bias)
        self.proj = nn.Linear(dim, dim, bias=proj_bias)
        self.define_relative_position_bias_table()
        self.define_relative_position_index()

    def define_relative_position_bias_table(self) -> None:
        height, width = self.window_size
        self.relative_position_bias_table = nn.Parameter(
            ops.zeros((2 * height - 1) * (2 * width - 1), self.num_heads))
        nn.init.trunc_normal_(self.relative_position_bias_table, std=0.02)

    def define_relative_position_index(self) -> None:
        self.register_buffer("relative_position_index",
                             relative_places(*self.window_size).flatten())

    def _bias_of(self, table: Tensor) -> Tensor:
        """[places, heads] to [1, heads, window, window]."""
        area = self.window_size[0] * self.window_size[1]
        bias = table[self.relative_position_index].view(area, area, -1)
        return bias.permute(2, 0, 1).contiguous().unsqueeze(0)

    def get_relative_position_bias(self) -> Tensor:
        return self._bias_of(self.relative_position_bias_table)

    def _attend(self, x: Tensor, logit_scale: Tensor | None) -> Tensor:
        return shifted_window_attention(
            x, self.qkv.weight, self.proj.weight, self.get_relative_position_bias(),
            self.window_size, self.num_heads, shift_size=self.shift_size,
            attention_dropout=self.attention_dropout, dropout=self.dropout,
            qkv_bias=self.qkv.bias, proj_bias=self.proj.bias, logit_scale=logit_scale,
            training=self.training)

    def forward(self, x: Tensor) -> Tensor:
        return self._attend(x, None)


class ShiftedWindowAttentionV2(ShiftedWindowAttention):
    """Attention by cosines, scaled for each head; the bias is a network's of the distance."""

    relative_coords_table: Tensor

    def __init__(
        self, dim: int, window_size: list[int], shift_size: list[int], num_heads: int,
        qkv_bias: bool = True, proj_bias: bool = True, attention_dropout: float = 0.0,
        dropout: float = 0.0,
    ) -> None:
        super().__init__(dim, window_size, shift_size, num_heads, qkv_bias, proj_bias,
                         attention_dropout, dropout)
        self.logit_scale = nn.Parameter(ops.log(10 * ops.ones(num_heads, 1, 1)))
        self.cpb_mlp = nn.Sequential(
            nn.Linear(2, 512, bias=True), nn.ReLU(inplace=True),
            nn.Linear(512, num_heads, bias=False))
        if qkv_bias:  # the keys have none
            self.qkv.bias.data.chunk(3)[1].zero_()

    def define_relative_position_bias_table(self) -> None:
        rows, columns = (
            ops.arange(1 - size, size, dtype=float32) / (size - 1) * 8
            for size in self.window_size)
        table = ops.stack(ops.meshgrid([rows, columns], indexing="ij"), dim=-1).unsqueeze(0)
        table = ops.sign(table) * ops.log2(ops.abs(table) + 1.0) / 3.0
        self.register_buffer("relative_coords_table", table)

    def get_relative_position_bias(self) -> Tensor:
        table = self.cpb_mlp(self.relative_coords_table).view(-1, self.num_heads)
        return 16 * ops.sigmoid(self._bias_of(table))

    def forward(self, x: Tensor) -> Tensor:
        return self._attend(x, self.logit_scale)


class SwinTransformerBlock(nn.Module):
    """Attention in windows and two linear layers, each normalised before, beside its input."""

    def __init__(
        self, dim: int, num_heads: int, window_size: list[int], shift_size: list[int],
        mlp_ratio: float = 4.0, dropout: float = 0.0, attention_dropout: float = 0.0,
        stochastic_depth_prob: float = 0.0, norm_layer: Layer = nn.LayerNorm,
        attn_layer: Layer = ShiftedWindowAttention,
    ) -> None:
        super().__init__()
        self.norm1 = norm_layer(dim)
        self.attn = attn_layer(dim, window_size, shift_size, num_heads,
                               attention_dropout=attention_dropout, dropout=dropout)
        self.stochastic_depth = StochasticDepth(stochastic_depth_prob, "row")
        self.norm2 = norm_layer(dim)
        self.mlp = MLP(dim, [int(dim * mlp_ratio), dim], activation_layer=nn.GELU, inplace=None,
                       dropout=dropout)
        for each in self.mlp.modules():
            if isinstance(each, nn.Linear):
                nn.init.xavier_uniform_(each.weight)
                if each.bias is not None:
                    nn.init.normal_(each.bias, std=1e-6)

    def forward(self, x: Tensor) -> Tensor:
        x = x + self.stochastic_depth(self.attn(self.norm1(x)))
        return x + self.stochastic_depth(self.mlp(self.norm2(x)))


class SwinTransformerBlockV2(SwinTransformerBlock):
    """`SwinTransformerBlock` that normalises after."""

    def __init__(
        self, dim: int, num_heads: int, window_size: list[int], shift_size: list[int],
        mlp_ratio: float = 4.0, dropout: float = 0.0, attention_dropout: float = 0.0,
        stochastic_depth_prob: float = 0.0, norm_layer: Layer = nn.LayerNorm,
        attn_layer: Layer = ShiftedWindowAttentionV2,
    ) -> None:
        super().__init__(dim, num_heads, window_size, shift_size, mlp_ratio, dropout,
                         attention_dropout, stochastic_depth_prob, norm_layer, attn_layer)

    def forward(self, x: Tensor) -> Tensor:
        x = x + self.stochastic_depth(self.norm1(self.attn(x)))
        return x + self.stochastic_depth(self.norm2(self.mlp(x)))


class SwinTransformer(nn.Module):
    """Stages of attention in windows, twice as wide each: [N, 3, H, W] to logits.

    Args:
        patch_size, window_size: height and width.
        depths, num_heads: of each stage.
        stochastic_depth_prob: of the last block, of earlier ones in proportion.
        block, downsample_layer: the classes; those of version 2 end in V2.
    """

    def __init__(
        self, patch_size: list[int], embed_dim: int, depths: list[int], num_heads: list[int],
        window_size: list[int], mlp_ratio: float = 4.0, dropout: float = 0.0,
        attention_dropout: float = 0.0, stochastic_depth_prob: float = 0.1,
        num_classes: int = 1000, norm_layer: Layer | None = None, block: Layer | None = None,
        downsample_layer: Layer = PatchMerging,
    ) -> None:
        super().__init__()
        self.num_classes = num_classes
        make = block or SwinTransformerBlock
        norm = norm_layer or partial(nn.LayerNorm, eps=1e-5)
        patch = (patch_size[0], patch_size[1])
        layers: list[nn.Module] = [nn.Sequential(
            nn.Conv2d(3, embed_dim, kernel_size=patch, stride=patch), Permute([0, 2, 3, 1]),
            norm(embed_dim))]
        total, place, width = sum(depths), 0, embed_dim
        for stage, (depth, heads) in enumerate(zip(depths, num_heads)):
            if stage:
                layers.append(downsample_layer(width, norm))
                width *= 2
            blocks = []
            for turn in range(depth):
                shift = [size // 2 if turn % 2 else 0 for size in window_size]
                blocks.append(make(
                    width, heads, window_size=window_size, shift_size=shift,
                    mlp_ratio=mlp_ratio, dropout=dropout, attention_dropout=attention_dropout,
                    stochastic_depth_prob=stochastic_depth_prob * float(place) / (total - 1),
                    norm_layer=norm))
                place += 1
            layers.append(nn.Sequential(*blocks))
        self.features = nn.Sequential(*layers)
        self.norm = norm(width)
        self.permute = Permute([0, 3, 1, 2])
        self.avgpool = nn.AdaptiveAvgPool2d(1)
        self.flatten = nn.Flatten(1)
        self.head = nn.Linear(width, num_classes)
        for each in self.modules():
            if isinstance(each, nn.Linear):
                nn.init.trunc_normal_(each.weight, std=0.02)
                if each.bias is not None:
                    nn.init.zeros_(each.bias)

    def forward(self, x: Tensor) -> Tensor:
        x = self.permute(self.norm(self.features(x)))
        return self.head(self.flatten(self.avgpool(x)))


def _entry(enum: str, width: int, depth: int, drop: float) -> Any:
    """All have blocks 2, 2, depth, 2 and heads of 32 channels."""
    name = enum.removesuffix("_Weights").lower()
    second = {"block": SwinTransformerBlockV2, "downsample_layer": PatchMergingV2}
    window = 8 if "V2" in enum else 7
    heads = [width // 32 * times for times in (1, 2, 4, 8)]
    return entry(__name__, partial(classifier, SwinTransformer), enum, name, [4, 4], width,
                 [2, 2, depth, 2], heads, [window, window], stochastic_depth_prob=drop,
                 **(second if "V2" in enum else {}))


Swin_T_Weights, swin_t = _entry("Swin_T_Weights", 96, 6, 0.2)
Swin_S_Weights, swin_s = _entry("Swin_S_Weights", 96, 18, 0.3)
Swin_B_Weights, swin_b = _entry("Swin_B_Weights", 128, 18, 0.5)
Swin_V2_T_Weights, swin_v2_t = _entry("Swin_V2_T_Weights", 96, 6, 0.2)
Swin_V2_S_Weights, swin_v2_s = _entry("Swin_V2_S_Weights", 96, 18, 0.3)
Swin_V2_B_Weights, swin_v2_b = _entry("Swin_V2_B_Weights", 128, 18, 0.5)
