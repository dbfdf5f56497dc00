"""Encoded images to tensors and back, through Pillow: the bytes that torchvision's decoders give.

Images are uint8 (channels, height, width), 16-bit PNG files uint16; what has been encoded is a
uint8 tensor of one dimension. Whatever is wrong with a file is a RuntimeError.
"""

from __future__ import annotations

import io
import os
from enum import Enum
from typing import Any

from ... import functional as ops
from ..._tensor import Tensor
from ...base.frames import warn
from ...core.dtypes import uint8
from ..transforms.kernels.pillow import pillow
from ._decoding import damage, frames, oriented, png_pixels, tensor_of

__all__ = [
    "ImageReadMode", "decode_avif", "decode_gif", "decode_heic", "decode_image", "decode_jpeg",
    "decode_png", "decode_webp", "encode_jpeg", "encode_png", "read_file", "read_image",
    "write_file", "write_jpeg", "write_png",
]

AnyPath = str | os.PathLike[str]


class ImageReadMode(Enum):
    """What colours an image is decoded to; the functions take the names as strings, too."""

    UNCHANGED = 0
    GRAY = 1
    GRAY_ALPHA = 2
    RGB = 3
    RGB_ALPHA = 4
    RGBA = RGB_ALPHA


Mode = ImageReadMode | str
_UNCHANGED = ImageReadMode.UNCHANGED


def _mode(mode: Mode) -> ImageReadMode:
    chosen = ImageReadMode[mode.upper()] if isinstance(mode, str) else mode
    if not isinstance(chosen, ImageReadMode):
        raise TypeError(f"mode should be an ImageReadMode or its name, got {type(mode)}")
    return chosen


# --- files ----------------------------------------------------------------------------------------


def read_file(path: AnyPath) -> Tensor:
    """The bytes of a file, uint8 (N,). Raises RuntimeError if it is empty or cannot be read."""
    name = os.fspath(path)
    try:
        with open(name, "rb") as file:
            content = bytearray(file.read())
    except OSError as error:
        raise RuntimeError(f"[Errno {error.errno}] {error.strerror}: '{name}'") from None
    if not content:
        raise RuntimeError(f"Expected a non empty file, got '{name}'")
    return ops.frombuffer(content, dtype=uint8)


def write_file(filename: AnyPath, data: Tensor) -> None:
    """Write a uint8 tensor (N,) as a file. Raises RuntimeError if it is none or that fails."""
    _check(data, 1)
    try:
        with open(filename, "wb") as file:
            file.write(_bytes(data))
    except OSError as error:
        raise RuntimeError(f"Error opening output file: {error}") from None


def _check(data: Any, rank: int) -> None:
    if not isinstance(data, Tensor):
        raise TypeError(f"expected a tensor, got {type(data)}")
    if data.device.type != "cpu":
        raise RuntimeError("Input tensor should be on CPU")
    if data.dtype is not uint8:
        raise RuntimeError(f"Input tensor dtype should be uint8, got {data.dtype}")
    if data.ndim != rank:
        raise RuntimeError(f"Input data should be a {rank}-dimensional tensor, got {data.ndim}")


def _bytes(data: Tensor) -> bytes:
    return data.detach().numpy().tobytes()


def _encoded(data: Any) -> bytes:
    """The bytes of a tensor that holds an encoded image."""
    if not isinstance(data, Tensor):
        raise TypeError(f"expected a tensor of encoded bytes, got {type(data)}")
    if not data.is_contiguous():
        raise RuntimeError("Input tensor must be contiguous.")
    if data.dtype is not uint8:
        raise RuntimeError(f"Input tensor must have uint8 data type, got {data.dtype}")
    if data.ndim != 1 or data.numel() == 0:
        raise RuntimeError("Input tensor must be 1-dimensional and non-empty, got "
                           f"{data.ndim} dims and {data.numel()} numels.")
    return _bytes(data)


# --- decoding -------------------------------------------------------------------------------------


def decode_image(input: Tensor | AnyPath, mode: Mode = _UNCHANGED,
                 apply_exif_orientation: bool = False) -> Tensor:
    """The pixels of a JPEG, PNG, GIF or WebP image.

    Args:
        input: the path of a file, or its bytes, uint8 (N,).
        mode: which colours: an `ImageReadMode` or its name. Not all formats have all.
        apply_exif_orientation: turn the image as its EXIF data say (JPEG and PNG).

    Returns:
        uint8 (channels, height, width); uint16 for PNG files of 16 bits; of a GIF with several
        pictures (pictures, 3, height, width).

    Raises:
        RuntimeError: an unknown format, a damaged file, or a mode that the format has not.
        KeyError: an unknown name of a mode.

    Example::

        >>> from yesca.vision import io
        >>> io.decode_image(io.encode_png(torch.zeros(3, 4, 5, dtype=torch.uint8))).shape
        torch.Size([3, 4, 5])
    """
    if not isinstance(input, Tensor):
        input = read_file(input)
    start = _encoded(input[:16])
    if start.startswith(b"\xff\xd8\xff"):
        return decode_jpeg(input, mode, apply_exif_orientation=apply_exif_orientation)
    if start.startswith(b"\x89PNG"):
        return decode_png(input, mode, apply_exif_orientation)
    if start.startswith((b"GIF87a", b"GIF89a")):
        return decode_gif(input)
    if start.startswith(b"RIFF") and start[8:15] == b"WEBPVP8":
        return decode_webp(input, mode)
    raise RuntimeError(
        "Unsupported image file. Only jpeg, png, webp and gif are currently supported. For avif "
        f"and heic format, please rely on `decode_avif` and `decode_heic` directly. The file "
        f"begins with {start[:8]!r}.")


def read_image(path: AnyPath, mode: Mode = _UNCHANGED,
               apply_exif_orientation: bool = False) -> Tensor:
    """`decode_image` of a path, under its older name."""
    return decode_image(read_file(path), mode, apply_exif_orientation)


def decode_jpeg(input: Tensor | list[Tensor], mode: Mode = _UNCHANGED, device: Any = "cpu",
                apply_exif_orientation: bool = False) -> Tensor | list[Tensor]:
    """The pixels of a JPEG image, or of each in a list: modes UNCHANGED, GRAY and RGB.

    Raises ValueError for an empty list or one of other things than tensors, RuntimeError for what
    is no such image, or another mode or device.
    """
    mode = _mode(mode)
    if getattr(device, "type", device) != "cpu":
        raise RuntimeError(f"decode_jpeg decodes on the CPU only, got device {device}")
    if isinstance(input, list):
        if not input:
            raise ValueError("Input list must contain at least one element")
        if not all(isinstance(data, Tensor) for data in input):
            raise ValueError("All elements of the input list must be tensors.")
        return [_jpeg(data, mode, apply_exif_orientation) for data in input]
    return _jpeg(input, mode, apply_exif_orientation)


def _jpeg(data: Tensor, mode: ImageReadMode, turn: bool) -> Tensor:
    content = _encoded(data)
    if not content.startswith(b"\xff\xd8"):
        raise RuntimeError(f"Not a JPEG file: starts with {content[:2]!r}")
    if mode not in (_UNCHANGED, ImageReadMode.GRAY, ImageReadMode.RGB):
        raise RuntimeError(f"The provided mode is not supported for JPEG files: {mode.name}")
    with damage("JPEG"), pillow().open(io.BytesIO(content), formats=["JPEG"]) as image:
        if mode is ImageReadMode.GRAY and image.mode != "L":
            image.draft("L", None)  # the decoder's own brightness, where it has one
            image = image if image.mode == "L" else image.convert("RGB").convert("L")
        elif mode is ImageReadMode.RGB and image.mode != "RGB":
            image = image.convert("RGB")
        if image.mode == "CMYK" and "adobe" in image.info:  # Pillow turns these; they are as filed
            return oriented(255 - tensor_of(image), image, turn)
        return oriented(tensor_of(image), image, turn)


def decode_png(input: Tensor, mode: Mode = _UNCHANGED,
               apply_exif_orientation: bool = False) -> Tensor:
    """The pixels of a PNG image, uint8, or uint16 if it has 16 bits; UNCHANGED gives the numbers
    of colours where the file has a palette. Raises RuntimeError for what is no such image."""
    content, mode = _encoded(input), _mode(mode)
    if len(content) < 8:
        raise RuntimeError("Content is too small for png!")
    if not content.startswith(b"\x89PNG\r\n\x1a\n"):
        raise RuntimeError("Content is not png!")
    with damage("PNG"), pillow().open(io.BytesIO(content), formats=["PNG"]) as image:
        pixels = png_pixels(image, mode.name)
        return oriented(pixels, image, apply_exif_orientation)


def decode_gif(input: Tensor) -> Tensor:
    """The pictures of a GIF image in RGB: (3, H, W), or (N, 3, H, W) of several. Raises
    RuntimeError for what is no such image."""
    content = _encoded(input)
    if not content.startswith((b"GIF87a", b"GIF89a")):
        raise RuntimeError(f"Not a GIF file: starts with {content[:6]!r}")
    with damage("GIF"), pillow().open(io.BytesIO(content), formats=["GIF"]) as image:
        pictures = frames(image)
    return pictures[0] if len(pictures) == 1 else ops.stack(pictures)


def decode_webp(input: Tensor, mode: Mode = _UNCHANGED) -> Tensor:
    """The pixels of a WebP image, in RGB or RGBA: UNCHANGED gives what the file has. Raises
    RuntimeError for what is no such image, and for moving ones."""
    content, mode = _encoded(input), _mode(mode)
    if mode in (ImageReadMode.GRAY, ImageReadMode.GRAY_ALPHA):
        warn("Webp does not support grayscale conversions. The returned tensor will be in the "
             "colorspace of the original image.")
        mode = _UNCHANGED
    with damage("WEBP"), pillow().open(io.BytesIO(content), formats=["WEBP"]) as image:
        if getattr(image, "is_animated", False):
            raise RuntimeError("Animated webp files are not supported.")
        return _colours(image, mode)


def _colours(image: Any, mode: ImageReadMode) -> Tensor:
    if mode is ImageReadMode.RGB_ALPHA:
        return tensor_of(image if image.mode == "RGBA" else image.convert("RGBA"))
    if mode is ImageReadMode.RGB and image.mode == "RGBA":
        return tensor_of(image)[:3]  # without its alpha, not on some ground
    return tensor_of(image if image.mode in ("RGB", "RGBA") else image.convert("RGB"))


def decode_avif(input: Tensor, mode: Mode = _UNCHANGED) -> Tensor:
    """The pixels of an AVIF image, in RGB or RGBA, eight bits each. Raises RuntimeError for what
    is no such image, or if Pillow was built without that format."""
    content, mode = _encoded(input), _mode(mode)
    if not pillow("features").check("avif"):
        raise RuntimeError("this build of Pillow has no AVIF: pip install 'pillow>=11.3'")
    with damage("AVIF"), pillow().open(io.BytesIO(content), formats=["AVIF"]) as image:
        return _colours(image, mode)


def decode_heic(input: Tensor, mode: Mode = _UNCHANGED) -> Tensor:
    """The pixels of a HEIC image, in RGB or RGBA, through the package `pillow_heif`. Raises
    RuntimeError for what is no such image, or if that package is missing."""
    content, mode = _encoded(input), _mode(mode)
    try:
        import pillow_heif
    except ImportError:
        raise RuntimeError("HEIC images need another package: pip install pillow-heif") from None
    with damage("HEIC"):
        return _colours(pillow_heif.open_heif(io.BytesIO(content)).to_pillow(), mode)


# --- encoding -------------------------------------------------------------------------------------


def _image(input: Any) -> Any:
    """A PIL image of a tensor (1 or 3, height, width)."""
    _check(input, 3)
    channels, height, width = input.shape
    if channels not in (1, 3):
        raise RuntimeError(f"The number of channels should be 1 or 3, got: {channels}")
    if not height or not width:
        raise RuntimeError(f"an image needs pixels, got {height} x {width}")
    return pillow().frombytes("L" if channels == 1 else "RGB", (width, height),
                              _bytes(input.permute(1, 2, 0)))


def _saved(image: Any, kind: str, **options: Any) -> Tensor:
    made = io.BytesIO()
    with damage(kind):
        image.save(made, kind, **options)
    return ops.frombuffer(bytearray(made.getbuffer()), dtype=uint8)


def encode_png(input: Tensor, compression_level: int = 6) -> Tensor:
    """The bytes of a PNG file of an image.

    Args:
        input: uint8 (1 or 3, height, width).
        compression_level: 0 (fast, large) to 9 (slow, small).

    Raises RuntimeError for anything else.
    """
    if not 0 <= compression_level <= 9:
        raise RuntimeError("Compression level should be between 0 and 9, got "
                           f"{compression_level}")
    return _saved(_image(input), "PNG", compress_level=compression_level)


def write_png(input: Tensor, filename: AnyPath, compression_level: int = 6) -> None:
    """`encode_png` into a file."""
    write_file(filename, encode_png(input, compression_level))


def encode_jpeg(input: Tensor | list[Tensor], quality: int = 75) -> Tensor | list[Tensor]:
    """The bytes of a JPEG file of an image, or of each in a list.

    Args:
        input: uint8 (1 or 3, height, width).
        quality: 1 (small) to 100 (good).

    Raises:
        ValueError: another quality, or an empty list.
        RuntimeError: another tensor.
    """
    if quality < 1 or quality > 100:
        raise ValueError("Image quality should be a positive number between 1 and 100")
    if isinstance(input, list):
        if not input:
            raise ValueError(
                "encode_jpeg requires at least one input tensor when a list is passed")
        return [_saved(_image(image), "JPEG", quality=quality) for image in input]
    return _saved(_image(input), "JPEG", quality=quality)


def write_jpeg(input: Tensor, filename: AnyPath, quality: int = 75) -> None:
    """`encode_jpeg` into a file."""
    data = encode_jpeg(input, quality)
    if isinstance(data, list):
        raise TypeError("write_jpeg writes one image, got a list")
    write_file(filename, data)
