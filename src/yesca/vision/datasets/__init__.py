"""Sets of images: read from the files that others publish, fetched when asked for."""

from typing import Any

from ..._lazy import lazily
from ...base import absent

_HOMES = {
    "caltech": "Caltech101 Caltech256",
    "cifar": "CIFAR10 CIFAR100",
    "coco": "CocoCaptions CocoDetection",
    "dtd": "DTD",
    "eurosat": "EuroSAT",
    "fakedata": "FakeData",
    "flowers102": "Flowers102",
    "folder": "DatasetFolder ImageFolder",
    "food101": "Food101",
    "gtsrb": "GTSRB",
    "imagenette": "Imagenette",
    "mnist": "MNIST FashionMNIST KMNIST EMNIST QMNIST",
    "moving_mnist": "MovingMNIST",
    "oxford_iiit_pet": "OxfordIIITPet",
    "semeion": "SEMEION",
    "stl10": "STL10",
    "svhn": "SVHN",
    "usps": "USPS",
    "utils": "",
    "vision": "VisionDataset",
    "voc": "VOCDetection VOCSegmentation",
}
_NOT_YET = frozenset("""
    CLEVRClassification CREStereo CarlaStereo CelebA Cityscapes Country211 ETH3DStereo FER2013
    FGVCAircraft FallingThingsStereo Flickr30k Flickr8k FlyingChairs FlyingThings3D HD1K HMDB51
    INaturalist ImageNet InStereo2k Kinetics Kitti Kitti2012Stereo Kitti2015Stereo KittiFlow
    LFWPairs LFWPeople LSUN LSUNClass Middlebury2014Stereo Omniglot PCAM PhotoTour Places365
    RenderedSST2 SBDataset SBU SUN397 SceneFlowStereo Sintel SintelStereo StanfordCars UCF101
    WIDERFace wrap_dataset_for_transforms_v2
""".split())

_find, __dir__, __all__ = lazily(__name__, _HOMES)


def __getattr__(name: str) -> Any:
    if name in _NOT_YET:
        raise absent.error(__name__, name, " (torchvision has it; yesca does not have it yet: "
                           "ImageFolder, DatasetFolder and VisionDataset take files of your own)")
    return _find(name)
