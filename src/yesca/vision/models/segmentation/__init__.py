"""`torchvision.models.segmentation`: a class for each pixel.

>>> from yesca.vision.models import segmentation
>>> model = segmentation.lraspp_mobilenet_v3_large(weights_backbone=None, num_classes=4).eval()
>>> model(torch.zeros(1, 3, 64, 64))["out"].shape
torch.Size([1, 4, 64, 64])
"""

from __future__ import annotations

from ...._lazy import lazily

#: Module -> the public names it provides; loaded on first use.
_HOMES = {
    "deeplabv3": (
        "DeepLabV3 DeepLabV3_MobileNet_V3_Large_Weights DeepLabV3_ResNet101_Weights "
        "DeepLabV3_ResNet50_Weights deeplabv3_mobilenet_v3_large deeplabv3_resnet101 "
        "deeplabv3_resnet50"
    ),
    "fcn": "FCN FCN_ResNet101_Weights FCN_ResNet50_Weights fcn_resnet101 fcn_resnet50",
    "lraspp": "LRASPP LRASPP_MobileNet_V3_Large_Weights lraspp_mobilenet_v3_large",
}
__getattr__, __dir__, __all__ = lazily(__name__, _HOMES)
