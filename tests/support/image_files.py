"""Small encoded images of many kinds, made by Pillow and by a writer of PNG files of 16 bits."""

import io
import struct
import zlib

import numpy as np
from PIL import Image


def picture(*shape, top=255):
    """A smooth picture with some noise, (height, width[, bands])."""
    height, width, bands = (*shape, 1)[:3]
    rows, columns, band = np.mgrid[:height, :width, :bands]
    values = (rows * 23 + columns * 17 + band * 71 + (rows * columns * 7) % 13) * top // 255
    return (values % (top + 1)).reshape(shape)


def colours(mode, height=9, width=11):
    bands = len(Image.new(mode, (1, 1)).getbands())
    shape = (height, width) if bands == 1 else (height, width, bands)
    return Image.frombytes(mode, (width, height), picture(*shape).astype(np.uint8).tobytes())


def saved(image, kind, **options):
    made = io.BytesIO()
    image.save(made, kind, **options)
    return made.getvalue()


def chunk(kind, content):
    return (struct.pack(">I", len(content)) + kind + content
            + struct.pack(">I", zlib.crc32(kind + content)))


def png(colour_type, bits, rows, *extra):
    """A PNG file of ready-made rows of bytes, unfiltered but for every other one."""
    height, width, lines = rows
    before = bytes(len(lines[0]))
    packed = b""
    for number, line in enumerate(lines):
        if number % 2:
            packed += b"\x02" + bytes((a - b) % 256 for a, b in zip(line, before, strict=True))
        else:
            packed += b"\x00" + line
        before = line
    head = struct.pack(">IIBBBBB", width, height, bits, colour_type, 0, 0, 0)
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + b"".join(extra)
            + chunk(b"IDAT", zlib.compress(packed)) + chunk(b"IEND", b""))


def wide_png(colour_type, bands):
    array = picture(5, 6, bands, top=65535).astype(">u2")
    return png(colour_type, 16, (5, 6, [row.tobytes() for row in array]))


def turned(kind, orientation):
    image = colours("RGB", 5, 8)
    exif = image.getexif()
    exif[0x0112] = orientation
    return saved(image, kind, exif=exif, **({"quality": 95} if kind == "JPEG" else {}))


def palette_image(count=7, alpha=False):
    image = colours("RGB").quantize(count)
    return saved(image, "PNG", **({"transparency": bytes([0, 99, 200])} if alpha else {}))


def moving(disposal, transparent=False):
    pictures = []
    for number in range(3):
        image = Image.new("P", (10, 8), 0)
        image.putpalette([0, 0, 0, 250, 9, 9, 9, 250, 9, 9, 9, 250])
        image.paste(number + 1, (number * 2, 1, number * 2 + 3, 5))
        pictures.append(image)
    options = {"transparency": 0} if transparent else {}
    return saved(pictures[0], "GIF", save_all=True, append_images=pictures[1:], disposal=disposal,
                 optimize=False, **options)


def files():
    """name -> encoded bytes; the first part of a name is the format."""
    rgb, made = colours("RGB"), {}
    for mode in ("1", "L", "LA", "RGB", "RGBA"):
        image = rgb.convert("1") if mode == "1" else colours(mode)
        made[f"png {mode}"] = saved(image, "PNG")
    made["png P"] = palette_image()
    made["png P 8"] = palette_image(99)
    made["png P alpha"] = palette_image(alpha=True)
    made["png RGB key"] = saved(rgb, "PNG", transparency=tuple(rgb.getpixel((0, 0))))
    made["png gray 2"] = png(0, 2, (2, 4, [b"\x1b", b"\xe4"]))
    made["png gray 4"] = png(0, 4, (2, 4, [b"\x01\x9f", b"\xe4\x20"]))
    for name, kind, bands in (("L", 0, 1), ("RGB", 2, 3), ("LA", 4, 2), ("RGBA", 6, 4)):
        made[f"png 16 {name}"] = wide_png(kind, bands)
    for orientation in range(1, 9):
        made[f"png turned {orientation}"] = turned("PNG", orientation)
    made["jpeg L"] = saved(colours("L"), "JPEG")
    made["jpeg RGB"] = saved(rgb, "JPEG", quality=60)
    made["jpeg RGB fine"] = saved(rgb, "JPEG", quality=95, subsampling=0, progressive=True)
    made["jpeg CMYK"] = saved(colours("CMYK"), "JPEG", quality=95)
    for orientation in (3, 6, 8):
        made[f"jpeg turned {orientation}"] = turned("JPEG", orientation)
    made["gif one"] = saved(rgb, "GIF")
    made["gif gray"] = saved(colours("L"), "GIF")
    for disposal in (0, 1, 2):
        made[f"gif moving {disposal}"] = moving(disposal)
        made[f"gif see-through {disposal}"] = moving(disposal, transparent=True)
    made["webp RGB"] = saved(rgb, "WEBP", lossless=True)
    made["webp RGBA"] = saved(colours("RGBA"), "WEBP", lossless=True, exact=True)
    made["webp lossy"] = saved(colours("RGB", 16, 16), "WEBP", quality=80)
    return made


MODES = ("UNCHANGED", "GRAY", "GRAY_ALPHA", "RGB", "RGB_ALPHA")
#: Where torchvision gives memory that was never written, or an opaque alpha of 1, 3 or 15.
FAULTS = {("png P", "UNCHANGED"), ("png P alpha", "UNCHANGED"),
          *((name, mode) for name in ("png 1", "png P", "png P 8", "png gray 2", "png gray 4")
            for mode in ("GRAY_ALPHA", "RGB_ALPHA"))}


def decoded(io_module, data, mode, turn):
    """Shape, dtype and checksum of an image, or the class of the error."""
    try:
        image = io_module.decode_image(data, mode, turn)
    except RuntimeError as error:
        return type(error).__name__
    values = image.contiguous().numpy()
    return [list(values.shape), values.dtype.name, zlib.crc32(values.tobytes())]


def all_decoded(io_module, tensor_of, name, content):
    """What a file gives in each mode."""
    data, turn = tensor_of(content), " turned " in name
    return {mode: decoded(io_module, data, mode, turn) for mode in MODES
            if (name, mode) not in FAULTS}
