"""Sets of images: read from the files that others publish, fetched when asked for."""

from ..._lazy import lazily

_HOMES = {
    "caltech": "Caltech101 Caltech256",
    "cifar": "CIFAR10 CIFAR100",
    "fakedata": "FakeData",
    "flowers102": "Flowers102",
    "folder": "DatasetFolder ImageFolder",
    "food101": "Food101",
    "mnist": "MNIST FashionMNIST KMNIST EMNIST QMNIST",
    "oxford_iiit_pet": "OxfordIIITPet",
    "stl10": "STL10",
    "svhn": "SVHN",
    "usps": "USPS",
    "utils": "",
    "vision": "VisionDataset",
}

__getattr__, __dir__, __all__ = lazily(__name__, _HOMES)
