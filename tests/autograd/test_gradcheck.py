"""`gradcheck` and `gradgradcheck`: what they find, by every way of checking."""

import pytest

import yesca as torch
from yesca.autograd import gradcheck, gradgradcheck
from yesca.autograd.gradcheck import GradcheckError


def square(backward=2, forward=2):
    """x * x with factors of its derivatives that may be wrong."""
    class Square(torch.autograd.Function):
        @staticmethod
        def forward(ctx, a):
            ctx.save_for_backward(a)
            ctx.save_for_forward(a)
            return a * a

        @staticmethod
        def backward(ctx, grad):
            return grad * ctx.saved_tensors[0] * backward

        @staticmethod
        def jvp(ctx, tangent):
            return tangent * ctx.saved_tensors[0] * forward

    return Square.apply


def real():
    return torch.tensor([0.3, 0.7], dtype=torch.float64, requires_grad=True)


def complex_():
    return torch.tensor([0.3 + 0.2j, 0.7 - 0.1j], dtype=torch.complex128, requires_grad=True)


WAYS = [{}, {"fast_mode": True}, {"check_batched_grad": True},
        {"check_forward_ad": True, "check_batched_forward_grad": True},
        {"check_forward_ad": True, "check_backward_ad": False, "fast_mode": True}]


@pytest.mark.parametrize("way", WAYS, ids=str)
@pytest.mark.parametrize("function", [
    torch.sin, lambda a: (a * a, a.exp()), lambda a: a.sum(), lambda a: a[None] @ a[:, None],
    square(), lambda a: (a * 2, a.argmax()), lambda a: torch.complex(a, a * 2)])
def test_right(function, way):
    assert gradcheck(function, (real(),), **way)


@pytest.mark.parametrize("way", WAYS, ids=str)
@pytest.mark.parametrize("function", [
    torch.sin, lambda a: a * a.conj(), torch.abs, torch.real, torch.view_as_real,
    lambda a: a.imag * a])
def test_complex(function, way):
    assert gradcheck(function, (complex_(),), **way)


@pytest.mark.parametrize(("function", "way", "message"), [
    (square(backward=3), {}, "^Jacobian mismatch for output 0 with respect to input 0,\nnumerical"),
    (square(backward=3), {"fast_mode": True}, "computed in fast mode"),
    (square(forward=3), {"check_forward_ad": True}, "^Jacobian computed with forward mode mism"),
    (square(forward=3), {"check_forward_ad": True, "fast_mode": True}, "max per-element"),
    (lambda a: a.detach() * 2, {}, "expected to be zero")])
def test_wrong(function, way, message):
    with pytest.raises(GradcheckError, match=message):
        gradcheck(function, (real(),), **way)
    assert not gradcheck(function, (real(),), raise_exception=False, **way)


def test_each_direction_by_itself():
    assert gradcheck(square(backward=3), (real(),), check_backward_ad=False, check_forward_ad=True)
    assert gradcheck(square(forward=3), (real(),))


def test_gradients_that_are_not_given():
    class Strict(torch.autograd.Function):
        @staticmethod
        def forward(ctx, a):
            ctx.set_materialize_grads(False)
            return a * 2

        @staticmethod
        def backward(ctx, grad):
            if grad is None:
                raise RuntimeError("no gradient")
            return grad * 2

    with pytest.raises(GradcheckError, match="handle undefined output grads"):
        gradcheck(Strict.apply, (real(),))
    assert gradcheck(Strict.apply, (real(),), check_undefined_grad=False)


def test_backward_that_varies():
    runs = []

    class Varying(torch.autograd.Function):
        @staticmethod
        def forward(ctx, a):
            return a * 2

        @staticmethod
        def backward(ctx, grad):
            runs.append(1)
            return grad * 2 * (1 + len(runs) * 1e-7)

    with pytest.raises(GradcheckError, match="Backward is not reentrant"):
        gradcheck(Varying.apply, (real(),))
    assert gradcheck(Varying.apply, (real(),), nondet_tol=1e-3)


@pytest.mark.parametrize(("run", "error", "message"), [
    (lambda x: gradcheck(torch.sin, (x,), check_backward_ad=False), AssertionError,
     "at least one of check_forward_ad or check_backward_ad"),
    (lambda x: gradcheck(torch.sin, (x,), check_batched_forward_grad=True), AssertionError,
     "requires check_forward_ad to be True"),
    (lambda x: gradgradcheck(torch.sin, (x,), check_rev_over_rev=False), AssertionError,
     "at least one of check_fwd_over_rev or check_rev_over_rev"),
    (lambda x: gradcheck(torch.sin, (x.detach(),)), ValueError, "none of them have requires_grad"),
    (lambda x: gradcheck(torch.sin, (x[:1].detach().expand(3).requires_grad_(),)), RuntimeError,
     "has a dimension with stride 0")])
def test_refused(run, error, message):
    with pytest.raises(error, match=message):
        run(real())


@pytest.mark.parametrize("way", [
    {}, {"check_fwd_over_rev": True}, {"check_fwd_over_rev": True, "fast_mode": True},
    {"gen_non_contig_grad_outputs": True, "check_batched_grad": True}], ids=str)
def test_second_derivatives(way):
    assert gradgradcheck(lambda a: a.sin() * a, (real(),), **way)
    assert gradgradcheck(lambda a: a.exp().real, (complex_(),), **way)
