"""DLPack both ways: what is shared, what is refused, and who gives the memory back."""

import ctypes
import gc
import sys
import threading

import numpy as np
import pytest

import yesca as torch
from yesca.dispatch import dlpack

KINDS = "bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 float32 float64 " \
    "complex64 complex128"


def holders(tensor):
    """How many references the tensor's memory has."""
    return sys.getrefcount(tensor.untyped_storage())


@pytest.mark.parametrize("kind", KINDS.split())
def test_every_dtype_there_and_back(kind):
    x = torch.arange(6).reshape(2, 3).to(getattr(torch, kind))
    array = np.from_dlpack(x)
    assert array.dtype == np.dtype(kind) and array.tolist() == x.tolist()
    again = torch.from_dlpack(array)
    assert again.dtype is x.dtype and again.data_ptr() == x.data_ptr()
    x[0, 1] = 0
    assert not array[0, 1] and not again[0, 1]


def test_strides_offsets_and_empty_ones():
    x = torch.arange(12.0).reshape(3, 4)
    for view in (x.t(), x[1:, ::2], x[2], x[:0], torch.tensor(3.0), x[:1].expand(5, 4)):
        array = np.from_dlpack(view)
        assert array.shape == tuple(view.shape) and array.tolist() == view.tolist()
        assert torch.from_dlpack(array).stride() == view.stride() or view.numel() < 2


def test_names_of_capsules():
    x = torch.ones(2)
    for named, name in (({}, "dltensor"), ({"max_version": (0, 8)}, "dltensor"),
                        ({"stream": None, "dl_device": (1, 0), "copy": False}, "dltensor"),
                        ({"max_version": (1, 0)}, "dltensor_versioned"),
                        ({"max_version": (2, 1)}, "dltensor_versioned")):
        capsule = x.__dlpack__(**named)
        assert f'"{name}"' in repr(capsule)
        assert torch.from_dlpack(capsule).data_ptr() == x.data_ptr()
        assert f'"used_{name}"' in repr(capsule)
        with pytest.raises(RuntimeError, match="can be consumed only once"):
            torch.from_dlpack(capsule)


def test_copies_are_copies():
    x = torch.ones(2)
    assert torch.from_dlpack(x, copy=True).data_ptr() != x.data_ptr()
    assert torch.from_dlpack(x, copy=False).data_ptr() == x.data_ptr()
    array = np.from_dlpack(x, copy=True)
    array[0] = 5
    assert x.tolist() == [1, 1]
    kept = np.zeros(2)
    torch.from_dlpack(kept, device="cpu", copy=True)[0] = 1
    assert kept.tolist() == [0, 0]


@pytest.mark.parametrize(("call", "kind", "message"), [
    (lambda: torch.ones(1, requires_grad=True).__dlpack__(), BufferError,
     "Can't export tensors that require gradient, use tensor.detach()"),
    (lambda: torch.ones(1, dtype=torch.cfloat).conj().__dlpack__(), BufferError,
     "Can't export tensors with the conjugate bit set"),
    (lambda: torch.ones(1, dtype=torch.cfloat).conj().imag.__dlpack__(), BufferError,
     "negative bit set: use tensor.resolve_neg()"),
    (lambda: torch.ones(1, device="meta").__dlpack__(), BufferError, "Cannot pack tensors on meta"),
    (lambda: torch.ones(1, device="meta").__dlpack_device__(), ValueError,
     "Unknown device type meta for Dlpack"),
    (lambda: torch.ones(1).__dlpack__(stream=1), AssertionError, "stream should be None on cpu."),
    (lambda: torch.ones(1).__dlpack__(stream="a"), TypeError, "stream must be ``int`` or ``none``"),
    (lambda: torch.ones(1).__dlpack__(dl_device=(2, 0)), BufferError, "to DLPack device (2, 0)"),
    (lambda: torch.from_dlpack(torch.ones(1).__dlpack__(), copy=True), AssertionError,
     "device and copy kwargs not supported when ext_tensor is already a DLPack capsule."),
    (lambda: torch.from_dlpack([1]), RuntimeError, "received an invalid capsule"),
    (lambda: torch.from_dlpack(np.ones(2)[::-1]), BufferError, "negative strides"),
    (lambda: torch.from_dlpack(np.ones(2, ">f4")), BufferError, "native byte order"),
    (lambda: torch.from_dlpack(np.ones(2), device="meta"), BufferError, "on meta"),
    (lambda: torch.from_dlpack(Foreign()), BufferError, "DLPack device (2, 0)"),
    (lambda: torch.from_dlpack(Broken()), ValueError, "no capsule today"),
])
def test_what_is_refused(call, kind, message):
    with pytest.raises(kind) as caught:
        call()
    assert message in str(caught.value)


class Foreign:
    def __dlpack_device__(self):
        return (2, 0)

    def __dlpack__(self, **named):
        raise AssertionError("is not asked")


class Broken(Foreign):
    def __dlpack_device__(self):
        return (1, 0)

    def __dlpack__(self, **named):
        raise ValueError("no capsule today")


class Old(Foreign):
    """An array from before versions and copies."""

    def __init__(self, array):
        self.array = array

    def __dlpack_device__(self):
        return (1, 0)

    def __dlpack__(self, stream=None):
        return self.array.__dlpack__()


def test_old_libraries_are_asked_in_the_old_way():
    array = np.zeros(2)
    torch.from_dlpack(Old(array))[0] = 1
    torch.from_dlpack(Old(array), copy=True)[1] = 1
    assert array.tolist() == [1, 0]


def test_a_refused_capsule_leaves_the_refusal_and_no_memory():
    """NumPy drops the capsule while its own error is set."""
    x = torch.ones(2, dtype=torch.bfloat16)
    before = holders(x)
    for _ in range(50):
        with pytest.raises((RuntimeError, BufferError), match="(?i)dtype|bfloat16"):
            np.from_dlpack(x)
    assert holders(x) == before


def test_memory_is_given_back_once():
    x = torch.ones(3)
    before = holders(x)
    capsules = [x.__dlpack__(max_version=v) for v in (None, (1, 0)) for _ in range(20)]
    assert holders(x) == before + 40
    taken = [torch.from_dlpack(c) for c in capsules[::2]] + [np.from_dlpack(x) for _ in range(10)]
    del capsules
    assert holders(x) == before + 30
    del taken
    gc.collect()
    assert holders(x) == before


def test_memory_outlives_who_gave_it():
    for given in (torch.from_dlpack(np.full(1000, 7.0)), np.from_dlpack(torch.full((1000,), 7.0))):
        gc.collect()
        np.ones(1000), torch.zeros(1000)
        assert given.sum() == 7000


def test_the_other_side_lets_go_in_another_thread():
    x = torch.ones(3)
    before = holders(x)
    arrays = [np.from_dlpack(x) for _ in range(100)]
    thread = threading.Thread(target=arrays.clear)
    thread.start()
    thread.join()
    assert holders(x) == before


def test_arrays_that_may_not_be_written_come_in():
    array = np.arange(3.0)
    array.flags.writeable = False
    assert torch.from_dlpack(array).tolist() == [0, 1, 2]


def forged(*, major=1, shape=(2,), ndim=None, kind=(2, 64, 1), data=True, sizes=True):
    """A capsule of a description that may be wrong."""
    described = (ctypes.c_int64 * len(shape))(*shape)
    memory = (ctypes.c_double * 2)(3, 4)
    inner = dlpack._Tensor(ctypes.addressof(memory) if data else None, 1, 0,
                           len(shape) if ndim is None else ndim, *kind,
                           described if sizes else None, None, 0)
    managed = dlpack._Versioned(major, 0, None, None, 0, inner)
    KEPT.append((described, memory, managed))
    return dlpack._new_capsule(ctypes.addressof(managed), dlpack._VERSIONED, None)


KEPT = []


@pytest.mark.parametrize("wrong, kind, message", [
    ({"major": 2}, RuntimeError, "unsupported DLPack capsule major version: 2"),
    ({"shape": (-2, 2)}, RuntimeError, "Trying to create tensor with negative dimension -2: "),
    ({"ndim": -1}, RuntimeError, "-1 dimensions"),
    ({"ndim": 1 << 30}, RuntimeError, "1073741824 dimensions"),
    ({"sizes": False}, RuntimeError, "1 dimensions without their sizes"),
    ({"data": False}, RuntimeError, "2 elements without memory"),
    ({"shape": (1 << 62, 4)}, RuntimeError, "overflow"),
    ({"kind": (2, 64, 2)}, BufferError, "several lanes"),
    ({"kind": (2, 1, 1)}, BufferError, "type code 2 of 1 bits"),
    ({"kind": (77, 64, 1)}, BufferError, "type code 77 of 64 bits"),
])
def test_descriptions_that_are_wrong(wrong, kind, message):
    with pytest.raises(kind) as caught:
        torch.from_dlpack(forged(**wrong))
    assert message in str(caught.value)
    assert torch.from_dlpack(forged()).tolist() == [3, 4]


def test_nothing_needs_no_memory():
    assert torch.from_dlpack(forged(shape=(0,), data=False)).shape == (0,)
