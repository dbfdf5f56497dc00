"""How arguments lie in memory does not change results; the meta device knows shapes and dtypes."""

import operator_cases
import pytest

import yesca
from yesca.dispatch.call import OPERATORS

#: Their results are the arguments' memory seen in other ways: strides are what they are about.
STRIDED = ("as_strided", "as_strided_view", "as_strided_scatter", "as_strided_scatter_add",
           "strided_scatter",
           "as_strided_copy", "copy_like", "take_along_dim", "view", "view_as", "view_as_complex",
           "view_copy")


def contiguous(case):
    return operator_cases.map_tensors(
        yesca, case, lambda t: t.clone(memory_format=yesca.contiguous_format))


def attempt(one, function, case):
    try:
        return operator_cases.call(one, function, case)
    except (RuntimeError, IndexError) as error:
        return type(error), str(error)


@pytest.mark.parametrize("layout", ("transposed", "sliced", "expanded", "channels_last"))
@operator_cases.only(lambda one: one.name not in STRIDED)
def test_layouts(one, layout):
    """The result on odd memory equals the one on contiguous copies."""
    if layout == "expanded" and one.name.endswith("_"):
        layout = "sliced"  # an expanded tensor cannot be written to
    cases = operator_cases.cases(one, yesca, layout=layout)
    function = getattr(OPERATORS, one.name)
    for case in cases:
        plain = attempt(one, function, contiguous(case))
        odd = attempt(one, function, case)
        operator_cases.check_same(yesca, odd, plain, 1e-6, 1e-6, strides=False)


@operator_cases.only(lambda one: one.name not in DATA)
def test_meta(one):
    """On the meta device: the same shapes, dtypes and strides, and no values."""
    cases = operator_cases.cases(one, yesca, layout="transposed")
    function = getattr(OPERATORS, one.name)
    for case in cases:
        real = attempt(one, function, case)
        dry = attempt(one, function, operator_cases.map_tensors(
            yesca, case, lambda t: yesca.empty_strided(t.shape, t.stride(), dtype=t.dtype,
                                                       device="meta")))
        for mine, other in zip(operator_cases.tensors_in(yesca, dry),
                               operator_cases.tensors_in(yesca, real)):
            assert mine.device.type == "meta"
            assert (mine.dtype, mine.shape) == (other.dtype, other.shape)
            assert mine.stride() == other.stride()


#: Shapes that depend on values, and composites that look at them.
DATA = ("nonzero", "nonzero_tuple", "argwhere", "masked_select", "positions", "unique",
        "unique_consecutive", "bincount", "repeat_interleave", "equal", "allclose", "histc")
