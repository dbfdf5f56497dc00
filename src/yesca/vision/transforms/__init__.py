"""`torchvision.transforms`: images changed, fixed or at random, before a network sees them.

>>> from yesca.vision import transforms
>>> steps = transforms.Compose([transforms.Resize(4), transforms.Normalize([0.5], [0.5])])
>>> steps(torch.ones(1, 8, 8)).shape
torch.Size([1, 4, 4])
"""

from __future__ import annotations

from ..._lazy import lazily

#: Module -> the public names it provides; loaded on first use.
_HOMES = {
    "containers": "Compose Lambda RandomApply RandomChoice RandomOrder",
    "values": "ToTensor PILToTensor ConvertImageDtype ToPILImage Normalize LinearTransformation",
    "cropping": (
        "Resize CenterCrop Pad RandomCrop RandomHorizontalFlip RandomVerticalFlip "
        "RandomResizedCrop FiveCrop TenCrop"
    ),
    "coloring": (
        "ColorJitter Grayscale RandomGrayscale RandomErasing RandomInvert RandomPosterize "
        "RandomSolarize RandomAdjustSharpness RandomAutocontrast RandomEqualize"
    ),
    "warping": "RandomRotation RandomAffine RandomPerspective ElasticTransform GaussianBlur",
    "interpolation": "InterpolationMode",
    "autoaugment": "AutoAugmentPolicy AutoAugment RandAugment TrivialAugmentWide AugMix",
}
__getattr__, __dir__, __all__ = lazily(__name__, _HOMES, ("functional", "transforms", "v2"))
