"""Loops over ever-new shapes: what comes just once is not joined, what comes again is."""

import contextlib

import pytest
from interpreted import python_path

import yesca as torch
from yesca import nn
from yesca.graph import recorder, stored, trie


@pytest.fixture
def made(monkeypatch):
    """The programs that are made, in order."""
    found = []

    def program(*arguments, known=stored.program):
        found.append(known(*arguments))
        return found[-1]

    monkeypatch.setattr(stored, "program", program)
    return found


def chain(x):
    y = (x * 2 + 1).relu()
    return (y - 3).exp().sum(), y


def joined(programs):
    return sum(not program.plain for program in programs)


@pytest.mark.parametrize("portable", [False, True])
def test_only_a_few_recordings_that_come_once_are_joined(portable, made):
    run = torch.compile(chain)
    with python_path() if portable else contextlib.nullcontext():
        for size in range(2, 22):
            for mine, other in zip(run(torch.ones(size)), chain(torch.ones(size)), strict=True):
                assert mine.equal(other)
    assert joined(made) == trie.MOST_CALLS_ONCE
    assert all(len(program.steps) == 1 for program in made if program.plain)  # the rest ran at once


def test_what_comes_again_is_joined_and_runs_as_one(made):
    run = torch.compile(chain)
    for size in range(2, 22):
        run(torch.ones(size))
    del made[:]
    for turn in range(3):
        for size in range(10, 18):
            run(torch.ones(size))
        assert joined(made) == (8 if turn else 0)  # the second time plain, the third time joined
    before, count = recorder.replays, len(made)
    for size in range(10, 18):
        run(torch.ones(size))
    assert len(made) == count
    assert recorder.replays == before + 8
    node = recorder.current().trie.nodes[recorder.current().trie.root.address]
    assert len(node.children) == 20  # each shape has its first call


def test_programs_that_run_again_make_room_for_new_ones(made):
    run = torch.compile(chain)
    for size in range(2, 12):
        run(torch.ones(size))
        run(torch.ones(size))
    assert joined(made) == len(made) == 10


def test_a_call_with_many_parts_joins_only_some_at_first(made):
    @torch.compile
    def summed(x):
        return sum((x[:size] * 2 + 1).sum().item() for size in range(1, 40))

    x = torch.arange(40.0)
    wanted = summed._torchdynamo_orig_callable(x)
    assert [summed(x) for _ in range(4)] == [wanted] * 4
    assert trie.MOST_OF_CALL_ONCE <= joined(made) <= 39
    count = len(made)
    assert summed(x) == wanted
    assert len(made) == count


def test_fullgraph_stays_an_error_and_explain_shows_all(monkeypatch):
    monkeypatch.setattr(trie, "MOST_CALLS_ONCE", 0)

    def reads(x):
        return str((x + 1).relu())

    for size in range(1, 4):
        with pytest.raises(torch._dynamo.exc.Unsupported, match="__repr__ needs the value"):
            torch.compile(reads, fullgraph=True)(torch.ones(size))
    found = torch.compiler.explain(chain)(torch.ones(4096))
    assert found.op_count == 6 and found.launch_count < 6


def test_wrapped_models_and_steps_train_alike(monkeypatch):
    def losses(wrap, whole):
        torch.manual_seed(0)
        model = nn.Sequential(nn.Conv2d(1, 3, 3), nn.BatchNorm2d(3), nn.ReLU(), nn.Dropout(0.3),
                              nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(3, 2))
        optimizer = torch.optim.Adam(model.parameters(), lr=0.1)
        forward = torch.compile(model) if wrap else model

        def step(x, y):
            optimizer.zero_grad()
            loss = nn.functional.cross_entropy(forward(x), y)
            loss.backward()
            optimizer.step()
            return loss, torch.compiler.is_compiling()

        step = torch.compile(step) if whole else step
        found = []
        for size in [*range(5, 14), *range(5, 9), *range(5, 9)]:
            loss, compiling = step(torch.randn(2, 1, size, size + 1), torch.tensor([0, 1]))
            assert compiling == whole
            found.append(loss.item())
        return found, [p.tolist() for p in model.state_dict().values()]

    expected = losses(False, False)
    assert losses(True, False) == expected
    assert losses(False, True) == expected


def test_the_stance_that_refuses_new_programs_knows_plain_ones(monkeypatch):
    monkeypatch.setattr(trie, "MOST_CALLS_ONCE", 0)
    run = torch.compile(chain)
    for _ in range(3):
        run(torch.ones(2))
    with torch.compiler.set_stance("fail_on_recompile"):
        run(torch.ones(2))
        with pytest.raises(RuntimeError, match="Detected recompile"):
            run(torch.ones(3))
