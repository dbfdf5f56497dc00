"""nn.parallel on a machine without accelerators: modules run as they are."""

import copy
import pickle
from collections import namedtuple

import pytest

import yesca as torch
from yesca import nn
from yesca.nn import parallel
from yesca.nn.parallel.parallel_apply import get_a_var
from yesca.nn.parallel.scatter_gather import scatter_kwargs

Pair = namedtuple("Pair", "a b")


@pytest.mark.parametrize("arguments", [{}, {"device_ids": [0, 1], "output_device": 0, "dim": 1}])
def test_a_module_runs_itself(arguments):
    layer = nn.Linear(2, 3)
    model = nn.DataParallel(layer, **arguments)
    x = torch.rand(4, 2)
    assert torch.equal(model(x), layer(x)) and torch.equal(model(input=x), layer(x))
    assert model.module is layer and model.device_ids == []
    assert list(model.state_dict()) == ["module.weight", "module.bias"]
    assert repr(model) == (
        "DataParallel(\n  (module): Linear(in_features=2, out_features=3, bias=True)\n)")
    model(x).sum().backward()
    assert layer.weight.grad is not None
    for copied in (copy.deepcopy(model), pickle.loads(pickle.dumps(model))):
        assert torch.equal(copied(x), model(x))
    with pytest.raises(AttributeError, match="'DataParallel' object has no attribute 'weight'"):
        model.weight


def test_states_have_the_prefix():
    model, layer = nn.DataParallel(nn.Linear(2, 3)), nn.Linear(2, 3)
    with pytest.raises(RuntimeError, match='Missing key.* "module.weight", "module.bias"'):
        model.load_state_dict(layer.state_dict())
    state = model.state_dict()
    nn.modules.utils.consume_prefix_in_state_dict_if_present(state, "module.")
    layer.load_state_dict(state)
    assert torch.equal(layer.weight, model.module.weight)


@pytest.mark.parametrize("call, error, message", [
    ("data_parallel(nn.Linear(2, 3), torch.ones(1, 2))", RuntimeError,
     "device type could not be determined"),
    ("replicate(nn.Linear(2, 3), [0])", AssertionError, "Broadcast function not implemented for C"),
    ("scatter(torch.ones(2), [0])", AssertionError, "not implemented for CPU tensors"),
    ("gather([torch.ones(2)], 0)", AssertionError, "Gather function not implemented for CPU tens"),
    ("gather([{'a': None}, {}], 0)", ValueError, "All dicts must have the same number of keys"),
    ("parallel_apply([nn.Linear(2, 3)], [torch.ones(1, 2)])", RuntimeError,
     "Cannot access accelerator device when none is available."),
    ("parallel_apply([nn.Linear(2, 3)], [])", AssertionError,
     "The number of modules 1 is not equal to the number of inputs 0"),
    ("parallel_apply([nn.Linear(2, 3)], [1], None, [])", AssertionError, "the number of devices 0"),
    ("parallel_apply([], [])", AssertionError, "No available accelerator found."),
    ("DistributedDataParallel(nn.Linear(2, 3))", ValueError,
     "Default process group has not been initialized"),
])
def test_what_needs_accelerators_is_refused(call, error, message):
    with pytest.raises(error, match=message):
        eval("parallel." + call)


def test_what_needs_none_is_done():
    assert parallel.replicate(nn.Linear(2, 3), []) == []
    assert parallel.scatter(3, [0, 1]) == [3, 3]
    assert parallel.scatter((3, ["x"], {"a": 1}), [0, 1]) == [(3, ["x"], {"a": 1})] * 2
    assert parallel.scatter(Pair(1, 2), [0]) == [Pair(1, 2)]
    assert parallel.gather([Pair(None, {"a": None})] * 2, 0) == Pair(None, {"a": None})
    assert scatter_kwargs((1,), {"a": 2}, [0, 1]) == (((1,), (1,)), ({"a": 2}, {"a": 2}))
    assert scatter_kwargs((1,), None, [0, 1]) == (((1,), (1,)), ({}, {}))
    assert scatter_kwargs((), {"a": 1}, [0]) == (((),), ({"a": 1},))
    x = torch.ones(1)
    assert get_a_var([3, {"a": (x,)}]) is x and get_a_var("x") is None


def test_programs_ask_what_a_model_is():
    model = nn.DataParallel(nn.Linear(2, 3))
    assert isinstance(model, (nn.parallel.DataParallel, nn.parallel.DistributedDataParallel))
    assert not isinstance(model, nn.parallel.DistributedDataParallel)


def test_nothing_is_moved_between_accelerators():
    comm, x, y = parallel.comm, torch.ones(4, 2), torch.ones(4, 2)
    for lacking, call in {
        "_broadcast'": lambda: comm.broadcast(x, [0]),
        "_broadcast_out'": lambda: comm.broadcast(x, out=[y]),
        "_broadcast_coalesced'": lambda: comm.broadcast_coalesced([x], [0]),
        "_scatter'": lambda: comm.scatter(x, [0, 1]),
        "_scatter_out'": lambda: comm.scatter(x, out=[y[:2], y[2:]]),
        "_gather'": lambda: comm.gather([x, y], 0, "cpu"),
        "_gather_out'": lambda: comm.gather([x, y], out=x),
    }.items():
        with pytest.raises(AttributeError, match=f"no attribute '{lacking}"):
            call()
    for call in (lambda: comm.broadcast(x, [torch.device("cpu")]),
                 lambda: comm.broadcast_coalesced([x], ["cpu"]),
                 lambda: comm.scatter(x, ["cpu"]), lambda: comm.reduce_add([x], "cpu")):
        with pytest.raises(ValueError, match="Expected a non cpu device, but got: cpu"):
            call()
    for call in (lambda: comm.reduce_add([x, y]), lambda: comm.reduce_add_coalesced([[x], [y]], 0)):
        with pytest.raises(AssertionError, match="but input 0 is on CPU"):
            call()
    for message, call in {
        "Exactly one of 'devices' and 'out'": lambda: comm.broadcast(x),
        "'devices' must not be": lambda: comm.scatter(x, [0], out=[y]),
        "'chunk_sizes' must not be": lambda: comm.scatter(x, chunk_sizes=[4], out=[y]),
        "'destination' must not be": lambda: comm.gather([x], destination=0, out=y),
    }.items():
        with pytest.raises(RuntimeError, match=message):
            call()
