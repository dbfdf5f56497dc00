"""Archives and compressed files, unpacked beside where they belong and then moved there.

What an archive calls its files decides nothing outside of the folder it is unpacked into: names
that lead elsewhere, links that point elsewhere and devices are refused before anything is moved.
An unpacking that is interrupted leaves no half of a file under its name.
"""

from __future__ import annotations

import bz2
import gzip
import lzma
import os
import shutil
import tarfile
import tempfile
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

__all__ = ["OPENERS", "UNPACKERS", "detect", "decompress", "unpack"]

OPENERS: dict[str, Callable[..., IO[bytes]]] = {
    ".bz2": bz2.open, ".gz": gzip.open, ".xz": lzma.open}
ALIASES = {".tbz": (".tar", ".bz2"), ".tbz2": (".tar", ".bz2"), ".tgz": (".tar", ".gz")}
#: What damaged archives raise while they are read.
_DAMAGE = (EOFError, OSError, lzma.LZMAError, tarfile.TarError, zipfile.BadZipFile, zlib.error)


def detect(file: str | os.PathLike[str]) -> tuple[str, str | None, str | None]:
    """Suffix, kind of archive and compression of a file, by its name.

    Raises RuntimeError if there is no suffix, or none that is known.

    >>> detect("a.tar.gz"), detect("a.gz"), detect("a.zip")
    (('.tar.gz', '.tar', '.gz'), ('.gz', None, '.gz'), ('.zip', '.zip', None))
    """
    suffixes = Path(file).suffixes
    if not suffixes:
        raise RuntimeError(f"File '{os.fspath(file)}' has no suffixes that could be used to "
                           "detect the archive type and compression.")
    last = suffixes[-1]
    if last in ALIASES:
        return last, *ALIASES[last]
    if last in UNPACKERS:
        return last, last, None
    if last in OPENERS:
        if len(suffixes) > 1 and suffixes[-2] in UNPACKERS:
            return suffixes[-2] + last, suffixes[-2], last
        return last, None, last
    known = sorted({*ALIASES, *UNPACKERS, *OPENERS})
    raise RuntimeError(f"Unknown compression or archive type: '{last}'.\n"
                       f"Known suffixes are: '{known}'.")


@contextmanager
def _told(file: str | os.PathLike[str]) -> Iterator[None]:
    """What a damaged archive raises, as one RuntimeError that names it."""
    try:
        yield
    except FileNotFoundError:
        raise
    except _DAMAGE as error:
        if isinstance(error, OSError) and error.errno is not None:
            raise  # the disk is full, say
        raise RuntimeError(f"{os.fspath(file)} cannot be unpacked: {error}; it is damaged, or is "
                           "no such archive: remove it to fetch it again") from error


def decompress(source: str | os.PathLike[str], target: str | os.PathLike[str],
               compression: str) -> None:
    """Write what a compressed file holds to `target`, which is there only when it is whole."""
    part = f"{os.fspath(target)}.{os.getpid()}.part"
    try:
        with _told(source), OPENERS[compression](source, "rb") as file, open(part, "wb") as made:
            shutil.copyfileobj(file, made, 1 << 20)
        os.replace(part, target)
    finally:
        if os.path.exists(part):
            os.remove(part)


def unpack(source: str | os.PathLike[str], folder: str | os.PathLike[str], archive: str,
           compression: str | None) -> None:
    """Unpack an archive into a folder; files of the same names are replaced."""
    folder = os.path.abspath(folder)
    os.makedirs(folder, exist_ok=True)
    aside = tempfile.mkdtemp(prefix=".unpacking-", dir=folder)
    try:
        with _told(source):
            UNPACKERS[archive](source, os.path.realpath(aside), compression)
        _move(aside, folder)
    finally:
        shutil.rmtree(aside, ignore_errors=True)


def _move(source: str, target: str) -> None:
    """Put what lies in one folder into another; folders that are there already are joined."""
    for entry in list(os.scandir(source)):
        place = os.path.join(target, entry.name)
        if entry.is_dir(follow_symlinks=False) and os.path.isdir(place):
            _move(entry.path, place)
        else:
            os.replace(entry.path, place)


def _inside(folder: str, name: str, source: Any) -> str:
    """The path of a member. Raises RuntimeError if it is outside of the folder."""
    path = os.path.realpath(os.path.join(folder, name.replace("\\", "/")))
    if os.path.commonpath([folder, path]) != folder:
        raise RuntimeError(f"{os.fspath(source)} holds {name!r}, which lies outside of the folder "
                           "it is unpacked into; nothing of it was unpacked")
    return path


def _write(path: str, content: IO[bytes] | None) -> None:
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "wb") as file:
        if content is not None:
            shutil.copyfileobj(content, file, 1 << 20)


def _unpack_tar(source: Any, folder: str, compression: str | None) -> None:
    with tarfile.open(source, f"r:{compression[1:]}" if compression else "r:") as tar:
        for member in tar:
            path = _inside(folder, member.name, source)
            if member.isdir():
                os.makedirs(path, exist_ok=True)
            elif member.isreg() or member.islnk():  # a second name becomes a second file
                if member.islnk():
                    _inside(folder, member.linkname, source)
                with tar.extractfile(member) or open(os.devnull, "rb") as content:
                    _write(path, content)
            elif member.issym():
                _inside(folder, os.path.join(os.path.dirname(member.name), member.linkname), source)
                os.makedirs(os.path.dirname(path), exist_ok=True)
                os.symlink(member.linkname, path)
            else:
                raise RuntimeError(f"{os.fspath(source)} holds {member.name!r}, which is neither a "
                                   "file, a folder nor a link; nothing of it was unpacked")


def _unpack_zip(source: Any, folder: str, compression: str | None) -> None:
    with zipfile.ZipFile(source) as archive:
        for member in archive.infolist():
            path = _inside(folder, member.filename, source)
            if member.is_dir():
                os.makedirs(path, exist_ok=True)
                continue
            try:
                with archive.open(member) as content:
                    _write(path, content)
            except (RuntimeError, NotImplementedError) as error:  # a password, a rare compression
                raise zipfile.BadZipFile(str(error)) from error


UNPACKERS: dict[str, Callable[[Any, str, str | None], None]] = {
    ".tar": _unpack_tar, ".zip": _unpack_zip}
