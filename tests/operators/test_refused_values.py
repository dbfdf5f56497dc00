"""Arguments outside of the operators' tables: factories, lists, convolutions, named tensors."""

import pytest

import yesca as torch

F = torch.nn.functional


@pytest.mark.parametrize(("call", "words"), [
    (lambda: torch.ones_like(3), "ones_like(): argument 'input' (position 1) must be Tensor, not"),
    (lambda: torch.empty_like(None), "empty_like(): argument 'input' (position 1) must be Tensor"),
    (lambda: torch.bernoulli(3), "bernoulli(): argument 'input' (position 1) must be Tensor, not"),
    (lambda: torch.arange("a"), "arange(): argument 'end' (position 1) must be Number, not str"),
    (lambda: torch.arange(None), "arange(): argument 'end' (position 1) must be Number, not None"),
    (lambda: torch.eye("a"), "eye(): argument 'n' (position 1) must be int, not str"),
    (lambda: torch.linspace("a", 1, 2), "linspace() received an invalid combination of arguments"),
    (lambda: torch.linspace(0, 1, "a"), "linspace() received an invalid combination of arguments"),
    (lambda: torch.meshgrid("a"), "expected Tensor as element 0 in argument 0, but got str"),
    (lambda: torch.broadcast_tensors(3), "expected Tensor as element 0 in argument 0, but got int"),
    (lambda: torch.einsum("i", None), "expected Tensor as element 0 in argument 1, but got None"),
    (lambda: torch.ones(2).size("a"), "size(): argument 'dim' (position 1) must be int, not str"),
    (lambda: torch.ones(2).stride(1.5), "stride(): argument 'dim' (position 1) must be int, not f"),
    (lambda: torch.ones(4).view("b"), "view() received an invalid combination of arguments"),
    (lambda: torch.ones(2).sum("x"), "sum() received an invalid combination of arguments"),
    (lambda: F.conv2d(None, torch.ones(1, 1, 1, 1)), "conv2d() received an invalid combination"),
    (lambda: F.conv2d([1], torch.ones(1, 1, 1, 1)), "conv2d() received an invalid combination"),
    (lambda: F.dropout(None), "dropout(): argument 'input' (position 1) must be Tensor, not NoneT"),
    (lambda: F.pad(None, (1, 1)), "pad(): argument 'input' (position 1) must be Tensor, not NoneT"),
    (lambda: F.pad(torch.ones(2), 3), "pad(): argument 'pad' (position 2) must be tuple of ints, "),
    (lambda: F.one_hot(None), "one_hot(): argument 'input' (position 1) must be Tensor, not NoneT"),
    (lambda: F.cosine_similarity(None, None), "cosine_similarity(): argument 'x1' (position 1) mu"),
])
def test_types(call, words):
    with pytest.raises(TypeError) as caught:
        call()
    assert str(caught.value).startswith(words)


@pytest.mark.parametrize("make", [torch.zeros, torch.ones, torch.empty, torch.rand, torch.randn])
def test_no_names_of_dimensions(make):
    with pytest.raises(TypeError, match="got an unexpected keyword argument 'names'"):
        make(2, names=("a",))
    assert not hasattr(make(2), "names")


@pytest.mark.parametrize(("rank", "sizes", "dilation", "words"), [
    (1, (0,), 1, "kernel_height: 1 kernel_width: 0"),
    (2, (0, 2), 1, "kernel_height: 0 kernel_width: 2"), (2, (0, 2), 2, r"\[0, 2\]"),
    (3, (0, 1, 2), 1, r"0 x 1 x 2 \(TxHxW\)"), (3, (0, 1, 2), 2, r"\[0, 1, 2\]"),
])
@pytest.mark.parametrize("kind", ["conv", "conv_transpose"])
def test_kernels_without_elements(kind, rank, sizes, dilation, words):
    convolve = getattr(F, f"{kind}{rank}d")
    with pytest.raises(RuntimeError, match=f"kernel size should be greater than zero, but got:? ?"
                                           f"{words}"):
        convolve(torch.ones(1, 1, *(4,) * rank), torch.ones(1, 1, *sizes), dilation=dilation)


@pytest.mark.parametrize(("function", "kernel"), [
    (F.conv1d, "slow_conv2d_cpu"), (F.conv2d, "slow_conv2d_cpu"), (F.conv3d, "slow_conv3d_cpu"),
    (F.conv_transpose2d, "slow_conv_transpose2d_out_cpu")])
def test_truth_values_are_not_convolved(function, kernel):
    rank = int(function.__name__[-2])
    x = torch.ones(1, 1, *(1,) * rank).bool()
    with pytest.raises(NotImplementedError, match=f'"{kernel}" not implemented for \'Bool\''):
        function(x, x)


def test_whole_numbers_beyond_64_bits():
    x, w = torch.ones(1, 1, 2, 2), torch.ones(1, 1, 1, 1)
    for call in (lambda: F.conv2d(x, w, stride=2 ** 63), lambda: F.conv2d(x, w, groups=2 ** 63),
                 lambda: x.cumsum(2 ** 63), lambda: x.sum(2 ** 63)):
        with pytest.raises(ValueError, match="Overflow when unpacking long long"):
            call()


def test_truth_values_of_leaves():
    """Truth values have no derivative: the tape lets them be written, in place and to `out`."""
    x = torch.ones(2, requires_grad=True)
    assert x.logical_not_().tolist() == [0, 0]
    y, out = torch.ones(2), torch.empty(2, dtype=torch.bool)
    for function in (torch.isneginf, torch.isposinf, torch.signbit, torch.logical_not):
        function(x, out=out)
    for function in (torch.eq, torch.lt, torch.logical_and):
        function(x, y, out=out)
    with pytest.raises(RuntimeError, match="don't support automatic differentiation"):
        torch.exp(x, out=torch.empty(2))
    with pytest.raises(RuntimeError, match="leaf Variable that requires grad"):
        x.eq_(y)


def test_norms_of_unknown_order():
    with pytest.raises(RuntimeError, match="Order a not supported"):
        torch.ones(3).norm("a")
    with pytest.raises(RuntimeError, match="Expected a non-complex scalar as the order of norm"):
        torch.linalg.vector_norm(torch.ones(3), 1j)
