"""Where `save` writes: beside the file, which the finished one then replaces.

Whoever opens the path finds the old file or the new one, whole, also after a full disk, an
exception while pickling, or a killed process. Programs that have the old file mapped keep it.
"""

from __future__ import annotations

import errno
import os
import shutil
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

from ..base import settings

#: Errors of making a file beside the target, or of renaming it, after which the target itself
#: can still be written: a folder that is read-only, a file that is mounted or kept by a program.
_NOT_BESIDE = (errno.EACCES, errno.EPERM, errno.EROFS, errno.EBUSY, errno.ETXTBSY)


@contextmanager
def replaced(path: str) -> Iterator[Any]:
    """A file to write, which takes the place of `path` when the block ends without an exception.

    Keeps the mode of an existing file, and a symbolic link (its target is replaced). Devices and
    pipes are written as they are. Raises OSError; the old file is then as it was.
    """
    target = os.path.realpath(path)
    mode = _mode_of(path)
    nameless = not os.path.basename(path) or mode is not None and not os.path.exists(target)
    if nameless or mode is not None and not stat.S_ISREG(mode):
        # A device, a pipe, a file without a name (`/dev/stdout`); or no name, which `open` says.
        with open(path, "wb") as file:
            yield file
        return
    if mode is not None:
        os.close(os.open(target, os.O_WRONLY))  # the error of a file that may not be written
    try:
        beside, number = _open_beside(target)
    except OSError as error:
        if mode is None or error.errno not in _NOT_BESIDE:
            raise
        with open(target, "wb") as file:
            yield file
            _sync(file)
        return
    try:
        with open(number, "wb") as file:
            yield file
            file.flush()
            if mode is not None:
                _take_over(number, target, mode)
            _sync(file)
            if not os.path.lexists(beside):
                # Links are followed only where some folder is given; an absolute path ignores it.
                os.link(f"/proc/self/fd/{number}", beside, src_dir_fd=number,
                        follow_symlinks=True)
        _move(beside, target)
    except BaseException:
        with suppress(OSError):
            os.unlink(beside)
        raise
    _sync_folder(target)


def _mode_of(path: str) -> int | None:
    try:
        return os.stat(path).st_mode
    except FileNotFoundError:
        return None


def _open_beside(target: str) -> tuple[str, int]:
    """A name beside the target, and the number of a new file that has it or will get it."""
    folder = os.path.dirname(target)
    beside = os.path.join(folder, f".save-{os.urandom(8).hex()}.tmp")
    if hasattr(os, "O_TMPFILE") and os.path.isdir("/proc/self/fd"):
        # Without a name until it is whole: if the process is killed, nothing is left.
        with suppress(OSError):
            return beside, os.open(folder, os.O_TMPFILE | os.O_WRONLY | os.O_CLOEXEC, 0o666)
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL
    return beside, os.open(beside, flags | getattr(os, "O_BINARY", 0), 0o666)


def _take_over(number: int, target: str, mode: int) -> None:
    """Give the new file the mode of the old one, and its owner where that is allowed."""
    if not hasattr(os, "fchmod"):
        return
    old, new = os.stat(target), os.fstat(number)
    with suppress(OSError):
        if (old.st_uid, old.st_gid) != (new.st_uid, new.st_gid):
            os.fchown(number, old.st_uid, old.st_gid)
    with suppress(OSError):
        os.fchmod(number, stat.S_IMODE(mode))


def _move(beside: str, target: str) -> None:
    try:
        os.replace(beside, target)
    except OSError as error:
        if error.errno not in _NOT_BESIDE:
            raise
        shutil.copyfile(beside, target)
        os.unlink(beside)


def _sync(file: Any) -> None:
    if settings.SAVE_SYNC.get():
        file.flush()
        os.fsync(file.fileno())


def _sync_folder(target: str) -> None:
    """Make the new name last as well; only some systems can."""
    if settings.SAVE_SYNC.get():
        with suppress(OSError):
            number = os.open(os.path.dirname(target), os.O_RDONLY)
            try:
                os.fsync(number)
            finally:
                os.close(number)
