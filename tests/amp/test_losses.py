"""cross_entropy in a region: float32 from logits of half precision, which are kept as they are."""

import pytest

import yesca as torch
import yesca.nn.functional as F

SHAPES = [((6, 11), (6,)), ((3, 5, 4), (3, 4)), ((7,), ())]


def _case(shape, outer, dtype, weighted):
    generator = torch.Generator().manual_seed(3)
    logits = (torch.randn(*shape, generator=generator) * 3).to(dtype)
    classes = shape[0 if len(shape) == 1 else 1]
    target = torch.randint(0, classes, outer, generator=generator)
    return logits, target, torch.rand(classes, generator=generator) if weighted else None


def _derivatives(loss, x):
    first, = torch.autograd.grad((loss * loss).sum(), x, create_graph=True)
    second, = torch.autograd.grad((first.float() ** 2).sum(), x)
    return [value.detach().float() for value in (loss, first, second)]


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
@pytest.mark.parametrize("shape,outer", SHAPES)
def test_as_in_float32(shape, outer, reduction, dtype):
    for smoothing in (0.0, 0.1):
        for weighted in (False, True):
            logits, target, weight = _case(shape, outer, dtype, weighted)
            options = {"reduction": reduction, "label_smoothing": smoothing, "ignore_index": 2}
            x = logits.requires_grad_()
            with torch.autocast("cpu", torch.bfloat16):
                loss = F.cross_entropy(x, target, weight, **options)
            assert loss.dtype == torch.float32
            wide = logits.detach().float().requires_grad_()
            reference = F.cross_entropy(wide, target, weight, **options)
            assert torch.equal(loss, reference)
            step = 2 * torch.finfo(dtype).eps
            for got, wanted in zip(_derivatives(loss, x), _derivatives(reference, wide),
                                   strict=True):
                scale = wanted.abs().max().item()
                torch.testing.assert_close(got, wanted, rtol=4 * step, atol=step * scale + 1e-6)


def test_kept_as_they_came():
    logits, target, _ = _case((64, 500), (64,), torch.bfloat16, False)
    x = logits.requires_grad_()
    kept = []
    hooks = torch.autograd.graph.saved_tensors_hooks(lambda t: kept.append(t) or t, lambda t: t)
    with hooks, torch.autocast("cpu", torch.bfloat16):
        F.cross_entropy(x, target)
    large = [t.dtype for t in kept if t.numel() >= logits.numel()]
    assert large == [torch.bfloat16]


def test_logits_may_be_overwritten():
    logits, target, _ = _case((6, 11), (6,), torch.bfloat16, False)
    x = logits.clone().requires_grad_()
    with torch.autocast("cpu", torch.bfloat16):
        y = x * 1
        loss = F.cross_entropy(y, target)
    y.detach().zero_()
    y.zero_()
    wanted = logits.clone().requires_grad_()
    with torch.autocast("cpu", torch.bfloat16):
        F.cross_entropy(wanted * 1, target).backward()
    loss.backward()
    assert torch.equal(x.grad, wanted.grad)


def test_what_is_no_half_stays_wide():
    target = torch.tensor([1, 0])
    with torch.autocast("cpu", torch.bfloat16):
        assert F.cross_entropy(torch.randn(2, 3), target).dtype == torch.float32
        assert F.cross_entropy(torch.randn(2, 3).double(), target).dtype == torch.float64
        probabilities = torch.rand(2, 3).bfloat16()
        assert F.cross_entropy(torch.randn(2, 3).bfloat16(), probabilities).dtype == torch.float32
        with pytest.raises(NotImplementedError):
            F.cross_entropy(torch.ones(2, 3, dtype=torch.int64), target)


def test_batches_of_it():
    logits, target, _ = _case((4, 6, 11), (4, 6), torch.bfloat16, False)
    target = target.clamp(max=5)
    with torch.autocast("cpu", torch.bfloat16):
        each = torch.func.vmap(F.cross_entropy)(logits, target)
        one = torch.stack([F.cross_entropy(x, t) for x, t in zip(logits, target, strict=True)])
    torch.testing.assert_close(each, one)
