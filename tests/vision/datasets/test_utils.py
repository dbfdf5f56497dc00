"""Fetching, checking and unpacking: archives stay within their folder, whatever they say."""

import bz2
import gzip
import io
import lzma
import os
import sys
import tarfile

import pytest
from dataset_files import md5, tar_of, zip_of

from yesca import _download
from yesca.vision.datasets import utils


def tree(folder):
    return {str(path.relative_to(folder)): path.read_text()
            for path in sorted(folder.rglob("*")) if path.is_file()}


# --- archives -------------------------------------------------------------------------------------

FILES = [("top.txt", b"top"), ("in/side.txt", b"side")]


@pytest.mark.parametrize("name, make", [
    ("a.tar", tar_of), ("a.tgz", tar_of), ("a.tar.gz", tar_of), ("a.zip", zip_of)])
@pytest.mark.parametrize("remove", [False, True])
def test_archives(tmp_path, name, make, remove):
    archive = make(tmp_path / name, FILES)
    made = utils.extract_archive(str(archive), tmp_path / "to", remove)
    assert made == str(tmp_path / "to")
    assert tree(tmp_path / "to") == {"in/side.txt": "side", "top.txt": "top"}
    assert archive.exists() != remove
    if not remove:  # again, over what is there
        (tmp_path / "to" / "top.txt").write_text("old")
        (tmp_path / "to" / "in" / "other.txt").write_text("kept")
        assert utils.extract_archive(archive, tmp_path / "to") == tmp_path / "to"
        assert tree(tmp_path / "to") == {
            "in/other.txt": "kept", "in/side.txt": "side", "top.txt": "top"}
    assert not list(tmp_path.rglob(".unpacking-*"))


@pytest.mark.parametrize("end, opener", [(".gz", gzip), (".bz2", bz2), (".xz", lzma)])
def test_single_files(tmp_path, end, opener):
    source = tmp_path / f"a.txt{end}"
    with opener.open(source, "wb") as file:
        file.write(b"text")
    assert utils.extract_archive(source) == tmp_path / "a.txt"
    assert (tmp_path / "a.txt").read_text() == "text"
    assert utils._decompress(source, tmp_path / "b", remove_finished=True) == tmp_path / "b"
    assert sorted(os.listdir(tmp_path)) == ["a.txt", "b"]


def member(name, kind, target=""):
    made = tarfile.TarInfo(name)
    made.type, made.linkname = kind, target
    return made


@pytest.mark.parametrize("name", ["../out.txt", "/tmp/out_of_it.txt", "in/../../out.txt",
                                  "..\\out.txt"])
@pytest.mark.parametrize("end, make", [(".tar", tar_of), (".zip", zip_of)])
def test_names_that_lead_out_are_refused(tmp_path, name, end, make):
    archive = make(tmp_path / f"a{end}", [("good.txt", b"good"), (name, b"bad")])
    with pytest.raises(RuntimeError, match="lies outside of the folder"):
        utils.extract_archive(archive, tmp_path / "to")
    assert os.listdir(tmp_path / "to") == []
    assert sorted(os.listdir(tmp_path)) == [archive.name, "to"]
    assert not os.path.exists("/tmp/out_of_it.txt")


@pytest.mark.parametrize("first, second", [
    (member("link", tarfile.SYMTYPE, "../.."), "link/out.txt"),
    (member("link", tarfile.SYMTYPE, "/etc"), "link/out.txt"),
    (member("in/link", tarfile.SYMTYPE, "../../x"), "good.txt"),
    (member("link", tarfile.LNKTYPE, "../secret"), "good.txt"),
    (member("pipe", tarfile.FIFOTYPE), "good.txt"),
    (member("null", tarfile.CHRTYPE), "good.txt"),
])
def test_links_and_devices_that_lead_out_are_refused(tmp_path, first, second):
    (tmp_path / "secret").write_text("secret")
    archive = tar_of(tmp_path / "a.tar", [(first, b""), (second, b"bad")])
    with pytest.raises(RuntimeError, match="outside of the folder|neither a file"):
        utils.extract_archive(archive, tmp_path / "to")
    assert os.listdir(tmp_path / "to") == []


def test_links_within_are_kept(tmp_path):
    archive = tar_of(tmp_path / "a.tar", [
        ("in/a.txt", b"text"), (member("in/b.txt", tarfile.SYMTYPE, "a.txt"), b""),
        (member("c.txt", tarfile.LNKTYPE, "in/a.txt"), b""), (member("d", tarfile.DIRTYPE), b"")])
    utils.extract_archive(archive, tmp_path / "to")
    assert tree(tmp_path / "to") == {"c.txt": "text", "in/a.txt": "text", "in/b.txt": "text"}
    assert (tmp_path / "to" / "in" / "b.txt").is_symlink() and (tmp_path / "to" / "d").is_dir()


def damaged():
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as tar:
        made = tarfile.TarInfo("a")
        made.size = 100_000
        tar.addfile(made, io.BytesIO(os.urandom(100_000)))
    return packed.getvalue()[:60_000]


@pytest.mark.parametrize("name, content", [
    ("a.zip", b"rubbish"), ("a.tar", b"rubbish" * 200), ("a.tgz", damaged()),
    ("a.tar.xz", b"rubbish"), ("a.gz", gzip.compress(b"x" * 99, mtime=0)[:-9]),
    ("a.xz", b"rubbish"),
    ("a.bz2", b"rubbish"), ("a.txt.gz", b""[:0] + b"no")])
def test_damaged_archives_leave_nothing(tmp_path, name, content):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(RuntimeError, match="cannot be unpacked: .*remove it to fetch it again"):
        utils.extract_archive(tmp_path / name, tmp_path)
    assert os.listdir(tmp_path) == [name]


def test_suffixes(tmp_path):
    with pytest.raises(RuntimeError, match="has no suffixes that could be used to detect"):
        utils.extract_archive("/none/archive")
    with pytest.raises(RuntimeError, match=r"Unknown compression or archive type: '.rar'.\n"
                       r"Known suffixes are: '\['.bz2', '.gz', '.tar', '.tbz', '.tbz2', '.tgz'"):
        utils.extract_archive("a.rar")
    with pytest.raises(RuntimeError, match="Couldn't detect a compression from suffix .zip"):
        utils._decompress("a.zip")
    with pytest.raises(FileNotFoundError):
        utils.extract_archive(tmp_path / "none.zip")
    assert utils._detect_file_type("a.b.tbz2") == (".tbz2", ".tar", ".bz2")


# --- files ----------------------------------------------------------------------------------------


def test_checksums(tmp_path):
    (tmp_path / "a").write_bytes(b"ember")
    own = "e7d6ac4ed1e83a1e3a7b1b7ec0ff2ed3"[:0] + md5(tmp_path / "a")
    assert utils.calculate_md5(tmp_path / "a", chunk_size=2) == own
    assert utils.check_md5(tmp_path / "a", own) and not utils.check_md5(tmp_path / "a", "0" * 32)
    assert utils.check_integrity(tmp_path / "a") and utils.check_integrity(tmp_path / "a", own)
    assert not utils.check_integrity(tmp_path) and not utils.check_integrity(tmp_path / "b")


def test_lists(tmp_path):
    (tmp_path / "folder.txt").mkdir()
    (tmp_path / "a.txt").touch()
    (tmp_path / "b.md").touch()
    assert utils.list_dir(tmp_path) == ["folder.txt"]
    assert utils.list_dir(tmp_path, prefix=True) == [str(tmp_path / "folder.txt")]
    assert utils.list_files(tmp_path, ".txt") == ["a.txt"]
    assert sorted(utils.list_files(str(tmp_path), (".txt", ".md"), True)) == [
        str(tmp_path / "a.txt"), str(tmp_path / "b.md")]


def test_download_url(tmp_path):
    source = tmp_path / "a.txt"
    source.write_bytes(b"ember")
    utils.download_url(source.as_uri(), tmp_path / "to")
    utils.download_url(source.as_uri(), str(tmp_path / "to"), "b.txt", md5(source))
    assert tree(tmp_path / "to") == {"a.txt": "ember", "b.txt": "ember"}
    with pytest.raises(RuntimeError, match="File not found or corrupted"):
        utils.download_url(source.as_uri(), tmp_path / "to", "c.txt", "0" * 32)
    source.unlink()
    utils.download_url(source.as_uri(), tmp_path / "to")  # it is there
    assert sorted(os.listdir(tmp_path / "to")) == ["a.txt", "b.txt"]


def test_a_checksum_allows_the_plain_way(tmp_path, monkeypatch):
    def fetch(url, path, **options):
        asked.append((url, options["checksum"], options["agent"]))
        raise OSError("no")

    asked = []
    monkeypatch.setattr(_download, "fetch", fetch)
    for checksum in (None, "0" * 32):
        with pytest.raises(OSError, match="no"):
            utils.download_url("https://host.invalid/a", tmp_path, md5=checksum)
    assert [(url.partition(":")[0], checksum, agent) for url, checksum, agent in asked] == [
        ("https", None, "pytorch/vision"), ("https", "0" * 32, "pytorch/vision"),
        ("http", "0" * 32, "pytorch/vision")]


def test_download_and_extract(tmp_path):
    archive = zip_of(tmp_path / "a.zip", FILES)
    utils.download_and_extract_archive(archive.as_uri(), tmp_path / "down", tmp_path / "to",
                                       filename="b.zip", md5=md5(archive), remove_finished=True)
    assert tree(tmp_path / "to") == {"in/side.txt": "side", "top.txt": "top"}
    assert os.listdir(tmp_path / "down") == []


def test_google_drive_asks_for_its_package(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "gdown", None)
    with pytest.raises(RuntimeError, match="'gdown' is required. You can install it with"):
        utils.download_url("https://drive.google.com/file/d/1x-Y/view", tmp_path, "a")

    class Gdown:
        @staticmethod
        def download(id, output, quiet, user_agent):
            with open(output, "w") as file:
                file.write(id)

    monkeypatch.setitem(sys.modules, "gdown", Gdown)
    utils.download_url("https://drive.google.com/file/d/1x-Y/view", tmp_path, "a")
    assert tree(tmp_path) == {"a": "1x-Y"}
    with pytest.raises(RuntimeError, match="File not found or corrupted"):
        utils.download_file_from_google_drive("1x", tmp_path, md5="0" * 32)
