"""Damages checkpoints at random, by a seed, and loads them: only clear refusals may come of it.

    python -m tests.support.fuzz_files 200000 [first seed]

Every file is small and made here: both formats of `save`, a compressed archive, safetensors, and
the IDX files of MNIST. It is
changed in its bytes or in its structure (records, directory, instructions of the pickle, header).
A load ends in an object, all of whose tensors are then read, or in an error of `REFUSALS`; within
`SECONDS`; without running code, which an audit hook sees; in a process that may take `MEMORY` more.
"""

from __future__ import annotations

import copy
import faulthandler
import gzip
import io
import json
import os
import pickle
import pickletools
import random
import resource
import signal
import struct
import sys
import tempfile
import zipfile
from collections import Counter, OrderedDict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import yesca as torch
from yesca.vision.datasets.mnist import read_sn3_pascalvincent_tensor

REFUSALS = (pickle.UnpicklingError, EOFError, RuntimeError, ValueError)
SECONDS = 20
MEMORY = 512 << 20
_NUMBERS = (0, 1, -1, 2, 0x7F, 0x80, 0xFF, 0x7FFF, 0xFFFF, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF,
            1 << 40, (1 << 63) - 1, 1 << 63, (1 << 64) - 1)
#: What Python tells an audit hook when code runs, or the world outside is touched.
_EVENTS = ("exec", "compile", "os.system", "os.exec", "os.fork", "os.posix_spawn", "os.remove",
           "os.rename", "os.mkdir", "subprocess.Popen", "socket.connect", "ctypes.dlopen",
           "shutil.rmtree", "import")


class CodeRan(BaseException):
    """The hook has seen something that no load may do."""


# --- files ----------------------------------------------------------------------------------------


def _contents() -> Any:
    base = torch.arange(24.0).reshape(4, 6)
    noted = torch.ones(2)
    noted.note = [1, "two"]
    return OrderedDict(
        views=[base[1:], base.t(), base[:, ::2]], conjugate=torch.tensor([1 + 2j]).conj(),
        parameter=torch.nn.Parameter(torch.ones(3, 2)), noted=noted, empty=torch.zeros(0, 3),
        small=torch.tensor([1, 2], dtype=torch.int16), new=torch.tensor([3], dtype=torch.uint16),
        plain=(1, -5, 70000, 10**30, 2.5, None, True, "é", b"\xff", {1, 2}, 1 + 2j),
        size=torch.Size([2, 3]), dtype=torch.bfloat16, counter=Counter("aab"),
        state={"step": 3, "betas": [0.9, 0.999]}, device=torch.device("cpu"),
    )


def _saved(obj: Any, **options: Any) -> bytes:
    file = io.BytesIO()
    torch.save(obj, file, **options)
    return file.getvalue()


def _compressed(data: bytes) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as source, \
            zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as target:
        for name in source.namelist():
            target.writestr(zipfile.ZipInfo(name), source.read(name), zipfile.ZIP_DEFLATED)
    return out.getvalue()


def _safetensors() -> bytes:
    header = {
        "a": {"dtype": "F32", "shape": [2, 3], "data_offsets": [0, 24]},
        "b": {"dtype": "BF16", "shape": [4], "data_offsets": [24, 32]},
        "c": {"dtype": "I64", "shape": [], "data_offsets": [32, 40]},
        "__metadata__": {"format": "pt"},
    }
    return _with_header(json.dumps(header).encode(), bytes(range(40)))


def _with_header(header: bytes, data: bytes) -> bytes:
    return struct.pack("<Q", len(header)) + header + data


def corpus() -> dict[str, bytes]:
    """The whole files by name."""
    whole = _saved(_contents())
    return {
        "archive": whole,
        "small archive": _saved(torch.arange(4.0)),
        "compressed": _compressed(whole),
        "older": _saved(_contents(), _use_new_zipfile_serialization=False),
        "small older": _saved(torch.arange(4.0), _use_new_zipfile_serialization=False),
        "safetensors": _safetensors(),
        "idx": b"\0\0\x08\x03" + struct.pack(">3I", 2, 3, 4) + bytes(24),
        "empty idx": b"\0\0\x08\x01" + bytes(4),
        "wide idx": b"\0\0\x0d\x02" + struct.pack(">2I", 2, 3) + bytes(24),
        "compressed idx": gzip.compress(
            b"\0\0\x08\x01" + struct.pack(">I", 5) + bytes(5), mtime=0),
    }


# --- changes --------------------------------------------------------------------------------------


def _bytes_changed(data: bytes, source: random.Random) -> bytes:
    changed = bytearray(data)
    for _ in range(source.choice((1, 1, 1, 2, 4, 16))):
        if not changed:
            break
        at = source.randrange(len(changed))
        kind = source.randrange(7)
        if kind == 0:
            changed[at] ^= 1 << source.randrange(8)
        elif kind == 1:
            changed[at] = source.randrange(256)
        elif kind == 2:
            del changed[at : at + source.choice((1, 2, 8, 64))]
        elif kind == 3:
            changed[at:at] = changed[at : at + source.choice((1, 4, 30, 200))]
        elif kind == 4:
            del changed[at:]
        else:
            width = source.choice((1, 2, 4, 8))
            number = source.choice(_NUMBERS) & ((1 << 8 * width) - 1)
            changed[at : at + width] = number.to_bytes(width, source.choice(("little", "big")))
    return bytes(changed)


_CODES = [code.code.encode("latin-1") for code in pickletools.opcodes if code.proto <= 2]
_NAMES = (b"torch._utils\n_rebuild_tensor_v2\n", b"torch._utils\n_rebuild_tensor_v3\n",
          b"torch._utils\n_rebuild_parameter\n", b"torch._tensor\n_rebuild_from_type_v2\n",
          b"torch\nTensor\n", b"torch\nSize\n", b"torch\nFloatStorage\n", b"torch\nint8\n",
          b"torch.storage\nUntypedStorage\n", b"torch.nn.parameter\nParameter\n",
          b"torch._utils\n_rebuild_meta_tensor_no_storage\n", b"__builtin__\nset\n",
          b"__builtin__\nbytearray\n", b"collections\nOrderedDict\n", b"collections\nCounter\n",
          b"_codecs\nencode\n", b"torch\ndevice\n", b"torch._utils\n_rebuild_sparse_tensor\n",
          b"__builtin__\neval\n", b"posix\nsystem\n", b"torch.serialization\n_get_layout\n")


def _instructions(data: bytes) -> list[bytes]:
    """The pickle's instructions; what follows the last whole one is dropped."""
    places = []
    try:
        places += [place for _, _, place in pickletools.genops(data) if place is not None]
    except ValueError:
        pass
    return [data[a:b] for a, b in zip(places, [*places[1:], len(data)])]


def _new_instruction(source: random.Random) -> bytes:
    kind = source.randrange(6)
    if kind == 0:
        return b"c" + source.choice(_NAMES)
    if kind == 1:
        return b"J" + struct.pack("<i", source.choice((0, 1, -1, 2, 100, 2**31 - 1, -(2**31))))
    if kind == 2:
        number = source.choice(_NUMBERS)
        return b"\x8a\x09" + number.to_bytes(9, "little", signed=True)
    if kind == 3:
        return source.choice((b"h", b"q")) + bytes([source.randrange(80)])
    if kind == 4:
        return b"X\x03\0\0\0" + source.choice((b"cpu", b"999", b"\xc3\xa9x"))
    return source.choice(_CODES)


def _pickle_changed(data: bytes, source: random.Random) -> bytes:
    steps = _instructions(data)
    for _ in range(source.choice((1, 1, 2, 3, 8))):
        if len(steps) < 3:
            break
        at = source.randrange(1, len(steps))
        kind = source.randrange(5)
        if kind == 0:
            steps[at] = _new_instruction(source)
        elif kind == 1:
            steps.insert(at, _new_instruction(source))
        elif kind == 2:
            del steps[at : at + source.choice((1, 1, 2, 5))]
        elif kind == 3:
            other = source.randrange(1, len(steps))
            steps[at], steps[other] = steps[other], steps[at]
        else:
            steps[at:at] = steps[at : at + source.choice((1, 3, 10))] * source.choice((1, 2, 50))
    return b"".join(steps)


def _archive_changed(data: bytes, source: random.Random) -> bytes:
    """Records with other data, or a directory with other numbers."""
    kind = source.randrange(3)
    if kind == 0:
        places = [at for mark in (b"PK\1\2", b"PK\3\4", b"PK\5\6", b"PK\6\6", b"PK\6\7")
                  for at in _found(data, mark)]
        changed = bytearray(data)
        for _ in range(source.choice((1, 1, 2, 4))):
            at = source.choice(places) + source.randrange(4, 56)
            width = source.choice((2, 4, 8))
            number = source.choice((*_NUMBERS, len(data), *places)) & ((1 << 8 * width) - 1)
            changed[at : at + width] = number.to_bytes(width, "little")
        return bytes(changed)
    from yesca._checkpoint.zip_writer import ZipWriter

    out = io.BytesIO()
    writer = ZipWriter(out, source.choice(("archive", "", "a/b", "../up")))
    with zipfile.ZipFile(io.BytesIO(data)) as records:
        names = [name for name in records.namelist() if "serialization_id" not in name]
        chosen = source.choice(names)
        for name in names:
            content, short = records.read(name), name.partition("/")[2]
            if kind == 2 and name == chosen:
                content = _bytes_changed(content, source)
                short = source.choice((short, short, f"../{short}", f"/{short}", "data.pkl"))
            if kind == 1 and short == "data.pkl":
                content = _pickle_changed(content, source)
            writer.write(short, content)
    writer.close()
    return out.getvalue()


def _found(data: bytes, mark: bytes) -> Iterator[int]:
    at = data.find(mark)
    while at >= 0:
        yield at
        at = data.find(mark, at + 1)


def _older_changed(data: bytes, source: random.Random) -> bytes:
    """Another pickle among those of the older format."""
    ends, at = [], 0
    for _ in range(5):
        stream = io.BytesIO(data[at:])
        for _ in pickletools.genops(stream):
            pass
        at += stream.tell()
        ends.append(at)
    parts = [data[a:b] for a, b in zip([0, *ends], ends)]
    which = source.choice((0, 1, 2, 3, 3, 3, 3, 4, 4))
    parts[which] = _pickle_changed(parts[which], source)
    return b"".join(parts) + data[ends[-1]:]


_VALUES: tuple[Any, ...] = (None, True, -1, 0, 1, 1.5, 1e300, "", "F32", "X", [], {}, [1, 2], [-1],
                            [10**30], [0, 24], [24, 0], [2**62, 4], "é" * 50, [[]], [0] * 100)


def _header_changed(data: bytes, source: random.Random) -> bytes:
    (size,) = struct.unpack_from("<Q", data)
    header = json.loads(data[8 : 8 + size])
    for _ in range(source.choice((1, 1, 2))):
        place = header
        while True:
            key = source.choice(list(place) if isinstance(place, dict) else range(len(place)))
            if isinstance(place[key], (dict, list)) and place[key] and source.random() < 0.8:
                place = place[key]
            else:
                break
        place[key] = copy.deepcopy(source.choice(_VALUES))
    return _with_header(json.dumps(header).encode(), data[8 + size:])


_STRUCTURE: dict[str, Callable[[bytes, random.Random], bytes]] = {
    "archive": _archive_changed, "small archive": _archive_changed,
    "compressed": _archive_changed, "older": _older_changed, "small older": _older_changed,
    "safetensors": _header_changed, "idx": _bytes_changed, "empty idx": _bytes_changed,
    "wide idx": _bytes_changed, "compressed idx": _bytes_changed,
}


def changed(files: dict[str, bytes], seed: int) -> tuple[str, bytes]:
    """The damaged file of this seed, and which one it was."""
    source = random.Random(seed)
    name = source.choice(list(files))
    data = files[name]
    if source.random() < 0.6:
        data = _STRUCTURE[name](data, source)
    if data == files[name] or source.random() < 0.2:
        data = _bytes_changed(data, source)
    return name, data


# --- loading --------------------------------------------------------------------------------------


def _read_all(value: Any, left: list[int]) -> None:
    """Touch the memory of every tensor in a loaded object."""
    left[0] -= 1
    if left[0] < 0:
        return
    if isinstance(value, torch.Tensor):
        # Sizes without elements may be large all the same, and lists of them.
        if value.device.type == "cpu" and max((*value.shape, 0)) < 10_000 > value.numel():
            value.clone()
            value.tolist()
    elif isinstance(value, dict):
        for item in value.values():
            _read_all(item, left)
    elif isinstance(value, (list, tuple)):
        for item in value:
            _read_all(item, left)


def _read_idx(path: str) -> Any:
    """As data sets do; torchvision's error for a wrong header is an AssertionError."""
    try:
        return read_sn3_pascalvincent_tensor(path)
    except AssertionError as error:
        raise ValueError(str(error)) from None


_loading = False


def _audit(event: str, arguments: tuple[Any, ...]) -> None:
    if _loading and event in _EVENTS:
        if event == "import" and arguments[0] in sys.modules:
            return
        # The package writes the functions that bind arguments when they are first called.
        file = {"compile": lambda: arguments[1], "exec": lambda: arguments[0].co_filename}
        if event in file and str(file[event]()).startswith("<schema "):
            return
        raise CodeRan(f"{event} {arguments!r:.200}")


def _late(*_: object) -> None:
    raise TimeoutError(f"a load took more than {SECONDS} s")


@contextmanager
def watched() -> Iterator[None]:
    """The hook, the clock and the limit of memory; everything that a load imports is there."""
    for name, data in corpus().items():
        outcome(name, data, None)
    sys.addaudithook(_audit)
    signal.signal(signal.SIGALRM, _late)
    faulthandler.enable()
    with open("/proc/self/statm") as file:
        now = int(file.read().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (now + MEMORY, resource.RLIM_INFINITY))
    yield
    resource.setrlimit(resource.RLIMIT_AS, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))


def outcome(name: str, data: bytes, folder: str | None) -> str:
    """Load one file and say what came of it; anything but a refusal is raised.

    With a folder, the file is written there and mapped.
    """
    global _loading
    target: Any = io.BytesIO(data)
    idx = "idx" in name
    if folder is not None or idx or name == "safetensors":
        ending = ".safetensors" if name == "safetensors" else ".pt"
        target = os.path.join(folder or tempfile.gettempdir(), f"fuzz-{os.getpid()}{ending}")
        with open(target, "wb") as file:
            file.write(data)
    mapped = folder is not None and name != "safetensors"
    _loading = True
    try:
        loaded = _read_idx(target) if idx else torch.load(target, mmap=mapped)
        _read_all(loaded, [1000])
        return "loaded"
    except REFUSALS as error:
        if not str(error):
            raise AssertionError("an error without a text") from error
        return type(error).__name__
    finally:
        _loading = False
        if isinstance(target, str):
            os.unlink(target)


def run(first: int, count: int) -> Counter[str]:
    """How many of the files ended how; the first that ends otherwise is raised with its seed."""
    import warnings

    warnings.simplefilter("ignore")
    files = corpus()
    outcomes: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as folder, watched():
        for seed in range(first, first + count):
            name, data = changed(files, seed)
            signal.alarm(SECONDS)
            faulthandler.dump_traceback_later(3 * SECONDS, exit=True)
            try:
                outcomes[outcome(name, data, folder if seed % 8 == 0 else None)] += 1
            except BaseException as error:
                error.add_note(f"seed {seed}, from {name!r}")
                raise
            finally:
                signal.alarm(0)
                faulthandler.cancel_dump_traceback_later()
    return outcomes


if __name__ == "__main__":
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 3000
    print(json.dumps(run(int(sys.argv[2]) if len(sys.argv) > 2 else 0, count)))
