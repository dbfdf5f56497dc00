"""_download.fetch: whole files or none, from servers that break off, lie, redirect and refuse."""

import hashlib
import io
import re
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.error import HTTPError, URLError

import pytest

from yesca import _download
from yesca._download import ChecksumError, fetch

CONTENT = bytes(range(256)) * 2000  # 512 000 bytes
MD5, SHA = hashlib.md5(CONTENT).hexdigest(), hashlib.sha256(CONTENT).hexdigest()


class Handler(BaseHTTPRequestHandler):
    """Serves CONTENT as the name in the path says, and writes down what was asked for."""

    protocol_version = "HTTP/1.1"

    def do_GET(self):
        server = self.server
        server.asked.append(dict(self.headers))
        self.close_connection = True
        name = self.path.strip("/")
        if name == "moved":
            self.send_response(302)
            self.send_header("Location", "/plain")
            self.send_header("Content-Length", "0")
            self.end_headers()
        elif name == "always_a_part":
            self.send_response(206)
            self.send_header("Content-Range", f"bytes 0-9/{len(CONTENT)}")
            self.send_header("Content-Length", "10")
            self.end_headers()
            self.wfile.write(CONTENT[:10])
        elif name == "missing" or (name == "tired" and len(server.asked) < 3):
            self.send_error(404 if name == "missing" else 503)
        else:
            self.give(name, server)

    def give(self, name, server):
        span = re.fullmatch(r"bytes=(\d+)-", self.headers.get("Range") or "")
        start = int(span[1]) if span and name != "no_ranges" else 0
        if start >= len(CONTENT):
            self.send_response(416)
            self.send_header("Content-Range", f"bytes */{len(CONTENT)}")
            self.send_header("Content-Length", "0")
            self.end_headers()
            return
        self.send_response(206 if start else 200)
        if start and name == "other_part":
            start += 7
        if start:
            self.send_header("Content-Range", f"bytes {start}-{len(CONTENT) - 1}/{len(CONTENT)}")
        if name != "no_length":
            self.send_header("Content-Length", str(len(CONTENT) - start))
        self.send_header("ETag", '"first"')
        self.end_headers()
        part = CONTENT[start:]
        if name in ("breaks", "no_ranges", "other_part") and len(server.asked) < 3:
            part = part[:200_000]  # of the length that was promised
        if name == "dead":
            part = part[:100_000] if len(server.asked) == 1 else b""
        if name == "slow":
            time.sleep(0.3)
        self.wfile.write(part)

    def log_message(self, *arguments):
        pass


@pytest.fixture
def server():
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.asked = []
    server.url = f"http://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture(autouse=True)
def no_proxies(monkeypatch):
    monkeypatch.setenv("no_proxy", "*")
    monkeypatch.setattr(_download.time, "sleep", lambda seconds: None)


def left(folder):
    return sorted(path.name for path in folder.iterdir())


@pytest.mark.parametrize("checksum, algorithm", [
    (None, "md5"), (MD5, "md5"), (MD5.upper(), "md5"), (SHA, "sha256"), (SHA[:8], "prefix")])
def test_a_file_comes_whole(server, tmp_path, checksum, algorithm):
    path = fetch(f"{server.url}/plain", tmp_path / "new" / "a.bin", checksum=checksum,
                 algorithm=algorithm, progress=False)
    assert path.read_bytes() == CONTENT
    assert left(path.parent) == ["a.bin"]
    assert server.asked[0]["User-Agent"] == _download.AGENT


def test_what_is_there_and_right_is_not_fetched_again(server, tmp_path):
    path = tmp_path / "a.bin"
    for _ in range(2):
        fetch(f"{server.url}/plain", str(path), checksum=MD5, progress=False)
    assert len(server.asked) == 1
    path.write_bytes(CONTENT[:-1])
    fetch(f"{server.url}/plain", path, checksum=MD5, progress=False)
    assert path.read_bytes() == CONTENT and len(server.asked) == 2
    fetch(f"{server.url}/plain", path, progress=False)  # no checksum says that it is right
    assert len(server.asked) == 3


def test_a_broken_connection_is_taken_up_where_it_stopped(server, tmp_path):
    path = fetch(f"{server.url}/breaks", tmp_path / "a.bin", progress=False)
    assert path.read_bytes() == CONTENT
    assert [asked.get("Range") for asked in server.asked] == [
        None, "bytes=200000-", "bytes=400000-"]
    assert server.asked[1]["If-Range"] == '"first"'


def test_a_server_without_ranges_starts_over(server, tmp_path):
    path = fetch(f"{server.url}/no_ranges", tmp_path / "a.bin", checksum=MD5, progress=False)
    assert path.read_bytes() == CONTENT and len(server.asked) == 3


def test_a_server_that_sends_another_part_is_asked_for_the_whole(server, tmp_path):
    path = fetch(f"{server.url}/other_part", tmp_path / "a.bin", progress=False)
    assert path.read_bytes() == CONTENT
    assert [asked.get("Range") for asked in server.asked] == [None, "bytes=200000-", None]


def test_a_server_that_always_sends_the_same_part_is_given_up(server, tmp_path):
    with pytest.raises(URLError, match="another part of the file"):
        fetch(f"{server.url}/always_a_part", tmp_path / "a.bin", progress=False)
    assert len(server.asked) < 10 and not left(tmp_path)


def test_a_later_call_goes_on(server, tmp_path):
    path = tmp_path / "a.bin"
    with pytest.raises(URLError, match="100000 bytes have come"):
        fetch(f"{server.url}/dead", path, checksum=MD5, progress=False)
    assert left(tmp_path) == ["a.bin.part"]
    server.asked.clear()
    fetch(f"{server.url}/plain", path, checksum=MD5, progress=False)
    assert path.read_bytes() == CONTENT and left(tmp_path) == ["a.bin"]
    assert server.asked[0]["Range"] == "bytes=100000-"


def test_nothing_is_left_of_a_part_that_no_checksum_guards(server, tmp_path):
    with pytest.raises(URLError, match="the connection broke off"):
        fetch(f"{server.url}/dead", tmp_path / "a.bin", progress=False)
    assert left(tmp_path) == []


@pytest.mark.parametrize("part", [b"rubbish", CONTENT + b"more", CONTENT])
def test_a_part_of_something_else_is_thrown_away(server, tmp_path, part):
    (tmp_path / "a.bin.part").write_bytes(part)
    path = fetch(f"{server.url}/plain", tmp_path / "a.bin", checksum=MD5, progress=False)
    assert path.read_bytes() == CONTENT
    assert (part == CONTENT) == (len(server.asked) == 1)  # it was complete already
    (tmp_path / "a.bin.part").write_bytes(CONTENT[:99])
    path.unlink()
    server.asked.clear()
    fetch(f"{server.url}/plain", path, checksum=MD5, progress=False, resume=False)
    assert [asked.get("Range") for asked in server.asked] == [None]


@pytest.mark.parametrize("checksum, algorithm", [
    ("0" * 32, "md5"), ("0" * 64, "sha256"), ("00000000", "prefix"), (SHA[:8], "sha256")])
def test_a_wrong_file_is_refused(server, tmp_path, checksum, algorithm):
    path = tmp_path / "a.bin"
    path.write_bytes(b"what was there")
    with pytest.raises(ChecksumError, match="invalid hash value .expected") as raised:
        fetch(f"{server.url}/plain", path, checksum=checksum, algorithm=algorithm, progress=False)
    assert isinstance(raised.value, RuntimeError) and raised.value.expected == checksum
    assert path.read_bytes() == b"what was there" and left(tmp_path) == ["a.bin"]


def test_servers_that_refuse(server, tmp_path):
    with pytest.raises(HTTPError, match="404.*missing") as raised:
        fetch(f"{server.url}/missing", tmp_path / "a.bin", progress=False)
    assert raised.value.code == 404 and len(server.asked) == 1
    assert left(tmp_path) == []
    server.asked.clear()
    assert fetch(f"{server.url}/tired", tmp_path / "a.bin", progress=False).is_file()
    assert len(server.asked) == 3


def test_redirects(server, tmp_path):
    assert fetch(f"{server.url}/moved", tmp_path / "a", progress=False).read_bytes() == CONTENT
    with pytest.raises(RecursionError, match="exceeded 0 redirects"):
        fetch(f"{server.url}/moved", tmp_path / "b", progress=False, redirects=False)


def test_no_network(server, tmp_path):
    server_url = server.url
    server.shutdown()
    server.socket.close()
    with pytest.raises(URLError, match=f"cannot fetch {server_url}/plain: .*refused"):
        fetch(f"{server_url}/plain", tmp_path / "a.bin", progress=False)
    with pytest.raises(URLError, match="cannot fetch http://host.invalid/a"):
        fetch("http://host.invalid/a", tmp_path / "a.bin", progress=False)
    assert left(tmp_path) == []


def test_files_and_slips(tmp_path):
    source = tmp_path / "a b.bin"
    source.write_bytes(CONTENT)
    assert fetch(source.as_uri(), tmp_path / "c", checksum=MD5,
                 progress=False).read_bytes() == CONTENT
    with pytest.raises(URLError, match="No such file"):
        fetch((tmp_path / "none").as_uri(), tmp_path / "d", progress=False)
    with pytest.raises(ValueError, match="unknown url type"):
        fetch("no/url", tmp_path / "d", progress=False)
    with pytest.raises(ValueError, match="unknown algorithm 'sha'"):
        fetch(source.as_uri(), tmp_path / "d", algorithm="sha", progress=False)
    with pytest.raises(IsADirectoryError, match="name the file"):
        fetch(source.as_uri(), tmp_path, progress=False)
    assert left(tmp_path) == ["a b.bin", "c"]


def test_two_at_once_fetch_it_once(server, tmp_path):
    def work():
        done.append(fetch(f"{server.url}/slow", tmp_path / "a.bin", checksum=MD5, progress=False))

    done = []
    threads = [threading.Thread(target=work) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(done) == 3 and len(server.asked) == 1
    assert left(tmp_path) == ["a.bin"]


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.mark.parametrize("stream, lines", [(Terminal, 2), (io.StringIO, 0)])
def test_the_bar(server, tmp_path, monkeypatch, stream, lines):
    monkeypatch.setattr(sys, "stderr", stream())
    fetch(f"{server.url}/breaks", tmp_path / "a.bin")
    shown = sys.stderr.getvalue()
    assert shown.count("\r") >= lines and shown.count("\n") == 1
    last = shown.rstrip("\n").rpartition("\r")[2]
    assert re.fullmatch(
        r"a\.bin \[#{24}\] 100 %  512\.0 kB of 512\.0 kB  \d.*B/s *", last)


def test_the_bar_without_a_length_and_without_wanting_one(server, tmp_path, capsys):
    assert fetch(f"{server.url}/no_length", tmp_path / "a.bin").read_bytes() == CONTENT
    assert re.fullmatch(r"a\.bin  512\.0 kB  \d.*/s\n", capsys.readouterr().err)
    fetch(f"{server.url}/plain", tmp_path / "b.bin", progress=False)
    with pytest.raises(HTTPError):
        fetch(f"{server.url}/missing", tmp_path / "c.bin")
    assert capsys.readouterr().err == ""
