"""What modes and classes see and give where yesca's calls are not PyTorch's operators."""

import pytest
from dispatch_log import Log

import yesca as torch
from yesca.utils._python_dispatch import TorchDispatchMode


def seen(function):
    with Log() as log:
        function()
    return log.seen


x = torch.arange(12.0).reshape(4, 3)


@pytest.mark.parametrize("call, wanted", [
    (lambda: torch.full((2,), x[0, 0]),
     ["select.int", "select.int", "_local_scalar_dense.default", "full.default"]),
    (lambda: torch.ones(2, dtype=int), ["ones.default"]),
    (lambda: torch.normal(torch.zeros(2), 1.0), ["zeros.default", "normal.Tensor_float"]),
    (lambda: torch.normal(0.0, 1.0, (2,)), ["normal.float_float"]),
    (lambda: torch.normal(torch.zeros(2), torch.ones(2)),
     ["zeros.default", "ones.default", "normal.Tensor_Tensor"]),
    (lambda: x.detach(), ["detach.default"]),
    (lambda: x.data, ["detach.default"]),
], ids=["full", "ones", "normal", "normal of numbers", "normal of tensors", "detach", "data"])
def test_one_operator_for_one_call(call, wanted):
    assert seen(call) == wanted


def test_calls_that_make_tensors_give_what_they_give_elsewhere():
    with Log():
        assert torch.ones(2, dtype=int).dtype is torch.int64
        assert torch.full((2,), x[0, 1]).tolist() == [1.0, 1.0]
        made = torch.full(size=(2,), fill_value=x[1, 1], requires_grad=True)
        assert made.requires_grad and made.tolist() == [4.0, 4.0]
        torch.manual_seed(0)
        one = torch.normal(torch.zeros(3), 2.0)
    torch.manual_seed(0)
    assert one.equal(torch.normal(torch.zeros(3), 2.0))


@pytest.mark.parametrize("wrong, call", [(wrong, call) for call in (
    lambda t: t.split(2), lambda t: torch.unbind(t), lambda t: t.max(1), lambda t: torch.topk(t, 2),
    lambda t: torch.nn.functional.layer_norm(t, (3,))) for wrong in (3, "a", None)] + [
    (3, lambda t: t + 1), ("a", lambda t: t + 1)])  # None stands for an undefined tensor
@pytest.mark.parametrize("grad", [False, True])
def test_a_mode_that_returns_no_tensors_is_found(call, grad, wrong):
    class Wrong(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            return wrong

    given = x.clone().requires_grad_(grad)
    with pytest.raises(RuntimeError, match="Unable to cast|not an instance of 'sequence'"), Wrong():
        call(given)


def test_a_list_of_wrong_things_is_found():
    class Numbers(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            return [1 for _ in func(*args, **(kwargs or {}))]

    for call in (lambda: x.split(2), lambda: x.unbind(), lambda: x.max(1)):
        with pytest.raises(RuntimeError, match=r"Unable to cast"), Numbers():
            call()


def test_lists_of_a_mode_are_tuples_to_the_program():
    class Lists(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            return list(func(*args, **(kwargs or {})))

    with Lists():
        made = x.split(2)
    assert type(made) is tuple and made[1].equal(x[2:])


class Passing(torch.Tensor):
    """Sees its operators and hands them on."""

    seen = []

    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        cls.seen.append(str(func).removeprefix("aten."))
        return super().__torch_dispatch__(func, types, args, kwargs or {})


@pytest.mark.parametrize("call, name", [
    (lambda t: t + 1, "add.Tensor"), (lambda t: t.view(3, 4), "view.default"),
    (lambda t: t[0], "select.int"), (lambda t: t.clone(), "clone.default"),
    (lambda t: t.detach(), "detach.default"), (lambda t: t.data, "detach.default"),
    (lambda t: torch.zeros_like(t), "zeros_like.default"),
    (lambda t: torch.rand_like(t), "rand_like.default"),
    (lambda t: t.new_zeros(2), "new_zeros.default"),
    (lambda t: torch.normal(t, 1.0), "normal.Tensor_float"),
    (lambda t: torch.ones(3) + t, "add.Tensor")])
def test_super_runs_the_operator_on_what_a_tensor_holds(call, name):
    Passing.seen.clear()
    made = call(x.clone().as_subclass(Passing))
    assert type(made) is torch.Tensor and Passing.seen[-1] == name and len(Passing.seen) <= 2


def test_super_in_place_and_on_the_tape():
    held = x.clone()
    made = held.as_subclass(Passing).add_(1)
    assert type(made) is Passing and held.equal(x + 1)
    leaf = x.clone().requires_grad_()
    (leaf.as_subclass(Passing) * 2).sum().backward()
    assert leaf.grad.equal(torch.full_like(x, 2.0))


def test_a_parameter_of_such_a_class_is_refused_as_its_detach_gives_another():
    with pytest.raises(RuntimeError, match="requires that detach"):
        torch.nn.Parameter(x.as_subclass(Passing))


def test_gradients_of_leaves_are_detached_and_taken():
    leaf = torch.ones(2, requires_grad=True)
    names = seen(lambda: (leaf * leaf.exp()).sum().backward())
    assert names[-2:] == ["add.Tensor", "detach.default"] and "copy_.default" not in names
    assert leaf.grad.is_leaf and not leaf.grad.requires_grad and leaf.grad._base is None


def test_what_the_tape_keeps_of_results_is_refused_after_a_write():
    leaf = torch.ones(2, requires_grad=True)
    with Log():
        made = leaf.exp()
        made.add_(1)
        with pytest.raises(RuntimeError, match="modified by an inplace operation"):
            made.sum().backward()


def test_double_backward_goes_through_kept_results():
    for mode in (False, True):
        leaf = torch.tensor([0.5, 1.0], requires_grad=True)

        def second(leaf=leaf):
            first, = torch.autograd.grad(leaf.exp().sum(), leaf, create_graph=True)
            first.sum().backward()
            return leaf.grad

        if mode:
            with Log():
                made = second()
        else:
            made = second()
        assert made.allclose(leaf.detach().exp())
