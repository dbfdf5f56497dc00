"""`torchvision.transforms.v2`: transforms of whole samples: images with their boxes and masks.

>>> from yesca.vision import tv_tensors
>>> from yesca.vision.transforms import v2
>>> image = tv_tensors.Image(torch.zeros(3, 8, 8))
>>> boxes = tv_tensors.BoundingBoxes([[0, 0, 4, 4]], format="XYXY", canvas_size=(8, 8))
>>> _, turned = v2.RandomHorizontalFlip(p=1.0)(image, boxes)
>>> turned.tolist()
[[4, 0, 8, 4]]
"""

from __future__ import annotations

from ...._lazy import lazily

#: Module -> the public names it provides; loaded on first use.
_HOMES = {
    "base": "Transform",
    "containers": "Compose RandomApply RandomChoice RandomOrder",
    "values": (
        "ConvertImageDtype GaussianBlur GaussianNoise Identity JPEG Lambda LinearTransformation "
        "Normalize PILToTensor ToDtype ToImage ToPILImage ToPureTensor ToTensor "
        "UniformTemporalSubsample"
    ),
    "cropping": (
        "CenterCrop FiveCrop Pad RandomCrop RandomHorizontalFlip RandomResize RandomResizedCrop "
        "RandomShortestSize RandomVerticalFlip RandomZoomOut Resize ScaleJitter TenCrop"
    ),
    "warping": "ElasticTransform RandomAffine RandomPerspective RandomRotation",
    "coloring": (
        "ColorJitter Grayscale RGB RandomAdjustSharpness RandomAutocontrast "
        "RandomChannelPermutation RandomEqualize RandomErasing RandomGrayscale RandomInvert "
        "RandomPhotometricDistort RandomPosterize RandomSolarize"
    ),
    "marking": (
        "ClampBoundingBoxes ClampKeyPoints ConvertBoundingBoxFormat RandomIoUCrop "
        "SanitizeBoundingBoxes SanitizeKeyPoints SetClampingMode"
    ),
    "mixing": "CutMix MixUp",
    "autoaugment": "AugMix AutoAugment RandAugment TrivialAugmentWide",
    "samples": (
        "check_type get_bounding_boxes get_keypoints has_all has_any query_chw query_size"
    ),
    "shared": "AutoAugmentPolicy InterpolationMode",
}
__getattr__, __dir__, __all__ = lazily(__name__, _HOMES, ("functional",))
