"""Derivatives checked against differences, along random directions, in float64."""

import random

STEP = 1e-6


def _inner(xs, ys):
    return sum((x * y).sum().item() for x, y in zip(xs, ys))


def _direction(package, tensors, numbers):
    return [package.tensor([numbers.uniform(-1, 1) for _ in range(t.numel())],
                           dtype=package.float64).reshape(t.shape) for t in tensors]


def gradients(package, function, inputs, weights, graph=False):
    """Gradients of the weighted sum of function(*inputs), zeros where there is none."""
    inputs = [x if graph else x.detach().requires_grad_() for x in inputs]
    results = function(*inputs)
    kept = [(r, w) for r, w in zip(results, weights) if r.requires_grad]
    if not kept:
        return [package.zeros_like(x) for x in inputs]
    found = package.autograd.grad([r for r, _ in kept], inputs, [w for _, w in kept],
                                  create_graph=graph, allow_unused=True)
    return [package.zeros_like(x) if g is None else g for g, x in zip(found, inputs)]


def check(package, function, inputs, seed=0, tolerance=1e-5):
    """Compare the gradients of function(*inputs), a list of tensors, with central differences."""
    numbers = random.Random(seed)
    with package.no_grad():
        weights = _direction(package, function(*inputs), numbers)
    exact = gradients(package, function, inputs, weights)
    for _ in range(2):
        along = _direction(package, inputs, numbers)
        with package.no_grad():
            up, down = (function(*(x + step * d for x, d in zip(inputs, along)))
                        for step in (STEP, -STEP))
            measured = _inner([(a - b) / (2 * STEP) for a, b in zip(up, down)], weights)
        wanted = _inner(exact, along)
        scale = 1 + sum(g.abs().sum().item() for g in exact)
        assert abs(measured - wanted) <= tolerance * scale, (
            f"the gradient along a direction is {wanted}, differences give {measured}")


def check_twice(package, function, inputs, seed=0):
    """The same for the gradients themselves, as a function of the inputs and of their weights."""
    numbers = random.Random(seed)
    with package.no_grad():
        weights = _direction(package, function(*inputs), numbers)
    count = len(inputs)

    def first(*values):
        with package.enable_grad():
            own = [v if v.requires_grad else v.detach().requires_grad_() for v in values]
            return gradients(package, function, own[:count], own[count:], graph=True)

    check(package, first, [*inputs, *weights], seed, tolerance=1e-4)


def check_tangents(package, function, inputs, seed=0):
    """Compare the tangents of forward mode with the gradients: both give the same product."""
    from yesca.autograd import forward_ad

    numbers = random.Random(seed)
    with package.no_grad():
        weights = _direction(package, function(*inputs), numbers)
    along = _direction(package, inputs, numbers)
    with package.no_grad(), forward_ad.dual_level():
        results = function(*[forward_ad.make_dual(x, d) for x, d in zip(inputs, along)])
        tangents = [forward_ad.unpack_dual(r).tangent for r in results]
    found = sum((t * w).sum().item() for t, w in zip(tangents, weights) if t is not None)
    exact = gradients(package, function, inputs, weights)
    scale = 1 + sum(g.abs().sum().item() for g in exact)
    assert abs(found - _inner(exact, along)) <= 1e-9 * scale, (
        f"the tangent gives {found}, the gradient {_inner(exact, along)}")


def check_batched(package, function, inputs, seed=0):
    """A batch of gradients in one pass, on the tape and off it, is what single passes give."""
    numbers = random.Random(seed)
    inputs = [x.detach().requires_grad_() for x in inputs]
    results = [r for r in function(*inputs) if r.requires_grad]
    if not results:
        return
    rows = [_direction(package, results, numbers) for _ in range(2)]
    single = [package.autograd.grad(results, inputs, row, retain_graph=True, allow_unused=True)
              for row in rows]
    weights = [package.stack(column).requires_grad_() for column in zip(*rows)]
    for create in (True, False):
        whole = package.autograd.grad(results, inputs, weights, is_grads_batched=True,
                                      retain_graph=True, create_graph=create, allow_unused=True)
        for found, *wanted in zip(whole, *single):
            assert (found is None) == (wanted[0] is None)
            assert found is None or package.allclose(found, package.stack(wanted), 1e-9, 1e-12,
                                                     equal_nan=True)
