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
    other._orig_mod.register_forward_hook(lambda module, given, out: print(out))
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


def same(x):
    return x


@pytest.mark.parametrize(("choices", "kind", "why"), [
    ({"mode": "fast"}, RuntimeError, "Unrecognized mode=fast, should be one of: default, lite, "),
    ({"mode": "default", "options": {}}, RuntimeError, "Either mode or options can be specified, "),
    ({"options": {"max_autotuned": True}}, RuntimeError,
     "Unexpected optimization option max_autotuned, known options are "),
    ({"options": {"triton.cudagraphs": "yes"}}, RuntimeError,
     "Unexpected type of attr triton.cudagraphs, got str should be bool"),
    ({"options": {"max-autotune": 1}}, RuntimeError, "attr max-autotune, got int should be bool"),
    ({"dynamic": "yes"}, AssertionError, "Expected enable to be a bool, got <class 'str'>"),
    ({"backend": 3}, TypeError, "backend must be a string or callable, got <class 'int'>"),
    ({"shapes_spec": 3}, TypeError, "shapes_spec must be ParamsSpec, dict, or None, got int"),
    ({"backend": "other"}, torch._dynamo.exc.InvalidBackend, "Invalid backend: 'other', see `tor"),
    ({"backend": "other", "disable": True}, torch._dynamo.exc.InvalidBackend, "'other'"),
    ({"backend": lambda graph, inputs: graph}, torch._dynamo.exc.InvalidBackend,
     "Invalid backend: <function .*A function as backend is to compile graphs"),
    ({"foo": 1}, TypeError, "unexpected keyword argument 'foo'"),
])
def test_choices_are_checked(choices, kind, why):
    with pytest.raises(kind, match=why):
        torch.compile(same, **choices)
    if "foo" not in choices:
        later = torch.compile(**choices)  # as a decorator: where there is something to compile
        with pytest.raises(kind, match=why):
            later(same)


@pytest.mark.parametrize("choices", [
    *({"backend": name, "mode": "max-autotune"} for name in torch.compiler.list_backends(None)),
    *({"mode": mode} for mode in torch._inductor.list_mode_options()),
    *({"options": options} for options in torch._inductor.list_mode_options().values()),
    {"backend": "eager", "options": {"nobody_looks": 1}}, {"options": {"cpp.simdlen": 8}},
    *({"dynamic": dynamic} for dynamic in (True, False, None)),
    {"name": "same", "recompile_limit": 2, "isolate_recompiles": True, "shapes_spec": {}},
])
def test_choices_that_are_taken(choices):
    x = torch.ones(2)
    assert replays(torch.compile(lambda x: x + 1, **choices), x) == 1


def test_what_is_not_called_is_not_compiled():
    with pytest.raises(AssertionError, match="A callable function is expected, but <class 'int'>"):
        torch.compile(3)


def test_backends_by_tag():
    assert torch.compiler.list_backends() == ["cudagraphs", "inductor", "openxla", "tvm"]
    assert "openxla_eval" in torch.compiler.list_backends(exclude_tags=("debug",))
    assert {"aot_eager", "eager"} < set(torch._dynamo.list_backends(exclude_tags=()))


def test_the_default_backend():
    assert torch.compiler.get_default_backend() == "inductor"
    try:
        torch.compiler.set_default_backend("nobody")
        with pytest.raises(torch._dynamo.exc.InvalidBackend, match="Invalid backend: 'nobody'"):
            torch.compile(same)
        torch.compile(same, backend="eager")
        torch.compiler.set_default_backend("eager")
        torch.compile(same, mode="nobody looks at it")
        with pytest.raises(TypeError, match="backend must be a string or callable, got <class 'i"):
            torch.compiler.set_default_backend(3)
    finally:
        torch.compiler.set_default_backend(None)
    assert torch.compiler.get_default_backend() == "inductor"
    with pytest.raises(RuntimeError, match="load_compiled_function: a compiled function is its"):
        torch.compiler.load_compiled_function(io.BytesIO())


def test_a_class_stays_one():
    class Doubling:
        def __call__(self, x):
            return x * 2

    class Scaling(nn.Module):
        def forward(self, x):
            return x * 3

    class Plain:
        pass

    for kind in (Doubling, Scaling):
        assert torch.compile(kind) is kind
        assert replays(kind(), torch.ones(2)) == 1
    assert torch.compile(Plain) is Plain and not callable(Plain())


def test_what_runs_compiled_knows_it():
    seen = []
    torch.compile(lambda: seen.append(torch.compiler.is_compiling()))()
    torch.compile(torch.compiler.disable(lambda: seen.append(torch._dynamo.is_compiling())))()
    assert seen == [True, False]
    assert not torch.compiler.is_compiling()


def test_names_that_programs_use_of_the_tracer():
    model = torch.compile(nn.Linear(1, 1))
    assert isinstance(model, torch._dynamo.eval_frame.OptimizedModule)
    torch._dynamo.mark_dynamic(torch.ones(2), 0)
    twice = torch._dynamo.optimize("eager", nopython=True)(lambda x: x * 2)
    assert replays(twice, torch.ones(2)) == 1
    for wrap in (torch._dynamo.nonstrict_trace, torch._dynamo.dont_skip_tracing(),
                 torch._dynamo.disable_nested_graph_breaks):
        assert wrap(same) is same


def test_breaks_may_be_refused_for_a_while():
    @torch.compile
    def run(x, refused):
        read = float(str((x + 1).sum())[7:-1])
        with torch._dynamo.error_on_graph_break(refused):
            return read + float(str((x + 2).sum())[7:-1])

    x = torch.ones(2)
    assert run(x, False) == 10.0
    with pytest.raises(torch._dynamo.exc.Unsupported, match="__repr__ needs the value of a tensor"):
        run(x, True)
    assert run(x, False) == 10.0
    with torch._dynamo.error_on_graph_break(True):
        assert (x + 1).sum().item() == 4.0


class TestSettings:
    """torch._dynamo.config, torch._inductor.config and torch.compiler.config."""

    def test_values_are_kept(self):
        config = torch._dynamo.config
        config.suppress_errors = True
        with config.patch(cache_size_limit=64, suppress_errors=False):
            assert (config.cache_size_limit, config.suppress_errors) == (64, False)
            with config.patch("verbose", True), config.patch({"minimum_call_count": 2}):
                assert config.verbose and config.minimum_call_count == 2
        assert (config.cache_size_limit, config.suppress_errors) == (8, True)
        config.suppress_errors = False

        @torch._inductor.config.patch({"triton.cudagraphs": True})
        def inside():
            return torch._inductor.config.triton.cudagraphs

        assert inside() and not torch._inductor.config.triton.cudagraphs
        assert config.get_config_copy()["repro_level"] == 2

    def test_names_for_one_setting(self):
        try:
            torch.compiler.config.recompile_limit = 3
            assert torch._dynamo.config.cache_size_limit == 3
            torch._dynamo.config.cache_size_limit = 8
        finally:
            assert torch.compiler.config.recompile_limit == 8

    @pytest.mark.parametrize("place", ["_dynamo.config", "_inductor.config", "compiler.config",
                                       "_inductor.config.triton"])
    def test_unknown_names(self, place):
        config = torch
        for part in place.split("."):
            config = getattr(config, part)
        for use in (lambda: config.nope, lambda: setattr(config, "nope", 1)):
            with pytest.raises(AttributeError) as why:
                use()
            assert str(why.value) == f"torch.{place}.nope does not exist"

    def test_changes_for_a_while_are_checked_first(self):
        config = torch._dynamo.config
        with pytest.raises(AttributeError, match="torch._dynamo.config.nope does not exist"), \
                config.patch(verbose=True, nope=1):
            pass
        assert not config.verbose
        with pytest.raises(AssertionError, match="first argument must be a dict when passing a si"):
            config.patch("verbose")


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
