"""Random tensors and in-place draws: arguments, errors, the tape, versions, strides.

That the numbers are PyTorch's is tested in tests/runtime/test_generator.py.
"""

import math

import pytest

import yesca as torch
from yesca.dispatch.drawing import bernoulli_mask

IN_PLACE = ("uniform_()", "normal_()", "random_(9)", "bernoulli_()", "exponential_()",
            "geometric_(0.5)", "log_normal_()", "cauchy_()")


def drawn(expression, seed=0, **names):
    torch.manual_seed(seed)
    return eval(expression, {"torch": torch, **names})


def version(tensor):
    return getattr(tensor._version, "value", tensor._version)


# ---- new tensors -------------------------------------------------------------------------------

def test_sizes_come_in_every_form():
    for sizes in ("2, 3", "(2, 3)", "[2, 3]", "size=(2, 3)", "torch.Size([2, 3])"):
        assert drawn(f"torch.rand({sizes})").tolist() == drawn("torch.rand(2, 3)").tolist()
    assert torch.rand(()).shape == () and torch.randn(0, 3).shape == (0, 3)
    with pytest.raises(TypeError, match=r"rand\(\) received an invalid combination"):
        torch.rand()
    with pytest.raises(TypeError, match="argument 'size' .* must be tuple of ints"):
        torch.rand(2.5)
    with pytest.raises(RuntimeError, match="negative dimension -1"):
        torch.randn(-1)


def test_randint_forms():
    expected = drawn("torch.randint(0, 9, (5,))").tolist()
    for form in ("9, (5,)", "9, [5]", "high=9, size=(5,)", "0, 9, size=(5,)",
                 "low=0, high=9, size=(5,)", "torch.tensor(9), (5,)"):
        assert drawn(f"torch.randint({form})").tolist() == expected
    assert torch.randint(3, (2,)).dtype is torch.int64
    assert torch.randint(3, (2,), dtype=torch.float32).dtype is torch.float32
    assert torch.randint_like(torch.zeros(2), 3).dtype is torch.float32
    with pytest.raises(RuntimeError, match="got from=5 >= to=5"):
        torch.randint(5, 5, (2,))
    with pytest.raises(TypeError, match="argument 'size' .* must be tuple of ints, not int"):
        torch.randint(5, 3)
    with pytest.raises(TypeError, match="invalid combination"):
        torch.randint(0, 2.5, (2,))


def test_out_is_resized_and_counted():
    out = torch.zeros(3, dtype=torch.float64)
    assert torch.rand(2, out=out) is out and out.shape == (2,)
    with pytest.raises(RuntimeError, match=r"dtype Float does not match dtype of out .*Double"):
        torch.rand(2, out=out, dtype=torch.float32)
    before = version(out)
    torch.randn(2, out=out)
    assert version(out) == before + 1
    order = torch.empty(5, dtype=torch.int64)
    assert torch.randperm(3, out=order) is order
    assert sorted(order.tolist()) == [0, 1, 2]


def test_options():
    assert torch.rand(2, requires_grad=True).requires_grad
    for made in (torch.rand(2), torch.randn(2), torch.randint(3, (2,)), torch.normal(0, 1, (2,))):
        assert version(made) == 0
    assert torch.randn(2, dtype=torch.float64).dtype is torch.float64
    assert torch.rand(2, device="meta").is_meta and torch.randperm(3, device="meta").is_meta
    with pytest.raises(AssertionError, match="not compiled with CUDA"):
        torch.rand(2, device="cuda")
    with pytest.raises(NotImplementedError, match="not implemented for 'Long'"):
        torch.rand(2, dtype=torch.int64)
    for call in ("torch.rand(2, generator=3)", "torch.zeros(2).normal_(generator=3)"):
        with pytest.raises(TypeError, match=r"'generator' must be torch\.Generator, not int"):
            drawn(call)


def test_like_keeps_strides():
    other = torch.zeros(3, 4).t()
    for made in (torch.rand_like(other), torch.randn_like(other), torch.randint_like(other, 5)):
        assert made.stride() == other.stride() and made.shape == other.shape
    with pytest.raises(TypeError, match="must be Tensor, not list"):
        torch.rand_like([1.0])


def test_permutations():
    assert sorted(torch.randperm(1000).tolist()) == list(range(1000))
    assert torch.randperm(0).shape == (0,)
    assert torch.randperm(5, dtype=torch.int16).dtype is torch.int16
    with pytest.raises(RuntimeError, match="uint8_t without overflow"):
        torch.randperm(300, dtype=torch.uint8)
    with pytest.raises(TypeError, match="must be int, not float"):
        torch.randperm(3.0)


def test_normal_with_tensors():
    mean = torch.tensor([[10.0], [20.0]])
    made = torch.normal(mean, torch.zeros(3))
    assert made.tolist() == [[10.0] * 3, [20.0] * 3]
    assert torch.normal(mean).shape == (2, 1) and torch.normal(0, 1, (3,)).shape == (3,)
    with pytest.raises(RuntimeError, match="normal expects all elements of std >= 0.0"):
        torch.normal(mean, torch.tensor(-1.0))
    with pytest.raises(RuntimeError, match="normal expects std >= 0.0, but found std -1"):
        torch.normal(mean, -1.0)
    with pytest.raises(TypeError, match=r"normal\(\) received an invalid combination"):
        torch.normal(0.0, 1.0)


# ---- in place ----------------------------------------------------------------------------------

@pytest.mark.parametrize("call", IN_PLACE)
def test_draws_count_as_one_write(call):
    target = torch.zeros(6)
    before = version(target)
    same = drawn(f"target.{call}", target=target)
    assert same is target and version(target) == before + 1
    columns = torch.zeros(4, 3)
    before = version(columns)
    drawn(f"columns[:, 1].{call}", columns=columns)
    assert version(columns) == before + 1 and columns[:, ::2].abs().sum().item() == 0


@pytest.mark.parametrize("call", IN_PLACE)
def test_memory_order(call):
    """A tensor in another order of dimensions is drawn as its memory lies."""
    plain = drawn(f"torch.zeros(15)[:].{call}")
    turned = drawn(f"torch.zeros(5, 3).t().{call}")
    assert turned.t().reshape(-1).tolist() == plain.tolist()
    spread = drawn(f"torch.zeros(5, 3, 2)[..., 0].{call}")
    assert spread.reshape(-1).tolist() == plain.tolist()


def test_leaves_and_views_of_leaves_are_refused():
    leaf = torch.ones(3, requires_grad=True)
    for target in (leaf, leaf[:2]):
        for call in IN_PLACE:
            with pytest.raises(RuntimeError, match="leaf Variable that requires grad"):
                drawn(f"target.{call}", target=target)
    before = version(leaf)
    with torch.no_grad():
        leaf.uniform_()
    assert version(leaf) == before + 1 and leaf.requires_grad


def test_the_tape_sees_a_constant():
    leaf = torch.ones(3, requires_grad=True)
    target = leaf * 2
    target.uniform_()
    assert target.requires_grad
    (target * leaf).sum().backward()
    assert leaf.grad.tolist() == target.tolist()
    chances = torch.rand(4, requires_grad=True)
    torch.bernoulli(chances).sum().backward()
    assert chances.grad.tolist() == [0.0] * 4


def test_overlapping_memory_is_refused():
    for call in IN_PLACE:
        with pytest.raises(RuntimeError, match="single memory location"):
            drawn(f"torch.zeros(1).expand(3).{call}")


@pytest.mark.parametrize(("call", "message"), [
    ("uniform_(1, 0)", r"found from=1 > to=0"),
    ("uniform_(0, 1e39)", "to is out of bounds for float"),
    ("uniform_(-3e38, 3e38)", r"found to=3e\+38 and from=-3e\+38"),
    ("normal_(0, -1)", "normal expects std >= 0.0, but found std -1"),
    ("exponential_(0)", "expects lambda > 0.0, but found lambda=0"),
    ("geometric_(1.5)", r"expects p to be in \(0, 1\), but got p=1.5"),
    ("log_normal_(0, 0)", "expects std > 0.0, but found std=0"),
    ("cauchy_(0, 0)", "expects sigma > 0.0, but found sigma=0"),
    ("bernoulli_(1.5)", r"expects p to be in \[0, 1\], but got p=1.5"),
    ("bernoulli_(torch.tensor([0.5, 2.0, 0.1]))", "p_in >= 0 && p_in <= 1"),
    ("bernoulli_(torch.tensor([0.5, 0.5]))", "expanded size of the tensor"),
    ("random_(5, 2)", "but got from=5 >= to=2"),
    ("to(torch.uint8).random_(0, 300)", "to - 1 is out of bounds for unsigned char"),
    ("to(torch.int32).cauchy_()", "continuous probability distribution.* specified int"),
])  # fmt: skip
def test_parameters_that_are_refused(call, message):
    with pytest.raises(RuntimeError, match=message):
        drawn(f"torch.zeros(3).{call}")


def test_types_that_are_refused():
    for call in ("to(torch.int64).normal_()", "bool().geometric_(0.5)", "int().uniform_()",
                 "bernoulli_(torch.tensor([1, 0, 1]))", "to(torch.complex64).bernoulli_()"):
        with pytest.raises(NotImplementedError, match="not implemented for"):
            drawn(f"torch.zeros(3).{call}")
    with pytest.raises(TypeError, match="argument 'from' .* must be float, not str"):
        torch.zeros(3).uniform_("a")
    with pytest.raises(TypeError, match="random_.* invalid combination"):
        torch.zeros(3).random_(2.5)


def test_a_rounded_integer_stays_below_the_bound():
    with pytest.warns(UserWarning, match=r"out of bounds \[-\(2\^11\), 2\^11\]"):
        target = torch.zeros(2000, dtype=torch.float16).random_(0, 65504)
    assert target.max().item() < 65504


# ---- categories and dropout --------------------------------------------------------------------

def test_multinomial():
    weights = torch.tensor([[0.0, 1.0, 2.0], [3.0, 0.0, 0.0]])
    assert torch.multinomial(weights, 4, replacement=True)[1].tolist() == [0] * 4
    assert sorted(torch.multinomial(weights[0], 2).tolist()) == [1, 2]
    assert weights.multinomial(1).shape == (2, 1)
    counts = [0, 0, 0]
    for chosen in drawn("torch.multinomial(w, 3000, True)", w=weights[0]).tolist():
        counts[chosen] += 1
    assert counts[0] == 0 and math.isclose(counts[2] / counts[1], 2, rel_tol=0.15)


@pytest.mark.parametrize(("call", "message"), [
    ("[0.5, 0.5]), 3)", "n_sample > prob_dist.size"),
    ("[0.5, 0.5]), 0)", "cannot sample n_sample <= 0 samples"),
    ("[-0.5, 0.5]), 1)", "either `inf`, `nan` or element < 0"),
    ("[-0.5, 0.5]), 3, True)", "encountering probability entry < 0"),
    ("[float('inf'), 0.5]), 3, True)", "entry = infinity or NaN"),
    ("[0.0, 0.0]), 3, True)", "sum of probabilities <= 0"),
    ("[0.0, 0.0]), 1)", "sum of probabilities <= 0"),
    ("[1, 2]), 1)", "only supports floating-point dtypes for input, got: Long"),
    ("1.0), 1)", "prob_dist must be 1 or 2 dim"),
])  # fmt: skip
def test_weights_that_are_refused(call, message):
    with pytest.raises(RuntimeError, match=message):
        drawn(f"torch.multinomial(torch.tensor({call}")


def test_poisson():
    rates = torch.tensor([0.0, 3.0, 50.0]).expand(500, 3)
    means = drawn("torch.poisson(rates)", rates=rates).mean(0).tolist()
    assert means[0] == 0.0 and abs(means[1] - 3) < 0.4 and abs(means[2] - 50) < 1.5
    with pytest.raises(RuntimeError, match="expected rate to be non-negative"):
        torch.poisson(torch.tensor([-1.0]))


def test_dropout_multiplies_with_a_mask():
    x = torch.rand(40, 5, requires_grad=True)
    y = drawn("torch.dropout(x, 0.25, True)", x=x)
    torch.manual_seed(0)
    mask = bernoulli_mask(x, 0.75)
    assert y.tolist() == (x * (mask / 0.75)).tolist()
    y.sum().backward()
    assert x.grad.tolist() == (mask / 0.75).tolist()
    assert torch.dropout(x, 0.25, False) is x and torch.dropout(x, 0.0, True) is x
    assert torch.dropout(x, 1.0, True).abs().sum().item() == 0
    with pytest.raises(RuntimeError, match="dropout probability has to be between 0 and 1"):
        torch.dropout(x, 1.5, True)


def test_feature_dropout_drops_channels():
    y = drawn("torch.feature_dropout(torch.ones(6, 5, 4), 0.5, True)")
    rows = [set(channel) for sample in y.tolist() for channel in sample]
    assert all(len(values) == 1 for values in rows)
    assert {value for values in rows for value in values} == {0.0, 2.0}


def test_rrelu_in_training():
    x = torch.tensor([-1.0, 2.0, -3.0, 0.0], requires_grad=True)
    y = drawn("torch.rrelu(x, 0.1, 0.3, True)", x=x)
    torch.manual_seed(0)
    first, second = torch.zeros(2, dtype=torch.float64).uniform_(0.1, 0.3).tolist()
    assert math.isclose(y[0].item(), -first, rel_tol=1e-6) and y[1].item() == 2.0
    assert math.isclose(y[2].item(), -3 * second, rel_tol=1e-6)
    y.sum().backward()
    assert math.isclose(x.grad[2].item(), second, rel_tol=1e-6) and x.grad[1].item() == 1.0


# ---- distributions whose parameters are tensors ------------------------------------------------

@pytest.mark.parametrize(("call", "kind", "message"), [
    ("binomial(torch.ones(3), torch.rand(3).double())", RuntimeError,
     "Found dtype Double but expected Float"),
    ("binomial(torch.ones(3), torch.tensor([1, 2, 3]))", ValueError,
     "floating-point dtypes for prob, got: Long"),
    ("binomial(torch.ones(3).long(), torch.rand(3))", ValueError,
     "floating-point dtypes for count, got: Long"),
    ("binomial(torch.ones(3), 0.5)", TypeError, r"argument 'prob' \(position 2\) must be Tensor"),
    ("binomial(torch.ones(3).half(), torch.ones(3).half())", NotImplementedError,
     "\"binomial_cpu\" not implemented for 'Half'"),
    ("_standard_gamma(torch.ones(3).half())", NotImplementedError, "\"gamma_cpu\" not implemented"),
    ("_sample_dirichlet(torch.ones(3).long())", NotImplementedError, "dirichlet. not implemented"),
    ("poisson(torch.ones(3).long())", NotImplementedError, "\"poisson_cpu\" not implemented"),
    ("native_dropout(torch.ones(3), 1.5, True)", RuntimeError, "but got p=-0.5"),
])  # fmt: skip
def test_parameters_of_tensors_that_are_refused(call, kind, message):
    with pytest.raises(kind, match=message):
        drawn(f"torch.{call}")


@pytest.mark.parametrize(("call", "node"), [
    ("poisson(x)", "PoissonBackward0"), ("bernoulli(x)", "BernoulliBackward0"),
    ("normal(x, 1.0)", "NormalBackward1"), ("normal(1.0, x)", "NormalBackward2"),
    ("normal(x, x)", "NormalBackward3")])  # fmt: skip
def test_gradients_of_parameters_are_zero(call, node):
    x = torch.full((3,), 0.5, requires_grad=True)
    made = drawn(f"torch.{call}", x=x)
    assert made.grad_fn.name() == node
    made.sum().backward()
    assert x.grad.tolist() == [0.0, 0.0, 0.0]


def test_an_infinite_mean_stays_infinite():
    x = torch.tensor([math.inf, 0.0], requires_grad=True)
    assert torch.normal(x, 1.0)[0].item() == math.inf


@pytest.mark.parametrize(("call", "name"), [
    ("binomial(x, x)", "binomial"), ("_sample_dirichlet(x)", "_sample_dirichlet"),
    ("bernoulli(x, 0.5)", "bernoulli")])  # fmt: skip
def test_gradients_that_are_refused(call, name):
    x = torch.full((3,), 0.5, requires_grad=True)
    made = drawn(f"torch.{call}", x=x)
    with pytest.raises(RuntimeError, match=f"derivative for aten::{name} is not implemented"):
        made.sum().backward()


def test_binomial_broadcasts_and_takes_a_generator():
    count, prob = torch.tensor([[10.0], [1000.0]]), torch.tensor([0.0, 0.5, 1.0])
    made = torch.binomial(count, prob, torch.Generator().manual_seed(1))
    assert made[:, 0].tolist() == [0, 0] and made[:, 2].tolist() == [10, 1000]
    assert 400 < made[1, 1].item() < 600
    same = torch.binomial(count, prob, generator=torch.Generator().manual_seed(1))
    assert made.tolist() == same.tolist()
    empty = torch.binomial(count[:0], prob)
    assert empty.shape == (0, 3) and torch.binomial(count.to("meta"), prob.to("meta")).is_meta


def test_a_permutation_fits_its_dtype():
    with pytest.raises(RuntimeError, match="n cannot be greater than 2049 for Half type"):
        torch.randperm(2050, dtype=torch.float16)
    with pytest.raises(NotImplementedError, match="\"randperm\" not implemented for 'UInt16'"):
        torch.randperm(3, dtype=torch.uint16)


def test_complex_numbers_in_place() -> None:
    torch.manual_seed(0)
    real = torch.rand(8)
    wanted = torch.complex(real[::2], real[1::2]).tolist()
    for make in (lambda: torch.rand(4, dtype=torch.complex64),
                 lambda: torch.rand_like(torch.zeros(4, dtype=torch.complex64)),
                 lambda: torch.zeros(4, dtype=torch.complex64).uniform_(),
                 lambda: torch.zeros(2, 2, dtype=torch.complex64).t().uniform_().t().flatten()):
        torch.manual_seed(0)
        assert make().tolist() == wanted
    torch.manual_seed(0)
    normal = torch.randn(4, dtype=torch.complex64)
    torch.manual_seed(0)
    assert torch.zeros(4, dtype=torch.complex64).normal_().tolist() == normal.tolist()
