"""What masks choose: machine code beside plans."""

import pytest

import yesca as torch
from yesca.dispatch import chosen, fast

x = torch.arange(24.0).reshape(2, 3, 4)
DTYPES = ("float32", "float64", "bfloat16", "int64", "int16", "bool", "complex64")


def by_plans(function):
    """A result without machine code: inside a mode everything takes the Python path."""
    class Mode(torch.overrides.TorchFunctionMode):
        def __torch_function__(self, func, types, args=(), kwargs=None):
            return func(*args, **(kwargs or {}))

    with Mode():
        return function()


def same(a, b):
    if isinstance(a, tuple):
        return len(a) == len(b) and all(same(p, q) for p, q in zip(a, b, strict=True))
    return a.dtype is b.dtype and a.shape == b.shape and a.stride() == b.stride() \
        and torch.equal(a, b)


@pytest.mark.parametrize("dtype", DTYPES)
def test_masks(dtype):
    values = x.to(getattr(torch, dtype))
    truths = x.remainder(3) > 0
    masks = [truths, x > 99, x > -1, truths[:, :, 0].contiguous(), truths[:, 0, 0].contiguous(),
             truths.transpose(0, 1).contiguous().transpose(0, 1)]
    for mask in masks:
        for _ in range(2):
            assert same(values[mask], by_plans(lambda m=mask: values[m]))
    for source in (values.transpose(0, 1), values[:, 1:], values[:0]):
        mask = torch.ones(source.shape, dtype=torch.bool)
        assert same(source[mask], source.reshape(-1))
    assert same(values.masked_select(truths), values[truths])
    with pytest.raises(IndexError, match="does not match the shape"):
        values[torch.ones(3, 3, 4, dtype=torch.bool)]


@pytest.mark.parametrize("dtype", DTYPES)
def test_positions(dtype):
    for made in (x.remainder(5), x * 0, x[0, 0] - 1, x[:0], x.t() if x.ndim == 2 else x[0].t()):
        values = made.to(getattr(torch, dtype))
        for _ in range(2):
            assert same(values.nonzero(), by_plans(values.nonzero))
            assert same(values.nonzero(as_tuple=True),
                        by_plans(lambda v=values: v.nonzero(as_tuple=True)))
            assert same(torch.where(values), by_plans(lambda v=values: torch.where(v)))
    zeros = torch.tensor([0.0, -0.0, float("nan")]).to(torch.float64)
    assert zeros.nonzero().tolist() == zeros.float().nonzero().tolist() == [[2]]
    assert torch.tensor(3).nonzero().shape == (1, 0)


def test_gradients_and_views_of_leaves():
    w = torch.arange(4.0, requires_grad=True)
    mask = torch.tensor([True, False, True, False])
    for _ in range(2):
        w.grad = None
        w[mask].sum().backward()
        assert w.grad.tolist() == [1, 0, 1, 0]
    assert w.detach()[mask].grad_fn is None and w[mask].grad_fn is not None
    with torch.no_grad():
        assert not w[mask].requires_grad
    base = torch.zeros(4)
    part = base[:]
    base.mul_(w)
    assert part[mask].requires_grad


@pytest.mark.skipif(fast.FAST is None, reason="needs the builtin path")
def test_no_plan_is_made_for_another_count():
    values, mask = torch.zeros(40), torch.zeros(40, dtype=torch.bool)
    values[mask], mask.nonzero()
    before = torch.runtime.plan.launches, len(fast.FAST.plans)
    for count in range(1, 30):
        view = mask.numpy()
        view[:count] = True
        assert values[mask].shape == (count,) and mask.nonzero().shape == (count, 1)
        assert chosen.masked(values, mask) is not None
    assert (torch.runtime.plan.launches, len(fast.FAST.plans)) == before


def test_compiled_functions():
    compiled = torch.compile(lambda v: (v * 2)[v > 1] + 1)
    for shift in range(3):
        v = torch.arange(4.0) - shift
        assert torch.equal(compiled(v), (v * 2)[v > 1] + 1)


def test_unique():
    runs = torch.tensor([0, 0, 0, 0]).unique_consecutive()
    assert runs.tolist() == [0]
    for values in ([1, 1, 1, 1], [3, 1, 2, 1], [4, 3, 2, 1], []):
        t = torch.tensor(values, dtype=torch.int64)
        for _ in range(2):
            assert t.unique().tolist() == sorted(set(values))
            assert same(t.unique(), by_plans(t.unique))
            found = t.unique(return_inverse=True, return_counts=True)
            assert same(found[0][found[1]], t) and found[2].sum().item() == len(values)
