"""state_dict, load_state_dict and their hooks."""

from collections import OrderedDict

import pytest

import yesca as torch
from yesca import nn


def net():
    return nn.Sequential(nn.Linear(2, 3), nn.BatchNorm1d(3))


def test_keys_metadata_and_sharing():
    model = net()
    state = model.state_dict()
    assert list(state) == [
        "0.weight", "0.bias", "1.weight", "1.bias", "1.running_mean", "1.running_var",
        "1.num_batches_tracked",
    ]
    assert dict(state._metadata) == {
        "": {"version": 1}, "0": {"version": 1}, "1": {"version": 2},
    }
    assert not state["0.weight"].requires_grad
    assert state["0.weight"].data_ptr() == model[0].weight.data_ptr()
    assert model.state_dict(keep_vars=True)["0.weight"] is model[0].weight
    assert list(model.state_dict(prefix="net."))[0] == "net.0.weight"


def test_round_trip():
    source, target = net(), net()
    weight = target[0].weight
    assert repr(target.load_state_dict(source.state_dict())) == "<All keys matched successfully>"
    assert target[0].weight is weight
    assert torch.equal(weight, source[0].weight)


def test_assign():
    source, target = net(), net()
    target.load_state_dict(source.state_dict(), assign=True)
    assert target[0].weight.data_ptr() == source[0].weight.data_ptr()
    assert isinstance(target[0].weight, nn.Parameter) and target[0].weight.requires_grad


def test_all_problems_in_one_error():
    model = net()
    state = OrderedDict(model.state_dict())
    state["0.weight"] = torch.zeros(1, 1)
    del state["1.bias"]
    state["extra"] = torch.zeros(1)
    state["1.running_mean"] = 3
    with pytest.raises(RuntimeError) as caught:
        model.load_state_dict(state)
    lines = str(caught.value).split("\n\t")
    assert lines[0] == "Error(s) in loading state_dict for Sequential:"
    assert lines[1] == 'Missing key(s) in state_dict: "1.bias". '
    assert lines[2] == 'Unexpected key(s) in state_dict: "extra". '
    assert lines[3] == (
        "size mismatch for 0.weight: copying a param with shape torch.Size([1, 1]) from "
        "checkpoint, the shape in current model is torch.Size([3, 2])."
    )
    assert "expected torch.Tensor or Tensor-like object" in lines[4]
    del state["0.weight"], state["1.running_mean"]
    report = model.load_state_dict(state, strict=False)
    assert report.missing_keys == ["0.weight", "1.bias", "1.running_mean"]
    assert report.unexpected_keys == ["extra"]


def test_files_from_before_the_batch_count():
    state = OrderedDict(net().state_dict())
    del state["1.num_batches_tracked"]
    assert net().load_state_dict(state).missing_keys == []


def test_not_a_dictionary():
    with pytest.raises(TypeError, match="Expected state_dict to be dict-like"):
        net().load_state_dict([1])


def test_extra_state():
    class Counter(nn.Module):
        count = 5

        def get_extra_state(self):
            return self.count

        def set_extra_state(self, state):
            self.count = state

    model = nn.Sequential(Counter())
    state = model.state_dict()
    assert dict(state) == {"0._extra_state": 5}
    state["0._extra_state"] = 7
    model.load_state_dict(state)
    assert model[0].count == 7
    with pytest.raises(RuntimeError, match='Missing key.*"0._extra_state"'):
        model.load_state_dict({})


def test_hooks():
    seen = []
    model = net()
    model.register_state_dict_pre_hook(lambda module, prefix, keep: seen.append("pre"))
    model.register_state_dict_post_hook(lambda module, state, prefix, meta: seen.append("post"))
    state = model.state_dict()
    model.register_load_state_dict_pre_hook(lambda module, *rest: seen.append(rest[1]))

    def forgive(module, incompatible):
        incompatible.missing_keys.clear()

    model.register_load_state_dict_post_hook(forgive)
    del state["0.weight"]
    model.load_state_dict(state)
    assert seen == ["pre", "post", ""]
