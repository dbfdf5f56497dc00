"""Kinds of differential programs: shapes, errors and other ways out of the straight line."""

import random

from differential import COLUMNS, ROWS, kind, numbers
from differential_kinds import program, slope
from differential_pieces import (
    EXACT, FOLD, MIXED, PAIR, SINGLE, chain, fit, fold, pair, pick, product, read, single,
    state, view, write,
)

import yesca as torch
from yesca.nn import functional

COUNTER = 0  # a global that programs change

FOUND = [
    lambda x: x[x > 0], lambda x: x.nonzero().float(), lambda x: x.round().unique(),
    lambda x: x.masked_select(x < 0.5), lambda x: x.argwhere().float(), lambda x: x[:int(x.sum())],
    lambda x: x.reshape(-1).repeat_interleave((x.reshape(-1) > 0).long() + 1),
    lambda x: torch.where(x > 0)[0].float(), lambda x: x[x.long().clamp(0, 0)],
    lambda x: torch.bincount(x.reshape(-1).abs().long()).float(),
    lambda x: x.new_ones(int(x.sigmoid().sum().item()) + 1),
    lambda x: functional.one_hot(x.abs().long().reshape(-1)).float(),
    lambda x: x.reshape(-1).round().unique_consecutive(),
    lambda x: torch.cat([row[row > 0] for row in x]) if x.dim() > 1 else x,
    lambda x: torch.tensor([v for v in x.reshape(-1).tolist() if v > 0]),
]


def found(rng):
    function, back = rng.choice(FOUND), rng.randrange(4)

    def step(pool, world):
        x = pick(pool, back)
        pool.append(function(x if x.numel() and x.dim() else pool[1]))
        if not pool[-1].numel():
            pool.append(x)

    return step


@kind
def data_dependent_shapes(rng):
    steps = chain(rng, (found, found, single, pair, state, view), 5, 9)
    return program(rng, lambda world, pool: (steps(pool, world), pool[-2]))


@kind
def control_flow(rng):
    steps, other = chain(rng, MIXED, 2, 5), chain(rng, MIXED, 2, 5)
    how, end = rng.randrange(4), chain(rng, EXACT, 1, 3)

    def body(world, pool):
        value = steps(pool, world).float()
        if how == 0:
            if value.sum() > world.call % 3 - 1:
                value = other(pool, world)
        elif how == 1:
            turns = 0
            while value.abs().sum() > 0.5 and turns < 4:
                value, turns = value * 0.5, turns + 1
            world.note(turns)
        elif how == 2:
            for row in pool[1]:
                pool.append(row.sum() * 2 if row[0] > row[1] else row)
        else:
            for _ in range(int(pool[1].sum().item()) % 4):
                value = value + other(pool, world).mean()
        pool.append(value)
        return end(pool, world)

    return program(rng, body)


@kind
def changing_shapes(rng):
    steps = chain(rng, (single, pair, fold, product, state, view), 4, 9)
    shapes = [rng.choice([(4, 6), (1, 6), (0, 6), (2, 3, 6), (5, 6), (6,), (7, 1), (64, 6)])
              for _ in range(4)]
    kinds = [rng.choice(["float32", "float32", "float64", "bfloat16", "int64", "float16", "bool"])
             for _ in range(3)]
    flags = rng.random() < 0.3

    def inputs(world):
        shape = shapes[world.call % 4]
        x = (torch.arange(float(torch.Size(shape).numel())).reshape(shape) - 3 + world.call) / 4
        dtype = getattr(torch, kinds[world.call // 4 % 3])
        if world.call % 5 == 4 and x.dim() == 2:
            x = x.t().contiguous().t()
        x = x.to(dtype)
        return x.requires_grad_(flags and world.call % 2 == 0 and dtype.is_floating_point), x * 2

    def body(world, pool):
        try:
            return steps(pool, world), pool[-2]
        except (RuntimeError, IndexError, NotImplementedError, ValueError, TypeError) as error:
            world.note(type(error).__name__, str(error))
            return pool[-1]

    return program(rng, body, inputs=inputs)


class Stop(Exception):
    pass


@kind
def exceptions(rng):
    steps, more = chain(rng, (*MIXED, write, state, state), 3, 6), chain(rng, (*MIXED, state), 2, 5)
    period, how = rng.choice((2, 3)), rng.randrange(4)

    def raising():
        raise Stop("half-way")

    def body(world, pool):
        value = steps(pool, world)
        world.tensors["b"].mul_(0.5)
        world.kept[:] = [value.detach() * 2]
        if world.call % period == 1:
            if how == 0:
                raising()
            elif how == 1:
                value.view(-7)
            elif how == 2:
                functional.embedding(torch.tensor([77]) + 0, pool[1].sin())
            else:
                with torch.no_grad():
                    next(raising() for _ in range(2))
        world.tensors["b"].add_(1)
        return more(pool, world)

    return program(rng, body)


@kind
def closures_and_globals(rng):
    single_, pair_ = rng.choice(SINGLE), rng.choice(PAIR)
    fold_, how = rng.choice(FOLD), rng.randrange(4)

    def body(world, pool):
        global COUNTER
        seen = [pool[1]]

        def grow(factor):
            nonlocal seen
            for x in list(seen):
                seen = [*seen, single_(x) * factor]
                yield pair_(x, fit(seen[-1], x))

        if world.call == 0:
            COUNTER = 0
        COUNTER += 1
        values = [v.mean() for v in grow(COUNTER % 3)]
        if how == 0:
            world.scale = getattr(world, "scale", 1.0) * 0.5
            values.append(pool[2] * world.scale)
        elif how == 1:
            world.things["last"], last = pool[1] * 2, world.things.get("last", pool[1])
            values.append(last.sum())
        elif how == 2:
            values.extend(row.sum() for row in sorted(pool[1], key=lambda row: row[0].item()))
        else:
            coroutine = grow(2)
            values.append(next(coroutine))
            coroutine.close()
        return [fold_(v) for v in values], {"count": COUNTER, "seen": seen}

    return program(rng, body)


@kind
def compiled_and_disabled(rng):
    inner, outer = chain(rng, (*EXACT, read), 2, 5), chain(rng, (*MIXED, state), 2, 5)
    function = rng.choice(SINGLE)
    nested = torch.compile(lambda pool, world: inner(pool, world) * 2)
    apart = torch.compiler.disable(lambda x: function(x) + x.sum().item())

    def body(world, pool):
        value = nested(pool, world) + 1
        pool.append(apart(pool[1]))
        pool.append(outer(pool, world))
        with torch.compiler.set_stance("force_eager"):
            pool.append(function(pool[-1]))
        return value, pool[-1], apart(nested(pool[:3], world))

    return program(rng, body)


@kind
def memory(rng):
    """Tensors whose memory is replaced, resized, or seen at other places."""
    steps, ways = chain(rng, EXACT, 1, 4), [rng.randrange(8) for _ in range(3)]

    def body(world, pool):
        x, kept = pool[1] * 2, world.tensors["b"]
        for way in ways:
            if way == 0:
                kept.data = pool[1] * 0.5
            elif way == 1:
                x.set_(kept.detach() * 2)
            elif way == 2:
                x.resize_(2, 3).fill_(1)
            elif way == 3:
                kept.untyped_storage().copy_((pool[1] * 3).untyped_storage())
            elif way == 4:
                x = x.as_strided((2, 2), (1, 1))
                x[0, 0] = 9
            elif way == 5:
                out = torch.empty(0)
                torch.add(kept, 1, out=out)
                pool.append(out)
            elif way == 6:
                kept.swap = x.untyped_storage().nbytes()
                x = torch.tensor([]).set_(x.untyped_storage())[:6] + 1
            else:
                x = torch.frombuffer(bytearray(96), dtype=torch.float32) + x.reshape(-1)[0]
            pool.append(x * 1)
        return steps(pool, world), x, kept + 1

    return program(rng, body)


COMPLEX = [
    torch.conj, torch.exp, torch.sin, lambda z: z * 1j, lambda z: z.conj() * z,
    lambda z: torch.complex(z.imag, z.real), lambda z: z / (z.abs() + 1),
    lambda z: z.conj_physical(), lambda z: z.t() if z.dim() == 2 else z,
    lambda z: torch.view_as_complex(torch.view_as_real(z) * 0.5), torch.fft.fft,
    lambda z: z.resolve_conj().clone().mul_(0.5),
]


@kind
def complex_numbers(rng):
    singles = [rng.choice(COMPLEX) for _ in range(5)]
    before = chain(rng, EXACT, 1, 3)

    def body(world, pool):
        before(pool, world)
        z = torch.complex(pool[1], pool[1].cos()) * 0.25
        z = z + functional.linear(pool[1], world.tensors["weight"])
        for function in singles:
            z = function(z) * 0.5
        slope(world, z.real + z.imag)
        return z.detach(), z.abs()

    return program(rng, body)


class Counting(torch.overrides.TorchFunctionMode):
    def __init__(self, world):
        super().__init__()
        self.world = world

    def __torch_function__(self, function, types, args=(), kwargs=None):
        self.world.note(getattr(function, "__name__", "?"))
        return function(*args, **(kwargs or {}))


class Marked(torch.Tensor):
    @classmethod
    def __torch_function__(cls, function, types, args=(), kwargs=None):
        return super().__torch_function__(function, types, args, kwargs or {})


@kind
def modes_and_subclasses(rng):
    steps, more, how = chain(rng, EXACT, 2, 5), chain(rng, EXACT, 1, 4), rng.randrange(3)

    def body(world, pool):
        if how == 0:
            with Counting(world):
                steps(pool, world)
        elif how == 1:
            pool.append((pool[1] * 2).as_subclass(Marked))
            steps(pool, world)
        else:
            with torch.device("cpu"), torch.autograd.set_detect_anomaly(True, check_nan=False):
                pool.append(pool[1] @ world.tensors["weight"])
                steps(pool, world)
                slope(world, pool[-1])
        return more(pool, world)

    return program(rng, body)


def shuffled(world, count):
    order = list(range(count))
    random.Random(world.call).shuffle(order)
    return order


@kind
def ragged(rng):
    """Lists of tensors whose order and number change with the call."""
    steps, rows = chain(rng, MIXED, 1, 4), numbers(rng, ROWS, COLUMNS)

    def body(world, pool):
        parts = [rows()[k] * pool[2] for k in shuffled(world, 1 + world.call % ROWS)]
        torch._foreach_add_(parts, 1.0)
        pool.append(torch.stack(parts))
        pool.append(torch.cat([p[:k + 1] for k, p in enumerate(parts)]))
        return steps(pool, world), parts, torch.nn.utils.rnn.pad_sequence(
            [p[:k + 1] for k, p in enumerate(parts)])

    return program(rng, body)
