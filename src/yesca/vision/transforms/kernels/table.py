"""Which kernel does an operation on a kind of input: one row for an operation."""

from __future__ import annotations

from collections.abc import Callable
from inspect import signature
from typing import Any

from ...._tensor import Tensor
from ... import tv_tensors
from ...tv_tensors import BoundingBoxes, Image, KeyPoints, Mask, TVTensor, Video
from . import colors, conversion, marks, masks, pictures, pillow, shapes, warps

__all__: list[str] = []

Kernel = Callable[..., Any]
#: Stands for PIL images, whose class may not be loaded.
PIL = "PIL.Image.Image"

#: Operation -> kernels for images (and videos), PIL images, masks, boxes, points; None: there is
#: none.
_ROWS: dict[str, tuple[Kernel | None, ...]] = {
    "horizontal_flip": (
        shapes.horizontal_flip_image, pillow.horizontal_flip, shapes.horizontal_flip_image,
        marks.horizontal_flip_bounding_boxes, marks.horizontal_flip_keypoints),
    "vertical_flip": (
        shapes.vertical_flip_image, pillow.vertical_flip, shapes.vertical_flip_image,
        marks.vertical_flip_bounding_boxes, marks.vertical_flip_keypoints),
    "resize": (shapes.resize_image, pictures.resize, masks.resize_mask,
               marks.resize_bounding_boxes, marks.resize_keypoints),
    "affine": (warps.affine_image, pictures.affine, masks.affine_mask,
               marks.affine_bounding_boxes, marks.affine_keypoints),
    "rotate": (warps.rotate_image, pictures.rotate, masks.rotate_mask,
               marks.rotate_bounding_boxes, marks.rotate_keypoints),
    "pad": (shapes.pad_image, pillow.pad, masks.pad_mask,
            marks.pad_bounding_boxes, marks.pad_keypoints),
    "crop": (shapes.crop_image, pillow.crop, masks.crop_mask,
             marks.crop_bounding_boxes, marks.crop_keypoints),
    "center_crop": (shapes.center_crop_image, pillow.center_crop, masks.center_crop_mask,
                    marks.center_crop_bounding_boxes, marks.center_crop_keypoints),
    "resized_crop": (shapes.resized_crop_image, pictures.resized_crop, masks.resized_crop_mask,
                     marks.resized_crop_bounding_boxes, marks.resized_crop_keypoints),
    "perspective": (warps.perspective_image, pictures.perspective, masks.perspective_mask,
                    marks.perspective_bounding_boxes, marks.perspective_keypoints),
    "elastic": (warps.elastic_image, pictures.elastic, masks.elastic_mask,
                marks.elastic_bounding_boxes, marks.elastic_keypoints),
    "five_crop": (shapes.five_crop_image, pillow.five_crop, None, None, None),
    "ten_crop": (shapes.ten_crop_image, pillow.ten_crop, None, None, None),
    "rgb_to_grayscale": (colors.rgb_to_grayscale_image, pillow.to_grayscale, None, None, None),
    "grayscale_to_rgb": (colors.grayscale_to_rgb_image, pillow.grayscale_to_rgb, None, None, None),
    **{name: (getattr(colors, f"{name}_image"), getattr(pillow, name), None, None, None)
       for name in ("adjust_brightness", "adjust_contrast", "adjust_saturation", "adjust_hue",
                    "adjust_gamma", "adjust_sharpness", "posterize", "solarize", "autocontrast",
                    "equalize", "invert")},
    "permute_channels": (colors.permute_channels_image, pictures.permute_channels,
                         None, None, None),
    "normalize": (conversion.normalize_image, None, None, None, None),
    "gaussian_blur": (warps.gaussian_blur_image, pictures.gaussian_blur, None, None, None),
    "gaussian_noise": (warps.gaussian_noise_image, pictures.gaussian_noise, None, None, None),
    "erase": (conversion.erase_image, pictures.erase, None, None, None),
    "jpeg": (pictures.jpeg_image, pillow.jpeg, None, None, None),
    "to_dtype": (conversion.to_dtype_image, None, Tensor.to, Tensor.to, Tensor.to),
}
#: Operations that leave videos as they are.
_PICTURES_ONLY = ("rgb_to_grayscale", "grayscale_to_rgb")
_KINDS = (Tensor, PIL, Mask, BoundingBoxes, KeyPoints)


def _table() -> dict[str, dict[Any, Kernel]]:
    made: dict[str, dict[Any, Kernel]] = {}
    for name, row in _ROWS.items():
        made[name] = {kind: kernel for kind, kernel in zip(_KINDS, row) if kernel is not None}
        made[name][Image] = made[name][Tensor]
        if name not in _PICTURES_ONLY:
            made[name][Video] = made[name][Tensor]
    subsample = shapes.uniform_temporal_subsample_video
    made["uniform_temporal_subsample"] = {Tensor: subsample, Video: subsample}
    return made


KERNELS = _table()
#: Kernels of a program's own kinds, which do their own wrapping.
_OWN: set[tuple[str, type]] = set()
#: (operation, type) -> what to call; filled as types come.
_FOUND: dict[tuple[str, type], Kernel | None] = {}


def register(functional: Kernel, kind: type, kernel: Kernel) -> None:
    name = functional.__name__
    if kind in KERNELS.setdefault(name, {}):
        raise ValueError(f"Functional {functional} already has a kernel registered for type "
                         f"{kind}.")
    KERNELS[name][kind] = kernel
    _OWN.add((name, kind))
    _FOUND.clear()


def _search(functional: Kernel, kind: type) -> Kernel | None:
    name = functional.__name__
    row = KERNELS.get(name)
    if not row:
        raise ValueError(f"No kernel registered for functional {name}.")
    for base in kind.__mro__:
        key: Any = base
        if base.__name__ == "Image" and base.__module__ == "PIL.Image":
            key = PIL
        if key in row:
            if (name, key) in _OWN:
                return _named(functional, row[key])
            return row[key] if key in (Tensor, PIL) else _wrapped(functional, row[key])
        if base is TVTensor:
            break
    return None


def find(functional: Kernel, kind: type, passthrough: bool = False) -> Kernel:
    """The kernel of an operation for a type; with `passthrough` one that changes nothing if there
    is none, else TypeError."""
    key = (functional.__name__, kind)
    if key not in _FOUND:
        _FOUND[key] = _search(functional, kind)
    kernel = _FOUND[key]
    if kernel is not None:
        return kernel
    if passthrough:
        return _unchanged
    raise TypeError(f"Functional F.{functional.__name__} supports inputs of type "
                    f"{list(KERNELS[functional.__name__])}, but got {kind} instead.")


def _unchanged(inpt: Any, *args: Any, **kwargs: Any) -> Any:
    return inpt


def _named(functional: Kernel, kernel: Kernel) -> Kernel:
    """A program's own kernel, which gets every argument by name."""
    parameters = list(signature(functional).parameters.values())[1:]
    defaults = {p.name: p.default for p in parameters if p.default is not p.empty}

    def run(inpt: Any, *args: Any, **kwargs: Any) -> Any:
        given = dict(zip((p.name for p in parameters), args))
        return kernel(inpt, **{**defaults, **given, **kwargs})

    return run


def _wrapped(functional: Kernel, kernel: Kernel) -> Kernel:
    """A kernel on plain tensors, for tensors that say what they are: it gets what they carry and
    those of the arguments that it knows; the result is of their kind again."""
    if kernel is KERNELS[functional.__name__].get(Tensor):  # all arguments are its own

        def plain(inpt: Any, *args: Any, **kwargs: Any) -> Any:
            return _as_kind(kernel(inpt.as_subclass(Tensor), *args, **kwargs), inpt)

        return plain
    names = list(signature(functional).parameters)[1:]
    accepted = ["dtype"] if kernel is Tensor.to else list(signature(kernel).parameters)[1:]
    carried = [name for name in ("format", "canvas_size", "clamping_mode") if name in accepted]

    def run(inpt: Any, *args: Any, **kwargs: Any) -> Any:
        given = dict(zip(names, args), **kwargs)
        given = {name: value for name, value in given.items() if name in accepted}
        for name in carried:
            given[name] = getattr(inpt, name)
        made = kernel(inpt.as_subclass(Tensor), **given)
        return _as_kind(made, inpt)

    return run


def _as_kind(made: Any, like: Any) -> Any:
    """What a kernel gave, of the kind of its input: a tensor, several, or one and its canvas."""
    if not isinstance(made, tuple):
        return tv_tensors.wrap(made, like=like)
    if isinstance(like, (BoundingBoxes, KeyPoints)):
        return tv_tensors.wrap(made[0], like=like, canvas_size=made[1])
    return tuple(tv_tensors.wrap(part, like=like) for part in made)
