"""Selective checkpoints: what is kept, what is computed again, what is refused."""

import functools

import pytest
from dispatch_log import Log

import yesca as torch
from yesca.utils.checkpoint import (
    CheckpointPolicy, SelectiveCheckpointContext, checkpoint, create_selective_checkpoint_contexts,
)

aten = torch.ops.aten


def function(x, y):
    return torch.sigmoid(torch.matmul(torch.matmul(x, y), y)) * y


def operands():
    torch.manual_seed(0)
    return (torch.randn(4, 4, requires_grad=True), torch.randn(4, 4, requires_grad=True))


def contexts(policy, **kwargs):
    return functools.partial(create_selective_checkpoint_contexts, policy, **kwargs)


def gradients(run):
    x, y = operands()
    with Log() as log:
        made = run(x, y)
        made.sum().backward()
    return made, x.grad, y.grad, log.seen


def by_name(context, op, *args, **kwargs):
    return CheckpointPolicy.MUST_SAVE if op is aten.mm.default else \
        CheckpointPolicy.PREFER_RECOMPUTE


@pytest.mark.parametrize("policy", [
    [aten.mm.default], [aten.mm.default, aten.sigmoid.default], [], by_name,
    lambda context, op, *args, **kwargs: op is aten.mm.default,
    lambda context, op, *args, **kwargs: CheckpointPolicy.PREFER_CPU_OFFLOAD,
    lambda context, op, *args, **kwargs: CheckpointPolicy.MUST_RECOMPUTE])
def test_gradients_are_the_plain_ones(policy):
    wanted = gradients(function)
    found = gradients(lambda x, y: checkpoint(
        function, x, y, use_reentrant=False, context_fn=contexts(policy)))
    for a, b in zip(found[:3], wanted[:3], strict=True):
        assert a.allclose(b)


@pytest.mark.parametrize("policy, products", [
    ([aten.mm.default], 0), (by_name, 0), ([aten.sigmoid.default], 2)])
def test_kept_results_are_not_computed_again(policy, products):
    """Two products go forward, four back: the rest is what the second run does."""
    plain = gradients(function)[3].count("mm.default")
    made = gradients(lambda x, y: checkpoint(
        function, x, y, use_reentrant=False, context_fn=contexts(policy)))
    assert plain == 6
    assert made[3].count("mm.default") == plain + products


def test_what_a_policy_is_told():
    told = []

    def policy(context, op, *args, **kwargs):
        assert isinstance(context, SelectiveCheckpointContext)
        assert not context.is_recompute
        told.append((str(op), tuple(context.op_output.shape), len(args)))
        return CheckpointPolicy.PREFER_SAVE

    gradients(lambda x, y: checkpoint(
        function, x, y, use_reentrant=False, context_fn=contexts(policy)))
    assert told == [("aten.mm.default", (4, 4), 2)] * 2 + [
        ("aten.sigmoid.default", (4, 4), 1), ("aten.mul.Tensor", (4, 4), 2)]


def test_several_results_and_modules():
    torch.manual_seed(1)
    model = torch.nn.Sequential(torch.nn.Linear(6, 8), torch.nn.LayerNorm(8), torch.nn.GELU(),
                                torch.nn.Linear(8, 3))
    x = torch.randn(5, 6)
    found = []
    for saved in (None, [aten.addmm.default], [aten.native_layer_norm.default],
                  [aten.t.default, aten.gelu.default]):
        model.zero_grad()
        if saved is None:
            made = model(x)
        else:
            made = checkpoint(model, x, use_reentrant=False, context_fn=contexts(saved))
        made.sum().backward()
        found.append([p.grad for p in model.parameters()])
    for other in found[1:]:
        for a, b in zip(other, found[0], strict=True):
            assert a.allclose(b, atol=1e-6)


def test_a_second_pass_is_refused():
    x, y = operands()
    made = checkpoint(function, x, y, use_reentrant=False,
                      context_fn=contexts([aten.mm.default]))
    made.sum().backward(retain_graph=True)
    with pytest.raises(RuntimeError, match="Trying to backward an extra time"):
        made.sum().backward()


@pytest.mark.parametrize("allowed", [False, True])
def test_a_kept_result_that_was_written(allowed):
    def writes(x):
        made = x.exp()
        kept.append(made.detach())
        return (made * 2).sin()

    kept = []
    x = torch.ones(2, requires_grad=True)
    made = checkpoint(writes, x, use_reentrant=False, context_fn=contexts(
        [aten.exp.default], allow_cache_entry_mutation=allowed))
    kept[0].add_(0)
    if allowed:
        made.sum().backward()
        assert x.grad is not None
    else:
        with pytest.raises(RuntimeError, match="has been mutated"):
            made.sum().backward()


def test_wrong_policies():
    with pytest.raises(ValueError, match="to be an OpOverload but got: aten.mm"):
        create_selective_checkpoint_contexts([aten.mm])
    with pytest.raises(TypeError, match="either a function or a list"):
        create_selective_checkpoint_contexts(3)
