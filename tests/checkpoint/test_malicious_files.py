"""Files made to do harm, case by case: refused clearly, soon, and without taking memory."""

import io
import json
import pickle
import struct
import subprocess
import sys
import tarfile
import textwrap
import tracemalloc
import zipfile
import zlib
from pathlib import Path

import pytest

import yesca as torch
from yesca._checkpoint.zip_writer import ZipWriter

ERRORS = (pickle.UnpicklingError, EOFError, RuntimeError, ValueError)
FLOATS = b"ctorch\nFloatStorage\n"
MOST = 64 << 20  # bytes of Python's memory that a refusal may take


def archive(code, records=(("data/0", bytes(16)),)):
    file = io.BytesIO()
    writer = ZipWriter(file, "archive")
    writer.write("data.pkl", b"\x80\x02" + code)
    for name, data in records:
        writer.write(name, data)
    writer.close()
    return file.getvalue()


def number(value):
    return b"\x8a\x20" + value.to_bytes(32, "little", signed=True)


def text(value):
    return b"X" + struct.pack("<I", len(value)) + value


WORD, ZERO, SEVEN, CPU = text(b"storage"), text(b"0"), text(b"7"), text(b"cpu")


def storage(kind=FLOATS, key=ZERO, location=CPU, count=b"K\4", word=WORD):
    return b"(" + word + kind + key + location + count + b"tQ"


STORAGE = storage()


def tensor(storage=STORAGE, offset=b"K\0", size=b"K\4\x85", stride=b"K\1\x85", grad=b"\x89",
           hooks=b"ccollections\nOrderedDict\n)R", end=b"tR."):
    return (b"ctorch._utils\n_rebuild_tensor_v2\n(" + storage + offset + size + stride + grad
            + hooks + end)


def refused(data, message=None, name="x.pt", tmp_path=None):
    """The file is refused with these words; what Python took meanwhile is little."""
    target = io.BytesIO(data)
    if tmp_path is not None:
        target = tmp_path / name
        target.write_bytes(data)
    torch.reset_peak_memory_stats()
    before = torch.memory_stats()["peak_allocated_bytes"]
    tracemalloc.start()
    try:
        with pytest.raises(ERRORS, match=message) as caught:
            torch.load(target)
        taken = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert taken < MOST and torch.memory_stats()["peak_allocated_bytes"] - before < MOST
    assert len(str(caught.value)) < 3000
    return caught.value


def test_the_pieces_make_a_whole_file():
    assert torch.load(io.BytesIO(archive(tensor()))).tolist() == [0.0] * 4


GADGETS = {
    "eval": b"c__builtin__\neval\n" + text(b"1") + b"\x85R.",
    "exec": b"c__builtin__\nexec\n" + text(b"1") + b"\x85R.",
    "open": b"c__builtin__\nopen\n" + text(b"x") + b"\x85R.",
    "getattr": b"c__builtin__\ngetattr\n" + text(b"x") + text(b"y") + b"\x86R.",
    "import": b"c__builtin__\n__import__\n" + text(b"os") + b"\x85R.",
    "os.system": b"cos\nsystem\n" + text(b"true") + b"\x85R.",
    "posix.system": b"cposix\nsystem\n" + text(b"true") + b"\x85R.",
    "nt.system": b"cnt\nsystem\n" + text(b"true") + b"\x85R.",
    "sys.modules": b"csys\nmodules\n.",
    "subprocess": b"csubprocess\nPopen\n" + text(b"true") + b"\x85R.",
    "pickle.loads": b"cpickle\nloads\n" + text(b"x") + b"\x85R.",
    "torch.load": b"ctorch\nload\n" + text(b"x") + b"\x85R.",
    "torch.hub": b"ctorch.hub\nload\n" + text(b"x") + b"\x85R.",
    "inner bytes": b"ctorch.storage\n_load_from_bytes\n" + text(b"x") + b"\x85R.",
    "nested name": b"ctorch\nTensor.__subclasses__\n)R.",
    "name with dots": b"ctorch.nn\nmodules.module.torch\n.",
    "own module": b"cyesca\nload\n.",
    "own room": b"cyesca._checkpoint.pickling\nfind_global\n.",
    "codecs": b"c_codecs\ndecode\n" + text(b"x") + b"\x85R.",
    "functools": b"cfunctools\npartial\n)R.",
    "instance": b"(ios\nsystem\n.",
    "object": b"(c__builtin__\neval\no.",
    "extension": b"\x82\1.",
    "stack global": text(b"os") + text(b"system") + b"\x93.",
    "long name": b"c" + b"a" * 1_000_000 + b"\nb\n.",
    "name without end": b"c" + b"a" * 1_000_000,
    "not text": b"c\xff\xfe\nb\n.",
    "call of a result": tensor(end=b"tR)R."),
    "call of a string": text(b"x") + b")R.",
    "call of a dtype": b"ctorch\nfloat32\n)R.",
    "call without a tuple": b"c__builtin__\nset\n]R.",
    "new of a function": b"ctorch._utils\n_rebuild_tensor\n)\x81.",
    "new of a storage": b"ctorch.storage\nUntypedStorage\nK\4\x85\x81.",
    "set with a cycle": b"c__builtin__\nset\n(]q\0h\0a]h\0atR.",
    "state of a dict": b"}}b.",
    "state of a tensor": tensor(end=b"tR" + b"}" + text(b"_storage") + b"K\1sb."),
    "state of a storage": storage() + b"}" + text(b"dtype") + b"K\1sb.",
    "state with slots": b"ccollections\nOrderedDict\n)R(N}tb.",
    "state without names": b"ccollections\nOrderedDict\n)R}K\1K\2sb.",
    "type with state": b"ctorch._tensor\n_rebuild_from_type_v2\n("
                       b"ctorch._utils\n_rebuild_tensor_v2\nctorch\nTensor\n(" + STORAGE
                       + b"K\0K\4\x85K\1\x85\x89"
                       b"ccollections\nOrderedDict\n)Rt}" + text(b"_storage") + b"K\1stR.",
    "type by a gadget": b"ctorch._tensor\n_rebuild_from_type_v2\n(c__builtin__\nbytearray\n"
                        b"ctorch\nTensor\nK\1\x85NtR.",
    "items of a list": b"]K\1K\2s.",
    "items of a tensor": tensor(end=b"tRK\0K\1s."),
    "append to a set": b"\x8fK\1a.",
    "unhashable key": b"}]K\1s.",
    "odd items": b"}(K\1u.",
    "mark as a value": b"(.",
    "tuple out of nothing": b"\x87.",
    "memo of nothing": b"h\0.",
    "huge memo": b"j\xff\xff\xff\xff.",
    "store of nothing": b"q\0.",
    "huge text": b"X\xff\xff\xff\xffabc.",
    "two stops early": b"..",
    "frames": b"\x95\xff\xff\xff\xff\xff\xff\xff\x7f.",
    "cut off": tensor()[:-20],
    "empty": b"",
    "bytes of a number": b"c__builtin__\nbytearray\n" + number(1 << 40) + b"\x85R.",
    "encoding": b"c_codecs\nencode\n" + text(b"x") + text(b"zip") + b"\x86R.",
    "complex of text": b"c__builtin__\ncomplex\n" + text(b"1") + b"\x85R.",
    "device of bytes": b"ctorch\ndevice\n(]]]tR.",
    "size of text": b"ctorch\nSize\n" + text(b"abc") + b"\x85R.",
}


@pytest.mark.parametrize("name", GADGETS)
def test_pickles(name):
    refused(archive(GADGETS[name]))


LAYOUT = b"ctorch.serialization\n_get_layout\n"
TENSORS = {
    "offset outside": tensor(offset=b"K\1"),
    "negative offset": tensor(offset=number(-1)),
    "huge offset": tensor(offset=number(1 << 62)),
    "offset past all numbers": tensor(offset=number(1 << 70)),
    "offset of the wrong type": tensor(offset=b"N"),
    "size outside": tensor(size=b"K\5\x85"),
    "negative size": tensor(size=number(-4) + b"\x85"),
    "huge size": tensor(size=number(1 << 62) + b"\x85"),
    "sizes whose product wraps around": tensor(size=number(1 << 32) + number(1 << 32) + b"\x86",
                                               stride=b"K\1K\1\x86"),
    "huge size without bytes": tensor(size=b"K\0" + number(1 << 70) + b"\x86",
                                      stride=b"K\1K\1\x86"),
    "stride outside": tensor(size=b"K\2\x85", stride=b"K\4\x85"),
    "negative stride": tensor(stride=number(-1) + b"\x85"),
    "huge stride": tensor(size=b"K\2\x85", stride=number(1 << 62) + b"\x85"),
    "stride that wraps around": tensor(size=b"K\3\x85", stride=number(1 << 63) + b"\x85"),
    "fewer strides": tensor(size=b"K\2K\2\x86"),
    "sizes of the wrong type": tensor(size=text(b"abcd")),
    "size that is a float": tensor(size=b"G\x40\x10\0\0\0\0\0\0\x85"),
    "no storage": tensor(storage=b"N"),
    "storage that is a list": tensor(storage=b"]"),
    "storage that is text": tensor(storage=text(b"storage")),
    "storage of another size": tensor(storage=storage(count=b"K\5")),
    "storage of another dtype": tensor(storage=storage(kind=b"ctorch\nDoubleStorage\n")),
    "storage of no dtype": tensor(storage=storage(kind=b"N")),
    "storage of a class": tensor(storage=storage(kind=b"ctorch\nTensor\n")),
    "storage of a negative size": tensor(storage=storage(count=number(-1))),
    "storage of a huge size": tensor(storage=storage(count=number(1 << 62))),
    "storage of a size that wraps": tensor(storage=storage(count=number((1 << 62) + 4))),
    "storage of half an element": tensor(storage=storage(count=b"G\x40\x10\0\0\0\0\0\0")),
    "storage that is not there": tensor(storage=storage(key=text(b"1"))),
    "storage above the folder": tensor(storage=storage(key=text(b"../data.pkl"))),
    "storage at the root": tensor(storage=storage(key=text(b"/etc/passwd"))),
    "key that is a number": tensor(storage=storage(key=b"K\0")),
    "key that is a list": tensor(storage=storage(key=b"]")),
    "place that is a list": tensor(storage=storage(location=b"]")),
    "place that is not there": tensor(storage=storage(location=text(b"cuda:0"))),
    "place of the file system": tensor(storage=storage(location=text(b"/dev/mem"))),
    "reference of another kind": tensor(storage=storage(word=text(b"module"))),
    "reference that is a number": b"K\1Q.",
    "reference that is text": text(b"storage") + b"Q.",
    "reference that is a list": b"]Q.",
    "reference of nothing": b")Q.",
    "reference that is short": b"(" + text(b"storage") + FLOATS + b"tQ.",
    "storage with two dtypes": b"(" + storage() + storage(kind=b"ctorch\nDoubleStorage\n") + b"t.",
    "hooks that are a number": tensor(hooks=b"K\1"),
    "dtype that is a number": b"ctorch._utils\n_rebuild_tensor_v3\n(" + storage()
                              + b"K\0K\4\x85K\1\x85\x89NK\1tR.",
    "quantized": b"ctorch._utils\n_rebuild_qtensor\n)R.",
    "sparse": b"ctorch._utils\n_rebuild_sparse_tensor\n(" + LAYOUT
              + text(b"torch.sparse_coo") + b"\x85R)tR.",
    "layout that is not there": LAYOUT + text(b"torch.x") + b"\x85R.",
    "layout that is a module": LAYOUT + text(b"torch.nn") + b"\x85R.",
    "layout that is a number": LAYOUT + b"K\1\x85R.",
}


@pytest.mark.parametrize("name", TENSORS)
def test_tensors(name):
    refused(archive(TENSORS[name]))


def test_texts_stay_short_whatever_is_in_the_file():
    doubled = b"N" + b"\x85q\0h\0\x86" * 200
    refused(archive(doubled + b")R."), "unrecognized function")
    refused(archive(storage(kind=doubled)), "is not a type of storage")
    refused(archive(tensor(offset=doubled)), "non-negative integers")
    refused(archive(b"(" + doubled + b"tQ."), "Only persistent_load of storage is allowed")


def test_deep_structures_neither_overflow_nor_take_long():
    deep = io.BytesIO(archive(b"]" * 200_000 + b"a" * 199_999 + b"."))
    loaded, depth = torch.load(deep), 0
    while loaded:
        loaded, depth = loaded[0], depth + 1
    assert depth == 199_999
    refused(archive(b"}" + b"N" + b"\x85" * 200_000 + b"K\1s."), "unusable key")
    refused(archive(b"c__builtin__\nset\n(]" + b"N" + b"\x85" * 200_000 + b"aatR."))


# --- archives -------------------------------------------------------------------------------------


def zipped(records, **options):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED, **options) as target:
        for name, data in records:
            target.writestr(name, data)
    return out.getvalue()


def patched(data, mark, place, form, value, which=0):
    """The archive with one number of a header changed."""
    at = -1
    for _ in range(which + 1):
        at = data.index(mark, at + 1)
    changed = bytearray(data)
    struct.pack_into(form, changed, at + place, value)
    return bytes(changed)


GOOD = archive(tensor())
ENTRY, LOCAL, END, END64, LOCATOR = b"PK\1\2", b"PK\3\4", b"PK\5\6", b"PK\6\6", b"PK\6\7"
ARCHIVES = {
    "bomb": zipped([("a/data.pkl", b"\x80\x02" + tensor(storage=storage(count=number(1 << 26)),
                                                        size=number(1 << 26) + b"\x85")),
                    ("a/data/0", bytes(1 << 20))]),
    "bomb that hides its size": patched(zipped([("a/data.pkl", b"\x80\x02N" * (4 << 20)),
                                                ("a/version", b"3")]), ENTRY, 24, "<L", 20),
    "entry of a method unknown": patched(GOOD, ENTRY, 10, "<H", 14),
    "entry that is encrypted": patched(GOOD, ENTRY, 8, "<H", 1),
    "sizes that differ": patched(GOOD, ENTRY, 24, "<L", 5),
    "size outside": patched(patched(GOOD, ENTRY, 24, "<L", 1 << 30), ENTRY, 20, "<L", 1 << 30),
    "place outside": patched(GOOD, ENTRY, 42, "<L", 1 << 30),
    "place in the directory": patched(GOOD, ENTRY, 42, "<L", GOOD.index(ENTRY)),
    "places that overlap": patched(GOOD, ENTRY, 42, "<L", 0, which=1),
    "name longer than the directory": patched(GOOD, ENTRY, 28, "<H", 0xFFFF),
    "extra longer than the directory": patched(GOOD, ENTRY, 30, "<H", 0xFFFF),
    "comment longer than the directory": patched(GOOD, ENTRY, 32, "<H", 0xFFFF),
    "local header of another kind": patched(GOOD, LOCAL, 0, "<L", 0, which=1),
    "local name to the end": patched(GOOD, LOCAL, 26, "<H", 0xFFFF, which=1),
    "directory outside": patched(GOOD, END64, 48, "<Q", 1 << 62),
    "directory at a negative place": patched(GOOD, END64, 48, "<Q", (1 << 64) - 8),
    "directory of a huge size": patched(GOOD, END64, 40, "<Q", 1 << 62),
    "entries without end": patched(GOOD, END64, 32, "<Q", 1 << 62),
    "fewer entries": patched(GOOD, END64, 32, "<Q", 0),
    "zip64 end outside": patched(GOOD, LOCATOR, 8, "<Q", 1 << 62),
    "zip64 end elsewhere": patched(GOOD, LOCATOR, 8, "<Q", 0),
    "no directory": GOOD[: GOOD.index(ENTRY)],
    "only a start": LOCAL,
    "only ends": LOCAL + GOOD[GOOD.index(END):],
    "cut in the data": GOOD[: len(GOOD) // 2],
    "no pickle": zipped([("a/version", b"3")]),
    "names twice": archive(tensor(), (("data/0", bytes(16)), ("data/0", bytes(16)))),
    "names above": archive(tensor(), (("../data/0", bytes(16)),)),
    "names at the root": archive(tensor(), (("/data/0", bytes(16)),)),
    "record that is short": archive(tensor(), (("data/0", bytes(15)),)),
    "record that is long": archive(tensor(), (("data/0", bytes(17)),)),
    "order of bytes": archive(tensor(), (("data/0", bytes(16)), ("byteorder", b"x" * 999))),
    "compressed data damaged": zipped([("a/data.pkl", b"x" * 100)]).replace(
        zlib.compress(b"x" * 100, 6)[2:-4], bytes(len(zlib.compress(b"x" * 100, 6)) - 6)),
    "script": archive(tensor(), (("data/0", bytes(16)), ("constants.pkl", b"N."))),
}


@pytest.mark.parametrize("name", ARCHIVES)
def test_archives(name, tmp_path):
    refused(ARCHIVES[name])
    refused(ARCHIVES[name], tmp_path=tmp_path)
    path = tmp_path / "x.pt"
    with pytest.raises(ERRORS):
        torch.load(path, mmap=True)


def test_a_wrong_crc_is_not_looked_at():
    """As in PyTorch, whose writer may leave CRCs out."""
    wrong = patched(GOOD, ENTRY, 16, "<L", 12345)
    assert torch.load(io.BytesIO(wrong)).tolist() == [0.0] * 4


def test_what_a_crafted_file_may_allocate(tmp_path):
    """The whole process, not only what Python counts: a bomb of 400 MB takes no 100."""
    (tmp_path / "x.pt").write_bytes(zipped([("a/data.pkl", b"\x80\x02N."),
                                            ("a/data/0", bytes(400 << 20))], compresslevel=1))
    program = """
        import resource
        import yesca as torch
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        assert torch.load("x.pt") is None
        print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
    """
    ran = subprocess.run([sys.executable, "-c", textwrap.dedent(program)], capture_output=True,
                         text=True, cwd=tmp_path)
    assert int(ran.stdout) < 100 << 10, ran.stderr


# --- the older formats ----------------------------------------------------------------------------


def older(obj=None, version=1001, magic=0x1950A86A20F9469CFC6C, system=None, keys=None, end=b"",
          code=None):
    parts = [magic, version, {"little_endian": True} if system is None else system]
    head = b"".join(pickle.dumps(part, 2) for part in parts)
    middle = pickle.dumps(obj, 2) if code is None else b"\x80\x02" + code
    return head + middle + pickle.dumps([] if keys is None else keys, 2) + end


def old_tensor(view=b"N", count=b"K\4", key=SEVEN):
    reference = (b"(" + text(b"storage") + FLOATS + key + text(b"cpu") + count + view + b"tQ")
    return tensor(storage=reference)


FOUR = struct.pack("<q4f", 4, 1, 2, 3, 4)
OLDER = {
    "magic": older(magic=1),
    "magic of another type": older(magic=[1]),
    "version": older(version=1002),
    "version of another type": older(version=[[]]),
    "system": older(system=[1]),
    "keys of another type": older(keys=5),
    "keys that are lists": older(keys=[[1]]),
    "keys that are not used": older(keys=["1"]),
    "gadget": older(code=GADGETS["eval"]),
    "gadget in front": pickle.dumps(0x1950A86A20F9469CFC6C, 2) + b"\x80\x02" + GADGETS["os.system"],
    "no data": older(code=old_tensor(), keys=["7"]),
    "no keys": older(code=old_tensor(), end=FOUR),
    "less data": older(code=old_tensor(), keys=["7"], end=FOUR[:-1]),
    "another count": older(code=old_tensor(), keys=["7"], end=struct.pack("<q", 5) + FOUR),
    "negative count": older(code=old_tensor(), keys=["7"], end=struct.pack("<q", -1) + FOUR),
    "huge storage": older(code=old_tensor(count=number(1 << 50)), keys=["7"], end=FOUR),
    "many storages": older(code=b"(" + b"".join(
        old_tensor(key=text(b"%d" % k), count=b"J\0\0\0\1")[:-1] for k in range(50)) + b"t."),
    "view outside": older(code=old_tensor(b"(" + text(b"8") + b"K\2K\3t"), keys=["7"], end=FOUR),
    "view at a negative place": older(code=old_tensor(b"(" + text(b"8") + number(-1) + b"K\3t"),
                                      keys=["7"], end=FOUR),
    "view that is a number": older(code=old_tensor(b"K\1"), keys=["7"], end=FOUR),
    "view that is short": older(code=old_tensor(b"K\1\x85"), keys=["7"], end=FOUR),
    "module": older(code=b"(" + text(b"module") + b"c__builtin__\nset\nNNtQ."),
}


@pytest.mark.parametrize("name", OLDER)
def test_older_files(name):
    refused(OLDER[name])


def test_the_older_file_that_is_whole():
    file = io.BytesIO(older(code=old_tensor(), keys=["7"], end=FOUR))
    assert torch.load(file).tolist() == [1, 2, 3, 4]


def tar(storages=b"", tensors=b"", code=b"N.", **more):
    out = io.BytesIO()
    parts = {"storages": storages, "tensors": tensors, "pickle": b"\x80\x02" + code, **more}
    with tarfile.open(fileobj=out, mode="w:", format=tarfile.PAX_FORMAT) as target:
        for name, data in parts.items():
            if data is not None:
                entry = tarfile.TarInfo(name)
                entry.size = len(data)
                target.addfile(entry, io.BytesIO(data))
    return out.getvalue()


def pickled(*objects):
    return b"".join(pickle.dumps(obj, 2) for obj in objects)


ONE = pickled(1) + b"\x80\x02(K\7" + text(b"cpu") + FLOATS + b"t."
NO_VIEWS = pickled([])
TARS = {
    "no files": tar(None, None),
    "storages without end": tar(pickled(1 << 60)),
    "storages of another type": tar(pickled("x")),
    "storage of another type": tar(pickled(1, [1])),
    "negative storage": tar(ONE + struct.pack("<q", -1) + NO_VIEWS),
    "huge storage": tar(ONE + struct.pack("<q", 1 << 60) + NO_VIEWS),
    "no number": tar(ONE + b"\0\0"),
    "view of nothing": tar(pickled(0, [(1, 2, 0, 1)])),
    "view outside": tar(ONE + FOUR + pickled([(8, 7, 2, 3)])),
    "view before": tar(ONE + FOUR + pickled([(8, 7, -1, 3)])),
    "tensor of nothing": tar(pickled(0, []), pickled(1, (1, 2, "x")) + bytes(100)),
    "dimensions without end": tar(ONE + FOUR + NO_VIEWS, pickled(1, (9, 7, "x"))
                                  + struct.pack("<2i", 1 << 30, 0) + bytes(100)),
    "negative dimensions": tar(ONE + FOUR + NO_VIEWS, pickled(1, (9, 7, "x"))
                               + struct.pack("<2i", -1, 0) + bytes(100)),
    "tensor outside": tar(ONE + FOUR + NO_VIEWS, pickled(1, (9, 7, "x"))
                          + struct.pack("<2i3q", 1, 0, 5, 1, 0)),
    "tensor with a negative stride": tar(ONE + FOUR + NO_VIEWS, pickled(1, (9, 7, "x"))
                                         + struct.pack("<2i3q", 1, 0, 4, -1, 3)),
    "object that is not there": tar(pickled(0, []), pickled(0), b"U\x019Q."),
    "object that is a list": tar(pickled(0, []), pickled(0), b"]Q."),
    "cut off": tar(pickled(0, []), pickled(0))[:600],
}


@pytest.mark.parametrize("name", TARS)
def test_tars(name):
    refused(TARS[name])  # with weights_only, all of them
    with pytest.raises(ERRORS):
        torch.load(io.BytesIO(TARS[name]), weights_only=False)


def tensors(header, data=bytes(16), size=None):
    coded = header if isinstance(header, bytes) else json.dumps(header).encode()
    return struct.pack("<Q", len(coded) if size is None else size) + coded + data


def entry(dtype="F32", shape=(4,), places=(0, 16)):
    return {"x": {"dtype": dtype, "shape": list(shape), "data_offsets": list(places)}}


SAFETENSORS = {
    "empty": b"",
    "only a size": struct.pack("<Q", 5),
    "huge header": tensors({}, size=1 << 62),
    "header outside": tensors({}, size=1000),
    "no JSON": tensors(b"{"),
    "no text": tensors(b"\xff\xfe"),
    "deep": tensors(b"[" * 100_000),
    "list": tensors([]),
    "long number": tensors(b'{"x": ' + b"9" * 100_000 + b"}"),
    "no entry": tensors({"x": 1}),
    "no dtype": tensors({"x": {"shape": [], "data_offsets": [0, 0]}}),
    "dtype unknown": tensors(entry("F8_E4M3")),
    "dtype of another type": tensors(entry([])),
    "size of text": tensors(entry(shape=("4",))),
    "size that is true": tensors(entry(shape=(True,), places=(0, 4))),
    "negative size": tensors(entry(shape=(-4,))),
    "two negative sizes": tensors(entry(shape=(-2, -2))),
    "huge size": tensors(entry(shape=(1 << 62, 4))),
    "many huge sizes": tensors(entry(shape=(1 << 62,) * 50_000)),
    "places outside": tensors(entry(places=(16, 32))),
    "places before": tensors(entry(places=(-16, 0))),
    "places turned around": tensors(entry(places=(16, 0))),
    "three places": tensors(entry(places=(0, 8, 16))),
    "fewer bytes": tensors(entry(places=(0, 12))),
    "overlap": tensors({**entry(), "y": entry()["x"]}),
}


@pytest.mark.parametrize("name", SAFETENSORS)
def test_safetensors(name, tmp_path):
    refused(SAFETENSORS[name], name="x.safetensors", tmp_path=tmp_path)


def test_thousands_of_damaged_files():
    """More of them: `python -m tests.support.fuzz_files 200000`."""
    program = "from tests.support.fuzz_files import run; print(dict(run(0, 3000)))"
    root = Path(__file__).parents[2]
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, cwd=root)
    assert ran.returncode == 0, ran.stderr
    assert all(f"'{word}'" in ran.stdout for word in ("loaded", "UnpicklingError", "EOFError"))
