"""softmax and log_softmax against NumPy, their derivatives, their launches."""

import numpy as np
import pytest
from finite_differences import array, check_gradients, tensor, values

import yesca as torch
from yesca import functional as ops


def soft(x, dim):
    raised = np.exp(x - x.max(dim, keepdims=True))
    return raised / raised.sum(dim, keepdims=True)


@pytest.mark.parametrize("dim", [0, 1, -1])
@pytest.mark.parametrize("shape", [(3, 5), (2, 40, 3), (17, 9)])
def test_values(shape, dim):
    x = values(shape) * 4
    np.testing.assert_allclose(array(ops.softmax(tensor(x), dim)), soft(x, dim), rtol=1e-12)
    np.testing.assert_allclose(array(ops.log_softmax(tensor(x), dim)), np.log(soft(x, dim)),
                               rtol=1e-12)


def test_transposed_input_and_contiguous_result():
    x = values((4, 6))
    made = ops.softmax(tensor(x).t(), 1)
    assert made.stride() == (4, 1)
    np.testing.assert_allclose(array(made), soft(x.T, 1), rtol=1e-12)


def test_extremes():
    x = torch.tensor([[1e4, 0.0, -1e4], [float("-inf"), 0.0, 0.0]])
    assert ops.softmax(x, 1).tolist() == [[1, 0, 0], [0, 0.5, 0.5]]
    assert ops.log_softmax(x[:1], 1).tolist() == [[0, -1e4, -2e4]]


def test_dtype_argument():
    x = torch.tensor([1, 2])
    assert ops.softmax(x, 0, torch.float64).dtype is torch.float64
    with pytest.raises(NotImplementedError, match="not implemented for 'Long'"):
        ops.softmax(x, 0)
    half = ops.softmax(x.to(torch.bfloat16), 0)
    assert half.dtype is torch.bfloat16
    assert ops.softmax(torch.tensor(3.0), -1).item() == 1
    assert ops.softmax(torch.zeros(2, 0), 1).shape == (2, 0)
    with pytest.raises(IndexError, match="Dimension out of range"):
        ops.softmax(x.float(), 2)


@pytest.mark.parametrize("name", ["softmax", "log_softmax"])
def test_gradients(name):
    check_gradients(lambda x: getattr(ops, name)(x, 0), [(3, 4)])
    check_gradients(lambda x: getattr(ops, name)(x, 1), [(2, 3)])


def test_names_of_nodes():
    x = torch.zeros(2, 2, requires_grad=True)
    assert type(ops.softmax(x, 0).grad_fn).__name__ == "SoftmaxBackward0"
    assert type(ops.log_softmax(x, 0).grad_fn).__name__ == "LogSoftmaxBackward0"
