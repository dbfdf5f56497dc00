"""Names of nodes and what hangs on them, against those that PyTorch 2.13 gave."""

import json
import sys
from pathlib import Path

import pytest

import yesca as torch

FIXTURES = Path(__file__).parents[1] / "fixtures"
GRAPHS = json.loads((FIXTURES / "graphs.json").read_text())


@pytest.fixture(scope="module")
def graph():
    sys.path.insert(0, str(FIXTURES))
    try:
        from graph_cases import graph
    finally:
        sys.path.remove(str(FIXTURES))
    return graph


@pytest.mark.parametrize("program", GRAPHS)
def test_graph(graph, program):
    assert graph(torch, program) == GRAPHS[program]


WRITES = {
    "NormalBackward0": lambda y: y.normal_(), "UniformBackward0": lambda y: y.uniform_(),
    "LogNormalBackward0": lambda y: y.log_normal_(), "CauchyBackward0": lambda y: y.cauchy_(),
    "GeometricBackward0": lambda y: y.geometric_(0.5),
    "ExponentialBackward0": lambda y: y.exponential_(),
    "BernoulliBackward2": lambda y: y.bernoulli_(0.5),
    "BernoulliBackward1": lambda y: y.bernoulli_(torch.ones(3, 3)),
    "RandomBackward0": lambda y: y.random_(1, 3), "RandomBackward1": lambda y: y.random_(3),
    "RandomBackward2": lambda y: y.random_(),
    "ThresholdBackward1": lambda y: torch.nn.functional.threshold(y, 0, 1, inplace=True),
    "torch::autograd::CopyBackwards": lambda y: y.copy_(torch.ones(3)),
    "CopysignBackward0": lambda y: y.copysign_(torch.ones(3)),
    "CopysignBackward1": lambda y: y.copysign_(1.0), "XlogyBackward2": lambda y: y.xlogy_(2.0),
    "ClampMinBackward0": lambda y: y.clamp_min_(0), "ClampMaxBackward0": lambda y: y.clamp_max_(1),
    "CeluBackward1": lambda y: torch.nn.functional.celu_(y),
    "ClampMinBackward1": lambda y: y.clamp_min_(torch.zeros(3)),
}


@pytest.mark.parametrize("name", WRITES)
def test_in_place(name):
    x = torch.full((3, 3), 0.5, requires_grad=True)
    y = x * 1
    WRITES[name](y)
    assert y.grad_fn.name() == name
    assert y.grad_fn.next_functions[0][0].name() == "MulBackward0"
    y.sum().backward()
    y = x * 1
    view = y[:]
    WRITES[name](view)
    assert view.grad_fn.name() == "AsStridedBackward0" and "CopySlices" in y.grad_fn.name()


def test_numbers_have_nodes_of_their_own():
    x = torch.full((3,), 0.5, requires_grad=True)
    for made, name, edges in ((torch.xlogy(x, x), "XlogyBackward0", 2),
                              (torch.xlogy(2.0, x), "XlogyBackward1", 1),
                              (torch.xlogy(x, 2.0), "XlogyBackward2", 1),
                              (torch.copysign(x, 1.0), "CopysignBackward1", 1)):
        assert made.grad_fn.name() == name and len(made.grad_fn.next_functions) == edges
    assert torch.nn.functional.celu(x).grad_fn.name() == "CeluBackward0"
    with pytest.raises(RuntimeError, match="ZeroDivisionError: alpha cannot be 0 for CELU"):
        torch.nn.functional.celu(x, 0)
    assert x[:].grad_fn.name() == "SliceBackward0" and x[...].grad_fn.name() == "AliasBackward0"


@pytest.mark.parametrize("name", ["clamp_min", "clamp_max"])
def test_one_bound(name):
    x = torch.tensor([1.0, -1.0, 0.5, 2.0], requires_grad=True)
    bound = torch.tensor([0.5, 0.5, 0.5, 3.0], requires_grad=True)
    getattr(torch, name)(x, bound).sum().backward()
    low = name == "clamp_min"
    assert x.grad.tolist() == ([1.0, 0.0, 1.0, 0.0] if low else [0.0, 1.0, 1.0, 1.0])
    assert bound.grad.tolist() == ([0.0, 1.0, 0.0, 1.0] if low else [1.0, 0.0, 0.0, 0.0])
    with pytest.raises(RuntimeError, match="result type Float can't be cast to the desired output"):
        getattr(torch.arange(4), f"{name}_")(0.5)
    with pytest.raises(NotImplementedError, match=f'"{name}_scalar_cpu" not implemented for'):
        getattr(torch, name)(torch.tensor([True]), True)


X = torch.tensor([0.5, 2.0, 3.0], requires_grad=True)
#: Operators with several forms: PyTorch's node has another name, and edges for tensors only.
FORMS = {
    "PowBackward0": lambda: X**2.5, "PowBackward1": lambda: X**X, "PowBackward2": lambda: 2**X,
    "XlogyBackward0": lambda: torch.xlogy(X, X), "XlogyBackward1": lambda: torch.xlogy(2, X),
    "XlogyBackward2": lambda: torch.xlogy(X, 2), "CopysignBackward0": lambda: torch.copysign(X, X),
    "CopysignBackward1": lambda: torch.copysign(X, 1.0), "RoundBackward0": lambda: X.round(),
    "RoundBackward1": lambda: X.round(decimals=1), "MedianBackward0": lambda: X.median(),
    "MedianBackward1": lambda: X.median(0)[0], "NanmedianBackward0": lambda: X.nanmedian(),
    "NanmedianBackward1": lambda: X.nanmedian(0)[0], "KthvalueBackward0": lambda: X.kthvalue(1)[0],
}


@pytest.mark.parametrize("name", FORMS)
def test_forms(name):
    for _ in range(3):  # also where the call has been learnt
        node = FORMS[name]().grad_fn
        assert node.name() == name
        edges = 2 if name in ("PowBackward1", "XlogyBackward0", "CopysignBackward0") else 1
        assert len([e for e, _ in node.next_functions if e is not None]) == edges
        if edges == 1:
            assert len(node.next_functions) == 1


SQUARE = torch.arange(16.0, dtype=torch.float64).view(4, 4).requires_grad_()
IMAGE = torch.arange(16.0, dtype=torch.float64).view(1, 4, 2, 2).requires_grad_()
#: Composites that are one node, whose derivative is the way back.
WHOLE = {
    "TraceBackward0": (torch.trace, SQUARE), "Rot90Backward0": (torch.rot90, SQUARE),
    "PixelShuffleBackward0": (lambda x: torch.pixel_shuffle(x, 2), IMAGE),
    "PixelUnshuffleBackward0": (lambda x: torch.pixel_unshuffle(x, 2), IMAGE),
    "ChannelShuffleBackward0": (lambda x: torch.channel_shuffle(x, 2), IMAGE),
    "TransposeBackward0_copy": (lambda x: torch.transpose_copy(x, 0, 1), SQUARE),
    "DiagonalBackward0_copy": (torch.diagonal_copy, SQUARE),
    "ViewBackward0_copy": (lambda x: torch.view_copy(x, (16,)), SQUARE),
    "NarrowCopyBackward0": (lambda x: torch.narrow_copy(x, 0, 1, 2), SQUARE),
    "UnbindBackward0_copy": (lambda x: torch.unbind_copy(x)[1], SQUARE),
}


@pytest.mark.parametrize("name", WHOLE)
def test_composites_that_are_one_node(name):
    function, x = WHOLE[name]
    node = function(x).grad_fn
    assert node.name() == name and len(node.next_functions) == 1
    assert torch.autograd.gradcheck(function, (x,))
    assert torch.autograd.gradgradcheck(function, (x,))


@pytest.mark.parametrize("name", ["eq", "ne", "lt", "le", "gt", "ge"])
def test_comparisons_in_place(name):
    """What they write does not hang on the operands: gradients are zeros."""
    x = torch.tensor([0.5, 2.0, 3.0], requires_grad=True)
    for other, overload in ((2, 0), (x, 1)):
        y = x * 1
        getattr(y, f"{name}_")(other)
        assert y.grad_fn.name() == f"{name.title()}Backward{overload}"
        assert torch.autograd.grad(y.sum(), x)[0].tolist() == [0.0, 0.0, 0.0]


#: The node of a gradient bears the name of PyTorch's last step.
SLOPES = {
    "MulBackward0": lambda x: x.sin(), "DivBackward0": lambda x: x.log(),
    "WhereBackward0": lambda x: x.clamp(0, 1), "MaskedFillBackward0": lambda x: x.maximum(X),
    "NegBackward0": lambda x: -x, "SigmoidBackwardBackward0": lambda x: x.sigmoid(),
    "MulBackward1": lambda x: x.exp2(),
    "ThresholdBackwardBackward0": lambda x: x.relu(),
    "HuberLossBackwardBackward0": lambda x: torch.nn.functional.huber_loss(
        x, X.detach(), reduction="none"),
}


@pytest.mark.parametrize("name", SLOPES)
def test_gradients_of_gradients(name):
    x = torch.tensor([0.5, 2.0, 3.0], requires_grad=True)
    slope, = torch.autograd.grad(SLOPES[name](x), x, torch.ones(3, requires_grad=True),
                                 create_graph=True)
    assert slope.grad_fn.name() == name


def test_in_place_composites_show_what_they_compute():
    y = X * 1
    y.igamma_(torch.ones(3))
    assert y.grad_fn.name() == "IgammaBackward0"
    y = X * 1
    y[:].ldexp_(torch.ones(3))  # a view: its base holds the write
    assert y.grad_fn.name() == "torch::autograd::CopySlices"
