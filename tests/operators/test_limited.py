"""Floats of 8 bits and wide unsigned integers: what works, and what is refused, is PyTorch's."""

import json
import sys
from pathlib import Path

import pytest

import yesca as torch

FIXTURES = Path(__file__).parents[1] / "fixtures"
TABLE = json.loads((FIXTURES / "small_floats.json").read_text())
PARTS = 6


@pytest.fixture(scope="module")
def small():
    sys.path.insert(0, str(FIXTURES))
    try:
        import small_float_cases
    finally:
        sys.path.remove(str(FIXTURES))
    return small_float_cases


def test_the_table_holds_every_case(small):
    assert [one for one, _ in TABLE] == [one for one, _ in small.cases()]


@pytest.mark.parametrize("part", range(PARTS))
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_recorded_calls(small, part):
    cases = list(zip(TABLE, small.cases(), strict=True))[part::PARTS]
    made = [(expression, small.results(torch, expression, names), wanted)
            for (expression, wanted), (_, names) in cases]
    assert not [one for one in made if one[1] != one[2]]


# ---- wide unsigned integers ------------------------------------------------------------------

WIDE = [torch.uint16, torch.uint32, torch.uint64]
NAMES = {torch.uint16: "UInt16", torch.uint32: "UInt32", torch.uint64: "UInt64"}
REFUSED = {
    "add_stub": lambda x: x + x, "neg_cpu": lambda x: -x, "lt_cpu": lambda x: x < x,
    "max_all": lambda x: x.max(), "bitwise_not_cpu": lambda x: ~x, "pow": lambda x: x**x,
    "index_put": lambda x: x.index_put((torch.tensor([0]),), x[:1]),
    "masked_fill": lambda x: x.masked_fill(torch.tensor([True, False, True]), 1),
    "index_select": lambda x: x.index_select(0, torch.tensor([0])),
    "flip_cpu": lambda x: x.flip(0), "nonzero_count_cpu": lambda x: x.nonzero(),
    "div_floor_cpu": lambda x: x // x, "topk_cpu": lambda x: x.topk(1), "dot": lambda x: x.dot(x),
    "maximum_cpu": lambda x: torch.maximum(x, x), "sign_cpu": lambda x: x.sign(),
    "take_cpu": lambda x: x.take(torch.tensor([0])), "lshift_cpu": lambda x: x << 1,
    "scatter_gather_tensor_cpu": lambda x: x.gather(0, torch.tensor([0])),
    "clamp_scalar_cpu": lambda x: x.clamp(0, 1), "argmax_cpu": lambda x: x.argmax(),
    "tril": lambda x: x[None].tril(), "logical_not_cpu": lambda x: torch.logical_not(x),
    "trace": lambda x: torch.trace(x.expand(3, 3)),
    "lerp_kernel_scalar": lambda x: x.lerp(x, 0.5),
}
GIVEN = {
    "mul": lambda x: x * x, "eq": lambda x: x == x, "and": lambda x: x & x, "div": lambda x: x / x,
    "sum": lambda x: x.sum(), "sort": lambda x: x.sort()[0], "cat": lambda x: torch.cat([x, x]),
    "where": lambda x: torch.where(torch.tensor([True, False, True]), x, x),
    "index": lambda x: x[torch.tensor([0, 2])], "to": lambda x: x.to(torch.int64),
    "ldexp": lambda x: torch.ldexp(x, x), "unique": lambda x: x.unique(),
    "fill": lambda x: x.clone().fill_(3), "exp": lambda x: x.exp(), "roll": lambda x: x.roll(1),
    "cumsum": lambda x: x.cumsum(0), "stack": lambda x: torch.stack([x, x]),
}


@pytest.mark.parametrize("dtype", WIDE, ids=str)
@pytest.mark.parametrize("kernel", REFUSED)
def test_refused(kernel, dtype):
    x = torch.tensor([3, 1, 2], dtype=dtype)
    for _ in range(2):
        with pytest.raises(NotImplementedError) as caught:
            REFUSED[kernel](x)
        assert str(caught.value) == f"\"{kernel}\" not implemented for '{NAMES[dtype]}'"


@pytest.mark.parametrize("dtype", WIDE, ids=str)
@pytest.mark.parametrize("name", GIVEN)
def test_given(name, dtype):
    made = GIVEN[name](torch.tensor([3, 1, 2], dtype=dtype))
    want = GIVEN[name](torch.tensor([3, 1, 2]))
    assert made.tolist() == want.tolist()
    assert repr(torch.tensor([3, 1, 2], dtype=dtype)) == f"tensor([3, 1, 2], dtype={dtype})"


def test_lerp_needs_floats():
    x = torch.tensor([1, 2])
    with pytest.raises(NotImplementedError, match="\"lerp_kernel_scalar\" not implemented for 'Lo"):
        torch.lerp(x, x, 0.5)


# ---- floats of 8 bits ------------------------------------------------------------------------

def test_gradients_pass_through_what_moves_bytes():
    x = torch.tensor([1.0, 2, 3, 4], requires_grad=True)
    for name in ("float8_e4m3fn", "float8_e5m2fnuz"):
        for call, wanted in ((lambda h: h[torch.tensor([0, 0, 1])], [2, 1, 0, 0]),
                             (lambda h: h.view(2, 2)[:, 0], [1, 0, 1, 0]),
                             (lambda h: h[1:3], [0, 1, 1, 0]), (lambda h: h.roll(1), [1] * 4),
                             (lambda h: h.unfold(0, 2, 1), [1, 2, 2, 1])):
            x.grad = None
            call(x.to(getattr(torch, name))).float().sum().backward()
            assert x.grad.tolist() == wanted


def test_gradients_of_products():
    w, v = torch.ones(3, 3, requires_grad=True), torch.full((3, 3), 2.0, requires_grad=True)
    e4 = torch.float8_e4m3fn
    for call, left, right in ((lambda: w.to(e4) * v.to(e4), 2, 1),
                              (lambda: w.to(e4) @ v.to(e4), 6, 3),
                              (lambda: torch.nn.functional.linear(w.to(e4), v.to(e4)), 6, 3)):
        w.grad = v.grad = None
        call().float().sum().backward()
        assert w.grad.tolist() == [[left] * 3] * 3 and v.grad.tolist() == [[right] * 3] * 3


def test_products_of_layers():
    layer = torch.nn.Linear(3, 2)
    with torch.no_grad():
        layer.weight.copy_(torch.tensor([[1.0, 2, 3], [-1, 0, 4]]))
        layer.bias.copy_(torch.tensor([0.5, -1]))
    layer.to(torch.float8_e4m3fn)
    made = layer(torch.tensor([[1.0, 2, 4]]).to(torch.float8_e4m3fn))
    assert made.dtype is torch.float8_e4m3fn and made.tolist() == [[18.0, 14.0]]


def test_the_default_dtype_is_not_one():
    with pytest.raises(TypeError, match="couldn't find storage object Float8_e4m3fnStorage"):
        torch.set_default_dtype(torch.float8_e4m3fn)
    with pytest.raises(RuntimeError, match="Unknown Complex ScalarType for Float8_e5m2"):
        torch.float8_e5m2.to_complex()


def test_meta_and_batches():
    shapes = torch.zeros(2, 3, dtype=torch.float8_e5m2, device="meta")
    assert shapes.float().dtype is torch.float32 and shapes.t().shape == (3, 2)
    x = torch.arange(6.0).view(2, 3).to(torch.float8_e5m2)
    assert torch.vmap(lambda row: row.float() + 1)(x).tolist() == [[1, 2, 3], [4, 5, 6]]
