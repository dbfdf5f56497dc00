"""Programs that `import safetensors.torch`: the package works on yesca's tensors."""

import pytest

pytest.importorskip("safetensors", reason="the package safetensors is not installed")

PROGRAM = '''
import sys, torch
import safetensors.torch as st
from safetensors import safe_open

folder = sys.argv[1]
kinds = "float64 float32 float16 bfloat16 int64 int32 int16 int8 uint8 uint16 uint32 uint64 " \\
    "bool complex64"
state = {k: torch.arange(6).reshape(2, 3).to(getattr(torch, k)) for k in kinds.split()}
state |= {"empty": torch.zeros(0, 3), "number": torch.tensor(2.5)}

def same(other):
    assert set(other) == set(state)
    for name, value in state.items():
        assert torch.equal(value, other[name]) and value.dtype is other[name].dtype, name

st.save_file(state, folder + "/a.safetensors", metadata={"format": "pt"})
same(st.load_file(folder + "/a.safetensors"))
same(st.load_file(folder + "/a.safetensors", device="cpu"))
same(st.load(st.save(state)))
same(torch.load(folder + "/a.safetensors"))
with safe_open(folder + "/a.safetensors", framework="pt", device="cpu") as file:
    assert file.metadata() == {"format": "pt"} and set(file.keys()) == set(state)
    part = file.get_slice("float32")
    assert part.get_shape() == [2, 3] and part.get_dtype() == "F32"
    assert torch.equal(part[:, 1:], state["float32"][:, 1:])
    mapped = file.get_tensor("float32")
    mapped[0, 0] = 99
same(st.load_file(folder + "/a.safetensors"))

class Tied(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = torch.nn.Linear(3, 3), torch.nn.Linear(3, 3)
        self.b.weight = self.a.weight

one, other = Tied(), Tied()
try:
    st.save_file(one.state_dict(), folder + "/b.safetensors")
except RuntimeError as error:
    assert "share memory" in str(error)
else:
    raise AssertionError("tied weights were saved twice")
st.save_model(one, folder + "/b.safetensors")
missing, unexpected = st.load_model(other, folder + "/b.safetensors")
assert not missing and not unexpected and torch.equal(one.b.weight, other.b.weight)
try:
    st.save_file({"x": torch.ones(2, 3).t()}, folder + "/c.safetensors")
except ValueError as error:
    assert "non contiguous" in str(error)
else:
    raise AssertionError("a transposed tensor was saved")
st.save_file({"x": state["float64"][1]}, folder + "/c.safetensors")
assert st.load_file(folder + "/c.safetensors")["x"].tolist() == [3.0, 4.0, 5.0]
print("done")
'''


def test_the_package_on_our_tensors(run_python, tmp_path):
    done = run_python("-m", "yesca", "-c", PROGRAM, str(tmp_path))
    assert done.stdout == "done\n" and not done.stderr
