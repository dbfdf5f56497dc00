"""What differential programs are made of: steps that take and extend a pool of values.

A step is a function of (pool, world). It finds its operands from the pool's end and makes them fit,
so that any order of steps is a program.
"""

import yesca as torch
from yesca.nn import functional

# ruff: noqa: E731 - tables of lambdas


def pick(pool, back):
    return pool[-1 - back % len(pool)]


def fit(value, like):
    """`value` so that it broadcasts to `like`."""
    try:
        if torch.broadcast_shapes(value.shape, like.shape) == like.shape:
            return value
    except RuntimeError:
        pass
    return value.reshape(-1)[:1].reshape(()) if value.numel() else value.sum()


def table(value):
    """`value` with two dimensions."""
    return value.reshape(-1, value.shape[-1]) if value.dim() else value.reshape(1, 1)


SINGLE = [
    torch.sin, torch.cos, torch.tanh, torch.sigmoid, torch.relu, torch.abs, torch.neg,
    lambda x: x * 0.5 + 1, lambda x: x.clamp(-1, 1), lambda x: (x * x + 1).log(),
    lambda x: (x * x + 1).sqrt(), functional.gelu, functional.silu, torch.floor, torch.sign,
    lambda x: x.double().float(), lambda x: (-x.abs()).exp(), lambda x: x.bfloat16().float(),
    lambda x: torch.where(x > 0, x, x * 0.25), lambda x: x.round().long().float(),
    lambda x: 1 / (x * x + 1), lambda x: x.clone(), lambda x: x.detach() - x,
    lambda x: torch.zeros_like(x) + x, lambda x: x.masked_fill(x < 0, 0.5),
    functional.leaky_relu, functional.softplus, torch.erf, torch.atan, lambda x: x ** 2 * 0.25,
]
PAIR = [
    torch.add, torch.sub, torch.mul, torch.maximum, torch.minimum, torch.atan2,
    lambda x, y: x / (y * y + 1), lambda x, y: torch.where(x > y, x, y * 2),
    lambda x, y: torch.lerp(x, y + x * 0, 0.25), lambda x, y: torch.addcmul(x, x, y, value=0.5),
    lambda x, y: torch.add(x, y, alpha=2), lambda x, y: (x > y).float() - (x == y).float(),
    lambda x, y: torch.fmod(x, y * y + 1), lambda x, y: torch.hypot(x, y),
]
FOLD = [
    lambda x: x.sum(), lambda x: x.mean(-1, keepdim=True) if x.dim() else x.mean(),
    lambda x: x.amax(0) if x.dim() else x.amax(), lambda x: functional.softmax(x, -1),
    lambda x: functional.log_softmax(x, 0), lambda x: torch.logsumexp(x, -1),
    lambda x: x.cumsum(-1), lambda x: x.var(), lambda x: x.argmax(-1).float(),
    lambda x: x.sort(-1).values, lambda x: x.norm(), lambda x: functional.normalize(x, dim=-1),
    lambda x: functional.layer_norm(x, x.shape[-1:]) if x.dim() else x,
    lambda x: x.max(-1)[0], lambda x: x.topk(1, -1).values if x.dim() else x,
    lambda x: torch.stack([x, x.neg()]).mean(0), lambda x: torch.cat([table(x), table(x)])[::2],
]
PRODUCT = [
    lambda x, w: table(x) @ table(x).t() * 0.125,
    lambda x, w: functional.linear(x, w) * 0.5 if x.shape[-1:] == w.shape[1:] else x,
    lambda x, w: x @ w * 0.5 if x.shape[-1:] == w.shape[:1] else x,
    lambda x, w: torch.einsum("ij,kj->ik", table(x), table(x)) * 0.125,
    lambda x, w: torch.addmm(w, w, w.t()) * 0.125,
    lambda x, w: torch.outer(x.reshape(-1)[:3], w.reshape(-1)[:4]),
]
VIEW = [
    lambda x: x.t() if x.dim() == 2 else x.unsqueeze(0), lambda x: x[::2] if x.dim() else x,
    lambda x: x.reshape(-1), lambda x: x.unsqueeze(0), lambda x: x.squeeze(),
    lambda x: x.narrow(0, 0, 1) if x.dim() else x, lambda x: x[..., -1] if x.dim() else x,
    lambda x: x.diagonal() if x.dim() == 2 else x, lambda x: x.expand(2, *x.shape),
    lambda x: x.flip(0) if x.dim() else x, lambda x: x.chunk(2, -1)[-1] if x.dim() else x,
    lambda x: x[None, ..., :2] if x.dim() else x, lambda x: x.movedim(0, -1) if x.dim() else x,
    lambda x: x.unfold(0, 2, 1) if x.dim() and x.shape[0] > 1 else x,
    lambda x: x.contiguous().view(-1, 1), lambda x: x.roll(1), lambda x: x.detach(),
    lambda x: x.contiguous().view(torch.int32).view(torch.float32) if not x.requires_grad else x,
]
WRITE = [
    lambda x, y: x.add_(fit(y, x)), lambda x, y: x.mul_(0.5), lambda x, y: x.copy_(fit(y, x)),
    lambda x, y: x[:1].zero_() if x.dim() else x.zero_(), lambda x, y: x.clamp_(-1, 1),
    lambda x, y: x.sin_(), lambda x, y: x.relu_(), lambda x, y: x.fill_(0.75),
    lambda x, y: x.masked_fill_(x > 0.5, -0.5), lambda x, y: x.neg_().add_(1),
    lambda x, y: x.__setitem__(0, 0.5) if x.dim() else x.fill_(1),
    lambda x, y: x.__setitem__((..., 0), fit(y, x[..., 0])) if x.dim() else x.fill_(1),
    lambda x, y: x.__setitem__(x > 0, 0.25), lambda x, y: x.addcmul_(x, x, value=-0.25),
    lambda x, y: x.t_().t_() if x.dim() == 2 else x.tanh_(),
    lambda x, y: torch.sin(x, out=x), lambda x, y: torch.add(x, 1, out=torch.empty_like(x)),
    lambda x, y: x.index_fill_(0, torch.tensor([0]), 0.5) if x.dim() else x.cos_(),
    lambda x, y: x.lerp_(fit(y, x) + x * 0, 0.5), lambda x, y: x.add_(x),
    lambda x, y: x.add_(x.flip(0)) if x.dim() else x.add_(x), lambda x, y: x.squeeze_(),
    lambda x, y: x.cumsum_(-1), lambda x, y: torch._foreach_mul_([x], 0.5),
    lambda x, y: x.set_(x.detach().clone()) if not x.requires_grad else x,
    lambda x, y: setattr(x, "data", x.data * 0.5), lambda x, y: x.data.mul_(0.5),
    lambda x, y: x.detach_() if x._base is None else x, lambda x, y: x.sigmoid_().sub_(0.5),
]


def single(rng):
    function, back = rng.choice(SINGLE), rng.randrange(4)
    return lambda pool, world: pool.append(function(pick(pool, back)))


def pair(rng):
    function, back, other = rng.choice(PAIR), rng.randrange(4), rng.randrange(6)

    def step(pool, world):
        x = pick(pool, back)
        pool.append(function(x, fit(pick(pool, other), x)))

    return step


def fold(rng):
    function, back = rng.choice(FOLD), rng.randrange(4)
    return lambda pool, world: pool.append(function(pick(pool, back)))


def product(rng):
    function, back = rng.choice(PRODUCT), rng.randrange(4)
    return lambda pool, world: pool.append(function(pick(pool, back), world.tensors["weight"]))


def view(rng):
    function, back = rng.choice(VIEW), rng.randrange(4)
    return lambda pool, world: pool.append(function(pick(pool, back)))


def write(rng):
    """A write, whose error, if there is one, is noted."""
    function, back, other = rng.choice(WRITE), rng.randrange(5), rng.randrange(6)

    def step(pool, world):
        try:
            function(pick(pool, back), pick(pool, other))
        except (RuntimeError, IndexError) as error:
            world.note(type(error).__name__, str(error))

    return step


def read(rng):
    """Python looks at a value."""
    back, how = rng.randrange(5), rng.randrange(7)

    def step(pool, world):
        x = pick(pool, back).detach().float().tanh()
        ways = (lambda: x.sum().item() > 0, lambda: bool(x.sum() > 0), lambda: x.shape,
                lambda: str(x.round()), lambda: int(x.sum() * 2), lambda: len(x.reshape(-1)),
                lambda: bool((x > 0.999).any()))
        world.note(str(ways[how]()))

    return step


def state(rng):
    """A write to a tensor that outlives the call, or a read of it."""
    name, back, how = rng.choice("ab"), rng.randrange(5), rng.randrange(4)

    def step(pool, world):
        kept = world.tensors[name]
        if how == 0:
            pool.append(kept)
        elif how == 1:
            pool.append(kept.view(-1)[3:9])
        elif how == 2:
            kept.add_(fit(pick(pool, back).detach().tanh(), kept))
        else:
            kept.mul_(0.5)

    return step


MIXED = (single, single, pair, pair, fold, product, view)
SMOOTH = (single, pair, fold, product)
EXACT = (single, single, pair, view)


def chain(rng, makers, least=4, most=9):
    """A function that runs some steps on a pool."""
    steps = [rng.choice(makers)(rng) for _ in range(rng.randint(least, most))]

    def run(pool, world):
        for step in steps:
            step(pool, world)
        return pool[-1]

    return run
