"""The zip container: alignment, other readers, numbers beyond 32 bits."""

import io
import zipfile

import pytest

from yesca._checkpoint import zip_format
from yesca._checkpoint.zip_reader import ZipReader, _widen
from yesca._checkpoint.zip_writer import ZipWriter


def written(records, **options):
    file = io.BytesIO()
    writer = ZipWriter(file, "archive", **options)
    for name, data in records.items():
        writer.write(name, data)
    writer.close()
    file.seek(0)
    return file


def test_records_come_back():
    records = {"data.pkl": b"pickle", "data/0": bytes(100), "data/1": b"", "byteorder": b"little"}
    file = written(records)
    reader = ZipReader(file)
    assert {name: reader.read(name) for name in records} == records
    assert reader.read("version") == b"3\n" and len(reader.read(".data/serialization_id")) == 40
    with zipfile.ZipFile(file) as other:
        assert other.testzip() is None
        assert other.read("archive/data/0") == bytes(100)


@pytest.mark.parametrize("alignment", [64, 256])
def test_data_is_aligned(alignment):
    reader = ZipReader(written({f"data/{n}": b"x" * n for n in range(70)}, alignment=alignment))
    assert all(reader.data_offset(f"data/{n}") % alignment == 0 for n in range(70))


def test_archive_within_a_file():
    inner = written({"a": b"1"}).getvalue()
    file = io.BytesIO(b"head" + inner)
    file.seek(4)
    assert ZipReader(file).read("a") == b"1"


def test_large_numbers():
    large = 5 << 32
    field = zip_format.zip64_field(large, large, large)
    limit = zip_format.MAX32
    assert _widen(field, limit, limit, limit) == [large] * 3
    assert _widen(zip_format.zip64_field(5, 5, large), 5, 5, limit) == [5, 5, large]
    assert zip_format.zip64_field(5, 5, 5) == b""


def test_space_without_data():
    file = io.BytesIO()
    writer = ZipWriter(file, "archive")
    writer.write_empty_space("data/0", 3_000_000)
    writer.close()
    file.seek(0)
    assert ZipReader(file).read("data/0") == bytes(3_000_000)
