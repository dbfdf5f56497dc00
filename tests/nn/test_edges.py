"""What modules answer at their edges: names in errors, arguments of `to`, walks, odd sizes."""

import inspect
import pickle

import pytest

import yesca as torch
from yesca import nn


@pytest.mark.parametrize("call, message", [
    ("nn.AvgPool2d()", "AvgPool2d.__init__() missing 1 required positional argument: 'kernel_size"),
    ("nn.CircularPad1d(1, foo=2)", "CircularPad1d.__init__() got an unexpected keyword argument"),
    ("nn.ConstantPad2d(1)", "ConstantPad2d.__init__() missing 1 required positional argument"),
    ("nn.Conv1d(1)", "Conv1d.__init__() missing 2 required positional arguments"),
    ("nn.LazyConv1d()", "LazyConv1d.__init__() missing 2 required positional arguments"),
    ("nn.BatchNorm1d()", "BatchNorm1d.__init__() missing 1 required positional argument"),
    ("nn.MaxPool2d(*range(9))", "MaxPool2d.__init__() takes from 2 to 7 positional arguments"),
    ("nn.Linear(1)", "Linear.__init__() missing 1 required positional argument: 'out_features'"),
    ("nn.Linear(1, 1).named_parameters(foo=1)", "Module.named_parameters() got an unexpected"),
    ("nn.Linear(1, 1).to_empty()", "Module.to_empty() missing 1 required keyword-only argument"),
])
def test_errors_name_the_layer(call, message):
    with pytest.raises(TypeError) as caught:
        eval(call)
    assert message in str(caught.value)


def test_classes_of_programs_keep_their_constructors():
    class _Base(nn.Module):
        def __init__(self, size):
            super().__init__()

    class Layer(_Base):
        pass

    assert "__init__" not in vars(Layer)
    with pytest.raises(TypeError, match="_Base.__init__"):
        Layer()


def test_functions_of_module_are_its_own():
    assert nn.Module.parameters.__qualname__ == "Module.parameters"
    assert pickle.loads(pickle.dumps(nn.Module.state_dict)) is nn.Module.state_dict
    assert list(inspect.signature(nn.Module.modules).parameters) == ["self", "remove_duplicate"]


def test_walks_over_shared_modules():
    shared = nn.Linear(2, 2)
    model = nn.Sequential(shared, shared)
    assert len(list(model.modules())) == 2
    assert len(list(model.modules(remove_duplicate=False))) == 3


REFUSED = "to() received an invalid combination of arguments - got ({}), but expected one of:\n * "


@pytest.mark.parametrize("call, got", [
    ("torch.float64, torch.float32", "torch.dtype, torch.dtype"),
    ("'cpu', 'cpu'", "str, str"),
    ("foo=3", "foo=int, "),
    ("memory_format=3", "memory_format=int, "),
    ("'cpu', device='cpu'", "str, device=str, "),
    ("'cpu', torch.float32, True, False, None", "str, torch.dtype, bool, bool, NoneType"),
])
def test_arguments_of_to(call, got):
    with pytest.raises(TypeError) as caught:
        eval(f"nn.Linear(1, 1).to({call})")
    assert str(caught.value).startswith(REFUSED.format(got))


@pytest.mark.parametrize("call, dtype", [
    ("torch.float64", torch.float64), ("'cpu', torch.float16", torch.float16),
    ("device='cpu', dtype=torch.float64", torch.float64), ("None", torch.float32),
    ("torch.ones(1, dtype=torch.float64)", torch.float64),
    ("tensor=torch.ones(1, dtype=torch.float64)", torch.float64),
    ("'cpu', torch.float64, True", torch.float64), ("float", torch.float64),
    ("None, torch.float64", torch.float64),
])
def test_forms_of_to(call, dtype):
    assert eval(f"nn.Linear(1, 1).to({call})").weight.dtype == dtype


@pytest.mark.parametrize("call, error, message", [
    ("nn.FractionalMaxPool3d((2, 0, 2), 2)", ValueError, r"kernel_size must be greater than 0, but "
                                                         r"got \(2, 0, 2\)"),
    ("nn.Bilinear(0, 1, 1)", ValueError, r"in1_features must be > 0, but got \(in1_features=0\)"),
    ("nn.Bilinear(-1, 1, 1)", RuntimeError, "negative dimension -1"),
    ("nn.Parameter(torch.ones(2, dtype=torch.int64))", RuntimeError,
     "Only Tensors of floating point and complex dtype can require gradients"),
    ("torch.ones(2, dtype=torch.int64).requires_grad_()", RuntimeError,
     "only Tensors of floating point dtype can require gradients"),
])
def test_refused_values(call, error, message):
    with pytest.raises(error, match=message):
        eval(call)


@pytest.mark.parametrize("call, shown", [
    ("nn.Conv2d(2, 4, (1,))", "Conv2d(2, 4, kernel_size=(1,), stride=(1, 1))"),
    ("nn.Conv1d(2, 4, 3, 2, (1, 1))",
     "Conv1d(2, 4, kernel_size=(3,), stride=(2,), padding=(1, 1))"),
    ("nn.Conv3d(2, 4, 3, padding=(1, 2, 3), padding_mode='circular')",
     "Conv3d(2, 4, kernel_size=(3, 3, 3), stride=(1, 1, 1), padding=(1, 2, 3), "
     "padding_mode=circular)"),
])
def test_sizes_of_another_length_are_shown_as_they_are(call, shown):
    assert repr(eval(call)) == shown


def test_padding_of_both_ends():
    assert nn.Conv3d(1, 1, 3, padding=(1, 2, 3))._reversed_padding_repeated_twice == [
        3, 3, 2, 2, 1, 1]
    same = nn.Conv2d(1, 1, (2, 5), dilation=(3, 1), padding="same")
    assert same._reversed_padding_repeated_twice == [2, 2, 1, 2]
    assert nn.Conv1d(1, 1, 3, padding="valid")._reversed_padding_repeated_twice == [0, 0]


def test_names_of_arguments():
    layer = nn.AdaptiveLogSoftmaxWithLoss(4, 6, [2])
    result = layer(input_=torch.rand(3, 4), target_=torch.tensor([0, 3, 5]))
    assert result.output.shape == (3,)


@pytest.mark.parametrize("name, dtype", [
    ("double", torch.float64), ("half", torch.float16), ("long", torch.int64),
    ("int", torch.int32), ("short", torch.int16), ("char", torch.int8), ("byte", torch.uint8),
    ("float", torch.float32),
])
def test_casts_of_packed_sequences(name, dtype):
    packed = nn.utils.rnn.pack_sequence([torch.ones(3), torch.ones(2)])
    made = getattr(packed, name)()
    assert made.data.dtype == dtype and type(made) is type(packed)
    assert torch.equal(made.batch_sizes, packed.batch_sizes)
    assert packed.cpu(dtype=torch.float64).data.dtype == torch.float64


def test_packed_sequences_of_one_argument():
    pair = (torch.ones(3), torch.tensor([2, 1]))
    made = nn.utils.rnn.PackedSequence(pair)
    assert made.data is pair[0] and made.batch_sizes is pair[1]
    with pytest.raises(AssertionError, match="Expected data to be a list or tuple of length 2"):
        nn.utils.rnn.PackedSequence(torch.ones(2))


@pytest.mark.parametrize("target", [[1.5, 0.5], [-0.1, 0.5], [float("nan"), 0.5]])
@pytest.mark.parametrize("reduction", ["none", "mean"])
def test_binary_targets_are_chances(target, reduction):
    loss = nn.BCELoss(reduction=reduction)
    with pytest.raises(RuntimeError, match="all elements of target should be between 0 and 1"):
        loss(torch.tensor([0.5, 0.5]), torch.tensor(target))
    with pytest.raises(RuntimeError, match="all elements of input should be between 0 and 1"):
        loss(torch.tensor(target), torch.tensor([0.5, 0.5]))


@pytest.mark.parametrize("reduction", ["none", "mean", "sum"])
@pytest.mark.parametrize("wide", [torch.float32, torch.float64])
def test_weights_leave_the_dtype_of_losses(reduction, wide):
    x = torch.tensor([0.25, 0.5], dtype=torch.bfloat16, requires_grad=True)
    weight = torch.tensor([1.0, 2.0], dtype=wide)
    target = torch.tensor([1.0, 0.0], dtype=torch.bfloat16)
    losses = [nn.functional.binary_cross_entropy(x, target, weight, reduction=reduction),
              nn.functional.binary_cross_entropy_with_logits(
                  x, target, weight, pos_weight=weight, reduction=reduction)]
    assert [loss.dtype for loss in losses] == [torch.bfloat16] * 2
    assert torch.autograd.grad(sum(losses).sum(), x)[0].dtype is torch.bfloat16


def test_smooth_loss_without_a_smooth_part():
    x, y = torch.arange(4), torch.tensor([0, 3, 1, 3])
    assert nn.SmoothL1Loss(beta=0, reduction="sum")(x, y).item() == 3
    z = torch.tensor([3 + 4j, 0j])
    assert nn.SmoothL1Loss(beta=0)(z, torch.zeros_like(z)).item() == 2.5


def test_unpadded_sequences_are_copies():
    padded = torch.arange(6.0).reshape(3, 2)
    rows = nn.utils.rnn.unpad_sequence(padded, torch.tensor([3, 1]))
    rows[0].zero_()
    assert rows[0].is_contiguous() and padded[:, 0].tolist() == [0.0, 2.0, 4.0]


@pytest.mark.parametrize("rank", [1, 2, 3])
def test_averages_of_no_channels(rank):
    layer = getattr(nn, f"AdaptiveAvgPool{rank}d")(2)
    x = torch.ones(2, 0, *[3] * rank, requires_grad=True)
    made = layer(x)
    made.sum().backward()
    assert made.shape == (2, 0, *[2] * rank) and x.grad.shape == x.shape
    with pytest.raises(RuntimeError, match="with dimension 2 being empty"):
        layer(torch.ones(2, 3, *[0] * rank))


def test_empty_batches_leave_running_statistics():
    layer = nn.BatchNorm2d(3)
    made = layer(torch.empty(0, 3, 4, 4, requires_grad=True))
    made.sum().backward()
    assert layer.running_mean.tolist() == [0.0] * 3 and layer.running_var.tolist() == [1.0] * 3
    assert layer.num_batches_tracked == 1 and layer.weight.grad.tolist() == [0.0] * 3


def test_attention_that_programs_view():
    layer = nn.MultiheadAttention(4, 2, batch_first=True).eval()
    x = torch.rand(2, 3, 4)
    with torch.no_grad():
        assert layer(x, x, x)[0].view(2, 12).shape == (2, 12)
    assert layer(x, x, x)[0].stride() == (4, 8, 1)
