"""Small files in the formats of the published sets of images, and what to read them with.

`CASES` lists, for each class of `datasets`, what it is called with on these files: the tests read
them with the package, `tests/fixtures/record_datasets.py` with torchvision.
"""

import bz2
import gzip
import hashlib
import json
import pickle
import struct
import tarfile
import zipfile
import zlib
from pathlib import Path

import numpy as np


def pixels(*shape, seed=1):
    """Bytes by a formula."""
    count = int(np.prod(shape))
    return ((np.arange(count, dtype=np.int64) * 37 * seed + seed) % 251).astype(np.uint8).reshape(
        shape)


def write_idx(path, array, compress=False):
    """An IDX file of an array of bytes or 32-bit whole numbers."""
    kind = {"uint8": 8, "int8": 9, "int16": 11, "int32": 12, "float32": 13, "float64": 14}
    head = struct.pack(">I", kind[array.dtype.name] * 256 + array.ndim)
    head += struct.pack(f">{array.ndim}I", *array.shape)
    content = head + array.astype(array.dtype.newbyteorder(">")).tobytes()
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(gzip.compress(content, 1, mtime=0) if compress else content)


def write_image(path, *shape, seed=1):
    """A picture; PNG inside, whatever the name says, so that all decoders agree on it."""
    from PIL import Image

    path.parent.mkdir(parents=True, exist_ok=True)
    Image.fromarray(pixels(*shape, seed=seed)).save(path, "PNG")


def write_mat(path, **arrays):
    from scipy.io import savemat

    path.parent.mkdir(parents=True, exist_ok=True)
    savemat(path, arrays)


def md5(path):
    return hashlib.md5(path.read_bytes()).hexdigest()


def mnist(root, name="MNIST", compress=False):
    end = ".gz" if compress else ""
    for prefix, count in (("train", 5), ("t10k", 3)):
        at = root / name / "raw"
        write_idx(at / f"{prefix}-images-idx3-ubyte{end}", pixels(count, 6, 4), compress)
        labels = np.arange(count, dtype=np.uint8)[::-1].copy()
        write_idx(at / f"{prefix}-labels-idx1-ubyte{end}", labels, compress)


def fashion(root):
    mnist(root, "FashionMNIST")


def kuzushiji(root):
    mnist(root, "KMNIST")


def emnist(root):
    for split, label in (("letters", 26), ("byclass", 61), ("digits", 9)):
        for part in ("train", "test"):
            name = f"emnist-{split}-{part}"
            at = root / "EMNIST" / "raw"
            write_idx(at / f"{name}-images-idx3-ubyte", pixels(4, 5, 5, seed=label))
            write_idx(at / f"{name}-labels-idx1-ubyte", np.array([1, label, 2, 3], np.uint8))


def qmnist(root):
    at = root / "QMNIST" / "raw"
    for name, count in (("qmnist-train", 4), ("qmnist-test", 10002), ("xnist", 3)):
        write_idx(at / f"{name}-images-idx3-ubyte", pixels(count, 3, 2))
        labels = np.arange(count * 8, dtype=np.int32).reshape(count, 8) * 70000 % 1000003
        labels[:, 0] %= 10
        write_idx(at / f"{name}-labels-idx2-int", labels)


def usps(root):
    root.mkdir(parents=True, exist_ok=True)
    for name, count in (("usps.bz2", 3), ("usps.t.bz2", 2)):
        values = pixels(count, 256).astype(np.float64) / 125.5 - 1
        lines = [f"{label + 1} " + " ".join(f"{at}:{value:.4f}" for at, value in enumerate(row, 1))
                 for label, row in enumerate(values)]
        (root / name).write_bytes(bz2.compress("\n".join(lines).encode() + b"\n"))


def cifar(root, fine=False):
    names = ["train", "test"] if fine else [f"data_batch_{n}" for n in range(1, 6)] + ["test_batch"]
    at = root / ("cifar-100-python" if fine else "cifar-10-batches-py")
    at.mkdir(parents=True, exist_ok=True)
    for seed, name in enumerate(names, 1):
        batch = {"data": pixels(2, 3072, seed=seed), "batch_label": name, "filenames": ["a", "b"],
                 "fine_labels" if fine else "labels": [seed % 10, (seed + 3) % 10]}
        (at / name).write_bytes(pickle.dumps(batch, 2))
    classes = [f"kind {number}" for number in range(10)]
    meta = {"fine_label_names": classes} if fine else {"label_names": classes, "num_vis": 3072}
    (at / ("meta" if fine else "batches.meta")).write_bytes(pickle.dumps(meta, 2))


def cifar_fine(root):
    cifar(root, True)


def svhn(root):
    for seed, part in enumerate(("train", "test", "extra"), 1):
        write_mat(root / f"{part}_32x32.mat", X=pixels(32, 32, 3, 4, seed=seed),
                  y=np.array([[1], [10], [5], [9]], np.uint8))


def stl10(root):
    at = root / "stl10_binary"
    at.mkdir(parents=True, exist_ok=True)
    for seed, (name, count) in enumerate((("train", 4), ("unlabeled", 2), ("test", 3)), 1):
        (at / f"{name}_X.bin").write_bytes(pixels(count, 3, 96, 96, seed=seed).tobytes())
        (at / f"{name}_y.bin").write_bytes(bytes(range(1, count + 1)))
    (at / "class_names.txt").write_text("airplane\nbird\ncar\ncat\n")
    (at / "fold_indices.txt").write_text("".join(f"{n % 4} {(n + 2) % 4} \n" for n in range(10)))


def folders(root):
    for seed, name in enumerate(("cat/b.png", "cat/a.PNG", "dog/x/y.jpg", "dog/c.webp"), 1):
        write_image(root / name, 5, 4 + seed, 3, seed=seed)
    (root / "cat" / "notes.txt").write_text("no image")


def caltech101(root):
    at = root / "caltech101"
    for seed, (name, count) in enumerate((("Faces", 2), ("crab", 1), ("BACKGROUND_Google", 1)), 1):
        for number in range(1, count + 1):
            write_image(at / "101_ObjectCategories" / name / f"image_{number:04d}.jpg", 4, 5, 3,
                        seed=seed + number)
            shown = {"Faces": "Faces_2"}.get(name, name)
            write_mat(at / "Annotations" / shown / f"annotation_{number:04d}.mat",
                      obj_contour=np.arange(6.0).reshape(2, 3) * number)


def caltech256(root):
    at = root / "caltech256" / "256_ObjectCategories"
    for kind, name in enumerate(("001.ak47", "002.flag"), 1):
        for number in (1, 2):
            write_image(at / name / f"{kind:03d}_{number:04d}.jpg", 4, 4, 3, seed=kind * number)
        (at / name / "greg").mkdir()


def flowers(root):
    at = root / "flowers-102"
    for number in range(1, 7):
        write_image(at / "jpg" / f"image_{number:05d}.jpg", 5, 5, 3, seed=number)
    write_mat(at / "imagelabels.mat", labels=np.array([[3, 1, 2, 102, 7, 8]], np.uint8))
    write_mat(at / "setid.mat", trnid=np.array([[6, 1]]), valid=np.array([[2, 3]]),
              tstid=np.array([[5, 4]]))


def food(root):
    at = root / "food-101"
    for split, numbers in (("train", (11, 12)), ("test", (13,))):
        kinds = ("waffles", "apple_pie")
        (at / "meta").mkdir(parents=True, exist_ok=True)
        listed = {kind: [f"{kind}/{number}" for number in numbers] for kind in kinds}
        (at / "meta" / f"{split}.json").write_text(json.dumps(listed))
        for seed, kind in enumerate(kinds, 1):
            for number in numbers:
                write_image(at / "images" / kind / f"{number}.jpg", 4, 6, 3, seed=seed * number)


def pets(root):
    at = root / "oxford-iiit-pet"
    rows = [("Abyssinian_10", 1, 1, 1), ("american_bulldog_2", 2, 2, 1), ("Abyssinian_7", 1, 1, 1)]
    for seed, row in enumerate(rows, 1):
        write_image(at / "images" / f"{row[0]}.jpg", 5, 4, 3, seed=seed)
        write_image(at / "annotations" / "trimaps" / f"{row[0]}.png", 5, 4, seed=seed)
    for split in ("trainval", "test"):
        lines = [" ".join(map(str, row)) for row in rows[:2 if split == "test" else 3]]
        (at / "annotations" / f"{split}.txt").write_text("\n".join(lines) + "\n")


def eurosat(root):
    for seed, name in enumerate(("River/b.jpg", "Forest/a.jpg"), 1):
        write_image(root / "eurosat" / "2750" / name, 4, 4, 3, seed=seed)


def dtd(root):
    at = root / "dtd" / "dtd"
    kinds = ("striped", "banded")
    for seed, kind in enumerate(kinds, 1):
        write_image(at / "images" / kind / f"{kind}_1.jpg", 4, 5, 3, seed=seed)
    (at / "labels").mkdir()
    for name in ("train1", "val1", "test3"):
        lines = [f"{kind}/{kind}_1.jpg" for kind in kinds]
        (at / "labels" / f"{name}.txt").write_text("\n".join(lines[::-1 if "val" in name else 1]))


def imagenette(root):
    for seed, kind in enumerate(("n02979186", "n01440764"), 1):
        for part, size in (("train", "2-160"), ("val", "2")):
            at = root / f"imagenette{size}" / part / kind
            write_image(at / "b.JPEG", 5, 4, 3, seed=seed)


def signs(root):
    at = root / "gtsrb"
    for seed, name in enumerate(("Training/00001/b.ppm", "Training/00000/a.ppm",
                                 "Final_Test/Images/0.ppm", "Final_Test/Images/1.ppm"), 1):
        write_image(at / "GTSRB" / name, 4, 4, 3, seed=seed)
    (at / "GT-final_test.csv").write_text("Filename; Width; ClassId\n0.ppm;4;7\n1.ppm;4;3\n")


def semeion(root):
    root.mkdir(parents=True, exist_ok=True)
    rows = [[value % 2 for value in row] + [int(n == label) for n in range(10)]
            for label, row in enumerate(pixels(3, 256).tolist(), 4)]
    (root / "semeion.data").write_text("".join(
        " ".join(f"{value:.4f}" for value in row) + " \n" for row in rows))


def moving(root):
    (root / "MovingMNIST").mkdir(parents=True)
    np.save(root / "MovingMNIST" / "mnist_test_seq.npy", pixels(20, 3, 4, 4))


def voc(root):
    at = root / "VOCdevkit" / "VOC2012"
    for part in ("Main", "Segmentation"):
        (at / "ImageSets" / part).mkdir(parents=True)
        (at / "ImageSets" / part / "train.txt").write_text("2008_2\n2007_1\n")
    (at / "Annotations").mkdir()
    for seed, name in enumerate(("2008_2", "2007_1"), 1):
        write_image(at / "JPEGImages" / f"{name}.jpg", 5, 6, 3, seed=seed)
        write_image(at / "SegmentationClass" / f"{name}.png", 5, 6, seed=seed)
        objects = "".join(f"<object><name> cat {n} </name><bndbox><xmin>{n}</xmin><ymax>4</ymax>"
                          "</bndbox><part/></object>" for n in range(seed))
        (at / "Annotations" / f"{name}.xml").write_text(
            f"<annotation>\n  <folder>VOC</folder><size><width>6</width></size>{objects}"
            "</annotation>\n")


def nothing(root):
    pass


#: Class -> (who writes its files, what it is called with).
CASES = {
    "MNIST": (mnist, [{}, {"train": False}]),
    "FashionMNIST": (fashion, [{}]),
    "KMNIST": (kuzushiji, [{"train": False}]),
    "EMNIST": (emnist, [{"split": "letters"}, {"split": "byclass", "train": False},
                        {"split": "digits"}]),
    "QMNIST": (qmnist, [{}, {"what": "test10k"}, {"what": "test50k", "compat": False},
                        {"what": "nist"}, {"train": False}]),
    "USPS": (usps, [{}, {"train": False}]),
    "CIFAR10": (cifar, [{}, {"train": False}]),
    "CIFAR100": (cifar_fine, [{}, {"train": False}]),
    "SVHN": (svhn, [{}, {"split": "test"}, {"split": "extra"}]),
    "STL10": (stl10, [{}, {"folds": 3}, {"split": "test"}, {"split": "unlabeled"},
                      {"split": "train+unlabeled"}, {"split": "train+unlabeled", "folds": 0}]),
    "ImageFolder": (folders, [{}]),
    "Caltech101": (caltech101, [{}, {"target_type": ["category", "annotation"]}]),
    "Caltech256": (caltech256, [{}]),
    "Flowers102": (flowers, [{}, {"split": "val"}, {"split": "test"}]),
    "Food101": (food, [{}, {"split": "test"}]),
    "OxfordIIITPet": (pets, [{}, {"split": "test", "target_types": "binary-category"},
                             {"target_types": ["category", "segmentation"]},
                             {"target_types": []}]),
    "EuroSAT": (eurosat, [{}]),
    "DTD": (dtd, [{}, {"split": "val"}, {"split": "test", "partition": 3}]),
    "Imagenette": (imagenette, [{"size": "160px"}, {"split": "val"}]),
    "GTSRB": (signs, [{}, {"split": "test"}]),
    "SEMEION": (semeion, [{"download": False}]),
    "MovingMNIST": (moving, [{}, {"split": "train", "split_ratio": 4}, {"split": "test"}]),
    "VOCSegmentation": (voc, [{}]),
    "VOCDetection": (voc, [{}]),
}
NEED_SCIPY = {"SVHN", "Caltech101", "Flowers102"}


def accept(cls, root, put=setattr):
    """Have a class expect the checksums of these files."""
    for name in ("train_list", "test_list"):
        if name in vars(cls):
            listed = [[file, md5(root / cls.base_folder / file)] for file, _ in vars(cls)[name]
                      if (root / cls.base_folder / file).exists()]
            put(cls, name, listed)
    if "meta" in vars(cls):
        put(cls, "meta", {**cls.meta, "md5": md5(root / cls.base_folder / cls.meta["filename"])})
    if cls.__name__ == "SEMEION":
        put(cls, "md5_checksum", md5(root / "semeion.data"))
    if cls.__name__ == "SVHN":
        put(cls, "split_list", {key: [url, file, md5(root / file)]
                                for key, (url, file, _) in cls.split_list.items()})
    if cls.__name__ == "Flowers102":
        at = root / "flowers-102"
        put(cls, "_file_dict", {key: (file, md5(at / file) if (at / file).exists() else old)
                                for key, (file, old) in cls._file_dict.items()})


def plain(value):
    """A sample as JSON has it: pictures and arrays by size and checksum."""
    if isinstance(value, (tuple, list)):
        return [plain(item) for item in value]
    if hasattr(value, "getbands"):
        return [value.mode, list(value.size), zlib.crc32(value.tobytes())]
    if isinstance(value, np.ndarray):
        return [list(value.shape), value.tolist()]
    if hasattr(value, "tolist"):  # a tensor: it may be a film
        return value.tolist() if value.ndim < 2 else [list(value.shape), zlib.crc32(
            np.ascontiguousarray(value).tobytes())]
    return value


def told(dataset, root):
    """What a program sees of a dataset."""
    seen = {"repr": repr(dataset).replace(str(root), "ROOT"), "length": len(dataset),
            "samples": [plain(dataset[index]) for index in range(min(3, len(dataset)))]}
    for name in ("classes", "class_to_idx", "targets", "labels", "categories", "y", "index",
                 "annotation_categories", "bin_classes", "wnids", "data"):
        if hasattr(dataset, name):
            value = getattr(dataset, name)
            if name == "data" or (hasattr(value, "shape") and len(value) > 20):
                array = np.ascontiguousarray(value)
                value = [list(array.shape), array.dtype.name, zlib.crc32(array.tobytes())]
            seen[name] = json.loads(json.dumps(plain(value)).replace(str(root), "ROOT"))
    return seen


def tar_of(path, members):
    """A tar archive of (name, content) or ready-made members."""
    import io

    with tarfile.open(path, "w:gz" if path.suffix in (".tgz", ".gz") else "w") as tar:
        for name, content in members:
            member = name if isinstance(name, tarfile.TarInfo) else tarfile.TarInfo(name)
            member.size = len(content)
            tar.addfile(member, io.BytesIO(content))
    return Path(path)


def zip_of(path, members):
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in members:
            archive.writestr(name, content)
    return Path(path)
