"""Kernels that are maps join with the operators around them, and change no bit by it."""

import pytest

import yesca as torch
from yesca import kernels
from yesca.graph import groups
from yesca.kernels import language as tl


@pytest.fixture(autouse=True)
def small_launches_join(monkeypatch):
    monkeypatch.setattr(groups, "LEAST", 2)


@torch.kernel
def floats(x_ptr, y_ptr, out_ptr, n, factor, truth, NAME: tl.constexpr, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    x, y = tl.load(x_ptr + offsets, mask=mask), tl.load(y_ptr + offsets, mask=mask, other=1)
    if NAME == "arithmetic":
        z = (x + y) * factor - x / (y + 3) + -x * y
    elif NAME == "functions":
        a = x.to(tl.float32)
        z = tl.exp(-tl.abs(a)) + tl.log(tl.abs(a) + 1) + tl.sin(a) * tl.sigmoid(a) + tl.sqrt(a * a)
    elif NAME == "choices":
        z = tl.where((x > y) & truth, x, tl.where(y > 0, 7, -y)) + tl.maximum(x, y) * factor
    elif NAME == "casts":
        z = x.to(tl.int32).to(tl.float32) + (x > 0).to(tl.int8) + y.to(tl.bfloat16).to(tl.float32)
    else:
        z = tl.fma(x.to(tl.float32), y.to(tl.float32), 1.0)
    tl.store(out_ptr + offsets, z, mask=mask)


@torch.kernel
def integers(x_ptr, y_ptr, out_ptr, n, by, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK) + BLOCK * tl.program_id(0)
    mask = n > offsets
    x, y = tl.load(x_ptr + offsets, mask), tl.load(y_ptr + offsets, mask)
    tl.store(out_ptr + offsets, ((x << 2) ^ (y & 3)) // (y * y + 1) + x % by - (~x >> 1), mask)


@torch.kernel
def whole(x_ptr, BLOCK: tl.constexpr):
    places = x_ptr + (tl.program_id(0) * BLOCK + tl.arange(0, BLOCK))
    tl.store(places, tl.load(places) * 2)


@torch.kernel
def two(x_ptr, a_ptr, b_ptr, n: tl.constexpr, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offsets, mask=offsets < n)
    tl.store(a_ptr + offsets, x + 1, mask=offsets < n)
    tl.store(b_ptr + offsets, x * x, mask=offsets < n)


def launched(step, *given):
    """The results compiled and at once, which must be equal; the launches of the program."""
    compiled = torch.compile(step, fullgraph=True)
    expected = step(*given)
    for _ in range(3):
        made = compiled(*given)
        for one, other in zip(expected, made, strict=True):
            assert one.dtype is other.dtype
            torch.testing.assert_close(one, other, rtol=0, atol=0, equal_nan=True)
    found = torch.compiler.explain(step)(*given)
    assert found.graph_count == 1 and found.graph_break_count == 0
    return found.graphs[0].launches


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16, torch.float16])
@pytest.mark.parametrize("name", ["arithmetic", "functions", "choices", "casts", "fma"])
def test_joined_floats(name, dtype):
    def step(x, y):
        x = x * 3
        out = torch.empty_like(x)
        floats[(kernels.cdiv(x.numel(), 64),)](x, y, out, x.numel(), 0.3, True, name, BLOCK=64)
        return out.relu(), out + y

    torch.manual_seed(0)
    x, y = torch.randn(3, 333).to(dtype), torch.randn(3, 333).to(dtype)
    x[1, 5], y[2, 7], x[0, 0], y[0, 1] = float("nan"), float("inf"), -0.0, -0.0
    assert launched(step, x, y) == ["mul+floats+relu+add"]


@pytest.mark.parametrize("dtype", [torch.int8, torch.uint8, torch.int32, torch.int64])
def test_joined_integers(dtype):
    def step(x, y):
        x = x + 3
        out = torch.empty_like(x)
        integers[(5,)](x, y, out, x.numel(), 7, BLOCK=256)
        return (out * 2,)

    x, y = (torch.randint(0, 100, (1025,)).to(dtype) for _ in range(2))
    assert launched(step, x, y) == ["add+integers+mul"]


def test_joined_in_place_and_several_results():
    def step(x):
        x = x + 1
        whole[(4,)](x, BLOCK=256)
        a, b = torch.empty_like(x), torch.empty_like(x)
        two[(4,)](x, a, b, 1024, BLOCK=256)
        whole[(4,)](a, BLOCK=256)
        return x, a - b

    assert launched(step, torch.randn(1024)) == ["add+whole+two+whole+sub"]


def test_parts_of_tensors():
    """Fewer elements than there are, views, and a grid that ends early."""
    def step(x, n, programs):
        y = x * 2
        out = torch.zeros(1200)
        floats[(programs,)](y[100:], y, out[50:], n, 2.0, True, "fma", BLOCK=64)
        return out, y

    x = torch.randn(1200)
    for n, programs in ((1000, 16), (1000, 5), (1, 1), (0, 3), (-4, 3), (700, 1000)):
        launched(step, x, n, programs)


@pytest.mark.parametrize("kind", ["position", "stride", "shift", "mask", "twice", "aliases",
                                  "grid", "outside"])
def test_what_is_no_map_stays_a_launch(kind):
    @torch.kernel
    def other(x_ptr, out_ptr, n, KIND: tl.constexpr, BLOCK: tl.constexpr):
        offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
        mask = offsets < n
        x = tl.load(x_ptr + offsets, mask=mask)
        if KIND == "position":
            x = x + offsets
        elif KIND == "stride":
            x += tl.load(x_ptr + offsets * 2, mask=offsets * 2 < n)
        elif KIND == "shift":
            x += tl.load(x_ptr + offsets + 1, mask=offsets + 1 < n)
        elif KIND == "mask":
            mask &= offsets >= 3
        tl.store(out_ptr + offsets, x, mask=mask)
        if KIND == "twice":
            tl.store(out_ptr + offsets, tl.load(out_ptr + offsets, mask=mask) * 2, mask=mask)

    def step(x):
        x = x + 1
        n = x.numel()
        out = torch.zeros(2 * n)
        source = out[1:] if kind == "aliases" else x[n - 8:] if kind == "outside" else x
        grid = (4, 2) if kind == "grid" else (4,)
        other[grid](source, out, 8 if kind == "outside" else n, kind, BLOCK=256)
        return out * 2, x * 3

    launches = launched(step, torch.randn(1024))
    assert kind == "outside" or "other" in launches


def test_stored_programs_know_the_points(tmp_path, monkeypatch):
    from yesca.runtime import cache

    monkeypatch.setattr(cache, "_current", cache._current)
    cache.use([tmp_path])

    def step(x, n):
        out = torch.zeros_like(x)
        for _ in range(10):
            floats[(16,)](x, out, out, n, 0.5, True, "fma", BLOCK=64)
            x = x * 0.9
        return out, x

    for n in (1000, 900, 1000, 900):
        x = torch.randn(1024)
        for made, expected in zip(torch.compile(step)(x, n), step(x, n), strict=True):
            assert torch.equal(made, expected)
