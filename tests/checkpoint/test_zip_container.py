"""The zip container: alignment, other readers, numbers beyond 32 bits."""

import io
import os
import struct
import zipfile

import pytest

import yesca as torch
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


@pytest.mark.skipif(not hasattr(os, "pwrite"), reason="files with holes")
def test_more_than_four_gigabytes(tmp_path):
    """A file with a hole: storages beyond 32 bits, before and after, by its size and place."""
    path, count = tmp_path / "large.pt", 5 << 28  # 5 GB of float32
    with torch.serialization.skip_data():
        torch.save([torch.empty(3), torch.empty(count), torch.empty(3)], path)
    assert path.stat().st_size > 5 << 30 and path.stat().st_blocks < 2000
    with zipfile.ZipFile(path) as other:
        assert other.getinfo("large/data/1").file_size == 4 * count
    with open(path, "r+b") as file:
        reader = ZipReader(file)
        places = [reader.data_offset(f"data/{k}") for k in range(3)]
        assert places[2] > 5 << 30
        os.pwrite(file.fileno(), struct.pack("<f", 2.5), places[1] + 4 * (count - 1))
        os.pwrite(file.fileno(), struct.pack("<f", 7.5), places[2])
    first, large, last = torch.load(path, mmap=True)
    assert large.shape == (count,) and large[-1].item() == 2.5 and large[1 << 30].item() == 0
    assert last.tolist() == [7.5, 0, 0] and first.tolist() == [0, 0, 0]
    del first, large, last
    assert torch.load(path, map_location="meta")[1].shape == (count,)


def test_space_without_data():
    file = io.BytesIO()
    writer = ZipWriter(file, "archive")
    writer.write_empty_space("data/0", 3_000_000)
    writer.close()
    file.seek(0)
    assert ZipReader(file).read("data/0") == bytes(3_000_000)
