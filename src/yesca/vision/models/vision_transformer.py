"""Vision Transformer."""

from __future__ import annotations

import math
from collections import OrderedDict
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, NamedTuple

from ... import functional as ops
from ... import nn
from ..._tensor import Tensor
from ...nn import functional as F
from ..ops.misc import MLP, Conv2dNormActivation
from ._api import WeightsEnum
from ._entries import classifier, entry
from ._utils import _ovewrite_named_param

__all__ = [
    "ViT_B_16_Weights", "ViT_B_32_Weights", "ViT_H_14_Weights", "ViT_L_16_Weights",
    "ViT_L_32_Weights", "VisionTransformer", "vit_b_16", "vit_b_32", "vit_h_14", "vit_l_16",
    "vit_l_32",
]

Layer = Callable[..., nn.Module]
_NORM = partial(nn.LayerNorm, eps=1e-6)


def _check(holds: bool, text: str) -> None:
    if not holds:
        raise AssertionError(text)


class ConvStemConfig(NamedTuple):
    """A convolution before the patches."""

    out_channels: int
    kernel_size: int
    stride: int
    norm_layer: Layer = nn.BatchNorm2d
    activation_layer: Layer = nn.ReLU


class MLPBlock(MLP):
    """The two linear layers of a block; states of the first version had other names."""

    _version = 2

    def __init__(self, in_dim: int, mlp_dim: int, dropout: float) -> None:
        super().__init__(in_dim, [mlp_dim, in_dim], activation_layer=nn.GELU, inplace=None,
                         dropout=dropout)
        for each in self.modules():
            if isinstance(each, nn.Linear):
                nn.init.xavier_uniform_(each.weight)
                if each.bias is not None:
                    nn.init.normal_(each.bias, std=1e-6)

    def _load_from_state_dict(
        self, state_dict: Any, prefix: str, local_metadata: Any, *rest: Any
    ) -> None:
        if (local_metadata.get("version") or 1) < 2:
            for layer, place in (("linear_1", 0), ("linear_2", 3)):
                for kind in ("weight", "bias"):
                    former = f"{prefix}{layer}.{kind}"
                    if former in state_dict:
                        state_dict[f"{prefix}{place}.{kind}"] = state_dict.pop(former)
        super()._load_from_state_dict(state_dict, prefix, local_metadata, *rest)


class EncoderBlock(nn.Module):
    """Attention and two linear layers, each normalised before and beside its input."""

    def __init__(
        self, num_heads: int, hidden_dim: int, mlp_dim: int, dropout: float,
        attention_dropout: float, norm_layer: Layer = _NORM,
    ) -> None:
        super().__init__()
        self.num_heads = num_heads
        self.ln_1 = norm_layer(hidden_dim)
        self.self_attention = nn.MultiheadAttention(
            hidden_dim, num_heads, dropout=attention_dropout, batch_first=True)
        self.dropout = nn.Dropout(dropout)
        self.ln_2 = norm_layer(hidden_dim)
        self.mlp = MLPBlock(hidden_dim, mlp_dim, dropout)

    def forward(self, input: Tensor) -> Tensor:
        _check(input.dim() == 3,
               f"Expected (batch_size, seq_length, hidden_dim) got {input.shape}")
        x = self.ln_1(input)
        x, _ = self.self_attention(x, x, x, need_weights=False)
        x = self.dropout(x) + input
        return x + self.mlp(self.ln_2(x))


class Encoder(nn.Module):
    """Blocks over a sequence [N, seq_length, hidden_dim] with learnt places."""

    def __init__(
        self, seq_length: int, num_layers: int, num_heads: int, hidden_dim: int, mlp_dim: int,
        dropout: float, attention_dropout: float, norm_layer: Layer = _NORM,
    ) -> None:
        super().__init__()
        places = ops.empty(1, seq_length, hidden_dim).normal_(std=0.02)
        self.pos_embedding = nn.Parameter(places)
        self.dropout = nn.Dropout(dropout)
        self.layers = nn.Sequential(OrderedDict(
            (f"encoder_layer_{place}", EncoderBlock(
                num_heads, hidden_dim, mlp_dim, dropout, attention_dropout, norm_layer))
            for place in range(num_layers)))
        self.ln = norm_layer(hidden_dim)

    def forward(self, input: Tensor) -> Tensor:
        _check(input.dim() == 3,
               f"Expected (batch_size, seq_length, hidden_dim) got {input.shape}")
        return self.ln(self.layers(self.dropout(input + self.pos_embedding)))


class VisionTransformer(nn.Module):
    """A transformer over patches: [N, 3, image_size, image_size] to logits [N, num_classes].

    Args:
        image_size, patch_size: in pixels; the second divides the first.
        representation_size: width of a layer before the last, with tanh; None leaves it out.
        conv_stem_configs: convolutions (`ConvStemConfig`) that make the patches, which otherwise
            are cut and mapped linearly.

    Raises:
        AssertionError: sizes that do not divide, or an image of another size.
    """

    def __init__(
        self, image_size: int, patch_size: int, num_layers: int, num_heads: int, hidden_dim: int,
        mlp_dim: int, dropout: float = 0.0, attention_dropout: float = 0.0,
        num_classes: int = 1000, representation_size: int | None = None,
        norm_layer: Layer = _NORM, conv_stem_configs: list[ConvStemConfig] | None = None,
    ) -> None:
        super().__init__()
        _check(image_size % patch_size == 0, "Input shape indivisible by patch size!")
        self.image_size = image_size
        self.patch_size = patch_size
        self.hidden_dim = hidden_dim
        self.mlp_dim = mlp_dim
        self.attention_dropout = attention_dropout
        self.dropout = dropout
        self.num_classes = num_classes
        self.representation_size = representation_size
        self.norm_layer = norm_layer
        self.conv_proj = self._projection(conv_stem_configs)
        self.class_token = nn.Parameter(ops.zeros(1, 1, hidden_dim))
        self.seq_length = (image_size // patch_size) ** 2 + 1
        self.encoder = Encoder(self.seq_length, num_layers, num_heads, hidden_dim, mlp_dim,
                               dropout, attention_dropout, norm_layer)
        heads: dict[str, nn.Module] = OrderedDict()
        if representation_size is not None:
            heads["pre_logits"] = nn.Linear(hidden_dim, representation_size)
            heads["act"] = nn.Tanh()
        heads["head"] = nn.Linear(representation_size or hidden_dim, num_classes)
        self.heads = nn.Sequential(heads)
        self._start()

    def _projection(self, stem: list[ConvStemConfig] | None) -> nn.Module:
        if stem is None:
            return nn.Conv2d(3, self.hidden_dim, self.patch_size, self.patch_size)
        layers: dict[str, nn.Module] = OrderedDict()
        width = 3
        for place, each in enumerate(stem):
            layers[f"conv_bn_relu_{place}"] = Conv2dNormActivation(
                width, each.out_channels, each.kernel_size, each.stride,
                norm_layer=each.norm_layer, activation_layer=each.activation_layer)
            width = each.out_channels
        layers["conv_last"] = nn.Conv2d(width, self.hidden_dim, kernel_size=1)
        return nn.Sequential(layers)

    def _start(self) -> None:
        first: Any = self.conv_proj
        if isinstance(first, nn.Conv2d):
            fan_in = first.in_channels * first.kernel_size[0] * first.kernel_size[1]
            nn.init.trunc_normal_(first.weight, std=math.sqrt(1 / fan_in))
        else:
            first = first.conv_last
            nn.init.normal_(first.weight, mean=0.0, std=math.sqrt(2.0 / first.out_channels))
        nn.init.zeros_(first.bias)
        if self.representation_size is not None:
            inner: Any = self.heads.pre_logits
            nn.init.trunc_normal_(inner.weight, std=math.sqrt(1 / inner.in_features))
            nn.init.zeros_(inner.bias)
        last: Any = self.heads.head
        nn.init.zeros_(last.weight)
        nn.init.zeros_(last.bias)

    def _process_input(self, x: Tensor) -> Tensor:
        count, _, height, width = x.shape
        size = self.image_size
        _check(height == size, f"Wrong image height! Expected {size} but got {height}!")
        _check(width == size, f"Wrong image width! Expected {size} but got {width}!")
        return self.conv_proj(x).reshape(count, self.hidden_dim, -1).permute(0, 2, 1)

    def forward(self, x: Tensor) -> Tensor:
        x = self._process_input(x)
        x = ops.cat([self.class_token.expand(x.shape[0], -1, -1), x], dim=1)
        return self.heads(self.encoder(x)[:, 0])


def _vision_transformer(
    patch_size: int, num_layers: int, num_heads: int, hidden_dim: int, mlp_dim: int, *,
    weights: WeightsEnum | None, progress: bool, **kwargs: Any,
) -> nn.Module:
    if weights is not None:
        _ovewrite_named_param(kwargs, "image_size", weights.meta["min_size"][0])
    image_size = kwargs.pop("image_size", 224)
    return classifier(
        VisionTransformer, image_size, patch_size, num_layers, num_heads, hidden_dim, mlp_dim,
        weights=weights, progress=progress, **kwargs)


_entry: Any = partial(entry, __name__, _vision_transformer)

ViT_B_16_Weights, vit_b_16 = _entry("ViT_B_16_Weights", "vit_b_16", 16, 12, 12, 768, 3072)
ViT_B_32_Weights, vit_b_32 = _entry("ViT_B_32_Weights", "vit_b_32", 32, 12, 12, 768, 3072)
ViT_L_16_Weights, vit_l_16 = _entry("ViT_L_16_Weights", "vit_l_16", 16, 24, 16, 1024, 4096)
ViT_L_32_Weights, vit_l_32 = _entry("ViT_L_32_Weights", "vit_l_32", 32, 24, 16, 1024, 4096)
ViT_H_14_Weights, vit_h_14 = _entry("ViT_H_14_Weights", "vit_h_14", 14, 32, 16, 1280, 5120)


def interpolate_embeddings(
    image_size: int, patch_size: int, model_state: Mapping[str, Tensor],
    interpolation_mode: str = "bicubic", reset_heads: bool = False,
) -> Mapping[str, Tensor]:
    """A state whose places fit another size of images.

    Args:
        model_state: is changed, and returned unless `reset_heads` leaves out the heads.
        interpolation_mode: of `torch.nn.functional.interpolate`.

    Raises:
        ValueError: places that are no square of patches and a class token.
    """
    state: Any = model_state
    places = state["encoder.pos_embedding"]
    count, length, width = places.shape
    if count != 1:
        raise ValueError(f"Unexpected position embedding shape: {places.shape}")
    side = image_size // patch_size
    if side**2 + 1 == length:
        return state
    former = math.isqrt(length - 1)
    if former**2 != length - 1:
        raise ValueError(
            "seq_length is not a perfect square! Instead got seq_length_1d * seq_length_1d = "
            f"{former**2} and seq_length = {length - 1}")
    image = places[:, 1:].permute(0, 2, 1).reshape(1, width, former, former)
    image = F.interpolate(image, size=side, mode=interpolation_mode, align_corners=True)
    image = image.reshape(1, width, side**2).permute(0, 2, 1)
    state["encoder.pos_embedding"] = ops.cat([places[:, :1], image], dim=1)
    if reset_heads:
        state = OrderedDict((k, x) for k, x in state.items() if not k.startswith("heads"))
    return state
