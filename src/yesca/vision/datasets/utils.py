"""What datasets share: fetching, checking and unpacking files, checking names of splits."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, TypeVar

from ... import _download
from ._archives import decompress, detect, unpack

__all__ = [
    "USER_AGENT", "calculate_md5", "check_integrity", "check_md5",
    "download_and_extract_archive", "download_file_from_google_drive", "download_url",
    "extract_archive", "iterable_to_str", "list_dir", "list_files", "verify_str_arg",
]

AnyPath = str | os.PathLike[str]
T = TypeVar("T", str, bytes)

USER_AGENT = "pytorch/vision"


def calculate_md5(fpath: AnyPath, chunk_size: int = 1024 * 1024) -> str:
    """The MD5 of a file, in hexadecimal."""
    return _download.digest(fpath, "md5", chunk_size)


def check_md5(fpath: AnyPath, md5: str, **kwargs: Any) -> bool:
    """Whether a file has this MD5."""
    return md5 == calculate_md5(fpath, **kwargs)


def check_integrity(fpath: AnyPath, md5: str | None = None) -> bool:
    """Whether a file is there and, if an MD5 is given, has it.

    >>> check_integrity("/none"), check_integrity(__import__("os").__file__)
    (False, True)
    """
    return os.path.isfile(fpath) and (md5 is None or check_md5(fpath, md5))


def download_url(url: str, root: AnyPath, filename: AnyPath | None = None,
                 md5: str | None = None, max_redirect_hops: int = 3) -> None:
    """Fetch a file into a folder, unless it is there (with the right MD5, if one is given).

    Args:
        url: http, https, ftp, file, or a file's page of Google Drive (that needs `gdown`).
        root: the folder, made if need be.
        filename: its name there; by default the last part of the URL.
        md5: what it must have. A file that has not is never kept.
        max_redirect_hops: 0 refuses to be sent elsewhere.

    Raises:
        RuntimeError: the file came, but is not the right one.
        urllib.error.URLError: it cannot be had.
    """
    root = os.path.expanduser(root)
    path = os.path.join(root, filename or os.path.basename(url))
    if check_integrity(path, md5):
        return
    file_id = _google_drive_id(url)
    if file_id is not None:
        download_file_from_google_drive(file_id, root, filename or os.path.basename(url), md5)
        return
    try:
        _fetch(url, path, md5, max_redirect_hops)
    except (OSError, RecursionError) as error:
        # Some servers have lost their certificates; a checksum makes the plain way as safe.
        if not url.startswith("https:") or md5 is None or isinstance(error, RecursionError):
            raise
        try:
            _fetch("http:" + url.removeprefix("https:"), path, md5, max_redirect_hops)
        except OSError:
            raise error from None


def _fetch(url: str, path: AnyPath, md5: str | None, hops: int) -> None:
    try:
        _download.fetch(url, path, checksum=md5, agent=USER_AGENT, redirects=hops > 0)
    except _download.ChecksumError as error:
        raise RuntimeError(f"File not found or corrupted. ({error})") from None


def _google_drive_id(url: str) -> str | None:
    found = re.match(r"https?://(?:drive|docs)[.]google[.]com/file/d/([^/]*)", url)
    return found and found[1]


def download_file_from_google_drive(file_id: str, root: AnyPath, filename: AnyPath | None = None,
                                    md5: str | None = None) -> None:
    """Fetch a file of Google Drive through the package `gdown`, which answers its questions.

    Raises RuntimeError if that package is missing, or the file is not the right one.
    """
    try:
        import gdown
    except ModuleNotFoundError:
        raise RuntimeError("To download files from GDrive, 'gdown' is required. You can install "
                           "it with 'pip install gdown'.") from None
    root = os.path.expanduser(root)
    path = os.path.join(root, filename or file_id)
    os.makedirs(root, exist_ok=True)
    if check_integrity(path, md5):
        return
    gdown.download(id=file_id, output=path, quiet=False, user_agent=USER_AGENT)
    if not check_integrity(path, md5):
        raise RuntimeError("File not found or corrupted.")


def list_dir(root: AnyPath, prefix: bool = False) -> list[str]:
    """The names of the folders in a folder; with `prefix`, their paths."""
    root = os.path.expanduser(root)
    names = [name for name in os.listdir(root) if os.path.isdir(os.path.join(root, name))]
    return [os.path.join(root, name) for name in names] if prefix is True else names


def list_files(root: AnyPath, suffix: str | tuple[str, ...], prefix: bool = False) -> list[str]:
    """The names of the files in a folder that end with `suffix`; with `prefix`, their paths."""
    root = os.path.expanduser(root)
    names = [name for name in os.listdir(root)
             if name.endswith(suffix) and os.path.isfile(os.path.join(root, name))]
    return [os.path.join(root, name) for name in names] if prefix is True else names


def _detect_file_type(file: AnyPath) -> tuple[str, str | None, str | None]:
    return detect(file)


def _decompress(from_path: AnyPath, to_path: AnyPath | None = None,
                remove_finished: bool = False) -> Path:
    """Unpack one compressed file; by default into one of the same name without the suffix."""
    suffix, archive, compression = detect(from_path)
    if compression is None:
        raise RuntimeError(f"Couldn't detect a compression from suffix {suffix}.")
    if to_path is None:
        to_path = os.fspath(from_path).removesuffix(suffix) + (archive or "")
    decompress(from_path, to_path, compression)
    if remove_finished:
        os.remove(from_path)
    return Path(to_path)


def extract_archive(from_path: AnyPath, to_path: AnyPath | None = None,
                    remove_finished: bool = False) -> AnyPath:
    """Unpack a tar or zip archive, or one compressed file (.gz, .bz2, .xz), by its name.

    Args:
        from_path: the archive.
        to_path: the folder to unpack into; by default the archive's own.
        remove_finished: remove the archive afterwards.

    Returns:
        The folder, or the file that was compressed.

    Raises:
        RuntimeError: an unknown suffix, a damaged archive, or one with names that lead out of
            the folder; nothing is left of it then.
    """
    if to_path is None:
        to_path = os.path.dirname(from_path)
    suffix, archive, compression = detect(from_path)
    if archive is None:
        name = os.path.basename(from_path).removesuffix(suffix)
        made = _decompress(from_path, os.path.join(to_path, name), remove_finished)
    else:
        unpack(from_path, to_path or ".", archive, compression)
        made = Path(to_path)
        if remove_finished:
            os.remove(from_path)
    return os.fspath(made) if isinstance(from_path, str) else made


def download_and_extract_archive(
    url: str,
    download_root: AnyPath,
    extract_root: AnyPath | None = None,
    filename: AnyPath | None = None,
    md5: str | None = None,
    remove_finished: bool = False,
) -> None:
    """`download_url` into one folder, then `extract_archive` into that or another."""
    download_root = os.path.expanduser(download_root)
    filename = filename or os.path.basename(url)
    download_url(url, download_root, filename, md5)
    archive = os.path.join(download_root, filename)
    extract_archive(archive, extract_root or download_root, remove_finished)


def iterable_to_str(iterable: Iterable[Any]) -> str:
    """
    >>> iterable_to_str(["train", "test"])
    "'train', 'test'"
    """
    return "'" + "', '".join(map(str, iterable)) + "'"


def verify_str_arg(value: T, arg: str | None = None, valid_values: Iterable[T] | None = None,
                   custom_msg: str | None = None) -> T:
    """A string that is one of some. Raises ValueError if it is not.

    >>> verify_str_arg("val", "split", ("train", "test"))
    Traceback (most recent call last):
    ValueError: Unknown value 'val' for argument split. Valid values are {'train', 'test'}.
    """
    if not isinstance(value, str):
        where = "" if arg is None else f" for argument {arg}"
        raise ValueError(f"Expected type str{where}, but got type {type(value)}.")
    if valid_values is not None and value not in valid_values:
        raise ValueError(custom_msg if custom_msg is not None else (
            f"Unknown value '{value}' for argument {arg}. "
            f"Valid values are {{{iterable_to_str(valid_values)}}}."))
    return value


def need_scipy(what: str) -> Any:
    """`scipy.io`. Raises ImportError that says what needs it."""
    try:
        import scipy.io
    except ImportError as error:
        raise ImportError(f"{what} reads MATLAB files with SciPy: pip install scipy") from error
    return scipy.io


def all_intact(folder: AnyPath, files: Sequence[Sequence[str]]) -> bool:
    """Whether all of some (name, MD5) are in a folder as they should be."""
    return all(check_integrity(os.path.join(folder, name), md5) for name, md5 in files)


NOT_FOUND = "Dataset not found. You can use download=True to download it"
CORRUPTED = "Dataset not found or corrupted. You can use download=True to download it"
