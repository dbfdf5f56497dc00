"""Images in folders: the name of a folder is the class of what lies in it."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

from ..transforms.kernels.pillow import pillow
from .vision import VisionDataset

__all__ = [
    "IMG_EXTENSIONS", "DatasetFolder", "ImageFolder", "accimage_loader", "default_loader",
    "find_classes", "has_file_allowed_extension", "is_image_file", "make_dataset", "pil_loader",
]

AnyPath = str | os.PathLike[str]
Samples = list[tuple[str, int]]

IMG_EXTENSIONS = (".jpg", ".jpeg", ".png", ".ppm", ".bmp", ".pgm", ".tif", ".tiff", ".webp")


def has_file_allowed_extension(filename: str, extensions: str | tuple[str, ...]) -> bool:
    """Whether a name ends with one of some extensions, which are small letters.

    >>> has_file_allowed_extension("A.JPG", IMG_EXTENSIONS)
    True
    """
    return filename.lower().endswith(extensions if isinstance(extensions, str)
                                     else tuple(extensions))


def is_image_file(filename: str) -> bool:
    """Whether a name ends as those of images do."""
    return has_file_allowed_extension(filename, IMG_EXTENSIONS)


def find_classes(directory: AnyPath) -> tuple[list[str], dict[str, int]]:
    """The names of the folders in a folder, sorted, and the number of each.

    Raises FileNotFoundError if there are none.
    """
    classes = sorted(entry.name for entry in os.scandir(directory) if entry.is_dir())
    if not classes:
        raise FileNotFoundError(f"Couldn't find any class folder in {directory}.")
    return classes, {name: number for number, name in enumerate(classes)}


def make_dataset(
    directory: AnyPath,
    class_to_idx: dict[str, int] | None = None,
    extensions: str | tuple[str, ...] | None = None,
    is_valid_file: Callable[[str], bool] | None = None,
    allow_empty: bool = False,
) -> Samples:
    """(path, class) of each file below the folders of the classes, in the order of the names.

    Args:
        directory: the folder of folders.
        class_to_idx: names of folders -> numbers; by default what `find_classes` gives.
        extensions: which files count, by how their names end ...
        is_valid_file: ... or by a function of the path. One of the two, not both.
        allow_empty: a class may have no files.

    Raises:
        ValueError: neither or both of the two, or an empty `class_to_idx`.
        FileNotFoundError: classes without files.
    """
    directory = os.path.expanduser(directory)
    if class_to_idx is None:
        _, class_to_idx = find_classes(directory)
    elif not class_to_idx:
        raise ValueError("'class_to_index' must have at least one entry to collect any samples.")
    if (extensions is None) == (is_valid_file is None):
        raise ValueError(
            "Both extensions and is_valid_file cannot be None or not None at the same time")
    samples: Samples = []
    empty = []
    for name in sorted(class_to_idx):
        before = len(samples)
        folder = os.path.join(directory, name)
        for root, _, files in sorted(os.walk(folder, followlinks=True)):
            paths = (os.path.join(root, file) for file in sorted(files))
            samples += [(path, class_to_idx[name]) for path in paths
                        if (is_valid_file(path) if is_valid_file is not None
                            else has_file_allowed_extension(path, extensions or ()))]
        if len(samples) == before:
            empty.append(name)
    if empty and not allow_empty:
        text = f"Found no valid file for the classes {', '.join(empty)}. "
        if extensions is not None:
            text += "Supported extensions are: " + (
                extensions if isinstance(extensions, str) else ", ".join(extensions))
        raise FileNotFoundError(text)
    return samples


class DatasetFolder(VisionDataset):
    """Files of any kind, in folders that are named after their classes.

    Args:
        root: the folder of folders.
        loader: `f(path)` that gives a sample.
        extensions, is_valid_file, allow_empty: see `make_dataset`.
        transform: `f(sample)`.
        target_transform: `f(class)`.

    Attributes: `classes`, `class_to_idx`, `samples` ((path, class) of each), `targets`.

    A subclass may replace `find_classes` and `make_dataset`.

    Raises:
        FileNotFoundError: there are no folders, or one has no files.
    """

    def __init__(
        self,
        root: AnyPath,
        loader: Callable[[str], Any],
        extensions: tuple[str, ...] | None = None,
        transform: Callable[..., Any] | None = None,
        target_transform: Callable[..., Any] | None = None,
        is_valid_file: Callable[[str], bool] | None = None,
        allow_empty: bool = False,
    ) -> None:
        super().__init__(root, transform=transform, target_transform=target_transform)
        classes, class_to_idx = self.find_classes(self.root)
        samples = self.make_dataset(
            self.root, class_to_idx=class_to_idx, extensions=extensions,
            is_valid_file=is_valid_file, allow_empty=allow_empty)
        self.loader = loader
        self.extensions = extensions
        self.classes = classes
        self.class_to_idx = class_to_idx
        self.samples = samples
        self.targets = [number for _, number in samples]

    @staticmethod
    def make_dataset(
        directory: AnyPath,
        class_to_idx: dict[str, int],
        extensions: tuple[str, ...] | None = None,
        is_valid_file: Callable[[str], bool] | None = None,
        allow_empty: bool = False,
    ) -> Samples:
        """(path, class) of each file; here a subclass may look elsewhere, into an archive say."""
        if class_to_idx is None:  # the function below would ask the wrong `find_classes`
            raise ValueError("The class_to_idx parameter cannot be None.")
        return make_dataset(directory, class_to_idx, extensions, is_valid_file, allow_empty)

    def find_classes(self, directory: AnyPath) -> tuple[list[str], dict[str, int]]:
        """The classes and their numbers; here a subclass may choose some of them."""
        return find_classes(directory)

    def __getitem__(self, index: int) -> tuple[Any, Any]:
        path, target = self.samples[index]
        return self._transformed(self.loader(path), target)

    def __len__(self) -> int:
        return len(self.samples)


def pil_loader(path: AnyPath) -> Any:
    """The image of a file, as RGB."""
    with open(path, "rb") as file:
        return pillow().open(file).convert("RGB")


def accimage_loader(path: AnyPath) -> Any:
    """The image of a file, by the package `accimage` where that can read it."""
    import accimage

    try:
        return accimage.Image(path)
    except OSError:
        return pil_loader(path)


def default_loader(path: AnyPath) -> Any:
    """The image of a file, by the package that `set_image_backend` names."""
    from ..backends import get_image_backend

    return accimage_loader(path) if get_image_backend() == "accimage" else pil_loader(path)


class ImageFolder(DatasetFolder):
    """Images, in folders that are named after their classes: `root/dog/a.png`, `root/cat/b.png`.

    Args:
        root: the folder of folders.
        transform: `f(image)`, of what `loader` gives.
        target_transform: `f(class)`.
        loader: `f(path)`; by default a PIL image in RGB.
        is_valid_file: `f(path)`; by default names that end as those of images do.
        allow_empty: a class may have no images.

    Attributes: those of `DatasetFolder`, and `imgs`, which are the `samples`.
    """

    def __init__(
        self,
        root: AnyPath,
        transform: Callable[..., Any] | None = None,
        target_transform: Callable[..., Any] | None = None,
        loader: Callable[[str], Any] = default_loader,
        is_valid_file: Callable[[str], bool] | None = None,
        allow_empty: bool = False,
    ) -> None:
        super().__init__(
            root, loader, IMG_EXTENSIONS if is_valid_file is None else None, transform,
            target_transform, is_valid_file, allow_empty)
        self.imgs = self.samples
