"""Losses: values, reductions, errors, derivatives."""

import numpy as np
import pytest
from finite_differences import array, check_gradients, tensor, values

import yesca as torch
from yesca import functional as ops
from yesca.runtime import plan


def log_soft(x, axis=1):
    below = x - x.max(axis, keepdims=True)
    return below - np.log(np.exp(below).sum(axis, keepdims=True))


def one_hot(t, classes):
    return np.eye(classes)[t]


# ---- classification --------------------------------------------------------------------------

@pytest.mark.parametrize("smoothing", [0.0, 0.2])
@pytest.mark.parametrize("weighted", [False, True])
def test_cross_entropy(weighted, smoothing):
    x, t = values((4, 5)) * 3, np.array([1, 4, -100, 0])
    w = np.abs(values((5,), 1)) if weighted else np.ones(5)
    kept = t >= 0
    lp = log_soft(x)[kept] * w
    losses = -(1 - smoothing) * lp[np.arange(3), t[kept]] - smoothing / 5 * lp.sum(1)
    options = dict(weight=tensor(w) if weighted else None, label_smoothing=smoothing)
    target = torch.tensor(t.tolist())
    total = ops.cross_entropy(tensor(x), target, reduction="sum", **options)
    assert total.item() == pytest.approx(losses.sum(), rel=1e-12)
    mean = ops.cross_entropy(tensor(x), target, **options)
    assert mean.item() == pytest.approx(losses.sum() / w[t[kept]].sum(), rel=1e-12)
    each = array(ops.cross_entropy(tensor(x), target, reduction="none", **options))
    np.testing.assert_allclose(each[kept], losses, rtol=1e-12)
    assert each[2] == 0


def test_cross_entropy_of_images_and_of_one_sample():
    x, t = values((2, 3, 4, 20)), (np.arange(160) % 3).reshape(2, 4, 20)
    wanted = -np.take_along_axis(log_soft(x), t[:, None], 1)[:, 0]
    each = ops.cross_entropy(tensor(x), torch.tensor(t.tolist()), reduction="none")
    np.testing.assert_allclose(array(each), wanted, rtol=1e-12)
    one = ops.cross_entropy(tensor(x[0, :, 0, 0]), torch.tensor(1))
    assert one.item() == pytest.approx(-log_soft(x)[0, 1, 0, 0])


@pytest.mark.parametrize("smoothing", [0.0, 0.2])
def test_cross_entropy_with_probabilities(smoothing):
    x, t = values((4, 5)), np.abs(values((4, 5), 1))
    wanted = -(log_soft(x) * (t * (1 - smoothing) + smoothing / 5)).sum() / 4
    made = ops.cross_entropy(tensor(x), tensor(t), label_smoothing=smoothing)
    assert made.item() == pytest.approx(wanted, rel=1e-12)


def test_errors_of_cross_entropy():
    x = torch.zeros(2, 3)
    with pytest.raises(RuntimeError, match="expected scalar type Long but found Int"):
        ops.cross_entropy(x, torch.tensor([0, 1], dtype=torch.int32))
    with pytest.raises(RuntimeError, match="expected target dtype to be Long or Byte, but got Int"):
        ops.cross_entropy(x, torch.tensor([0, 1], dtype=torch.int32))
    with pytest.raises(IndexError, match="Target 7 is out of bounds"):
        ops.cross_entropy(x, torch.tensor([0, 7]))
    with pytest.raises(ValueError, match=r"input batch_size \(2\) to match target batch_size \(1"):
        ops.cross_entropy(x, torch.tensor([0]))
    with pytest.raises(ValueError, match="foo is not a valid value for reduction"):
        ops.cross_entropy(x, torch.tensor([0, 1]), reduction="foo")
    with pytest.raises(RuntimeError, match="weight tensor should be defined either for all 3"):
        ops.cross_entropy(x, torch.tensor([0, 1]), torch.zeros(2))


def test_nothing_but_ignored_targets():
    x = torch.zeros(2, 3, requires_grad=True)
    made = ops.cross_entropy(x, torch.tensor([-100, -100]))
    assert np.isnan(made.item())
    made.backward()
    assert x.grad.tolist() == [[0, 0, 0], [0, 0, 0]]


def test_logits_may_be_overwritten_after_the_loss():
    x = tensor(values((3, 4))).requires_grad_()
    logits = x * 1
    made = ops.cross_entropy(logits, torch.tensor([0, 1, 2]))
    logits.detach().zero_()
    made.backward()
    wanted = (np.exp(log_soft(values((3, 4)))) - one_hot([0, 1, 2], 4)) / 3
    np.testing.assert_allclose(array(x.grad), wanted, rtol=1e-12)


@pytest.mark.parametrize("reduction", ["mean", "none"])
@pytest.mark.parametrize("options", [{}, {"label_smoothing": 0.1}])
def test_gradients_of_cross_entropy(reduction, options):
    t = torch.tensor([1, -100, 0])
    w = tensor(np.abs(values((4,), 5)))
    check_gradients(lambda x: ops.cross_entropy(x, t, w, reduction=reduction, **options), [(3, 4)])
    check_gradients(lambda x, y: ops.cross_entropy(x, y, w, reduction=reduction, **options),
                    [(3, 4), (3, 4)])


def test_nll_loss():
    x, t = values((3, 4)), [1, -100, 0]
    made = ops.nll_loss(tensor(x), torch.tensor(t), reduction="none")
    assert made.tolist() == [-x[0, 1], 0, -x[2, 0]]
    assert ops.nll_loss(tensor(x), torch.tensor(t)).item() == pytest.approx(
        -(x[0, 1] + x[2, 0]) / 2)
    check_gradients(lambda x: ops.nll_loss(x, torch.tensor(t)), [(3, 4)])


def test_names_of_nodes_and_launches():
    x = tensor(values((6, 5)), torch.float32).requires_grad_()
    target = torch.tensor([0, 1, 2, 3, 4, 0])
    before = plan.launches
    made = ops.cross_entropy(x, target)
    assert plan.launches - before == 1
    assert type(made.grad_fn).__name__ == "NllLossBackward0"
    images = ops.cross_entropy(x.reshape(2, 3, 5), torch.zeros(2, 5, dtype=torch.int64))
    assert type(images.grad_fn).__name__ == "NllLoss2DBackward0"


# ---- elementwise -----------------------------------------------------------------------------

ELEMENTWISE = {
    "mse_loss": (lambda x, y: (x - y) ** 2, {}),
    "l1_loss": (lambda x, y: np.abs(x - y), {}),
    "smooth_l1_loss": (lambda x, y: np.where(np.abs(x - y) < 0.7, (x - y) ** 2 / 1.4,
                                             np.abs(x - y) - 0.35), {"beta": 0.7}),
    "huber_loss": (lambda x, y: np.where(np.abs(x - y) <= 0.7, (x - y) ** 2 / 2,
                                         0.7 * (np.abs(x - y) - 0.35)), {"delta": 0.7}),
    "soft_margin_loss": (lambda x, y: np.log1p(np.exp(-x * y)), {}),
    "binary_cross_entropy_with_logits": (
        lambda x, y: (1 - y) * x + np.log1p(np.exp(-x)), {}),
    "kl_div": (lambda x, y: np.exp(y) * (y - x), {"log_target": True}),
}


@pytest.mark.parametrize("name", ELEMENTWISE)
def test_elementwise(name):
    reference, options = ELEMENTWISE[name]
    x, y = values((3, 5)), values((3, 5), 1)
    function = getattr(ops, name)
    wanted = reference(x, y)
    for reduction, value in (("none", wanted), ("mean", wanted.mean()), ("sum", wanted.sum())):
        made = function(tensor(x), tensor(y), reduction=reduction, **options)
        np.testing.assert_allclose(array(made), value, rtol=1e-12)
    check_gradients(lambda x, y: function(x, y, **options), [(2, 3), (2, 3)])


def test_binary_cross_entropy():
    x, t = np.array([0.0, 1.0, 0.25]), np.array([0.0, 1.0, 0.5])
    made = ops.binary_cross_entropy(tensor(x), tensor(t), reduction="none")
    assert made.tolist() == pytest.approx([0, 0, -0.5 * np.log(0.25) - 0.5 * np.log(0.75)])
    assert ops.binary_cross_entropy(tensor(x), tensor(1 - t), reduction="none")[0].item() == 100
    with pytest.raises(RuntimeError, match="all elements of input should be between 0 and 1"):
        ops.binary_cross_entropy(tensor(x * 5), tensor(t))


def test_positive_weight_and_extreme_logits():
    x = torch.tensor([1000.0, -1000.0, 0.5], requires_grad=True)
    made = ops.binary_cross_entropy_with_logits(x, torch.tensor([1.0, 0.0, 1.0]),
                                                pos_weight=torch.tensor([2.0, 2.0, 2.0]))
    assert made.item() == pytest.approx(2 * np.log1p(np.exp(-0.5)) / 3)
    made.backward()
    assert x.grad.tolist() == pytest.approx([0, 0, -2 / (1 + np.exp(0.5)) / 3])
    check_gradients(lambda x, y, w, p: ops.binary_cross_entropy_with_logits(x, y, w, p),
                    [(2, 3), (2, 3), (3,), (3,)])


def test_integers_are_refused_and_broadcasts_are_summed():
    with pytest.raises(NotImplementedError, match="\"mse_cpu\" not implemented for 'Long'"):
        ops.mse_loss(torch.tensor([1]), torch.tensor([2]))
    check_gradients(lambda x, y: ops.mse_loss(x, y), [(2, 3), (3,)])


# ---- alignments and margins ------------------------------------------------------------------

def test_ctc_loss_counts_all_alignments():
    # two frames, one label: "a a", "a -", "- a"
    p = np.array([[0.5, 0.5], [0.25, 0.75]])
    lp = tensor(np.log(p)[:, None])
    wanted = -np.log(0.5 * 0.75 + 0.5 * 0.25 + 0.5 * 0.75)
    made = ops.ctc_loss(lp, torch.tensor([[1]]), (2,), (1,), reduction="none")
    assert made.tolist() == pytest.approx([wanted])
    twice = ops.ctc_loss(lp, torch.tensor([[1, 1]]), (2,), (2,), zero_infinity=True)
    assert twice.item() == 0  # a repeated label needs a blank between
    check_gradients(lambda x: ops.ctc_loss(
        ops.log_softmax(x, 2), torch.tensor([[1, 2], [2, 0]]), (4, 3), (2, 1)), [(4, 2, 3)],
        second=False)


def test_multilabel_margin_loss():
    x, t = [[0.1, 0.2, 0.4, 0.8]], [[3, 0, -1, 1]]
    wanted = sum(max(0, 1 - (x[0][y] - x[0][i])) for y in (3, 0) for i in (1, 2)) / 4
    made = ops.multilabel_margin_loss(torch.tensor(x), torch.tensor(t))
    assert made.item() == pytest.approx(wanted)


@pytest.mark.parametrize("loss", [ops.cross_entropy, ops.nll_loss])
@pytest.mark.parametrize("shape,outer", [((4, 0), (4,)), ((2, 0, 3), (2, 3)), ((0,), ())])
def test_no_classes_at_all(loss, shape, outer):
    """There is nothing to read: every target is out of bounds, or ignored."""
    x = torch.zeros(shape, requires_grad=True)
    with pytest.raises(IndexError, match="Target 0 is out of bounds"):
        loss(x, torch.zeros(outer, dtype=torch.int64))
    ignored = torch.full(outer, -100)
    assert loss(x, ignored, torch.ones(0), reduction="sum") == 0
    each = loss(x, ignored, reduction="none")
    assert torch.equal(each, torch.zeros(outer))
    each.sum().backward()
    assert x.grad.shape == shape
    assert ops.cross_entropy(x, ignored, reduction="sum", label_smoothing=0.1) == 0


def test_weights_widen_a_loss_of_probabilities():
    x, target = torch.ones(2, 3).bfloat16(), torch.ones(2, 3).bfloat16()
    assert ops.cross_entropy(x, target, torch.ones(3)).dtype is torch.float32
