"""Leaves and results that change between forward and backward: memory, flags, place on the tape."""

import pytest

import yesca as torch


def leaf(*values):
    return torch.tensor(values, requires_grad=True)


def test_other_memory():
    x, w = leaf(1.0, 2.0), leaf(1.0, 1.0)
    squares, product = (x * x).sum(), (x * w).sum()
    view = x.view(2)
    x.data = torch.tensor([5.0, 6.0])
    squares.backward()
    assert x.grad.tolist() == [10.0, 12.0]  # the leaf itself is kept, whatever it looks at
    product.backward()
    assert w.grad.tolist() == [5.0, 6.0]
    assert x._version == 0 and view.tolist() == [1.0, 2.0]
    x.grad = None
    (view * 3).sum().backward()
    assert x.grad.tolist() == [3.0, 3.0]


def test_memory_of_another_shape():
    x = leaf(1.0, 2.0)
    y = (x * x).sum()
    x.data = torch.ones(3)
    with pytest.raises(RuntimeError, match="size of tensor a"):
        y.backward()


def test_a_kept_result_that_left_the_tape():
    x = leaf(1.0, 2.0)
    y = x * 2
    z, alias = (y * y).sum(), y.detach()
    other = (alias * x).sum()
    y.detach_()
    with pytest.raises(RuntimeError, match="has been detached in-place, i.e. with .detach_()"):
        z.backward()
    other.backward()
    assert x.grad.tolist() == [2.0, 4.0] and y._version == 0


@pytest.mark.parametrize("stop", [lambda x: x.detach_(), lambda x: x.requires_grad_(False)])
def test_a_leaf_that_wants_no_gradient_any_more(stop):
    x = leaf(1.0, 2.0)
    y = (x * x).sum()
    stop(x)
    y.backward()
    assert x.grad is None


def test_writes_are_still_noticed_after_a_move():
    x = leaf(1.0, 2.0)
    y = (x * x).sum()
    x.data = torch.tensor([5.0, 6.0])
    with torch.no_grad():
        x.mul_(2)
    with pytest.raises(RuntimeError, match="is at version 1; expected version 0"):
        y.backward()


def test_retained_gradients_follow_writes_through_views():
    def start():
        x = leaf(1.0, 2.0)
        y = x * 2
        return x, y, y.view(2, 1)

    x, y, v = start()
    v.retain_grad()
    v.mul_(3)
    v.sum().backward()
    assert v.grad.tolist() == [[1.0], [1.0]] and x.grad.tolist() == [6.0, 6.0]
    x, y, v = start()
    y.retain_grad()
    v.mul_(3)
    y.sum().backward()
    assert y.grad.tolist() == [1.0, 1.0] and x.grad.tolist() == [6.0, 6.0]
    x, y, v = start()
    v.retain_grad()
    y.mul_(3)
    (v * 1).sum().backward()
    assert v.grad.tolist() == [[1.0], [1.0]]


@pytest.mark.parametrize(("run", "error", "message"), [
    (lambda: setattr(torch.arange(3), "requires_grad", True), RuntimeError,
     "only Tensors of floating point and complex dtype can require gradients"),
    (lambda: torch.arange(3).requires_grad_(), RuntimeError,
     "only Tensors of floating point dtype can require gradients"),
    (lambda: leaf(1.0).requires_grad_(1), TypeError, "must be bool, not int"),
    (lambda: setattr(leaf(1.0), "requires_grad", 1), RuntimeError, "requires_grad must be a bool"),
    (lambda: (leaf(1.0) * 2).sum().backward(inputs=[torch.ones(1)]), RuntimeError,
     "can't retain_grad on Tensor that has requires_grad=False"),
    (lambda: torch.autograd.grad(leaf(1.0) * 2, [1.0]), RuntimeError,
     "all inputs have to be Tensors or GradientEdges, but got float"),
    (lambda: torch.autograd.grad(leaf(1.0, 2.0) * 2, leaf(1.0), torch.ones(2),
                                 is_grads_batched=True), RuntimeError,
     r"grad_output\[0\] has a shape of torch.Size\(\[\]\) .* consider using vmap"),
])
def test_refused(run, error, message):
    with pytest.raises(error, match=message):
        run()


def test_small_ones():
    assert torch.scalar_tensor(3.0, requires_grad=True).requires_grad
    x, value = leaf(1.0, 2.0, 3.0), torch.tensor(5.0, requires_grad=True)
    filled = x.index_fill(0, torch.tensor([0, 0, 2]), value)
    filled.sum().backward()
    assert x.grad.tolist() == [0.0, 1.0, 0.0] and value.grad.item() == 2.0  # two places in all
    assert filled.grad_fn.name() == "IndexFillBackward1"


def test_none_reaches_custom_functions():
    seen = []

    class Made(torch.autograd.Function):
        @staticmethod
        def forward(ctx, a):
            return a * 2

        @staticmethod
        def backward(ctx, grad):
            seen.append(grad.tolist())
            return grad * 2

    class Nothing(torch.autograd.Function):
        @staticmethod
        def forward(ctx, a):
            return a * 2

        @staticmethod
        def backward(ctx, grad):
            return None

    x = leaf(1.0, 2.0)
    Nothing.apply(Made.apply(x) * 3).sum().backward()
    assert seen == [[0.0, 0.0]] and x.grad.tolist() == [0.0, 0.0]
    y = leaf(1.0, 2.0)
    Nothing.apply(y * 3).sum().backward()
    assert y.grad is None


def test_a_copy_on_the_meta_device_stays_on_the_tape():
    x = torch.ones(3, requires_grad=True)
    for made in (x.to("meta"), (x * 2).to("meta", torch.float64), x.to(device="meta", copy=True)):
        assert made.requires_grad and made.is_meta and made.grad_fn.name() == "ToCopyBackward0"
        assert made.grad_fn.next_functions[0][0] is not None
    assert not x.to("meta", torch.int64).requires_grad and not x.detach().to("meta").requires_grad
    with torch.no_grad():
        assert not x.to("meta").requires_grad
    with pytest.raises(NotImplementedError, match="Cannot copy out of meta tensor; no data!"):
        x.to("meta").sum().backward()
