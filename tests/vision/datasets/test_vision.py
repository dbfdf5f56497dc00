"""VisionDataset: its transforms and its text; the package itself."""

import subprocess
import sys

import pytest

from yesca.vision import datasets, get_image_backend, set_image_backend
from yesca.vision.datasets import VisionDataset
from yesca.vision.datasets.vision import StandardTransform


class Numbers(VisionDataset):
    def __len__(self):
        return 3

    def __getitem__(self, index):
        return self.transforms(index, -index)


class Lines:
    def __repr__(self):
        return "Lines(\n  a\n)"


def test_transforms_come_together_or_apart():
    apart = Numbers("/data", transform=str, target_transform=abs)
    assert apart[2] == ("2", 2)
    assert isinstance(apart.transforms, StandardTransform)
    together = Numbers("/data", lambda image, target: (target, image))
    assert together[2] == (-2, 2) and together.transform is None
    assert Numbers("/data").transforms is None
    for other in ({"transform": str}, {"target_transform": str}):
        with pytest.raises(ValueError, match="Only transforms or transform/target_transform can"):
            Numbers("/data", transforms=str, **other)


def test_the_text_has_size_folder_and_transforms():
    assert repr(Numbers("/data")) == (
        "Dataset Numbers\n    Number of datapoints: 3\n    Root location: /data")
    assert repr(Numbers(transform=Lines(), target_transform=Lines())) == (
        "Dataset Numbers\n    Number of datapoints: 3\n    StandardTransform\n"
        "Transform: Lines(\n             a\n           )\n"
        "Target transform: Lines(\n                    a\n                  )")


def test_the_home_folder_is_found(monkeypatch):
    monkeypatch.setenv("HOME", "/somewhere")
    assert Numbers("~/data").root == "/somewhere/data"


def test_what_a_subclass_leaves_out():
    with pytest.raises(NotImplementedError):
        VisionDataset("/data")[0]
    with pytest.raises(NotImplementedError):
        len(VisionDataset("/data"))


def test_the_backend_of_images():
    assert get_image_backend() == "PIL"
    with pytest.raises(ValueError, match="Invalid backend 'cv2'. Options are 'PIL' and 'accimage'"):
        set_image_backend("cv2")
    set_image_backend("PIL")


def test_all_names_are_there_and_nothing_is_loaded_before_it_is_used():
    assert all(getattr(datasets, name).__name__ == name for name in datasets.__all__)
    code = ("import sys, yesca.vision.datasets as d; d.MNIST; d.CIFAR10; d.ImageFolder;"
            "print([m for m in ('PIL', 'scipy', 'urllib.request') if m in sys.modules])")
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_what_is_not_there_yet_says_so():
    with pytest.raises(AttributeError, match="has no attribute 'ImageNet' .torchvision has it; "
                       "yesca does not have it yet: ImageFolder"):
        datasets.ImageNet
    with pytest.raises(ImportError, match="cannot import name 'CelebA'.*does not have it yet"):
        from yesca.vision.datasets import CelebA  # noqa: F401
    with pytest.raises(AttributeError) as raised:
        datasets.MNITS
    assert "yet" not in str(raised.value)


WITHOUT = """
import sys
sys.modules["PIL"] = None  # as if it were not installed
from yesca.vision import datasets
from yesca.vision.datasets.folder import default_loader
d = datasets.MNIST(sys.argv[1])
print(d.data.shape, d.targets.tolist())
for call in (lambda: d[0], lambda: default_loader(__file__), lambda: datasets.FakeData()[0]):
    try:
        call()
    except ImportError as error:
        print(error)
"""


def test_without_pillow_the_error_names_what_to_install(tmp_path, run_python):
    from dataset_files import mnist

    mnist(tmp_path)
    script = tmp_path / "without.py"
    script.write_text(WITHOUT)
    lines = run_python(script, tmp_path).stdout.splitlines()
    assert lines[0] == "torch.Size([5, 6, 4]) [4, 3, 2, 1, 0]"
    assert len(lines) == 4
    assert all("pip install 'yesca[vision]'" in line for line in lines[1:])
