"""What Pillow gives, as the tensors that are expected of a decoder."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from ... import functional as ops
from ..._tensor import Tensor
from ...core.dtypes import uint8

__all__ = ["damage", "frames", "oriented", "png_pixels", "tensor_of"]

_ORIENTATION = 0x0112  # of EXIF
#: Orientation -> whether rows and columns change places, and what is turned round after that.
_TURNS = {2: (False, (2,)), 3: (False, (1, 2)), 4: (False, (1,)), 5: (True, ()), 6: (True, (2,)),
          7: (True, (1, 2)), 8: (True, (1,))}


@contextmanager
def damage(kind: str) -> Iterator[None]:
    """What damaged images raise, as RuntimeErrors."""
    try:
        yield
    except (EOFError, IndexError, KeyError, OSError, OverflowError, SyntaxError, TypeError,
            ValueError, struct.error, zlib.error) as error:
        raise RuntimeError(f"{kind} image is incomplete or damaged: {error}") from error


def tensor_of(image: Any) -> Tensor:
    """The bytes of a PIL image, (bands, height, width), in memory of their own."""
    width, height = image.size
    content = ops.frombuffer(bytearray(image.tobytes()), dtype=uint8)
    return content.view(height, width, len(image.getbands())).permute(2, 0, 1)


def oriented(pixels: Tensor, image: Any, wanted: bool) -> Tensor:
    """The pixels turned as the EXIF data of their image say, if that is wanted."""
    orientation = image.getexif().get(_ORIENTATION) if wanted else None
    if orientation not in _TURNS:
        return pixels
    swapped, turned = _TURNS[orientation]
    pixels = pixels.transpose(1, 2) if swapped else pixels
    return pixels.flip(turned) if turned else pixels.contiguous()


def frames(image: Any) -> list[Tensor]:
    """All pictures of an image that may move, in RGB."""
    pictures = []
    for number in range(getattr(image, "n_frames", 1)):
        image.seek(number)
        pictures.append(tensor_of(image.convert("RGB")))
    return pictures


# --- PNG ------------------------------------------------------------------------------------------


def _raw(image: Any) -> str:
    """How the pixels lie in the file, in Pillow's words."""
    return str(image.tile[0][3]) if image.tile else ""


def _as_filed(image: Any, mode: str, raw: str) -> Any:
    """The bytes of a file that has not been loaded, (height, width[, bands]), read as `raw`."""
    first = image.tile[0]
    image.tile = [first._replace(args=raw) if isinstance(first, tuple) and hasattr(
        first, "_replace") else (*first[:3], raw)]
    image._mode = mode
    return np.asarray(image)


def _wide(image: Any) -> Any:
    """The pixels of a PNG of 16 bits, (height, width, bands). Pillow reads high bytes only; read
    in the other order the low ones are the high ones."""
    from ..transforms.kernels.pillow import pillow

    raw, file = _raw(image), image.fp
    if raw.startswith("I;16"):
        return np.asarray(image).astype(np.uint16)[:, :, None]
    if raw.startswith("LA"):  # four bytes a pixel, as in RGBA of eight bits
        content = _as_filed(image, "RGBA", "RGBA").astype(np.uint16)
        return content[:, :, ::2] << 8 | content[:, :, 1::2]
    mode = "RGBA" if raw.startswith("RGBA") else "RGB"
    file.seek(0)
    with pillow().open(file, formats=["PNG"]) as again:
        low = _as_filed(again, mode, f"{mode};16L").astype(np.uint16)
        file.seek(0)
        with pillow().open(file, formats=["PNG"]) as once_more:
            return np.asarray(once_more).astype(np.uint16) << 8 | low


def _gray(pixels: Any) -> Any:
    """Brightness by the whole numbers that libpng calculates with; gray stays as it is."""
    red, green, blue = (pixels[:, :, band].astype(np.int64) for band in range(3))
    weighted = 9794 * red + 19234 * green + 3740 * blue
    half = 16384 if pixels.dtype == np.uint16 else 0
    same = (red == green) & (green == blue)
    return np.where(same, red, (weighted + half) >> 15).astype(pixels.dtype)[:, :, None]


def png_pixels(image: Any, mode: str) -> Tensor:
    """The pixels of a PNG, with the bands of a mode of `ImageReadMode`."""
    if _raw(image).endswith(";16B"):
        pixels = _wide(image)
    elif image.mode == "P" and mode != "UNCHANGED":
        pixels = np.asarray(image.convert("RGBA"))
    elif image.mode == "1":
        pixels = np.asarray(image.convert("L"))
    else:
        pixels = np.asarray(image)
    if pixels.ndim == 2:
        pixels = pixels[:, :, None]
    bands = pixels.shape[2]
    if mode != "UNCHANGED":
        white = np.full_like(pixels[:, :, :1], np.iinfo(pixels.dtype).max)
        colour = pixels[:, :, :bands - 1 + bands % 2]
        alpha = pixels[:, :, bands - 1:] if bands % 2 == 0 else white
        if mode.startswith("GRAY"):
            colour = _gray(colour) if colour.shape[2] == 3 else colour
        else:
            colour = np.broadcast_to(colour, (*colour.shape[:2], 3))
        pixels = np.concatenate([colour, alpha], 2) if mode.endswith("ALPHA") else colour
    return ops.from_numpy(np.array(pixels)).permute(2, 0, 1)
