"""Casts on the builtin path: the same results, nodes and kept casts as its twin in Python."""

import gc
import sys
import threading
from contextlib import nullcontext

import pytest

import yesca as torch
from yesca import nn
from yesca.dispatch import fast
from yesca.dispatch.autocast import CACHE
from yesca.nn import functional as F
from yesca.runtime import layout

half = torch.bfloat16
needs_builtins = pytest.mark.skipif(not layout.uses_builtins(), reason="no builtin call path")


@pytest.fixture
def in_python():
    """A context in which every call takes the Python path."""
    class InPython:
        def __enter__(self):
            fast.FAST.off = True
            fast.FAST.refresh()

        def __exit__(self, *raised):
            fast.FAST.off = False
            fast.FAST.refresh()

    return InPython()


def shown(tensor):
    """A tensor's values, dtype, strides, and the nodes behind it."""
    nodes, waiting = [], [tensor.grad_fn]
    while waiting:
        node = waiting.pop()
        if node is not None:
            nodes.append(node.name())
            waiting += [one for one, _ in node.next_functions]
    return tensor.tolist(), tensor.dtype, tensor.stride(), tensor.requires_grad, nodes


def operands(seed=0):
    torch.manual_seed(seed)
    x, w, b = torch.randn(4, 6), torch.randn(5, 6, requires_grad=True), torch.randn(5)
    view = torch.randn(6, 5, requires_grad=True).t()
    return x, w, b.requires_grad_(), view, x.to(half), torch.tensor([0, 1, 2, 3])


CALLS = {
    "linear": lambda x, w, b, view, low, y: F.linear(x, w, b),
    "linear of halves": lambda x, w, b, view, low, y: F.linear(low, w, b),
    "a view of a weight": lambda x, w, b, view, low, y: F.linear(x, view),
    "a product with itself": lambda x, w, b, view, low, y: w @ w.t(),
    "twice the same": lambda x, w, b, view, low, y: torch.mm(w[:5, :5], w[:5, :5]),
    "numbers": lambda x, w, b, view, low, y: torch.addmm(b, x, w.t(), beta=2, alpha=0.5),
    "attention": lambda x, w, b, view, low, y: F.scaled_dot_product_attention(
        x[None], x[None], x[None]),
    "convolution": lambda x, w, b, view, low, y: F.conv1d(x[None], w[None, :4, :3]),
    "float32": lambda x, w, b, view, low, y: F.mse_loss(low, low),
    "cross entropy": lambda x, w, b, view, low, y: F.cross_entropy(low, y),
    "product of all": lambda x, w, b, view, low, y: low.prod(1),
    "joined": lambda x, w, b, view, low, y: torch.cat([low, x, w]),
    "stacked": lambda x, w, b, view, low, y: torch.stack([low, x]),
    "doubles": lambda x, w, b, view, low, y: x.double() @ w.double().t(),
    "nothing": lambda x, w, b, view, low, y: x[:0] @ w.t(),
}


@needs_builtins
@pytest.mark.parametrize("grad, kept, lower", [
    (True, True, half), (True, False, torch.float16), (False, True, torch.float16),
    (False, False, half)])
@pytest.mark.parametrize("name", CALLS)
def test_calls_equal_those_of_the_twin(name, grad, kept, lower, in_python):
    given = operands()
    given = (*given[:4], given[0].to(lower), given[5])
    with torch.set_grad_enabled(grad):
        with in_python, torch.autocast("cpu", dtype=lower, cache_enabled=kept):
            wanted = shown(CALLS[name](*given))
        for _ in range(3):
            with torch.autocast("cpu", dtype=lower, cache_enabled=kept):
                assert shown(CALLS[name](*given)) == wanted
                assert shown(CALLS[name](*given)) == wanted


@needs_builtins
def test_gradients_equal_those_of_the_twin(in_python):
    def gradients():
        x, w, b, view, low, y = operands()
        with torch.autocast("cpu", dtype=half):
            made = F.linear(F.linear(x, w, b), torch.ones(5, 5)) + F.linear(low, w)
            loss = F.cross_entropy(made, y)
        loss.backward()
        return [w.grad.tolist(), b.grad.tolist(), w.grad.dtype, loss.tolist()]

    with in_python:
        wanted = gradients()
    for _ in range(3):
        assert gradients() == wanted


@needs_builtins
@pytest.mark.parametrize("name", [
    "linear", "a view of a weight", "numbers", "product of all", "joined", "stacked",
    "attention"])
def test_known_calls_run_no_python(name):
    """A region's calls cost launches, no functions of Python."""
    given = operands()
    if name == "attention":
        stacked = given[0][None]

        def call(x, w, b, view, low, y):
            return F.scaled_dot_product_attention(stacked, stacked, stacked)
    else:
        call = CALLS[name]
    found = []

    def note(frame, event, argument):
        if event == "call":
            found.append(frame.f_code.co_name)

    with torch.autocast("cpu"):
        for _ in range(3):
            call(*given)
        collects = gc.isenabled()
        gc.disable()  # a finalizer would be counted
        sys.setprofile(note)
        try:
            call(*given)
        finally:
            sys.setprofile(None)
            if collects:
                gc.enable()
    assert [one for one in found if one not in ("call", "<lambda>")] == []


def leaves(made):
    return [node for node, _ in made.grad_fn.next_functions]


@needs_builtins
@pytest.mark.parametrize("first", ["twin", "builtin"])
def test_both_paths_share_the_kept_casts(first, in_python):
    x, w, *_ = operands()
    for _ in range(3):
        with torch.autocast("cpu"):  # known from the second time on
            if first == "twin":
                with in_python:
                    one = F.linear(x, w)
                two = F.linear(x, w)
            else:
                one = F.linear(x, w)
                with in_python:
                    two = F.linear(x, w)
            assert leaves(one)[1] is leaves(two)[1]
            assert len(CACHE.casts[True]) == 1 and not CACHE.casts[False]
        assert not any(CACHE.casts)


@needs_builtins
def test_what_makes_a_kept_cast_void():
    x, w, *_ = operands()
    for _ in range(3):
        with torch.autocast("cpu"):
            one, again = F.linear(x, w), F.linear(x, w)
            assert leaves(one)[1] is leaves(again)[1]
            with torch.no_grad():
                w.mul_(2)
            changed = F.linear(x, w)
            assert leaves(changed)[1] is not leaves(one)[1]
            assert changed.equal(2 * one)
            with torch.no_grad():
                assert F.linear(x, w).grad_fn is None
            assert leaves(F.linear(x, w))[1] is leaves(changed)[1]
            with torch.autocast("cpu", dtype=torch.float16):
                assert F.linear(x, w).dtype is torch.float16
            assert F.linear(x, w).dtype is half
            w.requires_grad_(False)
            assert not F.linear(x, w).requires_grad
            w.requires_grad_()
            torch.clear_autocast_cache()
            assert leaves(F.linear(x, w))[1] is not leaves(changed)[1]


@needs_builtins
@pytest.mark.parametrize("path", ["builtin", "twin"])
def test_a_swapped_weight_is_cast_anew(path, in_python):
    with nullcontext() if path == "builtin" else in_python:
        for _ in range(3):
            weight, x = nn.Parameter(torch.ones(3, 3)), torch.ones(2, 3)
            with torch.autocast("cpu"):
                assert F.linear(x, weight).equal(torch.full((2, 3), 3.0, dtype=half))
                torch.utils.swap_tensors(weight, nn.Parameter(torch.zeros(3, 3)))
                assert F.linear(x, weight).equal(torch.zeros(2, 3, dtype=half))


def test_weights_made_for_inference_are_cast_each_time():
    with torch.inference_mode():
        weight, x = torch.ones(3, 3, requires_grad=True), torch.ones(2, 3)
        for _ in range(4):
            with torch.autocast("cpu"):
                made = F.linear(x, weight)
                assert made.equal(torch.full((2, 3), 3.0, dtype=half)) and made.is_inference()
                assert not any(CACHE.casts)


@needs_builtins
def test_casts_take_no_memory_after_the_region():
    class Watched(torch.Tensor):
        pass

    w = torch.randn(5, 6, requires_grad=True)
    before = sys.getrefcount(w)
    for _ in range(4):
        with torch.autocast("cpu"):
            F.linear(torch.ones(2, 6), w).sum().backward()
    assert sys.getrefcount(w) == before
    wrapped = torch.ones(2, 6).as_subclass(Watched)
    with torch.autocast("cpu"):
        assert type(F.linear(wrapped, w)) is Watched


@needs_builtins
def test_threads_have_casts_of_their_own():
    x, w, *_ = operands()
    with torch.autocast("cpu"):
        for _ in range(3):
            mine = leaves(F.linear(x, w))[1]
        found = []

        def other():
            found.append(F.linear(x, w).dtype)
            with torch.autocast("cpu"):
                for _ in range(3):
                    node = leaves(F.linear(x, w))[1]
                found.append(node is mine)

        thread = threading.Thread(target=other)
        thread.start()
        thread.join()
        assert found == [torch.float32, False]
        assert leaves(F.linear(x, w))[1] is mine


@needs_builtins
def test_errors_leave_the_casts_alone():
    x, w, *_ = operands()
    with torch.autocast("cpu"):
        for _ in range(3):
            F.linear(x, w)
            with pytest.raises(RuntimeError):
                F.linear(x[:, :3], w)
        bad = torch.tensor([0, 9, 1, 2])
        for target, fails in ((bad % 3, False), (bad % 3, False), (bad, True)) * 2:
            low = x.to(half)
            if fails:
                with pytest.raises(IndexError):
                    F.cross_entropy(low, target)
            else:
                assert F.cross_entropy(low, target).dtype is torch.float32


def test_compiled_regions_keep_casts_that_are_pending():
    model = nn.Linear(6, 5)
    x = torch.randn(4, 6)

    def twice(x):
        return model(x) + model(x * 2)

    compiled = torch.compile(twice)
    with torch.autocast("cpu"):
        for _ in range(4):
            assert compiled(x).equal(twice(x))
            assert model(x).equal(model(x))


def test_a_profile_shows_the_casts():
    x, w, *_ = operands()
    with torch.autocast("cpu"):
        for _ in range(3):
            F.linear(x, w)
        with torch.profiler.profile() as profile:
            F.linear(x, w)
    names = [event.key for event in profile.key_averages()]
    assert any("to" in name for name in names) and "aten::linear" in names
