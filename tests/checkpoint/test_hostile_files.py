"""Damaged and malicious checkpoints: an exception that tells why, and nothing else happens."""

import builtins
import io
import os
import pickle
import random
import struct
import zipfile

import pytest

import yesca as torch

PICKLE_ERRORS = (pickle.UnpicklingError, EOFError, RuntimeError)


def checkpoint(obj):
    file = io.BytesIO()
    torch.save(obj, file)
    return file.getvalue()


GOOD = checkpoint(torch.ones(100))


def edited(change, compression=zipfile.ZIP_STORED):
    """GOOD with its records changed: `change(name, data)` gives the new data, None drops it."""
    out = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(GOOD)) as source, \
            zipfile.ZipFile(out, "w", compression) as target:
        for name in source.namelist():
            data = change(name.partition("/")[2], source.read(name))
            if data is not None:
                target.writestr(name, data)
    out.seek(0)
    return out


def with_pickle(code):
    return edited(lambda name, data: b"\x80\x02" + code if name == "data.pkl" else data)


def test_other_zip_programs_files():
    assert torch.load(edited(lambda name, data: data)).sum().item() == 100
    assert torch.load(edited(lambda name, data: data, zipfile.ZIP_DEFLATED)).sum().item() == 100


class Call:
    def __init__(self, function, *args):
        self.call = (function, args)

    def __reduce__(self):
        return self.call


def test_code_is_not_run(tmp_path):
    victim = tmp_path / "victim"
    with pytest.raises(pickle.UnpicklingError, match="whose module posix is blocked|module nt is"):
        torch.load(io.BytesIO(checkpoint(Call(os.system, f"touch {victim}"))))
    with pytest.raises(pickle.UnpicklingError, match="GLOBAL eval was not an allowed global") as e:
        torch.load(io.BytesIO(checkpoint(Call(builtins.eval, "1"))))
    assert "add_safe_globals([eval])" in str(e.value) and "weights_only" in str(e.value)
    with torch.serialization.safe_globals([os.system]), \
            pytest.raises(pickle.UnpicklingError, match="blocked"):
        torch.load(io.BytesIO(checkpoint(Call(os.system, f"touch {victim}"))))
    assert not victim.exists()


@pytest.mark.parametrize(("name", "change", "message"), [
    ("data/0", lambda data: None, "failed locating file data/0"),
    ("data.pkl", lambda data: None, "failed locating file data.pkl"),
    ("data/0", lambda data: data[:100], "does not match expected size"),
    ("data/0", lambda data: data + b"more", "does not match expected size"),
    ("data.pkl", lambda data: data.replace(b"Kd\x85", b"Ke\x85"), "out of bounds for storage"),
    ("data.pkl", lambda data: data.replace(b"K\0Kd\x85", b"K\1Kd\x85"), "out of bounds"),
    ("data.pkl", lambda data: data.replace(b"K\0Kd\x85", b"J\xff\xff\xff\xffKd\x85"),
     "non-negative integers"),
    ("data.pkl", lambda data: data[:50], "Ran out of input"),
    ("byteorder", lambda data: b"middle", "Unknown endianness"),
])
def test_records_that_do_not_fit(name, change, message):
    file = edited(lambda record, data: change(data) if record == name else data)
    with pytest.raises((RuntimeError, EOFError, ValueError), match=message):
        torch.load(file)


TUPLES = b"\x85" * 1_000_000


@pytest.mark.parametrize(("code", "message"), [
    (b"}K\1" + TUPLES + b"K\1s.", "unusable key"),  # hashing would overflow the stack
    (b"}K\1" + b"q\0h\0\x86" * 60 + b"K\1s.", "unusable key"),  # hashing would take years
    (b"c__builtin__\nbytearray\nJ\xff\xff\xff\x7f\x85R.", "refused its arguments"),
    (b"c__builtin__\nbytearray\nJ\xff\xff\xff\x7f\x85\x81.", "refused its arguments"),
    (b"ctorch.storage\nUntypedStorage\nJ\xff\xff\xff\x7f\x85R.", "refused its arguments"),
    (b"ctorch\nTensor\nJ\xff\xff\xff\x7f\x85R.", "tensors are made by"),
    (b"ctorch\nTensor\n)\x81.", "tensors are made by"),
    (b"ctorch\nTensor\n}X\1\0\0\0aK\1sb.", "Can only build"),
    (b"ctorch._tensor\n_rebuild_from_type_v2\n(c__builtin__\nset\nctorch\nTensor\n)NtR.",
     "refused its arguments"),
    (b"R.", "end of the stack"),
    (b"t.", "MARK"),
    (b"h\5.", "Memo value not found"),
    (b"}]K\1s.", "unusable key"),
    (b"K\1K\2a.", "Can only append to lists"),
    (b"K\1)R.", "unrecognized function"),
    (b"cyesca._checkpoint.pickling\nfind_global\n.", "not an allowed global"),
    (b"X\4\0\0\0\xff\xff\xff\xff.", "not text"),
    (b"K\1Q.", "saved_id must be a tuple"),
    (b"\x95.", "Unsupported operand 149"),
])
def test_pickles_that_go_too_far(code, message):
    with pytest.raises(PICKLE_ERRORS, match=message):
        torch.load(with_pickle(code))


def overlapping():
    """Two records of one name's bytes: a small file that claims a lot of memory."""
    data = bytearray(GOOD)
    entries = [place for place in range(len(data)) if data[place:place + 4] == b"PK\1\2"]
    first = struct.unpack_from("<L", data, entries[0] + 42)
    struct.pack_into("<L", data, entries[1] + 42, *first)
    return bytes(data)


@pytest.mark.parametrize(("data", "message"), [
    (GOOD[:300], "failed finding central directory"),
    (GOOD[:-30], "failed finding central directory"),
    (GOOD[500:], "Weights only load failed"),
    (overlapping(), "overlap"),
])
def test_damaged_archives(data, message):
    with pytest.raises(PICKLE_ERRORS, match=message):
        torch.load(io.BytesIO(data))


def test_random_damage_ends_in_exceptions():
    source = random.Random(0)
    outcomes = set()
    for _ in range(300):
        data = bytearray(GOOD)
        for _ in range(source.randint(1, 4)):
            data[source.randrange(len(data))] = source.randrange(256)
        if source.random() < 0.3:
            del data[source.randrange(len(data)):]
        try:
            loaded = torch.load(io.BytesIO(bytes(data)))
        except Exception as error:
            assert str(error)
            outcomes.add(type(error).__name__)
        else:
            outcomes.add(type(loaded).__name__)
    assert "Tensor" in outcomes and "RuntimeError" in outcomes
