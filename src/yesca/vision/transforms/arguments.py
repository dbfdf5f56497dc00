"""Checks of what the classes are made with, in both versions of the interface."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from numbers import Number
from typing import Any

__all__: list[str] = []

TWO_SIZES = "Please provide only two dimensions (h, w) for size."


def size_of(size: Any, message: str = TWO_SIZES) -> Any:
    """(height, width): one number means both. Raises ValueError for more than two."""
    if isinstance(size, Number):
        return int(size), int(size)
    if isinstance(size, Sequence) and len(size) == 1:
        return size[0], size[0]
    if len(size) != 2:
        raise ValueError(message)
    return size


def check_sequence(value: Any, name: str, lengths: Sequence[int]) -> None:
    wanted = " or ".join(map(str, lengths))
    if not isinstance(value, Sequence):
        raise TypeError(f"{name} should be a sequence of length {wanted}.")
    if len(value) not in lengths:
        raise ValueError(f"{name} should be a sequence of length {wanted}.")


def angles(value: Any, name: str, lengths: Sequence[int] = (2,)) -> list[float]:
    """Bounds of an angle: one number means from minus it to it."""
    if isinstance(value, Number):
        if value < 0:
            raise ValueError(f"If {name} is a single number, it must be positive.")
        value = [-value, value]
    else:
        check_sequence(value, name, lengths)
    return [float(v) for v in value]


def check_affine(translate: Any, scale: Any, center: Any) -> None:
    if translate is not None:
        check_sequence(translate, "translate", (2,))
        if not all(0.0 <= t <= 1.0 for t in translate):
            raise ValueError(f"translation values should be between 0 and 1, but got {translate}")
    if scale is not None:
        check_sequence(scale, "scale", (2,))
        if any(s <= 0 for s in scale):
            raise ValueError(f"scale values should be positive, but got {scale}")
    if center is not None:
        check_sequence(center, "center", (2,))


def check_ranges(scale: Any, ratio: Any, pairs: bool = False) -> None:
    """Of shares of the area and of quotients of the edges."""
    for value, name in ((scale, "Scale"), (ratio, "Ratio")):
        if not isinstance(value, Sequence) or (pairs and len(value) != 2):
            raise TypeError(f"{name} should be a sequence" + " of two floats." * pairs)
    if scale[0] > scale[1] or ratio[0] > ratio[1]:
        warnings.warn("Scale and ratio should be of kind (min, max)")


def check_erasing(value: Any, scale: Any, ratio: Any) -> None:
    if not isinstance(value, (Number, str, tuple, list)):
        raise TypeError("Argument value should be either a number or str or a sequence, "
                        f"but got {type(value)}")
    if isinstance(value, str) and value != "random":
        raise ValueError(f"If value is str, it should be 'random', but got {value!r}")
    check_ranges(scale, ratio)
    if scale[0] < 0 or scale[1] > 1:
        raise ValueError(f"Scale should be between 0 and 1, but got {scale}")


def erasing_value(value: Any) -> list[float] | None:
    """One value or one for each channel; None for noise."""
    if isinstance(value, str):
        return None
    if isinstance(value, (list, tuple)):
        return [float(v) for v in value]
    return [float(value)]


def check_blur(kernel_size: Any) -> Any:
    """(width, height) of a blur."""
    size = size_of(kernel_size, "Kernel size should be a tuple/list of two integers")
    if any(k <= 0 or k % 2 == 0 for k in size):
        raise ValueError("Kernel size value should be an odd and positive number, "
                         f"but got {kernel_size}.")
    return size


def factor_range(value: Any, name: str, center: float = 1, bound: tuple[float, float] = (
        0, float("inf"))) -> tuple[float, float] | None:
    """Bounds of a factor, from them or from the distance to `center`; None if nothing changes."""
    if isinstance(value, Number):
        if value < 0:
            raise ValueError(f"If {name} is a single number, it must be non negative.")
        value = [center - float(value), center + float(value)]
        if center == 1:
            value[0] = max(value[0], 0.0)
    elif isinstance(value, (tuple, list)) and len(value) == 2:
        value = [float(value[0]), float(value[1])]
    else:
        raise TypeError(f"{name} should be a single number or a list/tuple with length 2.")
    if not bound[0] <= value[0] <= value[1] <= bound[1]:
        raise ValueError(f"{name} values should be between {bound}, but got {value}.")
    return None if value[0] == value[1] == center else (value[0], value[1])


def check_linear(matrix: Any, mean: Any) -> None:
    """Of a linear map of whole images and the vector that is subtracted before."""
    shape = tuple(matrix.size())
    if shape[0] != shape[1]:
        raise ValueError("transformation_matrix should be square. "
                         f"Got {shape} rectangular matrix.")
    if mean.size(0) != shape[0]:
        raise ValueError(f"mean_vector should have the same length {mean.size(0)} as any one of "
                         f"the dimensions of the transformation_matrix [{shape}]")
    for what, a, b in (("be on the same device", matrix.device, mean.device),
                       ("have the same dtype", matrix.dtype, mean.dtype)):
        if a != b:
            raise ValueError(f"Input tensors should {what}. Got {a} and {b}")
