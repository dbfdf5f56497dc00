"""Rows and runs of tensors, and batches of them: machine code beside plans."""

import pytest

import yesca as torch
from yesca.core.tensor_base import NoGradView
from yesca.dispatch import fast, samples

x = torch.arange(24.0).reshape(4, 3, 2)
SOURCES = {
    "plain": x, "view": x[1:, 1:], "turned": x.permute(2, 0, 1), "wide": x[:1].expand(5, 3, 2),
    "flat": torch.arange(5), "scalar": torch.tensor(1.0), "no rows": x[:0], "empty": x[:, :0],
    "leaf": torch.nn.Parameter(torch.ones(3, 2)), "meta": torch.empty(3, 2, device="meta"),
    "result": torch.ones(3, 2, requires_grad=True) * 2,
    "conjugate": torch.ones(3, 2, dtype=torch.complex64).conj(),
}
INDICES = [0, 1, -1, 3, -4, 9, 2**70, True, None, ..., (), (0,), (1, -1), (0, 1, 1), (0, 1, 1, 0),
           (0, 7), (1, slice(None)), (0, None), slice(None), slice(1, 3), slice(3, 1),
           slice(-2, None), slice(None, -1), slice(-9, 99), slice(2**70), slice(0, 3, 2),
           slice(None, None, -1), slice(0, 0), slice(99, None)]


class Passing(torch.overrides.TorchFunctionMode):
    """Inside a mode everything takes the Python path."""

    def __torch_function__(self, func, types, args=(), kwargs=None):
        return func(*args, **(kwargs or {}))


def told(source, index):
    """What a view is, or the error."""
    try:
        part = source[index]
    except Exception as error:
        return type(error), str(error)
    base = None if part._base is None else part._base is (
        source if source._base is None else source._base)
    return (part._spec, part._offset, part._counter is source._counter, base, part.requires_grad,
            type(part), None if part.grad_fn is None else part.grad_fn.name(), type(part._extra))


@pytest.mark.parametrize("name", SOURCES)
def test_parts_are_those_of_plans(name):
    source = SOURCES[name]
    for grad in (True, False):
        with torch.set_grad_enabled(grad):
            for index in INDICES:
                with Passing():
                    expected = told(source, index)
                for _ in range(2):
                    assert told(source, index) == expected, (index, grad)


def test_no_plan_a_row():
    if fast.FAST is None:
        pytest.skip("this interpreter has no builtin path")
    rows = torch.arange(3000.0).reshape(1500, 2)
    rows[0], rows[:2]
    before = fast.FAST.watched
    total = sum(int(rows[i][1]) + int(rows[i, 0]) + len(rows[i:i + 4]) for i in range(1500))
    assert total == sum(range(3000)) + 4 * 1497 + 3 + 2 + 1
    for i in range(0, 1500, 3):
        rows[i] = 0.5
        rows[i + 1, 1] = 2
        rows[i + 2:i + 3] = rows[i]
    assert rows[:3].tolist() == [[0.5, 0.5], [2, 2], [0.5, 0.5]] and rows[-3:].sum() == 3000
    assert fast.FAST.watched - before < 30


def test_writes_are_seen_and_guarded():
    base = torch.zeros(3, 2)
    row = base[1]
    row.add_(1)
    assert base.tolist() == [[0, 0], [1, 1], [0, 0]] and base._version == row._version == 1
    base.mul_(torch.ones(3, 2, requires_grad=True))
    assert base[1].requires_grad and row.requires_grad
    with torch.no_grad():
        barred = torch.ones(2, 2, requires_grad=True)[0]
    assert type(barred._extra) is NoGradView
    with pytest.raises(RuntimeError, match="no_grad"):
        barred.mul_(2)


def test_in_other_rooms():
    @torch.compile
    def step(t, i):
        return t[i] * 2 + t[i:i + 1].sum()

    for i in range(3):
        assert step(x, i).tolist() == (x[i] * 2 + x[i].sum()).tolist()
    batched = torch.func.vmap(lambda row: row[1])(x)
    assert batched.tolist() == x[:, 1].tolist()
    with torch.inference_mode():
        assert not x[1].is_inference() and (x + 1)[1].is_inference()


BATCHES = {
    "rows": [x[i] for i in (2, 0, 2)], "numbers": [torch.tensor(3), torch.tensor(4)],
    "many": list(torch.arange(400).reshape(100, 4)), "tuple": tuple(x), "nothing in them":
    [x[:0]] * 3, "half": [x.bfloat16()] * 2, "bools": [x > 3] * 2, "complex": [x + 1j] * 2,
}
OTHERS = {
    "not dense": [x.t() for x in x], "shapes": [x[0], x[0, :2]], "dtypes": [x[0], x[0].double()],
    "graph": [torch.ones(2, requires_grad=True)] * 2, "none": [], "large": [torch.ones(1 << 20)],
    "conjugates": [(x + 1j).conj()], "meta": [torch.ones(2, device="meta")], "numbers": [1, 2],
    "subclass": [x.as_subclass(type("Other", (torch.Tensor,), {}))],
}


@pytest.mark.parametrize("name", BATCHES)
def test_batches(name):
    batch = BATCHES[name]
    made, expected = samples.stacked(batch), torch.stack(list(batch))
    if fast.FAST is not None:
        assert made._spec is expected._spec and made._base is None
        assert torch.equal(made, expected) and not made.requires_grad


@pytest.mark.parametrize("name", OTHERS)
def test_other_batches_are_left_to_plans(name):
    assert samples.stacked(OTHERS[name]) is None


@pytest.mark.parametrize("source", [x, x.long(), x.flatten(), x > 3, x[1:], x[:, :0], x + 1j])
def test_rows_at_numbers(source):
    for numbers in ([0], [2, 0, -1, 2], list(range(3)) * 50):
        made, expected = samples.rows(source, numbers), source[torch.tensor(numbers)]
        if fast.FAST is not None:
            assert made._spec is expected._spec and torch.equal(made, expected)
    for other in ([], [99], [-99], [True], [2**70], (0, 1), [0.5]):
        assert samples.rows(source, other) is None
    assert samples.rows(x.permute(1, 0, 2), [0]) is None and samples.rows(x[:0], [0]) is None


def test_stacking_more_than_a_key_holds():
    many = [torch.tensor([float(k), 1]) for k in range(200)]
    with Passing():
        expected = torch.stack(many)
    for made in (torch.stack(many), torch.stack(tuple(many)), torch.stack(many, 0),
                 torch.stack(tensors=many), torch.stack(many, out=torch.empty(0))):
        assert made._spec is expected._spec and torch.equal(made, expected)
    leaf = torch.ones(2, requires_grad=True)
    torch.stack([*many, leaf]).sum().backward()
    assert leaf.grad.tolist() == [1, 1]
    with pytest.raises(RuntimeError, match="expects each tensor to be equal size"):
        torch.stack([*many, torch.ones(3)])
    with torch.profiler.profile() as watched:
        torch.stack(many)
    assert "aten::stack" in [event.key for event in watched.key_averages()]


JOINED = {
    "rows": [x[:2], x[1:], x[3:]], "many": list(torch.arange(400).reshape(100, 4)),
    "empty among them": [x, x[:0], x], "flat": [torch.ones(k) for k in range(90)],
    "bools": (x > 3, x > 4), "tuple": tuple(x), "complex": [x + 1j] * 70,
}
NOT_JOINED = {
    "numbers": [torch.tensor(1)] * 2, "shapes": [x, x[:, :2]], "ranks": [x, x[0]], "none": [],
    "dtypes": [x, x.double()], "all empty": [x[:0]] * 2, "turned": [x.permute(0, 2, 1)],
    "old empty": [x, torch.ones(0)], "graph": [torch.ones(2, requires_grad=True)],
}


@pytest.mark.parametrize("name", JOINED)
def test_joined(name):
    batch = JOINED[name]
    with Passing():
        expected = torch.cat(batch)
    made = samples.joined(batch)
    if fast.FAST is not None:
        assert made._spec is expected._spec and torch.equal(made, expected)
    for again in (torch.cat(batch), torch.cat(batch, dim=0), torch.cat(batch, out=made)):
        assert again._spec is expected._spec and torch.equal(again, expected)


@pytest.mark.parametrize("name", NOT_JOINED)
def test_what_is_not_joined_here(name):
    assert samples.joined(NOT_JOINED[name]) is None


def test_not_while_something_is_recorded_or_watched():
    with Passing():
        assert samples.stacked([x, x]) is None and samples.rows(x, [0]) is None

    @torch.compile
    def joined(a):
        return torch.stack([a, a * 2]) + 1

    assert joined(x).tolist() == torch.stack([x + 1, x * 2 + 1]).tolist()
