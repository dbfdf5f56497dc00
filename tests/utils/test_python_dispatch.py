"""`TorchDispatchMode`: nesting, what handlers return, what is on."""

import pytest

import yesca as torch
from yesca.utils import _python_dispatch as dispatch
from yesca.utils._python_dispatch import TorchDispatchMode

aten = torch.ops.aten


class Log(TorchDispatchMode):
    def __init__(self):
        super().__init__()
        self.seen = []

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        self.seen.append(str(func))
        return func(*args, **(kwargs or {}))


def test_modes_nest_and_are_off_in_their_handlers():
    outer, inner = Log(), Log()
    x = torch.ones(2)
    with outer, inner:
        x + x
        assert dispatch._get_current_dispatch_mode() is inner
        with dispatch._pop_mode_temporarily() as mode:
            assert mode is inner
            assert dispatch._get_current_dispatch_mode() is outer
            x * x
        with dispatch._disable_current_modes() as modes:
            assert modes == [outer, inner]
            x - x
    assert inner.seen == ["aten.add.Tensor"]
    assert outer.seen == ["aten.add.Tensor", "aten.mul.Tensor"]
    assert not dispatch.is_in_torch_dispatch_mode()


def test_what_a_handler_returns_is_what_the_program_gets():
    class Doubled(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            made = func(*args, **(kwargs or {}))
            return made * 2 if func is aten.mm.default else made

    x = torch.eye(2, requires_grad=True)
    with Doubled():
        made = torch.nn.functional.linear(x, torch.eye(2))
    assert made.tolist() == [[2.0, 0.0], [0.0, 2.0]]
    made.sum().backward()  # the tape is above the mode: the derivative is that of mm
    assert x.grad.tolist() == [[1.0, 1.0], [1.0, 1.0]]


def test_the_tape_is_above_and_handlers_record_nothing():
    class Look(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            with torch.no_grad():
                pass
            made = func(*args, **(kwargs or {}))
            assert not made.requires_grad
            return made

    x = torch.ones(2, requires_grad=True)
    with Look():
        y = x.exp()
    assert y.grad_fn.name() == "ExpBackward0"
    assert torch.is_grad_enabled()


def test_autocast_is_above():
    log = Log()
    x = torch.ones(2, 2)
    with torch.autocast("cpu", dtype=torch.bfloat16), log:
        made = x @ x
    assert made.dtype is torch.bfloat16
    assert log.seen == ["aten._to_copy.default", "aten._to_copy.default", "aten.mm.default"]


def test_vmap_is_above():
    log = Log()
    x = torch.ones(3, 2)
    with log:
        made = torch.vmap(torch.sin)(x)
    torch.testing.assert_close(made, x.sin())
    assert log.seen == ["aten.sin.default"]


def test_writes_through_views_follow_the_tape():
    with Log():
        x = torch.ones(4, requires_grad=True)
        y = x * 1
        y[:2].mul_(3)
        y.sum().backward()
    assert x.grad.tolist() == [3.0, 3.0, 1.0, 1.0]


def test_a_leaf_is_not_written():
    x = torch.ones(2, requires_grad=True)
    with Log(), pytest.raises(RuntimeError, match="a leaf Variable that requires grad"):
        x.add_(1)


def test_saved_values_that_were_written_are_noticed():
    with Log():
        x = torch.ones(2, requires_grad=True)
        y = x * 1
        z = y.exp()
        z.add_(1)
        with pytest.raises(RuntimeError, match="modified by an inplace operation"):
            z.sum().backward()


def test_second_derivatives():
    x = torch.tensor(2.0, requires_grad=True)
    with Log():
        first, = torch.autograd.grad(x ** 3, x, create_graph=True)
        second, = torch.autograd.grad(first, x)
    assert second.item() == pytest.approx(12.0)


def test_operators_without_a_formula_go_back_as_well():
    log = Log()
    x = torch.tensor([0.3, 0.4], requires_grad=True)
    with log:
        torch.special.erfinv(x).sum().backward()
    plain = x.grad.clone()
    x.grad = None
    torch.special.erfinv(x).sum().backward()
    torch.testing.assert_close(plain, x.grad)
    assert "aten.erfinv.default" in log.seen or "aten.special_erfinv.default" in log.seen


def test_a_pass_backward_alone_is_seen():
    x, w = torch.ones(2, 3, requires_grad=True), torch.ones(4, 3, requires_grad=True)
    loss = torch.nn.functional.linear(x, w).sum()
    log = Log()
    with log:
        loss.backward()
    assert log.seen.count("aten.mm.default") == 2
    assert w.grad.tolist() == [[2.0] * 3] * 4


def test_not_implemented_is_refused():
    class Nothing(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            return NotImplemented

    x = torch.ones(2)
    with Nothing(), pytest.raises(TypeError, match="Multiple dispatch failed for .*add.Tensor"):
        torch.add(x, 1)


def test_errors_leave_no_mode_behind():
    class Broken(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            raise ValueError("broken")

    x = torch.ones(2)
    with pytest.raises(ValueError, match="broken"), Broken():
        x + x
    assert not dispatch.is_in_torch_dispatch_mode()
    assert (x + x).tolist() == [2.0, 2.0]


@pytest.mark.parametrize("write", [
    lambda y: y.__setitem__(0, 1.0), lambda y: y[:, 1].mul_(2), lambda y: y.t()[0].zero_(),
    lambda y: y.__setitem__(0, torch.ones(3)), lambda y: y.__setitem__(y > 2, 5.0),
    lambda y: y.erfinv_(), lambda y: y.masked_fill_(y > 0, 2.0),
])
def test_writes_have_the_plain_gradients(write):
    def gradient():
        x = torch.full((3, 3), 0.5, requires_grad=True)
        y = x * 1
        write(y)
        return torch.autograd.grad((y * y).sum(), x)[0]

    plain = gradient()
    with Log():
        seen = gradient()
    torch.testing.assert_close(seen, plain)


@pytest.mark.parametrize("function", [
    torch.nn.functional.gelu, torch.tanh, torch.sigmoid, torch.nn.functional.silu, torch.exp,
    lambda x: x.softmax(0)[0], lambda x: x.log_softmax(0)[0], lambda x: 1 / x,
    lambda x: x.view(1, 2) @ x.view(2, 1), torch.special.erfinv,
    lambda x: torch.nn.functional.layer_norm(x, (2,))[0] ** 2 * x,
    lambda x: torch.nn.functional.conv1d(x.view(1, 1, 2), x.view(1, 1, 2)) ** 2,
])
def test_second_derivatives_are_the_plain_ones(function):
    def second():
        x = torch.tensor([0.5, 0.7], requires_grad=True)
        first, = torch.autograd.grad(function(x).sum(), x, create_graph=True)
        return torch.autograd.grad((first * torch.tensor([1.0, 3.0])).sum(), x)[0]

    plain = second()
    with Log():
        seen = second()
    torch.testing.assert_close(seen, plain, rtol=1e-4, atol=1e-5)


def test_checkpoints_unpack_once():
    from yesca.utils.checkpoint import checkpoint

    x = torch.tensor([0.5], requires_grad=True)
    with Log():
        checkpoint(lambda y: y.exp().sin(), x, use_reentrant=False).sum().backward()
    assert x.grad.item() == pytest.approx(torch.tensor(0.5).exp().cos().mul(
        torch.tensor(0.5).exp()).item())


def test_transforms_and_factories():
    log = Log()
    with log:
        made = torch.vmap(torch.func.grad(lambda x: (x ** 2).sum()))(torch.ones(2, 3))
        line = torch.linspace(0, 1, 3)
    assert made.tolist() == [[2.0] * 3] * 2
    assert line.tolist() == [0.0, 0.5, 1.0]
    assert log.seen[-1] == "aten.linspace.default"


def test_what_the_tape_kept_is_freed_with_the_pass():
    import gc
    import weakref

    gc.collect()
    gc.disable()
    try:
        with Log():
            x = torch.ones(10, requires_grad=True)
            y = x.exp()
            loss = (y * y).sum()
            loss.backward()
        kept = weakref.ref(y._storage)
        del y, loss
        assert kept() is None
    finally:
        gc.enable()


def test_other_threads_have_modes_of_their_own():
    import threading

    log = Log()
    with log:
        thread = threading.Thread(target=lambda: torch.ones(2) + 1)
        thread.start()
        thread.join()
    assert not log.seen


def test_reentrant_dispatch_records():
    from yesca.overrides import enable_reentrant_dispatch

    found = []

    class Reenter(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            with enable_reentrant_dispatch():
                made = func(*args, **(kwargs or {}))
            found.append(made.requires_grad)
            return made.detach()

    with Reenter():
        torch.ones(2, requires_grad=True) * 2
    assert found == [False, True]


@pytest.mark.parametrize("read", [
    bool, float, int, complex, torch.is_nonzero, lambda x: x.item(),
    lambda x: [1, 2, 3, 4][x.int()],
])
def test_numbers_that_are_read_are_seen(read):
    x, log = torch.tensor([3.0]), Log()
    with log:
        made = read(x)
    assert made == read(x)
    assert log.seen[-1] == "aten._local_scalar_dense.default"
    assert log.seen.count("aten._local_scalar_dense.default") == 1
    with log:
        bool((x > 0).all())
        assert 3.0 in x
        assert x.tolist() == [3.0]
    assert log.seen[-6:] == [
        "aten.gt.Scalar", "aten.all.default", "aten._local_scalar_dense.default",
        "aten.eq.Scalar", "aten.any.default", "aten._local_scalar_dense.default"]


def test_a_mode_says_what_a_number_is():
    class Seven(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            return 7.0 if func is aten._local_scalar_dense.default else func(*args, **kwargs)

    with Seven():
        assert float(torch.ones(1)) == 7.0


@pytest.mark.parametrize("made", [3, "s", [1, 2], (torch.ones(1),), True])
def test_what_is_no_tensor_is_refused(made):
    class Wrong(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            return made

    x = torch.ones(2)
    for call in (lambda: x + 1, lambda: x.add_(1), lambda: torch.ones(2)):
        with pytest.raises(RuntimeError, match="Unable to cast .* to Tensor"), Wrong():
            call()


@pytest.mark.parametrize(("then", "other", "seen"), [
    (torch.ones(2), 0.0, ["scalar_tensor.default", "where.self"]),
    (1.0, 2, ["scalar_tensor.default"] * 2 + ["where.self"]),
    (torch.ones(2, dtype=torch.int64), 1.5,
     ["scalar_tensor.default", "_to_copy.default", "where.self"]),
    (torch.ones(2), torch.zeros(2), ["where.self"]),
])
def test_a_choice_among_numbers_is_one_among_tensors(then, other, seen):
    mask, log = torch.tensor([True, False]), Log()
    with log:
        made = torch.where(mask, then, other)
    assert log.seen == [f"aten.{name}" for name in seen]
    torch.testing.assert_close(made, torch.where(mask, then, other))


def test_a_choice_has_its_gradient():
    x = torch.tensor([1.0, -1.0], requires_grad=True)
    with Log():
        torch.where(x > 0, x, 0.0).sum().backward()
    assert x.grad.tolist() == [1.0, 0.0]
