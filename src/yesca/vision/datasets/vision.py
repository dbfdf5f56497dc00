"""The base of all datasets of images: the folder, the transforms, and how they are shown."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

from ...utils.data import Dataset

__all__ = ["StandardTransform", "VisionDataset"]


def _shown(transform: Any, head: str) -> list[str]:
    """The lines of a transform's text after a heading, the further ones below its first."""
    first, *more = repr(transform).splitlines() or [""]
    return [head + first, *(" " * len(head) + line for line in more)]


class StandardTransform:
    """One function for the image and one for its label, called as one for both."""

    def __init__(self, transform: Callable[..., Any] | None = None,
                 target_transform: Callable[..., Any] | None = None) -> None:
        self.transform = transform
        self.target_transform = target_transform

    def __call__(self, input: Any, target: Any) -> tuple[Any, Any]:
        if self.transform is not None:
            input = self.transform(input)
        if self.target_transform is not None:
            target = self.target_transform(target)
        return input, target

    def _format_transform_repr(self, transform: Any, head: str) -> list[str]:
        return _shown(transform, head)

    def __repr__(self) -> str:
        body = [type(self).__name__]
        if self.transform is not None:
            body += self._format_transform_repr(self.transform, "Transform: ")
        if self.target_transform is not None:
            body += self._format_transform_repr(self.target_transform, "Target transform: ")
        return "\n".join(body)


class VisionDataset(Dataset[Any]):
    """Subclasses define `__getitem__(index)` and `__len__()`, and call the transforms they find.

    Args:
        root: the folder of the files; `~` is the home folder.
        transforms: `f(image, label)` that gives both; it excludes the other two.
        transform: `f(image)`.
        target_transform: `f(label)`.

    Attributes: `root`, `transform`, `target_transform`, and `transforms`, which does either way.

    Raises:
        ValueError: `transforms` beside one of the other two.

    Example::

        >>> class Squares(VisionDataset):
        ...     def __len__(self):
        ...         return 3
        ...     def __getitem__(self, index):
        ...         return self.transforms(index, index * index)
        >>> data = Squares("~", transform=str)
        >>> data[2]
        ('2', 4)
    """

    _repr_indent = 4

    def __init__(
        self,
        root: str | os.PathLike[str] = None,  # type: ignore[assignment]
        transforms: Callable[..., Any] | None = None,
        transform: Callable[..., Any] | None = None,
        target_transform: Callable[..., Any] | None = None,
    ) -> None:
        separate = transform is not None or target_transform is not None
        if transforms is not None and separate:
            raise ValueError(
                "Only transforms or transform/target_transform can be passed as argument")
        self.root = os.path.expanduser(root) if isinstance(root, str) else root
        self.transform = transform
        self.target_transform = target_transform
        if separate:
            transforms = StandardTransform(transform, target_transform)
        self.transforms = transforms

    def __getitem__(self, index: int) -> Any:
        raise NotImplementedError

    def __len__(self) -> int:
        raise NotImplementedError

    def _transformed(self, image: Any, target: Any) -> tuple[Any, Any]:
        """A sample as the two attributes, which programs replace, have it."""
        if self.transform is not None:
            image = self.transform(image)
        if self.target_transform is not None:
            target = self.target_transform(target)
        return image, target

    def __repr__(self) -> str:
        body = [f"Number of datapoints: {len(self)}"]
        if self.root is not None:
            body.append(f"Root location: {self.root}")
        body += self.extra_repr().splitlines()
        if getattr(self, "transforms", None) is not None:
            body.append(repr(self.transforms))
        indent = " " * self._repr_indent
        return "\n".join([f"Dataset {type(self).__name__}", *(indent + line for line in body)])

    def _format_transform_repr(self, transform: Any, head: str) -> list[str]:
        return _shown(transform, head)

    def extra_repr(self) -> str:
        """Lines that the text of a subclass shows besides size, folder and transforms."""
        return ""
