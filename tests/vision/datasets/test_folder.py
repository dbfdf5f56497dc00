"""Folders of files: which count, in what order, and what is said of empty ones."""

import pytest
from dataset_files import folders

from yesca.vision.datasets import DatasetFolder, ImageFolder
from yesca.vision.datasets.folder import (
    IMG_EXTENSIONS,
    find_classes,
    has_file_allowed_extension,
    is_image_file,
    make_dataset,
)


def files(root, *names):
    for name in names:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(name)


def read(path):
    with open(path) as file:
        return file.read()


def test_extensions():
    assert IMG_EXTENSIONS[:3] == (".jpg", ".jpeg", ".png") and len(IMG_EXTENSIONS) == 9
    assert is_image_file("a.TIFF") and not is_image_file("a.txt")
    assert has_file_allowed_extension("a.txt", ".txt")
    assert has_file_allowed_extension("a.txt", [".md", ".txt"])


def test_samples_come_in_the_order_of_the_names(tmp_path):
    files(tmp_path, "b/2.txt", "b/1.txt", "a/z/1.txt", "a/b.txt", "a/no.md", "top.txt")
    (tmp_path / "a" / "link").symlink_to(tmp_path / "b")
    samples = make_dataset(tmp_path, extensions=".txt")
    assert [(path.removeprefix(str(tmp_path)), number) for path, number in samples] == [
        ("/a/b.txt", 0), ("/a/link/1.txt", 0), ("/a/link/2.txt", 0), ("/a/z/1.txt", 0),
        ("/b/1.txt", 1), ("/b/2.txt", 1)]
    assert find_classes(tmp_path) == (["a", "b"], {"a": 0, "b": 1})
    first = make_dataset(str(tmp_path), {"b": 7}, is_valid_file=lambda path: path[-5:] == "1.txt")
    assert first == [(f"{tmp_path}/b/1.txt", 7)]


def test_errors(tmp_path):
    with pytest.raises(FileNotFoundError, match="Couldn't find any class folder in "):
        make_dataset(tmp_path, extensions=".txt")
    files(tmp_path, "b/1.txt", "a/1.md", "c/1.md")
    with pytest.raises(FileNotFoundError, match="Found no valid file for the classes a, c. "
                       "Supported extensions are: .txt, .text"):
        make_dataset(tmp_path, extensions=(".txt", ".text"))
    with pytest.raises(FileNotFoundError, match="no valid file for the classes a, c. $"):
        make_dataset(tmp_path, is_valid_file=lambda path: path.endswith(".txt"))
    assert len(make_dataset(tmp_path, extensions=".txt", allow_empty=True)) == 1
    with pytest.raises(ValueError, match="'class_to_index' must have at least one entry"):
        make_dataset(tmp_path, {}, ".txt")
    for both in ({}, {"extensions": ".txt", "is_valid_file": bool}):
        with pytest.raises(ValueError, match="cannot be None or not None at the same time"):
            make_dataset(tmp_path, **both)
    with pytest.raises(ValueError, match="class_to_idx parameter cannot be None"):
        DatasetFolder.make_dataset(tmp_path, None, ".txt")


def test_a_loader_of_ones_own(tmp_path):
    files(tmp_path, "b/1.txt", "a/1.txt")
    data = DatasetFolder(tmp_path, read, (".txt",), transform=str.upper,
                         target_transform=lambda number: -number)
    assert data[0] == ("A/1.TXT", 0) and data[1] == ("B/1.TXT", -1)
    assert data.classes == ["a", "b"] and data.targets == [0, 1] and len(data) == 2

    class OnlyB(DatasetFolder):
        def find_classes(self, directory):
            return ["b"], {"b": 0}

    assert OnlyB(tmp_path, read, (".txt",)).samples == [(f"{tmp_path}/b/1.txt", 0)]


def test_images_are_made_rgb(tmp_path):
    image = pytest.importorskip("PIL.Image", reason="images need Pillow")
    folders(tmp_path)
    image.new("L", (3, 2), 7).save(tmp_path / "cat" / "grey.png")
    (tmp_path / "empty").mkdir()
    data = ImageFolder(tmp_path, allow_empty=True)
    assert data.imgs is data.samples and data.classes == ["cat", "dog", "empty"]
    grey = next(image for image, _ in data if image.size == (3, 2))
    assert grey.mode == "RGB" and grey.getpixel((0, 0)) == (7, 7, 7)
    chosen = ImageFolder(tmp_path, is_valid_file=lambda path: path.endswith("grey.png"),
                         loader=str, allow_empty=True)
    assert [path for path, _ in chosen] == [f"{tmp_path}/cat/grey.png"]
