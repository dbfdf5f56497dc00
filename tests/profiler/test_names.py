"""Operators bear PyTorch's names in a profile."""

from yesca.operators import families
from yesca.operators.derivatives import backward_record
from yesca.operators.record import RECORDS
from yesca.profiler import names


def test_every_row_names_a_record():
    families.load_all()
    listed = [own for owners in names.COUNTERPARTS.values() for own in owners.split()]
    assert not [name for name in (*listed, *names.ENGINE_OWN) if name not in RECORDS]
    assert len(listed) == len(set(listed)) and not names.ENGINE_OWN & set(listed)


def test_names():
    families.load_all()
    wanted = {"add": "aten::add", "max_dim": "aten::max", "to_dtype": "aten::_to_copy",
              "_adam_step": "aten::_fused_adam_", "line": "yesca::line"}
    assert {name: names.of(RECORDS[name], False) for name in wanted} == wanted
    assert names.of(RECORDS["add"], True) == "aten::add_"
    assert names.of(RECORDS["_celu_"], True) == "aten::celu_"


def test_derivatives():
    families.load_all()
    wanted = {"relu": "aten::threshold_backward", "sigmoid": "aten::sigmoid_backward",
              "_silu": "aten::silu_backward", "mse_loss_elements": "aten::mse_loss_backward",
              "add": "yesca::add_backward"}
    assert {name: names.of(backward_record(RECORDS[name], 1), False) for name in wanted} == wanted
