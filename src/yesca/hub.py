"""`torch.hub`: models by the name of a repository or a folder, and weights by their address.

A repository has a `hubconf.py`, whose public functions make models. Files land below
`get_dir()`: `$TORCH_HOME/hub`, or `~/.cache/torch/hub`.
"""

from __future__ import annotations

import os
import re
import sys
import zipfile
from typing import Any

from . import _hub_repositories as repositories
from ._download import fetch
from .base import settings

__all__ = ["download_url_to_file", "get_dir", "help", "list", "load", "load_state_dict_from_url",
           "set_dir"]

HASH_REGEX = re.compile(r"-([a-f0-9]*)\.")  # resnet18-bfd8deac.pth: the SHA-256 begins so
_folder: str | None = None


def get_dir() -> str:
    """The folder of downloaded repositories and, in `checkpoints`, weights."""
    if _folder is not None:
        return _folder
    return os.path.join(settings.HOME.get(), "hub")


def set_dir(d: str | os.PathLike[str]) -> None:
    """Use another folder from now on."""
    global _folder
    _folder = os.path.expanduser(os.fspath(d))


def list(github: str, force_reload: bool = False, skip_validation: bool = False,
         trust_repo: bool | str | None = "check", verbose: bool = True) -> Any:
    """The names of the functions that a repository offers. See `load` for the arguments."""
    folder = repositories.folder_of(github, get_dir(), force_reload, skip_validation, trust_repo,
                                    verbose, "list")
    module = repositories.hubconf(folder)
    return [name for name in dir(module)
            if callable(getattr(module, name)) and not name.startswith("_")]


def help(github: str, model: str, force_reload: bool = False, skip_validation: bool = False,
         trust_repo: bool | str | None = "check") -> str | None:
    """The docstring of a function that a repository offers. See `load` for the arguments."""
    folder = repositories.folder_of(github, get_dir(), force_reload, skip_validation, trust_repo,
                                    True, "help")
    return repositories.entry(repositories.hubconf(folder), model).__doc__


def load(repo_or_dir: str, model: str, *args: Any, source: str = "github",
         trust_repo: bool | str | None = "check", force_reload: bool = False, verbose: bool = True,
         skip_validation: bool = False, **kwargs: Any) -> Any:
    """What the function `model` of a `hubconf.py` gives for `*args` and `**kwargs`.

    Args:
        repo_or_dir: "owner/name" or "owner/name:branch-or-tag" at GitHub; a folder for
            source="local".
        model: the function's name.
        source: "github" or "local".
        trust_repo: whether code of the repository may run. "check" asks on the terminal unless
            it is known to be trusted, False asks in any case, True remembers it as trusted, None
            warns.
        force_reload: fetch the repository anew.
        verbose: say on standard error that a copy is there already.
        skip_validation: do not ask GitHub whether the branch belongs to the repository itself.

    Raises ValueError for another source or an unknown branch, RuntimeError for a function or a
    package that lacks, and an Exception where the answer is that the repository is not trusted.

    Example::

        >>> import pathlib, tempfile
        >>> import yesca as torch
        >>> folder = pathlib.Path(tempfile.mkdtemp())
        >>> _ = (folder / "hubconf.py").write_text("def double(x):\\n    return 2 * x\\n")
        >>> torch.hub.load(str(folder), "double", 21, source="local")
        42
    """
    source = source.lower()
    if source not in ("github", "local"):
        raise ValueError(f'Unknown source: "{source}". Allowed values: "github" | "local".')
    if source == "github":
        repo_or_dir = repositories.folder_of(repo_or_dir, get_dir(), force_reload, skip_validation,
                                             trust_repo, verbose, "load")
    with repositories.importable(repo_or_dir):
        function = repositories.entry(repositories.hubconf(repo_or_dir), model)
        return function(*args, **kwargs)


def download_url_to_file(url: str, dst: str, hash_prefix: str | None = None,
                         progress: bool = True) -> None:
    """Fetch a file whole or not at all.

    Args:
        url: http, https, ftp or file.
        dst: the file to write.
        hash_prefix: what the SHA-256 of the file begins with; another one is a RuntimeError.
        progress: show a bar on standard error.
    """
    fetch(url, dst, checksum=hash_prefix, algorithm="prefix", progress=progress)


def load_state_dict_from_url(url: str, model_dir: str | None = None, map_location: Any = None,
                             progress: bool = True, check_hash: bool = False,
                             file_name: str | None = None, weights_only: bool = False) -> Any:
    """Fetch what `torch.save` has written, unless it is there, and load it.

    Args:
        url: the file's address.
        model_dir: where it is kept; `get_dir()/checkpoints` by default.
        map_location, weights_only: as for `torch.load`.
        progress: show a bar on standard error.
        check_hash: the file's name says how its SHA-256 begins: `name-0123abcd.pth`.
        file_name: the name to keep it under; that of the address by default.

    Raises urllib.error.URLError where the file cannot be had, RuntimeError for a wrong checksum.
    """
    from urllib.parse import unquote, urlparse

    folder = os.path.join(get_dir(), "checkpoints") if model_dir is None else model_dir
    os.makedirs(folder, exist_ok=True)
    name = file_name or os.path.basename(unquote(urlparse(url).path))
    path = os.path.join(folder, name)
    if not os.path.exists(path):
        sys.stderr.write(f'Downloading: "{url}" to {path}\n')
        found = HASH_REGEX.search(name) if check_hash else None
        download_url_to_file(url, path, found[1] if found else None, progress=progress)
    return _loaded(path, folder, map_location, weights_only)


def _loaded(path: str, folder: str, map_location: Any, weights_only: bool) -> Any:
    """The content of a file of weights, or of the one file in an archive."""
    from .serialization import load as load_file

    if zipfile.is_zipfile(path):
        with zipfile.ZipFile(path) as archive:
            members = [one for one in archive.infolist() if not one.is_dir()]
            names = {one.filename.rpartition("/")[2] for one in members}
            if not names & {"data.pkl", "constants.pkl"}:  # not the container of `torch.save`
                if len(members) != 1:
                    raise RuntimeError("Only one file(not dir) is allowed in the zipfile")
                _check_inside(members[0].filename)
                path = archive.extract(members[0], folder)
    return load_file(path, map_location=map_location, weights_only=weights_only)


def _check_inside(name: str) -> None:
    """Refuse a name in an archive that leads out of the folder it is unpacked to."""
    parts = re.split(r"[/\\]", name)
    if not parts[0] or ":" in parts[0]:
        raise ValueError(f"Archive entry has absolute path: {name}")
    if ".." in parts:
        raise ValueError(f"Archive entry contains directory traversal: {name}")
