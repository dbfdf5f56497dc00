"""Kinds of differential programs: values, memory, Python's control over them."""

import threading

import numpy as np
from differential import COLUMNS, ROWS, Program, kind, numbers, usual
from differential_pieces import (
    EXACT, MIXED, SMOOTH, chain, fit, fold, pair, pick, read, single, state, view, write,
)

import yesca as torch
from yesca.nn import functional


def program(rng, body, **options):
    """The usual world around a body(world, pool)."""
    prepare, inputs = usual(rng)

    def function(world, *given):
        return body(world, [world.tensors["a"], *given])

    return Program(function, options.pop("inputs", inputs), options.pop("prepare", prepare),
                   **options)


def slope(world, value):
    """The gradients of the weights, from within."""
    if value.requires_grad:
        value.float().tanh().sum().backward()


@kind
def elementwise(rng):
    steps = chain(rng, EXACT, 6, 14)
    return program(rng, lambda world, pool: (steps(pool, world), pool[3], pool[-2]), exact=True)


@kind
def mixed(rng):
    steps = chain(rng, MIXED, 6, 14)
    return program(rng, lambda world, pool: (steps(pool, world), pool[-2]))


@kind
def gradients(rng):
    steps, inside = chain(rng, SMOOTH, 4, 9), rng.random() < 0.5

    def body(world, pool):
        pool.append(functional.linear(pool[0], world.tensors["weight"], world.tensors["bias"]))
        value = steps(pool, world) + pool[3].mean()
        if inside:
            slope(world, value)
        return value, pool[-1]

    return program(rng, body, after=None if inside else lambda world, outs: slope(world, outs[0]))


@kind
def writes_and_views(rng):
    steps = chain(rng, (write, write, view, single, pair, state, read), 6, 12)
    tracked = rng.random() < 0.5

    def body(world, pool):
        if tracked:
            pool.append(pool[1] + world.tensors["bias"])
        value = steps(pool, world)
        if tracked:
            slope(world, value)
        return pool[-3:]

    return program(rng, body)


LATE = [
    lambda x, w, i: functional.embedding(i + 9, x), lambda x, w, i: x.gather(0, (i + 2)[:, None]),
    lambda x, w, i: functional.cross_entropy(x[:3], i + 9), lambda x, w, i: x[i + 7],
    lambda x, w, i: x.index_select(0, i - 9), lambda x, w, i: torch.linalg.inv(x @ x.t() * 0),
    lambda x, w, i: torch.linalg.cholesky(-x @ x.t()), lambda x, w, i: x.scatter(0, i + 9, 1.0),
    lambda x, w, i: x.index_add_(0, i + 9, x[:3]), lambda x, w, i: x.view(7), lambda x, w, i: w[9],
    lambda x, w, i: x @ x, lambda x, w, i: w.add_(1), lambda x, w, i: torch.bincount(i - 9),
    lambda x, w, i: functional.one_hot(i, 2), lambda x, w, i: (w * w).sum().backward(gradient=x),
    lambda x, w, i: x.sum().backward(), lambda x, w, i: (x > 0).sum().sqrt_(),
    lambda x, w, i: torch.multinomial(x * 0 - 1, 2), lambda x, w, i: x.repeat_interleave(i - 9),
    lambda x, w, i: torch.normal(x, -x.abs()), lambda x, w, i: x.put_(i + 99, x[0, :3]),
    lambda x, w, i: x.index_put_((i + 9,), x[0]), lambda x, w, i: torch.poisson(-x.abs() - 1),
]


@kind
def late_errors(rng):
    before, after = chain(rng, (*MIXED, state), 2, 5), chain(rng, (*MIXED, state), 1, 4)
    first, second, period = rng.choice(LATE), rng.choice(LATE), rng.choice((1, 2, 3))

    def body(world, pool):
        before(pool, world)
        weight, index = world.tensors["weight"], world.tensors["index"] + 0
        x = pool[1].sin()
        for late in (first, second):
            try:
                y = x * 1
                if world.call % period == 0:
                    pool.append(late(y, weight, index).float())
                world.tensors["b"].add_(1)
            except (RuntimeError, IndexError, ValueError) as error:
                world.note(type(error).__name__, str(error))
                pool.append(y)
        return after(pool, world)

    return program(rng, body)


@kind
def numpy_aliases(rng):
    steps, how, more = chain(rng, (*MIXED, state), 2, 5), rng.randrange(6), chain(rng, EXACT, 1, 3)

    def body(world, pool):
        array = world.things["array"]
        shared = world.things["shared"]
        value = steps(pool, world)
        pool.append(shared * 2)
        array += 1
        pool.append(shared + fit(value, shared))
        if how == 0:
            shared.mul_(0.5)
            world.note(float(array.sum()))
        elif how == 1:
            inner = (pool[1] * 3).numpy()
            inner[0] = 9
            pool.append(torch.from_numpy(inner) * 2)
            inner[1] = 7
        elif how == 2:
            mine = pool[1].cos()
            seen = mine.numpy()
            mine.add_(1)
            world.note(float(seen[0, 0]))
            seen[:] = 0.5
            pool.append(mine * 2)
        elif how == 3:
            other = torch.from_dlpack(shared)
            other.add_(1)
            pool.append(shared.exp())
        elif how == 4:
            held = world.tensors["b"].numpy()
            world.tensors["b"].add_(1)
            held *= 0.5
            pool.append(world.tensors["b"] * 1)
        else:
            shared[0] = pool[1][0] * 2
            pool.append(torch.as_tensor(np.sin(np.asarray(pool[1].cos()))))
            array[1] = 3
        return more(pool, world), pool[-2], shared.clone()

    made = program(rng, body)
    usually = made.prepare

    def prepare(world):
        usually(world)
        world.things["array"] = np.linspace(-1, 1, 24, dtype="f4").reshape(ROWS, COLUMNS)
        world.things["shared"] = world.tensors["shared"] = torch.from_numpy(world.things["array"])

    made.prepare = prepare
    return made


def elsewhere(function):
    """Run in another thread, to the end; errors come back."""
    found = []

    def run():
        try:
            found.append(function())
        except Exception as error:  # raised in the thread that waits
            found.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    if isinstance(found[0], Exception):
        raise found[0]
    return found[0]


@kind
def other_threads(rng):
    steps, how = chain(rng, (*MIXED, state), 2, 6), rng.randrange(7)
    inner, more = chain(rng, EXACT, 1, 4), chain(rng, (*MIXED, state), 1, 4)

    def body(world, pool):
        value = steps(pool, world)
        if how == 0:
            world.note(elsewhere(lambda: value.sum().tolist() is not None))
        elif how == 1:
            pool.append(elsewhere(lambda: inner([value * 2], world)))
        elif how == 2:
            elsewhere(lambda: pool[1].mul_(0.5))
        elif how == 3:
            pool.append(elsewhere(lambda: torch.compile(lambda x: x * 2 + pool[1])(value)))
        elif how == 4:
            pool.append(functional.linear(pool[1].sin(), world.tensors["weight"]))
            elsewhere(lambda: slope(world, pool[-1]))
        elif how == 5:
            again = world.things["again"]
            if not again:
                again.append(True)
                pool.append(elsewhere(lambda: world.things["function"]()(world, *pool[1:3])))
                again.clear()
        else:
            world.tensors["b"].add_(1)
            elsewhere(lambda: world.tensors["b"].mul_(0.5))
            world.tensors["b"].add_(1)
        pool[:] = [x for x in pool if isinstance(x, torch.Tensor)]
        return more(pool, world)

    made = program(rng, body)
    usually = made.prepare

    def prepare(world):
        usually(world)
        world.things["again"] = []

    made.prepare = prepare
    return made


@kind
def overlapping_inputs(rng):
    steps = chain(rng, (write, write, single, pair, view), 5, 10)
    base, ways = numbers(rng, 6, 6), [rng.randrange(7) for _ in range(4)]

    def inputs(world):
        x = base()
        other = (lambda: x, lambda: x.t(), lambda: x.clone(), lambda: x[1:], lambda: x.view(36),
                 lambda: x[:, ::2], lambda: x.as_strided((5, 2, 2), (6, 1, 1)))
        return x if world.call % 3 else x[:-1], other[ways[world.call % 4]]()

    def body(world, pool):
        pool[0] = pool[1] * 1
        steps(pool, world)
        try:
            pool[2].add_(1)
        except RuntimeError as error:
            world.note(str(error))
        return pool[1] + pool[2].sum(), pool[-1]

    return program(rng, body, inputs=inputs)


@kind
def outputs_kept_sometimes(rng):
    steps, period = chain(rng, (*MIXED, view, state, read), 5, 10), rng.choice((2, 3, 4))
    places = [rng.randrange(6) for _ in range(3)]

    def body(world, pool):
        value = steps(pool, world)
        if world.call % period == 0:
            world.kept.append(pick(pool, places[0]))
        if world.call % 5 == 1:
            world.kept.append(pick(pool, places[1]).detach())
        if world.call % 7 == 6:
            world.kept.clear()
        return value if world.call % 3 else (value, pick(pool, places[2]))

    return program(rng, body)


DRAWS = [
    lambda x: torch.rand(x.shape), lambda x: torch.randn(3, 2).sum(), torch.rand_like,
    lambda x: torch.randint(0, 9, x.shape).float(), lambda x: functional.dropout(x, 0.5),
    lambda x: torch.bernoulli(x.detach().sigmoid()), lambda x: torch.randperm(5).float(),
    lambda x: x.detach().clone().normal_(), lambda x: x.detach().clone().uniform_(-1, 1),
    lambda x: torch.multinomial(torch.ones(5), 3).float(), lambda x: torch.normal(x.detach(), 1.0),
    lambda x: torch.empty(4).exponential_(), lambda x: functional.dropout(x, 0.0) * 2,
    lambda x: functional.rrelu(x, training=True), lambda x: torch.poisson(x.detach().abs()),
    lambda x: functional.alpha_dropout(x, 0.5, True), lambda x: torch.empty(3).geometric_(0.5),
    lambda x: functional.gumbel_softmax(x, dim=-1) if x.dim() else x,
    lambda x: x.detach().clone().log_normal_(), lambda x: torch.empty(3).cauchy_(),
]


def draw(rng):
    function, back = rng.choice(DRAWS), rng.randrange(4)
    return lambda pool, world: pool.append(function(pick(pool, back)))


def generator(rng):
    """The generator's state, read or set."""
    how = rng.randrange(5)

    def step(pool, world):
        if how == 0:
            world.note(int(torch.get_rng_state().sum()))
        elif how == 1:
            torch.manual_seed(world.call)
        elif how == 2:
            with torch.random.fork_rng():
                pool.append(torch.rand(3))
        elif how == 3:
            own = torch.Generator().manual_seed(5)
            pool.append(torch.randn(4, generator=own) + torch.rand(4, generator=own))
        else:
            before = torch.get_rng_state()
            pool.append(torch.rand(2))
            torch.set_rng_state(before)

    return step


@kind
def random_draws(rng):
    steps = chain(rng, (draw, draw, generator, single, pair, fold, state), 5, 10)
    return program(rng, lambda world, pool: (draw(rng_of(world))(pool, world),
                                             steps(pool, world))[1:])


def rng_of(world):
    """Other choices at each call."""
    import random

    return random.Random(world.call % 4)
