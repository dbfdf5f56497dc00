"""Schedulers: their values, the order of calls, saving and loading."""

import math
import warnings

import pytest

import yesca as torch
from yesca.optim import SGD, Adam
from yesca.optim import lr_scheduler as lr

STEPS = 24


def optimizer_of(rates=(0.1,), kind=SGD, **options):
    groups = [
        {"params": [torch.ones(1, requires_grad=True)], "lr": rate} for rate in rates
    ]
    return kind(groups, **options)


def rates_of(scheduler, steps=STEPS):
    """The rate of the first group at each step, the first included."""
    yield float(scheduler.optimizer.param_groups[0]["lr"])
    for _ in range(steps):
        scheduler.optimizer.step()
        scheduler.step()
        assert scheduler.get_last_lr()[0] == scheduler.optimizer.param_groups[0]["lr"]
        yield float(scheduler.optimizer.param_groups[0]["lr"])


def half_cosine(base, least, part):
    return least + (base - least) * (1 + math.cos(math.pi * part)) / 2


CASES = [
    (lambda o: lr.LambdaLR(o, lambda t: 0.9**t), lambda t: 0.1 * 0.9**t),
    (lambda o: lr.MultiplicativeLR(o, lambda t: 0.9), lambda t: 0.1 * 0.9**t),
    (lambda o: lr.StepLR(o, 4, 0.5), lambda t: 0.1 * 0.5 ** (t // 4)),
    (
        lambda o: lr.MultiStepLR(o, [3, 7, 7], 0.5),
        lambda t: 0.1 * 0.5 ** ((t >= 3) + 2 * (t >= 7)),
    ),
    (lambda o: lr.ConstantLR(o, 0.25, 6), lambda t: 0.025 if t < 6 else 0.1),
    (lambda o: lr.LinearLR(o, 0.5, 1.0, 10), lambda t: 0.1 * (0.5 + 0.05 * min(t, 10))),
    (lambda o: lr.ExponentialLR(o, 0.9), lambda t: 0.1 * 0.9**t),
    (lambda o: lr.PolynomialLR(o, 10, 2.0), lambda t: 0.1 * (1 - min(t, 10) / 10) ** 2),
    (lambda o: lr.CosineAnnealingLR(o, 5, 0.01), lambda t: half_cosine(0.1, 0.01, t / 5)),
    (
        lambda o: lr.CosineAnnealingWarmRestarts(o, 4, 1, 0.01),
        lambda t: half_cosine(0.1, 0.01, t % 4 / 4),
    ),
    (
        lambda o: lr.CosineAnnealingWarmRestarts(o, 8, 2),
        lambda t: half_cosine(0.1, 0, t / 8 if t < 8 else ((t - 8) / 16) % 1),
    ),
    (
        lambda o: lr.CyclicLR(o, 0.1, 0.3, 4, 2, cycle_momentum=False),
        lambda t: 0.1 + 0.2 * (t % 6 / 4 if t % 6 <= 4 else (6 - t % 6) / 2),
    ),
    (
        lambda o: lr.SequentialLR(
            o, [lr.ConstantLR(o, 0.5, 100), lr.ExponentialLR(o, 0.9)], [5]
        ),
        lambda t: 0.05 if t < 5 else 0.1 * 0.9 ** (t - 5),
    ),
    (
        lambda o: lr.ChainedScheduler([lr.ConstantLR(o, 0.5, 3), lr.ExponentialLR(o, 0.9)]),
        lambda t: (0.05 if t < 3 else 0.1) * 0.9**t,
    ),
]


@pytest.mark.parametrize(("make", "rule"), CASES)
def test_rates(make, rule):
    actual = list(rates_of(make(optimizer_of())))
    assert actual == pytest.approx([rule(t) for t in range(STEPS + 1)], abs=1e-12)


@pytest.mark.parametrize(("make", "rule"), CASES)
def test_rates_that_are_tensors_are_changed_in_place(make, rule):
    optimizer = optimizer_of([torch.tensor(0.1)])
    rate = optimizer.param_groups[0]["lr"]
    actual = list(rates_of(make(optimizer), 6))
    assert optimizer.param_groups[0]["lr"] is rate
    assert actual == pytest.approx([rule(t) for t in range(7)], abs=1e-6)


@pytest.mark.parametrize(("make", "rule"), CASES)
def test_loading_continues(make, rule):
    scheduler = make(optimizer_of())
    list(rates_of(scheduler, 7))
    resumed = make(optimizer_of())
    resumed.optimizer.load_state_dict(scheduler.optimizer.state_dict())
    resumed.load_state_dict(scheduler.state_dict())
    assert resumed.get_last_lr() == scheduler.get_last_lr()
    following = list(rates_of(resumed, 5))[1:]
    assert following == pytest.approx([rule(t) for t in range(8, 13)], abs=1e-12)
    assert "optimizer" not in scheduler.state_dict()


@pytest.mark.parametrize(("make", "rule"), CASES[:9])
def test_a_given_epoch_uses_the_closed_form(make, rule):
    scheduler = make(optimizer_of())
    scheduler.optimizer.step()
    if isinstance(scheduler, lr.MultiplicativeLR):
        return  # has none
    with pytest.warns(UserWarning, match="The epoch parameter in `scheduler.step"):
        scheduler.step(8)
    assert scheduler.get_last_lr() == pytest.approx([rule(8)])


def test_each_group_has_its_rate():
    scheduler = lr.LambdaLR(optimizer_of((1.0, 2.0)), [lambda t: 0.5**t, lambda t: 1.0])
    scheduler.optimizer.step()
    scheduler.step()
    assert scheduler.get_last_lr() == [0.5, 2.0]
    assert scheduler.base_lrs == [1.0, 2.0]


def test_one_cycle_moves_rate_and_momentum_against_each_other():
    optimizer = optimizer_of(momentum=0.9)
    scheduler = lr.OneCycleLR(optimizer, 1.0, total_steps=21, pct_start=0.5, div_factor=10.0)
    rates, momenta = [], []
    for _ in range(21):
        rates.append(optimizer.param_groups[0]["lr"])
        momenta.append(optimizer.param_groups[0]["momentum"])
        optimizer.step()
        scheduler.step()
    assert rates[0] == pytest.approx(0.1)
    assert rates[20] == pytest.approx(1e-5)
    assert max(rates) == pytest.approx(1.0, abs=0.01)
    assert momenta[0] == pytest.approx(0.95)
    assert min(momenta) == pytest.approx(0.85, abs=0.01)
    assert rates.index(max(rates)) == momenta.index(min(momenta))
    optimizer.step()
    with pytest.raises(ValueError, match="Tried to step 22 times"):
        scheduler.step()


def test_one_cycle_of_three_linear_phases():
    optimizer = optimizer_of(kind=Adam)
    scheduler = lr.OneCycleLR(
        optimizer,
        1.0,
        epochs=4,
        steps_per_epoch=5,
        pct_start=0.25,
        anneal_strategy="linear",
        div_factor=5.0,
        three_phase=True,
    )
    assert optimizer.param_groups[0]["betas"] == (0.95, 0.999)
    rates = list(rates_of(scheduler, 19))
    assert rates[:5] == pytest.approx([0.2, 0.4, 0.6, 0.8, 1.0])
    assert rates[8] == pytest.approx(0.2)
    assert rates[19] == pytest.approx(0.2e-4)


def test_cyclic_heights():
    scheduler = lr.CyclicLR(optimizer_of(momentum=0.9), 0.0, 1.0, 2, mode="triangular2")
    halved = list(rates_of(scheduler))
    assert halved[2::4][:3] == pytest.approx([1.0, 0.5, 0.25])
    optimizer = optimizer_of(momentum=0.9)
    scheduler = lr.CyclicLR(optimizer, 0.0, 1.0, 2, mode="exp_range", gamma=0.5)
    assert optimizer.param_groups[0]["momentum"] == 0.9
    assert list(rates_of(scheduler, 2))[2] == pytest.approx(0.25)
    assert optimizer.param_groups[0]["momentum"] == pytest.approx(0.9 - 0.1 * 0.25)
    custom = lr.CyclicLR(
        optimizer_of(), 0.0, 1.0, 2, scale_fn=lambda cycle: 1 / cycle, cycle_momentum=False
    )
    assert list(rates_of(custom))[2::4][:3] == pytest.approx([1.0, 0.5, 1 / 3])
    assert custom.state_dict()["_scale_fn_custom"] is None


def plateau_rates(scheduler, metrics):
    for metric in metrics:
        scheduler.step(metric)
        yield scheduler.get_last_lr()[0]


def test_plateau_counts_bad_steps():
    scheduler = lr.ReduceLROnPlateau(optimizer_of([1.0]), factor=0.5, patience=2)
    metrics = [3.0, 3.0, 3.0, 3.0, 2.0, 2.0, torch.tensor(2.0), 2.0]
    assert list(plateau_rates(scheduler, metrics)) == [1, 1, 1, 0.5, 0.5, 0.5, 0.5, 0.25]
    assert scheduler.best == 2.0


def test_plateau_cooldown_and_least_rate():
    scheduler = lr.ReduceLROnPlateau(
        optimizer_of([1.0]), "max", 0.5, patience=0, cooldown=2, min_lr=0.3
    )
    assert list(plateau_rates(scheduler, [1.0] * 6)) == [1, 0.5, 0.5, 0.5, 0.3, 0.3]
    saved = scheduler.state_dict()
    resumed = lr.ReduceLROnPlateau(optimizer_of([1.0]))
    resumed.load_state_dict(saved)
    assert (resumed.mode, resumed.best, resumed.in_cooldown) == ("max", 1.0, True)


@pytest.mark.parametrize(
    ("mode", "threshold_mode", "value", "better"),
    [
        ("min", "rel", 89.0, True),
        ("min", "rel", 91.0, False),
        ("min", "abs", 99.8, True),
        ("max", "rel", 109.0, False),
        ("max", "rel", 111.0, True),
        ("max", "abs", 100.05, False),
    ],
)
def test_what_plateau_calls_better(mode, threshold_mode, value, better):
    scheduler = lr.ReduceLROnPlateau(
        optimizer_of(), mode, threshold=0.1, threshold_mode=threshold_mode
    )
    scheduler.step(100.0)
    scheduler.step(value)
    assert (scheduler.num_bad_epochs == 0) is better


def test_warm_restarts_at_a_fraction():
    scheduler = lr.CosineAnnealingWarmRestarts(optimizer_of(), 2, 2)
    scheduler.step(3.5)  # 1.5 steps into the second descent, of 4
    assert scheduler.get_last_lr() == pytest.approx([half_cosine(0.1, 0, 1.5 / 4)])
    assert (scheduler.T_i, scheduler.last_epoch) == (4, 3)


def test_the_order_of_steps_is_watched():
    scheduler = lr.StepLR(optimizer_of(), 2)
    with pytest.warns(UserWarning, match="before `optimizer.step"):
        scheduler.step()
    scheduler = lr.StepLR(optimizer_of(), 2)
    scheduler.optimizer.step()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        scheduler.step()
    with pytest.warns(UserWarning, match="please use `get_last_lr"):
        scheduler.get_lr()
    scheduler = lr.StepLR(optimizer_of(), 2)
    scheduler.optimizer.step = lambda: None
    with pytest.warns(UserWarning, match="has been overridden after"):
        scheduler.step()


def test_resuming_needs_the_initial_rate():
    with pytest.raises(KeyError, match="param 'initial_lr' is not specified in param_groups"):
        lr.StepLR(optimizer_of(), 2, last_epoch=3)
    optimizer = optimizer_of()
    scheduler = lr.CosineAnnealingLR(optimizer, 10)
    list(rates_of(scheduler, 3))
    resumed = lr.CosineAnnealingLR(optimizer, 10, last_epoch=2)
    assert resumed.get_last_lr() == pytest.approx([half_cosine(0.1, 0, 0.3)])


def test_attributes_of_callables_are_saved():
    class Decay:
        def __init__(self, base):
            self.base = base

        def __call__(self, step):
            return self.base**step

    scheduler = lr.LambdaLR(optimizer_of([1.0]), Decay(0.5))
    saved = scheduler.state_dict()
    assert saved["lr_lambdas"] == [{"base": 0.5}]
    other = lr.LambdaLR(optimizer_of([1.0]), Decay(0.9))
    other.load_state_dict(saved)
    assert saved["lr_lambdas"] == [{"base": 0.5}]
    assert list(rates_of(other, 1)) == [1.0, 0.5]


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda o: lr.StepLR(3, 2), TypeError, "int is not an Optimizer"),
        (lambda o: lr.LambdaLR(o, []), ValueError, "Expected 1 lr_lambdas, but got 0"),
        (lambda o: lr.MultiplicativeLR(o, 3), TypeError, "lr_lambda should be a function"),
        (lambda o: lr.ConstantLR(o, 1.5), ValueError, "expected to be between 0 and 1"),
        (lambda o: lr.LinearLR(o, 0.0), ValueError, "Starting multiplicative factor"),
        (lambda o: lr.LinearLR(o, 1.0, 2.0), ValueError, "Ending multiplicative factor"),
        (lambda o: lr.ReduceLROnPlateau(o, factor=1.0), ValueError, "Factor should be < 1.0"),
        (lambda o: lr.ReduceLROnPlateau(o, "least"), ValueError, "mode least is unknown!"),
        (lambda o: lr.ReduceLROnPlateau(o, min_lr=[0, 0]), ValueError, "expected 1 min_lrs"),
        (lambda o: lr.CyclicLR(o, 0.1, 1.0, mode="x"), ValueError, "mode is invalid"),
        (lambda o: lr.OneCycleLR(o, 1.0), ValueError, "You must define either total_steps"),
        (lambda o: lr.OneCycleLR(o, [1.0, 2.0], 9), ValueError, "max_lr must have the same"),
        (lambda o: lr.CosineAnnealingWarmRestarts(o, 0), ValueError, "positive integer T_0"),
        (lambda o: lr.SequentialLR(o, [], []), ValueError, "at least one scheduler"),
        (
            lambda o: lr.SequentialLR(o, [lr.StepLR(o, 1)], [1]),
            ValueError,
            "one more than the number of milestone points",
        ),
        (
            lambda o: lr.ChainedScheduler([lr.ReduceLROnPlateau(o)]),
            ValueError,
            "does not support `ReduceLROnPlateau`",
        ),
        (
            lambda o: lr.SequentialLR(o, [lr.StepLR(optimizer_of(), 1)], []),
            ValueError,
            "expects all schedulers to belong to the same optimizer",
        ),
    ],
)
def test_errors(make, error, message):
    with pytest.raises(error, match=message):
        make(optimizer_of())


def test_momentum_cycles_need_a_momentum():
    optimizer = torch.optim.Adagrad([torch.ones(1, requires_grad=True)])
    with pytest.raises(ValueError, match="optimizer must support momentum or beta1"):
        lr.CyclicLR(optimizer, 0.1, 1.0)
    with pytest.raises(ValueError, match="optimizer must support momentum or beta1"):
        lr.OneCycleLR(optimizer, 1.0, total_steps=3)
