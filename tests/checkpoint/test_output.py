"""`save` over an existing file: all of the new one or all of the old one, and no litter."""

import errno
import os
import random
import stat
import subprocess
import sys
import textwrap
import threading

import pytest

import yesca as torch
from tests.support.kill_saves import kill_while_saving
from yesca._checkpoint import output
from yesca.base import settings

POSIX = pytest.mark.skipif(os.name != "posix", reason="modes, links and pipes")
OLD = b"the old file"


@pytest.fixture
def path(tmp_path):
    file = tmp_path / "x.pt"
    file.write_bytes(OLD)
    return file


class Unpicklable:
    def __reduce__(self):
        raise KeyboardInterrupt


@pytest.mark.parametrize("zipped", [True, False])
def test_an_interrupted_save_leaves_the_old_file(path, zipped):
    with pytest.raises(KeyboardInterrupt):
        torch.save([torch.ones(1000), Unpicklable()], path,
                   _use_new_zipfile_serialization=zipped)
    assert path.read_bytes() == OLD
    assert os.listdir(path.parent) == ["x.pt"]


def test_an_interrupted_first_save_leaves_nothing(tmp_path):
    with pytest.raises(KeyboardInterrupt):
        torch.save(Unpicklable(), tmp_path / "x.pt")
    assert os.listdir(tmp_path) == []


def test_a_mapped_file_is_not_changed_by_a_save_over_it(path):
    torch.save(torch.ones(1000), path)
    mapped = torch.load(path, mmap=True)
    torch.save(torch.zeros(10), path)
    assert mapped.sum().item() == 1000
    assert torch.load(path).tolist() == [0.0] * 10


@POSIX
def test_modes(path):
    path.chmod(0o640)
    torch.save(1, path)
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    before = os.umask(0o077)
    try:
        torch.save(1, path.with_name("new.pt"))
    finally:
        os.umask(before)
    assert stat.S_IMODE(path.with_name("new.pt").stat().st_mode) == 0o600


@POSIX
def test_links_are_followed(path):
    link = path.with_name("link.pt")
    link.symlink_to("x.pt")
    torch.save(5, link)
    assert link.is_symlink() and torch.load(path) == 5
    dangling = path.with_name("dangling.pt")
    dangling.symlink_to("later.pt")
    torch.save(6, dangling)
    assert dangling.is_symlink() and torch.load(path.with_name("later.pt")) == 6


@POSIX
def test_pipes_are_written_as_they_are(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    found = []
    reader = threading.Thread(target=lambda: found.append(pipe.read_bytes()))
    reader.start()
    torch.save(torch.ones(3), pipe)
    reader.join()
    assert stat.S_ISFIFO(pipe.stat().st_mode)
    copy = tmp_path / "copy.pt"
    copy.write_bytes(found[0])
    assert torch.load(copy).tolist() == [1, 1, 1]


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="a device that is always full")
def test_full_devices():
    with pytest.raises(OSError) as caught:
        torch.save(torch.ones(10), "/dev/full")
    assert caught.value.errno == errno.ENOSPC


@POSIX
def test_files_without_a_name():
    if not hasattr(os, "memfd_create"):
        pytest.skip("Linux")
    number = os.memfd_create("checkpoint")
    with open(number, "r+b") as file:
        torch.save(torch.ones(2), f"/proc/self/fd/{number}")
        assert torch.load(file).tolist() == [1, 1]


@POSIX
def test_a_full_disk(path):
    program = f"""
        import os, resource
        import yesca as torch
        x = torch.ones(1_000_000)
        most = resource.getrlimit(resource.RLIMIT_FSIZE)[1]
        for limit in (0, 5000, 3_999_000):
            resource.setrlimit(resource.RLIMIT_FSIZE, (limit, most))
            for target in ({str(path)!r}, {str(path.with_name("new.pt"))!r}):
                for zipped in (True, False):
                    try:
                        torch.save(x, target, _use_new_zipfile_serialization=zipped)
                    except OSError as error:
                        print(error.errno)
    """
    ran = subprocess.run([sys.executable, "-c", textwrap.dedent(program)], capture_output=True,
                         text=True)
    assert ran.stdout.split() == [str(errno.EFBIG)] * 12, ran.stderr
    assert path.read_bytes() == OLD and os.listdir(path.parent) == ["x.pt"]


@pytest.mark.parametrize("named", [True, False])
def test_files_without_and_with_a_name_meanwhile(path, named, monkeypatch):
    if named:
        monkeypatch.delattr(output.os, "O_TMPFILE", raising=False)
    seen = []
    with output.replaced(str(path)) as file:
        file.write(b"new")
        seen.append(len(os.listdir(path.parent)))
    assert path.read_bytes() == b"new" and os.listdir(path.parent) == ["x.pt"]
    assert seen == [2] or not named


@POSIX
@pytest.mark.skipif(os.name == "posix" and os.geteuid() == 0, reason="root may write anything")
def test_files_that_may_not_be_written(path):
    path.chmod(0o400)
    with pytest.raises(PermissionError):
        torch.save(1, path)
    assert path.read_bytes() == OLD


def refused(error):
    def fail(*args, **options):
        raise OSError(error, os.strerror(error))
    return fail


def test_a_folder_that_takes_no_new_file(path, monkeypatch):
    monkeypatch.setattr(output, "_open_beside", refused(errno.EACCES))
    torch.save(7, path)
    assert torch.load(path) == 7
    with pytest.raises(PermissionError):
        torch.save(7, path.with_name("new.pt"))
    assert os.listdir(path.parent) == ["x.pt"]
    monkeypatch.setattr(output, "_open_beside", refused(errno.ENOSPC))
    with pytest.raises(OSError, match=os.strerror(errno.ENOSPC)):
        torch.save(8, path)
    assert torch.load(path) == 7


def test_a_file_that_cannot_be_replaced(path, monkeypatch):
    monkeypatch.setattr(output.os, "replace", refused(errno.EBUSY))  # as a file that is mounted
    torch.save(7, path)
    monkeypatch.setattr(output.os, "replace", refused(errno.EIO))
    with pytest.raises(OSError, match=os.strerror(errno.EIO)):
        torch.save(8, path)
    monkeypatch.undo()
    assert torch.load(path) == 7 and os.listdir(path.parent) == ["x.pt"]


def test_a_folder_is_no_file(tmp_path, monkeypatch):
    inner = tmp_path / "inner"
    inner.mkdir()
    monkeypatch.chdir(inner)
    for path in (inner, f"{inner}/", "", "new/"):
        with pytest.raises((OSError, RuntimeError)):
            torch.save(1, path)
    assert os.listdir(tmp_path) == ["inner"] and os.listdir(inner) == []


def test_saves_that_wait_for_the_disk(path, monkeypatch):
    synced = []
    monkeypatch.setattr(output.os, "fsync", lambda number: synced.append(os.fstat(number)))
    torch.save(1, path)
    assert not synced
    with settings.SAVE_SYNC.override(True):
        torch.save(2, path)
    assert [stat.S_ISDIR(found.st_mode) for found in synced][:1] == [False]
    assert len(synced) == 2 or os.name != "posix"
    assert synced[0].st_size == path.stat().st_size


@POSIX
def test_killed_saves(tmp_path):
    replaced, _ = kill_while_saving(tmp_path, 3, random.Random(1), size=50_000)
    assert replaced > 0
