"""Every optimizer and scheduler of `torch.optim` on small problems, for both libraries alike.

`python tests/fixtures/record_optimizers.py`, with PyTorch installed, records the runs in
`optimizers.json` there.
"""

import copy
import importlib

STEPS, RATES, HALF = 50, 100, 6

#: Optimizers of `params`.
OPTIMIZERS = [
    "SGD(params, 0.02)",
    "SGD(params, 0.01, momentum=0.9, weight_decay=0.01)",
    "SGD(params, 0.01, momentum=0.9, nesterov=True)",
    "SGD(params, 0.01, momentum=0.8, dampening=0.3, maximize=False, foreach=True)",
    "SGD(params, 0.001, momentum=0.5, maximize=True)",
    "Adam(params, 0.02)",
    "Adam(params, 0.02, betas=(0.8, 0.99), weight_decay=0.1, amsgrad=True)",
    "Adam(params, 0.02, eps=1e-4, fused=True)",
    "Adam(params, 0.02, weight_decay=0.1, decoupled_weight_decay=True)",
    "AdamW(params, 0.02)",
    "AdamW(params, 0.02, weight_decay=0.2, amsgrad=True, maximize=False)",
    "Adamax(params, 0.02, weight_decay=0.05)",
    "NAdam(params, 0.02, momentum_decay=0.01)",
    "NAdam(params, 0.02, weight_decay=0.05, decoupled_weight_decay=True)",
    "RAdam(params, 0.05)",
    "RAdam(params, 0.05, weight_decay=0.05, decoupled_weight_decay=True)",
    "Adagrad(params, 0.1)",
    "Adagrad(params, 0.1, lr_decay=0.05, weight_decay=0.02, initial_accumulator_value=0.1)",
    "Adadelta(params, 2.0, rho=0.8, weight_decay=0.01)",
    "RMSprop(params, 0.01)",
    "RMSprop(params, 0.005, alpha=0.9, momentum=0.7, centered=True, weight_decay=0.01)",
    "Rprop(params, 0.01, etas=(0.4, 1.3), step_sizes=(1e-5, 0.2))",
    "ASGD(params, 0.02, lambd=1e-3, alpha=0.6, t0=20, weight_decay=0.01)",
    "Adafactor(params, 0.05, weight_decay=0.01)",
    "Adafactor(params, 0.05, eps=(1e-12, 1e-3), d=1.5)",
    "Muon([p for p in params if p.ndim == 2], 0.02, weight_decay=0.05)",
    "LBFGS(params, 0.3, max_iter=5, history_size=4)",
    "LBFGS(params, line_search_fn='strong_wolfe', max_iter=6)",
]

_ADAM = "amsgrad={}, beta1=0.8, beta2=0.99, lr=0.02, weight_decay=0.1, eps=1e-6, maximize={}"
_BETAS = "beta1=0.8, beta2=0.99, lr=0.02, weight_decay=0.1, eps=1e-6"
_SGD = "weight_decay=0.1, momentum={}, lr=0.02, dampening={}, nesterov={}, maximize={}"
_RMS = "lr=0.02, alpha=0.9, eps=1e-6, weight_decay=0.1, momentum={}, centered={}"
_ADAFACTOR = "d=1.5, lr=0.02, beta2_decay=-0.7, weight_decay=0.1, eps1={}, eps2=1e-3, maximize={}"
_MUON = ("lr=0.02, weight_decay=0.1, momentum=0.9, nesterov={}, ns_coefficients=(3.4, -4.7, 2.0), "
         "ns_steps=5, eps=1e-7, adjust_lr_fn={}, has_complex=False")
#: Functional forms on parameters `p` with gradients `g`, state `a`, `b`, `c` of zeros, buffers `n`
#: that are None at first, scalars `one` of each parameter, and steps `t`.
FUNCTIONAL = [
    f"adam.adam(p, g, a, b, [], t, {_ADAM.format(False, False)})",
    f"adam.adam(p, g, a, b, c, t, decoupled_weight_decay=True, {_ADAM.format(True, True)})",
    f"adamw.adamw(p, g, a, b, c, t, foreach=False, {_ADAM.format(True, False)})",
    f"sgd.sgd(p, g, n, {_SGD.format(0, 0, False, False)})",
    f"sgd.sgd(p, g, n, foreach=True, {_SGD.format(0.9, 0.2, False, True)})",
    f"sgd.sgd(p, g, n, {_SGD.format(0.9, 0, True, False)})",
    f"rmsprop.rmsprop(p, g, a, [], [], t, {_RMS.format(0, False)})",
    f"rmsprop.rmsprop(p, g, a, b, c, t, maximize=True, {_RMS.format(0.5, True)})",
    "rprop.rprop(p, g, a, one, t, step_size_min=1e-5, step_size_max=0.9, etaminus=0.4, "
    "etaplus=1.3)",
    "adagrad.adagrad(p, g, a, t, lr=0.02, weight_decay=0.1, lr_decay=0.1, eps=1e-6, "
    "maximize=True)",
    "adadelta.adadelta(p, g, a, b, t, lr=0.5, rho=0.8, eps=1e-5, weight_decay=0.1, "
    "maximize=False)",
    f"adamax.adamax(p, g, a, b, t, {_BETAS})",
    f"nadam.nadam(p, g, a, b, one, t, momentum_decay=0.01, {_BETAS})",
    f"radam.radam(p, g, a, b, t, True, {_BETAS})",
    "asgd.asgd(p, g, a, one, one2, t, lambd=1e-3, lr=0.02, t0=2, alpha=0.6, weight_decay=0.1)",
    f"_adafactor.adafactor(p[:1], g[:1], a[:1], b[:1], [None], t[:1], "
    f"{_ADAFACTOR.format(None, False)})",
    f"_adafactor.adafactor(p[1:], g[1:], [None], [None], a[1:], t[1:], "
    f"{_ADAFACTOR.format(1e-9, True)})",
    f"_muon.muon(p[:1], g[:1], a[:1], {_MUON.format(True, None)})",
    f"_muon.muon(p[:1], g[:1], a[:1], {_MUON.format(False, repr('match_rms_adamw'))})",
]

#: Schedulers of an SGD `o` whose two groups begin at 0.1 and 0.02, with momentum 0.9; `t` counts.
SCHEDULERS = [
    "LambdaLR(o, [lambda t: 0.95 ** t, lambda t: 1 / (t + 1)])",
    "MultiplicativeLR(o, lambda t: 0.97)",
    "StepLR(o, 7, 0.5)",
    "MultiStepLR(o, [3, 10, 10, 40], 0.3)",
    "ConstantLR(o, 0.25, 6)",
    "LinearLR(o, 0.2, 0.9, 30)",
    "ExponentialLR(o, 0.96)",
    "PolynomialLR(o, 60, 1.7)",
    "CosineAnnealingLR(o, 40, 0.001)",
    "CosineAnnealingWarmRestarts(o, 8, 2, 0.001)",
    "CyclicLR(o, 0.01, 0.2, 5, 8)",
    "CyclicLR(o, [0.01, 0.001], [0.2, 0.1], 6, mode='triangular2')",
    "CyclicLR(o, 0.01, 0.2, 7, mode='exp_range', gamma=0.98, scale_mode='iterations')",
    "CyclicLR(o, 0.01, 0.2, 4, scale_fn=lambda x: 1 / (1 + x), scale_mode='cycle')",
    "OneCycleLR(o, 0.5, total_steps=101)",
    "OneCycleLR(o, [0.5, 0.3], epochs=11, steps_per_epoch=10, pct_start=0.4,"
    " anneal_strategy='linear', three_phase=True, div_factor=10.0)",
    "OneCycleLR(o, 0.5, total_steps=120, cycle_momentum=False, final_div_factor=100)",
    "ReduceLROnPlateau(o, factor=0.5, patience=3, cooldown=2, min_lr=[0.004, 0.001])",
    "ReduceLROnPlateau(o, 'max', threshold_mode='abs', threshold=0.05, patience=2)",
    "SequentialLR(o, [ConstantLR(o, 0.1, 5), ExponentialLR(o, 0.9),"
    " CosineAnnealingLR(o, 20)], [5, 30])",
    "ChainedScheduler([LinearLR(o, 0.1, 1.0, 10), ExponentialLR(o, 0.97)])",
    "SWALR(o, 0.05, anneal_epochs=12)",
    "SWALR(o, [0.05, 0.01], anneal_epochs=9, anneal_strategy='linear')",
]


def quadratic(torch, dtype):
    """A bowl a hundred times as steep in one direction as in another, rotated."""
    line = torch.arange(36, dtype=dtype)
    turn = torch.linalg.qr((line * line * 0.37).sin().reshape(6, 6))[0]
    bowl = turn @ torch.diag(torch.logspace(-1, 1, 6, dtype=dtype)) @ turn.T
    start = (line * 0.7).cos().reshape(6, 6).requires_grad_()
    goal = (line[:6] * 0.9).sin()

    def loss():
        away = start - goal
        return 0.5 * ((away @ bowl) * away).sum()

    return [start], loss


def regression(torch, dtype):
    """A small network fitted to a curve."""
    x = torch.linspace(-2, 2, 24, dtype=dtype)[:, None]
    y = (x * 1.5).sin() + 0.3 * x
    params = []
    for number, shape in enumerate(((1, 8), (8,), (8, 8), (8,), (8, 1), (1,))):
        count = 1
        for size in shape:
            count *= size
        line = torch.arange(count, dtype=dtype).add(number).mul(2.1).sin().mul(0.6)
        params.append(line.reshape(shape).requires_grad_())

    def loss():
        a, b, c, d, e, f = params
        hidden = torch.tanh(x @ a + b)
        return ((torch.tanh(hidden @ c + d) @ e + f - y) ** 2).mean()

    return params, loss


def classification(torch, dtype):
    """Three classes of points, by a linear map that some of them defy."""
    line = torch.arange(60, dtype=dtype)
    x = torch.stack([(line * 1.1).sin(), (line * 0.7).cos(), (line * 2.3).sin() * line / 30], 1)
    y = (x[:, 0] > 0).long() + (x[:, 1] + x[:, 2] > 0.4).long()
    weight = (torch.arange(9, dtype=dtype) * 1.7).sin().reshape(3, 3).requires_grad_()
    bias = torch.zeros(3, dtype=dtype, requires_grad=True)

    def loss():
        return torch.nn.functional.cross_entropy(x @ weight + bias, y)

    return [weight, bias], loss


PROBLEMS = {"quadratic": quadratic, "regression": regression, "classification": classification}


def trained(torch, text, problem, dtype, moved=0.0):
    """Some of the losses before each of the steps, and of the parameters after the last.

    moved: by which part the parameters begin elsewhere
    """
    params, loss = PROBLEMS[problem](torch, getattr(torch, dtype))
    with torch.no_grad():
        for p in params:
            p.mul_(1 + moved)
    optimizer = eval(text, {**vars_of(torch.optim), "params": params})
    losses = []

    def closure():
        optimizer.zero_grad()
        value = loss()
        value.backward()
        return value

    for _ in range(STEPS):
        losses.append(optimizer.step(closure).item())
    ends = [each for p in params for each in p.detach().flatten().tolist()]
    return losses[::7] + losses[-1:], ends[::5]


def stepped(torch, text):
    """Parameters, then state, after four calls of a functional form."""
    p = [torch.arange(6.0).sub(2.5).reshape(2, 3), torch.tensor([1.5, -0.25], dtype=torch.float64)]
    a, b, c = ([torch.zeros_like(each) for each in p] for _ in range(3))
    if "adafactor" in text:
        a[0], b[0] = torch.zeros(2, 1), torch.zeros(1, 3)
    lone = [[torch.tensor(0.5, dtype=each.dtype) for each in p] for _ in range(2)]
    if "rprop" in text:
        lone[0] = [torch.full_like(each, 0.5) for each in p]
    n, t = [None, None], [torch.tensor(0.0) for _ in p]
    module = text.partition(".")[0]
    names = {module: importlib.import_module(f"{torch.optim.__name__}.{module}"), "p": p, "a": a,
             "b": b, "c": c, "n": n, "t": t, "one": lone[0], "one2": lone[1]}
    for turn in range(4):
        g = [each.mul(1.3).add(turn).cos() for each in p]
        eval(text, {**names, "g": g})
    made = [*p, *a, *b, *c, *(each for each in n if each is not None), *lone[0], *lone[1], *t]
    return [each for value in made for each in value.detach().flatten().tolist()]


def halves(torch, text, saved=None):
    """A run on the network that is saved half-way: the state, and the losses of the rest.

    saved: a state and parameters to go on from instead of the first half's
    """
    params, loss = regression(torch, torch.float64)
    optimizer = eval(text, {**vars_of(torch.optim), "params": params})

    def closure():
        optimizer.zero_grad()
        value = loss()
        value.backward()
        return value

    if saved is None:
        for _ in range(HALF):
            optimizer.step(closure)
        state = copy.deepcopy(optimizer.state_dict())
        saved = {"state": state, "params": [p.detach().clone() for p in params]}
    optimizer.load_state_dict(copy.deepcopy(saved["state"]))
    with torch.no_grad():
        for p, value in zip(params, saved["params"], strict=True):
            p.copy_(value)
    return saved, [optimizer.step(closure).item() for _ in range(HALF)]


def rates(torch, text):
    """The learning rates and momenta of both groups at each of the steps."""
    params = [torch.ones(1, requires_grad=True) for _ in range(2)]
    groups = [{"params": [p], "lr": lr} for p, lr in zip(params, (0.1, 0.02), strict=True)]
    optimizer = torch.optim.SGD(groups, lr=0.5, momentum=0.9)
    names = {**vars_of(torch.optim.lr_scheduler), **vars_of(torch.optim.swa_utils)}
    scheduler = eval(text, {**names, "o": optimizer})
    found = []
    for t in range(RATES):
        found.append([[g["lr"], g["momentum"]] for g in optimizer.param_groups])
        optimizer.step()
        if "Plateau" in text:
            scheduler.step(1 / (1 + t % 13 + t / 9))
        else:
            scheduler.step()
    return [[float(each) for pair in row for each in pair] for row in found]


def vars_of(module):
    """The public names of a module, whether it has them at hand or makes them when asked."""
    return {name: getattr(module, name) for name in dir(module) if name[0].isupper()}
