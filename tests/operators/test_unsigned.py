"""What PyTorch computes with uint16, uint32 and uint64, and what it refuses."""

import pytest

import yesca as torch

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
