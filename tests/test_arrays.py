"""NumPy and buffers: `asarray`, NumPy's functions of tensors, arrays among operands."""

import numpy as np
import pytest

import yesca as torch
from yesca.base import frames


def test_asarray_shares_what_it_can():
    array, buffer, own = np.zeros(2), bytearray(8), torch.zeros(2)
    for source, named in ((array, {}), (buffer, {"dtype": torch.float32}), (own, {})):
        for copy in (None, False, True):
            made = torch.asarray(source, copy=copy, **named)
            made[1] = 1
            seen = torch.asarray(source, **named)
            assert seen.tolist() == [0.0, 0.0 if copy else 1.0]
            seen[1] = 0
    assert torch.asarray(own) is own
    assert torch.asarray([[1, 2]]).tolist() == [[1, 2]] and torch.asarray(True).dtype is torch.bool


@pytest.mark.parametrize(("value", "named", "kind", "message"), [
    ([1], {"copy": False}, ValueError, "can't alias arbitrary sequence into a tensor."),
    (np.ones(2), {"copy": False, "dtype": torch.float32}, ValueError,
     "can't alias tensor with dtype 'Double' into dtype 'Float'."),
    (np.ones(2), {"copy": False, "device": "meta"}, ValueError,
     "can't alias tensor from device 'cpu' to 'meta'."),
    (np.float64(1), {"copy": False}, RuntimeError, "can't alias NumPy scalars."),
    ([1.0], {"copy": 1}, TypeError, "asarray(): argument 'copy' must be bool, not int"),
    ([1.0], {"dtype": "x"}, TypeError, "asarray(): argument 'dtype' must be torch.dtype, not str"),
    (b"abc", {}, ValueError, "buffer length (3 bytes) after offset (0 bytes) must be a multiple"),
])
def test_what_asarray_refuses(value, named, kind, message):
    with pytest.raises(kind) as caught:
        torch.asarray(value, **named)
    assert message in str(caught.value)


def test_asarray_and_the_tape():
    x = torch.ones(2, requires_grad=True)
    frames.told.clear()
    with pytest.warns(UserWarning, match="unspecified requires_grad now defaults"):
        assert torch.asarray(x) is x
    assert torch.asarray(x, copy=True).grad_fn is not None
    assert not torch.asarray(x * 2, requires_grad=False).requires_grad
    assert torch.asarray([1.0], requires_grad=True).is_leaf
    with pytest.raises(RuntimeError, match="Only Tensors of floating point"):
        torch.asarray([1], requires_grad=True)


def test_lists_of_arrays_are_warned_of_once():
    frames.told.clear()
    with pytest.warns(UserWarning, match="list of numpy.ndarrays is extremely slow"):
        torch.tensor([np.ones(2), np.zeros(2)])
    assert torch.tensor([np.ones(2), np.zeros(2)]).dtype is torch.float64


def test_factories_take_truth_values():
    for call in (lambda: torch.tensor([1.0], requires_grad=1),
                 lambda: torch.zeros(2, requires_grad="yes")):
        with pytest.raises(TypeError, match="argument 'requires_grad' must be bool"):
            call()
    with pytest.raises(ValueError, match=r"count \(0\) must not be 0"):
        torch.frombuffer(bytearray(4), dtype=torch.int8, count=0)


X = torch.tensor([1.0, 2.0])


@pytest.mark.parametrize(("call", "wanted", "dtype"), [
    (lambda: np.add(X, X), [2.0, 4.0], torch.float32),
    (lambda: np.add(np.ones(2), X), [2.0, 3.0], torch.float64),
    (lambda: np.greater(X, 1), [0, 1], torch.uint8), (lambda: np.square(X[1]), 4.0, torch.float32),
    (lambda: X + np.ones(2), [2.0, 3.0], torch.float64),
    (lambda: X.int() * np.ones(2, np.float32), [1.0, 2.0], torch.float64),
    (lambda: X @ np.ones(2), 3.0, torch.float64),
    (lambda: X ** np.array(2.0), [1.0, 4.0], torch.float64),
    (lambda: X * np.float64(2), [2.0, 4.0], torch.float32),
    (lambda: np.float64(2) * X, [2.0, 4.0], torch.float32),
    (lambda: np.ones(2) * X, [1.0, 2.0], torch.float64),
    (lambda: np.transpose(X), [1.0, 2.0], torch.float32),
])
def test_functions_of_numpy_give_tensors(call, wanted, dtype):
    made = call()
    assert isinstance(made, torch.Tensor)
    assert made.tolist() == wanted and made.dtype is dtype


def test_arrays_are_added_to_no_tensor_in_place():
    x = y = torch.ones(2)
    x += np.ones(2)
    assert x.tolist() == [2.0, 2.0] and x.dtype is torch.float64 and y.tolist() == [1.0, 1.0]
    with pytest.raises(RuntimeError, match="Can't call numpy"):
        torch.ones(2, requires_grad=True) * np.ones(2)
    with pytest.raises(ValueError, match="Unable to avoid copy"):
        np.asarray(X, dtype=np.int32, copy=False)
