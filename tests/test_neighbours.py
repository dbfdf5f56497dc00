"""Arrays of other libraries as tensors and back: JAX, Arrow, pandas, SciPy, Pillow."""

import array as buffers

import numpy as np
import pytest

import yesca as torch
from yesca.base import frames


def library(name):
    """A library that the tests can do without."""
    return pytest.importorskip(name, reason=f"{name} is not installed")


class Plain:
    """An array that tells of itself by DLPack alone."""

    def __init__(self, array):
        self.array = array

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()

    def __dlpack__(self, **named):
        return self.array.__dlpack__(**named)


def test_what_has_dlpack_is_data():
    """Its dtype is kept, and its memory where the function shares any."""
    array = np.arange(3, dtype=np.int16)
    for function, shares in ((torch.tensor, False), (torch.as_tensor, True), (torch.asarray, True)):
        made = function(Plain(array))
        assert made.dtype is torch.int16 and made.tolist() == [0, 1, 2]
        assert (made.data_ptr() == array.ctypes.data) is shares
    assert torch.tensor(Plain(array), dtype=torch.float64).dtype is torch.float64


class Series:
    """A column: its iterator gives Python's numbers, its items are NumPy's."""

    def __init__(self, *values):
        self.values = np.array(values)

    def __len__(self):
        return len(self.values)

    def __getitem__(self, k):
        return self.values[k]

    def __iter__(self):
        return iter(self.values.tolist())


def test_items_of_columns_know_their_dtype():
    for column, dtype in ((Series(1.5, 2), torch.float64), (Series(1, 2), torch.int64),
                          (Series(np.float32(1)), torch.float32)):
        assert torch.tensor(column).dtype is torch.as_tensor(column).dtype is dtype


@pytest.mark.parametrize(("data", "kind", "message"), [
    (["a"], ValueError, "too many dimensions 'str'"),
    ([["a"], ["b"]], ValueError, "too many dimensions 'str'"),
    ("a", TypeError, "new(): invalid data type 'str'"),
    (b"a", TypeError, "new(): invalid data type 'bytes'"),
])
def test_text_is_no_data(data, kind, message):
    with pytest.raises(kind) as caught:
        torch.tensor(data)
    assert message in str(caught.value)


def test_arrays_over_tensors_are_divided_by_numpy():
    x = torch.tensor([1.0, 2.0])
    made = np.array([3, 4]) / x
    assert made.dtype is torch.float64 and made.tolist() == [3.0, 2.0]
    assert (np.float64(2) / x).dtype is torch.float32


def test_state_goes_through_npz(tmp_path):
    model = torch.nn.Sequential(torch.nn.Linear(3, 2), torch.nn.BatchNorm1d(2))
    np.savez(tmp_path / "state.npz", **model.state_dict())
    other = torch.nn.Sequential(torch.nn.Linear(3, 2), torch.nn.BatchNorm1d(2))
    with np.load(tmp_path / "state.npz") as file:
        other.load_state_dict({name: torch.from_numpy(file[name]) for name in file.files})
    for name, value in model.state_dict().items():
        assert torch.equal(value, other.state_dict()[name])
        assert value.dtype is other.state_dict()[name].dtype


def test_buffers():
    for code, dtype in (("i", torch.int32), ("d", torch.float64), ("B", torch.uint8)):
        own = buffers.array(code, [1, 2])
        made = torch.frombuffer(own, dtype=dtype)
        made[0] = 7
        assert own.tolist() == [7, 2] and torch.asarray(own, dtype=dtype).tolist() == [7, 2]


def test_read_only_arrays_are_warned_of():
    array = np.broadcast_to(np.ones(1), (3,))
    frames.told.clear()
    with pytest.warns(UserWarning, match="not writable"):
        assert torch.from_numpy(array).stride() == (0,)


def test_ml_dtypes():
    kinds = library("ml_dtypes")
    array = np.arange(3).astype(kinds.bfloat16)
    made = torch.from_numpy(array)
    assert made.dtype is torch.bfloat16 and made.data_ptr() == array.ctypes.data
    assert torch.tensor(array).tolist() == [0.0, 1.0, 2.0]
    with pytest.raises(TypeError, match="float8_e5m2"):
        torch.from_numpy(array.astype(kinds.float8_e5m2))


def test_pandas():
    pandas = library("pandas")
    frame = pandas.DataFrame({"a": [1, 2], "b": [1.5, 2.5]})
    assert torch.tensor(frame["a"].values).dtype is torch.int64
    assert torch.tensor(frame["b"]).dtype is torch.float64
    assert torch.from_numpy(frame["b"].to_numpy(copy=True)).tolist() == [1.5, 2.5]
    assert torch.tensor(frame.values).tolist() == [[1.0, 1.5], [2.0, 2.5]]
    x = torch.arange(4.0).reshape(2, 2)
    assert pandas.DataFrame(x).values.tolist() == x.tolist()
    assert pandas.Series(x[0]).dtype == np.float32


def test_arrow():
    arrow = library("pyarrow")
    column = arrow.array([1.0, 2.0])
    made = torch.from_dlpack(column)
    assert made.dtype is torch.float64 and made.tolist() == [1.0, 2.0]
    assert made.data_ptr() == column.buffers()[1].address
    assert torch.frombuffer(column.buffers()[1], dtype=torch.float64, count=2).tolist() == [1, 2]
    with pytest.raises(arrow.ArrowTypeError, match="no nulls"):
        torch.from_dlpack(arrow.array([1.0, None]))
    assert arrow.array(made.numpy()).equals(column)


def test_scipy():
    sparse = library("scipy.sparse")
    matrix = sparse.csr_matrix(np.eye(3))
    assert torch.tensor(matrix.toarray()).tolist() == np.eye(3).tolist()
    assert sparse.csr_matrix(torch.eye(3)).nnz == 3
    assert (matrix @ torch.ones(3)).tolist() == [1.0, 1.0, 1.0]


def test_pillow():
    image = library("PIL.Image").fromarray(np.arange(12, dtype=np.uint8).reshape(2, 2, 3))
    assert torch.from_numpy(np.array(image)).tolist() == torch.as_tensor(np.asarray(
        image).copy()).tolist() == np.arange(12).reshape(2, 2, 3).tolist()
    again = library("PIL.Image").fromarray(torch.full((2, 3, 3), 9, dtype=torch.uint8).numpy())
    assert again.size == (3, 2) and again.getpixel((0, 0)) == (9, 9, 9)


@pytest.mark.slow
def test_jax():
    jnp = library("jax.numpy")
    x = torch.arange(3.0)
    there = jnp.from_dlpack(x)
    assert there.tolist() == [0, 1, 2] and torch.from_dlpack(there + 1).tolist() == [1, 2, 3]
    half = jnp.from_dlpack(x.bfloat16())
    assert str(half.dtype) == "bfloat16" and torch.from_dlpack(half).dtype is torch.bfloat16
    assert torch.tensor(half).dtype is torch.asarray(half).dtype is torch.bfloat16
