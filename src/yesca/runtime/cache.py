"""Machine code on disk: named entries, checked by digest, bounded in bytes.

An entry is one object file with a small header. The digest covers the entry's *name* as well as
its bytes, so a damaged, truncated or renamed file is noticed before any of it is executed; such
a file is deleted and counted, and the caller compiles again. Code is only read from files that
nobody but this user, root or the owner of the package can have written. Entries appear by rename,
so other processes see all of an entry or none. A disk that is full or read-only costs speed, never
correctness. The room knows nothing of LLVM: `machine.py` decides what the names are.
"""

import functools
import hashlib
import json
import os
import stat
import threading
import time
from dataclasses import dataclass
from itertools import count
from pathlib import Path

from ..base import settings

MAGIC = b"yesca object 1\n\0"
SUFFIX = ".yesca"
_DIGEST_BYTES = 32
_HEADER_BYTES = len(MAGIC) + _DIGEST_BYTES + 4
# Machine code, where to find it, and what `graph` stores beside it.
_KINDS = ({"keys", "needs"}, {"group"}, {"program"})
# A hit refreshes the file's time at most this often: eviction needs days, not microseconds.
_REFRESH_SECONDS = 3600
_STALE_TEMPORARY_SECONDS = 3600
_MOST_BYTES = 256 << 20  # of one entry: a larger file is none of ours


@dataclass(frozen=True)
class Entry:
    """The contents of one cache file: `meta` describes `code` (see `machine.py`)."""

    meta: dict
    code: bytes


@dataclass(frozen=True)
class CacheInfo:
    """What `cache.info()` reports about the directories and this process's use of them."""

    directories: tuple
    writable: str | None
    entries: int
    nbytes: int
    limit: int
    used_here: int
    damaged: int


def encode(name: str, entry: Entry) -> bytes:
    """The bytes of a cache file."""
    meta = json.dumps(entry.meta, separators=(",", ":")).encode()
    body = len(meta).to_bytes(4, "little") + meta + entry.code
    return MAGIC + _digest(name, body) + body


def decode(name: str, data: bytes) -> Entry | None:
    """The entry in `data`, or None when `data` is not, byte for byte, the entry `name`."""
    if len(data) < _HEADER_BYTES or not data.startswith(MAGIC):
        return None
    start = len(MAGIC) + _DIGEST_BYTES
    if data[len(MAGIC):start] != _digest(name, memoryview(data)[start:]):
        return None
    end = start + 4 + int.from_bytes(data[start:start + 4], "little")
    try:
        meta = json.loads(data[start + 4:end])
    except ValueError:
        return None
    if not isinstance(meta, dict) or not any(kind <= meta.keys() for kind in _KINDS):
        return None
    return Entry(meta, data[end:])


def _digest(name: str, body) -> bytes:
    state = hashlib.blake2b(name.encode() + b"\0", digest_size=_DIGEST_BYTES)
    state.update(body)
    return state.digest()


class ObjectCache:
    """Entries in several directories: read in order, written to the last.

    All methods may be called from any thread; callers that compile hold the machine's lock.
    """

    def __init__(self, directories, limit: int):
        self.directories = tuple(Path(directory) for directory in directories)
        self.limit = limit
        self.damaged = 0
        self._used = {}  # entry name -> file, or the bytes when they could not be written
        self._serial = count()
        self._unscanned = None  # bytes written since the directory was last measured

    @property
    def writable(self) -> Path | None:
        """The directory that takes new entries."""
        return self.directories[-1] if self.directories else None

    def get(self, name: str) -> Entry | None:
        """The entry called `name`, or None. A damaged file is deleted on the way."""
        kept = self._used.get(name)
        if isinstance(kept, bytes):
            return decode(name, kept)
        for directory in self.directories:
            path = os.path.join(directory, name + SUFFIX)
            data = self._read(path)
            if data is None:
                continue
            entry = decode(name, data)
            if entry is not None:
                self._used[name] = path
                return entry
            self.damaged += 1
            _remove(path)
        return None

    def put(self, name: str, entry: Entry) -> None:
        """Store an entry; what cannot be written is kept in memory for `pack`."""
        data = encode(name, entry)
        self._used[name] = data
        if self.writable is None or len(data) > self.limit:
            return
        path = os.path.join(self.writable, name + SUFFIX)
        if self._write(path, data):
            self._used[name] = path
            self._bound(len(data))

    def mark(self, name: str, beside: str) -> None:
        """Count `name`, stored in the same directory as the entry `beside`, as used."""
        source = self._used.get(beside)
        if isinstance(source, str) and name not in self._used:
            self._used[name] = os.path.join(os.path.dirname(source), name + SUFFIX)

    def used(self) -> dict:
        """The entries this process loaded or made: name -> path or bytes."""
        return dict(self._used)

    def files(self):
        """(path, size, time of last use) of every entry in the writable directory."""
        return list(_entries(self.writable)) if self.writable is not None else []

    def clear(self) -> None:
        """Delete the entries of the writable directory (code already loaded stays loaded)."""
        for path, _, _ in self.files():
            _remove(path)
        self._used.clear()
        self._unscanned = None

    def _read(self, path):
        try:
            with open(path, "rb", buffering=0, opener=_without_waiting) as file:
                status = os.fstat(file.fileno())
                if not _trusted(status) or status.st_size > _MOST_BYTES:
                    return None
                data = file.read(status.st_size)
        except OSError:
            return None
        if time.time() - status.st_mtime > _REFRESH_SECONDS:
            try:
                os.utime(path)
            except OSError:
                pass  # a shipped, read-only directory
        return data

    def _write(self, path: str, data: bytes) -> bool:
        mark = f".{os.getpid()}.{threading.get_ident()}.{next(self._serial)}.tmp"
        temporary = path + mark
        try:
            os.makedirs(self.writable, mode=0o700, exist_ok=True)
            with open(temporary, "xb", opener=_for_owner) as file:
                file.write(data)
            os.replace(temporary, path)
            return True
        except OSError:
            _remove(temporary)
            return False
        except BaseException:  # Ctrl-C
            _remove(temporary)
            raise

    def _bound(self, written: int) -> None:
        # Other processes write too, so the directory is measured again now and then.
        if self._unscanned is not None:
            self._unscanned += written
            if self._unscanned < self.limit // 16:
                return
        self._unscanned = 0
        files = self.files()
        total = sum(size for _, size, _ in files)
        if total > self.limit:
            for path, size, _ in sorted(files, key=lambda item: item[2]):
                _remove(path)
                total -= size
                if total <= self.limit * 3 // 4:
                    break
        self._sweep_temporaries()

    def _sweep_temporaries(self) -> None:
        # Left behind by processes that were killed between writing and renaming.
        try:
            with os.scandir(self.writable) as listing:
                for item in listing:
                    old = time.time() - item.stat().st_mtime > _STALE_TEMPORARY_SECONDS
                    if item.name.endswith(".tmp") and SUFFIX in item.name and old:
                        _remove(item.path)
        except OSError:
            pass


def _entries(directory):
    try:
        listing = os.scandir(directory)
    except OSError:
        return
    with listing:
        for item in listing:
            if not item.name.endswith(SUFFIX):
                continue
            try:
                status = item.stat()
            except OSError:
                continue  # evicted by another process meanwhile
            yield item.path, status.st_size, status.st_mtime


def _without_waiting(path, flags) -> int:
    """Open what may be a pipe, which would wait for somebody to write."""
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0))


def _for_owner(path, flags) -> int:
    """Open a new file that only its owner may write, whatever the umask."""
    return os.open(path, flags, 0o644)


def _trusted(status) -> bool:
    """Whether an open file is a plain one whose contents only trusted users can have chosen."""
    if not stat.S_ISREG(status.st_mode):
        return False
    if not hasattr(os, "geteuid"):
        return True  # a system whose users are no numbers
    return status.st_uid in (os.geteuid(), 0, _package_owner()) and not status.st_mode & 0o022


@functools.cache
def _package_owner() -> int:
    """Whoever owns the code that runs here anyway."""
    return os.stat(__file__).st_uid


def _remove(path) -> None:
    try:
        os.unlink(path)
    except OSError:
        pass


_current = None


def current() -> ObjectCache:
    """The cache of this process, made from the settings on first need."""
    global _current
    if _current is None:
        limit = settings.CACHE_SIZE.get()
        _current = ObjectCache(settings.CACHE_DIR.get() if limit else (), limit)
    return _current


def use(directories, limit: int | None = None) -> ObjectCache:
    """Replace the directories of this process's cache (tests, applications that ship code)."""
    global _current
    _current = ObjectCache(directories, limit or settings.CACHE_SIZE.get())
    return _current


def info() -> CacheInfo:
    """Directories, number and bytes of entries, and this process's use of them."""
    cache = current()
    files = cache.files()
    writable = str(cache.writable) if cache.writable is not None else None
    return CacheInfo(
        directories=tuple(str(directory) for directory in cache.directories),
        writable=writable,
        entries=len(files),
        nbytes=sum(size for _, size, _ in files),
        limit=cache.limit,
        used_here=len(cache.used()),
        damaged=cache.damaged,
    )


def clear() -> None:
    """Delete the stored machine code of the writable directory."""
    current().clear()


def pack(path, everything: bool = False) -> int:
    """Copy machine code to the directory `path`, to be shipped with an application.

    Copies the entries this process used, or with `everything` all of the writable directory.
    Point `YESCA_CACHE_DIR` at the copy (first, before a writable directory) to use it. Returns
    the number of entries copied. Raises OSError when `path` cannot be written.
    """
    cache = current()
    sources = {Path(name).name.removesuffix(SUFFIX): name for name, _, _ in cache.files()}
    sources = {**(sources if everything else {}), **cache.used()}
    os.makedirs(path, exist_ok=True)
    copied = 0
    for name, source in sources.items():
        try:
            data = source if isinstance(source, bytes) else Path(source).read_bytes()
        except OSError:
            continue  # evicted since it was used
        if decode(name, data) is not None:
            Path(path, name + SUFFIX).write_bytes(data)
            copied += 1
    return copied
