"""Autocast inside compiled functions and around them: the results of eager calls, bit for bit."""

import pytest

import yesca as torch
from yesca import nn
from yesca.nn import functional as F

LOWER = (torch.bfloat16, torch.float16)


def network(seed=0):
    torch.manual_seed(seed)
    return nn.Sequential(nn.Linear(64, 96), nn.GELU(), nn.LayerNorm(96), nn.Linear(96, 33))


@pytest.mark.parametrize("lower", LOWER)
@pytest.mark.parametrize("size", [(3, 5, 4), (64, 64, 64), (200, 96, 130)])
def test_products(lower, size):
    """Packed or not: what one launch leaves for the next is known to be that."""
    rows, inner, columns = size
    x, w = torch.randn(rows, inner).to(lower), torch.randn(columns, inner).to(lower)
    compiled = torch.compile(F.linear)
    for _ in range(3):
        assert compiled(x, w).equal(F.linear(x, w))


@pytest.mark.parametrize("lower", LOWER)
def test_a_region_inside_a_compiled_function(lower):
    model, x = network(), torch.randn(40, 64)

    def run(x):
        with torch.autocast("cpu", dtype=lower):
            made = model(x)
            with torch.autocast("cpu", enabled=False):
                wide = model(x)
        return made, wide, x @ x.t()

    compiled = torch.compile(run)
    for _ in range(3):
        for got, wanted in zip(compiled(x), run(x), strict=True):
            assert got.dtype is wanted.dtype
            assert got.equal(wanted)
    assert [made.dtype for made in compiled(x)] == [lower, torch.float32, torch.float32]


def test_a_region_around_a_compiled_module():
    model, x = network(), torch.randn(40, 64)
    compiled = torch.compile(model)
    plain = compiled(x)
    for lower in (*LOWER, *LOWER):
        with torch.autocast("cpu", dtype=lower):
            assert compiled(x).dtype is lower
            assert compiled(x).equal(model(x))
        assert compiled(x).equal(plain)


def steps(wrap, count=4, lower=torch.bfloat16):
    model = network()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
    x, y = torch.randn(48, 64), torch.randint(33, (48,))

    def step():
        optimizer.zero_grad()
        with torch.autocast("cpu", dtype=lower):
            loss = F.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        return loss

    step = wrap(step)
    return [step().item() for _ in range(count)], [p.tolist() for p in model.parameters()]


@pytest.mark.parametrize("lower", LOWER)
def test_whole_training_steps(lower):
    """A weight's cast belongs to one step: the next one sees the weight that it left."""
    eager, compiled = (steps(wrap, lower=lower) for wrap in (lambda step: step, torch.compile))
    assert eager == compiled
    assert eager[0][-1] < eager[0][0]
