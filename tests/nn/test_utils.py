"""Clipping, parameter vectors, padded sequences."""

import math

import pytest

import yesca as torch
from yesca import nn
from yesca.nn import utils


def parameters():
    first, second = nn.Parameter(torch.zeros(2)), nn.Parameter(torch.zeros(1))
    first.grad = torch.tensor([3.0, 0.0])
    second.grad = torch.tensor([4.0])
    return [first, second, nn.Parameter(torch.zeros(1))]


@pytest.mark.parametrize(
    ("order", "norm"), [(2.0, 5.0), (1.0, 7.0), (math.inf, 4.0)]
)
def test_clip_by_norm(order, norm):
    values = parameters()
    assert utils.clip_grad_norm_(values, 1.0, order).item() == pytest.approx(norm)
    assert values[0].grad.tolist() == pytest.approx([3.0 / norm, 0.0], rel=1e-5)
    assert values[1].grad.item() == pytest.approx(4.0 / norm, rel=1e-5)
    assert utils.clip_grad_norm_((each for each in values), 100.0, order).item() < 1.01
    assert values[1].grad.item() == pytest.approx(4.0 / norm, rel=1e-5)


def test_clip_by_value_and_total_norm():
    values = parameters()
    assert utils.get_total_norm([each.grad for each in values[:2]]).item() == 5.0
    utils.clip_grad_value_(values, 0.5)
    assert values[0].grad.tolist() == [0.5, 0.0] and values[1].grad.item() == 0.5


def test_nonfinite_norms():
    values = parameters()
    values[1].grad[0] = math.nan
    with pytest.raises(RuntimeError, match="is non-finite, so it cannot be clipped"):
        utils.clip_grad_norm_(values, 1.0, error_if_nonfinite=True)
    assert values[0].grad.tolist() == [3.0, 0.0]
    assert math.isnan(utils.clip_grad_norm_(values, 1.0).item())


def test_no_gradients():
    assert utils.clip_grad_norm_([], 1.0).item() == 0.0
    with pytest.warns(UserWarning, match="empty generator"):
        utils.clip_grad_norm_((each for each in []), 1.0)


def test_parameter_vectors():
    values = [nn.Parameter(torch.zeros(2, 2)), nn.Parameter(torch.ones(1))]
    assert utils.parameters_to_vector(values).tolist() == [0.0, 0.0, 0.0, 0.0, 1.0]
    first = values[0]
    utils.vector_to_parameters(torch.arange(5.0), values)
    assert values[0] is first and first.tolist() == [[0.0, 1.0], [2.0, 3.0]]
    with pytest.raises(TypeError, match="expected torch.Tensor, but got: int"):
        utils.vector_to_parameters(3, values)


def test_padded_sequences():
    sequences = [torch.ones(2), torch.ones(3) * 2]
    padded = utils.rnn.pad_sequence(sequences, batch_first=True, padding_value=-1.0)
    assert padded.tolist() == [[1.0, 1.0, -1.0], [2.0, 2.0, 2.0]]
    left = utils.rnn.pad_sequence(sequences, padding_side="left")
    assert left.tolist() == [[0.0, 2.0], [1.0, 2.0], [1.0, 2.0]]
    again = utils.rnn.unpad_sequence(padded, torch.tensor([2, 3]), batch_first=True)
    assert [each.tolist() for each in again] == [[1.0, 1.0], [2.0, 2.0, 2.0]]
    with pytest.raises(RuntimeError, match="padding_side to be one of left or right"):
        utils.rnn.pad_sequence(sequences, padding_side="up")
