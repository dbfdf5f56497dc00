"""`vmap` of every record equals a loop over the examples, whichever operands are batched."""

import function_cases
import operator_cases
import pytest

import yesca as torch
from yesca.func import vmap

#: What has a result of a shape that depends on values, or one answer for all examples: the batched
#: operands that it refuses, and PyTorch's words.
_SHAPE = "do not support batching operators that can output dynamic shape. Attempted to vmap over "
REFUSED = {
    "allclose": ((0, 1), "vmap over torch.allclose isn't supported yet"),
    "equal": ((0, 1), "Batching rule not implemented for aten::equal. We could not generate"),
    "masked_select": ((1,), "vmap: Attempted to vmap over `mask` in torch.masked_select"),
    "nonzero": ((0,), _SHAPE + "aten::nonzero"),
    "nonzero_tuple": ((0,), "Attempting to batch over indexing with a boolean mask"),
    "unique": ((0,), _SHAPE + "aten::_unique2"),
    "unique_consecutive": ((0,), _SHAPE + "aten::unique_consecutive"),
}
#: Lists of tensors in one launch, which write to them.
MANY = "Batching rule not implemented for aten::_"
WRITTEN = "is not possible because there exists a Tensor `other` in extra_args"


def pytest_generate_tests(metafunc):
    if "one" in metafunc.fixturenames:
        chosen = [one for one in function_cases.records() if metafunc.function.selects(one)]
        metafunc.parametrize("one", chosen, ids=[one.name for one in chosen])


def arrangements(count):
    """Which of the operands are batched: all, and each alone."""
    alone = [tuple(0 if j == k else None for j in range(count)) for k in range(count)]
    return [(0,) * count, *alone[:4 * (count > 1)]]


def outcome(run):
    """What a call gives, or its error."""
    try:
        return run()
    except (RuntimeError, IndexError, TypeError, ValueError) as error:
        return error


def looped(function, case, dims):
    """The results of the examples one by one, stacked; or the error of one of them."""
    first, second = case.examples
    chosen = [b if d is not None else a for a, b, d in zip(first, second, dims, strict=True)]
    return stacked([function(*[t.clone() for t in example]) for example in (first, chosen)])


def stacked(rows):
    if isinstance(rows[0], (tuple, list)):
        return type(rows[0])([stacked(column) for column in zip(*rows, strict=True)])
    return torch.stack(rows)


def given(case, dims):
    """The operands, those that are batched with both examples at their dimension."""
    return [a.clone() if d is None else torch.stack([a, b], d if a.dim() else 0)
            for a, b, d in zip(*case.examples, dims, strict=True)]


def check(function, case, dims, out_dims=0):
    """The batch gives what the loop gives, the error of an example too."""
    wanted = outcome(lambda: looped(function, case, [None if d is None else 0 for d in dims]))
    made = outcome(lambda: vmap(function, tuple(dims), out_dims)(*given(case, dims)))
    if isinstance(wanted, Exception):
        assert isinstance(made, type(wanted)), made
        return
    if isinstance(made, Exception):
        raise made
    same(made, wanted, out_dims)


def same(made, wanted, out_dims=0):
    """Equal results; those of the batch have it at a dimension of theirs."""
    assert type(made) is type(wanted)
    made = operator_cases.tensors_in(torch, made)
    if out_dims:
        made = [t.movedim(out_dims, 0) for t in made]
    pairs = zip(function_cases.tensors(made), function_cases.tensors(wanted), strict=True)
    for mine, other in pairs:
        assert mine.dtype is other.dtype and mine.shape == other.shape
        assert torch.allclose(mine.double(), other.double(), 1e-9, 1e-12, equal_nan=True)


def batches(one):
    """Whether a record takes any operand batched."""
    return one.name not in REFUSED and one.kind != "multi"


@operator_cases.only(batches)
def test_batches(one):
    """All operands batched, and each of them alone."""
    only_inplace = one.name.endswith("_")
    for case in function_cases.cases(one):
        for dims in arrangements(len(case.examples[0])):
            if only_inplace and dims[0] is None:
                refuses(case.written, case, dims, WRITTEN)
            else:
                check(case.written if only_inplace else case, case, dims)


#: How elements of a batch lie is not how those of an example alone do.
STRIDED = ("as_strided", "as_strided_copy", "as_strided_scatter", "as_strided_view",
           "strided_scatter", "view_as_complex", "view_as_complex_copy")


@operator_cases.only(lambda one: batches(one) and not one.name.endswith("_")
                     and one.name not in STRIDED)
def test_other_dimensions(one):
    """The batch lies last in the operands, and second in the results."""
    case = function_cases.cases(one)[0]
    results = outcome(lambda: looped(case, case, [0] * len(case.examples[0])))
    if not isinstance(results, Exception):
        dims = [t.dim() for t in operator_cases.tensors_in(torch, results)]
        check(case, case, [-1] * len(case.examples[0]), int(min(dims) > 1))


@operator_cases.only(lambda one: one.name in STRIDED)
def test_strided(one):
    """These do see how the elements of a batch lie."""
    case = function_cases.cases(one)[0]
    with pytest.raises((AssertionError, RuntimeError)):
        check(case, case, [-1] * len(case.examples[0]))


@operator_cases.only(lambda one: one.inplace and batches(one))
def test_in_place(one):
    """A batched target is written; one that is not, by batched operands, is refused."""
    for case in function_cases.cases(one, inplace=True):
        for dims in arrangements(len(case.examples[0])):
            if dims[0] is None:
                refuses(case.written, case, dims, WRITTEN)
            else:
                check(case.written, case, dims)


@operator_cases.only(lambda one: one.kind == "view" and batches(one))
def test_views(one):
    """What a view gives inside is a view: a write to it arrives in the batch."""
    def written(x, *rest):
        whole = x.clone()
        for part in operator_cases.tensors_in(torch, case(whole, *rest)):
            part.fill_(3)
        return whole

    for case in function_cases.cases(one):
        if case.examples[0][0].dim():
            check(written, case, [0] * len(case.examples[0]))


def refuses(function, case, dims, message):
    if isinstance(outcome(lambda: looped(function, case, dims)), Exception):
        return  # no example has a result
    with pytest.raises(RuntimeError) as caught:
        vmap(function, dims)(*given(case, dims))
    assert message in str(caught.value)


@operator_cases.only(lambda one: not batches(one))
def test_refusals(one):
    """What has no batches says so in PyTorch's words; operands that do no harm are taken."""
    case = function_cases.cases(one)[0]
    count = len(case.examples[0])
    harmful, message = REFUSED.get(one.name, (range(count), MANY))
    for dims in arrangements(count):
        if any(dims[k] == 0 for k in harmful):
            with pytest.raises(RuntimeError) as caught:
                vmap(case, dims)(*given(case, dims))
            assert message in str(caught.value)
        else:
            check(case, case, dims)


@operator_cases.only(lambda one: batches(one) and not one.name.endswith("_"))
def test_no_examples(one):
    """A batch of none has the shapes of a batch; what looks at values refuses."""
    case = function_cases.cases(one)[0]
    results = outcome(lambda: looped(case, case, [0] * len(case.examples[0])))
    made = outcome(lambda: vmap(case)(*[t[:0] for t in given(case, [0] * len(case.examples[0]))]))
    if isinstance(results, Exception):
        return
    if isinstance(made, Exception):
        assert "does not support vmap over dims of size 0" in str(made), made
        return
    both = [operator_cases.tensors_in(torch, one) for one in (made, results)]
    for mine, other in zip(*both, strict=True):
        assert mine.dtype is other.dtype and mine.shape == (0, *other.shape[1:])
