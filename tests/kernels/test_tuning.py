"""autotune, heuristics, Config, do_bench."""

import pytest

import yesca as torch
from yesca import kernels
from yesca.kernels import language as tl
from yesca.kernels import testing


@kernels.autotune([kernels.Config({"BLOCK": 16}), kernels.Config({"BLOCK": 64}, num_warps=8)],
                  key=["n"])
@kernels.heuristics({"EVEN": lambda args: args["n"] % args["BLOCK"] == 0})
@kernels.jit
def increase(x_ptr, n, BLOCK: tl.constexpr, EVEN: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    if EVEN:
        tl.store(x_ptr + offsets, tl.load(x_ptr + offsets) + 1)
    else:
        mask = offsets < n
        tl.store(x_ptr + offsets, tl.load(x_ptr + offsets, mask=mask) + 1, mask=mask)


def grid(meta):
    return (kernels.cdiv(meta["n"], meta["BLOCK"]),)


@pytest.mark.parametrize("n", [64, 70])
def test_measuring_leaves_no_trace(n):
    x = torch.zeros(n)
    increase[grid](x, n)
    assert x.tolist() == [1.0] * n
    assert increase.best_config in increase.configs
    increase[grid](x, n)
    assert x.tolist() == [2.0] * n
    assert sum(key[0] == n for key in increase.cache) == 1


def test_the_first_configuration_is_interpreted():
    x = torch.zeros(20)
    increase.interpret[grid](x, 20)
    assert x.tolist() == [1.0] * 20 and increase.best_config is increase.configs[0]


def test_refusals():
    with pytest.raises(ValueError, match="no such parameter of the kernel; it has x_ptr, n"):
        kernels.autotune([], key=["m"])(increase.fn)


def test_sizes():
    assert [kernels.next_power_of_2(n) for n in (0, 1, 2, 3, 600, 1024)] == [1, 1, 2, 4, 1024, 1024]
    assert kernels.cdiv(7, 4) == 2
    assert repr(kernels.Config({"BLOCK": 4})) == "BLOCK: 4, num_warps: 4, num_stages: 3"


def test_do_bench():
    calls = []
    weight = torch.ones(1, requires_grad=True)
    weight.grad = torch.ones(1)
    taken = testing.do_bench(lambda: calls.append(1), warmup=0, rep=0, return_mode="all",
                             grad_to_none=[weight])
    assert len(taken) == 1 and len(calls) == 2 and weight.grad is None
    low, high = testing.do_bench(lambda: None, warmup=0, rep=1, quantiles=[0.1, 0.9])
    assert 0 <= low <= high
    with pytest.raises(ValueError, match="return_mode is one of"):
        testing.do_bench(lambda: None, return_mode="least")


def test_assert_close():
    testing.assert_close(torch.ones(2), torch.ones(2) + 1e-3)
    with pytest.raises(AssertionError):
        testing.assert_close(torch.ones(2), torch.zeros(2))
