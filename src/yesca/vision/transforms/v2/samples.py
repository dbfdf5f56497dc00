"""What is in a sample: kinds of inputs, their sizes, labels; and fills that depend on the kind."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from numbers import Number
from typing import Any

from ...._tensor import Tensor
from ... import tv_tensors
from ..kernels.measures import get_dimensions, get_size, is_pure_tensor
from ..kernels.pillow import is_pil

Check = Any  # a type, or a function that says whether something is of a kind


def check_type(obj: Any, types_or_checks: Sequence[Check]) -> bool:
    """Whether something is of one of these types, or one of these functions says so.

    >>> check_type(3, (str, lambda obj: obj == 3))
    True
    """
    return any(isinstance(obj, check) if isinstance(check, type) else check(obj)
               for check in types_or_checks)


def has_any(flat_inputs: Sequence[Any], *types_or_checks: Check) -> bool:
    """Whether any of the inputs is of any of the types."""
    return any(check_type(inpt, types_or_checks) for inpt in flat_inputs)


def has_all(flat_inputs: Sequence[Any], *types_or_checks: Check) -> bool:
    """Whether each of the types is among the inputs."""
    return all(any(check_type(inpt, (check,)) for inpt in flat_inputs)
               for check in types_or_checks)


def get_bounding_boxes(flat_inputs: Sequence[Any]) -> tv_tensors.BoundingBoxes:
    """The first bounding boxes. Raises ValueError if there are none."""
    for inpt in flat_inputs:
        if isinstance(inpt, tv_tensors.BoundingBoxes):
            return inpt
    raise ValueError("No bounding boxes were found in the sample")


def get_keypoints(flat_inputs: Sequence[Any]) -> tv_tensors.KeyPoints:
    """The first key points. Raises ValueError if there are none."""
    for inpt in flat_inputs:
        if isinstance(inpt, tv_tensors.KeyPoints):
            return inpt
    raise ValueError("No keypoints were found in the sample")


_PICTURES = (is_pure_tensor, tv_tensors.Image, is_pil, tv_tensors.Video)
_SIZED = (*_PICTURES, tv_tensors.Mask, tv_tensors.BoundingBoxes, tv_tensors.KeyPoints)


def _only(sizes: set[tuple[int, ...]], missing: str, what: str) -> tuple[int, ...]:
    if not sizes:
        raise TypeError(f"No {missing} was found in the sample")
    if len(sizes) > 1:
        listed = ", ".join(f"'{size}'" for size in sorted(sizes))
        raise ValueError(f"Found multiple {what} dimensions in the sample: {listed}")
    return sizes.pop()


def query_chw(flat_inputs: Sequence[Any]) -> tuple[int, ...]:
    """Channels, height and width of all images. Raises TypeError if there are none, ValueError if
    they differ."""
    sizes = {tuple(get_dimensions(i)) for i in flat_inputs if check_type(i, _PICTURES)}
    return _only(sizes, "image or video", "CxHxW")


def query_size(flat_inputs: Sequence[Any]) -> tuple[int, ...]:
    """Height and width of all images and of whatever belongs to them, as in `query_chw`."""
    sizes = {tuple(get_size(i)) for i in flat_inputs if check_type(i, _SIZED)}
    return _only(sizes, "image, video, mask, bounding box of keypoint", "HxW")


def _list(fill: Any) -> Any:
    if isinstance(fill, dict):
        return {kind: _list(value) for kind, value in fill.items()}
    if fill is not None and not isinstance(fill, (Number, tuple, list)):
        raise TypeError("Got inappropriate fill arg, only Numbers, tuples, lists and dicts are "
                        f"allowed, not {type(fill)}.")
    return [float(v) for v in fill] if isinstance(fill, (tuple, list)) else fill


def fills(fill: Any) -> dict[Any, Any]:
    """Fills by kind of input; the one for all that are not named is under "others"."""
    made = _list(fill)
    return made if isinstance(made, dict) else {"others": made}


def fill_of(fills: dict[Any, Any], kind: type) -> Any:
    return fills[kind] if kind in fills else fills.get("others")


def two_numbers(value: Any, name: str) -> list[float]:
    """One number, or a sequence of one or two, as two."""
    if isinstance(value, (int, float)):
        return [float(value)] * 2
    if not isinstance(value, Sequence):
        raise TypeError(f"{name} should be a number or a sequence of numbers. Got {type(value)}")
    if len(value) not in (1, 2):
        raise ValueError(f"If {name} is a sequence its length should be 1 or 2. Got {len(value)}")
    for element in value:
        if not isinstance(element, (int, float)):
            raise ValueError(f"{name} should be a sequence of numbers. Got {type(element)}")
    return [float(value[0]), float(value[-1])]


def _default_labels(inputs: Any) -> Any:
    """The second of two, or what a dictionary has under "labels" or a name that says so."""
    if isinstance(inputs, (tuple, list)):
        inputs = inputs[1]
    if is_pure_tensor(inputs):
        return inputs
    if not isinstance(inputs, Mapping):
        raise ValueError("When using the default labels_getter, the input passed to forward must "
                         "be a dictionary or a two-tuple whose second item is a dictionary or a "
                         f"tensor, but got {inputs} instead.")
    keys = [k for k in inputs if k.lower() == "labels"] or [k for k in inputs
                                                            if "label" in k.lower()]
    if not keys:
        raise ValueError("Could not infer where the labels are in the sample. Try passing a "
                         "callable as the labels_getter parameter? If there are no labels in the "
                         "sample by design, pass labels_getter=None.")
    return inputs[keys[0]]


def labels_from(getter: Any) -> Callable[[Any], Any]:
    """The function that finds labels: a callable, "default", or None for no labels."""
    if getter == "default":
        return _default_labels
    if callable(getter):
        return getter
    if getter is None:
        return lambda inputs: None
    raise ValueError("labels_getter should either be 'default', a callable, or None, "
                     f"but got {getter}.")


def labels_in(inputs: Any, getter: Callable[[Any], Any]) -> tuple[Tensor, ...] | None:
    """The labels of a sample, as a tuple of tensors."""
    labels = getter(inputs)
    if labels is None or isinstance(labels, Tensor):
        return None if labels is None else (labels,)
    for label in labels if isinstance(labels, (tuple, list)) else [labels]:
        if not isinstance(label, Tensor):
            raise ValueError("The labels in the input to forward() must be a tensor or None, "
                             f"got {type(label)} instead.")
    return tuple(labels)
