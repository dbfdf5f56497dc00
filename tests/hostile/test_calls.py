"""Calls of operators as nobody should write them: the builtin call path must not be confused."""

import gc
import threading
import weakref

import pytest

import yesca as torch
from yesca.dispatch import fast


def test_sizes_given_by_name_are_not_taken_for_none():
    x = torch.arange(6.0).reshape(2, 3)
    assert tuple(x.reshape(shape=(3, 2)).shape) == (3, 2)
    assert tuple(x.reshape(shape=(6,)).shape) == (6,)
    assert tuple(x.permute(dims=(1, 0)).shape) == (3, 2)
    assert tuple(x.permute(dims=(0, 1)).shape) == (2, 3)
    assert tuple(x.expand(size=(1, 2, 3)).shape) == (1, 2, 3)
    assert tuple(x.expand(size=(4, 2, 3)).shape) == (4, 2, 3)


def test_an_argument_named_like_the_object_is_refused():
    with pytest.raises(TypeError, match="add"):
        torch.add(self=torch.ones(2), other=2)


@pytest.mark.parametrize("count", [64, 65, 300])
def test_more_dimensions_than_anybody_needs(count):
    x = torch.ones(1).view(*[1] * count).requires_grad_()
    assert (x + torch.ones([1] * count)).dim() == torch.cat([x, x]).dim() == count
    assert x.expand(3, *[1] * count).sum().item() == 3
    assert x.softmax(0).item() == x.sort(0)[0].item() == x.cumsum(-1).item() == 1
    assert x.permute(*reversed(range(count))).unsqueeze(0).dim() == count + 1
    x.mul(2).sum().backward()
    assert x.grad.item() == 2 and x.grad.dim() == count
    sets = (lambda: x.sum(0), lambda: x.mean((0, 1)), lambda: x.amax(0), lambda: x.flip(0))
    for function in sets:  # PyTorch has 64 bits for these
        if count == 64:
            function()
        else:
            with pytest.raises(RuntimeError, match="only tensors with up to 64 dims are supported"):
                function()


def test_plans_keep_no_tensors_alive():
    first, second = torch.ones(3, 5), torch.tensor([0, 2])
    watched = [weakref.ref(first), weakref.ref(second)]
    for _ in range(2):
        torch.cat([first, first])
        torch.stack((first, first))
        first[:, second]
        first[second, 0]
    del first, second, _
    gc.collect()
    assert [one() for one in watched] == [None, None]


def test_a_new_thread_begins_with_gradients_on():
    x = torch.ones(3, requires_grad=True)
    seen = []

    def off():
        torch.set_grad_enabled(False)
        seen.append((x + x).requires_grad)

    def plain():
        seen.append((x + x).requires_grad)

    for target in (off, plain) * 5:
        thread = threading.Thread(target=target)
        thread.start()
        thread.join()
    assert seen == [False, True] * 5


def test_threads_that_learn_at_once_learn_their_own_plans():
    """Each thread makes calls that are new to the process; none may get another's plan."""
    wrong = []
    start = threading.Barrier(6)

    def work(which):
        start.wait()
        for n in range(1, 60):
            x = torch.full((n, which + 1), float(which))
            for _ in range(2):
                made = x + n
                if tuple(made.shape) != (n, which + 1) or made.sum().item() != made.numel() * (
                        which + n):
                    wrong.append((which, n))
                if tuple(x.reshape(which + 1, n).shape) != (which + 1, n):
                    wrong.append((which, -n))

    threads = [threading.Thread(target=work, args=(which,)) for which in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_the_table_of_plans_starts_anew_when_it_is_full(monkeypatch):
    monkeypatch.setattr(fast, "LIMIT", 8)
    x = torch.ones(70, requires_grad=True)
    kept = []
    for n in range(1, 60):
        made = x[:n] * float(n)
        kept.append((n, made, made.sum()))
    for n, made, total in kept:
        assert total.item() == n * n and made.sum().item() == n * n
    kept[-1][2].backward()
    assert x.grad.sum().item() == 59 * 59
    builtin = fast.FAST
    assert builtin is None or builtin.entries <= 8 and len(builtin.retired) <= 1


def test_specs_outlive_their_table(monkeypatch):
    from yesca.core import spec

    monkeypatch.setattr(spec, "LIMIT", 1)
    x = torch.ones(3, 4)
    for _ in range(3):
        y = torch.ones(3, 4)
        assert (x + y).sum().item() == 24
        assert x.is_set_to(x.view(3, 4))
        y += x
        y[1:] += y[:-1].clone()
        assert y.sum().item() == 24 + 16


def test_builtin_functions_can_be_pickled_and_copied():
    import copy
    import pickle

    for function in (torch.add, torch.relu, torch.cat, torch.matmul, torch.nn.functional.gelu):
        assert pickle.loads(pickle.dumps(function)) is function
        assert copy.deepcopy(function) is function


def test_numbers_of_numpy_are_numbers():
    numpy = pytest.importorskip("numpy")
    one, two = numpy.int64(1), numpy.float32(2)
    x = torch.ones(2, 3)
    assert x.sum(one).tolist() == [3, 3]
    assert x.sum((one, 0)).item() == 6
    assert tuple(x.view(numpy.int64(3), 2).shape) == (3, 2)
    assert tuple(x.permute(one, 0).shape) == (3, 2)
    assert torch.add(x, two)[0, 0].item() == 3 and x.mul(one).sum().item() == 6
    assert x.clone().add_(two)[0, 0].item() == 3
    assert torch.tensor([numpy.int32(1)]).dtype is torch.int32
    assert torch.tensor([numpy.float64(1), 2]).dtype is torch.float64


def test_alpha_must_suit_the_result():
    whole, truth = torch.ones(2, dtype=torch.int64), torch.ones(2, dtype=torch.bool)
    for call in (torch.add, torch.sub):
        with pytest.raises(RuntimeError, match="floating"):
            call(whole, whole, alpha=0.5)
        with pytest.raises(RuntimeError, match="Boolean alpha"):
            call(whole, whole, alpha=True)
    assert torch.add(truth, truth, alpha=True).all()
    with pytest.raises(RuntimeError, match="bool tensor"):
        whole - truth


def test_dimensions_of_a_number():
    x = torch.tensor(3.0)
    assert x.sum(0).item() == x.mean(-1).item() == x.amax(()).item() == 3
    for dim in (1, -2, (0, 0)):
        with pytest.raises((IndexError, RuntimeError), match="dim|Dimension"):
            x.sum(dim)


def test_more_operands_than_a_thousand():
    x = torch.ones(1, requires_grad=True)
    parts = [x * k for k in range(2500)]
    torch.cat(parts).sum().backward()
    assert x.grad.item() == sum(range(2500))


@pytest.mark.parametrize("target, source, message", [
    ((3,), (4,), r"size of tensor a \(3\) must match the size of tensor b \(4\).* dimension 0"),
    ((2, 3), (3, 2), r"size of tensor a \(3\) must match the size of tensor b \(2\).* dimension 1"),
    ((0,), (3,), r"size of tensor a \(0\) must match the size of tensor b \(3\)"),
    ((3,), (2, 3), r"output with shape \[3\] doesn't match the broadcast shape \[2, 3\]"),
    ((1,), (3,), r"output with shape \[1\] doesn't match the broadcast shape \[3\]")])
def test_copies_of_another_shape(target, source, message):
    with pytest.raises(RuntimeError, match=message):
        torch.ones(target).copy_(torch.ones(source))


@pytest.mark.parametrize("make", [
    lambda dtype: torch.ones(3, dtype=dtype), lambda dtype: torch.empty((2, 2), dtype=dtype),
    lambda dtype: torch.zeros_like(torch.ones(2), dtype=dtype),
    lambda dtype: torch.full((2,), 1, dtype=dtype)])
def test_dtypes_that_are_none(make):
    for wrong in ("float32", 3, list):
        with pytest.raises(TypeError, match="must be torch.dtype, not"):
            make(wrong)


#: PyTorch's class and words for calls that do not fit.
MISFITS = {
    "shapes": (lambda x: x + torch.ones(4), RuntimeError, "must match the size of tensor b"),
    "product": (lambda x: x @ torch.ones(4, 5), RuntimeError, "cannot be multiplied"),
    "dtypes": (lambda x: x @ torch.ones(3, 2, dtype=torch.float64), RuntimeError, "same dtype"),
    "cat": (lambda x: torch.cat([x, torch.ones(3, 4)]), RuntimeError, "Sizes of tensors must"),
    "view": (lambda x: x.view(4, 2), RuntimeError, "is invalid for input of size 6"),
    "gather": (lambda x: x.gather(0, torch.full((2, 3), 9)), RuntimeError, "out of bounds"),
    "index": (lambda x: x[5], IndexError, "out of bounds"),
    "indices": (lambda x: x[0, 0, 0], IndexError, "too many indices"),
    "dim": (lambda x: x.sum(3), IndexError, "Dimension out of range"),
    "empty": (lambda x: torch.empty(0).max(), RuntimeError, "numel"),
    "item": (lambda x: x.item(), RuntimeError, "cannot be converted to Scalar"),
    "truth": (lambda x: bool(x), RuntimeError, "ambiguous"),
    "scalar": (lambda x: (x.requires_grad_() * 2).backward(), RuntimeError, "scalar outputs"),
    "no graph": (lambda x: x.sum().backward(), RuntimeError, "does not require grad"),
    "leaf": (lambda x: x.requires_grad_().add_(1), RuntimeError, "leaf Variable"),
    "view of a leaf": (lambda x: x.requires_grad_()[0].add_(1), RuntimeError, "a view of a leaf"),
    "integers": (lambda x: x.long().requires_grad_(), RuntimeError, "floating point"),
    "expanded": (lambda x: torch.ones(1).expand(3).add_(1), RuntimeError, "single memory location"),
    "cast": (lambda x: x.long().add_(1.5), RuntimeError, "can't be cast"),
}


@pytest.mark.parametrize("name", MISFITS)
def test_calls_that_do_not_fit(name):
    function, error, words = MISFITS[name]
    for _ in range(2):  # the second call finds what the first one learnt
        with pytest.raises(error, match=words):
            function(torch.ones(2, 3))


def test_a_second_backward():
    x = torch.ones(3, requires_grad=True)
    y = (x * x).sum()
    y.backward()
    with pytest.raises(RuntimeError, match="backward through the graph a second time"):
        y.backward()
    z = x.exp()
    total = (z * z).sum()
    z.add_(1)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        total.backward()
    assert x.grad.tolist() == [2, 2, 2]
