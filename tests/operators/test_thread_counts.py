"""Results have the same bits for any number of threads, whatever the order of the chunks.

Every operator whose elements meet (reductions, scans, scatters, products, normalisations and what
is composed of them), forward and backward, in chunks of one element; then sizes at which the pool
splits by itself, and a training.
"""

from functools import partial

import operator_cases
import pytest
import small_chunks
from small_chunks import bits, thread_count

import yesca as torch
from yesca.dispatch.call import OPERATORS

F = torch.nn.functional
COUNTS = (2, 3, 4)
#: They refuse the floating-point numbers of their samples, or to be differentiated.
REFUSED = ("gcd", "lcm", "floor_divide", "heaviside", "igamma", "igammac")
#: What has no derivative: weights of classes, operands of which values are left out.
NOT_TRACKED = {"nll_loss": "weight", "cross_entropy": "weight", "unique": "self",
               "unique_consecutive": "self", "underived": "self", "histogram": "self",
               "histogramdd": "input"}


def WANTED(one):  # noqa: N802 - read by conftest
    return one.kind not in ("view", "elementwise") and one.name not in REFUSED \
        and not one.name.startswith("bitwise_")


@pytest.fixture(scope="module")
def small():
    with small_chunks.small():
        yield


def outcome(function, inputs):
    """The bits of the results of function(*inputs), and of the gradients where there are any."""
    results = function(*inputs)
    results = operator_cases.tensors_in(torch, results)
    found = [bits(r) for r in results]
    tracked = [r for r in results if r.requires_grad]
    if tracked:
        weights = [torch.arange(r.numel(), dtype=torch.float64).add(0.3).sin().reshape(r.shape)
                   .to(r.dtype) for r in tracked]
        wanted = [t for t in operator_cases.tensors_in(torch, inputs) if t.requires_grad]
        gradients = torch.autograd.grad(tracked, wanted, weights, allow_unused=True)
        found += [bits(g) for g in gradients if g is not None]
    return found


def operator(one, case):
    """The outcome of an operator on fresh copies of a case's arguments."""
    torch.manual_seed(0)
    constant = NOT_TRACKED.get(one.name, "")

    def copied(tensor, tracks):
        return tensor.clone().requires_grad_(tracks and tensor.is_floating_point())

    given = []
    for parameter, value in zip(one.schema.parameters, case):
        tracks = parameter.name != constant and not one.name.endswith("_")  # it writes no leaves
        given.append(operator_cases.map_tensors(torch, value, partial(copied, tracks=tracks)))
    return outcome(lambda *args: operator_cases.call(one, getattr(OPERATORS, one.name), args),
                   given)


def test_operators_in_the_smallest_chunks(one, small):
    split = 0
    for case in operator_cases.cases(one, torch)[:4]:
        with thread_count(1):
            expected = operator(one, case)
        for count in COUNTS:
            with thread_count(count):
                assert operator(one, case) == expected, (count, case)
        with small_chunks.backwards() as launcher:
            assert operator(one, case) == expected, case
        split += launcher.split
    assert split, "no stage had more than one chunk"


# ---- sizes at which the pool splits by itself ------------------------------------------------

LARGE = {}


def large(name, *shapes, dtype=torch.float32):
    """Enter a function of tensors of these shapes."""
    def enter(function):
        LARGE[f"{name} {str(dtype)[6:]}"] = (shapes, dtype, function)
        return function

    return enter


def indices(bound, *shape):
    """The same integers below `bound` in every run, some of them often."""
    return (torch.arange(torch.Size(shape).numel()).reshape(shape) * 7919 % 10007) % bound


for _dtype in (torch.float32, torch.bfloat16):
    for _name in ("sum", "mean", "var", "amax", "median", "norm"):
        large(f"{_name} of all", (100_003,), dtype=_dtype)(
            lambda x, name=_name: getattr(x, name)())
    for _name in ("sum", "var", "softmax", "cumsum", "sort"):
        for _shape, _dim in (((70, 1100), 1), ((1100, 70), 0), ((4, 40_000), 1), ((40_000, 4), 0)):
            large(f"{_name} {_shape} {_dim}", _shape, dtype=_dtype)(
                lambda x, name=_name, dim=_dim: getattr(x, name)(dim))
    large("product", (130, 200), (200, 170), dtype=_dtype)(torch.mm)
    large("long product", (2, 9000), (9000, 70), dtype=_dtype)(torch.mm)
    large("tall product", (3000, 500), (500, 1), dtype=_dtype)(torch.mm)
    large("batches of products", (9, 40, 70), (9, 70, 50), dtype=_dtype)(torch.bmm)
    large("linear", (64, 784), (256, 784), (256,), dtype=_dtype)(F.linear)
    large("attention", (2, 2, 100, 32), (2, 2, 100, 32), (2, 2, 100, 32), dtype=_dtype)(
        lambda q, k, v: F.scaled_dot_product_attention(q, k, v, is_causal=True))
    large("convolution", (4, 8, 24, 24), (16, 8, 3, 3), (16,), dtype=_dtype)(
        lambda x, w, b: F.conv2d(x, w, b, 1, 1))
    large("grouped convolution", (4, 8, 48, 48), (16, 2, 3, 3), dtype=_dtype)(
        lambda x, w: F.conv2d(x, w, None, 2, 1, groups=4))
    large("transposed convolution", (4, 8, 16, 16), (8, 8, 3, 3), dtype=_dtype)(
        lambda x, w: F.conv_transpose2d(x, w, None, 2))
    large("batch_norm", (16, 8, 20, 20), (8,), (8,), dtype=_dtype)(
        lambda x, w, b: F.batch_norm(x, None, None, w, b, True))
    large("layer_norm", (300, 200), (200,), (200,), dtype=_dtype)(
        lambda x, w, b: F.layer_norm(x, (200,), w, b))
    large("rms_norm", (300, 200), (200,), dtype=_dtype)(lambda x, w: F.rms_norm(x, (200,), w))
    large("group_norm", (8, 16, 20, 20), (16,), (16,), dtype=_dtype)(
        lambda x, w, b: F.group_norm(x, 4, w, b))
    large("embedding", (500, 32), dtype=_dtype)(lambda w: F.embedding(indices(500, 3000), w))
    large("embedding_bag", (500, 32), dtype=_dtype)(
        lambda w: F.embedding_bag(indices(500, 3000), w, torch.arange(0, 3000, 6)))
    large("indexing", (500, 32), dtype=_dtype)(lambda x: x[indices(500, 3000)])
    large("indexing columns", (32, 500), dtype=_dtype)(lambda x: x[:, indices(500, 3000)])
    large("index_add", (500, 32), (3000, 32), dtype=_dtype)(
        lambda x, y: x.index_add(0, indices(500, 3000), y))
    large("index_put", (500, 32), (3000, 32), dtype=_dtype)(
        lambda x, y: x.index_put((indices(500, 3000),), y, accumulate=True))
    large("gather", (200, 32), dtype=_dtype)(lambda x: x.gather(0, indices(200, 3000, 32)))
    large("scatter_add", (200, 32), (3000, 32), dtype=_dtype)(
        lambda x, y: x.scatter_add(0, indices(200, 3000, 32), y))
    for _name in ("sum", "prod", "mean", "amax"):
        large(f"scatter_reduce {_name}", (200, 32), (3000, 32), dtype=_dtype)(
            lambda x, y, name=_name: x.scatter_reduce(0, indices(200, 3000, 32), y, name))
    large("cross_entropy", (3000, 50), dtype=_dtype)(
        lambda x: F.cross_entropy(x, indices(50, 3000)))
    large("max_pool", (4, 8, 40, 40), dtype=_dtype)(lambda x: F.max_pool2d(x, 3, 2, 1))
    large("adaptive pool", (4, 8, 40, 40), dtype=_dtype)(lambda x: F.adaptive_avg_pool2d(x, 7))
    large("broadcast sum", (1000, 100), (100,), (1000, 1), dtype=_dtype)(
        lambda x, y, z: (x * y + z).tanh())


@pytest.mark.parametrize("name", LARGE)
def test_large_tensors(name):
    shapes, dtype, function = LARGE[name]
    torch.manual_seed(1)
    inputs = [torch.randn(shape).to(dtype).requires_grad_() for shape in shapes]
    with thread_count(1):
        expected = outcome(function, inputs)
    for count in COUNTS:
        with thread_count(count):
            assert outcome(function, inputs) == expected, count
    small_chunks.forget_plans()  # the builtin's plans: the launcher below is the Python path's
    with small_chunks.backwards() as launcher:
        assert outcome(function, inputs) == expected
    assert launcher.split, "too small for more than one chunk"


def trained(count):
    """Losses and parameters of a few steps of the classifier of examples/mnist.py."""
    with thread_count(count):
        torch.manual_seed(0)
        model = torch.nn.Sequential(
            torch.nn.Linear(784, 256), torch.nn.ReLU(), torch.nn.Dropout(0.2),
            torch.nn.Linear(256, 128), torch.nn.ReLU(), torch.nn.Dropout(0.2),
            torch.nn.Linear(128, 10))  # fmt: skip
        optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
        images, labels = torch.rand(5, 64, 784), torch.randint(0, 10, (5, 64))
        losses = []
        for x, y in zip(images, labels, strict=True):
            optimizer.zero_grad()
            loss = F.cross_entropy(model(x), y)
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
        return losses, [bits(p) for p in model.parameters()]


def test_training():
    expected = trained(1)
    assert expected[0][-1] != expected[0][0]
    for count in COUNTS:
        assert trained(count) == expected, count
