"""Forward mode: duals, what carries tangents on, and what the level refuses."""

import pytest

import yesca as torch
from yesca.autograd import forward_ad as fwd


@pytest.fixture
def level():
    with fwd.dual_level():
        yield


def dual(values=(1.0, 2.0, 3.0), tangent=(2.0, 2.0, 2.0)):
    return fwd.make_dual(torch.tensor(values), torch.tensor(tangent))


def tangent(x):
    found = fwd.unpack_dual(x).tangent
    return None if found is None else found.tolist()


def test_a_dual_is_a_view_with_a_tangent(level):
    x, v = torch.tensor([1.0, 2.0]), torch.tensor([3.0, 4.0])
    made = fwd.make_dual(x, v)
    assert made.data_ptr() == x.data_ptr() and not made.requires_grad
    primal, own = fwd.unpack_dual(made)
    assert own is v and tangent(primal) is None and primal.tolist() == [1.0, 2.0]
    assert repr(made) == "tensor([1., 2.], tangent=tensor([3., 4.]))"
    assert tangent(made * made) == [6.0, 16.0]
    assert tangent(made.detach()) is None and tangent(made.argmax()) is None


def test_without_a_tape(level):
    x = dual()
    with torch.no_grad():
        assert tangent(x * x) == [4.0, 8.0, 12.0]
    with torch.inference_mode():
        assert tangent(x * x) is None


def test_views_and_writes(level):
    x = dual()
    whole = torch.zeros(4)
    whole[1:] = x * x
    assert tangent(whole) == [0.0, 4.0, 8.0, 12.0]
    later = torch.zeros(3)
    part = later[1:]
    later.copy_(x)
    assert tangent(part) == [2.0, 2.0]
    copy = x.clone()
    first = copy[0]
    first.mul_(3)
    assert tangent(copy) == [6.0, 2.0, 2.0] and tangent(first) == 6.0
    copy.unsqueeze_(0)
    assert tangent(copy) == [[6.0, 2.0, 2.0]]
    copy.zero_()
    assert tangent(copy) == [[0.0] * 3] and tangent(x) == [2.0] * 3
    filled = x.clone().uniform_()
    assert tangent(filled) == [0.0] * 3
    with pytest.raises(NotImplementedError, match="forward AD with add_out"):
        torch.add(x, x, out=torch.zeros(3))


def test_forward_over_reverse(level):
    x = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
    made = fwd.make_dual(x, torch.full((3,), 2.0))
    total = (made ** 3).sum()
    slope, = torch.autograd.grad(total, x)
    assert tangent(total) == 84.0
    assert slope.tolist() == [3.0, 12.0, 27.0] and tangent(slope) == [12.0, 24.0, 36.0]
    made = fwd.make_dual(x, torch.full((3,), 2.0))
    (made.exp() * made).sum().backward()
    assert torch.allclose(fwd.unpack_dual(x.grad).tangent, 2 * x.exp() * (x + 2))


def test_reverse_over_forward(level):
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    v = torch.tensor([3.0, 4.0], requires_grad=True)
    found = fwd.unpack_dual(fwd.make_dual(x, v) ** 2).tangent
    gx, gv = torch.autograd.grad(found.sum(), (x, v))
    assert gx.tolist() == [6.0, 8.0] and gv.tolist() == [2.0, 4.0]


def test_custom_functions(level):
    seen = []

    class Product(torch.autograd.Function):
        @staticmethod
        def forward(ctx, a, b):
            ctx.save_for_forward(a, b)
            return a * b

        @staticmethod
        def jvp(ctx, ta, tb):
            seen.append((ta.tolist(), None if tb is None else tb.tolist()))
            a, b = ctx.saved_tensors
            return ta * b + (0 if tb is None else a * tb)

    class Bare(torch.autograd.Function):
        @staticmethod
        def forward(ctx, a):
            return a * 2

    x = dual()
    assert tangent(Product.apply(x, torch.ones(3) * 5)) == [10.0] * 3
    assert tangent(Product.apply(x, x)) == [4.0, 8.0, 12.0]
    assert seen[0] == ([2.0] * 3, [0.0] * 3)  # zeros unless the function asks for None
    with pytest.raises(NotImplementedError, match="must implement the jvp function"):
        Bare.apply(x)


def test_inside_vmap(level):
    x = dual()
    made = torch.vmap(lambda row: (row * row).sin())(x)
    assert torch.allclose(fwd.unpack_dual(made).tangent,
                          torch.tensor([1.0, 4.0, 9.0]).cos() * torch.tensor([4.0, 8.0, 12.0]))


def test_layers(level):
    layer = torch.nn.Linear(2, 1)
    weight = layer.weight.detach()
    del layer.weight
    layer.weight = fwd.make_dual(weight, torch.ones(1, 2))
    assert tangent(layer(torch.tensor([[3.0, 4.0]]))) == [[7.0]]
    x = fwd.make_dual(torch.arange(16.0).reshape(1, 1, 4, 4), torch.ones(1, 1, 4, 4))
    assert tangent(torch.nn.functional.max_pool2d(x, 2)) == [[[[1.0, 1.0], [1.0, 1.0]]]]


@pytest.mark.parametrize(("run", "error", "message"), [
    (lambda x, v: fwd.make_dual(torch.arange(3), v), ValueError,
     "Expected primal to be floating point or complex, but got: torch.int64"),
    (lambda x, v: fwd.make_dual(x, torch.arange(3)), ValueError, "Expected tangent to be floating"),
    (lambda x, v: fwd.make_dual(x, torch.ones(4)), RuntimeError,
     r"of size \[3\] while the given forward gradient is of size \[4\]"),
    (lambda x, v: fwd.make_dual(fwd.make_dual(x, v), v), RuntimeError,
     "already has a forward gradient at the same level 0"),
    (lambda x, v: fwd.make_dual(x, v, level=3), RuntimeError, "Invalid level given to _make_dual"),
    (lambda x, v: fwd.unpack_dual(x, level=3), RuntimeError, "Invalid level given to _fw_primal"),
    (lambda x, v: fwd.enter_dual_level(), RuntimeError, "Nested forward mode AD is not supported"),
    (lambda x, v: fwd.exit_dual_level(level=3), RuntimeError, "was not the last one"),
])
def test_refused(level, run, error, message):
    with pytest.raises(error, match=message):
        run(torch.ones(3), torch.ones(3))


def test_outside_a_level():
    x = torch.ones(3)
    with pytest.raises(RuntimeError, match="no level exists, make sure to enter_dual_level"):
        fwd.make_dual(x, x)
    assert fwd.unpack_dual(x) == (x, None)
    with pytest.raises(RuntimeError, match="Dual level must be a positive number"):
        fwd.exit_dual_level()
    with fwd.dual_level() as number:
        made = dual()
        result = made * 2
    assert number == 0 and tangent(result) is None and tangent(made) is None

    @fwd.dual_level()
    def product():
        return tangent(dual() * 2)

    assert product() == [4.0] * 3
