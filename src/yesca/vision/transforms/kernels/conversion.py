"""PIL images and arrays to tensors and back, and the types of pixels."""

from __future__ import annotations

import sys
from functools import lru_cache
from typing import Any

from .... import functional as ops
from ...._tensor import Tensor
from ....autograd.modes import inference_mode
from ....core import dtypes
from ....core.dtypes import DType, float32, uint8
from .pillow import from_array, is_pil

__all__: list[str] = []

#: Largest value of a colour, and how many bits hold one, by the type of pixels.
MAXIMUM = {uint8: 255, dtypes.int8: 127, dtypes.int16: 32767, dtypes.uint16: 65535,
           dtypes.int32: 2**31 - 1, dtypes.int64: 2**63 - 1}
_SIXTEEN = "I;16" if sys.byteorder == "little" else "I;16B"
#: Pillow's modes whose pixels are not bytes -> NumPy's type.
_WIDE = {"I": "int32", _SIXTEEN: "int16", "F": "float32"}


def largest(dtype: DType) -> int:
    """The value of white: 1 for floating point types."""
    return MAXIMUM.get(dtype, 1)


def value_bits(dtype: DType) -> int:
    if dtype not in MAXIMUM:
        raise TypeError("Number of value bits is only defined for integer dtypes, "
                        f"but got {dtype}.")
    return MAXIMUM[dtype].bit_length()


def _pixels(image: Any) -> Tensor:
    """The pixels of a PIL image, (height, width, channels), in memory of their own."""
    width, height = image.size
    if width and height and image.mode in ("L", "RGB", "RGBA", "P", "CMYK", "LA", "HSV", "YCbCr"):
        made = ops.frombuffer(bytearray(image.tobytes()), dtype=uint8)
        return made.view(height, width, len(image.getbands()))
    import numpy as np

    array = np.array(image, _WIDE.get(image.mode, np.uint8))
    return ops.from_numpy(array).view(height, width, len(image.getbands()))


def _scaled(pixels: Tensor) -> Tensor:
    """Bytes (height, width, channels) to colours (channels, height, width) in [0, 1]: turned while
    they are bytes, which is the least to move."""
    return pixels.permute(2, 0, 1).contiguous().div(255)


def to_tensor(pic: Any) -> Tensor:
    """See `functional.to_tensor`."""
    if is_pil(pic):
        pixels = _pixels(pic)
        if pic.mode == "1":
            pixels = pixels.mul(255)
    else:
        pixels = _of_array(pic)
    if pixels.dtype is uint8:
        return _scaled(pixels)
    return pixels.permute(2, 0, 1).contiguous()


def _of_array(pic: Any) -> Tensor:
    numpy = sys.modules.get("numpy")
    if numpy is None or not isinstance(pic, numpy.ndarray):
        raise TypeError(f"pic should be PIL Image or ndarray. Got {type(pic)}")
    if pic.ndim not in (2, 3):
        raise ValueError(f"pic should be 2/3 dimensional. Got {pic.ndim} dimensions.")
    return ops.from_numpy(pic[:, :, None] if pic.ndim == 2 else pic)


def pil_to_tensor(pic: Any) -> Tensor:
    """See `functional.pil_to_tensor`."""
    if not is_pil(pic):
        raise TypeError(f"pic should be PIL Image. Got {type(pic)}")
    if pic.mode in ("1", _SIXTEEN):  # as Pillow gives them to NumPy: truth values, unsigned words
        import numpy as np

        width, height = pic.size
        return ops.from_numpy(np.array(pic)).view(height, width, 1).permute(2, 0, 1)
    return _pixels(pic).permute(2, 0, 1)


#: Channels -> the modes of an image with so many; the first is the one for bytes.
_MODES = {2: ["LA"], 3: ["RGB", "YCbCr", "HSV"], 4: ["RGBA", "CMYK", "RGBX"]}
_SINGLE = {"uint8": "L", "int16": _SIXTEEN, "int32": "I", "float32": "F"}


def to_pil_image(pic: Any, mode: str | None = None) -> Any:
    """See `functional.to_pil_image`."""
    numpy = sys.modules.get("numpy")
    if isinstance(pic, Tensor):
        array = (pic.permute(1, 2, 0) if pic.ndim == 3 else pic).numpy(force=True)
    elif numpy is not None and isinstance(pic, numpy.ndarray):
        array = pic
    else:
        raise TypeError(f"pic should be Tensor or ndarray. Got {type(pic)}.")
    if array.ndim == 2:
        array = array[:, :, None]
    if array.ndim != 3:
        raise ValueError(f"pic should be 2/3 dimensional. Got {array.ndim} dimensions.")
    count = array.shape[-1]
    if count > 4:
        raise ValueError(f"pic should not have > 4 channels. Got {count} channels.")
    if array.dtype.kind == "f" and mode != "F":
        array = (array * 255).astype("uint8")
    kind = array.dtype.name
    if count == 1:
        expected = _SINGLE.get(kind)
        if mode is not None and mode != expected:
            raise ValueError(f"Incorrect mode ({mode}) supplied for input type {array.dtype}. "
                             f"Should be {expected}")
        mode, array = expected, array[:, :, 0]
    elif mode is None:
        mode = _MODES.get(count, [None])[0] if kind == "uint8" else None
    elif mode not in _MODES.get(count, _MODES[3]):
        raise ValueError(f"Only modes {_MODES.get(count, _MODES[3])} are supported for {count}D "
                         "inputs")
    if mode is None:
        raise TypeError(f"Input type {array.dtype} is not supported")
    return from_array(array, mode)


def _refuse_unsafe(given: DType, wanted: DType, verb: str) -> None:
    exact = {float32: (dtypes.int32, dtypes.int64), dtypes.float64: (dtypes.int64,)}
    if wanted in exact.get(given, ()):
        raise RuntimeError(f"The {verb} from {given} to {wanted} cannot be performed safely.")


def to_dtype_image(image: Tensor, dtype: DType = float32, scale: bool = False) -> Tensor:
    """Pixels of another type; with `scale` white stays white (1 for floating point types)."""
    given = image.dtype
    if given is dtype:
        return image
    if not scale:
        return image.to(dtype)
    if given.is_floating_point:
        if dtype.is_floating_point:
            return image.to(dtype)
        _refuse_unsafe(given, dtype, "conversion")
        return image.mul(largest(dtype) + 1.0 - 1e-3).to(dtype)
    if dtype.is_floating_point:
        return image.to(dtype).mul_(1.0 / largest(given))
    shift = value_bits(given) - value_bits(dtype)
    if shift > 0:
        if given is dtypes.uint16:
            return (image / 2**shift).to(dtype)
        return image.bitwise_right_shift(shift).to(dtype)
    if dtype is dtypes.uint16:
        return image.to(dtype) * 2**-shift
    return image.to(dtype).bitwise_left_shift_(-shift)


def convert_image_dtype(image: Tensor, dtype: DType = float32) -> Tensor:
    """`to_dtype_image` with scaling, rounded as the first version of transforms does."""
    given = image.dtype
    if given is dtype:
        return image
    if given.is_floating_point and not dtype.is_floating_point:
        _refuse_unsafe(given, dtype, "cast")
    elif dtype.is_floating_point and not given.is_floating_point:
        return image.to(dtype) / float(largest(given))
    elif dtypes.bool_ in (given, dtype) and not given.is_floating_point:
        more, less = largest(dtype) + 1, largest(given) + 1  # values, of which a bool has two
        if more > less:
            return image.to(dtype).mul(more // less)
        return image.div(less // more, rounding_mode="floor").to(dtype)
    return to_dtype_image(image, dtype, scale=True)


@lru_cache(maxsize=64)
def _constants(values: tuple[float, ...] | float, dtype: DType, device: Any) -> Tensor:
    """Channel values as a (channels, 1, 1) tensor, shared by all calls (nothing writes to it)."""
    with inference_mode(False):
        made = ops.tensor(values, dtype=dtype, device=device)
    return made.view(-1, 1, 1) if made.ndim == 1 else made


def channel_values(values: Any, image: Tensor) -> Tensor:
    """A list of numbers, one a channel, or a tensor, to be combined with an image."""
    if isinstance(values, (list, tuple)) and all(type(v) in (int, float) for v in values):
        return _constants(tuple(values), image.dtype, image.device)
    made = ops.as_tensor(values, dtype=image.dtype, device=image.device)
    return made.view(-1, 1, 1) if made.ndim == 1 else made


def normalize_image(image: Tensor, mean: Any, std: Any, inplace: bool = False) -> Tensor:
    """`(image - mean) / std` in each channel. Raises TypeError for pixels that are whole numbers,
    ValueError for a tensor of fewer than three dimensions or a deviation of zero."""
    if not image.is_floating_point():
        raise TypeError(f"Input tensor should be a float tensor. Got {image.dtype}.")
    if image.ndim < 3:
        raise ValueError("Expected tensor to be a tensor image of size (..., C, H, W). "
                         f"Got {image.shape}.")
    numbers = std if isinstance(std, (tuple, list)) else [std]
    if any(isinstance(s, (int, float)) and not s for s in numbers):
        raise ValueError("std evaluated to zero, leading to division by zero.")
    mean, std = channel_values(mean, image), channel_values(std, image)
    return (image.sub_(mean) if inplace else image.sub(mean)).div_(std)


def erase_image(image: Tensor, i: int, j: int, h: int, w: int, v: Any,
                inplace: bool = False) -> Tensor:
    """A copy (or the image itself) with `v` in rows `i:i+h`, columns `j:j+w`."""
    one_colour = isinstance(v, Tensor) and v.ndim == 3 and v.shape[-2:] == (1, 1)
    if inplace or not one_colour or image.ndim < 3:
        image = image if inplace else image.clone()
        image[..., i:i + h, j:j + w] = v
        return image
    # one colour: chosen by a mask, whose kernels serve every size of the part
    height, width = image.shape[-2:]
    y, x = (_counted(n, image.device) for n in (height, width))
    inside = ((y >= i) & (y < i + h)).unsqueeze(-1) & ((x >= j) & (x < j + w))
    return ops.where(inside, v.to(image), image)


@lru_cache(maxsize=64)
def _counted(length: int, device: Any) -> Tensor:
    with inference_mode(False):
        return ops.arange(length, device=device)
