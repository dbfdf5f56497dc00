"""State in several files with an index, as large models are published.

`model.safetensors.index.json` (or `pytorch_model.bin.index.json`) says which file of its folder
holds which tensor: `{"weight_map": {"wte.weight": "model-00001-of-00002.safetensors", ...}}`.
PyTorch has no function for these; libraries of models bring their own.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Any

from .._checkpoint.output import replaced
from .._checkpoint.safetensors import save_safetensors
from ..base import settings
from ..nn.modules.module import Module
from ..serialization import load, save

__all__ = ["load_sharded", "load_sharded_model", "save_sharded"]

#: What a folder is looked through for, in this order: an index, or the only file.
FILES = ("model.safetensors.index.json", "model.safetensors", "pytorch_model.bin.index.json",
         "pytorch_model.bin")


def save_sharded(state_dict: Mapping[str, Any], folder: str | os.PathLike[str], *,
                 max_shard_size: int | str = "5GB", safe: bool = True,
                 metadata: Mapping[str, str] | None = None) -> list[str]:
    """Write tensors to files of a limited size, with an index if there are several.

    Args:
        state_dict: tensors by name; tensors that share memory are written each.
        folder: where; it is made. Files of earlier calls that have other names stay, but an index
            that names them does not.
        max_shard_size: bytes of a file, as a number or a text (500MB); a larger tensor has a file
            of its own.
        safe: safetensors files; False writes those of `torch.save`.
        metadata: texts by name for the files' headers (safe only).

    Returns the names of the files, the index last. Raises FileExistsError with safe=False where
    the folder has safetensors files, which `load_sharded` would read instead.

    >>> import tempfile
    >>> import yesca as torch
    >>> folder = tempfile.mkdtemp()
    >>> state = {"a": torch.zeros(8), "b": torch.ones(8)}
    >>> torch.utils.sharded.save_sharded(state, folder, max_shard_size=32)[0]
    'model-00001-of-00002.safetensors'
    >>> torch.utils.sharded.load_sharded(folder)["b"].sum()
    tensor(8.)
    """
    limit = settings.size(max_shard_size) if isinstance(max_shard_size, str) else max_shard_size
    if limit < 1:
        raise ValueError(f"max_shard_size is {max_shard_size!r}: a file needs a byte at least")
    os.makedirs(folder, exist_ok=True)
    _check_unhidden(folder, () if safe else FILES[:2])
    shards: list[dict[str, Any]] = [{}]
    filled = 0
    for name, tensor in state_dict.items():
        size = tensor.numel() * tensor.element_size()
        if shards[-1] and filled + size > limit:
            shards.append({})
            filled = 0
        shards[-1][name] = tensor
        filled += size
    stem, end = ("model", "safetensors") if safe else ("pytorch_model", "bin")
    files, places = [], {}
    for number, shard in enumerate(shards, 1):
        part = f"-{number:05}-of-{len(shards):05}" if len(shards) > 1 else ""
        files.append(f"{stem}{part}.{end}")
        path = os.path.join(folder, files[-1])
        if safe:
            save_safetensors(shard, path, {"format": "pt", **(metadata or {})})
        else:
            save(shard, path)
        places.update(dict.fromkeys(shard, files[-1]))
    index = f"{stem}.{end}.index.json"
    if len(shards) > 1:
        total = sum(t.numel() * t.element_size() for t in state_dict.values())
        files.append(index)
        _write_index(os.path.join(folder, index), total, places)
        return files
    with suppress(FileNotFoundError):  # an earlier one would hide the file
        os.unlink(os.path.join(folder, index))
    return files


def _check_unhidden(folder: str | os.PathLike[str], earlier: tuple[str, ...]) -> None:
    """Refuse a folder with files that are read before those that shall be written."""
    for name in earlier:
        if os.path.exists(os.path.join(folder, name)):
            raise FileExistsError(f"{folder} has {name}, which is read before files of "
                                  "torch.save: remove it, or take another folder")


def _write_index(path: str, total: int, places: dict[str, str]) -> None:
    text = json.dumps({"metadata": {"total_size": total}, "weight_map": places}, indent=2)
    with replaced(path) as file:
        file.write(text.encode())


def load_sharded(path: str | os.PathLike[str], map_location: Any = None, *,
                 weights_only: bool = True) -> dict[str, Any]:
    """All tensors of a folder, of an index or of a single file, by name.

    Raises FileNotFoundError for files that lack, RuntimeError where index and files differ, and
    ValueError for an index that is none or leads out of its folder.
    """
    state: dict[str, Any] = {}
    for shard in _shards(path, map_location, weights_only):
        state.update(shard)
    return state


def load_sharded_model(model: Module, path: str | os.PathLike[str], strict: bool = True, *,
                       map_location: Any = None, weights_only: bool = True
                       ) -> tuple[list[str], list[str]]:
    """Load a model's state file by file, so that one file at a time is in memory beside it.

    Returns the missing and the unexpected names; with `strict`, these are a RuntimeError, which
    comes after the others have been loaded.
    """
    missing, unexpected = set(model.state_dict()), []
    for shard in _shards(path, map_location, weights_only):
        unexpected += model.load_state_dict(shard, strict=False).unexpected_keys
        missing -= set(shard)
    if strict and (missing or unexpected):
        raise RuntimeError(f"Error(s) in loading state_dict for {type(model).__name__}: missing "
                           f"keys {sorted(missing)}, unexpected keys {sorted(unexpected)}")
    return sorted(missing), sorted(unexpected)


def _shards(path: str | os.PathLike[str], map_location: Any, weights_only: bool
            ) -> Iterator[dict[str, Any]]:
    """The contents of the files, one after the other."""
    path = os.fspath(path)
    if os.path.isdir(path):
        found = [name for name in FILES if os.path.exists(os.path.join(path, name))]
        if not found:
            raise FileNotFoundError(f"{path} has none of {', '.join(FILES)}")
        path = os.path.join(path, found[0])
    if not path.endswith(".json"):
        yield load(path, map_location=map_location, weights_only=weights_only)
        return
    folder = os.path.dirname(path)
    for file, names in _index(path).items():
        whole = os.path.join(folder, file)
        if not os.path.exists(whole):
            raise FileNotFoundError(f"{path} names {file}, which is not beside it")
        shard = load(whole, map_location=map_location, weights_only=weights_only)
        lacking = [name for name in names if name not in shard]
        if lacking:
            raise RuntimeError(f"{whole} lacks {', '.join(lacking)}, which the index promises")
        yield {name: shard[name] for name in names}


def _index(path: str) -> dict[str, list[str]]:
    """The names of each file of an index."""
    with open(path, encoding="utf-8") as file:
        try:
            places = json.load(file)["weight_map"]
            files = dict.fromkeys(places.values())
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
            raise ValueError(f"{path} is no index: it has no weight_map of names to files"
                             ) from None
    for name in files:
        if not isinstance(name, str) or name in ("", ".", "..") or os.path.basename(name) != name \
                or "\\" in name:
            raise ValueError(f"{path} names the file {name!r}, which is not one of its folder")
    by_file: dict[str, list[str]] = {name: [] for name in files}
    for tensor, name in places.items():
        by_file[name].append(tensor)
    return by_file
