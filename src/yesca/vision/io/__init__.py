"""Files of images, read to tensors and written from them."""

from typing import Any

from ..._lazy import lazily
from ...base import absent

_HOMES = {
    "image": "ImageReadMode decode_image decode_jpeg decode_png decode_avif decode_heic "
             "decode_webp decode_gif encode_jpeg encode_png read_file read_image write_file "
             "write_jpeg write_png",
}
_VIDEO = frozenset(
    "read_video read_video_timestamps write_video VideoReader video".split())

_find, __dir__, __all__ = lazily(__name__, _HOMES)


def __getattr__(name: str) -> Any:
    if name in _VIDEO:
        raise absent.error(__name__, name, " (torchvision has no video any more: the package "
                           "torchcodec reads and writes it, imageio and av give its frames)")
    return _find(name)
