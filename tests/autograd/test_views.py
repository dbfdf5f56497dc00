"""Views and writes in place: gradients, versions, and what is refused."""

import pytest

import yesca as torch
from yesca.autograd import grad


def leaf(*values):
    return torch.tensor(values, requires_grad=True)


def test_writing_through_views_of_views():
    x = leaf(1.0, 2.0, 3.0, 4.0)
    y = x * 1
    v = y.view(2, 2)
    v[0].mul_(3)
    v[1].add_(1)
    (y * y).sum().backward()
    assert x.grad.tolist() == [18.0, 36.0, 8.0, 10.0]
    assert (v.grad_fn.name(), type(y.grad_fn).__name__) == ("AsStridedBackward0", "CopySlices")


def test_nested_slices():
    x = torch.arange(24.0).reshape(2, 3, 4).requires_grad_()
    y = x * 1
    y[0, 1:, ::2].mul_(5)
    y[1].t()[2] = 7.0
    (y * y).sum().backward()
    factor = torch.ones(2, 3, 4)
    factor[0, 1:, ::2] = 25
    factor[1, :, 2] = 0
    assert x.grad.tolist() == (2 * x.detach() * factor).tolist()


def test_views_made_before_the_base_joined_the_tape():
    a = torch.zeros(4)
    v, u = a[:2], a[2:]
    w = leaf(1.0, 2.0)
    v.copy_(w)
    assert (a.requires_grad, u.requires_grad, v.requires_grad, v.is_leaf) == (True,) * 3 + (False,)
    (u.sum() + a.sum() * 2 + v.sum()).backward(retain_graph=True)
    assert w.grad.tolist() == [3.0, 3.0]
    v.mul_(2)
    assert grad((v * v).sum(), w)[0].tolist() == [8.0, 16.0]


def test_operands_that_are_views_of_what_is_written():
    x = leaf(2.0, 3.0)
    y = x * 1
    v, u = y[0:1], y[0:1]
    v.add_(u)
    (y.sum() + u.sum()).backward()
    assert u.item() == 4.0
    assert x.grad.tolist() == [4.0, 1.0]


def test_second_derivative_through_a_write():
    x = leaf(1.0, 2.0)
    y = x * 1
    v = y[0:1]
    v.mul_(v.detach() * 3)
    first, = grad((y**3).sum(), x, create_graph=True)
    second, = grad(first.sum(), x)
    assert first.tolist() == [81.0, 12.0]
    assert second.tolist() == [162.0, 12.0]


def test_second_derivative_with_repeated_gradients():
    w = leaf(0.5, 1.5)
    y = torch.zeros(3, 2)
    y.copy_(w)
    y.view(-1)[0] = 2.0
    first, = grad((y * y).sum(), w, create_graph=True)
    second, = grad((first * first).sum(), w, retain_graph=True)
    assert first.tolist() == [2.0, 9.0]
    assert second.tolist() == [16.0, 108.0]
    y.zero_()
    assert grad(y.sum(), w)[0].tolist() == [0.0, 0.0]


def test_assignment_by_index():
    x, v = leaf(1.0, 2.0, 3.0), leaf(9.0)
    y = x * 2
    y[1] = v[0]
    (y * torch.tensor([1.0, 10.0, 100.0])).sum().backward()
    assert x.grad.tolist() == [2.0, 0.0, 200.0]
    assert v.grad.tolist() == [10.0]


def test_versions():
    x = leaf(1.0, 2.0)
    y = x * 1
    d, e = y.detach(), y.data
    d.add_(1)
    assert (y._version, d._version, e._version) == (1, 1, 0)
    e.add_(1)
    assert (y._version, e._version) == (1, 1)
    kept = x * 1
    made = kept * kept
    kept.detach().add_(1)
    with pytest.raises(RuntimeError, match=r"\[torch.FloatTensor \[2\]\], which is output 0 of "
                                           "Mul, is at version 1; expected version 0"):
        made.sum().backward()
    kept = x * 1
    made = kept * kept
    kept.data.add_(1)
    made.sum().backward()  # nobody was told


def test_what_the_write_itself_reads():
    y = leaf(2.0, 3.0) * 1
    y.mul_(y)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.sum().backward()
    x = leaf(-1.0, 2.0)
    y = x * 1
    y.relu_()
    y.sum().backward()
    assert x.grad.tolist() == [0.0, 1.0]


@pytest.mark.parametrize(("write", "message"), [
    (lambda x: x.add_(1), "a leaf Variable that requires grad is being used"),
    (lambda x: x[0].add_(1), "a view of a leaf Variable"),
    (lambda x: (x * 1).unbind()[0].add_(1), "Output 0 of Unbind is a view.*multiple views"),
    (lambda x: (x * 1).expand(3, 2).add_(1), "more than one element of the written-to tensor"),
    (lambda x: (x * 1)[0].detach_(), "Can't detach views in-place"),
])
def test_refused_writes(write, message):
    with pytest.raises(RuntimeError, match=message):
        write(leaf(1.0, 2.0))


def test_views_made_off_the_tape():
    w = leaf(1.0, 2.0, 3.0)
    with torch.no_grad():
        w[0] = 5
        v = w[1:]
        v.add_(1)
        assert v.numpy().tolist() == [3.0, 4.0]
    assert (w.tolist(), w._version, v._version) == ([5.0, 3.0, 4.0], 2, 2)
    y = w * 1
    with torch.no_grad():
        v = y[1:]
    assert v.requires_grad
    with pytest.raises(RuntimeError, match="view was created in no_grad mode"):
        v.add_(1)


def test_inference_tensors():
    with torch.inference_mode():
        z = torch.ones(2)
        z.add_(1)
        assert z.is_inference()
    for write in (lambda: z.add_(1), lambda: z[0].add_(1)):
        with pytest.raises(RuntimeError, match="Inplace update to inference tensor"):
            write()
    with pytest.raises(RuntimeError, match="cannot be saved for backward"):
        leaf(1.0, 2.0) * z
    with pytest.raises(RuntimeError, match="do not track version counter"):
        z._version
    with pytest.raises(RuntimeError, match="Setting requires_grad=True on inference tensor"):
        z.requires_grad_()
    assert (leaf(1.0, 2.0) + z).requires_grad
    assert not (z + 1).is_inference()


def test_retained_gradients_follow_a_write():
    x = leaf(1.0, 2.0)
    y = x * 2
    y.retain_grad()
    y.mul_(3)
    y.sum().backward()
    assert y.grad.tolist() == [1.0, 1.0]


def test_leaves_that_are_views():
    x = torch.arange(6.0).reshape(2, 3).requires_grad_()
    for write in (lambda: x.add_(1), lambda: x[0].mul_(2), lambda: x.zero_()):
        with pytest.raises(RuntimeError, match="a view of a leaf Variable that requires grad"):
            write()
    with torch.no_grad():
        x.add_(1)
    assert x.is_leaf and x[0, 0].item() == 1.0


@pytest.mark.parametrize(
    "split", [lambda x: x.unbind(0), lambda x: x.split(1), lambda x: x.chunk(2)])
def test_several_views_of_one_call(split):
    x = torch.ones(2, 3, requires_grad=True) * 2
    one = split(x)[0]
    with pytest.raises(RuntimeError, match="Output 0 of .* is a view and is being modified inpl"):
        one.add_(1)
    with pytest.raises(RuntimeError, match="Output 0 of Select is a view and is being modified"):
        one[0].add_(1)
    x.mul_(2)
    with pytest.raises(RuntimeError, match="is a view and its base or another view of its base"):
        one.sum()


def test_a_number_written_over_a_tensor_of_another_dtype():
    x, value = torch.zeros(3, dtype=torch.float64), torch.tensor(2.0, requires_grad=True)
    x[:] = value
    x.sum().backward()
    assert value.grad.dtype == torch.float32 and value.grad.item() == 3.0


@pytest.mark.parametrize("name", ["float16", "bfloat16"])
def test_elements_that_a_view_sees_twice(name):
    """Their gradients are summed in float32: the sum of many small ones is no power of two."""
    x = torch.zeros(4, dtype=getattr(torch, name), requires_grad=True)
    x.as_strided((2, 3), (1, 1)).sum().backward()
    assert x.grad.tolist() == [1, 2, 2, 1] and x.grad.dtype is x.dtype
    x.grad = None
    x.as_strided((3001, 2), (0, 1)).sum().backward()
    assert x.grad.tolist() == [*[torch.tensor(3001.0).to(x.dtype).item()] * 2, 0, 0]
    x.grad = None
    x.unfold(0, 3, 1).sum().backward()
    assert x.grad.tolist() == [1, 2, 2, 1]
