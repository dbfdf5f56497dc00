"""Repositories of `torch.hub`: copies from GitHub, whether they are trusted, their `hubconf.py`."""

from __future__ import annotations

import importlib.util
import json
import os
import re
import shutil
import sys
import tempfile
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from ._download import fetch
from .base import settings
from .base.frames import warn

SITE, API = "https://github.com", "https://api.github.com"
TRUSTED_OWNERS = ("facebookresearch", "facebookincubator", "pytorch", "fairinternal")
_TRUSTED = "trusted_list"
_PAGE = 100  # branches in one answer of GitHub's


def folder_of(github: str, home: str, force_reload: bool, skip_validation: bool,
              trust_repo: bool | str | None, verbose: bool, calling: str) -> str:
    """The folder with a repository's copy, fetched if need be."""
    owner, name, ref = parsed(github, home)
    os.makedirs(home, exist_ok=True)
    copy = "_".join((owner, name, re.sub(r"[/\\]", "_", ref)))
    path = os.path.join(home, copy)
    ask_for_trust(owner, name, copy, home, trust_repo, calling)
    if os.path.isdir(path) and not force_reload:
        if verbose:
            sys.stderr.write(f"Using cache found in {path}\n")
        return path
    if not skip_validation:
        check_branch(owner, name, ref)
    url = f"{SITE}/{owner}/{name}/zipball/{ref}"
    sys.stderr.write(f'Downloading: "{url}" to {path}.zip\n')
    with tempfile.TemporaryDirectory(dir=home) as place:
        archive = fetch(url, os.path.join(place, "repository.zip"), progress=False)
        unpacked = unpack(archive, os.path.join(place, "unpacked"))
        shutil.rmtree(path, ignore_errors=True)
        os.replace(unpacked, path)
    return path


def parsed(github: str, home: str) -> tuple[str, str, str]:
    """Owner, name and branch of "owner/name:branch"; without a branch it is main, or master."""
    from urllib.error import HTTPError, URLError
    from urllib.request import urlopen

    repository, _, ref = github.partition(":")
    owner, slash, name = repository.partition("/")
    if not (owner and slash and name) or "/" in name or {owner, name, ref} & {".", ".."}:
        raise ValueError(f"{github!r} names no repository: expected owner/name or "
                         "owner/name:branch")
    if ref:
        return owner, name, ref
    try:
        with urlopen(f"{SITE}/{owner}/{name}/tree/main/", timeout=30):
            return owner, name, "main"
    except HTTPError as error:
        error.close()
        if error.code != 404:
            raise
        return owner, name, "master"
    except URLError as error:
        for ref in ("main", "master"):
            if os.path.isdir(os.path.join(home, f"{owner}_{name}_{ref}")):
                return owner, name, ref
        raise RuntimeError("It looks like there is no internet connection and the repo could not "
                           f"be found in the cache ({home})") from error


def check_branch(owner: str, name: str, ref: str) -> None:
    """Refuse a branch, tag or commit of a fork: GitHub gives these under the repository's name."""
    for kind in ("branches", "tags"):
        for page in range(1, 1000):
            listed = json.loads(_answer(
                f"{API}/repos/{owner}/{name}/{kind}?per_page={_PAGE}&page={page}"))
            if any(one["name"] == ref or one["commit"]["sha"].startswith(ref) for one in listed):
                return
            if len(listed) < _PAGE:
                break
    raise ValueError(f"Cannot find {ref} in {SITE}/{owner}/{name}. If it's a commit from a forked "
                     "repo, please call hub.load() with forked repo directly.")


def _answer(url: str) -> bytes:
    from urllib.request import Request, urlopen

    token = settings.GITHUB_TOKEN.get()
    headers = {"Accept": "application/vnd.github.v3+json"}
    if token:
        headers["Authorization"] = f"token {token}"
    with urlopen(Request(url, headers=headers), timeout=30) as response:
        content: bytes = response.read()
    return content


def unpack(archive: str | os.PathLike[str], folder: str) -> str:
    """Unpack an archive with one folder at its top; the path of that folder."""
    with zipfile.ZipFile(archive) as file:
        top = {Path(name).parts[0] for name in file.namelist()}
        root = Path(folder).resolve()
        for name in file.namelist():
            if not (root / name).resolve().is_relative_to(root):
                raise ValueError(f"the archive would write outside of its folder: {name!r}")
        if len(top) != 1:
            raise ValueError(f"expected one folder in the archive of a repository, not {len(top)}")
        file.extractall(root)
    return str(root / top.pop())


# ---- trust -----------------------------------------------------------------------------------

def ask_for_trust(owner: str, name: str, copy: str, home: str, trust_repo: bool | str | None,
                  calling: str) -> None:
    """Ask whether code of a repository may run, and remember a yes."""
    if trust_repo not in (True, False, None, "check"):
        raise ValueError(f"trust_repo is {trust_repo!r}: expected True, False, None or 'check'")
    path, repository = Path(home, _TRUSTED), f"{owner}_{name}"
    remembered = path.read_text().split() if path.exists() else []
    trusted = owner in TRUSTED_OWNERS or repository in remembered or os.path.isdir(
        os.path.join(home, copy))  # whoever has fetched it once did trust it
    if trust_repo is None and not trusted:
        warn(f"Code of the untrusted repository {repository} is about to be fetched and run. "
             f"{calling}(..., trust_repo=True) remembers it as trusted, trust_repo=False asks, "
             "trust_repo='check' asks where it is not known to be trusted.")
        return
    if trust_repo is False or (trust_repo == "check" and not trusted):
        answer = input(f"The repository {repository} does not belong to the list of trusted "
                       "repositories and as such cannot be downloaded. Do you trust this "
                       "repository and wish to add it to the trusted list of repositories (y/N)?")
        if answer.lower() in ("", "n", "no"):
            raise Exception("Untrusted repository.")
        if answer.lower() not in ("y", "yes"):
            raise ValueError(f"Unrecognized response {answer}.")
        if trusted:
            print("The repository is already trusted.")
    if not trusted:
        with open(path, "a") as file:
            file.write(f"{repository}\n")


# ---- hubconf.py ------------------------------------------------------------------------------

@contextmanager
def importable(folder: str) -> Iterator[None]:
    """Modules of the folder can be imported inside."""
    sys.path.insert(0, folder)
    try:
        yield
    finally:
        if folder in sys.path:
            sys.path.remove(folder)


def hubconf(folder: str) -> Any:
    """The module `hubconf.py` of a folder; RuntimeError for packages that it needs and lack."""
    path = os.path.join(os.path.expanduser(folder), "hubconf.py")
    spec = importlib.util.spec_from_file_location("hubconf.py", path)
    if spec is None or spec.loader is None or not os.path.isfile(path):
        raise FileNotFoundError(f"there is no hubconf.py in {folder}")
    module = importlib.util.module_from_spec(spec)
    with importable(folder):
        spec.loader.exec_module(module)
        needs = getattr(module, "dependencies", None) or ()
        lacking = [name for name in needs if importlib.util.find_spec(name) is None]
    if lacking:
        raise RuntimeError(f"Missing dependencies: {', '.join(lacking)}")
    return module


def entry(module: Any, name: str) -> Any:
    """A function of a `hubconf.py`."""
    if not isinstance(name, str):
        raise ValueError("Invalid input: model should be a string of function name")
    found = getattr(module, name, None)
    if not callable(found):
        raise RuntimeError(f"Cannot find callable {name} in hubconf")
    return found
