"""What the series on fundamentals says of datasets, loaders and transforms, episodes 6 to 8."""

import csv
import multiprocessing
import os
import time
import warnings

import pytest

import yesca as torch
from yesca.nn import functional as F
from yesca.utils.data import DataLoader, Dataset, get_worker_info
from yesca.vision import datasets, transforms

image = pytest.importorskip("PIL.Image", reason="images need Pillow")
WORDS = ("cat", "dog", "owl")


class CsvImages(Dataset):
    """As episode 6 writes it: an index at the start, a picture when it is asked for."""

    made = 0

    def __init__(self, folder, transform=None, target_transform=None):
        type(self).made += 1
        self.folder = folder
        with open(folder / "labels.csv", newline="") as file:
            self.rows = list(csv.reader(file))
        self.transform, self.target_transform = transform, target_transform
        self.opened = []

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, index):
        name, word = self.rows[index]
        self.opened.append(name)
        with image.open(self.folder / name) as file:
            picture = file.convert("L")
        label = WORDS.index(word)
        if self.transform:
            picture = self.transform(picture)
        if self.target_transform:
            label = self.target_transform(label)
        return picture, label


@pytest.fixture
def folder(tmp_path):
    """Fifty pictures of one shade each, and their index."""
    with open(tmp_path / "labels.csv", "w", newline="") as file:
        for number in range(50):
            image.new("L", (4, 3), number * 5).save(tmp_path / f"{number}.png")
            csv.writer(file).writerow((f"{number}.png", WORDS[number % 3]))
    return tmp_path


def shade(batch):
    """The numbers of the pictures of a batch."""
    return (batch[:, 0, 0, 0] * 51).round().int().tolist()


# --- episode 6: datasets --------------------------------------------------------------------------


def test_the_index_is_read_once_and_no_picture(folder):
    made = CsvImages.made
    data = CsvImages(folder)
    for _ in range(3):
        len(data), data[1]
    assert CsvImages.made == made + 1
    assert isinstance(data, torch.utils.data.Dataset)
    assert CsvImages(folder).opened == []


def test_the_length_is_the_number_of_rows_and_bounds_what_is_asked_for(folder):
    data = CsvImages(folder)
    assert len(data) == 50
    asked = [index for batch in DataLoader(data, 7, shuffle=True, collate_fn=list)
             for index in batch]
    assert len(asked) == 50 and len(data.opened) == 50 and len(set(data.opened)) == 50


def test_sample_42_opens_one_file(folder):
    data = CsvImages(folder)
    for path in folder.glob("*.png"):
        if path.name != "42.png":
            path.unlink()  # nobody needs the others
    sample = data[42]
    assert isinstance(sample, tuple) and data.opened == ["42.png"]
    picture, label = sample
    assert picture.getpixel((0, 0)) == 210 and label == WORDS.index("cat")
    with pytest.raises(FileNotFoundError):
        data[41]


def test_training_code_does_not_see_where_data_come_from(folder):
    class InMemory(Dataset):
        def __len__(self):
            return 50

        def __getitem__(self, index):
            return torch.full((1, 3, 4), index * 5 / 255), index % 3

    def consumed(data):
        return [(shade(images), labels.tolist()) for images, labels in DataLoader(data, 8)]

    assert consumed(InMemory()) == consumed(CsvImages(folder, transforms.ToTensor()))


def test_a_dataset_says_what_it_lacks():
    with pytest.raises(NotImplementedError, match="Subclasses of Dataset should implement"):
        Dataset()[0]


# --- episode 7: loaders ---------------------------------------------------------------------------


def test_batches_are_what_a_loop_by_hand_would_make(folder):
    data = CsvImages(folder, transforms.ToTensor())
    batches = list(DataLoader(data, batch_size=16))
    assert [len(images) for images, _ in batches] == [16, 16, 16, 2]  # the last one is smaller
    for number, (images, labels) in enumerate(batches):
        rows = [data[index] for index in range(16 * number, min(16 * number + 16, 50))]
        assert type(images) is torch.Tensor and images.shape[1:] == (1, 3, 4)
        assert torch.equal(images, torch.stack([picture for picture, _ in rows]))
        assert labels.tolist() == [label for _, label in rows]


def test_the_last_batch_can_be_left_out(folder):
    loader = DataLoader(CsvImages(folder, transforms.ToTensor()), 16, drop_last=True)
    assert len(loader) == 3 and [len(images) for images, _ in loader] == [16, 16, 16]


def test_shuffling_gives_another_order_each_epoch(folder):
    torch.manual_seed(0)
    loader = DataLoader(CsvImages(folder, transforms.ToTensor()), 10, shuffle=True)
    epochs = [[number for images, _ in loader for number in shade(images)] for _ in range(3)]
    assert all(sorted(epoch) == list(range(50)) for epoch in epochs)
    assert len({tuple(epoch) for epoch in epochs}) == 3
    plain = DataLoader(CsvImages(folder, transforms.ToTensor()), 10)
    assert [number for images, _ in plain for number in shade(images)] == list(range(50))


def test_the_loop_ends_with_the_data(folder):
    batches = iter(DataLoader(CsvImages(folder, transforms.ToTensor()), 25))
    next(batches), next(batches)
    with pytest.raises(StopIteration):
        next(batches)


class FromWorkers(CsvImages):
    """Says which process has read a picture, and counts what has been read."""

    count = None

    def __getitem__(self, index):
        picture, _ = super().__getitem__(index)
        with self.count.get_lock():
            self.count.value += 1
        return picture, os.getpid(), get_worker_info().id


def test_workers_read_ahead_in_processes_of_their_own(folder):
    data = FromWorkers(folder, transforms.ToTensor())
    data.count = multiprocessing.get_context("fork").Value("i", 0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of forks with threads
        batches = iter(DataLoader(data, 5, num_workers=2, multiprocessing_context="fork"))
        images, processes, workers = next(batches)
    deadline = time.monotonic() + 20
    while data.count.value < 25 and time.monotonic() < deadline:
        time.sleep(0.01)  # this process "computes"; the workers go on, two batches each
    assert data.count.value >= 25
    assert shade(images) == [0, 1, 2, 3, 4]
    rest = list(batches)
    assert [number for images, *_ in rest for number in shade(images)] == list(range(5, 50))
    found = {int(process) for _, ids, _ in rest for process in ids}
    assert len(found) == 2 and os.getpid() not in found
    assert {int(worker) for _, _, ids in rest for worker in ids} == {0, 1}


# --- episode 8: transforms ------------------------------------------------------------------------


def one_hot(label):
    return torch.zeros(len(WORDS), dtype=torch.float).scatter_(0, torch.tensor(label), value=1)


def test_each_transform_has_its_half_of_a_sample(folder):
    plain, label = CsvImages(folder)[4]
    assert isinstance(plain, image.Image) and label == 1
    picture, label = CsvImages(folder, transform=lambda picture: "changed")[4]
    assert picture == "changed" and label == 1
    picture, label = CsvImages(folder, target_transform=lambda label: -label)[4]
    assert isinstance(picture, image.Image) and label == -1


def test_to_tensor_gives_floats_between_0_and_1():
    picture = image.new("RGB", (2, 1))
    picture.putdata([(0, 51, 255), (255, 102, 0)])
    made = transforms.ToTensor()(picture)
    assert made.dtype is torch.float32 and made.shape == (3, 1, 2)
    assert torch.allclose(made, torch.tensor([[[0, 1.0]], [[0.2, 0.4]], [[1.0, 0]]]))


def test_transforms_run_when_a_sample_is_fetched(folder):
    seen = []
    data = CsvImages(folder, transform=lambda picture: seen.append(picture.size))
    assert seen == []
    data[3], data[3]
    assert seen == [(4, 3)] * 2


def test_one_hot_labels_through_lambda_and_scatter():
    wrapped = transforms.Lambda(one_hot)
    for label in range(3):
        made = wrapped(label)
        assert made.tolist() == [float(number == label) for number in range(3)]
        assert made.dtype is torch.float32
    with pytest.raises(TypeError, match="Argument lambd should be callable, got 'int'"):
        transforms.Lambda(3)
    with pytest.raises(RuntimeError, match="index 3 is out of bounds for dimension 0"):
        wrapped(3)


@pytest.mark.parametrize("workers", [0, 2])
def test_the_whole_pipeline_feeds_a_loss(folder, workers):
    data = CsvImages(folder, transforms.ToTensor(), transforms.Lambda(one_hot))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of forks with threads
        images, targets = next(iter(DataLoader(
            data, 9, num_workers=workers, multiprocessing_context="fork" if workers else None)))
    assert images.dtype is targets.dtype is torch.float32
    assert images.shape == (9, 1, 3, 4) and targets.shape == (9, 3)
    assert targets.sum(1).tolist() == [1.0] * 9
    logits = torch.arange(27.0).view(9, 3).sin()
    by_number = F.cross_entropy(logits, torch.arange(9) % 3)
    torch.testing.assert_close(F.cross_entropy(logits, targets), by_number)


def test_datasets_of_the_library_take_both(folder):
    (folder / "a").mkdir()
    os.rename(folder / "7.png", folder / "a" / "7.png")
    data = datasets.ImageFolder(folder, transform=transforms.ToTensor(),
                                target_transform=transforms.Lambda(one_hot))
    picture, target = data[0]
    assert picture.shape == (3, 3, 4) and picture[0, 0, 0].item() == pytest.approx(35 / 255)
    assert target.tolist() == [1.0, 0.0, 0.0]
