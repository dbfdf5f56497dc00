"""What files are read from and written to, and what they hold beside tensors."""

import gzip
import io
import mmap
import os
import pickle
import socket

import numpy as np
import pytest

import yesca as torch

#: What NumPy's pickles name, for `weights_only`.
NUMPY = [np._core.multiarray._reconstruct, np._core.multiarray.scalar, np.ndarray, np.dtype,
         np.dtypes.Float32DType, np.dtypes.Float64DType, np.dtypes.Int64DType, np.dtypes.BoolDType]


def test_arrays_and_numbers_of_numpy():
    made = {"array": np.arange(3, dtype="f4"), "float": np.float64(2), "int": np.int64(3),
            "flags": np.array([True, False])}
    file = io.BytesIO()
    torch.save(made, file)
    file.seek(0)
    assert set(torch.serialization.get_unsafe_globals_in_checkpoint(file)) == {
        "numpy._core.multiarray._reconstruct", "numpy._core.multiarray.scalar", "numpy.dtype",
        "numpy.ndarray"}
    file.seek(0)
    with pytest.raises(pickle.UnpicklingError, match="GLOBAL numpy.* was not an allowed global"):
        torch.load(file)
    for only in (True, False):
        file.seek(0)
        with torch.serialization.safe_globals(NUMPY):
            loaded = torch.load(file, weights_only=only)
        assert {name: repr(value) for name, value in loaded.items()} == {
            name: repr(value) for name, value in made.items()}


@pytest.mark.skipif(not hasattr(socket, "socketpair"), reason="sockets")
def test_what_cannot_go_back_is_refused():
    ends = os.pipe()
    pair = socket.socketpair()
    with open(ends[0], "rb") as pipe, open(ends[1], "wb"), pair[0], pair[1], \
            pair[0].makefile("rb") as stream:
        with pytest.raises(OSError, match="Illegal seek"):
            torch.load(pipe)
        with pytest.raises(io.UnsupportedOperation, match="load from a file that is seekable"):
            torch.load(stream)
        with pytest.raises(AttributeError, match="'socket' object has no attribute"):
            torch.load(pair[0])
        with pytest.raises(AttributeError, match="a 'write' attribute"):
            torch.save(1, pair[0])


@pytest.mark.parametrize("zipped", [True, False])
def test_files_that_are_open_elsewhere(tmp_path, zipped):
    """Objects one after the other in one file, and files that are compressed as a whole."""
    options = {"_use_new_zipfile_serialization": zipped}
    with open(tmp_path / "x", "w+b") as file:
        file.write(b"before")
        torch.save(torch.arange(3), file, **options)
        file.seek(6)
        assert torch.load(file).tolist() == [0, 1, 2]
    with open(tmp_path / "raw", "w+b", buffering=0) as file:
        torch.save(torch.arange(400_000), file, **options)
        file.seek(0)
        assert torch.load(file).sum().item() == 79999800000
    with gzip.open(tmp_path / "x.gz", "wb") as file:
        torch.save(torch.ones(400_000), file, **options)
    with gzip.open(tmp_path / "x.gz", "rb") as file:
        assert torch.load(file).sum().item() == 400_000


def python2(text):
    """A file that Python 2 wrote: its strings are bytes without an encoding."""
    parts = [pickle.dumps(part, 2)
             for part in (0x1950A86A20F9469CFC6C, 1001, {"little_endian": True})]
    string = b"\x80\x02U" + bytes([len(text)]) + text + b"."
    return io.BytesIO(b"".join(parts) + string + pickle.dumps([], 2))


def test_encodings():
    text = "été".encode("latin1")
    for options, expected in (({"encoding": "latin1"}, "été"), ({"encoding": "bytes"}, text),
                              ({"encoding": "ascii", "errors": "replace"}, "\ufffdt\ufffd")):
        assert torch.load(python2(text), weights_only=False, **options) == expected
    assert torch.load(python2(b"plain"), weights_only=False) == "plain"
    for options in ({}, {"encoding": "ascii"}):
        with pytest.raises(UnicodeDecodeError):
            torch.load(python2(text), weights_only=False, **options)
    with pytest.warns(UserWarning, match="pickle_load_args only works if `weights_only=False`"):
        assert torch.load(python2(text), encoding="latin1") == "été"


@pytest.mark.skipif(not hasattr(mmap, "MAP_SHARED"), reason="maps that share")
def test_shared_maps(tmp_path):
    path = tmp_path / "x.pt"
    torch.save(torch.zeros(4), path)
    serialization = torch.serialization
    with serialization.set_default_mmap_options(mmap.MAP_SHARED):
        torch.load(path, mmap=True)[1] = 5
    assert serialization.get_default_mmap_options() == mmap.MAP_PRIVATE
    assert torch.load(path).tolist() == [0, 5, 0, 0]
    torch.load(path, mmap=True)[1] = 7
    assert torch.load(path).tolist() == [0, 5, 0, 0]


@pytest.mark.parametrize("size", [1 << 20, (1 << 20) + 1, 5_000_003])
def test_large_records_are_whole(tmp_path, size):
    """Several threads read them: parts of all sizes, and their ends."""
    path = tmp_path / "x.pt"
    made = torch.arange(size, dtype=torch.int32).to(torch.int8)
    torch.save([made, made.clone()], path)
    for mapped in (False, True):
        assert all(torch.equal(made, part) for part in torch.load(path, mmap=mapped))
    whole = path.read_bytes()
    with open(path, "r+b") as file:
        file.truncate(len(whole) - size)
    with pytest.raises((RuntimeError, EOFError)):
        torch.load(path)


def test_errors_of_helping_threads_reach_the_caller():
    from yesca._checkpoint.crew import Helper

    helper = Helper()
    helper.start(lambda: 1 // 0)
    helper.start(lambda: 5)
    with pytest.raises(ZeroDivisionError):
        helper.result()
    assert helper.result() == 5
    helper.close()
