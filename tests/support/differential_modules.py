"""Kinds of differential programs: modules and training."""

import copy
import io
import pickle

from differential import COLUMNS, ROWS, Program, kind, numbers

import yesca as torch
from yesca import nn


class Residual(nn.Module):
    def __init__(self, inner):
        super().__init__()
        self.inner = inner
        self.register_buffer("calls", torch.zeros(()))

    def forward(self, x):
        self.calls += 1
        return x + self.inner(x)


LAYERS = [
    lambda: nn.Linear(COLUMNS, COLUMNS), nn.ReLU, nn.Tanh, nn.GELU, lambda: nn.Dropout(0.3),
    lambda: nn.LayerNorm(COLUMNS), lambda: nn.BatchNorm1d(COLUMNS), nn.Softplus,
    lambda: Residual(nn.Linear(COLUMNS, COLUMNS)), lambda: nn.Softmax(-1),
    lambda: Residual(nn.Sequential(nn.LayerNorm(COLUMNS), nn.Linear(COLUMNS, COLUMNS), nn.GELU())),
]
OPTIMIZERS = [
    lambda p: torch.optim.SGD(p, lr=0.05), lambda p: torch.optim.SGD(p, lr=0.05, momentum=0.9),
    lambda p: torch.optim.Adam(p, lr=0.01), lambda p: torch.optim.AdamW(p, lr=0.01),
    lambda p: torch.optim.RMSprop(p, lr=0.01), lambda p: torch.optim.Adagrad(p, lr=0.01),
    lambda p: torch.optim.SGD(p, lr=0.05, nesterov=True, momentum=0.8, weight_decay=0.01),
]


def network(rng, layers=LAYERS):
    makers = [rng.choice(layers) for _ in range(rng.randint(2, 4))]
    return lambda: nn.Sequential(nn.Linear(COLUMNS, COLUMNS), *(make() for make in makers))


def batches(rng):
    x, y = numbers(rng, ROWS, COLUMNS), numbers(rng, ROWS, COLUMNS)
    return lambda world: (x() + world.call % 3 * 0.25, y())


def model_of(world, make):
    world.things["model"] = make()


def train(world, model, optimizer, x, y, clip=False):
    optimizer.zero_grad(set_to_none=world.call % 4 != 3)
    loss = nn.functional.mse_loss(model(x), y)
    loss.backward()
    if clip:
        world.note(nn.utils.clip_grad_norm_(model.parameters(), 0.5))
    optimizer.step()
    return loss


@kind
def training(rng):
    """A whole step is one function; the learning rate changes outside."""
    make, optimizer, clip = network(rng), rng.choice(OPTIMIZERS), rng.random() < 0.4
    scheduled = rng.random() < 0.5

    def prepare(world):
        model_of(world, make)
        made = world.things["optimizer"] = optimizer(world.things["model"].parameters())
        world.things["schedule"] = torch.optim.lr_scheduler.StepLR(made, 2, 0.9)

    def function(world, x, y):
        return train(world, world.things["model"], world.things["optimizer"], x, y, clip)

    def after(world, outputs):
        if scheduled:
            world.things["schedule"].step()
        world.things["model"].train(world.call % 5 != 2)

    return Program(function, batches(rng), prepare, after)


@kind
def wrapped_models(rng):
    """The model is compiled, the loop around it is not."""
    make, optimizer, clip = network(rng), rng.choice(OPTIMIZERS), rng.random() < 0.5
    in_place = rng.random() < 0.3

    def prepare(world):
        model_of(world, make)
        world.things["optimizer"] = optimizer(world.things["model"].parameters())

    def function(world, x, y):
        model = world.things["model"]
        loss = train(world, world.things["compiled"], world.things["optimizer"], x, y, clip)
        if world.call % 5 == 3:
            model.eval()
            with torch.no_grad():
                world.note(world.things["compiled"](x))
            model.train()
        return loss.item()

    def chosen(compiled):
        def prepared(world, *given):
            if "compiled" not in world.things:
                model = world.things["model"]
                if compiled and in_place:
                    model.compile()
                world.things["compiled"] = torch.compile(model) if compiled and not in_place \
                    else model
            return function(world, *given)

        return prepared

    return Program(chosen(False), batches(rng), prepare, wrap=lambda _: chosen(True))


@kind
def copied_modules(rng):
    """A compiled module is copied, pickled, saved and loaded between its calls."""
    make, way = network(rng), rng.randrange(6)
    optimizer = rng.choice(OPTIMIZERS)

    def renewed(compiled, model):
        if way == 0:
            return copy.deepcopy(compiled)
        if way == 1:
            return pickle.loads(pickle.dumps(compiled))
        if way == 2:
            compiled.load_state_dict({k: v * 0.5 if v.is_floating_point() else v
                                      for k, v in compiled.state_dict().items()})
            return compiled
        if way == 3:
            file = io.BytesIO()
            torch.save(model.state_dict(), file)
            file.seek(0)
            model.load_state_dict(torch.load(file))
            return compiled
        if way == 4:
            model.compile()
            return copy.deepcopy(model)
        return compiled.double().float()

    def step(compile_):
        def function(world, x, y):
            compiled = world.things.get("compiled")
            if compiled is None:
                compiled = compile_(world.things["model"])
            if world.call % 6 == 4:
                compiled = renewed(compiled, getattr(compiled, "_orig_mod", compiled))
            world.things["compiled"] = compiled
            loss = train(world, compiled, optimizer(compiled.parameters()), x, y)
            return loss, [p.grad for p in compiled.parameters()]

        return function

    return Program(step(lambda model: model), batches(rng), lambda world: model_of(world, make),
                   wrap=lambda _: step(torch.compile))


@kind
def module_hooks(rng):
    make, how = network(rng), rng.randrange(4)

    def prepare(world):
        model_of(world, make)
        model = world.things["model"]
        if how == 0:
            model[0].register_forward_hook(lambda module, given, out: out * 2)
        elif how == 1:
            model[0].register_forward_pre_hook(lambda module, given: (given[0] + 1,))
            model[0].register_full_backward_hook(
                lambda module, into, out: world.note(into[0] is None, out[0].sum()))
        elif how == 2:
            model[0].register_forward_hook(
                lambda module, given, out: world.kept.__setitem__(slice(None), [out.detach()]))
        else:
            model[0].register_full_backward_pre_hook(lambda module, out: (out[0] * 0.5,))

    def function(world, x, y):
        out = world.things["model"](x + 0)
        out.sub(y).pow(2).mean().backward()
        return out

    return Program(function, batches(rng), prepare)


@kind
def dropout_models(rng):
    make = network(rng, [LAYERS[0], LAYERS[2], LAYERS[4], lambda: nn.AlphaDropout(0.2),
                         lambda: nn.Dropout(0.5), lambda: nn.RReLU()])

    def function(world, x, y):
        model = world.things["model"].train(world.call % 3 != 2)
        if world.call % 7 == 5:
            torch.manual_seed(3)
        return model(x), model(x) + nn.functional.dropout(y, 0.25, training=world.call % 2 == 0)

    def after(world, outputs):
        (outputs[0] + outputs[1]).mean().backward()

    return Program(function, batches(rng), lambda world: model_of(world, make), after)
