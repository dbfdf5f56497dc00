"""Files from one library to the other: every case in both directions, both formats, all options."""

import gzip
import io
import json
import pickle
import warnings

import pytest
import torch

import yesca
from tests.support.pickle_cases import cases, told

pytestmark = pytest.mark.oracle
ONLY_IN_NEW = {"dtype uint16", "dtype uint32", "dtype uint64"}  # PyTorch cannot read its own
#: What PyTorch's pickles find in its compiled module, and refuses by another name.
FUNCTIONS = {"functions", "builtin functions"}
NAMES = sorted(cases(yesca))


@pytest.fixture(scope="module")
def made():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = {}
        for module in (torch, yesca):
            module.manual_seed(0)
            found[module] = cases(module)
    return found


def saved(module, obj, **options):
    file = io.BytesIO()
    module.save(obj, file, **options)
    return file.getvalue()


def outcome(module, data, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            found = told(module, module.load(io.BytesIO(data), **options))
        except (pickle.UnpicklingError, AttributeError, RuntimeError) as error:
            return type(error).__name__
    return json.loads(json.dumps(found))


@pytest.mark.parametrize("zipped", [True, False])
@pytest.mark.parametrize("name", NAMES)
def test_both_directions(name, zipped, made):
    if not zipped and name in ONLY_IN_NEW:
        pytest.skip("PyTorch cannot read its own file")
    theirs = saved(torch, made[torch][name], _use_new_zipfile_serialization=zipped)
    ours = saved(yesca, made[yesca][name], _use_new_zipfile_serialization=zipped)
    for only in (True, False):
        assert outcome(yesca, theirs, weights_only=only) == outcome(torch, theirs,
                                                                    weights_only=only)
        if only and name in FUNCTIONS:
            continue
        assert outcome(torch, ours, weights_only=only) == outcome(yesca, ours, weights_only=only)


@pytest.mark.parametrize("protocol", [2, 3, 4, 5])
@pytest.mark.parametrize("name", ["views", "attributes", "module lstm", "plain", "optimizer"])
def test_protocols(name, protocol, made):
    for writer, reader in ((torch, yesca), (yesca, torch)):
        data = saved(writer, made[writer][name], pickle_protocol=protocol)
        assert outcome(reader, data, weights_only=False) == outcome(writer, data,
                                                                    weights_only=False)


@pytest.mark.parametrize("options", [
    {"save.storage_alignment": 1}, {"save.storage_alignment": 4096},
    {"save.compute_crc32": False},
])
def test_settings_of_saving(options, made, tmp_path):
    for writer, reader in ((torch, yesca), (yesca, torch)):
        with writer.utils.serialization.config.patch(options):
            writer.save(made[writer]["views"], tmp_path / "x.pt")
        for mapped in (False, True):
            loaded = reader.load(tmp_path / "x.pt", mmap=mapped)
            assert told(reader, loaded) == told(writer, made[writer]["views"])


@pytest.mark.parametrize("byteorder", [True, False])
@pytest.mark.parametrize("name", [n for n in NAMES if n.startswith("dtype ")])
def test_byte_orders(name, byteorder, made):
    big = torch.serialization.LoadEndianness.BIG, yesca.serialization.LoadEndianness.BIG
    data = saved(torch, made[torch][name], _disable_byteorder_record=not byteorder)
    told_by = []
    for module, order in zip((torch, yesca), big, strict=True):
        module.serialization.set_default_load_endianness(order)
        try:
            told_by.append(outcome(module, data))
        finally:
            module.serialization.set_default_load_endianness(None)
    assert json.dumps(told_by[0]) == json.dumps(told_by[1])


@pytest.mark.parametrize("place", [
    None, "cpu", "meta", torch.device("cpu"), torch.device("meta"), {"cpu": "meta"}, {"x": "y"},
    "cuda", "cuda:0", "cpu:0", "nowhere", {"cpu": "nowhere"}, "hpu",
])
def test_places(place, made):
    def converted(module):
        return module.device(str(place)) if isinstance(place, torch.device) else place

    def loaded(module):
        try:
            return told(module, module.load(io.BytesIO(data), map_location=converted(module)))
        except RuntimeError as error:
            return str(error).replace("yesca", "torch")

    data = saved(torch, made[torch]["views"])
    assert loaded(torch) == loaded(yesca)


def test_compressed_files(made, tmp_path):
    for writer, reader in ((torch, yesca), (yesca, torch)):
        for zipped in (True, False):
            with gzip.open(tmp_path / "x.gz", "wb") as file:
                writer.save(made[writer]["views"], file, _use_new_zipfile_serialization=zipped)
            with gzip.open(tmp_path / "x.gz", "rb") as file:
                assert told(reader, reader.load(file)) == told(writer, made[writer]["views"])


@pytest.mark.parametrize("name", NAMES)
def test_sizes_of_files(name, made):
    """Where the pickles are the same, files differ in nothing but their identification."""
    theirs, ours = saved(torch, made[torch][name]), saved(yesca, made[yesca][name])
    if name.startswith("dtype ") or name in ("views", "attributes", "plain", "conjugate"):
        assert len(theirs) == len(ours)
        assert sum(a != b for a, b in zip(theirs, ours, strict=True)) <= 60


def test_more_than_four_gigabytes(tmp_path):
    path = tmp_path / "large.pt"
    for writer, reader in ((torch, yesca), (yesca, torch)):
        with writer.serialization.skip_data():
            writer.save([writer.empty(3), writer.empty(5 << 28), writer.empty(3)], path)
        assert [list(x.shape) for x in reader.load(path, mmap=True)] == [[3], [5 << 28], [3]]
        path.unlink()


def test_public_names():
    assert set(torch.serialization.__all__) == set(yesca.serialization.__all__)
