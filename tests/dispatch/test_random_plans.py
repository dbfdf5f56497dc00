"""Random numbers by plans: those that machine code draws follow those that Python draws."""

import os
import threading

import pytest

import yesca as torch
from yesca.dispatch import fast

x = torch.zeros(3, 5)
#: Calls that machine code learns, each with one that Python draws the same numbers by.
CALLS = {
    "rand": (lambda: torch.rand(3, 5), lambda g: torch.rand(3, 5, generator=g)),
    "a list": (lambda: torch.rand([7], dtype=torch.float64),
               lambda g: torch.rand(7, dtype=torch.float64, generator=g)),
    "few": (lambda: torch.randn(3), lambda g: torch.randn(3, generator=g)),
    "blocks": (lambda: torch.randn(4, 5), lambda g: torch.randn(4, 5, generator=g)),
    "halves": (lambda: torch.randn(17, dtype=torch.bfloat16),
               lambda g: torch.randn(17, dtype=torch.bfloat16, generator=g)),
    "complex": (lambda: torch.randn(9, dtype=torch.complex64),
                lambda g: torch.randn(9, dtype=torch.complex64, generator=g)),
    "integers": (lambda: torch.randint(-3, 10, (6,)),
                 lambda g: torch.randint(-3, 10, (6,), generator=g)),
    "wide": (lambda: torch.randint(-(2**62), 2**62, (5,)),
             lambda g: torch.randint(-(2**62), 2**62, (5,), generator=g)),
    "bytes": (lambda: torch.randint(256, (5,), dtype=torch.uint8),
              lambda g: torch.randint(256, (5,), dtype=torch.uint8, generator=g)),
    "permutation": (lambda: torch.randperm(11), lambda g: torch.randperm(11, generator=g)),
    "like": (lambda: torch.randn_like(x), lambda g: torch.randn(3, 5, generator=g)),
    "integers like": (lambda: torch.randint_like(x, 4),
                      lambda g: torch.randint(4, (3, 5), dtype=torch.float32, generator=g)),
    "uniform_": (lambda: x.uniform_(-1, 2), lambda g: x.uniform_(-1, 2, generator=g)),
    "normal_": (lambda: x.normal_(1, 3), lambda g: x.normal_(1, 3, generator=g)),
    "exponential_": (lambda: x.exponential_(2), lambda g: x.exponential_(2, generator=g)),
    "bernoulli_": (lambda: x.bernoulli_(0.3), lambda g: x.bernoulli_(0.3, generator=g)),
    "random_": (lambda: x.random_(9), lambda g: x.random_(9, generator=g)),
    "cauchy_": (lambda: x.cauchy_(), lambda g: x.cauchy_(generator=g)),
    "large": (lambda: torch.rand(5000), lambda g: torch.rand(5000, generator=g)),
}
needs_builtins = pytest.mark.skipif(fast.FAST is None, reason="needs the builtin path")


@pytest.mark.parametrize("name", CALLS)
def test_numbers_go_on_where_the_last_draw_ended(name):
    learnt, reference = CALLS[name]
    generator = torch.Generator().manual_seed(5)
    torch.manual_seed(5)
    for _ in range(4):
        made = learnt().clone()
        expected = reference(generator)
        assert made.dtype is expected.dtype and torch.equal(made, expected)
    torch.manual_seed(5)
    again = learnt()
    assert torch.equal(again, reference(torch.Generator().manual_seed(5)))


@needs_builtins
@pytest.mark.parametrize("name", CALLS)
def test_calls_are_learnt(name):
    learnt = CALLS[name][0]
    learnt()
    learnt()
    before = fast.FAST.watched
    runs = torch.runtime.plan.launches
    learnt()
    assert (fast.FAST.watched, torch.runtime.plan.launches) == (before, runs)


def test_what_is_like_a_parameter():
    w = torch.nn.Parameter(torch.ones(2, 3))
    for make in (torch.randn_like, torch.rand_like, torch.zeros_like):
        for _ in range(3):
            made = make(w)
            assert not made.requires_grad and made.grad_fn is None and made._version == 0


def test_writes_are_counted_and_leaves_refused():
    v = torch.zeros(3)
    for count in range(1, 4):
        assert v.normal_() is v and v._version == count
    leaf = torch.ones(2, requires_grad=True)
    for _ in range(2):
        with pytest.raises(RuntimeError, match="a leaf Variable that requires grad"):
            leaf.uniform_()
        with torch.no_grad():
            leaf.uniform_()
    with torch.inference_mode():
        inferred = torch.ones(2)
    for _ in range(2):
        with pytest.raises(RuntimeError, match="Inplace update to inference tensor"):
            inferred.normal_()


def test_the_default_dtype_counts():
    torch.rand(2)
    torch.rand(2)
    torch.set_default_dtype(torch.float64)
    try:
        assert torch.rand(2).dtype is torch.rand(2).dtype is torch.float64
    finally:
        torch.set_default_dtype(torch.float32)
    assert torch.rand(2).dtype is torch.float32


def test_compiled_functions_draw_in_the_order_of_the_program():
    def program(v):
        made = [torch.rand(3) + v]
        torch.manual_seed(1)
        made.append(torch.rand(3) * v)
        made.append(torch.nn.functional.dropout(v, 0.5))
        return torch.stack(made)

    v = torch.ones(3)
    results = []
    for function in (program, torch.compile(program)):
        for _ in range(3):
            torch.manual_seed(0)
            results.append(function(v))
    assert all(torch.equal(results[0], r) for r in results)


@needs_builtins
def test_dropout_breaks_no_recording():
    def program(v):
        return torch.nn.functional.dropout(v * 2, 0.5) + 1

    compiled = torch.compile(program, fullgraph=True)
    for _ in range(3):
        assert compiled(torch.ones(4)).shape == (4,)


def test_threads_share_the_default_generator():
    """Small draws hold the GIL, large ones do not; none gets another's numbers."""
    torch.manual_seed(0)
    found = []

    def work():
        for _ in range(30):
            found.append(torch.rand(10))
            found.append(torch.rand(6000))
            found.append(torch.empty(30).uniform_())

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    drawn = torch.cat(found).sort().values
    expected = torch.rand(len(drawn), generator=torch.Generator().manual_seed(0)).sort().values
    assert torch.equal(drawn, expected)


FORKS = """
import os, threading
import yesca as torch

stop = False

def work(size):
    while not stop:
        torch.rand(size)

threads = [threading.Thread(target=work, args=(n,)) for n in (3, 100_000)]
for thread in threads:
    thread.start()
ends = []
for _ in range(20):
    child = os.fork()
    if child == 0:
        torch.rand(3), torch.rand(9000), torch.manual_seed(0)
        os._exit(0 if abs(torch.rand(1).item() - 0.4963) < 1e-4 else 1)
    ends.append(os.waitpid(child, 0)[1])
stop = True
for thread in threads:
    thread.join()
print(sum(ends))
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs os.fork")
def test_forks_beside_threads_that_draw(run_python):
    done = run_python("-W", "ignore", "-c", FORKS)
    assert done.stdout == "0\n", done.stderr


def test_negated_views_hold_the_numbers_drawn():
    memory = torch.zeros(3)
    negated = memory._neg_view()
    for seed in (1, 2, 3):
        torch.manual_seed(seed)
        negated.uniform_()
        assert negated.tolist() == torch.rand(
            3, generator=torch.Generator().manual_seed(seed)).tolist()
        assert memory.tolist() == (-negated).tolist()


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("count", [1, 5, 300, 10000])
def test_chances_of_their_own_are_a_plan(dtype, count):
    """The numbers are those of the in-place draw, also when the call is known already."""
    chances = torch.linspace(0, 1, count, dtype=dtype)
    torch.manual_seed(3)
    got = [torch.bernoulli(chances) for _ in range(3)]
    torch.manual_seed(3)
    wanted = [torch.empty_like(chances).bernoulli_(chances) for _ in range(3)]
    for mine, other in zip(got, wanted):
        assert mine.dtype is dtype and mine._version == 0
        assert torch.equal(mine, other)


def test_chances_out_of_range_are_refused_by_the_plan():
    for bad in (1.5, -0.1, float("nan")):
        for _ in range(3):
            with pytest.raises(RuntimeError, match="Expected p_in >= 0 && p_in <= 1"):
                torch.bernoulli(torch.tensor([0.5, bad]))
    assert torch.bernoulli(torch.ones(3)).tolist() == [1.0, 1.0, 1.0]


def test_a_generator_of_its_own_draws_by_chances():
    chances, generator = torch.full((50,), 0.5), torch.Generator()
    found = [torch.bernoulli(chances, generator=generator.manual_seed(5)) for _ in range(3)]
    assert torch.equal(found[0], found[1]) and torch.equal(found[1], found[2])
