"""Explicit composites: one node of the tape, which keeps what the formulas read."""

import pytest

import yesca as torch


def kept(function, *tensors):
    """How many bytes the tape keeps of a call."""
    found = {}

    def pack(tensor):
        found[tensor.data_ptr()] = tensor.untyped_storage().nbytes()
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
        made = function(*tensors)
    return sum(found.values()), made


def test_one_node_that_keeps_the_operands():
    image = torch.rand(1, 2, 3, 4, requires_grad=True)
    grid = (torch.rand(1, 2, 2, 2) * 2 - 1).requires_grad_()
    nbytes, made = kept(lambda *given: torch.nn.functional.grid_sample(
        *given, align_corners=True), image, grid)
    assert nbytes == 4 * (24 + 8)
    assert type(made.grad_fn).__name__ == "GridSampler2DBackward0"
    assert [fn.variable is t for (fn, _), t in
            zip(made.grad_fn.next_functions, (image, grid), strict=True)] == [True, True]


def test_off_the_tape_and_without_wants_there_is_no_node():
    x = torch.rand(3, 4) + 3
    assert torch.mvlgamma(x, 2).grad_fn is None
    with torch.no_grad():
        assert torch.mvlgamma(x.requires_grad_(), 2).grad_fn is None


def test_in_place_the_original_is_kept():
    x = (torch.rand(3, 4, dtype=torch.float64) + 3).requires_grad_()
    y = x * 1
    version = y._version
    z = y.mvlgamma_(2)
    assert z is y and y._version == version + 1
    assert type(y.grad_fn).__name__ == "MvlgammaBackward0"
    y.sum().backward()
    wanted, = torch.autograd.grad(torch.mvlgamma(x, 2).sum(), x)
    assert torch.equal(x.grad, wanted)
    with pytest.raises(RuntimeError, match="a leaf Variable that requires grad"):
        x.renorm_(2, 0, 1.0)


def test_a_write_to_what_is_kept_is_refused():
    x = torch.rand(3, 4).requires_grad_() * 1
    mask = torch.tensor([True, False, True, True])
    made = x.masked_scatter(mask, torch.rand(12))
    x.zero_()  # only the mask is read
    mask.zero_()
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        made.sum().backward()


def test_results_are_written_like_any_other():
    x = (torch.rand(3, 4) + 3).requires_grad_()
    made = torch.mvlgamma(x, 2)
    made.mul_(2)
    made[0].add_(1)
    made.sum().backward()
    twice, = torch.autograd.grad(torch.mvlgamma(x, 2).sum() * 2, x)
    assert torch.allclose(x.grad, twice)


@pytest.mark.parametrize("call", [
    lambda x: torch.renorm(x, 2, 0, 0.5), lambda x: torch.nn.functional.pdist(x),
    lambda x: torch.mvlgamma(x + 3, 2),
    lambda x: x.masked_scatter(torch.tensor([True, False, True, True]), x.flatten() * 2),
    lambda x: torch.nn.functional.affine_grid(x[None, :2, :3], (1, 1, 2, 2), True),
    lambda x: torch.nn.functional.bilinear(x, x, torch.ones(2, 4, 4, dtype=x.dtype))])  # fmt: skip
def test_transforms_see_the_parts(call):
    x, v = torch.rand(3, 4, dtype=torch.float64), torch.rand(3, 4, dtype=torch.float64)
    assert torch.autograd.gradcheck(call, x.clone().requires_grad_())
    assert torch.autograd.gradgradcheck(call, x.clone().requires_grad_())
    made, pushed = torch.func.jvp(call, (x,), (v,))
    jacobian = torch.autograd.functional.jacobian(call, x)
    assert torch.allclose(pushed, (jacobian * v).sum((-2, -1)))
    grads = torch.func.vmap(torch.func.grad(lambda y: call(y).sum()))(torch.stack([x, v]))
    for one, grad in zip((x, v), grads, strict=True):
        one = one.clone().requires_grad_()
        assert torch.allclose(torch.autograd.grad(call(one).sum(), one)[0], grad)


@pytest.mark.parametrize("call,node,name", [
    (torch.unique, "Unique2", "_unique2"),
    (lambda x: torch.unique(x, dim=0, return_inverse=True)[0], "UniqueDim", "unique_dim"),
    (torch.unique_consecutive, "UniqueConsecutive", "unique_consecutive")])  # fmt: skip
def test_what_has_no_derivative_says_so(call, node, name):
    made = call(torch.rand(4, requires_grad=True))
    assert type(made.grad_fn).__name__ == f"{node}Backward0"
    with pytest.raises(NotImplementedError, match=f"the derivative for '{name}' is not impl"):
        made.sum().backward()
