"""What is said of the launches of a program: points, bytes, kernels, values that are not stored."""

import pytest

import yesca as torch
from yesca.graph import figures
from yesca.loops.cost import Cost


def explained(function, *arguments):
    """(program, entries) of each recording."""
    return [(g.program, g.entries) for g in torch.compiler.explain(function)(*arguments).graphs]


def test_a_chain_is_one_launch_that_stores_its_end_only():
    x, y = torch.randn(64, 128), torch.randn(64, 128)
    ((program, entries),) = explained(lambda: ((x + y) * x).relu())
    (one,) = figures.figures(program, entries)
    assert (one.name, one.parts) == ("add_mul_relu", ("add", "mul", "relu"))
    assert one.points == "8192"
    assert (one.cost.bytes_read, one.cost.bytes_written) == (2 * 32768, 32768)
    assert [str(v) for v in one.unstored] == ["add (64, 128) float32", "mul (64, 128) float32"]
    assert one.kernel.startswith("kernel_")
    assert one.loop().startswith(f"{one.kernel}: 8192\nflat stage\n  b0: in float32")
    assert figures.called(entries) == Cost(5 * 32768, 3 * 32768, 3 * 8192)


def test_broadcast_operands_count_once():
    x, row = torch.randn(64, 128), torch.randn(128)
    ((program, entries),) = explained(lambda: x + row)
    (one,) = figures.figures(program, entries)
    assert (one.points, one.cost.bytes_read) == ("64x128", 32768 + 512)


def test_a_fold_visits_rows():
    x = torch.randn(64, 128)
    ((program, entries),) = explained(lambda: (x * 2).sum(1))
    (one,) = figures.figures(program, entries)
    assert one.points == "64 rows of 128"
    assert [v.operator for v in one.unstored] == ["mul"]


def test_launches_of_other_machine_code_have_the_cost_of_their_call():
    a, b = torch.randn(64, 32), torch.randn(32, 16)
    ((program, entries),) = explained(lambda: a @ b)
    found = figures.figures(program, entries)
    assert sum((one.cost for one in found), Cost()) == figures.called(entries)
    assert all(one.kernel.startswith("product_") for one in found)
    assert found[-1].points == "64x16"
    assert "machine code of the engine's own" in found[0].loop()


def test_results_that_nobody_reads_are_not_computed():
    x = torch.randn(64, 128)

    def normed():
        return torch.nn.functional.layer_norm(x.exp(), (128,))

    ((program, entries),) = explained(normed)
    assert [str(v) for v in figures.uncomputed(program, entries)] == \
        ["native_layer_norm (64, 1) float32"] * 2


def test_values_belong_to_the_launch_that_knows_them():
    a = torch.randn(64, 64)

    def twice():
        return torch.relu(torch.relu((a + 1) @ a) * 3) + torch.tanh(a * 2)

    ((program, entries),) = explained(twice)
    for one in figures.figures(program, entries):
        for value in one.unstored:
            made = "product_tile" if value.operator == "matmul" else value.operator
            assert made in one.parts
    stored = {m for step in program.steps for m in step.touched}
    lost = [v.memory for one in figures.figures(program, entries) for v in one.unstored]
    assert len(lost) == len(set(lost))
    assert not stored & set(lost)
    assert stored | set(lost) >= {n for entry in entries for n in entry.results}


def test_many_tensors_in_one_launch():
    w = [torch.ones(8), torch.ones(16)]
    ((program, entries),) = explained(lambda: torch._foreach_add_(w, 1.0))
    (one,) = figures.figures(program, entries)
    assert one.points == "2 tensors"
    assert one.cost.bytes_written == 4 * 24


@pytest.mark.parametrize("rows", [[("", "a", "name"), (10, "abc", "x"), (1, "b", "long name")]])
def test_columns_stand_under_each_other(rows):
    assert figures.lined_up(rows) == ["      a  name", "10  abc  x", " 1    b  long name"]
