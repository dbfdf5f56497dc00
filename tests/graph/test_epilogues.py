"""Nests inside the launches of products: which ones, and that no bit of any result changes."""

import random

import pytest

import yesca as torch
from yesca.graph import epilogues
from yesca.nn import functional

TALL = 520, 33, 2112  # rows, steps of K, columns: several rows of several blocks


def numbers(*shape):
    return torch.sin(torch.arange(torch.Size(shape).numel()).float() * 0.7).view(shape)


def program_of(function, *inputs):
    """The program of a call of the function."""
    return torch.compiler.explain(function)(*inputs).graphs[-1].program


def launches(function, *inputs):
    return [step.name for step in program_of(function, *inputs).steps]


def all_of(results):
    return results if isinstance(results, (list, tuple)) else [results]


def same(function, *inputs):
    """Compare every result with eager mode's, bit for bit, strides too, several times."""
    compiled = torch.compile(function)
    for _ in range(3):
        for a, b in zip(all_of(function(*inputs)), all_of(compiled(*inputs)), strict=True):
            assert (a.dtype, a.shape, a.stride()) == (b.dtype, b.shape, b.stride())
            assert torch.equal(torch.nan_to_num(a), torch.nan_to_num(b))


def joined(function, *inputs):
    """Whether something runs inside the last product of a function, whose results are right."""
    same(function, *inputs)
    return any(name.startswith("product") and "+" in name for name in launches(function, *inputs))


SHAPES = [(64, 40, 48), (1, 300, 130), (300, 7, 1), (130, 784, 10), TALL, (1, 1, 1), (5, 40, 40)]
CHAINS = {
    "relu": lambda y: y.relu(),
    "gelu": lambda y: functional.gelu(y) * 2,
    "softmax": lambda y: torch.softmax(y, -1),
    "norm": lambda y: functional.layer_norm(y + 1, y.shape[-1:]),
    "cast": lambda y: y.to(torch.bfloat16),
    "own": lambda y: y.mul_(2).add_(1),
    "both": lambda y: (y, y.tanh()),
    "mask": lambda y: y.tril(),
    "bias": lambda y: y + torch.arange(y.shape[-1]),
}


@pytest.mark.parametrize("chain", CHAINS)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_chains_after_products_of_every_kind(shape, chain):
    m, k, n = shape
    same(lambda a, b: CHAINS[chain](a @ b), numbers(m, k), numbers(k, n))


@pytest.mark.parametrize("chain", ["relu", "softmax", "norm", "cast", "own", "both", "bias"])
def test_they_run_inside_the_product(chain):
    m, k, n = TALL
    names = launches(lambda a, b: CHAINS[chain](a @ b), numbers(m, k), numbers(k, n))
    assert names[-1].startswith("product_tile+")


def test_a_raw_result_that_nobody_wants_is_never_stored():
    def function(a, b):
        return (a @ b).relu()

    program = program_of(function, numbers(64, 40), numbers(40, 48))
    (step,) = program.steps
    assert len(step.touched) == 3 and step.parts[0].writes == step.parts[1].writes


def test_batches_views_and_strided_operands():
    a, b = numbers(3, 4, 50, 20), numbers(3, 4, 20, 36)
    assert joined(lambda a, b: torch.softmax(a @ b, -1), a, b)
    assert joined(lambda a, b: (a @ b).view(12, 50, 36).relu(), a, b)
    assert joined(lambda a, b: a.transpose(2, 3).relu() @ b.transpose(2, 3) + 1,
                  numbers(3, 4, 20, 50), numbers(3, 4, 36, 20))
    assert joined(lambda a, b: (a @ b) * torch.arange(12).view(3, 4, 1, 1), a, b)
    assert joined(lambda a, b: torch.softmax((a @ b).view(3, 4, 50, 3, 12), -1), a, b)


def test_what_sees_other_points_runs_after_the_product():
    a, b = numbers(64, 40), numbers(40, 64)
    assert not joined(lambda a, b: (a @ b).sum(0), a, b)
    assert not joined(lambda a, b: (a @ b).flip(0).relu(), a, b)
    assert not joined(lambda a, b: (a @ b)[:32].relu(), a, b)
    assert not joined(lambda a, b: (a @ b)[torch.tensor([1, 0, 3])], a, b)
    assert not joined(lambda a, b: (a @ b).cumsum(0), a, b)
    assert not joined(lambda a, b: (a @ b).unsqueeze(0) + torch.ones(3, 1, 1), a, b)


def test_a_nest_that_writes_an_operand_waits_for_all_units():
    def function(a, b):
        a.copy_((a @ b).relu())
        return a.clone()

    eager, compiled = numbers(200, 200), numbers(200, 200)
    weights = numbers(200, 200) / 20
    step = torch.compile(function)
    for _ in range(4):
        assert torch.equal(function(eager, weights), step(compiled, weights))
    assert not any("product_tile+" in s for s in launches(function, eager, weights))


def test_accumulating_into_memory_that_was_there_before():
    def function(grad, other, a, b):
        grad += a @ b
        torch.addmm(other, a, b, out=other)
        other.relu_()
        return a @ b - grad

    made = [[numbers(150, 60), numbers(150, 60)] for _ in range(2)]
    a, b = numbers(150, 40), numbers(40, 60)
    compiled = torch.compile(function)
    for _ in range(4):
        assert torch.equal(function(*made[0], a, b), compiled(*made[1], a, b))
        assert all(map(torch.equal, *made))


def test_results_of_columns_apart():
    def function(goal, a, b):
        torch.mm(a, b, out=goal.t())
        return goal.t().relu(), goal[:, ::2] + 1

    same(function, torch.zeros(70, 90), numbers(90, 40), numbers(40, 70))
    wide = torch.zeros(90, 200)
    assert joined(lambda a, b: torch.mm(a, b, out=wide[:, 50:120]).relu(),
                  numbers(90, 40), numbers(40, 70))


def test_numbers_that_change_with_each_call():
    def function(a, b, c, alpha):
        return torch.addmm(c, a, b, alpha=alpha, beta=alpha + 1).mul(alpha).relu()

    compiled = torch.compile(function)
    inputs = numbers(150, 40), numbers(40, 60), numbers(150, 60)
    for alpha in (0.3, 1.7, -2.2, 5.1):
        assert torch.equal(function(*inputs, alpha), compiled(*inputs, alpha))


def test_shapes_that_change():
    compiled = torch.compile(lambda a, b: torch.softmax(a @ b + 1, 1))
    for m, k, n in [(60, 30, 40), (0, 30, 40), (60, 0, 40), (60, 30, 0), *SHAPES, (61, 31, 41)]:
        a, b = numbers(m, k), numbers(k, n)
        assert torch.equal(torch.softmax(a @ b + 1, 1), compiled(a, b))


def test_any_number_of_threads_gives_the_same_bits():
    def function(a, b, c):
        y = functional.gelu(a @ b)
        return torch.softmax(y @ c, -1), (y @ c).relu() + 1, y

    m, k, n = TALL
    inputs = numbers(m, k), numbers(k, n), numbers(n, 150)
    before = torch.get_num_threads()
    try:
        found = []
        for threads in (1, 2, 3):
            torch.set_num_threads(threads)
            found += [function(*inputs), torch.compile(function)(*inputs)]
    finally:
        torch.set_num_threads(before)
    assert all(torch.equal(a, b) for other in found for a, b in zip(found[0], other, strict=True))


def test_training_and_autocast():
    def losses(step_of):
        torch.manual_seed(0)
        model = torch.nn.Sequential(torch.nn.Linear(40, 96), torch.nn.GELU(),
                                    torch.nn.Linear(96, 64), torch.nn.ReLU(),
                                    torch.nn.Linear(64, 10))
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        x, t = torch.randn(70, 40), torch.randint(0, 10, (70,))

        def step(lower):
            with torch.autocast("cpu", torch.bfloat16, enabled=lower):
                loss = functional.cross_entropy(model(x).float(), t)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            return loss

        run = step_of(step)
        return [run(k % 2 == 1).item() for k in range(8)]

    assert losses(torch.compile) == losses(lambda step: step)


def test_convolutions_that_are_products():
    def function(x, w):
        return functional.conv2d(x, w).relu()

    same(function, numbers(2, 16, 9, 9), numbers(24, 16, 1, 1))
    same(function, numbers(2, 3, 9, 9), numbers(8, 3, 3, 3))


def test_no_more_memory_is_alive_than_without_them(monkeypatch):
    def function(a, b):
        for _ in range(3):
            a = functional.gelu(a @ b) @ b.t() + a
        return a

    inputs = numbers(300, 64), numbers(64, 256)
    arena = program_of(function, *inputs).arena
    monkeypatch.setattr(epilogues, "REACH", 0)
    least = program_of(lambda a, b: function(a, b), *inputs).arena
    assert arena <= least * 1.01 + 4096  # words of launches lie there as well


def test_generated_programs():
    """Chains between products: elementwise, rows, in place, views, several readers."""
    elementwise = [
        lambda x, y: x.relu(), lambda x, y: x * 0.5 + y, lambda x, y: x.tanh() * y,
        lambda x, y: torch.softmax(x, -1), lambda x, y: x.add_(y.detach() * 0.25),
        lambda x, y: functional.layer_norm(x, x.shape[-1:]), lambda x, y: x.bfloat16().float(),
        lambda x, y: torch.where(x > y, x, y * 0.5), lambda x, y: x.t().contiguous().t() - y,
        lambda x, y: x - x.mean(1, keepdim=True), lambda x, y: x + y.sum(0),
    ]
    for seed in range(12):
        rng = random.Random(seed)
        size, inner = rng.choice([8, 30, 97, 200]), rng.choice([1, 5, 40])
        chains = [[(rng.choice(elementwise), rng.randrange(k + 1))
                   for _ in range(rng.randint(0, 4))] for k in range(3)]
        kept = rng.sample(range(4), 2)

        def function(x, left, right, chains=chains, kept=kept):
            seen = [x * 1]
            for chain in chains:
                y = (seen[-1] @ left) @ right
                for one, other in chain:
                    y = one(y, seen[other])
                seen.append(y)
            return [seen[k] for k in kept]

        x = numbers(size, size)
        same(function, x, numbers(size, inner) / size, numbers(inner, size) / inner)


def test_products_of_which_nothing_is_joined(monkeypatch):
    monkeypatch.setattr(epilogues, "REACH", 0)
    assert not joined(lambda a, b: (a @ b).relu().relu(), numbers(64, 40), numbers(40, 56))


def test_the_table_and_the_picture_show_them_in_the_products_line(tmp_path):
    a, b = numbers(64, 40), numbers(40, 48)
    graph, = torch.compiler.explain(lambda a, b: functional.gelu(a @ b))(a, b).graphs
    assert graph.launches == ["product_tile+gelu"]
    assert "not stored: matmul (64, 48) float32" in graph.table()
    assert "64x48" in graph.table() and "for each row of blocks" in graph.code()
    # the product reads its operands and writes its result, the nest adds nothing to that
    assert graph.nbytes == 4 * (64 * 40 + 40 * 48 + 64 * 48)
    assert len(graph.seconds) == 1
    torch.compiler.explain(lambda a, b: functional.gelu(a @ b))(a, b).draw(tmp_path / "a.svg")
    assert "product_tile_gelu" in (tmp_path / "a.svg").read_text()
