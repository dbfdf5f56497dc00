"""What is kept of the arguments of a call."""

import yesca as torch
from yesca.dispatch import functions
from yesca.profiler import inputs


def test_a_record():
    x = torch.ones(2, 3)
    kept = inputs.of(functions.record("add"), (x.t(), 2, 1))
    assert kept.shapes() == [[3, 2], [], []]
    assert kept.strides() == [[1, 3], [], []]
    assert kept.types() == ["float", "Scalar", "Scalar"]
    assert kept.concrete() == [None, 2, 1]


def test_lists():
    kept = inputs.of(functions.record("cat_list"), ([torch.ones(2), torch.ones(3).double()], 0))
    assert kept.shapes() == [[], []]
    assert kept.structured() == [[[2], [3]], []]
    assert kept.strides() == [[[1], [1]], []]
    assert kept.types() == ["TensorList", "Scalar"]


def test_a_function():
    kept = inputs.of_arguments(((2, 3),), {"dtype": torch.float64, "out": None})
    assert kept.concrete() == [[2, 3], "torch.float64", None]
    assert kept.types() == ["ScalarList", "", ""]


def test_shapes_in_a_profile():
    with torch.profiler.profile(record_shapes=True) as prof:
        torch.ones(2, 3) @ torch.ones(3, 4)
        torch.ones(5, 3) @ torch.ones(3, 4)
    event = next(e for e in prof.events() if e.name == "aten::matmul")
    assert event.input_shapes == [[2, 3], [3, 4]]
    grouped = prof.key_averages(group_by_input_shape=True)
    products = [a for a in grouped if a.key == "aten::matmul"]
    assert [a.input_shapes for a in products] == [[[2, 3], [3, 4]], [[5, 3], [3, 4]]]
    whole = [a for a in prof.key_averages() if a.key == "aten::matmul"]
    assert [(a.count, a.input_shapes) for a in whole] == [(2, "")]
