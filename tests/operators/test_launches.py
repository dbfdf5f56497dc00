"""How many launches an operator takes: the fused ones take one forward and one backward."""

import pytest
from interpreted import python_path

import yesca
from yesca.nn import functional as F
from yesca.runtime import plan


@pytest.fixture
def launches():
    """A counter: launches since it was last asked."""
    seen = plan.launches

    def since():
        nonlocal seen
        count, seen = plan.launches - seen, plan.launches
        return count

    with python_path():
        yield since


def tensor(*shape):
    return yesca.linspace(-1.0, 2.0, yesca.Size(shape).numel()).reshape(shape).requires_grad_()


CASES = {
    "softmax": lambda: (lambda x: F.softmax(x, -1), [tensor(4, 6)]),
    "log_softmax": lambda: (lambda x: F.log_softmax(x, -1), [tensor(4, 6)]),
    "gelu": lambda: (F.gelu, [tensor(4, 6)]),
    "gelu tanh": lambda: (lambda x: F.gelu(x, approximate="tanh"), [tensor(4, 6)]),
    "silu": lambda: (F.silu, [tensor(4, 6)]),
    "layer_norm": lambda: (lambda x, w, b: F.layer_norm(x, (6,), w, b),
                           [tensor(4, 6), tensor(6), tensor(6)]),
    "cross_entropy": lambda: (
        lambda x: F.cross_entropy(x, yesca.tensor([1, 0, 5, 2])), [tensor(4, 6)]),
    "mse_loss": lambda: (lambda x, y: F.mse_loss(x, y), [tensor(4, 6), tensor(4, 6)]),
    "x * y + z": lambda: (lambda x, y: yesca.addcmul(x, x, y), [tensor(4, 6), tensor(4, 6)]),
}
#: What the count adds up to beyond one launch, and why.
MORE = {
    "x * y + z": (0, 1),  # x is used twice: its gradients are added
}


@pytest.mark.parametrize("name", CASES)
def test_forward_and_backward(name, launches):
    function, inputs = CASES[name]()
    weight = yesca.ones_like(function(*inputs).detach())
    launches()
    result = function(*inputs)
    forward, backward = MORE.get(name, (0, 0))
    assert launches() == 1 + forward
    yesca.autograd.grad(result, inputs, weight)
    assert launches() == 1 + backward


@pytest.mark.parametrize("kind", ("Adam", "AdamW", "SGD"))
def test_one_step_of_an_optimizer(kind, launches):
    """All parameters of a group in one launch."""
    parameters = [yesca.nn.Parameter(tensor(*shape).detach()) for shape in ((3, 4), (5,), ())]
    optimizer = getattr(yesca.optim, kind)(parameters, lr=0.1)
    for _ in range(2):  # the first step also makes the state
        for p in parameters:
            p.grad = yesca.ones_like(p)
        launches()
        optimizer.step()
    assert launches() == 1
