"""Swapped tensors, modules that are being run, the report of a machine."""

import weakref

import pytest

import yesca as torch
from yesca import nn
from yesca.utils import collect_env
from yesca.utils.module_tracker import ModuleTracker


def test_swapped_tensors():
    plain, parameter = torch.ones(2), nn.Parameter(torch.zeros(3))
    parameter.grad, parameter.tag = torch.full((3,), 4.0), "tagged"
    torch.utils.swap_tensors(plain, parameter)
    assert type(plain) is nn.Parameter and type(parameter) is torch.Tensor
    assert plain.tolist() == [0.0, 0.0, 0.0] and parameter.tolist() == [1.0, 1.0]
    assert plain.grad.tolist() == [4.0, 4.0, 4.0] and parameter.grad is None
    assert plain.tag == "tagged" and not hasattr(parameter, "tag")
    (plain * 2).sum().backward()
    assert plain.grad.tolist() == [6.0, 6.0, 6.0]


def test_what_cannot_be_swapped():
    class Slotted(torch.Tensor):
        __slots__ = ("more",)

    x, y = torch.ones(2), torch.ones(3)
    kept = weakref.ref(y)
    with pytest.raises(RuntimeError, match="Cannot swap t2 because it has weakref"):
        torch.utils.swap_tensors(x, y)
    assert kept() is y
    with pytest.raises(RuntimeError, match="if they have different slots"):
        torch.utils.swap_tensors(x, torch.ones(3).as_subclass(Slotted))


def test_names_of_modules():
    class Thing:
        pass

    torch.utils.set_module(Thing, "elsewhere")
    assert Thing.__module__ == "elsewhere"
    with pytest.raises(TypeError, match="The mod argument should be a string"):
        torch.utils.set_module(Thing, 3)


def test_modules_that_are_being_run():
    model = nn.Sequential(nn.Linear(2, 2), nn.Sequential(nn.ReLU()))
    seen = []
    with ModuleTracker() as tracker:
        def note(*_):
            seen.append((sorted(tracker.parents), tracker.is_bw))

        model[0].register_forward_hook(note)
        model[1][0].register_forward_hook(note)
        model[1].register_forward_hook(lambda _, args, out: args[0].register_hook(note) and None)
        model(torch.ones(1, 2, requires_grad=True)).sum().backward()
        note()
    assert seen == [
        (["Global", "Sequential"], False),  # hooks of the tracker's come first
        (["Global", "Sequential", "Sequential.1"], False),
        (["Global", "Sequential", "Sequential.0"], True),
        (["Global"], False)]


def test_callbacks_at_the_end_of_a_pass():
    engine, seen = torch.autograd.Variable._execution_engine, []
    x = torch.ones(1, requires_grad=True)
    x.register_hook(lambda grad: engine.queue_callback(lambda: seen.append("end")))
    x.register_hook(lambda grad: seen.append("hook"))
    (2 * x).backward()
    assert seen == ["hook", "end"]
    with pytest.raises(RuntimeError, match="can only be installed during backward pass"):
        engine.queue_callback(print)


def test_report(run_python):
    lines = collect_env.get_pretty_env_info().splitlines()
    assert lines[0].startswith(f"PyTorch version: {torch.__version__} (yesca ")
    assert any(line.startswith("[pip] numpy==") for line in lines)
    assert collect_env.get_env_info().is_cuda_available is False
    done = run_python("-m", "yesca", "-m", "torch.utils.collect_env")
    assert done.stdout.splitlines()[:2] == ["Collecting environment information...", lines[0]]
