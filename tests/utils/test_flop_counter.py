"""The flop counter gives PyTorch's counts and tables."""

import json
import sys
from pathlib import Path

import pytest

import yesca as torch
from yesca.utils import flop_counter
from yesca.utils.flop_counter import FlopCounterMode, register_flop_formula

FIXTURES = Path(__file__).parents[1] / "fixtures"
FLOPS = json.loads((FIXTURES / "dispatch.json").read_text(encoding="utf-8"))["flops"]


@pytest.fixture(scope="module")
def counts():
    sys.path.insert(0, str(FIXTURES))
    try:
        import dispatch_cases
    finally:
        sys.path.remove(str(FIXTURES))
    return dispatch_cases.flop_counts(torch)


@pytest.mark.parametrize("name, what", [(n, w) for n in FLOPS for w in FLOPS[n]])
def test_counts_are_pytorchs(counts, name, what):
    assert counts[name][what] == FLOPS[name][what]


def test_the_table_is_printed(capsys):
    with FlopCounterMode() as counter:
        torch.ones(3, 4) @ torch.ones(4, 5)
    assert counter.get_total_flops() == 120
    assert capsys.readouterr().out == counter.get_table() + "\n"


def test_formulas_of_ones_own():
    aten = torch.ops.aten
    flash = aten._scaled_dot_product_flash_attention_for_cpu
    q = torch.ones(1, 2, 3, 4)
    with FlopCounterMode(display=False, custom_mapping={flash: flop_counter.sdpa_flop}) as counter:
        torch.nn.functional.scaled_dot_product_attention(q, q, q)
    assert counter.get_total_flops() == flop_counter.sdpa_flop_count(q.shape, q.shape, q.shape)
    assert flop_counter.sdpa_backward_flop_count(q.shape, q.shape, q.shape, q.shape) == 2 * 5 * 72
    with pytest.raises(RuntimeError, match="duplicate registrations for aten.mm"):
        register_flop_formula(aten.mm)(lambda *args, **kwargs: 0)
    with pytest.raises(ValueError, match="expected each target to be OpOverloadPacket"):
        register_flop_formula(torch.mm)(lambda *args, **kwargs: 0)
