"""Index tensors, masks and writes: NumPy's values, PyTorch's errors, gradients, thread counts."""

import numpy as np
import pytest

import yesca as torch

X = np.arange(2 * 3 * 4 * 5, dtype=np.float64).reshape(2, 3, 4, 5)
I, J = np.array([1, 0, -1]), np.array([[2], [0]])
INDICES = [
    (I,), (slice(None), I), (slice(None), I, J), (I, slice(None), J), (I, slice(None), slice(1, 3)),
    (Ellipsis, I), (None, I, slice(None, None, 2)), (slice(None), J, slice(None), I), (I, I, J, I),
    (slice(None), slice(None), I, J),
]


def tensors(index):
    return tuple(torch.tensor(i) if isinstance(i, np.ndarray) else i for i in index)


@pytest.mark.parametrize("index", INDICES, ids=str)
@pytest.mark.parametrize("order", [(0, 1, 2, 3), (3, 1, 0, 2)])
def test_reads_as_numpy(index, order):
    shapes = np.ascontiguousarray(X.transpose(np.argsort(order))) % 7
    made = torch.tensor(shapes).permute(*order)
    limited = tuple(i % 2 if isinstance(i, np.ndarray) else i for i in index)
    want = shapes.transpose(order)[limited]
    np.testing.assert_array_equal(made[tensors(limited)].numpy(), want)


@pytest.mark.parametrize("index", INDICES[:7], ids=str)
def test_writes_as_numpy(index):
    index = tuple(i % 2 if isinstance(i, np.ndarray) else i for i in index)
    want = X.copy()
    unique = np.arange(want[index].size, dtype=np.float64).reshape(want[index].shape)
    want[index] = unique[..., :1]
    made = torch.tensor(X)
    made[tensors(index)] = torch.tensor(unique[..., :1])
    np.testing.assert_array_equal(made.numpy(), want)


def test_long_rows_are_read_whole():
    table = torch.arange(6 * 40).reshape(6, 40)
    picked = table[torch.tensor([5, 0, -2])]
    assert picked.tolist() == [table[k].tolist() for k in (5, 0, 4)]


def test_masks():
    x = torch.arange(12).reshape(3, 4)
    assert x[x % 5 == 0].tolist() == [0, 5, 10]
    assert x[torch.tensor([True, False, True])].tolist() == [[0, 1, 2, 3], [8, 9, 10, 11]]
    assert x[torch.zeros(3, dtype=torch.bool)].shape == (0, 4)
    assert (x > 9).nonzero().tolist() == [[2, 2], [2, 3]]
    assert [p.tolist() for p in torch.nonzero(x > 9, as_tuple=True)] == [[2, 2], [2, 3]]
    assert torch.masked_select(x, torch.tensor([True, False, False, True])).tolist() == [
        0, 3, 4, 7, 8, 11]
    x[x > 8] = torch.tensor([1, 2, 3])
    assert x[2].tolist() == [8, 1, 2, 3]


def test_out_of_bounds():
    x = torch.zeros(3, 4)
    with pytest.raises(IndexError, match="index 5 is out of bounds for dimension 0 with size 3"):
        x[torch.tensor([0, 5])]
    with pytest.raises(IndexError, match="index -5 is out of bounds for dimension 1 with size 4"):
        x[:, torch.tensor([-5])]
    with pytest.raises(IndexError, match="too many indices"):
        x[torch.tensor([0]), torch.tensor([0]), torch.tensor([0])]
    with pytest.raises(IndexError, match="shape of the mask"):
        x[torch.ones(4, dtype=torch.bool)]
    with pytest.raises(IndexError, match="could not be broadcast together"):
        x[torch.tensor([0, 1]), torch.tensor([0, 1, 2])]


def test_accumulate_adds_every_repetition():
    x = torch.zeros(3, dtype=torch.bfloat16)
    place = torch.zeros(1000, dtype=torch.int64)
    x.index_put_((place,), torch.tensor(1.0, dtype=torch.bfloat16), accumulate=True)
    assert x.tolist() == [1000.0, 0.0, 0.0]
    flags = torch.zeros(2, dtype=torch.bool)
    flags.index_put_((torch.tensor([1, 1]),), torch.tensor(True), accumulate=True)
    assert flags.tolist() == [False, True]


def difference_quotients(function, x, step=1e-6):
    grads = np.zeros(x.size)
    for k in range(x.size):
        values = []
        for sign in (1, -1):
            moved = x.reshape(-1).copy()
            moved[k] += sign * step
            values.append(function(torch.tensor(moved.reshape(x.shape))).item())
        grads[k] = (values[0] - values[1]) / (2 * step)
    return grads.reshape(x.shape)


W = np.random.RandomState(0).rand(3, 4)
PLACES = torch.tensor([2, 0, 2, 2])
SMOOTH = {
    "index": lambda x: (x[PLACES] ** 2).sum(),
    "index columns": lambda x: (x[:, PLACES] ** 3).sum(),
    "index pairs": lambda x: (x[PLACES, PLACES] ** 2).sum(),
    "index_put": lambda x: (torch.ones(3, 4, dtype=torch.float64).index_put(
        (PLACES,), x[:1] ** 2, accumulate=True) ** 2).sum(),
    "gather": lambda x: (x.gather(1, torch.tensor([[0, 0, 3], [1, 2, 1], [3, 3, 3]])) ** 2).sum(),
    "scatter_add": lambda x: (torch.zeros(2, 4, dtype=torch.float64).scatter_add(
        0, torch.tensor([[0, 1, 1, 0], [1, 1, 1, 1], [0, 0, 1, 0]]), x) ** 2).sum(),
    "prod": lambda x: torch.ones(2, 4, dtype=torch.float64).scatter_reduce(
        0, torch.tensor([[0, 1, 1, 0], [1, 1, 1, 1], [0, 0, 1, 0]]), x, "prod").sum(),
    "mean": lambda x: (x.scatter_reduce(0, torch.tensor([[0, 1, 1, 0]]), x ** 2, "mean") ** 2
                       ).sum(),
    "index_add": lambda x: (x.index_add(1, PLACES, x * 2, alpha=3) ** 2).sum(),
    "masked": lambda x: (x[x > 0.5] ** 2).sum(),
    "take": lambda x: (x.take(torch.tensor([[0, 11], [-1, 3]])) ** 2).sum(),
    "sort": lambda x: (x.sort(1).values ** 2 * torch.arange(4.0, dtype=torch.float64)).sum(),
    "median": lambda x: (x.median(0).values ** 2).sum(),
    "cat": lambda x: (torch.cat([x, x ** 2, x[:1]]) ** 2).sum(),
    "stack": lambda x: (torch.stack([x, x ** 2], -1) ** 3).sum(),
    "split": lambda x: sum((p ** (k + 2)).sum() for k, p in enumerate(x.split([1, 3], 1))),
    "unbind": lambda x: (x.unbind(1)[2] ** 2).sum(),
    "roll": lambda x: (x.roll((1, 2), (0, 1)) * x).sum(),
    "repeat": lambda x: (x.repeat(2, 2)[1:4, 1:6] ** 2).sum(),
    "triu": lambda x: (x.triu(1) ** 2).sum(),
}


@pytest.mark.parametrize("name", SMOOTH)
def test_gradients(name):
    x = torch.tensor(W, requires_grad=True)
    first, = torch.autograd.grad(SMOOTH[name](x), x, create_graph=True)
    np.testing.assert_allclose(first.detach().numpy(), difference_quotients(SMOOTH[name], W),
                               rtol=1e-5, atol=1e-7)
    if not first.requires_grad:
        return
    second, = torch.autograd.grad((first ** 2).sum(), x)

    def of_first(values):
        values.requires_grad_()
        return (torch.autograd.grad(SMOOTH[name](values), values)[0] ** 2).sum()

    np.testing.assert_allclose(second.numpy(), difference_quotients(of_first, W), rtol=1e-4,
                               atol=1e-6)


def test_sums_do_not_depend_on_threads():
    torch.manual_seed(0)
    values, rows = torch.randn(3000, 96), torch.randint(0, 40, (3000,))
    before = torch.get_num_threads()
    made = []
    try:
        for count in (1, 2, 3):
            torch.set_num_threads(count)
            w = torch.zeros(40, 96, requires_grad=True)
            torch.embedding(w, rows).backward(values)
            x = torch.zeros(40, 96, requires_grad=True)
            x[rows].backward(values)
            made.append((w.grad, x.grad, torch.zeros(40, 96).index_add(0, rows, values)))
    finally:
        torch.set_num_threads(before)
    for other in made[1:]:
        assert all(torch.equal(a, b) for a, b in zip(made[0], other, strict=True))
    assert torch.equal(made[0][0], made[0][1])


CUBE = torch.arange(8).reshape(2, 2, 2)
#: Sequences that are no tuples, and the tuples that they stand for, as PyTorch 2.13 has it.
STANDING = [
    ([[0, 1], [1, 0]], ([0, 1], [1, 0])), ([[0], [1]], ([0], [1])), ([[0, 1]], ([0, 1],)),
    ([slice(0, 1), 0], (slice(0, 1), 0)), ([None, 0], (None, 0)), ([..., 0], (..., 0)),
    ([0, [1]], (0, [1])), ([[0, 1], [1]], ([0, 1], [1])), ([(0, 1), (1, 0)], ([0, 1], [1, 0])),
    ([torch.tensor(0), torch.tensor(1)], (0, 1)), ([np.array([0, 1])], ([0, 1],)),
    ([[True, False], [0]], (torch.tensor([True, False]), [0])), ([[[0]]], ([[0]],)),
]


@pytest.mark.parametrize(("sequence", "meant"), STANDING, ids=str)
def test_sequences_that_stand_for_tuples(sequence, meant):
    with pytest.warns(UserWarning, match="Using a non-tuple sequence for multidimensional"):
        assert torch.equal(CUBE[sequence], CUBE[meant])
    ours, wanted = CUBE.clone(), CUBE.clone()
    with pytest.warns(UserWarning, match="Using a non-tuple sequence for multidimensional"):
        ours[sequence] = 9
    wanted[meant] = 9
    assert torch.equal(ours, wanted)


@pytest.mark.parametrize("sequence", [[0, 1], range(2), np.array([[0, 1], [1, 0]]), [True, False],
                                      [0.5, 1.0], [[0]] * 32], ids=str)
def test_sequences_that_are_one_index(sequence):
    index = torch.as_tensor(list(sequence) if isinstance(sequence, range) else sequence)
    if index.dtype.is_floating_point:
        index = index.long()
    assert torch.equal(CUBE[sequence], CUBE[index])


@pytest.mark.parametrize(("index", "error", "message"), [
    ("a", TypeError, "new(): invalid data type 'str'"),
    (b"a", TypeError, "new(): invalid data type 'bytes'"),
    ((0, "a"), TypeError, "new(): invalid data type 'str'"),
    ("abcd", IndexError, "too many indices for tensor of dimension 3"),
    (np.float32(1), IndexError, "valid indices (got numpy.float32)"),
    (torch.float32, IndexError, "valid indices (got torch.dtype)"),
    ([1j], TypeError, "'complex' object cannot be interpreted as an integer"),
    (slice(1.5, None), TypeError, "slice indices must be integers or None or have an __index__"),
], ids=str)
def test_what_is_no_index(index, error, message):
    for call in (lambda: CUBE[index], lambda: CUBE.clone().__setitem__(index, 1)):
        with pytest.raises(error) as caught:
            call()
        assert message in str(caught.value)


@pytest.mark.parametrize("value", ["a", [1, 2], (1, 2), None, np.array([1, 2]), np.float32(1)],
                         ids=str)
def test_only_numbers_and_tensors_are_assigned(value):
    name = "numpy." * (type(value).__module__ == "numpy") + type(value).__name__
    for index in (0, slice(None), torch.tensor([0]), CUBE > 3):
        with pytest.raises(TypeError) as caught:
            CUBE.clone()[index] = value
        assert str(caught.value) == f"can't assign a {name} to a torch.LongTensor"


def test_reads_of_nothing_lie_row_by_row():
    nothing = torch.tensor([], dtype=torch.int64)
    assert torch.zeros(2, 1)[nothing].stride() == (1, 1)
    assert torch.zeros(2, 3, 1).permute(2, 1, 0)[:, nothing, :1].stride() == (1, 1, 1)


@pytest.mark.parametrize(("index", "shape"), [
    (True, (1,)), (False, (0,)), ((None, True), (1, 1)), ((True, None), (1, 1)),
    ((True, True), (1,)), ((None, True, ...), (1, 1)), (torch.tensor(True), (1,)),
    (torch.tensor(1, dtype=torch.uint8), (1,)),
], ids=str)
def test_truth_values_as_indices_of_numbers(index, shape):
    number = torch.tensor(3.0)
    assert number[index].tolist() == torch.full(shape, 3.0).tolist()
    number[index] = 5
    assert number.item() == (3.0 if 0 in shape else 5.0)


@pytest.mark.parametrize(("index", "expected"), [
    ((True, 0), [[0, 1, 2]]), ((slice(None), True, 1), [[1], [4]]), ((0, True), [[0, 1, 2]]),
    (([0, 1], True, [0, 1]), [0, 4]), ((True, slice(None), [0]), [[0, 3]]),
    ((True, [0, 1]), [[0, 1, 2], [3, 4, 5]]), ((False, 0), []), ((True, False), []),
], ids=str)
def test_truth_values_among_indices(index, expected):
    x = torch.arange(6.0).reshape(2, 3)
    assert x[index].tolist() == expected
    x[index] = 9
    assert (x == 9).sum() == torch.tensor(expected).numel()


def test_nothing_is_written_at_false():
    x = torch.ones(2, 3)
    x[False] = torch.zeros(5)
    assert x.sum() == 6 and x._version == 0
    with pytest.raises(RuntimeError, match="Index put requires"):
        x[True, None] = torch.tensor(3)


def _refusal(x, index, value=None):
    with pytest.raises((IndexError, ValueError, RuntimeError)) as caught:
        if value is None:
            x[index]
        else:
            x[index] = value
    return caught.type, str(caught.value)


@pytest.mark.parametrize("index", [2**63, 2**64, -2**63 - 1, (0, 2**70)], ids=str)
def test_indices_beyond_64_bits(index):
    for value in (None, 1):
        assert _refusal(torch.ones(2, 5), index, value) == (
            ValueError, "Overflow when unpacking long long")
    assert torch.ones(5)[-2**70:2**70:2**70].tolist() == [1.0]


def test_dtypes_of_index_tensors():
    x = torch.arange(5.0)
    for dtype in (torch.int8, torch.int16, torch.uint16, torch.float32):
        assert _refusal(x, torch.tensor([0, 1], dtype=dtype)) == (
            IndexError, "tensors used as indices must be long, int, byte or bool tensors")
    assert x[torch.tensor(2, dtype=torch.int8)].item() == 2.0
    assert x[np.array([1, 2], dtype=np.int16)].tolist() == [1.0, 2.0]


def test_masks_of_bytes():
    x, mask = torch.arange(3.0), torch.tensor([1, 0, 1], dtype=torch.uint8)
    with pytest.warns(UserWarning, match="indexing with dtype torch.uint8 is now deprecated"):
        assert x[mask].tolist() == [0.0, 2.0]
    with pytest.warns(UserWarning, match="indexing with dtype torch.uint8 is now deprecated"):
        x[mask] = torch.ones(2)
    assert x.tolist() == [1.0, 1.0, 1.0]
    assert _refusal(x, mask, 3)[1].startswith("masked_fill_ only supports boolean masks")


def test_values_that_do_not_fit():
    x = torch.ones(5)
    assert _refusal(x, slice(0, 2), torch.ones(3))[1].startswith(
        "The expanded size of the tensor (2) must match the existing size (3) at non-singleton "
        "dimension 0.")
    assert "the number of sizes provided (0) must be greater" in _refusal(x, 0, torch.ones(2))[1]
    assert _refusal(torch.tensor(1.0), 0, 1)[1].startswith("invalid index of a 0-dim tensor")
    assert _refusal(x, slice(None, None, 0)) == (ValueError, "slice step cannot be zero")


def test_tensors_without_values():
    x, rows = torch.empty(3, 4, device="meta"), torch.tensor([0, 2])
    mask = torch.tensor([True, False, True])
    assert [tuple(x[i].shape) for i in ([0], rows, mask, torch.tensor(1))] == [
        (1, 4), (2, 4), (2, 4), (4,)]
    assert x[[0, 2], 1:].is_meta and x[:, [1]].stride() == torch.ones(3, 4)[:, [1]].stride()
    for index in (0, slice(1), [0], rows, mask):
        for value in (3.0, torch.tensor(2.0), torch.ones(4)):
            x[index] = value
    x[0] = torch.tensor(1)
    own = torch.ones(3, 4)
    for index in (0, slice(1), rows):
        with pytest.raises(NotImplementedError, match="Cannot copy out of meta tensor; no data!"):
            own[index] = x[0]
    assert own.tolist() == torch.ones(3, 4).tolist()
