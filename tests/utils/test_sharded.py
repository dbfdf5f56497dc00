"""State in several files with an index."""

import json

import pytest

import yesca as torch
from yesca.utils.sharded import load_sharded, load_sharded_model, save_sharded

STATE = {"a": torch.arange(6.0).view(2, 3), "b": torch.ones(4, dtype=torch.bfloat16),
         "c": torch.tensor(True), "d": torch.zeros(0, 3), "e": torch.arange(6).view(2, 3).t()}


def same(one, other):
    assert set(one) == set(other)
    for name, value in one.items():
        assert torch.equal(value, other[name]) and value.dtype is other[name].dtype, name


@pytest.mark.parametrize("safe", [True, False])
@pytest.mark.parametrize(("limit", "count"), [("1GB", 1), (24, 4), (1, 5)])
def test_there_and_back(tmp_path, safe, limit, count):
    files = save_sharded(STATE, tmp_path / "x", max_shard_size=limit, safe=safe)
    stem = ("model", "safetensors") if safe else ("pytorch_model", "bin")
    assert len(files) == (1 if count == 1 else len(files))
    if count == 1:
        assert files == [f"{stem[0]}.{stem[1]}"]
    else:
        assert files[-1] == f"{stem[0]}.{stem[1]}.index.json"
        index = json.loads((tmp_path / "x" / files[-1]).read_text())
        assert index["metadata"]["total_size"] == 24 + 8 + 1 + 48
        assert set(index["weight_map"].values()) == set(files[:-1])
        same(STATE, load_sharded(tmp_path / "x" / files[-1]))
    same(STATE, load_sharded(tmp_path / "x"))


def test_the_package_reads_our_files(tmp_path):
    numpy = pytest.importorskip("safetensors.numpy", reason="safetensors is not installed")
    safe_open = pytest.importorskip("safetensors").safe_open
    save_sharded({k: v for k, v in STATE.items() if k != "b"}, tmp_path, metadata={"by": "us"})
    path = tmp_path / "model.safetensors"
    read = numpy.load_file(path)
    assert read["e"].tolist() == STATE["e"].tolist() and read["d"].shape == (0, 3)
    with safe_open(path, framework="np") as file:
        assert file.metadata() == {"format": "pt", "by": "us"}


def test_models(tmp_path):
    def make():
        return torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.BatchNorm1d(4))

    model, other = make(), make()
    save_sharded(model.state_dict(), tmp_path, max_shard_size=40)
    assert load_sharded_model(other, tmp_path) == ([], [])
    same(model.state_dict(), other.state_dict())
    wider = torch.nn.Sequential(*make(), torch.nn.Linear(1, 1))
    with pytest.raises(RuntimeError, match=r"missing keys \['2.bias', '2.weight'\]"):
        load_sharded_model(wider, tmp_path)
    assert load_sharded_model(wider, tmp_path, strict=False) == (["2.bias", "2.weight"], [])


@pytest.mark.parametrize(("index", "kind", "message"), [
    ("[]", ValueError, "is no index"), ("{", ValueError, "is no index"),
    ('{"weight_map": {"a": "../x.bin"}}', ValueError, "not one of its folder"),
    ('{"weight_map": {"a": 3}}', ValueError, "not one of its folder"),
    ('{"weight_map": {"a": "none.bin"}}', FileNotFoundError, "none.bin, which is not beside it"),
    ('{"weight_map": {"z": "have.bin"}}', RuntimeError, "lacks z, which the index promises"),
])
def test_broken_indices(tmp_path, index, kind, message):
    (tmp_path / "pytorch_model.bin.index.json").write_text(index)
    torch.save({"a": torch.ones(1)}, tmp_path / "have.bin")
    with pytest.raises(kind, match=message):
        load_sharded(tmp_path)
    with pytest.raises(FileNotFoundError, match="has none of"):
        (tmp_path / "empty").mkdir()
        load_sharded(tmp_path / "empty")
    with pytest.raises(ValueError, match="needs a byte"):
        save_sharded({}, tmp_path, max_shard_size=0)


@pytest.mark.parametrize("safe", [True, False])
def test_a_smaller_state_is_not_hidden_by_an_earlier_index(tmp_path, safe):
    save_sharded({"a": torch.zeros(3), "b": torch.zeros(3)}, tmp_path, max_shard_size=12, safe=safe)
    save_sharded({"a": torch.ones(3)}, tmp_path, safe=safe)
    found = load_sharded(tmp_path)
    assert list(found) == ["a"]
    assert found["a"].tolist() == [1, 1, 1]


@pytest.mark.parametrize("limit", [12, 100])
def test_files_that_would_be_hidden_are_not_written(tmp_path, limit):
    save_sharded({"a": torch.zeros(3), "b": torch.zeros(3)}, tmp_path, max_shard_size=limit)
    with pytest.raises(FileExistsError, match="is read before files of torch.save"):
        save_sharded({"a": torch.ones(3)}, tmp_path, safe=False)
    assert load_sharded(tmp_path)["a"].tolist() == [0, 0, 0]


@pytest.mark.parametrize("name", ["__metadata__", 3])
def test_names_that_safetensors_lacks(tmp_path, name):
    with pytest.raises(ValueError, match="cannot hold a tensor of the name"):
        save_sharded({"a": torch.zeros(2), name: torch.zeros(2)}, tmp_path)
    assert not list(tmp_path.iterdir())
