"""Writes the zip container of a checkpoint, in one pass over any object with `write`."""

from __future__ import annotations

import zlib
from dataclasses import dataclass
from io import BufferedWriter
from typing import Any

from . import zip_format as z
from .crew import Crew

FORMAT_VERSION = b"3\n"  # of the archive as a whole; record "version"


@dataclass
class _Entry:
    name: bytes
    position: int
    size: int
    crc: int = 0


class ZipWriter:
    """Records go out as they come; `close` writes the directory. Data is never copied whole.

    `archive` is the folder that record names are put in, `checksums` whether CRCs are computed.
    With a crew, another thread does that while a large record is written.
    """

    def __init__(self, file: Any, archive: str, alignment: int = 64,
                 checksums: bool = True, crew: Crew | None = None) -> None:
        if type(alignment) is not int or not 1 <= alignment <= z.MAX16:
            raise ValueError("storage_alignment must be a whole number from 1 to 65535, got "
                             f"{alignment!r}")
        self._file = file
        self._write_out = file.write
        self._archive = archive
        self._alignment = alignment
        self._checksums = checksums
        self._crew = crew
        self._position = 0
        self._entries: list[_Entry] = []

    def write(self, name: str, data: bytes | memoryview) -> None:
        """Add a record."""
        size = len(data)
        entry = self._begin(name, size)
        helpers = self._crew.helpers(size) if self._crew and self._checksums else []
        if helpers:
            helpers[0].start(lambda: zlib.crc32(data))
            self._put(data)
            entry.crc = helpers[0].result()
        else:
            entry.crc = zlib.crc32(data) if self._checksums else 0
            if size:
                self._put(data)
        if size:
            self._describe(entry)

    def write_empty_space(self, name: str, size: int) -> None:
        """Add a record of `size` zero bytes, to be filled in by somebody else later."""
        entry = self._begin(name, size)
        if size and _has_holes(self._file):
            self._file.seek(size, 1)
            self._position += size
            self._describe(entry)
            return
        block = bytes(min(size, 1 << 20))
        for start in range(0, size, 1 << 20):
            self._put(memoryview(block)[: min(size - start, 1 << 20)])
        if size:
            self._describe(entry)

    def close(self) -> None:
        """Write the closing records and the directory."""
        self.write("version", FORMAT_VERSION)
        self.write(".data/serialization_id", self._serialization_id())
        start = self._position
        for entry in self._entries:
            self._put_directory_entry(entry)
        self._put_end(start, self._position - start)

    def _begin(self, name: str, size: int) -> _Entry:
        path = f"{self._archive}/{name}".encode()
        entry = _Entry(path, self._position, size)
        extra = z.zip64_field(size, size, entry.position)
        extra += z.padding(entry.position, len(path), size, self._alignment)
        flags = z.UTF8 | (z.DESCRIBED if size else 0)
        self._put(z.LOCAL.pack(z.LOCAL_MARK, 0, flags, z.STORED, 0, 0, 0, 0, 0, len(path),
                               len(extra)) + path + extra)
        self._entries.append(entry)
        return entry

    def _describe(self, entry: _Entry) -> None:
        large = entry.size >= z.MAX32 or entry.position >= z.MAX32
        form = z.DESCRIPTOR64 if large else z.DESCRIPTOR
        self._put(form.pack(z.DESCRIPTOR_MARK, entry.crc, entry.size, entry.size))

    def _put_directory_entry(self, entry: _Entry) -> None:
        extra = z.zip64_field(entry.size, entry.size, entry.position)
        size, position = min(entry.size, z.MAX32), min(entry.position, z.MAX32)
        flags = z.UTF8 | (z.DESCRIBED if entry.size else 0)
        self._put(z.CENTRAL.pack(
            z.CENTRAL_MARK, 0, 0, flags, z.STORED, 0, 0, entry.crc, size, size, len(entry.name),
            len(extra), 0, 0, 0, 0, position,
        ) + entry.name + extra)

    def _put_end(self, start: int, size: int) -> None:
        count, end = len(self._entries), self._position
        self._put(z.END64.pack(z.END64_MARK, z.END64.size - 12, 0x031E, 45, 0, 0, count, count,
                               size, start))
        self._put(z.LOCATOR64.pack(z.LOCATOR64_MARK, 0, end, 1))
        few = min(count, z.MAX16)
        self._put(z.END.pack(z.END_MARK, 0, 0, few, few, min(size, z.MAX32),
                             min(start, z.MAX32), 0))

    def _serialization_id(self) -> bytes:
        """Two 20-digit numbers that depend on the names and on the contents of the records."""
        names = contents = 0
        for entry in self._entries:
            names = _combine(names, zlib.crc32(entry.name[len(self._archive) + 1:]))
            contents = _combine(contents, entry.crc)
        return b"%020d%020d" % (names, contents)

    def _put(self, data: bytes | memoryview) -> None:
        written = self._write_out(data)
        self._position += len(data)
        while type(written) is int and 0 < written < len(data):
            data = memoryview(data)[written:]  # an unbuffered file takes what it can
            written = self._write_out(data)


def _has_holes(file: Any) -> bool:
    """Whether what is skipped in a file reads as zeros, and takes no room on the disk."""
    return type(file) is BufferedWriter and file.mode == "wb" and file.seekable()


def _combine(seed: int, value: int) -> int:
    return (seed ^ (value + 0x9E3779B9 + (seed << 6) + (seed >> 2))) & 0xFFFFFFFFFFFFFFFF
