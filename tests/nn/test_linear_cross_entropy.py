"""The cross entropy of a linear layer: chunks give what the whole gives; options; refusals."""

import pytest

import yesca as torch
from yesca import nn
from yesca.nn import functional as F


def operands(dtype=torch.float64):
    line = torch.arange(35, dtype=torch.float64)
    x = line.cos().reshape(7, 5).to(dtype).requires_grad_()
    weight = (torch.arange(55, dtype=torch.float64) * 1.3).sin().reshape(11, 5).to(dtype)
    bias = torch.linspace(-1, 1, 11, dtype=dtype)
    target = torch.tensor([3, 0, -100, 10, 7, 7, 1])
    return x, weight.requires_grad_(), bias.requires_grad_(), target


def loss_and_gradients(dtype, options, reduction):
    x, weight, bias, target = operands(dtype)
    scale = torch.linspace(0.5, 1.5, 11, dtype=dtype)
    loss = F.linear_cross_entropy(x, weight, target, linear_bias=bias, weight=scale,
                                  reduction=reduction, options=options)
    loss.backward(torch.full_like(loss, 0.5))
    return [loss, x.grad, weight.grad, bias.grad]


@pytest.mark.parametrize("dtype", [torch.float64, torch.bfloat16])
@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
@pytest.mark.parametrize("size", [None, 1, 3, 50])
def test_chunks_give_what_the_whole_gives(dtype, reduction, size):
    found = loss_and_gradients(dtype, nn.LinearCrossEntropyOptions(batch_chunk_size=size),
                               reduction)
    for got, whole in zip(found, loss_and_gradients(torch.float64, None, reduction), strict=True):
        assert got.dtype is dtype and got.shape == whole.shape
        error = (got.double() - whole).abs().max()
        assert error <= (1e-12 if dtype is torch.float64 else 0.02) * whole.abs().max()


def test_gradients_of_chunks_are_used_once():
    x, weight, _, target = operands()
    loss = F.linear_cross_entropy(x, weight, target, options=nn.LinearCrossEntropyOptions())
    loss.backward(retain_graph=True)
    first = x.grad.clone()
    with pytest.raises(RuntimeError, match="chunked backward called twice"):
        loss.backward()
    again = nn.LinearCrossEntropyOptions(allow_retain_graph=True)
    loss = F.linear_cross_entropy(x, weight, target, options=again)
    loss.backward(retain_graph=True)
    loss.backward()
    assert torch.allclose(x.grad, 3 * first)


def test_what_chunks_cannot_do_is_done_as_a_whole():
    x, weight, _, target = operands()
    with pytest.warns(UserWarning, match="``options`` ignored; chunked path needs reduction in"):
        smooth = F.linear_cross_entropy(x, weight, target, label_smoothing=0.2,
                                        options=nn.LinearCrossEntropyOptions())
    assert torch.equal(smooth, F.cross_entropy(F.linear(x, weight), target, label_smoothing=0.2))


def test_single_rows():
    x, weight, _, target = operands()
    options = nn.LinearCrossEntropyOptions()
    for reduction in ("mean", "none"):
        whole = F.linear_cross_entropy(x[0], weight, target[0], reduction=reduction)
        part = F.linear_cross_entropy(x[0], weight, target[0], reduction=reduction,
                                      options=options)
        assert part.shape == () and torch.allclose(whole, part)


@pytest.mark.parametrize(("shapes", "text"), [
    (((2, 3, 4), (2, 4)), "expected input with dimensionality 1 or 2, got 3"),
    (((2, 4), (4,)), "expected linear_weight with dimensionality at least 2, got 1"),
    (((2, 4), (3, 5)), r"last dimensions \(in_features\), got 4 and 5, respectively"),
    (((4,), (3, 2, 4)), r"requires batched input, \(N, 4\), got unbatched input"),
    (((2, 4), (3, 4), (4,)), r"expected linear_bias shape \(3,\), got \(4,\)"),
])
def test_shapes_that_do_not_fit(shapes, text):
    x, weight, *bias = map(torch.ones, shapes)
    with pytest.raises(RuntimeError, match=text):
        F.linear_cross_entropy(x, weight, torch.zeros(2, dtype=torch.int64),
                               linear_bias=bias[0] if bias else None)


def test_probabilities_ignore_no_class():
    with pytest.raises(RuntimeError, match="ignore_index cannot be specified"):
        F.linear_cross_entropy(torch.ones(2, 4), torch.ones(3, 4), torch.ones(2, 3),
                               ignore_index=1)


@pytest.mark.parametrize(("options", "text"), [
    ({"acc_policy": "x"}, "invalid acc_policy: 'x'"),
    ({"chunking_method": "aspect_ratio:0"}, "invalid chunking_method"),
    ({"batch_chunk_size": 0}, "batch_chunk_size must be positive int or None, got 0"),
    ({"acc_dtype": torch.int64}, "acc_dtype must be one of"),
])
def test_options_that_are_none(options, text):
    with pytest.raises(ValueError, match=text):
        nn.LinearCrossEntropyOptions(**options)


def test_sizes_of_chunks():
    sizes = [nn.LinearCrossEntropyOptions(chunking_method=method)._adjust(
        1000, 64, 1024, torch.float32, torch.device("cpu")).batch_chunk_size
        for method in ("aspect_ratio", "aspect_ratio:4", "auto", None)]
    assert sizes == [64, 16, 32, 1000]
    clash = nn.LinearCrossEntropyOptions(batch_chunk_size=7, chunking_method="aspect_ratio")
    with pytest.raises(ValueError, match="give different chunk sizes"):
        clash._adjust(1000, 64, 1024, torch.float32)
    with pytest.raises(RuntimeError, match="supports float32 acc_dtype with float16/bfloat16"):
        F.linear_cross_entropy(torch.ones(2, 4), torch.ones(3, 4), torch.zeros(2).long(),
                               options=nn.LinearCrossEntropyOptions(acc_dtype=torch.float64))
