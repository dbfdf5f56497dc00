"""The softmax whose rare classes have layers of their own."""

import pytest

import yesca as torch


def model(**options):
    torch.manual_seed(0)
    return torch.nn.AdaptiveLogSoftmaxWithLoss(8, 20, [5, 10], div_value=2.0, **options)


@pytest.mark.parametrize("head_bias", [False, True])
def test_losses_are_those_of_all_probabilities(head_bias):
    softmax = model(head_bias=head_bias)
    x = torch.randn(6, 8, requires_grad=True)
    target = torch.tensor([0, 4, 5, 9, 10, 19])
    made = softmax(x, target)
    every = softmax.log_prob(x)
    assert torch.allclose(every.exp().sum(1), torch.ones(6))
    assert torch.allclose(made.output, every.gather(1, target[:, None])[:, 0])
    assert torch.allclose(made.loss, torch.nn.functional.nll_loss(every, target))
    assert softmax.predict(x).tolist() == every.argmax(1).tolist()
    wanted = torch.autograd.grad(torch.nn.functional.nll_loss(every, target), x)[0]
    assert torch.allclose(torch.autograd.grad(made.loss, x)[0], wanted, atol=1e-6)
    assert torch.allclose(softmax(x[3], target[3]).output, made.output[3])


def test_its_layers():
    shapes = {name: tuple(p.shape) for name, p in model().named_parameters()}
    assert shapes == {"head.weight": (7, 8), "tail.0.0.weight": (4, 8), "tail.0.1.weight": (5, 4),
                      "tail.1.0.weight": (2, 8), "tail.1.1.weight": (10, 2)}


@pytest.mark.parametrize("cutoffs", [[5, 30], [5, 5], [0, 5], [6, 5], [2.5]])
def test_cutoffs(cutoffs):
    with pytest.raises(ValueError, match="cutoffs should be a sequence of unique, positive integ"):
        torch.nn.AdaptiveLogSoftmaxWithLoss(8, 20, cutoffs)
    with pytest.raises(ValueError, match="length larger than 0"):
        torch.nn.AdaptiveLogSoftmaxWithLoss(8, 20, [])


@pytest.mark.parametrize(("sizes", "target", "words"), [
    ((3, 8), [1, 2], "same size in the batch"), ((3, 8), 1, "0D target tensor expects 1D input"),
    ((3, 8, 1), [1, 2, 3], "1D target tensor expects 2D input"),
    ((3, 8), [[1]], "multi-target not supported"), ((2, 8), [1, 20], r"should be in \[0, 19\]"),
    ((2, 8), [1, -1], r"should be in \[0, 19\]")])
def test_shapes_and_targets(sizes, target, words):
    with pytest.raises(RuntimeError, match=words):
        model()(torch.ones(sizes), torch.tensor(target))
