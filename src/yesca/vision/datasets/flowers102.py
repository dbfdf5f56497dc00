"""Oxford 102 Flowers: flowers of the United Kingdom."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from .folder import default_loader
from .utils import (
    CORRUPTED,
    all_intact,
    download_and_extract_archive,
    download_url,
    need_scipy,
    verify_str_arg,
)
from .vision import VisionDataset

__all__ = ["Flowers102"]

_NAMES = """
pink primrose, hard-leaved pocket orchid, canterbury bells, sweet pea, english marigold, tiger
lily, moon orchid, bird of paradise, monkshood, globe thistle, snapdragon, colt's foot, king
protea, spear thistle, yellow iris, globe-flower, purple coneflower, peruvian lily, balloon
flower, giant white arum lily, fire lily, pincushion flower, fritillary, red ginger, grape
hyacinth, corn poppy, prince of wales feathers, stemless gentian, artichoke, sweet william,
carnation, garden phlox, love in the mist, mexican aster, alpine sea holly, ruby-lipped
cattleya, cape flower, great masterwort, siam tulip, lenten rose, barbeton daisy, daffodil,
sword lily, poinsettia, bolero deep blue, wallflower, marigold, buttercup, oxeye daisy, common
dandelion, petunia, wild pansy, primula, sunflower, pelargonium, bishop of llandaff, gaura,
geranium, orange dahlia, pink-yellow dahlia?, cautleya spicata, japanese anemone, black-eyed
susan, silverbush, californian poppy, osteospermum, spring crocus, bearded iris, windflower,
tree poppy, gazania, azalea, water lily, rose, thorn apple, morning glory, passion flower,
lotus, toad lily, anthurium, frangipani, clematis, hibiscus, columbine, desert-rose, tree
mallow, magnolia, cyclamen, watercress, canna lily, hippeastrum, bee balm, ball moss,
foxglove, bougainvillea, camellia, mallow, mexican petunia, bromelia, blanket flower, trumpet
creeper, blackberry lily
"""


class Flowers102(VisionDataset):
    """102 kinds of flowers, 40 to 258 pictures of each. SciPy reads the labels, and is needed.

    Args:
        root: the folder of `flowers-102`.
        split: "train", "val" or "test".
        transform: `f(image)`, of what `loader` gives.
        target_transform: `f(label)`.
        download: fetch and unpack what is missing.
        loader: `f(path)`; by default a PIL image in RGB.

    Attributes: `classes`.

    Raises:
        RuntimeError: the files are not there as they should be.
        ImportError: SciPy is not installed.
    """

    _download_url_prefix = "https://www.robots.ox.ac.uk/~vgg/data/flowers/102/"
    _file_dict = {
        "image": ("102flowers.tgz", "52808999861908f626f3c1f4e79d11fa"),
        "label": ("imagelabels.mat", "e0620be6f572b9609742df49c70aed4d"),
        "setid": ("setid.mat", "a5357ecc9cb78c4bef273ce3793fc85c"),
    }
    _splits_map = {"train": "trnid", "val": "valid", "test": "tstid"}
    classes = _NAMES.replace("\n", " ").strip().split(", ")

    def __init__(
        self,
        root: str | os.PathLike[str],
        split: str = "train",
        transform: Callable[..., Any] | None = None,
        target_transform: Callable[..., Any] | None = None,
        download: bool = False,
        loader: Callable[[Any], Any] = default_loader,
    ) -> None:
        super().__init__(root, transform=transform, target_transform=target_transform)
        self._split = verify_str_arg(split, "split", ("train", "val", "test"))
        self._base_folder = Path(self.root) / "flowers-102"
        self._images_folder = self._base_folder / "jpg"
        if download:
            self.download()
        if not self._check_integrity():
            raise RuntimeError(CORRUPTED)
        parts, labels = (self._read(name) for name in ("setid", "label"))
        ids = parts[self._splits_map[self._split]].tolist()
        self._labels = [int(labels["labels"][number - 1]) - 1 for number in ids]
        self._image_files = [self._images_folder / f"image_{number:05d}.jpg" for number in ids]
        self.loader = loader

    def _read(self, name: str) -> Any:
        path = self._base_folder / self._file_dict[name][0]
        return need_scipy("Flowers102").loadmat(path, squeeze_me=True)

    def __len__(self) -> int:
        return len(self._image_files)

    def __getitem__(self, idx: int) -> tuple[Any, Any]:
        return self._transformed(self.loader(self._image_files[idx]), self._labels[idx])

    def extra_repr(self) -> str:
        return f"split={self._split}"

    def _check_integrity(self) -> bool:
        tables = [self._file_dict[name] for name in ("label", "setid")]
        return self._images_folder.is_dir() and all_intact(self._base_folder, tables)

    def download(self) -> None:
        """Fetch and unpack what is missing."""
        if self._check_integrity():
            return
        folder, (archive, md5) = str(self._base_folder), self._file_dict["image"]
        download_and_extract_archive(self._download_url_prefix + archive, folder, md5=md5)
        for name in ("label", "setid"):
            filename, md5 = self._file_dict[name]
            download_url(self._download_url_prefix + filename, folder, md5=md5)
