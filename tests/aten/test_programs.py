"""The operators that a dispatch mode sees are those of PyTorch: golden traces."""

import json
import sys
from pathlib import Path

import pytest

import yesca as torch

FIXTURES = Path(__file__).parents[1] / "fixtures"


def _cases():
    sys.path.insert(0, str(FIXTURES))
    try:
        import dispatch_cases
    finally:
        sys.path.pop(0)
    return dispatch_cases


CASES = _cases()
TRACES = json.loads((FIXTURES / "dispatch.json").read_text(encoding="utf-8"))["traces"]


@pytest.fixture(scope="module")
def runs():
    return CASES.cases(torch)


#: A leaf that gets a view of the gradient that the caller gave keeps a copy, where PyTorch's shares
#: that memory; and PyTorch's tape holds that the statistics of a group norm have gradients.
UNLIKE = frozenset("view reshape t transpose permute unsqueeze squeeze flatten stack "
                   "group_norm".split())


def comparable(name, lines):
    """Without an argument that says nothing, and for those names what their leaves take."""
    found = [line.replace(", attn_mask=None", "") for line in lines]
    if name not in UNLIKE:
        return found
    kept = iter(found)
    return [line for line in kept if not line.startswith("aten.detach") and not (
        line.startswith("aten.new_empty_strided") and next(kept))]


@pytest.mark.parametrize("name", TRACES)
def test_a_mode_sees_what_pytorchs_sees(runs, name):
    assert comparable(name, CASES.trace(torch, runs[name])) == comparable(name, TRACES[name])


def test_every_case_is_recorded(runs):
    assert set(runs) == set(TRACES)
    assert len(TRACES) > 120


@pytest.mark.parametrize("name", ["mlp", "gpt", "resnet"])
def test_values_and_gradients_under_a_mode_are_the_plain_ones(name):
    from yesca.utils._python_dispatch import BaseTorchDispatchMode

    build = getattr(CASES, name)
    grads = []
    for mode in (None, BaseTorchDispatchMode()):
        run = build(torch)
        if mode is None:
            loss = run()
            loss.backward()
        else:
            with mode:
                loss = run()
                loss.backward()
        model = run.model
        grads.append((loss.item(), [p.grad.clone() for p in model.parameters()]))
    assert grads[0][0] == pytest.approx(grads[1][0], rel=1e-5)
    for a, b in zip(grads[0][1], grads[1][1], strict=True):
        torch.testing.assert_close(a, b, rtol=1e-4, atol=1e-6)


def test_an_einsum_is_one_product_of_stacks():
    from yesca.utils._python_dispatch import TorchDispatchMode

    seen = []

    class Log(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            seen.append(func)
            return func(*args, **(kwargs or {}))

    a, b = torch.randn(2, 3, 4), torch.randn(2, 4, 5)
    with Log():
        made = torch.einsum("bij,bjk->bki", a, b)
    torch.testing.assert_close(made, (a @ b).transpose(1, 2))
    assert torch.ops.aten.bmm.default in seen
