"""Random chains of views, and what each gives: sizes, strides, offset, or the error.

`run(package, seed)` walks one chain. The same seed makes the same calls in every package, as long
as the results agree, since calls depend on sizes and strides alone.
"""

import random

DTYPES = ("int32", "float32", "float64", "int16", "uint8", "complex64")


def start(m, draw):
    """A tensor over a storage of its own."""
    shape = [draw.choice((0, 1, 1, 2, 3, 4, 6)) for _ in range(draw.choice((0, 1, 2, 2, 3, 3, 4)))]
    if draw.random() < 0.8:
        shape = [n or 2 for n in shape]
    count = 1
    for n in shape:
        count *= n
    return m.arange(count + 8, dtype=getattr(m, draw.choice(DTYPES[:5])))[4:4 + count].view(shape)


def factors(draw, count):
    """Sizes whose product is `count`, or nearly."""
    sizes = []
    while count > 1 and draw.random() < 0.8:
        n = draw.choice([d for d in range(1, count + 1) if count % d == 0])
        sizes.append(n)
        count //= n
    sizes.append(count)
    for _ in range(draw.choice((0, 0, 0, 1, 2))):
        sizes.insert(draw.randrange(len(sizes) + 1), 1)
    if draw.random() < 0.3:
        sizes[draw.randrange(len(sizes))] = -1
    if draw.random() < 0.05:
        sizes[draw.randrange(len(sizes))] = draw.choice((-1, -2, 0, 5))
    return sizes


def call(m, draw, x):
    """(what is called, a function that calls it)."""
    ndim, shape = x.dim(), list(x.shape)

    def dim():
        return draw.randrange(-ndim - 1, ndim + 1) if draw.random() < 0.05 or not ndim else \
            draw.randrange(-ndim, ndim)

    def size(d):
        return shape[d] if ndim and -ndim <= d < ndim else 1

    kind = draw.choice(("view view reshape transpose permute select slice slice narrow diagonal "
                        "unfold expand squeeze unsqueeze flatten unflatten movedim as_strided "
                        "retype t split getitem contiguous resize_ ravel mT swap tile_dims "
                        "squeeze_dims unsqueeze_ transpose_ squeeze_ set_ rot flip chunk "
                        "view_as reshape_as unbind index").split())
    a, b = dim(), dim()
    if kind in ("view", "reshape"):
        sizes = factors(draw, x.numel())
        return f"{kind} {sizes}", lambda: getattr(x, kind)(sizes)
    if kind in ("view_as", "reshape_as"):
        sizes = [n for n in factors(draw, x.numel()) if n >= 0]
        return f"{kind} {sizes}", lambda: getattr(x, kind)(m.empty(sizes))
    if kind in ("transpose", "movedim", "transpose_"):
        return f"{kind} {a} {b}", lambda: getattr(x, kind)(a, b)
    if kind == "swap":
        return f"swapdims {a} {b}", lambda: x.swapdims(a, b)
    if kind == "permute":
        order = draw.sample(range(ndim), ndim)
        return f"permute {order}", lambda: x.permute(order)
    if kind in ("select", "unbind"):
        at = draw.randrange(-size(a) - 1, size(a) + 1) if draw.random() < 0.1 else \
            draw.randrange(size(a)) if size(a) else 0
        return f"{kind} {a} {at}", (lambda: x.select(a, at)) if kind == "select" else \
            lambda: x.unbind(a)[0 if size(a) == 0 else at % size(a)]
    if kind == "slice":
        low, high = (draw.choice((None, *range(-size(a) - 1, size(a) + 2))) for _ in range(2))
        step = draw.choice((1, 1, 2, 3))
        index = (*(slice(None) for _ in range(a % max(ndim, 1))), slice(low, high, step))
        return f"slice {index}", lambda: x[index]
    if kind == "narrow":
        low, count = draw.randrange(size(a) + 1), draw.randrange(size(a) + 1)
        return f"narrow {a} {low} {count}", lambda: x.narrow(a, low, count)
    if kind == "diagonal":
        far = draw.randrange(-3, 4)
        return f"diagonal {far} {a} {b}", lambda: x.diagonal(far, a, b)
    if kind == "unfold":
        wide, step = draw.randrange(size(a) + 2), draw.choice((0, 1, 1, 2, 3))
        return f"unfold {a} {wide} {step}", lambda: x.unfold(a, wide, step)
    if kind == "expand":
        sizes = [draw.choice((-1, n, 3)) if n == 1 else draw.choice((-1, n)) for n in shape]
        sizes = [draw.choice((1, 2, -1, 0))] * draw.choice((0, 0, 1)) + sizes
        return f"expand {sizes}", lambda: x.expand(sizes)
    if kind == "tile_dims":
        sizes = [1 if draw.random() < 0.5 else n for n in shape]
        return f"expand_as {sizes}", lambda: x.expand_as(m.empty(sizes))
    if kind in ("squeeze", "unsqueeze", "unsqueeze_", "squeeze_"):
        return f"{kind} {a}", lambda: getattr(x, kind)(a)
    if kind == "squeeze_dims":
        dims = tuple(draw.sample(range(ndim), draw.randrange(ndim + 1)))
        return f"squeeze {dims}", lambda: x.squeeze(dims)
    if kind == "flatten":
        return f"flatten {a} {b}", lambda: x.flatten(a, b)
    if kind == "unflatten":
        sizes = factors(draw, size(a)) if size(a) else [0, 2]
        return f"unflatten {a} {sizes}", lambda: x.unflatten(a, sizes)
    if kind == "as_strided":
        sizes = [draw.randrange(4) for _ in range(draw.randrange(3))]
        steps = [draw.choice((0, 1, 2, 3, 5, 7)) for _ in sizes]
        at = draw.choice((None, 0, 1, 2, 4))
        return f"as_strided {sizes} {steps} {at}", lambda: x.as_strided(sizes, steps, at)
    if kind == "retype":
        to = draw.choice(DTYPES)
        return f"view {to}", lambda: x.view(getattr(m, to))
    if kind == "getitem":
        index = tuple(draw.choice((None, Ellipsis, 0, -1, slice(None), slice(1, None)))
                      for _ in range(draw.randrange(1, ndim + 2)))
        if index.count(Ellipsis) > 1:
            index = index[:1]
        return f"getitem {index}", lambda: x[index]
    if kind == "index":
        rows = m.tensor([0, 0]) if draw.random() < 0.5 else m.tensor([[0], [0]])
        index = (*(slice(None) for _ in range(a % max(ndim, 1))), rows)
        return f"index {len(index)} {list(rows.shape)}", lambda: x[index]
    if kind == "resize_":
        sizes = [draw.randrange(4) for _ in range(draw.randrange(4))]
        return f"resize_ {sizes}", lambda: x.detach().resize_(sizes)
    if kind == "set_":
        sizes = [draw.randrange(3) for _ in range(draw.randrange(3))]
        steps, at = [draw.randrange(3) for _ in sizes], draw.randrange(3)
        return f"set_ {at} {sizes} {steps}", lambda: m.empty(0, dtype=x.dtype).set_(
            x.untyped_storage(), at, sizes, steps)
    if kind in ("split", "chunk"):
        count = draw.randrange(1, size(a) + 2)
        return f"{kind} {count} {a}", lambda: getattr(x, kind)(count, a)[-1]
    if kind == "rot":
        return f"rot90 {a} {b}", lambda: x.rot90(1, (a, b))
    if kind == "flip":
        return f"flip {a}", lambda: x.flip(a)
    return kind, {"t": lambda: x.t(), "contiguous": lambda: x.contiguous(),
                  "ravel": lambda: x.ravel(), "mT": lambda: x.mT}[kind]


def shown(x):
    """How a tensor lies: sizes, strides, offset, and whether it is contiguous."""
    return f"{list(x.shape)} {list(x.stride())} {x.storage_offset()} {int(x.is_contiguous())}"


def run(m, seed, steps=12):
    """[(what was called, how its result lies or what was raised)]."""
    draw = random.Random(seed)
    x = start(m, draw)
    found = [("start", shown(x))]
    for _ in range(steps):
        name, function = call(m, draw, x)
        try:
            x = function()
        except Exception as error:  # the class is what is compared
            found.append((name, f"!{type(error).__name__}: {str(error).splitlines()[0]}"))
            continue
        found.append((name, shown(x)))
        if x.numel() > 400 or x.dim() > 6:
            break
    return found
