"""Plans seen through their words: the order of stages, and what they cost."""

import pytest
from interpreted import fresh_plans, python_path

import yesca
from yesca.base import settings
from yesca.core.devices import CPU
from yesca.core.dtypes import float32
from yesca.core.spec import spec
from yesca.loops import ir
from yesca.loops.cost import Cost
from yesca.loops.verify import InvalidStage
from yesca.nn import functional as F
from yesca.operators import families, record
from yesca.runtime import inspection, program
from yesca.runtime.program import Program
from yesca.runtime.references import Ref


@pytest.fixture
def made():
    """A program with one operand of 3 by 4."""
    families.load_all()
    x = Ref(0, spec(float32, (3, 4), None, CPU))
    return Program(record.RECORDS["neg"], (x,), [x.spec], CPU), x


def copy(p, source, target):
    p.flat(lambda v: v, [source], [target])


@pytest.fixture(autouse=True)
def verifying():
    with settings.VERIFY.override(True):
        yield


def test_memory_is_written_before_it_is_read(made):
    p, x = made
    kept, out = p.temporary((3, 4), float32), p.result(x.spec)
    copy(p, kept, out)
    copy(p, x, kept)
    with pytest.raises(InvalidStage, match="b0 is read before any stage has written it"):
        p.finish()


def test_writing_first_and_then_reading_is_right(made):
    p, x = made
    kept, out = p.temporary((3, 4), float32), p.result(x.spec)
    copy(p, x, kept)
    copy(p, kept, out)
    assert [one.total for one in p.finish().launches] == [12, 12]


@pytest.mark.parametrize("beyond", [0, 1])
def test_a_stage_does_not_read_where_it_writes_elsewhere(made, beyond):
    p, x = made
    kept = p.temporary((16,), float32)
    copy(p, x, kept.seen(((3, 4), (4, 1), 0)))
    turned = kept.seen(((3, 4), (1, 3) if beyond == 0 else (4, 1), beyond))
    copy(p, turned, kept.seen(((3, 4), (4, 1), 0)))
    with pytest.raises(InvalidStage, match="a barrier is missing"):
        p.finish()


def test_memory_of_no_bytes_needs_no_writing(made):
    p, x = made
    none, out = p.temporary((3, 0), float32), p.result(x.spec)
    p.rows(lambda v: ir.fold("sum", v), [none], [out.seen(((3,), (4,), 0)).as_rows()], (3,), 0)
    assert len(p.finish().launches) == 1


def test_interleaved_and_adjacent_memory_is_apart(made):
    p, x = made
    kept, out = p.temporary((26,), float32), p.result(x.spec)
    copy(p, x, kept.seen(((3, 4), (8, 2), 0)))
    copy(p, kept.seen(((3, 4), (8, 2), 0)), kept.seen(((3, 4), (8, 2), 1)))  # every other one
    copy(p, kept.seen(((12,), (1,), 0)), kept.seen(((12,), (1,), 12)))  # the half behind it
    copy(p, kept.seen(((3, 4), (8, 2), 1)), out)
    assert len(p.finish().launches) == 4


def test_a_point_may_write_what_it_alone_has_read(made):
    p, x = made
    kept, out = p.temporary((3, 4), float32), p.result(x.spec)
    copy(p, x, kept)
    p.flat(lambda v: -v, [kept], [kept])
    copy(p, kept, out)
    assert len(p.finish().launches) == 3


@pytest.mark.parametrize(("function", "wanted"), [
    (lambda x: x + x.t(), Cost(2 * 64 * 4, 64 * 4, 128)),
    (lambda x: x.sum(), Cost(256, 4, 64)),
    (lambda x: x * x[:1], Cost(256 + 32, 256, 64)),
    (lambda x: F.softmax(x, -1), Cost(256, 256, 5 * 64)),
    (lambda x: x @ x, Cost(2 * 256, 256, 2 * 8 ** 3)),
], ids=["add", "sum", "broadcast", "softmax", "product"])
def test_cost(function, wanted, monkeypatch):
    x, found = yesca.ones(8, 8), []
    monkeypatch.setattr(program, "verify_order", lambda one: found.append(inspection.cost(one)))
    with python_path(), fresh_plans():
        function(x)
    assert sum(found, Cost()) == wanted


def test_debug_prints_what_a_call_moves(run_python):
    program = "import yesca\nx = yesca.ones(4, 8)\nx + x\n(x @ x.t()).sort()"
    found = run_python("-c", program, YESCA_DEBUG="1", YESCA_VERIFY=None)
    assert found.returncode == 0, found.stderr
    lines = {line.split()[0]: line for line in found.stderr.splitlines()}
    assert "384 bytes" in lines["add"] and "Gflop/s" in lines["add"]
    assert "320 bytes" in lines["matmul"]
