"""Files from the network: fetched whole or not at all.

    fetch("https://example.org/weights.pt", "weights.pt", checksum="0123abcd", algorithm="prefix")

What has come lies in `<name>.part` and takes the real name when it is complete and its checksum is
right. A connection that breaks is taken up again where it stopped, in the same call and, where a
checksum guards against a file that has changed in between, in later ones. Only the standard
library is used: http, https, ftp and file.
"""

from __future__ import annotations

import hashlib
import os
import re
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any

from . import version

try:
    import fcntl
except ImportError:  # where there are no such locks, two programs had better not fetch one file
    fcntl = None  # type: ignore[assignment]

CHUNK = 1 << 16
ATTEMPTS = 4  # connections in a row that bring nothing new
STALLED = 30.0  # seconds without a byte after which a connection counts as broken
AGENT = f"yesca/{version.yesca}"


class ChecksumError(RuntimeError):
    """A file came whole, but is not the one that was asked for."""

    def __init__(self, url: str, expected: str, found: str) -> None:
        super().__init__(
            f'{url}: invalid hash value (expected "{expected}", got "{found}"): the file was '
            "changed on its way or at its source; it is not kept"
        )
        self.url, self.expected, self.found = url, expected, found


def digest(path: str | os.PathLike[str], algorithm: str = "md5", chunk_size: int = 1 << 20) -> str:
    """The checksum of a file, in hexadecimal.

    >>> import os
    >>> digest(os.devnull)
    'd41d8cd98f00b204e9800998ecf8427e'
    """
    running = hashlib.new(algorithm, usedforsecurity=False)
    with open(path, "rb") as file:
        while chunk := file.read(chunk_size):
            running.update(chunk)
    return running.hexdigest()


def _found(path: Path, checksum: str, algorithm: str) -> str | None:
    """None if the file has the checksum, else the one that it has."""
    own = digest(path, "sha256" if algorithm == "prefix" else algorithm)
    wanted = checksum.lower()
    return None if (own.startswith(wanted) if algorithm == "prefix" else own == wanted) else own


def fetch(
    url: str,
    path: str | os.PathLike[str],
    *,
    checksum: str | None = None,
    algorithm: str = "md5",
    progress: bool = True,
    resume: bool = True,
    agent: str = AGENT,
    redirects: bool = True,
) -> Path:
    """Fetch `url` into the file `path`, whose folders are made, and return that path; nothing is
    done if the file is there with the right checksum.

    Args:
        url: what to fetch: http, https, ftp or file.
        path: the file to write. A file of that name is replaced when the new one is complete.
        checksum: hexadecimal digits. None: any content will do.
        algorithm: "md5", "sha256" or another name of `hashlib`, or "prefix": the checksum is the
            beginning of the SHA-256.
        progress: show a bar on standard error; where that is no terminal, a line at the end.
        resume: go on from what an earlier call has left (it needs a checksum).
        agent: the `User-Agent` that servers see.
        redirects: False refuses to be sent elsewhere.

    Raises:
        urllib.error.URLError: the server cannot be reached or refuses (`HTTPError`, with `code`),
            or the connection broke again and again.
        ChecksumError: a RuntimeError; the file came whole and is not the right one.
        ValueError: the URL is none, or the algorithm is unknown.
        RecursionError: the server sends elsewhere, and `redirects` is False.

    Example::

        >>> import pathlib, tempfile
        >>> folder = pathlib.Path(tempfile.mkdtemp())
        >>> _ = (folder / "a.txt").write_bytes(b"ember")
        >>> fetch((folder / "a.txt").as_uri(), folder / "b.txt", progress=False).read_bytes()
        b'ember'
    """
    if algorithm != "prefix" and algorithm not in hashlib.algorithms_available:
        raise ValueError(f"unknown algorithm {algorithm!r}; md5, sha256 and prefix are known")
    path = Path(path).expanduser()
    if path.is_dir():
        raise IsADirectoryError(f"{path} is a folder; name the file to write")

    if not _is_right(path, checksum, algorithm):
        path.parent.mkdir(parents=True, exist_ok=True)
        part = path.with_name(path.name + ".part")
        with _alone(part) as file:
            if not resume or checksum is None:
                file.truncate(0)
            if _is_right(path, checksum, algorithm):  # fetched while this program waited
                part.unlink(missing_ok=True)
                return path
            transfer = _Transfer(url, file, agent, redirects, Bar(path.name, progress))
            _complete(transfer, part, checksum, algorithm)
            os.replace(part, path)
    return path


def _is_right(path: Path, checksum: str | None, algorithm: str) -> bool:
    return checksum is not None and path.is_file() and not _found(path, checksum, algorithm)


def _complete(transfer: _Transfer, part: Path, checksum: str | None, algorithm: str) -> None:
    """Fetch until the part is whole and right; one that was resumed gets a second chance."""
    try:
        for resumed in (transfer.have > 0, False):
            transfer.run()
            transfer.file.flush()
            os.fsync(transfer.file.fileno())
            wrong = checksum and _found(part, checksum, algorithm)
            if not wrong:
                return
            if not resumed:
                raise ChecksumError(transfer.url, str(checksum), str(wrong))
            transfer.restart()
    except BaseException as error:
        if checksum is None or isinstance(error, ChecksumError):
            part.unlink(missing_ok=True)  # nothing can be made of it later
        raise


@contextmanager
def _alone(part: Path) -> Iterator[IO[bytes]]:
    """The part, open for writing by nobody else: a second program waits for the first one."""
    while True:
        with open(part, "a+b") as file:
            if fcntl is not None:
                with suppress(OSError):  # a file system without locks
                    fcntl.flock(file, fcntl.LOCK_EX)
            if _same_file(part, file):
                yield file
                return


def _same_file(path: Path, file: IO[bytes]) -> bool:
    """Whether the path still names the open file: who held the lock may have moved it."""
    try:
        return os.path.samestat(os.stat(path), os.fstat(file.fileno()))
    except FileNotFoundError:
        return False


class _Broken(Exception):
    """A connection ended while its content was read."""


class _Transfer:
    """One file on its way: connections follow each other until it is complete."""

    def __init__(self, url: str, file: IO[bytes], agent: str, redirects: bool, bar: Bar) -> None:
        self.url, self.file, self.agent, self.redirects, self.bar = url, file, agent, redirects, bar
        self.have = file.seek(0, os.SEEK_END)
        self.validator: str | None = None  # names the version of the file that has come so far

    def restart(self) -> None:
        """Forget what has come."""
        self.have, self.validator = 0, None
        self.file.truncate(0)

    def run(self) -> None:
        """Fetch what is missing."""
        from http.client import HTTPException
        from urllib.error import HTTPError, URLError

        fruitless, most, reason = 0, self.have, None  # type: tuple[int, int, Any]
        with self.bar:
            while True:
                before = self.have
                try:
                    if self._connection():
                        return
                    reason = "the connection broke off"
                except HTTPError as error:
                    error.close()
                    if error.code == 416 and before:  # there is nothing from here on
                        if (error.headers.get("Content-Range") or "").endswith(f"/{before}"):
                            return
                        self.restart()
                    elif error.code < 500 and error.code not in (408, 429):
                        error.msg = f"{error.msg} ({self.url})"
                        raise
                    reason = error
                except URLError as error:
                    reason = error.reason
                    if not isinstance(reason, (ConnectionError, TimeoutError)):
                        raise self._failure(reason) from None  # asking again would not help
                except (_Broken, ConnectionError, TimeoutError, HTTPException) as error:
                    reason = error
                # What comes again after a restart is nothing new: it could do so for ever.
                fruitless = 1 if self.have > most else fruitless + 1
                most = max(most, self.have)
                if fruitless == ATTEMPTS:
                    raise reason if isinstance(reason, HTTPError) else self._failure(reason)
                time.sleep(0.1 * fruitless)

    def _failure(self, reason: Any) -> Exception:
        from urllib.error import URLError

        kept = f"; {self.have} bytes have come" if self.have else ""
        return URLError(f"cannot fetch {self.url}: {reason or type(reason).__name__}{kept}")

    def _connection(self) -> bool:
        """Take what one connection gives; whether the file is complete."""
        from urllib.request import Request, urlopen

        request = Request(self.url, headers={"User-Agent": self.agent})
        if self.have:
            request.add_header("Range", f"bytes={self.have}-")
            if self.validator:
                request.add_header("If-Range", self.validator)
        with urlopen(request, timeout=STALLED) as response:
            if response.url != self.url and not self.redirects:
                raise RecursionError(
                    f"Request to {self.url} exceeded 0 redirects. The last redirect points to "
                    f"{response.url}.")
            total = self._place(response)
            self.bar.start(self.have, total)
            for chunk in _chunks(response):
                self.file.write(chunk)
                self.have += len(chunk)
                self.bar.update(self.have)
        self.file.flush()
        return total is None or self.have >= total

    def _place(self, response: Any) -> int | None:
        """Go where the content of an answer belongs; the size of the whole file, if known."""
        headers = response.headers
        span = re.fullmatch(r"bytes (\d+)-\d+/(\d+|\*)", headers.get("Content-Range") or "")
        if response.status == 206 and span and int(span[1]) == self.have:
            return int(span[2]) if span[2] != "*" else None
        if response.status == 206:  # another part than the one that was asked for
            self.restart()
            raise _Broken("the server sent another part of the file than the one it was asked for")
        if self.have:  # the whole file once more
            self.restart()
        tag = headers.get("ETag") or ""
        self.validator = (tag if tag.startswith('"') else None) or headers.get("Last-Modified")
        length = headers.get("Content-Length") or ""
        return int(length) if length.isdigit() else None


def _chunks(response: Any) -> Iterator[bytes]:
    """The content as it comes. What goes wrong on this side of the wire is told from the other."""
    from http.client import HTTPException

    while True:
        try:
            chunk = response.read(CHUNK)
        except (OSError, HTTPException) as error:
            raise _Broken(str(error) or type(error).__name__) from error
        if not chunk:
            return
        yield chunk


def size_text(count: float) -> str:
    """A number of bytes for people.

    >>> size_text(9_912_422)
    '9.9 MB'
    """
    for unit in ("B", "kB", "MB", "GB"):
        if count < 1000:
            break
        count, unit = count / 1000, "TB"
    return f"{count:.0f} {unit}" if unit == "B" else f"{count:.1f} {unit}"


class Bar:
    """How much of a file has come: one line on the terminal, drawn ten times a second at most."""

    def __init__(self, name: str, shown: bool = True, width: int = 24) -> None:
        self.name, self.shown, self.width = name, shown, width
        self.live = shown and bool(getattr(sys.stderr, "isatty", bool)())
        self.first = self.have = 0
        self.total: int | None = None
        self.began = self.next = 0.0
        self.drawn = 0

    def __enter__(self) -> Bar:
        self.began = time.monotonic()
        self.drawn = 0
        return self

    def start(self, have: int, total: int | None) -> None:
        """A connection begins: `have` bytes are there, of `total`."""
        if not self.have or have < self.have:
            self.first = have
        self.have, self.total = have, total

    def update(self, have: int) -> None:
        """So many bytes are there now."""
        self.have = have
        now = time.monotonic()
        if self.live and now >= self.next:
            self.next = now + 0.1
            self._draw(self._line(now))

    def __exit__(self, kind: Any, *rest: Any) -> None:
        if not self.shown or (kind is not None and not self.drawn):
            return
        line = self._line(time.monotonic()) + (" (stopped)" if kind is not None else "")
        if self.live:
            self._draw(line)
            print(file=sys.stderr)
        elif sys.stderr is not None:
            print(line, file=sys.stderr)

    def _draw(self, line: str) -> None:
        sys.stderr.write("\r" + line.ljust(self.drawn))
        sys.stderr.flush()
        self.drawn = len(line)

    def _line(self, now: float) -> str:
        seconds = max(now - self.began, 1e-9)
        speed = size_text((self.have - self.first) / seconds)
        if not self.total:
            return f"{self.name}  {size_text(self.have)}  {speed}/s"
        full = self.width * min(self.have, self.total) // self.total
        bar = "#" * full + "." * (self.width - full)
        share = f"{100 * self.have // self.total:3d} %"
        of = f"{size_text(self.have)} of {size_text(self.total)}"
        return f"{self.name} [{bar}] {share}  {of}  {speed}/s"
