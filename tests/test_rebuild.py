"""Pickling and copying of tensors."""

import copy
import pickle

import pytest

import yesca as torch


def test_pickle_keeps_layout_and_sharing():
    base = torch.arange(10.0)
    first, second = pickle.loads(pickle.dumps([base[2:6], base[4:]]))
    first[2] = 7.0
    assert second[0].item() == 7.0 and first.storage_offset() == 2
    turned = pickle.loads(pickle.dumps(torch.arange(6).reshape(2, 3).t()))
    assert turned.stride() == (1, 3) and turned.tolist() == [[0, 3], [1, 4], [2, 5]]


@pytest.mark.parametrize("value", [
    torch.float32, torch.bool, torch.Size([1, 2]), torch.device("cpu"),
])
def test_small_objects_pickle(value):
    assert pickle.loads(pickle.dumps(value)) == value


def test_parameters_pickle():
    parameter = torch.nn.Parameter(torch.ones(2))
    parameter.tag = 5
    loaded = pickle.loads(pickle.dumps(parameter))
    assert type(loaded) is torch.nn.Parameter and loaded.requires_grad and loaded.tag == 5


def test_deepcopy():
    base = torch.arange(4.0)
    first, second = copy.deepcopy([base[:2], base[1:]])
    first[1] = 9.0
    assert second[0].item() == 9.0 and base[1].item() == 1.0
    leaf = torch.ones(2, requires_grad=True)
    (leaf * 2).sum().backward()
    copied = copy.deepcopy(leaf)
    assert copied.requires_grad and copied.grad.tolist() == [2, 2] and copied.grad is not leaf.grad
    with pytest.raises(RuntimeError, match="graph leaves"):
        copy.deepcopy(leaf * 2)


def test_state_of_a_file_cannot_move_a_tensor():
    from yesca._rebuild import _rebuild_from_type_v2

    with pytest.raises(RuntimeError, match="not an attribute"):
        _rebuild_from_type_v2(lambda: torch.ones(2), torch.Tensor, (), {"_offset": 10**9})
