"""Every optimizer against its rule in plain Python numbers, step by step.

A rule (`by_...`) treats one element. It is a generator: it is sent a gradient, and yields the new
value of the parameter.
"""

from math import copysign, sqrt

import pytest

import yesca as torch
from yesca import optim

STEPS = 20


def by_sgd(x, lr, momentum=0, dampening=0, weight_decay=0, nesterov=False):
    buffer = None
    grad = yield x
    while True:
        grad += weight_decay * x
        if momentum:
            first = buffer is None
            buffer = grad if first else momentum * buffer + (1 - dampening) * grad
            grad = grad + momentum * buffer if nesterov else buffer
        x -= lr * grad
        grad = yield x


def by_adam(
    x,
    lr,
    betas=(0.9, 0.999),
    eps=1e-8,
    weight_decay=0,
    amsgrad=False,
    decoupled_weight_decay=False,
):
    beta1, beta2 = betas
    mean = square = greatest = step = 0
    grad = yield x
    while True:
        step += 1
        if decoupled_weight_decay:
            x *= 1 - lr * weight_decay
        else:
            grad += weight_decay * x
        mean = beta1 * mean + (1 - beta1) * grad
        square = beta2 * square + (1 - beta2) * grad**2
        greatest = max(greatest, square) if amsgrad else square
        root = sqrt(greatest / (1 - beta2**step))
        x -= lr * (mean / (1 - beta1**step)) / (root + eps)
        grad = yield x


def by_adamw(x, lr, weight_decay=1e-2, **options):
    return by_adam(x, lr, weight_decay=weight_decay, decoupled_weight_decay=True, **options)


def by_adagrad(x, lr, lr_decay=0, weight_decay=0, initial_accumulator_value=0, eps=1e-10):
    total, step = initial_accumulator_value, 0
    grad = yield x
    while True:
        grad += weight_decay * x
        total += grad**2
        x -= lr / (1 + step * lr_decay) * grad / (sqrt(total) + eps)
        step += 1
        grad = yield x


def by_rmsprop(x, lr, alpha=0.99, eps=1e-8, weight_decay=0, momentum=0, centered=False):
    square = mean = buffer = 0
    grad = yield x
    while True:
        grad += weight_decay * x
        square = alpha * square + (1 - alpha) * grad**2
        mean = alpha * mean + (1 - alpha) * grad
        scaled = grad / (sqrt(square - mean**2 if centered else square) + eps)
        buffer = momentum * buffer + scaled
        x -= lr * buffer
        grad = yield x


def by_adadelta(x, lr, rho=0.9, eps=1e-6, weight_decay=0):
    square = moved = 0
    grad = yield x
    while True:
        grad += weight_decay * x
        square = rho * square + (1 - rho) * grad**2
        delta = sqrt(moved + eps) / sqrt(square + eps) * grad
        moved = rho * moved + (1 - rho) * delta**2
        x -= lr * delta
        grad = yield x


def by_adamax(x, lr, betas=(0.9, 0.999), eps=1e-8, weight_decay=0):
    mean = largest = step = 0
    grad = yield x
    while True:
        step += 1
        grad += weight_decay * x
        mean = betas[0] * mean + (1 - betas[0]) * grad
        largest = max(betas[1] * largest, abs(grad) + eps)
        x -= lr / (1 - betas[0] ** step) * mean / largest
        grad = yield x


def by_nadam(
    x,
    lr,
    betas=(0.9, 0.999),
    eps=1e-8,
    weight_decay=0,
    momentum_decay=4e-3,
    decoupled_weight_decay=False,
):
    beta1, beta2 = betas
    mean = square = step = 0
    product = 1
    grad = yield x
    while True:
        step += 1
        if decoupled_weight_decay:
            x *= 1 - lr * weight_decay
        else:
            grad += weight_decay * x
        mu = beta1 * (1 - 0.5 * 0.96 ** (step * momentum_decay))
        following = beta1 * (1 - 0.5 * 0.96 ** ((step + 1) * momentum_decay))
        product *= mu
        mean = beta1 * mean + (1 - beta1) * grad
        square = beta2 * square + (1 - beta2) * grad**2
        ahead = following * mean / (1 - product * following) + (1 - mu) * grad / (1 - product)
        x -= lr * ahead / (sqrt(square / (1 - beta2**step)) + eps)
        grad = yield x


def by_radam(
    x, lr, betas=(0.9, 0.999), eps=1e-8, weight_decay=0, decoupled_weight_decay=False
):
    beta1, beta2 = betas
    mean = square = step = 0
    limit = 2 / (1 - beta2) - 1
    grad = yield x
    while True:
        step += 1
        if decoupled_weight_decay:
            x *= 1 - lr * weight_decay
        else:
            grad += weight_decay * x
        mean = beta1 * mean + (1 - beta1) * grad
        square = beta2 * square + (1 - beta2) * grad**2
        update = mean / (1 - beta1**step)
        length = limit - 2 * step * beta2**step / (1 - beta2**step)
        if length > 5:
            above, below = (length - 4) * (length - 2) * limit, (limit - 4) * (limit - 2) * length
            update *= sqrt(above / below) * sqrt(1 - beta2**step) / (sqrt(square) + eps)
        x -= lr * update
        grad = yield x


def by_rprop(x, lr, etas=(0.5, 1.2), step_sizes=(1e-6, 50)):
    previous, size = 0, lr
    grad = yield x
    while True:
        if grad * previous < 0:
            factor, grad = etas[0], 0
        else:
            factor = etas[1] if grad * previous > 0 else 1
        size = min(max(size * factor, step_sizes[0]), step_sizes[1])
        if grad:
            x -= copysign(size, grad)
        previous = grad
        grad = yield x


def by_asgd(x, lr, lambd=1e-4, alpha=0.75, t0=1e6, weight_decay=0):
    step, eta = 0, lr
    grad = yield x
    while True:
        step += 1
        grad += weight_decay * x
        x = x * (1 - lambd * eta) - eta * grad
        eta = lr / (1 + lambd * lr * step) ** alpha
        grad = yield x


CASES = [
    (optim.SGD, by_sgd, {"lr": 0.1}),
    (optim.SGD, by_sgd, {"lr": 0.1, "momentum": 0.9, "weight_decay": 0.1}),
    (optim.SGD, by_sgd, {"lr": 0.1, "momentum": 0.9, "dampening": 0.5}),
    (optim.SGD, by_sgd, {"lr": 0.1, "momentum": 0.9, "nesterov": True}),
    (optim.Adam, by_adam, {"lr": 0.1}),
    (optim.Adam, by_adam, {"lr": 0.1, "betas": (0.5, 0.8), "eps": 0.01, "weight_decay": 0.1}),
    (optim.Adam, by_adam, {"lr": 0.1, "betas": (0.5, 0.5), "amsgrad": True}),
    (optim.Adam, by_adam, {"lr": 0.1, "weight_decay": 0.5, "decoupled_weight_decay": True}),
    (optim.AdamW, by_adamw, {"lr": 0.1, "weight_decay": 0.5}),
    (optim.AdamW, by_adamw, {"lr": 0.1, "betas": (0.5, 0.5), "amsgrad": True}),
    (optim.Adagrad, by_adagrad, {"lr": 0.1}),
    (optim.Adagrad, by_adagrad, {"lr": 0.1, "lr_decay": 0.1, "weight_decay": 0.1}),
    (optim.Adagrad, by_adagrad, {"lr": 0.1, "initial_accumulator_value": 0.5, "eps": 0.1}),
    (optim.RMSprop, by_rmsprop, {"lr": 0.01}),
    (optim.RMSprop, by_rmsprop, {"lr": 0.01, "momentum": 0.5, "weight_decay": 0.1}),
    (optim.RMSprop, by_rmsprop, {"lr": 0.01, "centered": True, "alpha": 0.9}),
    (optim.Adadelta, by_adadelta, {"lr": 1.0}),
    (optim.Adadelta, by_adadelta, {"lr": 0.5, "rho": 0.5, "weight_decay": 0.1}),
    (optim.Adamax, by_adamax, {"lr": 0.1}),
    (optim.Adamax, by_adamax, {"lr": 0.1, "betas": (0.5, 0.5), "weight_decay": 0.1}),
    (optim.NAdam, by_nadam, {"lr": 0.1, "weight_decay": 0.1}),
    (optim.NAdam, by_nadam, {"lr": 0.1, "weight_decay": 0.5, "decoupled_weight_decay": True}),
    (optim.RAdam, by_radam, {"lr": 0.1, "weight_decay": 0.1}),
    (optim.RAdam, by_radam, {"lr": 0.1, "weight_decay": 0.5, "decoupled_weight_decay": True}),
    (optim.Rprop, by_rprop, {"lr": 0.1}),
    (optim.Rprop, by_rprop, {"lr": 0.1, "etas": (0.3, 1.5), "step_sizes": (0.05, 0.2)}),
    (optim.ASGD, by_asgd, {"lr": 0.1, "lambd": 0.1, "weight_decay": 0.1}),
]
STARTS = [1.5, -0.5, 0.0]


def gradient(x, step):
    """Of a parabola whose bottom moves, so that signs change."""
    return x - 0.3 * (step % 5) + 0.2


def values_by(rule, start, options):
    states = rule(start, **options)
    x = next(states)
    for step in range(STEPS):
        x = states.send(gradient(x, step))
        yield x


def run(optimizer, sign=1):
    params = optimizer.param_groups[0]["params"]
    for step in range(STEPS):
        for param in params:
            param.grad = sign * gradient(param.detach(), step)
        optimizer.step()
        yield torch.cat([param.detach().reshape(-1) for param in params]).tolist()


def parameters(dtype=torch.float64):
    """Two tensors, so that lists of them are what is updated."""
    return [
        torch.tensor(STARTS[:2], dtype=dtype, requires_grad=True),
        torch.tensor(STARTS[2:], dtype=dtype, requires_grad=True),
    ]


def expected(rule, options):
    return list(zip(*(values_by(rule, start, options) for start in STARTS)))


@pytest.mark.parametrize(("optimizer", "rule", "options"), CASES)
def test_every_step_follows_the_rule(optimizer, rule, options):
    values = run(optimizer(parameters(), **options))
    for actual, wanted in zip(values, expected(rule, options), strict=True):
        assert actual == pytest.approx(wanted, rel=1e-6, abs=1e-6)


@pytest.mark.parametrize(("optimizer", "rule", "options"), CASES[::2])
def test_float32_and_a_tensor_as_rate(optimizer, rule, options):
    options = {**options, "lr": torch.tensor(options["lr"])}
    values = run(optimizer(parameters(torch.float32), **options))
    options["lr"] = options["lr"].item()
    for actual, wanted in zip(values, expected(rule, options), strict=True):
        assert actual == pytest.approx(wanted, rel=1e-4, abs=1e-4)


@pytest.mark.parametrize(("optimizer", "rule", "options"), CASES[::2])
def test_maximize_follows_the_negative_gradient(optimizer, rule, options):
    options = {**options, "maximize": True}
    values = run(optimizer(parameters(), **options), sign=-1)
    del options["maximize"]
    for actual, wanted in zip(values, expected(rule, options), strict=True):
        assert actual == pytest.approx(wanted, rel=1e-6, abs=1e-6)


@pytest.mark.parametrize("optimizer", [optim.SGD, optim.Adam, optim.AdamW])
def test_composed_form_is_the_same_rule(optimizer):
    """With `differentiable=True` the update is made of ordinary operators."""
    _, rule, options = next(case for case in CASES[1:] if case[0] is optimizer)
    params = [leaf.detach().clone() for leaf in parameters()]
    values = run(optimizer(params, differentiable=True, **options))
    for actual, wanted in zip(values, expected(rule, options), strict=True):
        assert actual == pytest.approx(wanted, rel=1e-5, abs=1e-5)


@pytest.mark.parametrize(
    ("optimizer", "names"),
    [
        (optim.Adam, ["step", "exp_avg", "exp_avg_sq"]),
        (optim.AdamW, ["step", "exp_avg", "exp_avg_sq"]),
        (optim.Adagrad, ["step", "sum"]),
        (optim.RMSprop, ["step", "square_avg"]),
        (optim.Adadelta, ["step", "square_avg", "acc_delta"]),
        (optim.Adamax, ["step", "exp_avg", "exp_inf"]),
        (optim.NAdam, ["step", "mu_product", "exp_avg", "exp_avg_sq"]),
        (optim.RAdam, ["step", "exp_avg", "exp_avg_sq"]),
        (optim.Rprop, ["step", "prev", "step_size"]),
        (optim.ASGD, ["step", "eta", "mu", "ax"]),
        (optim.Adafactor, ["step", "variance"]),
    ],
)
def test_names_of_the_state(optimizer, names):
    param = torch.ones(3, dtype=torch.float64, requires_grad=True)
    made = optimizer([param])
    param.grad = torch.ones(3, dtype=torch.float64)
    made.step()
    state = made.state[param]
    assert list(state) == names
    assert state["step"].dtype == torch.float32
    assert state["step"].shape == ()
    assert state[names[-1]].dtype == torch.float64
    assert not state[names[-1]].requires_grad


def test_averaging_of_asgd_starts_after_t0():
    param = torch.tensor([4.0], requires_grad=True)
    optimizer, seen = optim.ASGD([param], lr=0.1, lambd=0.0, t0=1), []
    for _ in range(4):
        param.grad = torch.ones(1)
        optimizer.step()
        seen.append(param.item())
    # Step 3 is the second to count: 1 / max(1, 3 - t0) is its weight in the next.
    mean = seen[2] + (seen[3] - seen[2]) / 2
    assert optimizer.state[param]["ax"].item() == pytest.approx(mean)


@pytest.mark.parametrize(
    "optimizer",
    [
        optim.SGD,
        optim.Adam,
        optim.AdamW,
        optim.Adagrad,
        optim.RMSprop,
        optim.Adadelta,
        optim.Adamax,
        optim.NAdam,
        optim.RAdam,
        optim.Rprop,
        optim.ASGD,
    ],
)
def test_backward_through_several_steps(optimizer):
    """Gradients of the last value by the first, against central differences."""

    def last(start):
        param = start.clone()
        made = optimizer([param], lr=0.1, differentiable=True)
        for step in range(4):
            param.grad = gradient(start, step) * 2
            made.step()
        return param

    start = torch.tensor([1.5], dtype=torch.float64, requires_grad=True)
    last(start).sum().backward()
    with torch.no_grad():
        slope = (last(start + 1e-5) - last(start - 1e-5)) / 2e-5
    assert start.grad.item() == pytest.approx(slope.item(), rel=1e-4)
