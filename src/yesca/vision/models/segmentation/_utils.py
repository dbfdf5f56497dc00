"""What the models of segmentation share."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Mapping
from typing import Any

from .... import nn
from ...._tensor import Tensor
from ....nn.functional import interpolate
from .._api import get_model_weights
from .._entries import load, published, weights_enum
from .._utils import IntermediateLayerGetter, _ovewrite_value_param

RESNET = {"replace_stride_with_dilation": [False, True, True]}
MOBILENET = {"dilated": True}


def resized(x: Tensor, like: Tensor) -> Tensor:
    """[N, C, h, w] at the height and width of `like`."""
    return interpolate(x, size=like.shape[-2:], mode="bilinear", align_corners=False)


class _SimpleSegmentationModel(nn.Module):
    """Images [N, 3, H, W] to `{"out": [N, num_classes, H, W]}`, and "aux" with a second head."""

    __constants__ = ["aux_classifier"]

    def __init__(
        self, backbone: nn.Module, classifier: nn.Module, aux_classifier: nn.Module | None = None
    ) -> None:
        super().__init__()
        self.backbone = backbone
        self.classifier = classifier
        self.aux_classifier = aux_classifier

    def forward(self, x: Tensor) -> dict[str, Tensor]:
        features = self.backbone(x)
        result = OrderedDict(out=resized(self.classifier(features["out"]), x))
        if self.aux_classifier is not None:
            result["aux"] = resized(self.aux_classifier(features["aux"]), x)
        return result


class FCNHead(nn.Sequential):
    """A 3x3 convolution to a quarter of the channels, and one to the classes."""

    def __init__(self, in_channels: int, channels: int) -> None:
        inner = in_channels // 4
        super().__init__(
            nn.Conv2d(in_channels, inner, 3, padding=1, bias=False), nn.BatchNorm2d(inner),
            nn.ReLU(), nn.Dropout(0.1), nn.Conv2d(inner, channels, 1))


def body(model: Any, outer: str, inner: str | None) -> tuple[nn.Module, int, int]:
    """The layers that heads read, and their widths: the last one, and one of larger images.

    A ResNet's are its last two stages; a MobileNet's its last layer, and what comes before its
    third image from the end is halved.
    """
    if isinstance(model, nn.Module) and hasattr(model, "layer4"):
        last, early = "layer4", "layer3"
        widths = model.fc.in_features, model.fc.in_features // 2
    else:
        model = model.features
        halving = [place for place, each in enumerate(model) if getattr(each, "_is_cn", False)]
        places = [0, *halving, len(model) - 1]
        last, early = str(places[-1]), str(places[-4])
        widths = model[places[-1]].out_channels, model[places[-4]].out_channels
    layers = {last: outer} if inner is None else {last: outer, early: inner}
    return IntermediateLayerGetter(model, layers), *widths


def segmenter(
    module: str, enum_name: str, name: str, backbone: Callable[..., Any],
    make: Callable[[Any, int, bool | None], nn.Module], settings: Mapping[str, Any],
    auxiliary: bool = True,
) -> tuple[Any, Any]:
    """The weights and the function of a model; `make` takes the backbone, classes and `aux_loss`.

    `settings` are the backbone's; a model that is not `auxiliary` has no second head.
    """
    enum, inner = weights_enum(enum_name, module), get_model_weights(backbone)

    def finish(weights: Any, progress: bool, classes: int | None, aux: bool | None,
               weights_backbone: Any) -> nn.Module:
        weights, below = enum.verify(weights), inner.verify(weights_backbone)
        if weights is not None:
            below = None
            count = len(weights.meta["categories"])
            classes = _ovewrite_value_param("num_classes", classes, count)
            aux = _ovewrite_value_param("aux_loss", aux, True) if auxiliary else None
        model = make(backbone(weights=below, **settings), 21 if classes is None else classes, aux)
        return load(model, weights, progress)

    def with_aux(
        *, weights: Any = None, progress: bool = True, num_classes: int | None = None,
        aux_loss: bool | None = None, weights_backbone: Any = inner["IMAGENET1K_V1"],
        **kwargs: Any,
    ) -> nn.Module:
        return finish(weights, progress, num_classes, aux_loss, weights_backbone)

    def without_aux(
        *, weights: Any = None, progress: bool = True, num_classes: int | None = None,
        weights_backbone: Any = inner["IMAGENET1K_V1"], **kwargs: Any,
    ) -> nn.Module:
        if kwargs.pop("aux_loss", False):
            raise NotImplementedError("This model does not use auxiliary loss")
        return finish(weights, progress, num_classes, None, weights_backbone)

    return enum, published(
        with_aux if auxiliary else without_aux, name,
        {"weights": (enum, "COCO_WITH_VOC_LABELS_V1"),
         "weights_backbone": (inner, "IMAGENET1K_V1")},
        {"weights": "pretrained", "weights_backbone": "pretrained_backbone"})
