"""`save` and `load`, and files that PyTorch 2.13 has written."""

import copy
import io
import pickle
import sys
import zipfile
from collections import Counter, OrderedDict
from pathlib import Path

import pytest

import yesca as torch

FIXTURES = Path(__file__).parent / "fixtures"


def roundtrip(obj, **options):
    file = io.BytesIO()
    torch.save(obj, file)
    file.seek(0)
    return torch.load(file, **options)


def check_contents(loaded):
    """What tests/fixtures/make_torch_fixtures.py puts into its files."""
    first, second = loaded["views"]
    assert first.tolist() == [2, 3, 4, 5] and second.tolist() == [4, 5, 6, 7, 8, 9]
    assert (first.storage_offset(), second.storage_offset()) == (2, 4)
    first[2] = 99.0
    assert second[0].item() == 99.0
    assert loaded["transposed"].stride() == (1, 3)
    assert loaded["transposed"].tolist() == [[0, 3], [1, 4], [2, 5]]
    assert loaded["expanded"].stride() == (0, 0)
    assert tuple(loaded["empty"].shape) == (0, 3)
    assert loaded["scalar"].item() == 2.5 and loaded["scalar"].dtype is torch.float64
    assert type(loaded["parameter"]) is torch.nn.Parameter and loaded["parameter"].requires_grad
    assert not loaded["frozen"].requires_grad
    assert type(loaded["dtypes"]) is OrderedDict
    for name, tensor in loaded["dtypes"].items():
        assert str(tensor.dtype) == f"torch.{name}"
        assert tensor.tolist() == ([False, True, True] if name == "bool" else [0, 1, 2])
    assert loaded["plain"] == (1, -5, 70000, 10**30, 2.5, None, True, "é", b"\xff", {1, 2}, 1 + 2j)
    assert loaded["nested"]["state"][0]["step"].item() == 3.0
    assert loaded["dtype"] is torch.float32
    assert loaded["size"] == torch.Size([2, 3]) and type(loaded["size"]) is torch.Size
    assert loaded["device"] == torch.device("cpu")


@pytest.mark.parametrize("weights_only", [True, False])
@pytest.mark.parametrize("name", ["torch_2_13_state_dict.pt", "torch_2_13_legacy.pt"])
def test_files_of_pytorch(name, weights_only):
    check_contents(torch.load(FIXTURES / name, weights_only=weights_only))


def test_mapped_file_of_pytorch(tmp_path):
    path = tmp_path / "copy.pt"
    path.write_bytes((FIXTURES / "torch_2_13_state_dict.pt").read_bytes())
    before = path.read_bytes()
    check_contents(torch.load(path, mmap=True))
    assert path.read_bytes() == before  # writes stay in memory


def test_module_of_pytorch():
    model = torch.load(FIXTURES / "torch_2_13_module.pt", weights_only=False)
    assert model(torch.tensor([1.0, -2.0])).tolist() == [1.0, 0.0]


def test_files_come_out_as_pytorch_writes_them():
    loaded = torch.load(FIXTURES / "torch_2_13_state_dict.pt")
    for legacy in (False, True):
        file = io.BytesIO()
        if legacy:
            del loaded["dtypes"]["uint16"]
        torch.save(loaded, file, _use_new_zipfile_serialization=not legacy)
        file.seek(0)
        check_contents(torch.load(file))
        loaded["views"][0][2] = 4.0


def test_container_is_pytorchs_byte_for_byte(tmp_path):
    path = tmp_path / "torch_2_13_state_dict.pt"
    original = (FIXTURES / path.name).read_bytes()
    torch.save(torch.load(FIXTURES / path.name), path)
    written = path.read_bytes()
    assert len(written) == len(original)
    # Only the id of the file (40 digits and two CRCs of them) may differ.
    different = sum(a != b for a, b in zip(written, original, strict=True))
    assert different <= 48


def test_a_storage_is_saved_whole_and_once():
    base = torch.arange(10.0)
    first, second = roundtrip([base[:2], base[1:]])
    assert first.untyped_storage().nbytes() == 40
    assert first.untyped_storage().data_ptr() == second.untyped_storage().data_ptr()
    file = io.BytesIO()
    torch.save(torch.zeros(100000)[:10].clone(), file)
    assert len(file.getvalue()) < 3000


def test_attributes_and_flags_survive():
    tensor = torch.ones(2, requires_grad=True)
    tensor.note = "kept"
    loaded = roundtrip(tensor)
    assert loaded.requires_grad and loaded.note == "kept"


def test_conjugate_views_survive():
    loaded = roundtrip(torch.tensor([1 + 2j]).conj())
    assert loaded.is_conj() and loaded.tolist() == [1 - 2j]


def test_one_storage_has_one_dtype():
    tensor = torch.ones(2)
    with pytest.raises(RuntimeError, match="view the same data as different types"):
        torch.save([tensor, tensor.view(torch.int32)], io.BytesIO())


def test_map_location():
    file = io.BytesIO()
    torch.save(torch.ones(2), file)

    def load(map_location):
        file.seek(0)
        return torch.load(file, map_location=map_location)

    seen = []
    assert load(lambda storage, place: seen.append((storage.nbytes(), place))).tolist() == [1, 1]
    assert seen == [(8, "cpu")]
    assert load("meta").device.type == "meta" and load({"cpu": "meta"}).device.type == "meta"
    assert load(torch.device("cpu")).tolist() == [1, 1]
    with pytest.raises(RuntimeError, match="deserialize object on a CUDA device"):
        load("cuda:0")
    with pytest.raises(RuntimeError, match="don't know how to restore data location"):
        load("elsewhere")


@pytest.mark.parametrize("legacy", [False, True])
@pytest.mark.parametrize("moved", [3, torch.zeros(3), "cpu"])
def test_map_location_gives_storages(legacy, moved):
    file = io.BytesIO()
    torch.save(torch.arange(3), file, _use_new_zipfile_serialization=not legacy)
    file.seek(0)
    with pytest.raises(TypeError, match="must return a torch.UntypedStorage or None, got"):
        torch.load(file, map_location=lambda storage, location: moved)


@pytest.mark.parametrize("name", ["\u00e9.pt", "\u65e5\u672c"]
                         + ["a\udcff.pt"] * (sys.platform == "linux"))
def test_names_of_other_letters(tmp_path, name):
    """The folder inside such files is `archive`, as in PyTorch's."""
    torch.save(torch.arange(3), tmp_path / name)
    assert torch.load(tmp_path / name).tolist() == [0, 1, 2]
    with zipfile.ZipFile(tmp_path / name) as file:
        assert file.namelist()[0] == "archive/data.pkl"


def test_wrong_files():
    with pytest.raises(AttributeError, match="expected 'f' to be string, path"):
        torch.save(1, 5)
    with pytest.raises(AttributeError, match="only torch.load from a file that is seekable"):
        torch.load(5)
    with pytest.raises(RuntimeError, match="Parent directory /nowhere/at/all does not exist"):
        torch.save(1, "/nowhere/at/all/x.pt")
    with pytest.raises(FileNotFoundError):
        torch.load("/nowhere/at/all/x.pt")
    with pytest.raises(ValueError, match="must be a file path"):
        torch.load(io.BytesIO(), mmap=True)
    with pytest.raises(EOFError):
        torch.load(io.BytesIO())
    with pytest.raises(pickle.UnpicklingError, match="Weights only load failed"):
        torch.load(io.BytesIO(b"hello world"))


class Settings:
    def __init__(self):
        self.rate = 0.5


def test_safe_globals():
    serialization = torch.serialization
    file = io.BytesIO()
    torch.save({"settings": Settings(), "counter": Counter("aab")}, file)
    file.seek(0)
    name = f"{Settings.__module__}.Settings"
    assert serialization.get_unsafe_globals_in_checkpoint(file) == [name]
    file.seek(0)
    with pytest.raises(pickle.UnpicklingError, match="was not an allowed global by default"):
        torch.load(file)
    file.seek(0)
    with serialization.safe_globals([Settings]):
        assert serialization.get_safe_globals() == [Settings]
        loaded = torch.load(file)
    assert loaded["settings"].rate == 0.5 and loaded["counter"] == Counter("aab")
    serialization.add_safe_globals([(Settings, "some.where.Else")])
    assert len(serialization.get_safe_globals()) == 1
    serialization.clear_safe_globals()
    assert serialization.get_safe_globals() == []


def test_skip_data():
    file = io.BytesIO()
    with torch.serialization.skip_data():
        torch.save(torch.ones(5), file)
    file.seek(0)
    assert torch.load(file).tolist() == [0.0] * 5


@pytest.mark.parametrize("protocol", [2, 3, 4, 5])
def test_protocols(protocol):
    file = io.BytesIO()
    torch.save({"a": torch.arange(3)}, file, pickle_protocol=protocol)
    file.seek(0)
    assert torch.load(file, weights_only=False)["a"].tolist() == [0, 1, 2]


def test_safetensors(tmp_path):
    header = b'{"x":{"dtype":"I16","shape":[2],"data_offsets":[0,4]},"__metadata__":{}}'
    path = tmp_path / "x.safetensors"
    path.write_bytes(len(header).to_bytes(8, "little") + header + b"\x01\x00\x02\x00")
    loaded = torch.load(path)
    assert loaded["x"].tolist() == [1, 2] and loaded["x"].dtype is torch.int16
    path.write_bytes(len(header).to_bytes(8, "little") + header + b"\x01\x00")
    with pytest.raises(RuntimeError, match="outside of the file"):
        torch.load(path)


NARROW = {"F8_E4M3": "float8_e4m3fn", "F8_E5M2": "float8_e5m2", "F8_E8M0": "float8_e8m0fnu",
          "F8_E4M3FNUZ": "float8_e4m3fnuz", "F8_E5M2FNUZ": "float8_e5m2fnuz"}


def test_floats_of_8_bits(tmp_path):
    codes = torch.arange(256).to(torch.uint8)
    state = {kind: codes.view(getattr(torch, name)) for kind, name in NARROW.items()}
    state["packed"] = codes.view(torch.float4_e2m1fn_x2)
    state["part"] = state["F8_E5M2"][3:6]
    header = ",".join(f'"{kind}":{{"dtype":"{kind}","shape":[256],"data_offsets":'
                      f'[{256 * k},{256 * k + 256}]}}' for k, kind in enumerate(NARROW))
    path = tmp_path / "x.safetensors"
    path.write_bytes((len(header) + 2).to_bytes(8, "little") + f"{{{header}}}".encode()
                     + bytes(range(256)) * len(NARROW))
    old = io.BytesIO()
    torch.save(state, old, _use_new_zipfile_serialization=False)
    old.seek(0)
    for loaded in (roundtrip(state), torch.load(path), torch.load(old), copy.deepcopy(state),
                   pickle.loads(pickle.dumps(state))):
        for kind, value in loaded.items():
            assert value.dtype is state[kind].dtype
            assert torch.equal(value.view(torch.uint8), state[kind].view(torch.uint8))


def test_settings():
    from yesca.utils.serialization import config

    serialization = torch.serialization
    assert serialization.get_crc32_options() and config.save.compute_crc32
    serialization.set_crc32_options(False)
    try:
        assert roundtrip(torch.ones(2)).tolist() == [1, 1]
    finally:
        serialization.set_crc32_options(True)
    with pytest.raises(ValueError, match="set_default_mmap_options"):
        serialization.set_default_mmap_options(99)
    with pytest.raises(TypeError):
        serialization.set_default_load_endianness("little")
    big = serialization.LoadEndianness.BIG
    serialization.set_default_load_endianness(big)
    assert serialization.get_default_load_endianness() is big
    file = io.BytesIO()
    torch.save(torch.tensor([1], dtype=torch.int16), file, _disable_byteorder_record=True)
    file.seek(0)
    try:
        assert torch.load(file).tolist() == [256]
    finally:
        serialization.set_default_load_endianness(None)


def test_config():
    import yesca.utils.serialization.config as config

    serialization = torch.serialization
    with config.patch({"save.compute_crc32": False, "load.endianness": None}):
        assert not serialization.get_crc32_options() and not config.save.compute_crc32
    assert serialization.get_crc32_options()
    with config.patch("save.storage_alignment", 0), pytest.raises(ValueError, match="from 1 to"):
        torch.save(1, io.BytesIO())
    with config.patch("load.mmap", True), pytest.raises(ValueError, match="must be a file path"):
        roundtrip(1)
    with pytest.raises(AttributeError):
        config.save.color = 1


def test_other_protocols_are_said_to_be_unusual():
    file = io.BytesIO()
    torch.save([1], file, pickle_protocol=3)
    file.seek(0)
    with pytest.warns(UserWarning, match="Detected pickle protocol 3 in the checkpoint"):
        assert torch.load(file) == [1]


def test_files_that_take_little_at_a_time():
    class Slow(io.BytesIO):
        def write(self, data):
            return super().write(bytes(data[:100]))

        def read(self, size=-1):
            return super().read(min(size, 50) if size > 0 else size)

    file = Slow()
    torch.save(torch.arange(1000), file)
    assert torch.load(io.BytesIO(file.getvalue())).sum().item() == 499500


def test_weights_of_recurrent_layers_are_there_once():
    layer = roundtrip(torch.nn.GRU(2, 3), weights_only=False)
    assert "_flat_weights" not in vars(layer)
    assert all(map(lambda a, b: a is b, layer._flat_weights, layer.parameters()))


@pytest.mark.parametrize(("name", "kind"), [
    ("_utils\n_rebuild_nested_tensor", "nested"),
])
@pytest.mark.parametrize("weights_only", [True, False])
def test_tensors_that_are_not_there(name, kind, weights_only):
    from yesca._checkpoint.zip_writer import ZipWriter

    file = io.BytesIO()
    writer = ZipWriter(file, "archive")
    name = f"torch.{name}".replace(".\n", "\n")
    writer.write("data.pkl", b"\x80\x02c" + name.encode() + b"\n.")
    writer.close()
    file.seek(0)
    with pytest.raises(NotImplementedError, match=f"the file holds {kind} tensors"):
        torch.load(file, weights_only=weights_only)


def test_functions_that_libraries_call():
    from types import SimpleNamespace

    serialization = torch.serialization
    module = SimpleNamespace(__name__="m", __version__="1.x")
    with pytest.raises(RuntimeError, match="'m' module version string is malformed '1.x'"):
        serialization.check_module_version_greater_or_equal(module, (1, 2))
    with pytest.warns(UserWarning, match="continuing assuming"):
        assert serialization.check_module_version_greater_or_equal(module, (1, 2), False)
    old = SimpleNamespace(__name__="dill", __version__="0.2.9")
    with pytest.raises(ValueError, match="supports dill >= 0.3.1, but you have dill 0.2.9"):
        torch.save(1, io.BytesIO(), pickle_module=old)
    with pytest.raises(RuntimeError, match="deserialize object on a CUDA device"):
        serialization.validate_cuda_device("cuda:0")
    with pytest.raises(ValueError, match="Expected a cuda device, but got: cpu"):
        serialization.validate_cuda_device("cpu")
    with pytest.raises(RuntimeError, match="The HPU device module is not registered"):
        serialization.validate_hpu_device("hpu")
    assert serialization.normalize_storage_type(torch.FloatStorage) is torch.FloatStorage
    with serialization.mkdtemp() as folder:
        assert Path(folder).is_dir()
    assert not Path(folder).exists()


def test_tar_of_the_first_releases():
    import struct
    import tarfile

    from yesca._checkpoint.saving import StorageTable
    from yesca._checkpoint.pickling import pickler_class
    from yesca._checkpoint.storage_types import of_name

    def pickled(*objects):
        out = io.BytesIO()
        for obj in objects:
            pickler_class(pickle, StorageTable(True).persistent_id)(out, protocol=2).dump(obj)
        return out.getvalue()

    kind = of_name("FloatStorage")
    storages = pickled(1, (7, "cpu", kind)) + struct.pack("<q4f", 4, 1, 2, 3, 4)
    storages += pickled([(8, 7, 1, 2)])
    tensors = pickled(1, (9, 8, "FloatTensor")) + struct.pack("<2i3q", 1, 0, 2, 1, 0)
    parts = {"storages": storages, "tensors": tensors, "pickle": b"\x80\x02U\x019Q."}
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode="w:", format=tarfile.PAX_FORMAT) as archive:
        for name, data in parts.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(data)
            archive.addfile(entry, io.BytesIO(data))
    file.seek(0)
    assert torch.load(file, weights_only=False).tolist() == [2, 3]
    file.seek(0)
    with pytest.raises(RuntimeError, match="legacy .tar format"):
        torch.load(file)
