"""SyncBatchNorm, modules without values, weights laid out anew, arguments of modules."""

import pytest

import yesca as torch
from yesca import nn
from yesca.nn.modules import utils


def test_converting_batch_norms():
    model = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4), nn.Sequential(nn.BatchNorm1d(
        4, affine=False)), nn.InstanceNorm1d(4)).eval()
    made = nn.SyncBatchNorm.convert_sync_batchnorm(model, "group")
    assert made is model and type(made[2][0]) is nn.SyncBatchNorm
    assert type(made[3]) is nn.InstanceNorm1d and made[1].process_group == "group"
    assert not made[1].training and list(made.state_dict()) == list(model.state_dict())
    single = nn.BatchNorm1d(2)
    other = nn.SyncBatchNorm.convert_sync_batchnorm(single)
    assert other is not single and other.weight is single.weight
    assert other.running_mean is single.running_mean


def test_one_process_is_a_batch_norm():
    x = torch.arange(24.0).reshape(2, 3, 4).sin()
    plain, synced = nn.BatchNorm1d(3), nn.SyncBatchNorm(3)
    assert torch.equal(plain(x), synced(x))
    assert torch.equal(plain.running_var, synced.running_var)
    with pytest.raises(ValueError, match=r"expected at least 2D input \(got 1D input\)"):
        synced(torch.ones(3))
    with pytest.raises(ValueError, match="number of input channels should be non-zero"):
        synced(torch.ones(3, 0))


def test_response_norm_of_images_only():
    with pytest.raises(ValueError, match="CrossMapLRN2d: Expected input to be 4D, got 2D"):
        nn.CrossMapLRN2d(3)(torch.ones(2, 3))


def test_modules_without_values():
    layer = nn.utils.skip_init(nn.Linear, 2, 3, dtype=torch.float64)
    assert layer.weight.dtype is torch.float64 and not layer.weight.is_meta
    assert isinstance(layer.bias, nn.Parameter)
    with pytest.raises(RuntimeError, match="must support a 'device' arg"):
        nn.utils.skip_init(nn.ReLU)
    with pytest.raises(RuntimeError, match="Expected a Module; got <class 'int'>"):
        nn.utils.skip_init(int)


def test_layouts_of_weights():
    model = nn.Sequential(nn.Conv2d(4, 3, 2), nn.ConvTranspose2d(4, 3, 2), nn.Linear(2, 2),
                          nn.Conv3d(4, 3, 2))
    nn.utils.convert_conv2d_weight_memory_format(model, torch.channels_last)
    for layer in model[:2]:
        assert layer.weight.is_contiguous(memory_format=torch.channels_last)
    assert model[3].weight.is_contiguous()
    nn.utils.convert_conv3d_weight_memory_format(model, torch.channels_last_3d)
    assert model[3].weight.is_contiguous(memory_format=torch.channels_last_3d)


def test_former_place_of_functional_call():
    with pytest.warns(FutureWarning, match="stateless.functional_call` is deprecated"):
        made = nn.utils.stateless.functional_call(
            nn.Linear(2, 1, bias=False), {"weight": torch.ones(1, 2)}, torch.ones(2))
    assert made.tolist() == [2.0]


def test_arguments_of_modules():
    assert utils._pair(3) == (3, 3) and utils._pair([1, 2]) == (1, 2)
    assert utils._triple.__name__ == "_triple" and utils._single((4,)) == (4,)
    assert utils._reverse_repeat_tuple((1, 2), 2) == (2, 2, 1, 1)
    assert utils._list_with_default((None, 5), [7, 8, 9]) == [8, 5]
    assert utils._list_with_default(3, [1, 2]) == 3
    with pytest.raises(ValueError, match="Input dimension should be at least 3"):
        utils._list_with_default((1, 2), [3, 4])
    assert nn.common_types._size_2_t == int | tuple[int, int]
    with pytest.raises(TypeError, match="unexpected kwargs {'size'}"):
        nn.factory_kwargs({"size": 3})
    with pytest.raises(TypeError, match="dtype specified twice"):
        nn.factory_kwargs({"dtype": 1, "factory_kwargs": {"dtype": 2}})
    assert nn.factory_kwargs(None) == {}


def test_prefixes_of_saved_states():
    model = nn.Sequential(nn.Linear(1, 1))
    state = nn.Sequential(model).state_dict(prefix="")
    utils.consume_prefix_in_state_dict_if_present(state, "0.")
    assert list(state) == ["0.weight", "0.bias"] and set(state._metadata) == {"", "0"}
    model.load_state_dict(state)
