"""Averaged models, their batch norms, and the schedule towards the averaging rate."""

import pytest

import yesca as torch
from yesca import nn
from yesca.optim import SGD
from yesca.optim import swa_utils as swa


def model(value=0.0):
    layer = nn.Linear(1, 1)
    with torch.no_grad():
        layer.weight.fill_(value)
        layer.bias.fill_(-value)
    return layer


def averaged(values, **options):
    result = swa.AveragedModel(model(7.0), **options)
    for value in values:
        result.update_parameters(model(value))
    return result


@pytest.mark.parametrize(
    "options",
    [{}, {"avg_fn": swa.get_swa_avg_fn()}, {"multi_avg_fn": swa.get_swa_multi_avg_fn()}],
)
def test_the_mean_of_models(options):
    result = averaged([1.0, 2.0, 6.0], **options)
    assert result.module.weight.item() == pytest.approx(3.0)
    assert result.module.bias.item() == pytest.approx(-3.0)
    assert result.n_averaged.item() == 3
    assert "module.weight" in result.state_dict()


@pytest.mark.parametrize("make", ["avg_fn", "multi_avg_fn"])
def test_the_exponential_mean(make):
    function = getattr(swa, f"get_ema_{make}")(0.5)
    result = averaged([4.0, 8.0, 2.0], **{make: function})
    assert result.module.weight.item() == pytest.approx(4.0)


def test_the_model_itself_is_left_alone():
    source = model(1.0)
    result = swa.AveragedModel(source)
    result.update_parameters(source)
    with torch.no_grad():
        source.weight.fill_(5.0)
    assert result.module.weight.item() == 1.0
    assert result(torch.zeros(1, 1)).item() == -1.0


@pytest.mark.parametrize(("use_buffers", "mean"), [(False, 4.0), (True, 3.0)])
def test_buffers_are_copied_or_averaged(use_buffers, mean):
    norm = nn.BatchNorm1d(1)
    result = swa.AveragedModel(norm, use_buffers=use_buffers)
    for value in (2.0, 4.0):
        norm.running_mean.fill_(value)
        norm.num_batches_tracked.fill_(int(value))
        result.update_parameters(norm)
    assert result.module.running_mean.item() == mean


def test_update_bn_takes_the_mean_over_batches():
    norm = nn.BatchNorm1d(1, momentum=0.1).eval()
    batches = [(torch.tensor([[0.0], [2.0]]), "target"), (torch.tensor([[4.0], [6.0]]), "target")]
    swa.update_bn(batches, norm)
    assert norm.running_mean.item() == pytest.approx(3.0)
    assert norm.running_var.item() == pytest.approx(2.0)
    assert norm.momentum == 0.1
    assert not norm.training
    swa.update_bn(None, model())  # nothing to do: the data are not touched


@pytest.mark.parametrize(
    ("strategy", "expected"),
    [("linear", [1.0, 0.75, 0.5, 0.5]), ("cos", [1.0, 0.75, 0.5, 0.5])],
)
def test_swalr_goes_to_its_rate_and_stays(strategy, expected):
    optimizer = SGD([torch.ones(1, requires_grad=True)], lr=1.0)
    scheduler = swa.SWALR(optimizer, 0.5, anneal_epochs=2, anneal_strategy=strategy)
    rates = [optimizer.param_groups[0]["lr"]]
    for _ in range(3):
        optimizer.step()
        scheduler.step()
        rates += scheduler.get_last_lr()
    assert rates == pytest.approx(expected)
    assert "anneal_func" not in scheduler.state_dict()


def test_errors():
    optimizer = SGD([torch.ones(1, requires_grad=True)], lr=1.0)
    with pytest.raises(ValueError, match="Invalid decay value 2"):
        swa.get_ema_avg_fn(2)
    with pytest.raises(AssertionError, match="Only one of avg_fn and multi_avg_fn"):
        averaged([], avg_fn=print, multi_avg_fn=print)
    with pytest.raises(ValueError, match="anneal_strategy must be one of"):
        swa.SWALR(optimizer, 0.5, anneal_strategy="steps")
    with pytest.raises(ValueError, match="anneal_epochs must be equal or greater than 0"):
        swa.SWALR(optimizer, 0.5, anneal_epochs=-1)
