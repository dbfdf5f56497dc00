"""Training steps, compiled: the numbers of eager mode from a fixed number of native calls."""

import gc
import sys

import pytest

import yesca as torch
from yesca import nn
from yesca.dispatch.state import STATE
from yesca.graph import recorder
from yesca.graph.trie import LEAD
from yesca.nn import functional
from yesca.runtime import layout
from yesca.runtime.recording import ROUSES

VOCABULARY = 11


def table(rows, columns):
    return torch.sin(torch.arange(rows * columns).float()).view(rows, columns)


def bigram():
    model = nn.Embedding(VOCABULARY, VOCABULARY, _weight=table(VOCABULARY, VOCABULARY))
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.1)

    def step(inputs, targets):
        logits = model(inputs)  # (B, T, V)
        loss = functional.cross_entropy(logits.view(-1, VOCABULARY), targets.view(-1))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss

    def batch(k):
        tokens = (torch.arange(13) * (k % 5 + 2)) % VOCABULARY
        return tokens[:12].view(3, 4), tokens[1:].view(3, 4)

    return model, step, batch


def perceptron():
    model = nn.Sequential(nn.Linear(5, 7), nn.Tanh(), nn.Linear(7, 2))
    with torch.no_grad():
        for parameter in model.parameters():
            rows = parameter.numel()
            parameter.copy_(table(1, rows).view(parameter.shape))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)

    def step(inputs, targets):
        loss = functional.mse_loss(model(inputs), targets)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss

    def batch(k):
        return table(6, 5) + k % 3, table(6, 2) * (k % 2)

    return model, step, batch


@pytest.mark.parametrize("make", [bigram, perceptron])
def test_a_step_equals_eager_bit_for_bit(make):
    model, step, batch = make()
    expected = [step(*batch(k)).item() for k in range(50)]
    weights = [p.tolist() for p in model.parameters()]
    versions = [p._version for p in model.parameters()]

    model, step, batch = make()
    compiled = torch.compile(step)
    losses = []
    for k in range(50):
        inputs = batch(k)
        before = recorder.replays
        losses.append(compiled(*inputs))
        assert recorder.replays - before == 1
    assert [loss.item() for loss in losses] == expected
    assert [p.tolist() for p in model.parameters()] == weights
    assert [p._version for p in model.parameters()] == versions


def test_a_second_run_adds_nothing_to_the_trie():
    _, step, batch = perceptron()
    compiled = torch.compile(step)
    compiled(*batch(0))
    compiled(*batch(1))  # from the second step on there are momentum buffers
    trie = recorder.current().trie
    known = len(trie.nodes)
    for k in range(3):
        compiled(*batch(k))
    assert recorder.current().trie is trie
    assert len(trie.nodes) == known


def test_results_outlive_the_next_call():
    compiled = torch.compile(lambda x: (x * 2, (x + 1).exp().log()))
    first = compiled(torch.arange(4.0))
    kept = [t.tolist() for t in first]
    second = compiled(torch.arange(4.0) + 10)
    assert [t.tolist() for t in first] == kept
    assert second[0].tolist() == [20.0, 22.0, 24.0, 26.0]
    addresses = {t.data_ptr() for t in (*first, *second)}
    assert len(addresses) == 4


def test_temporaries_share_an_arena_and_dead_results_are_dropped():
    @torch.compile
    def chain(x):
        x.exp()  # nobody can see it
        for _ in range(10):
            x = x + 1
        return x

    x = torch.zeros(1000)
    assert chain(x)[0].item() == 10.0
    node = next(n for n in recorder.current().trie.nodes.values() if n.latest is not None)
    assert len(node.latest.steps) == 10
    assert node.latest.arena < 2.5 * x.nbytes


def test_numbers_and_places_are_given_with_each_run():
    @torch.compile
    def scaled(x, factor):
        return x * factor + 1

    data = torch.arange(10.0)
    assert scaled(data[0:2], 2.0).tolist() == [1.0, 3.0]
    trie = recorder.current().trie
    known = len(trie.nodes)
    assert scaled(data[5:7], 0.5).tolist() == [3.5, 4.0]
    assert len(trie.nodes) == known
    assert scaled(data[5:7], 3).tolist() == [16.0, 19.0]  # an int: another plan
    assert len(trie.nodes) > known


def test_which_operands_share_memory_is_part_of_the_key():
    @torch.compile
    def swap(a, b):
        a.add_(1)
        return a * b

    x, y = torch.ones(2), torch.ones(2)
    assert swap(x, y).tolist() == [2.0, 2.0]
    assert swap(x, x).tolist() == [9.0, 9.0]
    assert swap(x, y).tolist() == [4.0, 4.0]


def test_module_shares_parameters_and_mode():
    model = nn.Sequential(nn.Linear(2, 2), nn.ReLU())
    compiled = torch.compile(model)
    x = torch.ones(3, 2)
    assert torch.equal(compiled(x), model(x))
    assert [*compiled.state_dict()] == ["_orig_mod.0.weight", "_orig_mod.0.bias"]
    compiled.eval()
    assert not model.training
    compiled.train()
    assert model.training
    compiled(x).sum().backward()
    assert model[0].weight.grad is not None
    before = recorder.replays
    model.compile()
    assert torch.equal(model(x), compiled(x))
    assert recorder.replays > before


def test_decorator_with_options_and_disable():
    @torch.compile(fullgraph=True, dynamic=False, mode="default")
    def twice(x):
        """Doubles."""
        return x * 2

    assert twice(torch.ones(2)).tolist() == [2.0, 2.0]
    assert twice.__doc__ == "Doubles."

    def plain(x):
        return x

    assert torch.compile(plain, disable=True) is plain
    with pytest.raises(RuntimeError, match="Either mode or options"):
        torch.compile(plain, mode="default", options={"a": 1})


def test_results_without_elements():
    @torch.compile
    def selected(x):
        y = x + 1
        none = torch.nn.functional.embedding(torch.empty(0, dtype=torch.int64), y.view(3, 1))
        assert none.shape == (0, 1)
        return y[:0] * 2, torch.empty(0, 3).sum(0), y * 2

    for _ in range(2):
        nothing, zeros, numbers = selected(torch.ones(3))
        assert nothing.tolist() == []
        assert zeros.tolist() == [0.0, 0.0, 0.0]
        assert numbers.tolist() == [4.0, 4.0, 4.0]


def test_garbage_that_goes_while_a_program_is_made(monkeypatch):
    """What is held is asked again: the cycle held a result when the program was begun."""
    from yesca.graph import stored

    def collected(*arguments, known=stored.build):
        gc.collect()
        return known(*arguments)

    @torch.compile
    def cyclic(x):
        y = x + 1
        cycle = [y]
        cycle.append(cycle)
        return y * 2

    monkeypatch.setattr(stored, "build", collected)
    gc.disable()
    try:
        assert cyclic(torch.ones(2)).tolist() == [4.0, 4.0]
    finally:
        gc.enable()


def test_operands_that_no_value_depends_on():
    """The tangent of -x does not read the gradient that it is given."""
    def tangent(x):
        return torch.func.jvp(lambda v: (v.neg() * v.sin()).sum(), (x * 2,), (x * 0 + 1,))

    x = torch.ones(4, 6)
    expected = [t.item() for t in tangent(x)]
    compiled = torch.compile(tangent)
    for _ in range(2):
        assert [t.item() for t in compiled(x)] == pytest.approx(expected)


class Interrupt:
    """A profile function that is Ctrl-C at the start of the n-th Python function."""

    def __init__(self, left):
        self.left = left

    def __call__(self, frame, event, argument):
        if event == "call":
            self.left -= 1
            if self.left == 0:
                raise KeyboardInterrupt


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # in a finalizer
def test_a_call_interrupted_anywhere_leaves_no_recording_behind():
    def plain(x):
        return (x * 2).exp() - shifted(x)

    compiled = torch.compile(plain)
    x = torch.arange(4.0)
    wanted = plain(x).tolist()
    compiled(x), compiled(x)
    interrupted = 0
    for place in range(1, 1000):
        interrupt = Interrupt(place)
        sys.setprofile(interrupt)
        try:
            compiled(x)
        except KeyboardInterrupt:
            interrupted += 1
        finally:
            sys.setprofile(None)
        assert STATE.recorder is None
        before = recorder.replays
        assert compiled(x).tolist() == wanted
        assert recorder.replays - before in (1, 2)  # what was left of the interrupted call as well
        assert not recorder.current().tape.storages
        if interrupt.left > 0:  # the call has fewer functions
            break
    assert 5 <= interrupted < 999


def shifted(x):
    return x + 1


@pytest.mark.skipif(not layout.uses_builtins(), reason="the Python path takes all calls")
def test_calls_that_are_known_take_the_builtin_path(monkeypatch):
    """Also those whose numbers are part of their keys, and those that draw."""
    weight, bias = torch.ones(8), torch.zeros(8)

    def plain(x):
        y = functional.layer_norm(x, (8,), weight, bias, 1e-3)
        y = functional.dropout(functional.hardtanh(y, -0.75, 0.5), 0.25)
        return functional.leaky_relu_(y * 2 - 0.5, 0.125) + torch.rand(8)

    compiled = torch.compile(plain)
    x = torch.arange(16.0).reshape(2, 8)

    def seeded(function):
        torch.manual_seed(3)
        return function(x).tolist()

    wanted = seeded(plain)
    assert [seeded(compiled) for _ in range(2)] == [wanted] * 2
    offered = []
    monkeypatch.setattr(recorder.Recorder, "offer", lambda *given: offered.append(given[1]))
    assert seeded(compiled) == wanted
    assert offered == []


def test_errors_that_only_the_program_finds(monkeypatch):
    monkeypatch.setattr(recorder.checks, "passes", lambda *_: True)
    table, places = torch.zeros(3, 2), torch.tensor([0, 5])
    compiled = torch.compile(lambda: functional.embedding(places + 0, table))
    for _ in range(3):
        with pytest.raises(IndexError, match="index out of range"):
            compiled()
        assert STATE.recorder is None and not recorder.current().tape.storages
    places[1] = 2
    assert compiled().tolist() == [[0.0, 0.0]] * 2


def test_workers_are_roused_shortly_before_a_program_for_several_threads():
    def chain(x, count):
        for _ in range(count):
            x = x.exp().log()
        return x

    compiled = torch.compile(chain)

    def marked(elements, count):
        compiled(torch.ones(elements), count)
        trie = recorder.current().trie
        end = next(n for n in trie.nodes.values() if n.latest is not None and not n.children)
        return end.latest.slow, [k for k, n in enumerate((trie.root, *end.path()))
                                 if n.block[ROUSES]]

    assert marked(8, 10) == (False, [])
    torch.compiler.reset()
    assert marked(1 << 20, 10) == (True, [20 - LEAD])
    torch.compiler.reset()
    assert marked(1 << 20, 2) == (True, [0])
