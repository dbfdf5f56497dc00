"""Images of noise, for trying a program without any files."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ... import functional as ops
from ...core.dtypes import int64
from ...runtime.generator import default_generator
from .vision import VisionDataset

__all__ = ["FakeData"]


class FakeData(VisionDataset):
    """Random PIL images and labels, the same for an index each time.

    Args:
        size: how many there are.
        image_size: channels, height, width.
        num_classes: labels are below it.
        transform: `f(image)`.
        target_transform: `f(label)`, of a tensor of no dimensions; its result has an `item()`.
        random_offset: another number gives other images.

    Raises:
        IndexError: an index of `size` or above.
    """

    def __init__(
        self,
        size: int = 1000,
        image_size: tuple[int, int, int] = (3, 224, 224),
        num_classes: int = 10,
        transform: Callable[..., Any] | None = None,
        target_transform: Callable[..., Any] | None = None,
        random_offset: int = 0,
    ) -> None:
        super().__init__(transform=transform, target_transform=target_transform)
        self.size = size
        self.num_classes = num_classes
        self.image_size = image_size
        self.random_offset = random_offset

    def __getitem__(self, index: int) -> tuple[Any, Any]:
        if index >= len(self):
            raise IndexError(f"{type(self).__name__} index out of range")
        from ..transforms.kernels.conversion import to_pil_image

        state = default_generator.get_state()  # the program's own numbers go on as if unused
        default_generator.manual_seed(index + self.random_offset)
        pixels = ops.randn(*self.image_size)
        target = ops.randint(0, self.num_classes, size=(1,), dtype=int64)[0]
        default_generator.set_state(state)
        image, target = self._transformed(to_pil_image(pixels), target)
        return image, target.item()

    def __len__(self) -> int:
        return self.size
