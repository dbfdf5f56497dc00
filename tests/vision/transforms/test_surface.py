"""What programs do with transforms beyond calling them."""

import pickle
import subprocess
import sys

import numpy as np
import pytest
from PIL import Image

import yesca as torch
from yesca.vision import transforms as T
from yesca.vision import tv_tensors as tv
from yesca.vision.transforms import v2

FIRST = """AugMix AutoAugment AutoAugmentPolicy CenterCrop ColorJitter Compose ConvertImageDtype
ElasticTransform FiveCrop GaussianBlur Grayscale InterpolationMode Lambda LinearTransformation
Normalize PILToTensor Pad RandAugment RandomAdjustSharpness RandomAffine RandomApply
RandomAutocontrast RandomChoice RandomCrop RandomEqualize RandomErasing RandomGrayscale
RandomHorizontalFlip RandomInvert RandomOrder RandomPerspective RandomPosterize
RandomResizedCrop RandomRotation RandomSolarize RandomVerticalFlip Resize TenCrop ToPILImage
ToTensor TrivialAugmentWide""".split()
SECOND = """ClampBoundingBoxes ClampKeyPoints ConvertBoundingBoxFormat CutMix GaussianNoise
Identity JPEG MixUp RGB RandomChannelPermutation RandomIoUCrop RandomPhotometricDistort
RandomResize RandomShortestSize RandomZoomOut SanitizeBoundingBoxes SanitizeKeyPoints ScaleJitter
SetClampingMode ToDtype ToImage ToPureTensor Transform UniformTemporalSubsample check_type
get_bounding_boxes get_keypoints has_all has_any query_chw query_size""".split()


def photo():
    return Image.fromarray(np.arange(16 * 16 * 3, dtype=np.uint8).reshape(16, 16, 3))


def test_names():
    assert [name for name in FIRST if not hasattr(T, name)] == []
    assert [name for name in FIRST + SECOND if not hasattr(v2, name)] == []
    from yesca.vision.transforms import transforms as module
    assert module.Compose is T.Compose and module.RandomTransforms is T.RandomChoice.__mro__[1]
    with pytest.raises(AttributeError, match="NoSuchTransform"):
        v2.NoSuchTransform


def test_transforms_are_pickled():
    steps = T.Compose([T.RandomCrop(8, padding=2), T.ToTensor(), T.Normalize([0.5], [0.5])])
    again = pickle.loads(pickle.dumps(steps))
    assert repr(again) == repr(steps)
    torch.manual_seed(0)
    mine = steps(photo())
    torch.manual_seed(0)
    assert torch.equal(again(photo()), mine)
    assert pickle.loads(pickle.dumps(T.InterpolationMode.BOX)) is T.InterpolationMode.BOX


def test_the_second_version_has_the_draws_of_the_first():
    image = torch.zeros(3, 9, 9)
    torch.manual_seed(1)
    first = T.RandomCrop.get_params(image, (3, 4))
    torch.manual_seed(1)
    assert v2.RandomCrop.get_params(image, (3, 4)) == first


def test_a_kernel_for_a_kind_of_ones_own():
    class Depth(tv.TVTensor):
        pass

    depth = torch.ones(1, 4, 4).as_subclass(Depth)
    assert v2.RandomHorizontalFlip(1.0)(depth) is depth  # what is not known stays

    @v2.functional.register_kernel(v2.functional.resize, Depth)
    def resized(inpt, size, interpolation, max_size, antialias):
        return tv.wrap(torch.zeros(1, *size), like=inpt)

    made = v2.Resize((2, 3))(depth)
    assert type(made) is Depth and made.shape == (1, 2, 3)
    with pytest.raises(ValueError, match="already has a kernel"):
        v2.functional.register_kernel("resize", Depth)(resized)


def test_jpeg_files_lose_something():
    made = v2.JPEG(10)(photo())
    assert made.size == (16, 16) and made.mode == "RGB"
    raw = T.PILToTensor()(photo())
    lossy = v2.JPEG((5, 5))(raw)
    assert torch.equal(lossy, T.PILToTensor()(v2.functional.jpeg(photo(), 5)))
    assert not torch.equal(lossy, raw) and lossy.dtype is torch.uint8
    batch = v2.functional.jpeg(torch.stack([raw, raw]), 5)
    assert torch.equal(batch[1], lossy)


def test_erasing_leaves_the_image_that_was_given():
    image = torch.ones(3, 8, 8, requires_grad=True)
    made = T.functional.erase(image, 1, 2, 3, 4, torch.tensor([0.5])[:, None, None])
    assert made.sum().item() == 192 - 18 and image.sum().item() == 192
    made.sum().backward()
    assert image.grad.sum().item() == 192 - 36
    held = torch.zeros(1, 4, 4, dtype=torch.uint8)
    assert T.functional.erase(held, 0, 0, 2, 2, 7, inplace=True) is held and held.sum() == 28


@pytest.mark.parametrize("mode", ["1", "L", "LA", "P", "RGB", "RGBA", "CMYK", "YCbCr", "HSV", "I",
                                  "I;16", "F"])
def test_every_mode_becomes_a_tensor(mode):
    image = photo().convert("L").convert(mode) if mode in ("I", "I;16", "F") else (
        photo().convert(mode))
    exact = np.array(image)
    made = T.PILToTensor()(image)
    assert np.array_equal(made.permute(1, 2, 0).numpy().reshape(exact.shape), exact)
    scaled = T.ToTensor()(image)
    whole = exact.astype(np.float32) * (255 if mode == "1" else 1)
    if mode in ("I", "I;16", "F"):
        assert scaled.dtype is {"I": torch.int32, "I;16": torch.int16, "F": torch.float32}[mode]
    else:
        whole = whole / 255
    assert np.array_equal(scaled.permute(1, 2, 0).numpy().reshape(exact.shape), whole)
    empty = Image.new(mode, (0, 3))
    assert T.ToTensor()(empty).shape[1:] == (3, 0)


def test_without_pillow():
    program = (
        "import sys; sys.modules['PIL'] = None\n"
        "import yesca as torch\n"
        "from yesca.vision import transforms as T\n"
        "from yesca.vision.transforms import v2\n"
        "print(v2.Resize(4)(T.RandomCrop(8)(torch.zeros(3, 9, 9))).shape)\n"
        "try:\n    T.ToPILImage()(torch.zeros(3, 4, 4))\n"
        "except ImportError as error:\n    print(error)\n")
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert "torch.Size([3, 4, 4])" in done.stdout, done.stderr
    assert "pip install 'yesca[vision]'" in done.stdout
