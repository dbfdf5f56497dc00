"""Random differentiable programs: views, writes in place, reductions, indices, parts off the tape.

`drawn(m, choose)` draws one: leaves, and a function of them that makes the same choices again. What
is off the tape keeps the values of the first call, so that differences do not see it either.
"""

from dataclasses import dataclass

import alias_indices
import alias_views
import numpy as np

LEAVES = ((2, 3), (3,), (), (2, 1, 2), (4,), (1, 3))
MOST_ELEMENTS = 24
VIEWS = ("index", "transpose", "permute", "movedim", "expand", "unfold", "diagonal", "pieces",
         "narrow", "squeeze")
STEPS = {}


def step(function):
    """Enter a kind of step, which gives a new tensor from one of the pool."""
    STEPS[function.__name__] = function
    return function


@dataclass
class Layout:
    """What the kinds of alias_views look at: an array of a tensor's sizes and strides."""

    array: np.ndarray
    memory: np.ndarray
    offset: int = 0


def layout_of(tensor):
    shape, strides = tuple(tensor.shape), tensor.stride()
    memory = np.zeros(1 + sum(max(n - 1, 0) * s for n, s in zip(shape, strides)))
    if 0 in shape:
        return Layout(np.empty(shape), memory)
    return Layout(np.ndarray(shape, float, memory, 0, tuple(8 * s for s in strides)), memory)


class Walk:
    """One run of a program: the tensors that it has made, and what it may choose from."""

    def __init__(self, m, choose, leaves, stopped):
        self.m, self.choose, self.leaves, self.pool = m, choose, leaves, list(leaves)
        self.stopped, self.first, self.count = stopped, not stopped, 0

    def any(self):
        """One of the last tensors."""
        return self.choose(self.pool[-6:])

    def constant(self, shape, scale=0.5):
        """A tensor of numbers that are not multiples of each other."""
        count = int(np.prod(shape, dtype=int))
        start = self.choose((1, 2, 5))
        numbers = [scale * ((start + 7 * k) % 11 - 4.7) for k in range(count)]
        return self.m.tensor(numbers, dtype=self.m.float64).reshape(tuple(shape))

    def tensor(self, array):
        return self.m.tensor(array.tolist(), dtype=getattr(self.m, array.dtype.name)).reshape(
            array.shape)

    def fitting(self, shape):
        """A tensor that is broadcast to a shape."""
        shape = tuple(shape)
        fits = [t for t in self.pool if _broadcasts(tuple(t.shape), shape)]
        return self.choose(fits) if fits else self.any().sum() / 3

    def stop(self, tensor):
        """A tensor off the tape, with the values that it had in the first call.

        Its own derivative stays in it: one that is not 0 is seen.
        """
        now = self.m.tensor(tensor.tolist(), dtype=self.m.float64)
        if self.first:
            self.stopped.append(now)
        self.count += 1
        return tensor - now + self.stopped[self.count - 1]

    def view(self, tensor, kinds=VIEWS):
        """A view of a tensor, or None."""
        made = alias_views.FUNCTIONS[self.choose(kinds)](self, layout_of(tensor))
        return made[0](tensor) if made and made[1].size <= MOST_ELEMENTS else None


def _broadcasts(shape, into):
    try:
        return np.broadcast_shapes(shape, into) == into
    except ValueError:
        return False


# ---- steps that write nothing ------------------------------------------------------------------

SMOOTH = {
    "sin": lambda m, x: x.sin(), "tanh": lambda m, x: x.tanh(), "sigmoid": lambda m, x: x.sigmoid(),
    "square": lambda m, x: x * x, "number": lambda m, x: 1.5 - x * 0.75,
    "reciprocal": lambda m, x: 1 / (x * x + 2), "pow": lambda m, x: x ** 3 / 4,
    "softplus": lambda m, x: x.exp().clamp(max=20).log1p(),
}
BOTH = {
    "mul": lambda m, x, y: x * y, "add": lambda m, x, y: m.add(x, y, alpha=0.5),
    "div": lambda m, x, y: x / (y * y + 1), "lerp": lambda m, x, y: m.lerp(x, y, 0.3),
    "addcmul": lambda m, x, y: m.addcmul(x, x, y, value=0.5),
}
REDUCTIONS = {
    "sum": lambda x, d: x.sum(d), "mean": lambda x, d: x.mean(d, True),
    "logsumexp": lambda x, d: x.logsumexp(d), "softmax": lambda x, d: x.softmax(d),
    "cumsum": lambda x, d: x.cumsum(d), "prod": lambda x, d: (x + 1.7).prod(d),
    "flip": lambda x, d: x.flip(d),
}


@step
def smooth(walk, x):
    return SMOOTH[walk.choose(list(SMOOTH))](walk.m, x)


@step
def both(walk, x):
    return BOTH[walk.choose(list(BOTH))](walk.m, x, walk.fitting(x.shape))


@step
def where(walk, x):
    truths = alias_indices.truths(walk, tuple(x.shape))
    return walk.m.where(walk.tensor(truths), x, walk.fitting(x.shape))


@step
def reduction(walk, x):
    if not x.dim() or 0 in x.shape:
        return x.sum() / 2
    return REDUCTIONS[walk.choose(list(REDUCTIONS))](x, walk.choose(range(-x.dim(), x.dim())))


@step
def product(walk, x):
    if x.dim() != 2 or not x.numel():
        return None
    return x.t() @ x if walk.choose((False, True)) else x @ walk.constant((x.shape[1], 2))


@step
def view(walk, x):
    return walk.view(x)


@step
def reshape(walk, x):
    return x.reshape(alias_views.shape_of(walk, np.empty(tuple(x.shape)))[1])


@step
def index(walk, x):
    given, arrays = alias_indices.mixed(walk, tuple(x.shape))
    return x[given]


@step
def gather(walk, x):
    if not x.dim():
        return x.take(walk.m.tensor([0, 0]))
    dim = walk.choose(range(x.dim()))
    rows = alias_indices.along(walk, tuple(x.shape), dim, x.shape[dim] and 3)
    return x.gather(dim, walk.tensor(rows))


@step
def join(walk, x):
    if not x.dim():
        return walk.m.stack([x, walk.fitting(())])
    return walk.m.cat([x, x * walk.fitting(x.shape)], walk.choose(range(x.dim())))


@step
def detached(walk, x):
    return x * walk.stop(walk.fitting(x.shape).detach())


@step
def off_the_tape(walk, x):
    """A factor made with `no_grad`, which forward mode does not look at."""
    with walk.m.no_grad():
        made = x.sin() + walk.fitting(x.shape)
    return x * walk.stop(made)


# ---- writes ------------------------------------------------------------------------------------

def _part(walk, target):
    """The written tensor: the target, or a view of it that may be written through."""
    if walk.choose((False, True)):
        return target
    part = walk.view(target, ("index", "transpose", "permute", "diagonal", "narrow", "squeeze"))
    return target if part is None else part


WRITES = {
    "add": lambda walk, x: x.add_(walk.fitting(x.shape)),
    "mul": lambda walk, x: x.mul_(walk.fitting(x.shape)),
    "copy": lambda walk, x: x.copy_(walk.fitting(x.shape)),
    "fill": lambda walk, x: x.fill_(walk.choose((0.5, 2.0))),
    "sin": lambda walk, x: x.sin_(), "tanh": lambda walk, x: x.tanh_(),
    "number": lambda walk, x: x.mul_(0.5).sub_(1.25),
}


@step
def write(walk, x):
    """A write to a copy or to what has been made before, whole or through a view."""
    leaf = any(x is one for one in walk.leaves)
    target = x.clone() if leaf or walk.choose((True, True, False)) else x
    part = _part(walk, target)
    WRITES[walk.choose(list(WRITES))](walk, part)
    return walk.choose((target, part))


@step
def set_places(walk, x):
    target = x * 1
    given, arrays = alias_indices.mixed(walk, tuple(x.shape))
    chosen = np.arange(target.numel()).reshape(tuple(x.shape))[arrays]
    if np.unique(chosen).size < chosen.size:
        return None
    target[given] = walk.fitting(chosen.shape)
    return target


@step
def set_part(walk, x):
    target, given = x * 1, alias_views.any_basic_index(walk, tuple(x.shape))
    part = target[given]
    target[given] = walk.fitting(part.shape)
    return walk.choose((target, part))


@step
def put(walk, x):
    """Sums at the places of an index tensor."""
    if not x.dim():
        return None
    target, dim = x * 1, walk.choose(range(x.dim()))
    rows = alias_indices.rows(walk, x.shape[dim])
    sizes = [*x.shape[:dim], len(rows), *x.shape[dim + 1:]]
    source = walk.fitting(sizes).expand(sizes)
    if walk.choose((False, True)):
        return target.index_add_(dim, walk.tensor(rows), source)
    place = (walk.m.arange(n).reshape([-1] + [1] * (dim - d)) for d, n in enumerate(x.shape[:dim]))
    return target.index_put_((*place, walk.tensor(rows)), source, accumulate=True)


@step
def masked(walk, x):
    target = x.clone()
    truths = walk.tensor(alias_indices.truths(walk, tuple(x.shape)))
    if walk.choose((False, True)):
        return target.masked_fill_(truths, 0.25)
    return target.masked_scatter_(truths, walk.constant((x.numel(),)) * walk.any().sum())


@step
def write_off_the_tape(walk, x):
    """A sum with a constant changes no derivative."""
    target = x * 1
    part = _part(walk, target)
    if walk.choose((False, True)):
        part.detach().add_(0.5)
    else:
        with walk.m.no_grad():
            part.add_(walk.constant(part.shape))
    return target


# ---- programs ----------------------------------------------------------------------------------

class Program:
    """A drawn program: its leaves, and the results that are on the tape.

    forward: whether forward mode gives its derivatives too. An error of the first call is raised.
    """

    def __init__(self, m, choose, steps=8):
        self.m, self.steps, self.made, self.log, self.stopped = m, steps, [], [], []
        self.leaves = [self._leaf(number, choose(LEAVES)) for number in range(choose((1, 2, 3)))]

        def noting(options):
            options = list(options)
            self.made.append(choose(range(len(options))))
            return options[self.made[-1]]

        found = self._walk(noting, self.leaves)
        self.kept = [k for k, t in enumerate(found) if t.requires_grad]
        self.results = [found[k] for k in self.kept]
        self.forward = "off_the_tape" not in self.log

    def _leaf(self, number, shape):
        count = int(np.prod(shape, dtype=int))
        values = [((number + 1) * 0.37 + 0.61 * k) % 1.9 - 0.93 for k in range(count)]
        made = self.m.tensor(values, dtype=self.m.float64)
        return made.reshape(shape).requires_grad_()

    def __call__(self, *values):
        """The results, of other leaves."""
        known = iter(self.made)
        found = self._walk(lambda options: list(options)[next(known)], values)
        return tuple(found[k] for k in self.kept)

    def _walk(self, choose, leaves):
        """The last two tensors, smaller ones made of large ones."""
        walk, self.log = Walk(self.m, choose, leaves, self.stopped), []
        for _ in range(self.steps):
            self.log.append(choose(list(STEPS)))
            made = STEPS[self.log[-1]](walk, walk.any())
            if made is not None and made.numel() <= MOST_ELEMENTS and made.dim() <= 4:
                walk.pool.append(made)
        return [t * 1 if t.numel() <= 6 else (t * walk.constant(t.shape, 0.3)).sum(-1).sin()
                for t in walk.pool[-2:]]
