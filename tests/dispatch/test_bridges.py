"""Tensors of numbers and arrays, and arrays of tensors: builtins beside their Python twins."""

import gc
import math
import re
import sys
import weakref

import numpy as np
import pytest

import yesca as torch
from yesca.base import frames
from yesca.dispatch import fast, from_data

ONE = torch.ones(1)  # loads what `fast` sets up
DTYPES = ("float32", "float64", "float16", "int64", "int32", "int16", "int8", "uint8", "uint16",
          "uint32", "uint64", "bool", "complex64", "complex128")
NUMBERS = [
    1.5, 3, True, -(2**63), 2**63 - 1, [1.0, 2.0], [1, 2], [True, False], [1, 2.5], [True, 2],
    [False, 2.5], (1, 2), [[1, 2], [3, 4]], [(1, 2.0), [3, 4]], [[[1]], [[2]]],
    [math.nan, math.inf],
    [1e300, -1e300], [2**60 + 1, 0.5], [], [[], []], [[True], [False]],
]
WRONG = [
    [1, [2]], [[1], 2], [[1], [2, 3]], ["a"], "a", None, [None], {1: 2}, [2**63], [-(2**63) - 1],
    [[1, 2], (3,)], object(), [object()],
]


def same(a, b):
    assert a.dtype is b.dtype and a.shape == b.shape and a.stride() == b.stride()
    assert a.requires_grad == b.requires_grad and a._version == b._version == 0
    assert np.array_equal(a.detach().numpy(), b.detach().numpy(),
                          equal_nan=a.dtype.is_floating_point)


@pytest.mark.parametrize("make", ["tensor", "as_tensor"])
@pytest.mark.parametrize("data", NUMBERS, ids=repr)
def test_numbers(make, data):
    for _ in range(2):
        same(getattr(torch, make)(data), from_data.tensor(data))
    for dtype in (torch.float64, torch.float32, torch.int64, torch.bool):
        try:
            expected = from_data.tensor(data, dtype=dtype)
        except Exception as error:
            with pytest.raises(type(error)):
                getattr(torch, make)(data, dtype=dtype)
        else:
            same(getattr(torch, make)(data, dtype=dtype), expected)


@pytest.mark.parametrize("data", WRONG, ids=lambda data: re.sub(" at 0x[0-9a-f]+", "", repr(data)))
def test_what_is_no_number(data):
    with pytest.raises(Exception) as expected:  # noqa: PT011
        from_data.tensor(data)
    with pytest.raises(type(expected.value)) as found:
        torch.tensor(data)
    assert str(found.value) == str(expected.value)


def test_options():
    assert torch.tensor([1.0], requires_grad=True).requires_grad
    assert not torch.tensor([1.0], requires_grad=False).requires_grad
    with pytest.raises(RuntimeError, match="can require gradients"):
        torch.tensor([1], requires_grad=True)
    with pytest.raises(TypeError):
        torch.tensor([1.0], dtype="float32")
    with pytest.raises(TypeError):
        torch.tensor([1.0], nothing=1)
    with pytest.raises(TypeError):
        torch.tensor()
    assert torch.tensor([1.0], device="meta").is_meta
    with torch.device("meta"):
        assert torch.tensor([1.0]).is_meta
    torch.set_default_dtype(torch.float64)
    try:
        assert torch.tensor([1.0]).dtype is torch.float64
    finally:
        torch.set_default_dtype(torch.float32)
    with torch.inference_mode():
        assert torch.tensor([1.0]).is_inference()


def test_a_list_that_holds_other_things():
    values = [torch.tensor(2.0), 3]
    assert torch.tensor(values).tolist() == [2.0, 3.0]
    assert torch.tensor([np.float64(1.5), 2]).dtype is torch.float64
    assert torch.tensor(range(3)).tolist() == [0, 1, 2]

    class Several(list):
        pass

    assert torch.tensor(Several([1, 2])).tolist() == [1, 2]
    t = torch.ones(2)
    assert torch.as_tensor(t) is t and torch.as_tensor(t, dtype=torch.int64).dtype is torch.int64


@pytest.mark.parametrize("dtype", DTYPES)
def test_arrays_there_and_back(dtype):
    array = np.arange(6).reshape(2, 3).astype(dtype)
    for _ in range(2):
        t = torch.from_numpy(array)
        assert t.dtype is getattr(torch, dtype) and t.shape == (2, 3) and t.stride() == (3, 1)
        back = t.numpy()
        assert back.dtype == array.dtype and np.array_equal(back, array) and back.flags.writeable
        assert back.__array_interface__["data"] == array.__array_interface__["data"]
        assert t.t().numpy().strides == array.T.strides
        assert np.array_equal(t[1, 1:].numpy(), array[1, 1:])
        copy = torch.tensor(array)
        array[0, 0] = 1
        assert t[0, 0].item() == 1 and copy[0, 0].item() == 0
        assert torch.as_tensor(array).data_ptr() == t.data_ptr()
        array[0, 0] = 0


ARRAYS = {
    "turned": np.ones((2, 3)).T, "strided": np.ones(6)[::2], "one row": np.ones((4, 4))[::2][:1],
    "empty": np.zeros((0, 3)), "scalar": np.array(2.0), "subclass": np.ones(2).view(np.recarray),
    "high rank": np.ones((1,) * 20), "other name": np.ones(2, np.longlong),
}


@pytest.mark.parametrize("name", ARRAYS)
def test_unusual_arrays(name):
    array = ARRAYS[name]
    for _ in range(2):
        same(torch.from_numpy(array), from_data.from_numpy(array))
        same(torch.as_tensor(array), from_data.as_tensor(array))
        same(torch.tensor(array), from_data.tensor(array))
        assert np.array_equal(torch.from_numpy(array).numpy(), array)


def test_refused_arrays():
    with pytest.raises(TypeError, match=r"expected np\.ndarray \(got list\)"):
        torch.from_numpy([1])
    with pytest.raises(ValueError, match="stride in the given numpy array is negative"):
        torch.from_numpy(np.ones(3)[::-1])
    with pytest.raises(ValueError, match="byte order"):
        torch.from_numpy(np.ones(2, ">f4"))
    with pytest.raises(TypeError, match="can't convert np.ndarray of type"):
        torch.from_numpy(np.array(["a"]))
    frozen = np.ones(2)
    frozen.flags.writeable = False
    frames.told.clear()
    with pytest.warns(UserWarning, match="not writable"):
        torch.from_numpy(frozen)
    assert torch.from_numpy(frozen).tolist() == [1.0, 1.0]  # warned of once
    assert torch.tensor(frozen).tolist() == [1.0, 1.0]


def test_refused_tensors():
    taped = torch.ones(2, requires_grad=True)
    for _ in range(2):
        with pytest.raises(RuntimeError, match="requires grad"):
            taped.numpy()
        with torch.no_grad():
            assert taped.numpy().tolist() == [1.0, 1.0]
        with pytest.raises(RuntimeError, match="conjugate bit"):
            torch.ones(2, dtype=torch.complex64).conj().numpy()
        with pytest.raises(RuntimeError, match="negative bit"):
            torch.ones(2)._neg_view().numpy()
        with pytest.raises(TypeError, match="BFloat16"):
            torch.ones(2, dtype=torch.bfloat16).numpy()
        with pytest.raises(TypeError, match="meta"):
            torch.ones(2, device="meta").numpy()
    assert taped.numpy(force=True).tolist() == [1.0, 1.0] and torch.zeros(0, 2).numpy().size == 0


def test_memory_lives_as_long_as_either_needs_it():
    array = np.ones(4)
    alive, before = weakref.ref(array), sys.getrefcount(array)
    t = torch.from_numpy(array)
    assert sys.getrefcount(array) == before + 1
    del array
    gc.collect()
    assert alive() is not None and t.sum().item() == 4
    del t
    assert alive() is None
    t = torch.full((1000,), 3.0)
    view = t.numpy()
    with pytest.raises(RuntimeError, match="not resizable"):
        t.resize_(2000)
    del t
    gc.collect()
    again = [torch.full((1000,), 7.0) for _ in range(4)]
    assert view.sum() == 3000 and len(again) == 4


@pytest.mark.skipif(fast.FAST is None, reason="needs the builtin path")
def test_no_references_leak():
    array, data, wanted = np.ones((2, 3)), [1.5, [2.0]], torch.float64
    spec = torch.tensor([1.0, 2.0])._spec
    things = (array, data, wanted, spec, torch.float32, np.dtype("float64"), None, True)

    def work():
        torch.from_numpy(array).numpy()
        torch.tensor(array), torch.as_tensor(array)
        torch.tensor([1.0, 2.0]), torch.tensor([True, 3], dtype=wanted).tolist()
        torch.tensor([1.0], requires_grad=True).detach()
        torch.tensor([1.0, 2.0]).size(0)
        for wrong in (data, [1, 2**63]):
            with pytest.raises((TypeError, ValueError, OverflowError, RuntimeError)):
                torch.tensor(wrong)

    work()
    gc.collect()
    before = [sys.getrefcount(thing) for thing in things]
    for _ in range(50):
        work()
    gc.collect()
    after = [sys.getrefcount(thing) for thing in things]
    assert all(abs(a - b) < 20 for a, b in zip(before, after, strict=True)), (before, after)


@pytest.mark.skipif(fast.FAST is None, reason="needs the builtin path")
def test_numpy_is_known():
    from yesca.dispatch import bridges

    torch.from_numpy(np.ones(1)).numpy()
    assert bridges._known == [True] and bridges._table() is not None
