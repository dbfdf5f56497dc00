"""What programs say to `compile` and ask of what it gives."""

import copy
import io
import pickle

import pytest

import yesca as torch
from yesca import nn
from yesca.graph import recorder


def replays(function, *arguments):
    before = recorder.replays
    function(*arguments)
    return recorder.replays - before


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda m: pickle.loads(pickle.dumps(m))])
def test_copies_of_a_compiled_module_are_compiled(copied):
    model = torch.compile(nn.Linear(2, 2), fullgraph=True)
    other = copied(model)
    assert type(other) is type(model)
    assert other._orig_mod is not model._orig_mod
    x = torch.ones(3, 2)
    with torch.no_grad():
        other.weight.mul_(2)
        assert not torch.equal(other(x), model(x))
    assert torch.equal(other(x), other._orig_mod(x))
    assert replays(other, x) == 1
    other._orig_mod.register_forward_hook(lambda module, given, out: out.sum().item())
    with pytest.raises(RuntimeError, match="fullgraph=True"):
        other(x)


def test_a_compiled_module_is_saved_whole():
    file = io.BytesIO()
    model = torch.compile(nn.Linear(2, 2))
    torch.save(model, file)
    file.seek(0)
    other = torch.load(file, weights_only=False)
    x = torch.ones(1, 2)
    assert torch.equal(other(x), model(x))
