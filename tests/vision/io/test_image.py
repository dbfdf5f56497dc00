"""Images of many kinds give the pixels of torchvision's decoders; what is wrong is told."""

import base64
import json
import subprocess
import sys
import warnings
from pathlib import Path

import pytest

import yesca as torch
from yesca.vision import io

pytest.importorskip("PIL", reason="images need Pillow")
import image_files  # noqa: E402  (needs Pillow)

RECORDED = json.loads((Path(__file__).parents[2] / "fixtures" / "vision_io.json").read_text())
FILES = {name: base64.b64decode(facts[0]) for name, facts in RECORDED.items()
         if not name.startswith("encoded")}


def tensor_of(content):
    return torch.frombuffer(bytearray(content), dtype=torch.uint8)


def picture(*shape):
    return torch.from_numpy(image_files.picture(*shape).astype("uint8"))


# --- decoding -------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", FILES)
def test_pixels(name):
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Webp does not support grayscale conversions")
        found = image_files.all_decoded(io, tensor_of, name, FILES[name])
    assert found == RECORDED[name][1]


@pytest.mark.parametrize("name", ["png 1", "png gray 2", "png gray 4", "png P"])
def test_added_alpha_is_opaque(name):
    for mode, opaque in (("GRAY_ALPHA", 1), ("RGBA", 3)):
        pixels = io.decode_png(tensor_of(FILES[name]), mode)
        assert (pixels[opaque] == 255).all()
        plain = io.decode_png(tensor_of(FILES[name]), mode.partition("_")[0].removesuffix("A"))
        assert torch.equal(pixels[:opaque], plain)


def test_numbers_of_colours():
    pixels = io.decode_png(tensor_of(FILES["png P"]))
    assert pixels.shape == (1, 9, 11) and pixels.max() == 6


def test_modes_by_name_and_number():
    data = tensor_of(FILES["jpeg RGB"])
    assert io.ImageReadMode.RGBA is io.ImageReadMode.RGB_ALPHA
    for mode in ("gray", "GRAY", io.ImageReadMode.GRAY):
        assert io.decode_jpeg(data, mode).shape == (1, 9, 11)
    with pytest.raises(KeyError, match="BLUE"):
        io.decode_image(data, "blue")
    with pytest.raises(TypeError, match="mode should be an ImageReadMode or its name"):
        io.decode_image(data, 1)
    for mode in ("GRAY_ALPHA", "RGBA"):
        with pytest.raises(RuntimeError, match="The provided mode is not supported for JPEG files"):
            io.decode_image(data, mode)


def test_lists_of_jpegs():
    data = [tensor_of(FILES["jpeg RGB"]), tensor_of(FILES["jpeg L"])]
    assert [image.shape for image in io.decode_jpeg(data)] == [(3, 9, 11), (1, 9, 11)]
    with pytest.raises(ValueError, match="must contain at least one element"):
        io.decode_jpeg([])
    with pytest.raises(ValueError, match="must be tensors"):
        io.decode_jpeg([b"x"])
    with pytest.raises(RuntimeError, match="decodes on the CPU only"):
        io.decode_jpeg(data, device="cuda")


def test_gray_webp_warns_and_moving_ones_are_refused():
    with pytest.warns(UserWarning, match="Webp does not support grayscale conversions"):
        assert io.decode_webp(tensor_of(FILES["webp RGB"]), "GRAY").shape == (3, 9, 11)
    pictures = [image_files.colours("RGB"), image_files.colours("RGB").rotate(180)]
    moving = image_files.saved(pictures[0], "WEBP", save_all=True, append_images=pictures[1:])
    with pytest.raises(RuntimeError, match="Animated webp files are not supported"):
        io.decode_image(tensor_of(moving))


def test_avif_and_heic(monkeypatch):
    from PIL import features

    if features.check("avif"):
        made = tensor_of(image_files.saved(image_files.colours("RGB", 16, 16), "AVIF", quality=90))
        assert io.decode_avif(made).shape == (3, 16, 16)
        assert io.decode_avif(made, "RGBA").shape == (4, 16, 16)
        with pytest.raises(RuntimeError, match="Unsupported image file. Only jpeg, png, webp and"):
            io.decode_image(made)
    monkeypatch.setattr(features, "check", lambda name: False)
    with pytest.raises(RuntimeError, match="has no AVIF: pip install"):
        io.decode_avif(tensor_of(b"x"))
    monkeypatch.setitem(sys.modules, "pillow_heif", None)
    with pytest.raises(RuntimeError, match="pip install pillow-heif"):
        io.decode_heic(tensor_of(b"x"))


@pytest.mark.parametrize("data, text", [
    (torch.zeros(0, dtype=torch.uint8), "1-dimensional and non-empty, got 1 dims and 0 numels"),
    (torch.zeros(2, 2, dtype=torch.uint8), "1-dimensional and non-empty, got 2 dims and 4 numels"),
    (torch.zeros(9), "must have uint8 data type, got torch.float32"),
    (torch.zeros(9, dtype=torch.uint8)[::2], "Input tensor must be contiguous"),
])
def test_tensors_that_are_no_files(data, text):
    for function in (io.decode_image, io.decode_png, io.decode_jpeg, io.decode_gif, io.decode_webp,
                     io.decode_avif, io.decode_heic):
        with pytest.raises(RuntimeError, match=text):
            function(data)
    with pytest.raises(TypeError, match="expected a tensor of encoded bytes"):
        io.decode_png(b"bytes")


@pytest.mark.parametrize("name", [n for n in FILES if n.split()[1] not in ("turned", "moving")])
def test_damaged_files_are_refused_or_read_and_nothing_worse(name):
    content = FILES[name]
    for at in range(0, len(content), max(1, len(content) // 25)):
        broken = bytearray(content)
        broken[at] ^= 0x55
        for data in (content[:at + 1], broken):
            try:
                io.decode_image(tensor_of(data), "RGB", True)
            except RuntimeError as error:
                assert str(error)


@pytest.mark.parametrize("function, content, text", [
    (io.decode_png, FILES["jpeg RGB"], "Content is not png"),
    (io.decode_png, b"\x89PNG", "Content is too small for png"),
    (io.decode_jpeg, FILES["png RGB"], "Not a JPEG file: starts with"),
    (io.decode_gif, FILES["png RGB"], "Not a GIF file"),
    (io.decode_webp, FILES["png RGB"], "WEBP image is incomplete or damaged"),
    (io.decode_png, FILES["png RGB"][:60], "PNG image is incomplete or damaged"),
    (io.decode_jpeg, FILES["jpeg RGB"][:-60], "JPEG image is incomplete or damaged"),
    (io.decode_image, b"BM rubbish", "Unsupported image file.*begins with b'BM rubbi'"),
])
def test_errors(function, content, text):
    with pytest.raises(RuntimeError, match=text):
        function(tensor_of(content))


# --- encoding and files ---------------------------------------------------------------------------


def test_encoded_jpegs_are_torchvisions():
    image = picture(3, 9, 11)
    for name, made in (("jpeg", io.encode_jpeg(image)),
                       ("jpeg gray 95", io.encode_jpeg(image[:1], 95))):
        theirs = tensor_of(base64.b64decode(RECORDED[f"encoded {name}"]))
        assert made.dtype is torch.uint8 and made.ndim == 1
        assert torch.equal(io.decode_image(made), io.decode_image(theirs))
    assert [len(one) for one in io.encode_jpeg([image, image[:1]])] == [
        len(io.encode_jpeg(image)), len(io.encode_jpeg(image[:1]))]


@pytest.mark.parametrize("channels", [1, 3])
def test_png_goes_there_and_back(channels, tmp_path):
    image = picture(channels, 9, 11)
    sizes = []
    for level in (0, 6, 9):
        io.write_png(image, tmp_path / "a.png", level)
        assert torch.equal(io.read_image(str(tmp_path / "a.png")), image)
        assert torch.equal(io.decode_image(tmp_path / "a.png"), image)
        sizes.append((tmp_path / "a.png").stat().st_size)
    assert sizes[0] > sizes[1]
    turned = image.transpose(1, 2)
    assert torch.equal(io.decode_png(io.encode_png(turned)), turned)


def test_jpeg_goes_there_and_nearly_back(tmp_path):
    image = torch.arange(64, dtype=torch.uint8).mul(3).view(1, 8, 8).expand(3, 8, 8)
    io.write_jpeg(image, tmp_path / "a.jpg", quality=100)
    read = io.read_image(tmp_path / "a.jpg")
    assert (read.int() - image.int()).abs().max() < 6
    with pytest.raises(TypeError, match="write_jpeg writes one image"):
        io.write_jpeg([image], tmp_path / "b.jpg")


@pytest.mark.parametrize("encode", [io.encode_png, io.encode_jpeg])
@pytest.mark.parametrize("image, error, text", [
    (torch.zeros(3, 4, 4), RuntimeError, "dtype should be uint8, got torch.float32"),
    (torch.zeros(4, 4, dtype=torch.uint8), RuntimeError, "should be a 3-dimensional tensor, got 2"),
    (torch.zeros(2, 4, 4, dtype=torch.uint8), RuntimeError, "channels should be 1 or 3, got: 2"),
    (torch.zeros(3, 0, 4, dtype=torch.uint8), RuntimeError, "needs pixels, got 0 x 4"),
    (torch.zeros(3, 4, 4, dtype=torch.uint8, device="meta"), RuntimeError, "should be on CPU"),
    ("image", TypeError, "expected a tensor"),
])
def test_what_cannot_be_encoded(encode, image, error, text):
    with pytest.raises(error, match=text):
        encode(image)


def test_other_arguments():
    image = picture(3, 4, 4)
    for level in (-1, 10):
        with pytest.raises(RuntimeError, match="Compression level should be between 0 and 9"):
            io.encode_png(image, level)
    for quality in (0, 101):
        with pytest.raises(ValueError, match="should be a positive number between 1 and 100"):
            io.encode_jpeg(image, quality)
    with pytest.raises(ValueError, match="requires at least one input tensor when a list"):
        io.encode_jpeg([])


def test_files_of_bytes(tmp_path):
    data = torch.arange(9, dtype=torch.uint8)
    io.write_file(tmp_path / "a", data[::2])
    assert io.read_file(tmp_path / "a").tolist() == [0, 2, 4, 6, 8]
    (tmp_path / "empty").touch()
    with pytest.raises(RuntimeError, match="Expected a non empty file"):
        io.read_file(tmp_path / "empty")
    with pytest.raises(RuntimeError, match=r"\[Errno 2\] No such file or directory: '/none'"):
        io.read_file("/none")
    with pytest.raises(RuntimeError, match="Error opening output file"):
        io.write_file("/none/a", data)
    with pytest.raises(RuntimeError, match="should be a 1-dimensional tensor"):
        io.write_file(tmp_path / "b", picture(3, 4, 4))


def test_video_says_what_to_use():
    with pytest.raises(AttributeError, match="'yesca.vision.io' has no attribute 'read_video' .*"
                       "the package torchcodec reads and writes it"):
        io.read_video
    with pytest.raises(ImportError, match="cannot import name 'write_video' from .*torchcodec"):
        from yesca.vision.io import write_video  # noqa: F401
    with pytest.raises(AttributeError) as raised:
        io.read_imag
    assert "torchcodec" not in str(raised.value)


def test_without_pillow_the_error_names_what_to_install():
    code = ("import sys; sys.modules['PIL'] = None; import yesca as torch\n"
            "from yesca.vision import io\n"
            "io.write_file('/dev/null', torch.zeros(3, dtype=torch.uint8))\n"
            "jpeg = torch.tensor([255, 216, 255], dtype=torch.uint8)\n"
            "for call in (lambda: io.encode_png(torch.zeros(1, 2, 2, dtype=torch.uint8)),\n"
            "             lambda: io.decode_image(jpeg)):\n"
            "    try:\n        call()\n    except ImportError as error:\n        print(error)\n")
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == ["images need Pillow: pip install 'yesca[vision]'"] * 2
