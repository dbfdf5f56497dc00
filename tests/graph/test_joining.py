"""Launches joined into one: which ones, and that no bit of any result changes."""

import random

import pytest

import yesca as torch
from yesca.graph import again, groups, recorder
from yesca.nn import functional


@pytest.fixture(autouse=True)
def joins_small_ones(monkeypatch):
    monkeypatch.setattr(groups, "LEAST", 2)


def steps_of(function, *inputs):
    """The names of what one call launches."""
    compiled = torch.compile(function)
    compiled(*inputs)
    programs = [node.latest for node in recorder.current().trie.nodes.values()
                if node.latest is not None]
    return [step.name for program in programs for step in program.steps]


def same(function, *inputs):
    """Compare every result with eager mode's, bit for bit, strides too."""
    wanted, got = function(*inputs), torch.compile(function)(*inputs)
    for a, b in zip(_all(wanted), _all(got), strict=True):
        assert (a.dtype, a.shape, a.stride()) == (b.dtype, b.shape, b.stride())
        assert torch.equal(torch.nan_to_num(a), torch.nan_to_num(b))


def _all(results):
    return results if isinstance(results, (list, tuple)) else [results]


def values(*shape):
    return torch.sin(torch.arange(torch.Size(shape).numel()).float() * 0.7).view(shape)


def test_a_chain_is_one_launch():
    def chain(x, y):
        return ((x * y + x).tanh() * 0.5 + (y - x).sigmoid() * x - y * y).relu() + 1.0

    inputs = values(6, 8), values(6, 8) + 0.1
    assert len(steps_of(chain, *inputs)) == 1
    same(chain, *inputs)


def test_a_row_statistic_takes_in_what_is_around_it():
    def normalised(x, residual):
        return functional.layer_norm(functional.gelu(x) + residual, (32,)) * 2

    inputs = values(5, 32), values(5, 32) * 3
    assert len(steps_of(normalised, *inputs)) == 1
    same(normalised, *inputs)


def test_softmax_and_a_sum_over_it():
    def function(x):
        weights = torch.softmax(x * 0.3, -1)
        return weights, (weights * x).sum(-1, keepdim=True) - x

    assert len(steps_of(function, values(7, 24))) == 1
    same(function, values(7, 24))


def test_copies_in_another_order_meet():
    def function(x):
        return (x.transpose(0, 1).contiguous() + 1).transpose(0, 1) * x

    assert len(steps_of(function, values(12, 20))) == 1
    same(function, values(12, 20))


def test_a_value_with_a_far_reader_is_stored_and_used():
    def function(x, w):
        hidden = torch.relu(x) * 2
        return hidden.sum(0) + (hidden @ w).sum(), hidden

    same(function, values(6, 6), values(6, 6))


def test_neighbours_are_not_the_same_point():
    def shifted(x):
        y = x * 2
        return y[:, 1:] + y[:, :-1]

    assert len(steps_of(shifted, values(4, 9))) == 2
    same(shifted, values(4, 9))


def test_in_place_writes_keep_their_order():
    def function(x):
        y = x.clone()
        z = y + 1
        y.mul_(3)
        y[:, ::2] += z[:, ::2]
        return y, z

    same(function, values(4, 10))


def test_a_write_to_an_input_is_seen_by_later_reads_only():
    x = values(4, 8)

    def function(x):
        before = x * 2
        x.add_(1)
        return before, x * 2

    expected = function(x.clone())
    got = torch.compile(function)(x)
    assert [torch.equal(a, b) for a, b in zip(expected, got, strict=True)] == [True, True]
    assert torch.equal(x, values(4, 8) + 1)


def test_half_types_round_after_each_operation():
    def function(x):
        return (x * 1.1 + x).exp() - x

    for dtype in (torch.bfloat16, torch.float16):
        assert len(steps_of(function, values(4, 8).to(dtype))) == 1
        same(function, values(4, 8).to(dtype))


def test_folds_over_a_broadcast_gradient_keep_their_order():
    x = (values(8, 16) * 3).requires_grad_()

    def function(x):
        result = torch.log_softmax(x, -1)
        return [result.detach(), *torch.autograd.grad(result.sum(), x)]

    same(function, x)


def test_slices_of_one_tensor_share_a_place_where_they_begin_alike():
    data = values(20, 6)

    def function(rows):
        return rows * 2 + rows

    compiled = torch.compile(function)
    for begin in (0, 4, 7):
        rows = data[begin:begin + 5]
        assert torch.equal(compiled(rows), function(rows))
    assert sum(node.latest is not None for node in recorder.current().trie.nodes.values()) == 1


OPERATIONS = [
    lambda x, y, c: x + y, lambda x, y, c: x * y, lambda x, y, c: x - y * 0.5,
    lambda x, y, c: torch.tanh(x), lambda x, y, c: torch.relu(x), lambda x, y, c: x * c,
    lambda x, y, c: x.sum(-1, keepdim=True), lambda x, y, c: x.mean(0, keepdim=True),
    lambda x, y, c: x.amax(-1, keepdim=True), lambda x, y, c: torch.softmax(x, -1),
    lambda x, y, c: x.transpose(-1, -2), lambda x, y, c: torch.where(x > y, x, y),
    lambda x, y, c: functional.layer_norm(x, x.shape[-1:]), lambda x, y, c: functional.gelu(x),
    lambda x, y, c: x.clone().mul_(0.5).add_(1), lambda x, y, c: x[..., 1:].contiguous(),
    lambda x, y, c: torch.cat([x, x * 2], -1), lambda x, y, c: x.var(-1, keepdim=True),
    lambda x, y, c: x.reshape(-1).view(x.shape) * c, lambda x, y, c: x.sum() * y,
]


def drawn(rng):
    """A random program over operands that broadcast, and its inputs."""
    base = rng.choice([(8, 16), (4, 8, 16), (33, 7), (5, 64), (3, 4, 40), (2, 3, 4, 5), (70, 130)])
    shapes = [base, *(tuple(1 if rng.random() < 0.3 else n for n in base) for _ in range(2))]
    chosen = [(rng.choice(OPERATIONS), *(rng.random() for _ in range(4)))
              for _ in range(rng.randrange(3, 16))]
    grad = rng.random() < 0.5

    def function(*inputs):
        found, kept = list(inputs), []
        for operation, first, second, number, keep in chosen:
            x, y = (found[int(f * len(found))] for f in (first, second))
            try:
                found.append(operation(x, y, number))
            except (RuntimeError, IndexError):  # shapes that do not go together
                continue
            if keep < 0.25:
                kept.append(found[-1])
        kept.append(found[-1])
        total = sum((k.sum() for k in kept if k.requires_grad), torch.zeros(()))
        if total.requires_grad:
            kept += [g for g in torch.autograd.grad(total, inputs, allow_unused=True)
                     if g is not None]
        return [k.detach() for k in kept]

    inputs = [values(*shape).add(k).requires_grad_(grad) for k, shape in enumerate(shapes)]
    return function, inputs


def test_columns_are_folded_with_what_makes_them(monkeypatch):
    monkeypatch.setattr(groups, "LEAST", 4096)
    x, y = values(256, 128), values(256, 128) + 1.0

    def error(x, y):
        return ((x - y) ** 2).sum(0)

    assert steps_of(error, x, y) == ["sub+pow_fixed+sum"]
    same(error, x, y)


def test_what_stays_in_memory_is_not_written_across_its_rows(monkeypatch):
    monkeypatch.setattr(groups, "LEAST", 4096)

    def kept(x, y):
        z = x * y
        return z, z.sum(0)

    assert steps_of(kept, values(256, 128), values(256, 128)) == ["mul", "sum"]
    same(kept, values(256, 128), values(256, 128))


@pytest.mark.parametrize("shape", [(1000, 1003), (330, 2, 1117)])
def test_long_sums_are_cut_evenly_and_joined(monkeypatch, shape):
    monkeypatch.setattr(groups, "LEAST", 4096)

    def mean(x, y):
        return ((x - y) ** 2).mean()

    assert steps_of(mean, values(*shape), values(*shape) + 1.0) == ["sub+pow_fixed+mean", "mean"]
    same(mean, values(*shape), values(*shape) + 1.0)


@pytest.mark.filterwarnings("ignore:.*degrees of freedom:UserWarning")  # rows of one element
@pytest.mark.parametrize("block", range(4))
def test_random_programs(block):
    for seed in range(block * 10, block * 10 + 10):
        function, inputs = drawn(random.Random(seed))
        same(function, *inputs)


def test_values_are_computed_again_where_memory_is_scarcest(monkeypatch):
    monkeypatch.setattr(again, "LEAST_BYTES", 64)

    weight = values(64, 64) * 0.1

    def function(x):
        first = x @ weight
        held = torch.exp(first)  # waits for the last line
        rows = functional.layer_norm(first, (64,))
        wide = held @ weight + rows @ weight
        wide = (torch.cat([wide] * 8, -1) @ torch.cat([weight] * 8)).relu() @ weight
        return wide @ held.t() + rows @ held.t() + first @ first.t()

    x = values(16, 64)
    names = steps_of(function, x)
    assert any(name.startswith("exp") for name in names[len(names) // 2:])
    same(function, x)


def test_a_result_lies_over_an_operand_that_ends_there():
    weight = values(64, 64) * 0.1

    def function(x):
        for _ in range(6):
            x = (x @ weight).relu()
        return x @ weight

    x = values(64, 64)
    steps_of(function, x)
    program = next(node.latest for node in recorder.current().trie.nodes.values()
                   if node.latest is not None)
    same(function, x)
    assert program.arena < 3 * x.nbytes
