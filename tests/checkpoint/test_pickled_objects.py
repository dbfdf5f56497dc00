"""Whole objects in files: what PyTorch wrote is read, and what is written has PyTorch's names."""

import io
import json
import pickle
import pickletools
import warnings
import zipfile
from pathlib import Path

import pytest

import yesca as torch
from tests.support.pickle_cases import cases, told

FIXTURES = Path(__file__).parents[1] / "fixtures"
FACTS = json.loads((FIXTURES / "pickles.json").read_text(encoding="utf-8"))
#: PyTorch cannot read its own files of these in the older format.
OURS_ONLY = {("dtype uint16", "old"), ("dtype uint32", "old"), ("dtype uint64", "old")}


@pytest.fixture(scope="module")
def files():
    with zipfile.ZipFile(FIXTURES / "torch_2_13_objects.zip") as archive:
        return {name: archive.read(name) for name in archive.namelist()}


@pytest.fixture(scope="module")
def made():
    torch.manual_seed(0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a typed storage is old
        return cases(torch)


def expected(name, ending, only):
    fact = FACTS[name][ending]
    fact = FACTS[name]["pt"] if fact == "the same" else fact
    return fact["False"] if fact[str(only)] == "the same" else fact[str(only)]


def outcome(file, only):
    try:
        return ["loaded", told(torch, torch.load(file, weights_only=only))]
    except (pickle.UnpicklingError, AttributeError, RuntimeError) as error:
        return [type(error).__name__]


@pytest.mark.parametrize("ending", ["pt", "old"])
@pytest.mark.parametrize("name", FACTS)
def test_files_of_pytorch(name, ending, files):
    for only in (True, False):
        found = outcome(io.BytesIO(files[f"{name}.{ending}"]), only)
        if (name, ending) in OURS_ONLY:
            assert found == expected(name, "pt", only)
        else:
            assert json.loads(json.dumps(found)) == expected(name, ending, only)


def written(obj, **options):
    file = io.BytesIO()
    torch.save(obj, file, **options)
    return file


@pytest.mark.parametrize("name", FACTS)
def test_names_in_files(name, made):
    with zipfile.ZipFile(written(made[name])) as archive:
        found = pickletools.genops(archive.read("archive/data.pkl"))
        names = {argument for code, argument, _ in found if code.name == "GLOBAL"}
    if name == "builtin functions":  # PyTorch's pickles look these up in its compiled module
        assert names == {"torch tanh", "torch add", "torch.nn.functional gelu", "torch.linalg norm"}
    elif name == "functions":
        assert names == {"torch.nn.functional softmax", "torch.nn.init zeros_", "torch is_tensor"}
    else:
        assert names <= set(FACTS[name]["names"])


@pytest.mark.parametrize("zipped", [True, False])
@pytest.mark.parametrize("name", FACTS)
def test_own_files(name, zipped, made):
    file = written(made[name], _use_new_zipfile_serialization=zipped)
    for only in (True, False):
        file.seek(0)
        ending = "pt" if zipped or (name, "old") in OURS_ONLY else "old"
        if name.startswith("optimizer ") or name in ("optimizer", "scheduler itself"):
            assert outcome(file, only)[0] == expected(name, ending, only)[0]
        else:
            found = json.loads(json.dumps(outcome(file, only)))
            assert found == expected(name, ending, only) or name == "builtin functions"
