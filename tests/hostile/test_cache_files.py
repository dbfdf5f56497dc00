"""Files and folders of the kernel cache that are damaged, foreign, in the way, or cannot be."""

import os
import resource
import stat
import sys
from pathlib import Path

import pytest

from yesca.runtime import cache

pytestmark = pytest.mark.skipif(not hasattr(os, "geteuid"), reason="users are no numbers here")
ENTRY = cache.Entry({"keys": ["k"], "needs": []}, b"code")


@pytest.fixture
def store(tmp_path):
    return cache.ObjectCache([tmp_path], 1 << 20)


def file_of(tmp_path, name="entry"):
    return tmp_path / f"{name}{cache.SUFFIX}"


def test_every_flipped_bit_and_every_length(store, tmp_path):
    whole = cache.encode("entry", ENTRY)
    path = file_of(tmp_path)
    for place in range(len(whole)):
        for changed in (whole[:place] + bytes((whole[place] ^ 1 << place % 8,)) + whole[place + 1:],
                        whole[:place], whole + whole[:place + 1]):
            path.write_bytes(changed)
            assert store.get("entry") is None and not path.exists(), place
    assert store.damaged == 3 * len(whole)
    store.put("entry", ENTRY)
    assert store.get("entry") == ENTRY


@pytest.mark.parametrize("meta", [
    b"", b"{", b"[]", b"null", b'"keys"', b"{}", b'{"keys": []}', b'{"needs": []}', b"\xff\xfe"])
def test_a_right_digest_over_a_wrong_header(store, tmp_path, meta):
    body = len(meta).to_bytes(4, "little") + meta + b"code"
    file_of(tmp_path).write_bytes(cache.MAGIC + cache._digest("entry", body) + body)
    assert store.get("entry") is None


def test_a_right_digest_under_a_wrong_name(store, tmp_path):
    file_of(tmp_path).write_bytes(cache.encode("other", ENTRY))
    assert store.get("entry") is None and store.damaged == 1


def test_the_entry_of_another_key(store, tmp_path):
    """What the machine asks for must be among the entry's keys."""
    from yesca.runtime import machine

    before = cache._current
    cache._current = store
    try:
        kernel = machine.Kernel("add", "ab" * 16, "")
        absent = cache.Entry({"keys": [kernel.key], "needs": ["no_such_function_here"]}, b"")
        for entry in (ENTRY, absent):  # the second one calls what this process does not have
            store.put(machine._engine().entry_name(kernel.key), entry)
            assert not machine._engine().restore(kernel)
    finally:
        cache._current = before


@pytest.mark.parametrize("mode", [0o666, 0o620, 0o602, 0o777])
def test_files_that_others_may_write(store, tmp_path, mode):
    file_of(tmp_path).write_bytes(cache.encode("entry", ENTRY))
    file_of(tmp_path).chmod(mode)
    assert store.get("entry") is None
    store.put("entry", ENTRY)
    assert store.get("entry") == ENTRY
    assert not stat.S_IMODE(file_of(tmp_path).stat().st_mode) & 0o022


def test_files_of_another_user(store, tmp_path, monkeypatch):
    file_of(tmp_path).write_bytes(cache.encode("entry", ENTRY))
    owner = file_of(tmp_path).stat().st_uid
    status = os.stat_result((stat.S_IFREG | 0o644, 1, 1, 1, owner + 4000, 0, 10, 0, 0, 0))
    assert not cache._trusted(status)
    link = file_of(tmp_path, "link")
    link.symlink_to(file_of(tmp_path))
    assert store.get("link") is None  # a link to another name's entry
    monkeypatch.setattr(cache, "_trusted", lambda status: False)
    assert store.get("entry") is None and file_of(tmp_path).exists()


def test_new_files_whatever_the_umask(store, tmp_path):
    before = os.umask(0)
    try:
        store.put("entry", ENTRY)
    finally:
        os.umask(before)
    assert stat.S_IMODE(file_of(tmp_path).stat().st_mode) == 0o644


def test_what_is_no_file(store, tmp_path):
    os.mkfifo(file_of(tmp_path, "pipe"))
    file_of(tmp_path, "folder").mkdir()
    file_of(tmp_path, "zero").symlink_to("/dev/zero")
    file_of(tmp_path, "loop").symlink_to(file_of(tmp_path, "loop"))
    file_of(tmp_path, "nowhere").symlink_to(tmp_path / "missing")
    for name in ("pipe", "folder", "zero", "loop", "nowhere"):
        assert store.get(name) is None, name
        store.put(name, ENTRY)
        assert store.get(name) == ENTRY, name


def test_a_link_is_replaced_and_not_written_through(store, tmp_path):
    target = tmp_path / "precious"
    target.write_text("data")
    file_of(tmp_path).symlink_to(target)
    store.put("entry", ENTRY)
    assert target.read_text() == "data" and store.get("entry") == ENTRY


def test_a_huge_file_is_not_read(store, tmp_path):
    with open(file_of(tmp_path), "wb") as file:
        file.write(cache.MAGIC)
        file.truncate(1 << 40)
    assert store.get("entry") is None


# ---- whole processes -------------------------------------------------------------------------

WORK = """
import yesca as torch
from yesca.runtime import cache, machine
x = torch.full((4,), 0.5, requires_grad=True)
(x * 2).exp().sum().backward()
total = torch.arange(100).reshape(10, 10).float().mm(torch.eye(10)).sum().item()
print(round(x.grad.sum().item(), 3), total, machine.counters.compiles, cache.info().entries)
"""


def results(done):
    """(whether the numbers are right, compilations, entries)."""
    assert done.returncode == 0 and done.stderr == "", done.stderr
    first, second, compiles, entries = done.stdout.split()
    return (first, second) == ("21.746", "4950.0"), int(compiles), int(entries)


@pytest.fixture(scope="module")
def filled(tmp_path_factory):
    """A folder that the work above has filled."""
    import subprocess

    folder = tmp_path_factory.mktemp("kernels") / "filled"
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(map(os.path.abspath, sys.path)),
                   "YESCA_CACHE_DIR": str(folder)}
    done = subprocess.run([sys.executable, "-c", WORK], env=environment, capture_output=True,
                          text=True)
    right, compiles, entries = results(done)
    assert right and compiles > 5 and entries >= compiles
    return folder


def test_a_filled_cache_is_found_again(run_python, filled):
    right, compiles, entries = results(run_python("-c", WORK, YESCA_CACHE_DIR=str(filled)))
    assert right and compiles == 0 and entries > 5


@pytest.mark.parametrize("home", ["unset", "a file", "read-only"])
def test_homes_that_cannot_be_written(run_python, filled, tmp_path, home):
    place = tmp_path / "home"
    if home == "a file":
        place.write_text("")
    elif home == "read-only":
        place = Path("/proc/self")
    variables = {"HOME": None if home == "unset" else str(place), "XDG_CACHE_HOME": None}
    if home == "unset":  # the account's own folder stays as it is
        variables["YESCA_CACHE_SIZE"] = "0"
    shipped = f"{filled}{os.pathsep}{place / '.cache'}"
    done = run_python("-c", WORK, YESCA_CACHE_DIR=None if home == "unset" else shipped, **variables)
    right, compiles, entries = results(done)
    assert right and entries == 0 and (compiles == 0) == (home != "unset")


def test_a_full_disk(run_python, filled, tmp_path):
    """No file may grow beyond a kilobyte: kernels are compiled, kept and not stored."""
    limited = f"""
import resource
resource.setrlimit(resource.RLIMIT_FSIZE, (1000, {resource.RLIM_INFINITY}))
import yesca as torch
print(round((torch.arange(6.0).reshape(2, 3).tan().cumsum(1) * 2).asinh().sum().item(), 3))
"""
    new = tmp_path / "new"
    folders = f"{filled}{os.pathsep}{new}"
    done = run_python("-c", limited + WORK, YESCA_CACHE_DIR=folders)
    first, rest = done.stdout.split("\n", 1)
    assert first == "-0.279" and rest.startswith("21.746 4950.0"), done.stderr
    assert all(f.suffix == cache.SUFFIX and f.stat().st_size <= 1000 for f in new.iterdir())


def test_no_space_left(store, tmp_path, monkeypatch):
    import builtins
    import errno

    def full(path, mode="r", *rest, **options):
        file = opened(path, mode, *rest, **options)
        if "x" in mode:
            file.close()
            raise OSError(errno.ENOSPC, "No space left on device")
        return file

    opened = builtins.open
    monkeypatch.setattr(builtins, "open", full)
    store.put("entry", ENTRY)
    assert store.get("entry") == ENTRY  # from memory
    assert not list(tmp_path.iterdir())


def test_a_machine_with_fewer_features(run_python, filled):
    import platform

    taken = "-avx2,-avx512f,-fma" if platform.machine() in ("x86_64", "AMD64") else "-fp16"
    done = run_python("-c", WORK, YESCA_CPU_FEATURES=taken, YESCA_CACHE_DIR=str(filled))
    right, compiles, entries = results(done)
    assert right and compiles > 5  # none of the other machine's code
    right, compiles, _ = results(run_python("-c", WORK, YESCA_CACHE_DIR=str(filled)))
    assert right and compiles == 0


def test_the_cache_commands_on_a_filled_cache(run_python, filled, tmp_path):
    def command(*words, folder=filled):
        done = run_python("-m", "yesca", "cache", *words, YESCA_CACHE_DIR=str(folder))
        assert done.returncode == 0 and done.stderr == "", done.stderr
        return done.stdout

    facts = dict(line.split(None, 1) for line in command("info").splitlines())
    assert facts["writable"] == str(filled) and int(facts["nbytes"]) > 10_000
    count = int(facts["entries"])
    assert count == len(list(filled.glob(f"*{cache.SUFFIX}"))) > 5
    shipped = tmp_path / "shipped"
    assert command("pack", str(shipped)) == f"{count} kernels written to {shipped}\n"
    command("clear", folder=shipped / "none")
    folders = f"{shipped}{os.pathsep}{tmp_path / 'own'}"
    assert results(run_python("-c", WORK, YESCA_CACHE_DIR=folders)) == (True, 0, 0)
    command("clear", folder=shipped)
    assert not list(shipped.iterdir())
