"""Reads the zip container of a checkpoint. No number in the file is trusted.

The directory must lie within the file, entries must not overlap (many names for the same bytes
would multiply the memory that a small file takes), and a record is exactly as long as it says.
CRCs are not checked, as in PyTorch, whose writer can leave them out.
"""

from __future__ import annotations

import struct
import zlib
from dataclasses import dataclass
from typing import Any

from . import zip_format as z
from .crew import Crew, number_of, read_together
from .messages import CORRUPT


@dataclass(frozen=True)
class Record:
    """One entry of the directory: where its local header is and how long its data."""

    name: str
    position: int
    size: int
    compressed: int
    method: int


def _fail(action: str, reason: str) -> RuntimeError:
    return RuntimeError(f"PytorchStreamReader failed {action}: {reason}.{CORRUPT}")


class ZipReader:
    """The records of an archive in a seekable file, which starts at the file's position.

    With a crew, large records of plain files are read by several threads.
    """

    def __init__(self, file: Any, crew: Crew | None = None) -> None:
        self._file = file
        self._crew = crew
        self._number = None if crew is None else number_of(file)
        self._base = file.tell()
        self._length = file.seek(0, 2) - self._base
        directory = self._find_directory()
        self._records = self._read_directory(*directory)

    def has(self, name: str) -> bool:
        """Whether there is such a record."""
        return name in self._records

    def size(self, name: str) -> int:
        """Bytes in a record; RuntimeError if there is none."""
        return self._record(name).size

    def read(self, name: str) -> bytes:
        """A record's data."""
        record = self._record(name)
        start = self._data_start(record)
        if record.method == z.STORED:
            return self._read_at(start, record.size, f"reading file {name}")
        return self._inflate(record, start)

    def read_into(self, name: str, target: memoryview) -> None:
        """Fill `target`, which must have the record's size."""
        record = self._record(name)
        if len(target) != record.size:
            raise RuntimeError(f"record size ({record.size} bytes) of {name} does not match "
                               f"expected size ({len(target)} bytes){CORRUPT}")
        start = self._data_start(record)
        if record.method != z.STORED:
            target[:] = self._inflate(record, start)
            return
        if self._crew is not None and self._number is not None:
            if not read_together(self._crew, self._number, target, self._base + start):
                raise _fail(f"reading file {name}", "the file ends too early")
            return
        self._file.seek(self._base + start)
        done = 0
        while done < len(target):
            count = self._file.readinto(target[done:])
            if not count:
                raise _fail(f"reading file {name}", "the file ends too early")
            done += count

    def data_offset(self, name: str) -> int | None:
        """Where a record's data starts in the file; None if it is compressed."""
        record = self._record(name)
        return self._data_start(record) if record.method == z.STORED else None

    def _record(self, name: str) -> Record:
        if name not in self._records:
            raise _fail(f"locating file {name}", "file not found")
        return self._records[name]

    def _read_at(self, position: int, size: int, action: str) -> bytes:
        if position < 0 or size < 0 or position + size > self._length:
            raise _fail(action, f"bytes {position} to {position + size} are outside of the file")
        self._file.seek(self._base + position)
        data = self._file.read(size)
        if len(data) != size:
            raise _fail(action, "the file ends too early")
        return data

    def _find_directory(self) -> tuple[int, int, int]:
        """(position, size, entries) of the central directory."""
        action = "reading zip archive"
        tail_start = max(0, self._length - z.END.size - z.MAX16)
        tail = self._read_at(tail_start, self._length - tail_start, action)
        found = tail.rfind(z.END_MARK)
        if found < 0 or len(tail) - found < z.END.size:
            raise _fail(action, "failed finding central directory")
        _, _, _, _, count, size, position, _ = z.END.unpack_from(tail, found)
        locator = tail_start + found - z.LOCATOR64.size
        if locator >= 0:
            mark, _, end64, _ = z.LOCATOR64.unpack(self._read_at(locator, 20, action))
            if mark == z.LOCATOR64_MARK:
                fields = z.END64.unpack(self._read_at(end64, z.END64.size, action))
                if fields[0] != z.END64_MARK:
                    raise _fail(action, "failed finding central directory")
                count, size, position = fields[7:]
        return position, size, count

    def _read_directory(self, position: int, size: int, count: int) -> dict[str, Record]:
        data = self._read_at(position, size, "reading zip archive")
        records: list[Record] = []
        at = 0
        for _ in range(min(count, size // z.CENTRAL.size)):
            record, at = self._directory_entry(data, at)
            records.append(record)
        if not records or len(records) != count:
            raise _fail("reading zip archive", "the central directory is cut off")
        self._check_apart(records)
        archive = records[0].name.partition("/")[0] + "/"
        named = {record.name.removeprefix(archive): record for record in records}
        if len(named) != len(records):
            raise _fail("reading zip archive", "two records have the same name")
        return named

    def _directory_entry(self, data: bytes, at: int) -> tuple[Record, int]:
        action = "reading zip archive"
        if at + z.CENTRAL.size > len(data):
            raise _fail(action, "the central directory is cut off")
        (mark, _, _, flags, method, _, _, _, compressed, size, name_length, extra_length,
         comment_length, _, _, _, position) = z.CENTRAL.unpack_from(data, at)
        name_at = at + z.CENTRAL.size
        extra_at = name_at + name_length
        end = extra_at + extra_length + comment_length
        if mark != z.CENTRAL_MARK or end > len(data):
            raise _fail(action, "the central directory is damaged")
        if flags & 1 or method not in (z.STORED, z.DEFLATED):
            raise _fail(action, f"a record is encrypted or has compression method {method}")
        name = data[name_at:extra_at].decode("utf-8", "replace")
        size, compressed, position = _widen(
            data[extra_at : extra_at + extra_length], size, compressed, position
        )
        if method == z.STORED and size != compressed:
            raise _fail(action, f"the sizes of {name} differ")
        return Record(name, position, size, compressed, method), end

    def _check_apart(self, records: list[Record]) -> None:
        end = 0
        for record in sorted(records, key=lambda record: record.position):
            if record.position < end:
                raise _fail("reading zip archive", "records overlap")
            end = record.position + z.LOCAL.size + record.compressed
        if end > self._length:
            raise _fail("reading zip archive", "a record is outside of the file")

    def _data_start(self, record: Record) -> int:
        action = f"reading file {record.name}"
        fields = z.LOCAL.unpack(self._read_at(record.position, z.LOCAL.size, action))
        if fields[0] != z.LOCAL_MARK:
            raise _fail(action, "its local header is damaged")
        start = int(record.position + z.LOCAL.size + fields[9] + fields[10])
        if start + record.compressed > self._length:
            raise _fail(action, "its data is outside of the file")
        return start

    def _inflate(self, record: Record, start: int) -> bytes:
        action = f"reading file {record.name}"
        data = self._read_at(start, record.compressed, action)
        decoder = zlib.decompressobj(-15)
        try:
            plain = decoder.decompress(data, record.size + 1)
        except zlib.error as error:
            raise _fail(action, f"its compressed data is damaged ({error})") from None
        if len(plain) != record.size:
            raise _fail(action, f"it does not hold the {record.size} bytes that it should")
        return plain


def _widen(extra: bytes, *values: int) -> list[int]:
    """Put the 64-bit numbers of a zip64 field in the place of those that did not fit."""
    wide = list(values)
    at = 0
    while at + 4 <= len(extra):
        kind, length = struct.unpack_from("<2H", extra, at)
        field = extra[at + 4 : at + 4 + length]
        if kind == z.ZIP64_FIELD:
            numbers = iter(struct.unpack(f"<{len(field) // 8}Q", field[: len(field) // 8 * 8]))
            wide = [next(numbers, v) if v == z.MAX32 else v for v in wide]
        at += 4 + length
    return wide
