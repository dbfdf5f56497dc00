"""`torchvision.transforms.v2.functional`: transforms as functions, of every kind of input.

`resize` and the like look at what they get: tensors and `tv_tensors.Image`, videos, masks, boxes,
points, PIL images. `resize_image` and the like are the kernels themselves, for plain tensors.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable
from inspect import Parameter, signature
from typing import Any

from .... import functional as ops
from ...._tensor import Tensor
from ....base import absent
from ....base.naming import public_module
from ....core.dtypes import DType, float32
from ... import tv_tensors
from .. import functional as first
from ..interpolation import InterpolationMode
from ..kernels import colors, conversion, marks, masks, measures, pictures, pillow, shapes
from ..kernels import table, warps

#: Operation -> what its docstring says.
_OPERATIONS = {
    "horizontal_flip": "Left and right exchanged.",
    "vertical_flip": "Top and bottom exchanged.",
    "resize": "Resized to (height, width), the length of the shorter edge, or None: the longer "
              "edge becomes `max_size`.",
    "affine": "Turned (degrees, clockwise), moved, scaled, sheared (degrees) about a centre.",
    "rotate": "Turned counter-clockwise; with `expand` the result holds all of it.",
    "pad": "Padded by one number, (x, y), or (left, top, right, bottom); `padding_mode` is "
           "constant, edge, reflect or symmetric.",
    "crop": "A part, which may reach beyond.",
    "center_crop": "The central part, with black around images that are smaller.",
    "resized_crop": "A part, resized.",
    "perspective": "Seen in the perspective that takes four points to four others, or of eight "
                   "coefficients.",
    "elastic": "Each pixel from its own place plus a displacement (1, H, W, 2), where 1 is half "
               "an image.",
    "five_crop": "The four corners and the centre.",
    "ten_crop": "The five crops of an image and of its flipped copy.",
    "rgb_to_grayscale": "The luminance, in 1 or 3 channels.",
    "grayscale_to_rgb": "Three equal channels of a grey image; a coloured one as it is.",
    "adjust_brightness": "0 is black, 1 the image, 2 twice as bright.",
    "adjust_contrast": "0 is one grey all over, 1 the image, 2 twice the contrast.",
    "adjust_saturation": "0 is grey, 1 the image, 2 twice as colourful.",
    "adjust_hue": "The hue moved on its circle by a factor in [-0.5, 0.5] of a whole turn.",
    "adjust_gamma": "`gain * image ** gamma`, of colours from 0 to 1.",
    "adjust_sharpness": "0 is smoothed, 1 the image, 2 twice as sharp.",
    "posterize": "The highest `bits` bits of each colour.",
    "solarize": "Inverted where a colour reaches the threshold.",
    "autocontrast": "Each channel stretched so that it reaches from black to white.",
    "equalize": "Each channel mapped so that all its values are about equally frequent.",
    "invert": "White minus the image.",
    "permute_channels": "The channels in another order.",
    "normalize": "`(image - mean) / std`, with values for each channel.",
    "gaussian_blur": "Each pixel the weighted mean of its neighbours.",
    "gaussian_noise": "Plus normal noise, in units of white.",
    "erase": "A copy (or the image itself) with `v` in rows `i:i+h`, columns `j:j+w`.",
    "jpeg": "What is left of an image of bytes after it was a JPEG file.",
    "to_dtype": "Values of another type; with `scale` white stays white (images and videos).",
    "uniform_temporal_subsample": "Frames of a video [..., T, C, H, W] at equal distances.",
}
#: Arguments of kernels that are for the first version of the interface only.
_INNER = ("apart", "multiply")


def _operation(name: str, says: str) -> Callable[..., Any]:
    """The function that finds the kernel for what it gets; its arguments are those of images."""
    def run(inpt: Any, *args: Any, **kwargs: Any) -> Any:
        return table.find(run, type(inpt))(inpt, *args, **kwargs)

    shape = signature(table.KERNELS[name][Tensor])
    rest = [p for p in list(shape.parameters.values())[1:] if p.name not in _INNER]
    run.__name__ = run.__qualname__ = name
    run.__module__ = public_module("torchvision.transforms.v2.functional")
    run.__doc__ = says
    run.__signature__ = shape.replace(  # type: ignore[attr-defined]
        parameters=[Parameter("inpt", Parameter.POSITIONAL_OR_KEYWORD), *rest])
    return run


def _kernels() -> dict[str, Callable[..., Any]]:
    """The kernels by name; a video's is the image's."""
    found = {}
    for module in (shapes, colors, conversion, warps, pictures, marks, masks, measures):
        for name, value in vars(module).items():
            if callable(value) and name.endswith(("_image", "_mask", "_boxes", "_keypoints",
                                                  "_video")) and name[0] != "_":
                found[name] = value
    del found["to_pil_image"]
    grey = ("rgb_to_grayscale_image", "grayscale_to_rgb_image")
    found.update({name[:-5] + "video": kernel for name, kernel in list(found.items())
                  if name.endswith("_image") and name not in grey})
    found["horizontal_flip_mask"] = shapes.horizontal_flip_image
    found["vertical_flip_mask"] = shapes.vertical_flip_image
    return found


globals().update(_kernels())
globals().update({name: _operation(name, says) for name, says in _OPERATIONS.items()})
_named = globals()
hflip, vflip = _named["horizontal_flip"], _named["vertical_flip"]
elastic_transform, to_grayscale = _named["elastic"], _named["rgb_to_grayscale"]
get_dimensions, get_num_channels = measures.get_dimensions, measures.get_num_channels
get_image_num_channels = get_num_channels
get_size, get_num_frames = measures.get_size, measures.get_num_frames
convert_bounding_box_format = measures.convert_bounding_box_format
to_pil_image, pil_to_tensor = first.to_pil_image, first.pil_to_tensor
is_pure_tensor = measures.is_pure_tensor


def register_kernel(functional: Any, tv_tensor_cls: type) -> Any:
    """A decorator: the kernel of an operation (or its name) for a kind of tensor of your own.

    The kernel gets the input as it is, and wraps its result itself. Raises ValueError for what is
    no operation of this module, no `TVTensor`, or one of those that exist.

    >>> from yesca.vision import tv_tensors
    >>> class Depth(tv_tensors.TVTensor):
    ...     pass
    >>> @register_kernel("horizontal_flip", Depth)
    ... def flipped(depth):
    ...     return tv_tensors.wrap(depth.flip(-1), like=depth)
    >>> type(hflip(torch.ones(1, 2).as_subclass(Depth))).__name__
    'Depth'
    """
    if isinstance(functional, str):
        if functional not in globals():
            raise ValueError(f"Could not find functional with name '{functional}' in "
                             "torchvision.transforms.v2.functional.")
        functional = globals()[functional]
    elif globals().get(getattr(functional, "__name__", "")) is not functional:
        raise ValueError("Kernels can only be registered on functionals from the "
                         "torchvision.transforms.v2.functional namespace, but got "
                         f"{functional}.")
    if not (isinstance(tv_tensor_cls, type) and issubclass(tv_tensor_cls, tv_tensors.TVTensor)):
        raise ValueError("Kernels can only be registered for subclasses of "
                         f"torchvision.tv_tensors.TVTensor, but got {tv_tensor_cls}.")
    if tv_tensor_cls in vars(tv_tensors).values():
        raise ValueError("Kernels cannot be registered for the builtin tv_tensor classes, "
                         f"but got {tv_tensor_cls}")

    def decorator(kernel: Any) -> Any:
        table.register(functional, tv_tensor_cls, kernel)
        return kernel

    return decorator


def convert_image_dtype(image: Tensor, dtype: DType = float32) -> Tensor:
    """Pixels of another type, black and white kept.

    >>> convert_image_dtype(torch.tensor([[[255]]], dtype=torch.uint8))
    tensor([[[1.]]])
    """
    return conversion.to_dtype_image(image, dtype, scale=True)


def to_image(inpt: Any) -> tv_tensors.Image:
    """A `tv_tensors.Image` of a tensor, a PIL image, or an array (H, W[, C])."""
    numpy = sys.modules.get("numpy")
    if pillow.is_pil(inpt):
        inpt = pil_to_tensor(inpt)
    elif numpy is not None and isinstance(inpt, numpy.ndarray):
        inpt = ops.from_numpy(numpy.atleast_3d(inpt)).permute(2, 0, 1).contiguous()
    elif not isinstance(inpt, Tensor):
        raise TypeError("Input can either be a pure Tensor, a numpy array, or a PIL image, but "
                        f"got {type(inpt)} instead.")
    return tv_tensors.Image(inpt)


def to_tensor(inpt: Any) -> Tensor:
    """Deprecated: `to_image`, then `to_dtype(..., torch.float32, scale=True)`."""
    warnings.warn("The function `to_tensor(...)` is deprecated and will be removed in a future "
                  "release. Instead, please use `to_image(...)` followed by `to_dtype(..., "
                  "dtype=torch.float32, scale=True)`.")
    return first.to_tensor(inpt)


def get_image_size(inpt: Any) -> list[int]:
    """Deprecated: `get_size`, which gives height and width, in this order."""
    warnings.warn("The function `get_image_size(...)` is deprecated and will be removed in a "
                  "future release. Instead, please use `get_size(...)` which returns `[h, w]` "
                  "instead of `[w, h]`.")
    return first.get_image_size(inpt)


__all__ = ["InterpolationMode", "convert_bounding_box_format", "convert_image_dtype",
           "elastic_transform", "get_dimensions", "get_image_num_channels", "get_image_size",
           "get_num_channels", "get_num_frames", "get_size", "hflip", "is_pure_tensor",
           "pil_to_tensor", "register_kernel", "to_grayscale", "to_image", "to_pil_image",
           "to_tensor", "vflip", *_OPERATIONS, *_kernels()]

__getattr__ = absent.names_of(__name__)
