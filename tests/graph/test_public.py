"""What programs say to `compile` and ask of what it gives."""

import copy
import io
import pickle

import pytest

import yesca as torch
from yesca import nn
from yesca.graph import recorder


def replays(function, *arguments):
    before = recorder.replays
    function(*arguments)
    return recorder.replays - before


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda m: pickle.loads(pickle.dumps(m))])
def test_copies_of_a_compiled_module_are_compiled(copied):
    model = torch.compile(nn.Linear(2, 2), fullgraph=True)
    other = copied(model)
    assert type(other) is type(model)
    assert other._orig_mod is not model._orig_mod
    x = torch.ones(3, 2)
    with torch.no_grad():
        other.weight.mul_(2)
        assert not torch.equal(other(x), model(x))
    assert torch.equal(other(x), other._orig_mod(x))
    assert replays(other, x) == 1
    other._orig_mod.register_forward_hook(lambda module, given, out: out.sum().item())
    with pytest.raises(RuntimeError, match="fullgraph=True"):
        other(x)


def test_a_compiled_module_is_saved_whole():
    file = io.BytesIO()
    model = torch.compile(nn.Linear(2, 2))
    torch.save(model, file)
    file.seek(0)
    other = torch.load(file, weights_only=False)
    x = torch.ones(1, 2)
    assert torch.equal(other(x), model(x))


def test_a_compiled_module_is_as_long_as_its_module():
    assert len(torch.compile(nn.Sequential(nn.ReLU(), nn.ReLU()))) == 2
    assert not torch.compile(nn.Sequential())
    single = torch.compile(nn.Linear(1, 1))
    assert single
    with pytest.raises(TypeError, match="Linear does not support len"):
        len(single)


def test_reset_forgets_recordings():
    compiled = torch.compile(lambda x: x + 1)
    x = torch.ones(2)
    compiled(x)
    trie = recorder.current().trie
    compiled(x)
    assert recorder.current().trie is trie
    torch.compiler.reset()
    assert compiled(x).tolist() == [2.0, 2.0]
    assert recorder.current().trie is not trie


def test_stances():
    x = torch.ones(2)
    compiled = torch.compile(lambda x: x + 1)
    with torch.compiler.set_stance("force_eager"):
        assert replays(compiled, x) == 0
    with torch.compiler.set_stance("eager_then_compile"):
        assert [replays(compiled, x) for _ in range(2)] == [0, 1]
    with torch.compiler.set_stance("eager_on_recompile"):
        assert compiled(x).tolist() == [2.0, 2.0]
    with torch.compiler.set_stance("fail_on_recompile"):
        assert compiled(x).tolist() == [2.0, 2.0]
        with pytest.raises(RuntimeError, match="Detected recompile when torch.compile stance is "
                           "'fail_on_recompile'. filename: '.*test_public.py', function name: "):
            compiled(x.double())
    with pytest.raises(RuntimeError, match="non-default stance cannot have force_backend set"):
        torch.compiler.set_stance("force_eager", force_backend="eager")
    assert replays(compiled, x) == 1


def test_choices_are_checked():
    def same(x):
        return x

    with pytest.raises(RuntimeError, match="Unrecognized mode=fast, should be one of: default, "):
        torch.compile(same, mode="fast")
    with pytest.raises(torch._dynamo.exc.InvalidBackend, match="Invalid backend: 'other', see"):
        torch.compile(same, backend="other")
    with pytest.raises(AssertionError, match="A callable function is expected, but <class 'int'>"):
        torch.compile(3)
    for backend in torch.compiler.list_backends(exclude_tags=None):
        assert torch.compile(same, backend=backend, mode="max-autotune")(1) == 1
    assert torch.compile(same, backend=lambda graph, inputs: graph)(1) == 1


def test_what_runs_compiled_knows_it():
    seen = []
    torch.compile(lambda: seen.append(torch.compiler.is_compiling()))()
    torch.compile(torch.compiler.disable(lambda: seen.append(torch._dynamo.is_compiling())))()
    assert seen == [True, False]
    assert not torch.compiler.is_compiling()


def test_names_that_programs_use_of_the_tracer():
    model = torch.compile(nn.Linear(1, 1))
    assert isinstance(model, torch._dynamo.eval_frame.OptimizedModule)
    torch._dynamo.config.suppress_errors = True
    with torch._dynamo.config.patch(cache_size_limit=64, suppress_errors=False):
        assert torch._dynamo.config.cache_size_limit == 64
    assert torch._dynamo.config.suppress_errors
    torch._dynamo.config.suppress_errors = False
    torch._inductor.config.triton.cudagraphs = False
    torch._dynamo.mark_dynamic(torch.ones(2), 0)
    twice = torch._dynamo.optimize("eager", nopython=True)(lambda x: x * 2)
    assert replays(twice, torch.ones(2)) == 1


def test_a_program_that_fails_leaves_no_false_values(monkeypatch):
    from yesca.graph import stored

    def failing(*arguments):
        raise MemoryError("no room")

    kept = []

    @torch.compile
    def run(x):
        kept.append(x + 1)
        return x * 2

    x = torch.ones(2)
    with monkeypatch.context() as patched:
        patched.setattr(stored, "build", failing)
        with pytest.raises(MemoryError):
            run(x)
    with pytest.raises(RuntimeError, match="This tensor has no value"):
        kept[0].tolist()
    assert x.tolist() == [1.0, 1.0]
    assert run(x).tolist() == [2.0, 2.0]
