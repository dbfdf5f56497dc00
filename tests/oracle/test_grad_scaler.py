"""GradScaler against PyTorch's: scales, weights and states after steps of every kind."""

import copy
import pickle

import pytest
import torch

import yesca

pytestmark = [pytest.mark.oracle, pytest.mark.filterwarnings("ignore")]

STEPS = {"g": None, "i": float("inf"), "n": float("nan")}
OPTIMIZERS = {name: {} for name in (
    "SGD", "Adam", "AdamW", "RMSprop", "Adagrad", "NAdam", "Adamax", "RAdam", "ASGD", "Adadelta",
    "Rprop")}
FORMS = ({}, {"fused": True}, {"foreach": True}, {"foreach": False})


def parameters(package, count=2):
    return [package.full((3,), 1.0, requires_grad=True) for _ in range(count)]


def step(package, scaler, weights, optimizer, kind):
    optimizer.zero_grad()
    scaler.scale(sum((w * w).sum() for w in weights)).backward()
    if STEPS[kind] is not None:
        weights[0].grad[1] = STEPS[kind]
    made = scaler.step(optimizer)
    scaler.update()
    return (made, scaler.get_scale(), scaler.state_dict(),
            [round(number, 4) for w in weights for number in w.tolist()])


def run(package, pattern, name="SGD", form=(), **options):
    weights = parameters(package)
    optimizer = getattr(package.optim, name)(weights, lr=0.1, **dict(form))
    scaler = package.amp.GradScaler("cpu", **{"init_scale": 4.0, "growth_interval": 2, **options})
    rows = []
    for place, kind in enumerate(pattern):
        if place == 3:
            scaler = pickle.loads(pickle.dumps(copy.deepcopy(scaler)))
        rows.append(step(package, scaler, weights, optimizer, kind))
    return rows


@pytest.mark.parametrize("options", [
    {}, {"growth_factor": 3.0, "backoff_factor": 0.25}, {"growth_interval": 1},
    {"init_scale": 2.0 ** 127}, {"enabled": False}])
@pytest.mark.parametrize("pattern", ["ggggigngg", "iiggg", "gnig"])
def test_sequences(pattern, options):
    if "enabled" in options:
        pattern = pattern.replace("i", "g").replace("n", "g")
    assert run(yesca, pattern, **options) == run(torch, pattern, **options)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", OPTIMIZERS)
def test_optimizers(name, form):
    if "fused" in form and name not in ("SGD", "Adam", "AdamW", "Adagrad"):
        pytest.skip("PyTorch has no such form")
    assert run(yesca, "giggng", name, form) == run(torch, "giggng", name, form)


def wrong(package):
    """Calls out of order, each as a function of a scaler, weights and an optimizer."""
    def scaled(scaler, weights):
        scaler.scale(weights[0].sum()).backward()

    def twice(s, w, o):
        scaled(s, w)
        s.unscale_(o)
        s.unscale_(o)

    def unscale_after_step(s, w, o):
        scaled(s, w)
        s.step(o)
        s.unscale_(o)

    def two_steps(s, w, o):
        scaled(s, w)
        s.step(o)
        s.step(o)

    def no_gradients(s, w, o):
        s.scale(package.ones(()))
        s.step(o)

    def no_checks(s, w, o):
        s.scale(package.ones(()))
        s.update()

    def closure(s, w, o):
        scaled(s, w)
        s.step(o, closure=lambda: 1)

    def pickled(s, w, o):
        scaled(s, w)
        s.unscale_(o)
        pickle.dumps(s)

    def half(s, w, o):
        w = [package.ones(2, dtype=package.float16, requires_grad=True)]
        scaled(s, w)
        s.step(package.optim.SGD(w, lr=0.1))

    def lbfgs(s, w, o):
        scaled(s, w)
        s.step(package.optim.LBFGS(w))

    def two_numbers(s, w, o):
        s.scale(package.ones(()))
        s.update(package.ones(2))

    return [twice, unscale_after_step, two_steps, no_gradients, no_checks, closure, pickled, half,
            lbfgs, two_numbers, lambda s, w, o: s.step(o), lambda s, w, o: s.update(),
            lambda s, w, o: s.unscale_(o), lambda s, w, o: s.scale(3),
            lambda s, w, o: s.load_state_dict({}), lambda s, w, o: s.load_state_dict({"scale": 1})]


@pytest.mark.parametrize("number", range(16))
def test_calls_out_of_order(number):
    found = []
    for package in (yesca, torch):
        weights = parameters(package)
        scaler = package.amp.GradScaler("cpu", init_scale=4.0)
        with pytest.raises(Exception) as caught:  # noqa: PT011 - the class is what is compared
            wrong(package)[number](scaler, weights, package.optim.SGD(weights, lr=0.1))
        found.append((caught.type, str(caught.value)))
    assert found[0][0] is found[1][0]
    assert found[0][1][:60] == found[1][1][:60]


def test_several_optimizers_and_absent_gradients():
    found = []
    for package in (yesca, torch):
        scaler = package.amp.GradScaler("cpu", init_scale=4.0, growth_interval=1)
        first, second = parameters(package, 3), parameters(package)
        optimizers = [package.optim.SGD(w, lr=0.1) for w in (first, second)]
        scaler.scale((first[0] * second[0]).sum()).backward()
        second[0].grad[0] = float("inf")
        scaler.unscale_(optimizers[0])
        package.nn.utils.clip_grad_norm_(first, 0.5)
        for optimizer in optimizers:
            scaler.step(optimizer)
        scaler.update()
        found.append(([round(n, 5) for w in (*first, *second) for n in w.tolist()],
                      scaler.get_scale()))
    assert found[0] == found[1]
