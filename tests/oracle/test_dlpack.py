"""Memory shared with PyTorch itself, both ways, and NumPy's operations on tensors of both."""

import operator

import numpy as np
import pytest
import torch

import yesca

#: NumPy warns of PyTorch's methods for arrays, which are of its first version.
pytestmark = [pytest.mark.oracle, pytest.mark.filterwarnings("ignore::DeprecationWarning")]
KINDS = "bool int8 int16 int32 int64 uint8 uint16 float16 bfloat16 float32 complex64".split()


@pytest.mark.parametrize("kind", KINDS)
def test_dlpack_with_torch(kind):
    ours = yesca.arange(6).reshape(2, 3).to(getattr(yesca, kind)).t()
    theirs = torch.from_dlpack(ours)
    assert theirs.dtype is getattr(torch, kind) and theirs.stride() == ours.stride()
    assert theirs.tolist() == ours.tolist() and theirs.data_ptr() == ours.data_ptr()
    back = yesca.from_dlpack(theirs)
    back[0, 0] = 1
    assert theirs[0, 0].item() == 1 and ours[0, 0].item() == 1
    assert yesca.tensor(torch.ones(2, dtype=getattr(torch, kind))).dtype is ours.dtype


def outcome(function, one, other):
    """The type, dtype and value that an operation gives; no value where it is refused."""
    try:
        made = function(one, other)
    except (TypeError, RuntimeError) as error:
        return type(error).__name__
    return type(made).__name__, str(getattr(made, "dtype", "")), np.asarray(made).tolist()


ARRAYS = [np.array([3.0, 4.0]), np.array([3.0, 4.0], np.float32), np.array([3, 4]),
          np.array([3, 4], np.int32), np.array(2.0), np.float64(2), np.float32(2), np.int64(2)]


@pytest.mark.parametrize("name", ["add", "sub", "mul", "truediv", "floordiv", "mod", "pow"])
@pytest.mark.parametrize("kind", ["float32", "int64", "float16", "complex64", "uint8"])
def test_tensors_before_arrays(name, kind):
    function = getattr(operator, name)
    for array in ARRAYS:
        results = [outcome(function, library.ones(2, dtype=getattr(library, kind)), array)
                   for library in (yesca, torch)]
        assert results[0] == results[1], array


@pytest.mark.parametrize("name", "sin exp sqrt negative absolute floor isnan square rint".split())
def test_functions_of_numpy(name):
    for kind in ("float32", "int64", "float16", "bool"):
        results = [outcome(lambda x, _: getattr(np, name)(x),
                           library.ones(2, dtype=getattr(library, kind)), None)
                   for library in (yesca, torch)]
        assert results[0] == results[1], kind
