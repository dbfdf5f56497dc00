"""`torch.hub`: weights by their address, models by a folder or a repository."""

import hashlib
import io
import threading
import urllib.error
import zipfile
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

import yesca as torch
from yesca import _hub_repositories as repositories
from yesca.base import settings

HUBCONF = '''
dependencies = ["json"]
import helper_of_hubconf

def linear(width, scale=1):
    """A layer."""
    return helper_of_hubconf.layer(width, scale)

def _inside():
    pass
'''
HELPER = "def layer(width, scale):\n    return [width * scale] * 2\n"


@pytest.fixture
def home(tmp_path, monkeypatch):
    monkeypatch.setattr(torch.hub, "_folder", str(tmp_path / "home"))
    return tmp_path / "home"


@pytest.fixture
def repository(tmp_path):
    folder = tmp_path / "repository"
    folder.mkdir()
    (folder / "hubconf.py").write_text(HUBCONF)
    (folder / "helper_of_hubconf.py").write_text(HELPER)
    return str(folder)


class Site(BaseHTTPRequestHandler):
    """Answers with `pages`, by path; anything else is not found."""

    def __init__(self, pages, asked, *arguments):
        self.pages, self.asked = pages, asked
        super().__init__(*arguments)

    def do_GET(self):
        self.asked.append(self.path)
        content = self.pages.get(self.path)
        self.send_response(404 if content is None else 200)
        self.send_header("Content-Length", str(len(content or b"")))
        self.end_headers()
        self.wfile.write(content or b"")

    def log_message(self, *arguments):
        """Nothing."""


@pytest.fixture
def site(monkeypatch):
    pages, asked = {}, []
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Site, pages, asked))
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    server.pages, server.asked = pages, asked
    server.url = f"http://127.0.0.1:{server.server_port}"
    monkeypatch.setattr(repositories, "SITE", server.url)
    monkeypatch.setattr(repositories, "API", server.url + "/api")
    yield server
    server.shutdown()
    server.server_close()
    thread.join()


def weights():
    file = io.BytesIO()
    torch.save({"w": torch.arange(3.0)}, file)
    return file.getvalue()


def test_folders(tmp_path, monkeypatch):
    monkeypatch.setattr(torch.hub, "_folder", None)
    monkeypatch.setenv("TORCH_HOME", str(tmp_path))
    assert torch.hub.get_dir() == str(tmp_path / "hub")
    torch.hub.set_dir(tmp_path / "x")
    assert torch.hub.get_dir() == str(tmp_path / "x")


def test_weights_by_their_address(home, site, capsys):
    content = weights()
    name = f"model-{hashlib.sha256(content).hexdigest()[:8]}.pth"
    site.pages[f"/{name}"] = content
    load = partial(torch.hub.load_state_dict_from_url, f"{site.url}/{name}", progress=False)
    for _ in range(2):
        state = load(check_hash=True, weights_only=True, map_location="cpu")
        assert state["w"].tolist() == [0.0, 1.0, 2.0]
    assert site.asked == [f"/{name}"] and (home / "checkpoints" / name).read_bytes() == content
    assert capsys.readouterr().err.count("Downloading: ") == 1
    load(model_dir=str(home / "other"), file_name="a.pt")
    assert (home / "other" / "a.pt").exists()


def test_weights_that_are_others(home, site):
    site.pages["/model-00000000.pth"] = weights()
    with pytest.raises(RuntimeError, match=r'invalid hash value \(expected "00000000", got "'):
        torch.hub.load_state_dict_from_url(f"{site.url}/model-00000000.pth", progress=False,
                                           check_hash=True)
    assert not (home / "checkpoints" / "model-00000000.pth").exists()
    with pytest.raises(urllib.error.HTTPError):
        torch.hub.download_url_to_file(f"{site.url}/none.pth", str(home / "none"), progress=False)


def test_weights_in_an_archive(home, tmp_path):
    with zipfile.ZipFile(tmp_path / "old.zip", "w") as archive:
        archive.writestr("inside.pth", weights())
    state = torch.hub.load_state_dict_from_url((tmp_path / "old.zip").as_uri(), progress=False)
    assert state["w"].tolist() == [0.0, 1.0, 2.0]


@pytest.mark.parametrize("name, message", [
    ("../../out.pth", "contains directory traversal"), ("a/../../out.pth", "directory traversal"),
    ("/out.pth", "has absolute path"), ("C:\\out.pth", "has absolute path"),
])
def test_an_archive_that_leads_out_of_its_folder(tmp_path, name, message):
    file = io.BytesIO()
    torch.save({"a": torch.ones(1)}, file)
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
        archive.writestr(name, file.getvalue())
    with pytest.raises(ValueError, match=message):
        torch.hub.load_state_dict_from_url((tmp_path / "a.zip").as_uri(), str(tmp_path / "b"),
                                           progress=False)
    assert [path.name for path in (tmp_path / "b").iterdir()] == ["a.zip"]


def test_models_of_a_folder(repository):
    made = torch.hub.load(repository, "linear", 2, source="local", scale=3)
    assert made == [6, 6]
    with pytest.raises(RuntimeError, match="Cannot find callable none in hubconf"):
        torch.hub.load(repository, "none", source="local")
    with pytest.raises(ValueError, match='Unknown source: "web". Allowed values: "github"'):
        torch.hub.load(repository, "linear", source="web")
    with pytest.raises(ValueError, match="model should be a string of function name"):
        torch.hub.load(repository, 3, source="local")
    with pytest.raises(FileNotFoundError, match="no hubconf.py"):
        torch.hub.load(repository + "/none", "linear", source="local")


def test_packages_that_lack(repository):
    with open(repository + "/hubconf.py", "w") as file:
        file.write('dependencies = ["json", "a_package_that_lacks"]\n')
    with pytest.raises(RuntimeError, match="Missing dependencies: a_package_that_lacks"):
        torch.hub.load(repository, "linear", source="local")


@pytest.fixture
def published(site):
    """The repository as GitHub gives it."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("someone-models-0123/hubconf.py", HUBCONF)
        archive.writestr("someone-models-0123/helper_of_hubconf.py", HELPER)
    site.pages["/someone/models/zipball/main"] = file.getvalue()
    site.pages["/someone/models/tree/main/"] = b""
    one = b'[{"name": "main", "commit": {"sha": "0123"}}]'
    site.pages["/api/repos/someone/models/branches?per_page=100&page=1"] = one
    site.pages["/api/repos/someone/models/tags?per_page=100&page=1"] = b"[]"
    return site


def test_models_of_a_repository(home, published, monkeypatch, capsys):
    answers = ["", "maybe", "y"]
    monkeypatch.setattr("builtins.input", lambda question: answers.pop(0))
    with pytest.raises(Exception, match="Untrusted repository."):
        torch.hub.load("someone/models", "linear", 2)
    with pytest.raises(ValueError, match="Unrecognized response maybe."):
        torch.hub.load("someone/models", "linear", 2)
    assert torch.hub.load("someone/models", "linear", 2) == [2, 2]
    assert (home / "trusted_list").read_text() == "someone_models\n"
    assert torch.hub.list("someone/models:main") == ["linear"]
    assert torch.hub.help("someone/models", "linear") == "A layer."
    assert published.asked.count("/someone/models/zipball/main") == 1
    assert "Using cache found in " in capsys.readouterr().err
    assert torch.hub.load("someone/models", "linear", 1, force_reload=True, verbose=False) == [1, 1]
    assert published.asked.count("/someone/models/zipball/main") == 2


def test_branches_of_forks(home, published):
    with pytest.warns(UserWarning, match="untrusted repository"):
        assert torch.hub.list("someone/models", trust_repo=None) == ["linear"]
    with pytest.raises(ValueError, match="Cannot find other in .*/someone/models. If it's a"):
        torch.hub.load("someone/models:other", "linear", trust_repo=True)
    with pytest.raises(ValueError, match="names no repository"):
        torch.hub.load("models", "linear")


def test_archives_stay_in_their_folder(tmp_path):
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
        archive.writestr("top/../../outside.py", "")
    with pytest.raises(ValueError, match="outside of its folder"):
        repositories.unpack(tmp_path / "a.zip", str(tmp_path / "b"))


def test_tokens_are_not_shown(monkeypatch):
    monkeypatch.setenv("GITHUB_TOKEN", "s3cr3t")
    assert settings.GITHUB_TOKEN.get() == "s3cr3t" and "s3cr3t" not in settings.table()
