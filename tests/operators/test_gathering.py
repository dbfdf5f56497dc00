"""Embedding, gather, scatter and their kin."""

import pytest

import yesca as torch


def test_embedding_and_its_gradient():
    weight = torch.arange(12.0).reshape(4, 3).requires_grad_()
    made = torch.embedding(weight, torch.tensor([[1, 3], [1, 1]]), 3)
    assert made[0].tolist() == [[3, 4, 5], [9, 10, 11]]
    made.sum().backward()
    assert weight.grad.tolist() == [[0] * 3, [3] * 3, [0] * 3, [0] * 3]
    weight.grad = None
    torch.embedding(weight, torch.tensor([1, 1, 0]), -1, True).sum().backward()
    assert weight.grad[:, 0].tolist() == [1, 1, 0, 0]


@pytest.mark.parametrize("index", [-1, 4])
def test_embedding_refuses_other_rows(index):
    with pytest.raises(IndexError, match="index out of range in self"):
        torch.embedding(torch.zeros(4, 3), torch.tensor([0, index]))


def test_gather_and_its_errors():
    x = torch.tensor([[1, 2], [3, 4]])
    assert x.gather(1, torch.tensor([[0, 0], [1, 0]])).tolist() == [[1, 1], [4, 3]]
    assert x.gather(0, torch.tensor([[1]])).tolist() == [[3]]
    with pytest.raises(RuntimeError, match="index 2 is out of bounds for dimension 1 with size 2"):
        x.gather(1, torch.tensor([[2]]))
    with pytest.raises(RuntimeError, match="same number of dimensions"):
        x.gather(1, torch.tensor([0]))


def test_scatter_forms():
    index = torch.tensor([[0, 1, 2, 0], [2, 0, 0, 1]])
    source = torch.arange(1.0, 9.0).reshape(2, 4)
    made = torch.zeros(3, 4).scatter(0, index, source)
    assert made.tolist() == [[1, 6, 7, 4], [0, 2, 0, 8], [5, 0, 3, 0]]
    assert torch.zeros(2, 3).scatter_(1, torch.tensor([[2], [0]]), 1.5).tolist() == [
        [0, 0, 1.5], [1.5, 0, 0]]
    assert torch.ones(3).scatter(0, torch.tensor([0, 0]), torch.tensor([2.0, 3.0]),
                                 reduce="multiply").tolist() == [6, 1, 1]
    with pytest.raises(RuntimeError, match="Expected self.dtype to be equal to src.dtype"):
        torch.zeros(3, 4).scatter(0, index, source.double())


@pytest.mark.parametrize(("reduce", "with_self", "without"), [
    ("sum", [6, 5, 1], [5, 4, 1]), ("prod", [6, 4, 1], [6, 4, 1]), ("mean", [2, 2.5, 1],
                                                                   [2.5, 4, 1]),
    ("amax", [3, 4, 1], [3, 4, 1]), ("amin", [1, 1, 1], [2, 4, 1])])
def test_scatter_reduce(reduce, with_self, without):
    index, source = torch.tensor([0, 1, 0]), torch.tensor([2.0, 4.0, 3.0])
    for include, want in ((True, with_self), (False, without)):
        made = torch.ones(3).scatter_reduce(0, index, source, reduce, include_self=include)
        assert made.tolist() == want


def test_writes_along_a_dimension():
    x = torch.zeros(2, 3)
    index = torch.tensor([2, 0])
    assert x.index_fill(1, index, 7).tolist() == [[7, 0, 7]] * 2
    assert x.index_copy(1, index, torch.ones(2, 2)).tolist() == [[1, 0, 1]] * 2
    assert x.index_add(1, torch.tensor([1, 1]), torch.ones(2, 2), alpha=2).tolist() == [
        [0, 4, 0]] * 2
    assert torch.arange(6).reshape(2, 3).index_select(1, index).tolist() == [[2, 0], [5, 3]]
    with pytest.raises(IndexError, match="index out of range in self"):
        x.index_select(0, torch.tensor([2]))


def test_flat_places():
    x = torch.arange(6).reshape(2, 3).t()
    assert x.take(torch.tensor([1, -1])).tolist() == [3, 5]
    x.put_(torch.tensor([0, 1]), torch.tensor([8, 9]))
    assert x.tolist() == [[8, 9], [1, 4], [2, 5]]
    y = torch.zeros(2, 2)
    y.masked_scatter_(torch.tensor([[True, False], [True, True]]), torch.tensor([1.0, 2.0, 3.0]))
    assert y.tolist() == [[1, 0], [2, 3]]


@pytest.mark.parametrize(("shape", "dim", "error"), [
    ((3,), 0, IndexError), ((3, 2), 0, RuntimeError), ((3, 2), 1, RuntimeError),
    ((3, 2, 2), 0, RuntimeError), ((3, 2, 2), 1, IndexError), ((3, 2, 2), 2, RuntimeError)])
@pytest.mark.parametrize("index", [7, -1])
def test_index_add_out_of_range(shape, dim, error, index):
    x, place = torch.zeros(shape), torch.tensor([index])
    source = torch.ones([1 if k == dim else n for k, n in enumerate(shape)])
    text = "index out of range in self" if error is IndexError else (
        f"index {index} is out of bounds for dimension {dim} with size {shape[dim]}")
    for call in (x.index_add, x.index_add_):
        with pytest.raises(error) as caught:
            call(dim, place, source)
        assert str(caught.value) == text


@pytest.mark.parametrize(("call", "error", "text"), [
    (lambda x: x.index_select(1, torch.tensor([5])), RuntimeError,
     "INDICES element is out of DATA bounds, id=5 axis_dim=2"),
    (lambda x: x.index_select(0, torch.tensor([5])), IndexError, "index out of range in self"),
    (lambda x: x.index_fill(0, torch.tensor([-4]), 1.0), IndexError,
     "index -4 is out of bounds for dimension 0 with size 3"),
    (lambda x: x.index_fill(0, torch.tensor([3]), 1.0), IndexError,
     "index 3 is out of bounds for dimension 0 with size 3"),
])
def test_errors_name_the_index_that_was_given(call, error, text):
    with pytest.raises(error) as caught:
        call(torch.zeros(3, 2))
    assert str(caught.value) == text


INDICES, OFFSETS = torch.tensor([0, 1, 2]), torch.tensor([0, 2])


@pytest.mark.parametrize(("options", "message"), [
    ({"offsets": torch.tensor([1, 2])}, "offsets[0] has to be 0"),
    ({"offsets": torch.tensor([0, 5])}, "offsets[-1] can not be greater than input's length 3 but "
                                        "got offsets[-1] of 5"),
    ({"offsets": torch.tensor([0, 2, 1])}, "offsets have to be in ascending order"),
    ({"offsets": torch.tensor([0, -1])}, "offsets have to be in ascending order"),
    ({"offsets": torch.tensor([0.0, 1.0])}, "scalar types: Long, Int; but got torch.FloatTensor"),
    ({"offsets": torch.zeros(0, dtype=torch.int64), "include_last_offset": True},
     "number of offset should be at least 1"),
    ({"indices": torch.tensor([0, 1, 7])}, "but found idx to be 7"),
    ({"indices": torch.tensor([0, 1, -1])}, "but found idx to be -1"),
    ({"weight": torch.zeros(4, 3, dtype=torch.int64)}, "but got torch.LongTensor"),
    ({"padding_idx": 4}, "padding_idx must be within the number of embeddings, -4 through 3"),
    ({"per_sample_weights": torch.zeros(3, dtype=torch.float64)},
     "to have the same type as tensor for argument #1 'per_sample_weights'"),
    ({"mode": 3}, "`mode` must be sum, mean, or max."),
])
def test_bags_that_are_refused(options, message):
    given = {"weight": torch.ones(4, 3), "indices": INDICES, "offsets": OFFSETS, **options}
    with pytest.raises(RuntimeError) as caught:
        torch.embedding_bag(**given)
    assert message in str(caught.value)


def test_bags_that_end_early():
    weight = torch.arange(12.0).reshape(4, 3)
    for mode, wanted in ((0, [[3, 5, 7]]), (2, [[3, 4, 5]])):
        made, *_ = torch.embedding_bag(weight, INDICES, OFFSETS, mode=mode,
                                       include_last_offset=True)
        assert made.tolist() == wanted
    assert torch.embedding_bag(weight, INDICES, OFFSETS[:0])[0].shape == (0, 3)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16])
@pytest.mark.parametrize("options", [
    {}, {"padding_idx": 1}, {"include_last_offset": True}, {"scale_grad_by_freq": True},
    {"padding_idx": -1, "include_last_offset": True, "scale_grad_by_freq": True},
])
def test_sums_of_bags_and_their_slopes(options, dtype):
    """Bag by bag in Python: what is left out, by padding or behind the last end, counts nowhere."""
    weight = torch.arange(20.0).mul(1.3).sin().reshape(5, 4).to(dtype).requires_grad_()
    indices, starts = torch.tensor([1, 3, 3, 0, 4, 1, 4, 2]), [0, 2, 2, 6]
    ends = starts[1:] if "include_last_offset" in options else [*starts[1:], len(indices)]
    skipped = options.get("padding_idx", 9) % 5 if "padding_idx" in options else -1
    for mode in ("sum", "mean"):
        weight.grad = None
        made = torch.nn.functional.embedding_bag(
            indices, weight, torch.tensor(starts), mode=mode, **options)
        factors = torch.arange(float(made.numel())).add(1).reshape(made.shape).to(dtype)
        made.backward(factors)
        rows, slopes = weight.detach().double(), torch.zeros(5, 4, dtype=torch.float64)
        often = [indices.tolist().count(k) for k in range(5)]
        if "include_last_offset" in options:
            often = [indices[:starts[-1]].tolist().count(k) for k in range(5)]
        wanted = torch.zeros(made.shape, dtype=torch.float64)
        for bag, (start, end) in enumerate(zip(starts, ends)):
            members = [k for k in indices[start:end].tolist() if k != skipped]
            share = 1 / len(members) if mode == "mean" and members else 1
            for k in members:
                wanted[bag] += rows[k] * share
                times = often[k] if options.get("scale_grad_by_freq") else 1
                slopes[k] += factors[bag].double() * share / times
        near = {"rtol": 2e-2, "atol": 2e-2} if dtype is torch.bfloat16 else {}
        torch.testing.assert_close(made.double(), wanted, check_dtype=False, **near)
        torch.testing.assert_close(weight.grad.double(), slopes, **near)


def test_an_index_out_of_range_is_told_of_rows_of_any_width():
    for width in (4, 40, 300):
        zeros, ones = torch.zeros(3, width), torch.ones(2, width)
        with pytest.raises((IndexError, RuntimeError), match="index 3 is out of bounds"):
            zeros.index_add_(0, torch.tensor([1, 3]), ones)
        with pytest.raises(RuntimeError, match="found idx to be 3"):
            torch.nn.functional.embedding_bag(torch.tensor([[1, 3]]), zeros)
