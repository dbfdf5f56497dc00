"""Colours of tensors [..., C, H, W]: brightness, hue, bits, histograms.

`apart`: products and sums are rounded one by one, as the first version of the interface does; the
second multiplies and adds in one step. Bytes that are cut off tell the difference.
"""

from __future__ import annotations

from typing import Any

from .... import functional as ops
from ...._tensor import Tensor
from ....core.dtypes import float32, int32, uint8
from ....nn.functional import conv2d
from .conversion import largest, to_dtype_image, value_bits

__all__: list[str] = []

_GREY = (0.2989, 0.587, 0.114)


def check_channels(image: Tensor, name: str = "", factor: float = 0.0) -> int:
    """How many channels an image has. Raises ValueError for a negative factor of that name,
    TypeError unless there are 1 or 3."""
    if factor < 0:
        raise ValueError(f"{name} ({factor}) is not non-negative.")
    count = image.shape[-3] if image.ndim > 2 else 1
    if count not in (1, 3):
        raise TypeError("Input image tensor permitted channel values are 1 or 3, "
                        f"but found {count}")
    return count


def _grey(image: Tensor, apart: bool = False) -> Tensor:
    """The luminance of a coloured image, (..., 1, H, W), in floating point."""
    red, green, blue = image.unbind(dim=-3)
    if apart:
        grey = red.mul(_GREY[0]).add_(green.mul(_GREY[1])).add_(blue.mul(_GREY[2]))
        return grey.unsqueeze(dim=-3)
    grey = red.mul(_GREY[0]).add_(green, alpha=_GREY[1]).add_(blue, alpha=_GREY[2])
    return grey.unsqueeze(dim=-3)


def rgb_to_grayscale_image(image: Tensor, num_output_channels: int = 1,
                           apart: bool = False) -> Tensor:
    """The luminance, in one channel or in three equal ones."""
    if num_output_channels not in (1, 3):
        raise ValueError(f"num_output_channels must be 1 or 3, got {num_output_channels}.")
    if image.shape[-3] == 1:
        if num_output_channels == 1:
            return image.clone()
        return image.repeat(*((1,) * (image.ndim - 3)), 3, 1, 1)
    grey = _grey(image, apart).to(image.dtype)
    return grey.expand(image.shape) if num_output_channels == 3 else grey


def grayscale_to_rgb_image(image: Tensor) -> Tensor:
    """Three equal channels of a grey image; a coloured one as it is."""
    return image if image.shape[-3] >= 3 else rgb_to_grayscale_image(image, 3)


def _bounded(output: Tensor, image: Tensor) -> Tensor:
    """Between black and white, in the type of the pixels."""
    return output.clamp_(0, largest(image.dtype)).to(image.dtype)


def _blend(image: Tensor, other: Tensor, ratio: float, apart: bool = False) -> Tensor:
    ratio = float(ratio)
    if apart:
        return _bounded(image.mul(ratio).add(other.mul(1.0 - ratio)), image)
    return _bounded(image.mul(ratio).add_(other, alpha=1.0 - ratio), image)


def adjust_brightness_image(image: Tensor, brightness_factor: float) -> Tensor:
    """0 is black, 1 the image, 2 twice as bright."""
    check_channels(image, "brightness_factor", brightness_factor)
    return _bounded(image.mul(float(brightness_factor)), image)


def _floored_grey(image: Tensor, apart: bool) -> Tensor:
    grey = _grey(image, apart)
    return grey if image.is_floating_point() else grey.floor_()


def adjust_saturation_image(image: Tensor, saturation_factor: float,
                            apart: bool = False) -> Tensor:
    """0 is grey, 1 the image, 2 twice as colourful."""
    if check_channels(image, "saturation_factor", saturation_factor) == 1:
        return image
    return _blend(image, _floored_grey(image, apart), saturation_factor, apart)


def adjust_contrast_image(image: Tensor, contrast_factor: float, apart: bool = False) -> Tensor:
    """0 is one grey all over, 1 the image, 2 twice the contrast."""
    if check_channels(image, "contrast_factor", contrast_factor) == 3:
        grey = _floored_grey(image, apart)
    else:
        grey = image if image.is_floating_point() else image.to(float32)
    mean = ops.mean(grey, dim=(-3, -2, -1), keepdim=True)
    return _blend(image, mean, contrast_factor, apart)


def adjust_sharpness_image(image: Tensor, sharpness_factor: float,
                           apart: bool = False) -> Tensor:
    """0 is smoothed, 1 the image, 2 twice as sharp; the outermost pixels stay."""
    count = image.shape[-3] if image.ndim > 2 else 1
    if count not in (1, 3):
        raise TypeError(f"Input image tensor can have 1 or 3 channels, but found {count}")
    check_channels(image, "sharpness_factor", sharpness_factor)
    shape = image.shape
    if image.numel() == 0 or min(shape[-2:]) <= 2:
        return image
    exact = image.is_floating_point()
    dtype = image.dtype if exact else float32
    weights = ops.full((3, 3), 1.0 / 13.0, dtype=dtype, device=image.device)
    weights[1, 1] = 5.0 / 13.0
    output = image.to(dtype=dtype, copy=True).reshape(-1, *shape[-3:])
    smooth = conv2d(output, weights.expand(count, 1, 3, 3), groups=count)
    if not exact:
        smooth = smooth.round_()
    inner = output[..., 1:-1, 1:-1]
    if apart:  # the outermost pixels are mixed with themselves, which may round them
        inner.copy_(smooth)
        return _blend(image, output.reshape(shape), sharpness_factor, apart)
    inner.add_(smooth.sub_(inner), alpha=1.0 - float(sharpness_factor))
    return _bounded(output.reshape(shape), image)


def _hue(image: Tensor, spread: Tensor, top: Tensor) -> Tensor:
    """The hue of pixels in [0, 1): a third for red to green, green to blue, blue to red."""
    red, green, _ = image.unbind(dim=-3)
    to_red, to_green, to_blue = ((top.unsqueeze(-3) - image) / spread.unsqueeze(-3)).unbind(-3)
    is_red = top == red
    is_green = (top == green) & ~is_red
    is_blue = ~(is_red | is_green)
    hue = (to_blue - to_green) * is_red
    hue = hue + (to_red + 2.0 - to_blue) * is_green + (to_green + 4.0 - to_red) * is_blue
    return hue.mul_(1.0 / 6.0).add_(1.0).fmod_(1.0)


def _coloured(hue: Tensor, saturation: Tensor, value: Tensor) -> Tensor:
    """Red, green and blue of hue, saturation and value."""
    sixths = hue * 6
    sector = sixths.floor()
    part = saturation * (sixths - sector)
    low = (1.0 - saturation).mul_(value).clamp_(0.0, 1.0)
    falling = (1.0 - part).mul_(value).clamp_(0.0, 1.0)
    rising = (part + (1.0 - saturation)).mul_(value).clamp_(0.0, 1.0)
    candidates = ops.stack((value, low, falling, rising), dim=-3)
    sector = sector.to(int32).remainder_(6)
    which = ops.tensor([[0, 2, 1, 1, 3, 0], [3, 0, 0, 2, 1, 1], [1, 1, 3, 0, 0, 2]],
                       device=hue.device)[:, sector]
    return candidates.gather(-3, which.moveaxis(0, -3))


def adjust_hue_image(image: Tensor, hue_factor: float) -> Tensor:
    """The hue moved on its circle, by a factor in [-0.5, 0.5] of a whole turn."""
    if not -0.5 <= hue_factor <= 0.5:
        raise ValueError(f"hue_factor ({hue_factor}) is not in [-0.5, 0.5].")
    if check_channels(image) == 1 or image.numel() == 0:
        return image
    dtype, image = image.dtype, to_dtype_image(image, float32, scale=True)
    bottom, top = ops.aminmax(image, dim=-3)
    grey = bottom == top
    saturation = (top - bottom) / top.masked_fill(grey, 1.0)
    hue = _hue(image, (top - bottom).masked_fill_(grey, 1.0), top)
    turned = hue.add_(hue_factor).remainder_(1.0)
    return to_dtype_image(_coloured(turned, saturation, top), dtype, scale=True)


def adjust_gamma_image(image: Tensor, gamma: float, gain: float = 1.0) -> Tensor:
    """`gain * image ** gamma`, of colours in [0, 1]."""
    if gamma < 0:
        raise ValueError(f"Gamma should be a non-negative real number, but got {gamma}")
    if image.is_floating_point():
        output = image.pow(gamma)
    else:
        output = to_dtype_image(image, float32, scale=True).pow_(gamma)
    if gain != 1.0:
        output = output.mul_(gain).clamp_(0.0, 1.0)
    return to_dtype_image(output, image.dtype, scale=True)


def posterize_image(image: Tensor, bits: int) -> Tensor:
    """The highest `bits` bits of each colour."""
    if not isinstance(bits, int) or not 0 <= bits <= 8:
        raise TypeError("bits must be a positive integer in the range [0, 8], "
                        f"got {bits} instead.")
    if image.is_floating_point():
        levels = 1 << bits
        return image.mul(levels).floor_().clamp_(0, levels - 1).mul_(1.0 / levels)
    whole = value_bits(image.dtype)
    if bits >= whole:
        return image
    return image & (((1 << bits) - 1) << (whole - bits))


def invert_image(image: Tensor) -> Tensor:
    """White minus the image."""
    if image.is_floating_point():
        return 1.0 - image
    if image.dtype is uint8:
        return image.bitwise_not()
    return image.bitwise_xor((1 << value_bits(image.dtype)) - 1)


def solarize_image(image: Tensor, threshold: float) -> Tensor:
    """Inverted where a colour reaches the threshold."""
    if threshold > largest(image.dtype):
        raise TypeError("Threshold should be less or equal the maximum value of the dtype, "
                        f"but got {threshold}")
    return ops.where(image >= threshold, invert_image(image), image)


def autocontrast_image(image: Tensor, multiply: bool = False) -> Tensor:
    """Each channel stretched so that it reaches from black to white.

    `multiply`: by the inverse of the range, whose last bit is another one (the first version of
    the interface does so).
    """
    check_channels(image)
    if image.numel() == 0:
        return image
    bound = largest(image.dtype)
    exact = image if image.is_floating_point() else image.to(float32)
    low = exact.amin(dim=(-2, -1), keepdim=True)
    high = exact.amax(dim=(-2, -1), keepdim=True)
    flat = high == low
    spread = high.sub_(low)
    scale = (bound / spread if multiply else spread.mul_(1.0 / bound)).masked_fill_(flat, 1.0)
    moved = exact.sub(low.masked_fill_(flat, 0.0))
    moved = moved.mul_(scale) if multiply else moved.div_(scale)
    return moved.clamp_(0, bound).to(image.dtype)


def equalize_image(image: Tensor) -> Tensor:
    """Each channel mapped so that all its values are about equally frequent."""
    if image.numel() == 0:
        return image
    dtype, image = image.dtype, to_dtype_image(image, uint8, scale=True)
    shape = image.shape[:-2]
    flat = image.flatten(start_dim=-2).long()
    counts = flat.new_zeros((*shape, 256), dtype=int32)
    counts.scatter_add_(-1, flat, counts.new_ones(1).expand_as(flat))
    sums = counts.cumsum(dim=-1)
    # the step leaves out the pixels of the brightest value that occurs
    brightest = sums.argmax(dim=-1, keepdim=True)
    rest = flat.shape[-1] - counts.gather(-1, brightest)
    step = rest.div_(255, rounding_mode="floor")
    table = sums[..., :-1].add_(step // 2).div_(step.clamp(min=1), rounding_mode="floor")
    table = table.clamp_(0, 255).to(uint8)
    table = ops.cat([table.new_zeros((*shape, 1)), table], dim=-1)
    equal = table.gather(-1, flat).view_as(image)
    return to_dtype_image(ops.where(step.ne(0).unsqueeze(-1), equal, image), dtype, scale=True)


def permute_channels_image(image: Tensor, permutation: Any) -> Tensor:
    """The channels in another order."""
    count = image.shape[-3]
    if len(permutation) != count:
        raise ValueError("Length of permutation does not match number of channels: "
                         f"{len(permutation)} != {count}")
    if image.numel() == 0:
        return image
    return image[..., permutation, :, :]
