"""Orthogonal, weight-normalised and spectrally normalised weights, in the new way and the old."""

import copy
import pickle

import pytest

import yesca as torch
from yesca import nn
from yesca.nn import utils
from yesca.nn.utils import parametrizations, parametrize


def layer_of(text, seed=3):
    torch.manual_seed(seed)
    return eval("nn." + text)


# ---- orthogonal -----------------------------------------------------------------------------

#: (layer, map, trivialization) -> the weight's entries, as PyTorch gives them for seed 3.
ORTHOGONAL = {
    ("Linear(3, 3)", "matrix_exp", True): [
        -0.67247, -0.51873, -0.52792, -0.64169, 0.76406, 0.06664, 0.36879, 0.38358, -0.84668],
    ("Linear(3, 3)", "matrix_exp", False): [
        0.80929, 0.46146, -0.36345, -0.54635, 0.81860, -0.17721, 0.21575, 0.34198, 0.91460],
    ("Linear(3, 3)", "cayley", True): [
        -0.67247, -0.51873, -0.52792, -0.64169, 0.76406, 0.06664, 0.36879, 0.38358, -0.84668],
    ("Linear(3, 3)", "cayley", False): [
        0.82265, 0.44866, -0.34921, -0.52760, 0.83130, -0.17485, 0.21185, 0.32809, 0.92059],
    ("Linear(3, 3)", "householder", True): [
        -0.67247, -0.51873, -0.52792, -0.64169, 0.76406, 0.06664, 0.36879, 0.38358, -0.84668],
    ("Linear(3, 3)", "householder", False): [
        -0.67248, -0.51873, -0.52792, -0.64169, 0.76406, 0.06664, 0.36879, 0.38358, -0.84668],
    ("Linear(3, 2)", "matrix_exp", True): [
        -0.74132, -0.58982, -0.32025, -0.24082, 0.67914, -0.69338],
    ("Linear(3, 2)", "matrix_exp", False): [
        0.87150, -0.47661, -0.11547, 0.35642, 0.77732, -0.51840],
    ("Linear(3, 2)", "cayley", True): [
        -0.74132, -0.58982, -0.32025, -0.24082, 0.67914, -0.69338],
    ("Linear(3, 2)", "cayley", False): [
        0.88133, -0.45796, -0.11631, 0.34697, 0.79436, -0.49861],
    ("Linear(3, 2)", "householder", True): [
        -0.74132, -0.58982, -0.32025, -0.24082, 0.67914, -0.69338],
    ("Linear(3, 2)", "householder", False): [
        -0.74132, -0.58982, -0.32025, -0.24082, 0.67914, -0.69338],
}


@pytest.mark.parametrize("text, by, trivial", ORTHOGONAL)
def test_values_of_orthogonal_weights(text, by, trivial):
    layer = parametrizations.orthogonal(
        layer_of(text), orthogonal_map=by, use_trivialization=trivial)
    wanted = ORTHOGONAL[text, by, trivial]
    assert layer.weight.flatten().tolist() == pytest.approx(wanted, abs=2e-5)


@pytest.mark.parametrize("text", ["Linear(3, 3)", "Linear(2, 4)", "Linear(4, 2)"])
@pytest.mark.parametrize("by", ["matrix_exp", "cayley", "householder"])
@pytest.mark.parametrize("trivial", [True, False])
def test_orthogonal_weights_stay_so(text, by, trivial):
    layer = parametrizations.orthogonal(
        layer_of(text).double(), orthogonal_map=by, use_trivialization=trivial)
    optimizer = torch.optim.SGD(layer.parameters(), lr=0.3)
    for _ in range(2):
        size = min(layer.weight.shape)
        weight = layer.weight if layer.weight.shape[0] >= size else layer.weight.T
        product = weight.T @ weight if weight.shape[1] == size else weight @ weight.T
        assert torch.allclose(product, torch.eye(size, dtype=torch.float64))
        layer(torch.rand(3, layer.in_features, dtype=torch.float64)).square().sum().backward()
        optimizer.step()


def test_assigning_to_orthogonal_weights():
    layer = parametrizations.orthogonal(nn.Linear(3, 3))
    assert list(layer.state_dict()) == [
        "bias", "parametrizations.weight.original", "parametrizations.weight.0.base"]
    layer.weight = -torch.eye(3)
    assert torch.allclose(layer.weight, -torch.eye(3), atol=1e-6)
    with pytest.raises(ValueError, match=r"Expected a matrix or batch of matrices of shape "):
        layer.weight = torch.ones(2, 2)
    plain = parametrizations.orthogonal(
        nn.Linear(3, 3), orthogonal_map="cayley", use_trivialization=False)
    with pytest.raises(NotImplementedError, match="It is not possible to assign to the matrix ex"):
        plain.weight = torch.eye(3)


def test_unitary_weights():
    layer = parametrizations.orthogonal(nn.Linear(3, 2, dtype=torch.complex128))
    product = layer.weight @ layer.weight.mH
    assert torch.allclose(product, torch.eye(2, dtype=torch.complex128))


@pytest.mark.parametrize("call, message", [
    ("nn.Linear(2, 2), 'bias'", "Expected a matrix or batch of matrices. Got a tensor of 1 dim"),
    ("nn.Linear(2, 2), 'w'", "has no parameter or buffer with name 'w'"),
    ("nn.Linear(2, 2), orthogonal_map='x'", 'orthogonal_map has to be one of "matrix_exp", "cayl'),
    ("nn.Linear(2, 3, dtype=torch.complex64), orthogonal_map='householder'",
     "The householder parametrization does not support complex tensors"),
])
def test_refusals_of_orthogonal(call, message):
    with pytest.raises(ValueError, match=message):
        eval(f"parametrizations.orthogonal({call})")


# ---- weight norm ----------------------------------------------------------------------------


@pytest.mark.parametrize("text, dim, shape", [
    ("Linear(3, 4)", 0, (4, 1)), ("Linear(3, 4)", 1, (1, 3)), ("Linear(3, 4)", None, ()),
    ("Conv2d(2, 3, 2)", 0, (3, 1, 1, 1)), ("Conv2d(2, 3, 2)", 1, (1, 2, 1, 1)),
])
@pytest.mark.filterwarnings("ignore:`torch.nn.utils.weight_norm` is deprecated:FutureWarning")
def test_weight_norm(text, dim, shape):
    plain, new, old = (layer_of(text) for _ in range(3))
    assert parametrizations.weight_norm(new, dim=dim) is new
    assert utils.weight_norm(old, dim=dim) is old
    held = new.parametrizations.weight
    assert held.original0.shape == shape == old.weight_g.shape
    assert torch.equal(held.original1, plain.weight) and torch.equal(old.weight_v, plain.weight)
    assert torch.allclose(new.weight, plain.weight) and torch.allclose(old.weight, plain.weight)
    assert list(old.state_dict()) == ["bias", "weight_g", "weight_v"]
    assert repr(old) == repr(plain)
    assert not new.load_state_dict(old.state_dict()).missing_keys  # the names of the old way
    with torch.no_grad():
        held.original0 *= 2
        old.weight_g *= 2
    x = torch.rand(2, *((3,) if text[0] == "L" else (2, 4, 4)))
    wanted = 2 * (plain(x) - plain(0 * x)) + plain(0 * x)
    assert torch.allclose(new(x), wanted, atol=1e-6) and torch.allclose(old(x), wanted, atol=1e-6)


@pytest.mark.filterwarnings("ignore:`torch.nn.utils.weight_norm` is deprecated:FutureWarning")
def test_weight_norm_by_a_hook():
    layer = nn.Linear(3, 4)
    utils.weight_norm(layer)
    assert str(layer.weight.grad_fn).startswith("<WeightNormInterfaceBackward0")
    with pytest.raises(RuntimeError, match="Cannot register two weight_norm hooks on the same pa"):
        utils.weight_norm(layer)
    with pytest.raises(RuntimeError, match="torch.nn.utils.weight_norm usage"):
        copy.deepcopy(layer)
    layer(torch.ones(1, 3)).sum().backward()
    assert layer.weight_g.grad.shape == (4, 1) and layer.weight_v.grad.shape == (4, 3)
    utils.remove_weight_norm(layer)
    assert isinstance(layer.weight, nn.Parameter) and list(layer.state_dict()) == ["bias", "weight"]
    with pytest.raises(ValueError, match="weight_norm of 'weight' not found in Linear"):
        utils.remove_weight_norm(layer)
    with pytest.raises(ValueError, match="The module passed to `WeightNorm` can't have uninit"):
        utils.weight_norm(nn.LazyLinear(2))


def test_the_old_weight_norm_is_deprecated():
    with pytest.warns(FutureWarning, match="in favor of `torch.nn.utils.parametrizations.weight_n"):
        utils.weight_norm(nn.Linear(2, 2))


def test_gradients_of_weight_norm():
    for dim, shape in ((0, (3, 1)), (1, (1, 2))):
        v = torch.rand(3, 2, dtype=torch.float64, requires_grad=True)
        g = torch.rand(shape, dtype=torch.float64, requires_grad=True)
        assert torch.autograd.gradcheck(torch._weight_norm, (v, g, dim))
        assert torch.autograd.gradgradcheck(torch._weight_norm, (v, g, dim))


# ---- spectral norm --------------------------------------------------------------------------

#: What PyTorch gives for seed 4: u after the start, and the sum of the weight in training.
SPECTRAL = {
    "Linear(3, 4)": (
        [0.14369, 0.75807, -0.63613, 0.00475], -0.52698,
        [0.37799, 0.30429, 0.39091, 0.78213], -0.71609),
    "Conv2d(2, 3, 2)": (
        [0.88814, 0.26064, 0.37852], -0.36076,
        [-0.05919, 0.77018, 0.63508], -0.46870),
    "ConvTranspose2d(2, 3, 2)": (
        [-0.38389, 0.84420, -0.37410], -0.32183,
        [-0.05919, 0.77018, 0.63508], -0.38640),
}


@pytest.mark.parametrize("text", SPECTRAL)
def test_values_of_spectral_norms(text):
    u_new, sum_new, u_old, sum_old = SPECTRAL[text]
    new = parametrizations.spectral_norm(layer_of(text, 4))
    assert new.parametrizations.weight[0]._u.tolist() == pytest.approx(u_new, abs=2e-5)
    assert float(new.weight.sum()) == pytest.approx(sum_new, abs=1e-4)
    old = utils.spectral_norm(layer_of(text, 4))
    assert old.weight_u.tolist() == pytest.approx(u_old, abs=2e-5)
    old(torch.ones((1, 2, 3, 3) if "Conv" in text else (1, 3)))
    assert float(old.weight.sum()) == pytest.approx(sum_old, abs=1e-4)


def test_the_largest_singular_value_is_one():
    layer = parametrizations.spectral_norm(nn.Linear(6, 5), n_power_iterations=20)
    assert float(torch.linalg.matrix_norm(layer.weight, 2)) == pytest.approx(1, abs=1e-3)
    old = utils.spectral_norm(nn.Linear(6, 5), n_power_iterations=50)
    old(torch.ones(1, 6)).sum().backward()
    assert float(torch.linalg.matrix_norm(old.weight, 2)) == pytest.approx(1, abs=1e-3)
    assert old.weight_orig.grad is not None
    vector = parametrizations.spectral_norm(nn.Linear(6, 5), "bias").bias
    assert float(vector.norm()) == pytest.approx(1)


def test_evaluation_moves_nothing():
    for layer in (parametrizations.spectral_norm(nn.Linear(3, 4)).eval(),
                  utils.spectral_norm(nn.Linear(3, 4)).eval()):
        x, before = torch.ones(1, 3), layer.state_dict()
        before = {name: value.clone() for name, value in before.items()}
        assert torch.equal(layer(x), layer(x))
        assert all(torch.equal(before[k], v) for k, v in layer.state_dict().items())


def test_states_of_the_old_way():
    layer = utils.spectral_norm(layer_of("Linear(3, 4)"))
    state = layer.state_dict()
    assert list(state) == ["bias", "weight_orig", "weight_u", "weight_v"]
    assert state._metadata[""] == {"version": 1, "spectral_norm": {"weight.version": 1}}
    other = utils.spectral_norm(nn.Linear(3, 4))
    for given in (state, dict(state)):
        assert repr(other.load_state_dict(given)) == "<All keys matched successfully>"
    # A file of version 0: the weight is there, v is not.
    layer(torch.ones(1, 3))
    early = dict(layer.state_dict(), weight=layer.weight.detach())
    del early["weight_v"]
    other.load_state_dict(early)
    other.eval(), layer.eval()
    x = torch.rand(2, 3)
    assert torch.allclose(other(x), layer(x), atol=1e-5)
    del early["weight_u"]
    early["weight"] = layer.weight.detach()
    with pytest.raises(RuntimeError, match='Missing key.*"weight_u"'):
        other.load_state_dict(early)


def test_removing_the_old_way():
    layer = utils.spectral_norm(nn.Linear(3, 4))
    with pytest.raises(RuntimeError, match="Cannot register two spectral_norm hooks on the same"):
        utils.spectral_norm(layer)
    wanted = layer.eval()(torch.ones(1, 3))
    utils.remove_spectral_norm(layer)
    assert torch.equal(layer(torch.ones(1, 3)), wanted)
    assert list(layer.state_dict()) == ["bias", "weight"]
    layer.load_state_dict(nn.Linear(3, 4).state_dict())
    assert pickle.loads(pickle.dumps(layer)).weight.shape == (4, 3)
    with pytest.raises(ValueError, match="spectral_norm of 'weight' not found in Linear"):
        utils.remove_spectral_norm(layer)


@pytest.mark.parametrize("call, error, message", [
    ("utils.spectral_norm(nn.Linear(2, 2), n_power_iterations=0)", ValueError, "to be positive"),
    ("parametrizations.spectral_norm(nn.Linear(2, 2), n_power_iterations=0)", ValueError,
     "Expected n_power_iterations to be positive, but got n_power_iterations=0"),
    ("parametrizations.spectral_norm(nn.Linear(2, 2), dim=2)", IndexError,
     r"Dimension out of range \(expected to be in range of \[-2, 1\] but got 2\)"),
    ("parametrizations.spectral_norm(nn.Linear(2, 2), 'w')", ValueError, "with name 'w'"),
    ("utils.spectral_norm(nn.Linear(2, 2, bias=False), 'bias')", ValueError,
     "`SpectralNorm` cannot be applied as parameter `bias` is None"),
    ("utils.spectral_norm(nn.LazyLinear(2))", ValueError, "can't have uninitialized parameters"),
])
def test_refusals_of_spectral_norms(call, error, message):
    with pytest.raises(error, match=message):
        eval(call)


def test_one_by_one_removal_of_parametrizations():
    layer = parametrizations.spectral_norm(parametrizations.weight_norm(nn.Linear(3, 3)))
    assert float(torch.linalg.matrix_norm(layer.weight, 2)) < 1.5
    parametrize.remove_parametrizations(layer, "weight")
    assert type(layer) is nn.Linear
