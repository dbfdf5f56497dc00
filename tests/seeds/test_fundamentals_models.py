"""What the series on fundamentals says of modules, layers and losses, episodes 9 to 12."""

import math
from collections import OrderedDict

import pytest

import yesca as torch
from yesca import nn
from yesca.nn import functional as F

# --- episode 9: nn.Module -------------------------------------------------------------------------


class Dense(nn.Module):
    def __init__(self, inputs, outputs):
        super().__init__()
        self.linear = nn.Linear(inputs, outputs)

    def forward(self, x):
        return torch.relu(self.linear(x))


class Classifier(nn.Module):
    """The blank skeleton: an inventory, and an assembly line."""

    built = 0

    def __init__(self):
        super().__init__()
        type(self).built += 1
        self.flatten = nn.Flatten()
        self.stack = nn.Sequential(Dense(28 * 28, 16), Dense(16, 8))
        self.head = nn.Linear(8, 10)
        self.note = "no parameter"

    def forward(self, x):
        return self.head(self.stack(self.flatten(x)))


def test_assigned_modules_are_tracked_as_a_tree():
    model = Classifier()
    assert [name for name, _ in model.named_modules()] == [
        "", "flatten", "stack", "stack.0", "stack.0.linear", "stack.1", "stack.1.linear", "head"]
    assert [name for name, _ in model.named_parameters()] == [
        "stack.0.linear.weight", "stack.0.linear.bias", "stack.1.linear.weight",
        "stack.1.linear.bias", "head.weight", "head.bias"]
    assert [name for name, _ in model.named_children()] == ["flatten", "stack", "head"]
    assert sum(p.numel() for p in model.parameters()) == 784 * 16 + 16 + 16 * 8 + 8 + 8 * 10 + 10
    assert all(p.requires_grad and p.is_leaf for p in model.parameters())
    assert model.get_submodule("stack.1.linear") is model.stack[1].linear


def test_the_tree_is_one_unit():
    model = Classifier()
    model.eval()
    assert not any(each.training for each in model.modules())
    model.double()
    assert {p.dtype for p in model.parameters()} == {torch.float64}
    model.requires_grad_(False)
    assert not any(p.requires_grad for p in model.parameters())
    seen = []
    assert model.apply(lambda module: seen.append(type(module).__name__)) is model
    assert seen[-1] == "Classifier" and seen.count("Dense") == 2  # children first


def test_init_runs_once_and_forward_at_each_call():
    before = Classifier.built
    model = Classifier()
    for _ in range(3):
        assert model(torch.rand(4, 28, 28)).shape == (4, 10)
    assert Classifier.built == before + 1


def test_a_module_needs_init_and_forward():
    class Early(nn.Module):
        def __init__(self):
            self.layer = nn.Linear(2, 2)

    class Silent(nn.Module):
        pass

    with pytest.raises(AttributeError, match=r"cannot assign module before Module.__init__\(\)"):
        Early()
    with pytest.raises(NotImplementedError, match='Module .* is missing the required "forward"'):
        Silent()(torch.ones(2))


def test_a_call_runs_the_hooks_and_forward_skips_them():
    model, x, seen = Classifier(), torch.rand(2, 28, 28, requires_grad=True), []
    handles = [
        model.register_forward_pre_hook(lambda module, inputs: seen.append("pre")),
        model.head.register_forward_hook(lambda module, inputs, output: seen.append("head")),
        model.register_forward_hook(lambda module, inputs, output: output * 0),
        model.register_full_backward_hook(lambda module, given, sent: seen.append("backward")),
    ]
    direct = model.forward(x)
    assert seen == ["head"]  # only what forward itself calls
    direct.sum().backward()
    assert seen == ["head"]
    out = model(x)
    assert seen == ["head", "pre", "head"] and out.eq(0).all() and direct.ne(0).any()
    out.sum().backward()
    assert seen[-1] == "backward"
    for handle in handles:
        handle.remove()
    seen.clear()
    assert model(x).equal(direct) and seen == []


def test_one_command_moves_all_parameters():
    device = "cuda" if torch.cuda.is_available() else "cpu"
    model = Classifier()
    assert {str(p.device) for p in model.parameters()} == {"cpu"}
    model.register_buffer("steps", torch.zeros(1))
    kept = list(model.parameters())
    assert model.to(device) is model
    assert model(torch.rand(1, 28, 28, device=device)).device.type == device
    assert all(now is then for now, then in zip(model.parameters(), kept, strict=True))
    model.to("meta")
    assert {p.device.type for p in model.parameters()} == {"meta"} == {model.steps.device.type}
    assert model(torch.rand(5, 28, 28, device="meta")).shape == (5, 10)
    assert isinstance(torch.backends.mps.is_available(), bool)


# --- episode 10: linear layers and activations ----------------------------------------------------


def test_784_pixels_become_512_features():
    image, layer = torch.rand(1, 28, 28), nn.Linear(in_features=784, out_features=512)
    flat = nn.Flatten()(image)
    assert flat.shape == (1, 784) and flat[0, 30].item() == image[0, 1, 2].item()
    out = layer(flat)
    assert out.shape == (1, 512)
    assert (layer.weight.shape, layer.bias.shape) == ((512, 784), (512,))
    by_hand = [(flat[0] * layer.weight[row]).sum() + layer.bias[row] for row in (0, 77, 511)]
    torch.testing.assert_close(out[0, [0, 77, 511]], torch.stack(by_hand))
    torch.testing.assert_close(out, flat @ layer.weight.T + layer.bias)


def test_linear_is_affine():
    layer, x, y = nn.Linear(5, 3).double(), torch.randn(5).double(), torch.randn(5).double()
    zero = layer(torch.zeros(5).double())
    assert zero.equal(layer.bias)
    torch.testing.assert_close(layer(2 * x + 3 * y) - zero,
                               2 * (layer(x) - zero) + 3 * (layer(y) - zero))
    assert layer(torch.zeros(7, 2, 5).double()).shape == (7, 2, 3)


def test_ten_linear_layers_are_one():
    torch.manual_seed(0)
    layers = [nn.Linear(6, 6).double() for _ in range(10)]
    x = torch.randn(20, 6).double()
    matrix, shift = torch.eye(6).double(), torch.zeros(6).double()
    for layer in layers:
        matrix, shift = layer.weight @ matrix, layer.weight @ shift + layer.bias
    torch.testing.assert_close(nn.Sequential(*layers)(x), x @ matrix.T + shift)
    bent = nn.Sequential(*(part for layer in layers for part in (layer, nn.ReLU())))
    assert not torch.allclose(bent(x), x @ matrix.T + shift, atol=1e-2)


def test_the_product_of_two_weights_is_the_third():
    a, b = nn.Linear(4, 5, bias=False).double(), nn.Linear(5, 3, bias=False).double()
    c = nn.Linear(4, 3, bias=False).double()
    with torch.no_grad():
        c.weight.copy_(b.weight @ a.weight)
    x = torch.randn(9, 4).double()
    torch.testing.assert_close(b(a(x)), c(x))


def test_relu_is_zero_below_zero_and_nothing_else_above():
    x = torch.tensor([-math.inf, -3.0, -1e-38, -0.0, 0.0, 1e-38, 2.5, math.inf])
    expected = [0, 0, 0, 0, 0, 1.0000000e-38, 2.5, math.inf]
    assert nn.ReLU()(x).tolist() == pytest.approx(expected, rel=1e-6, abs=0)
    assert nn.ReLU()(torch.tensor(math.nan)).isnan()
    big = torch.randn(1000)
    out = nn.ReLU()(big)
    assert out.equal(torch.where(big > 0, big, torch.zeros(()))) and out.min().item() == 0.0
    leaf = torch.tensor([-1.0, 0.0, 2.0], requires_grad=True)
    nn.ReLU()(leaf).sum().backward()
    assert leaf.grad.tolist() == [0, 0, 1]


def test_relu_makes_sparse_representations():
    torch.manual_seed(0)
    hidden = nn.Sequential(nn.Linear(784, 512), nn.ReLU())(torch.randn(64, 784))
    active = hidden.gt(0)
    assert 0.4 < active.float().mean() < 0.6
    assert hidden.count_nonzero() == active.sum()
    assert not active[0].equal(active[1])  # each input has its own


def fitted(model, x, y, steps=300):
    optimizer = torch.optim.Adam(model.parameters(), lr=0.02)
    for _ in range(steps):
        optimizer.zero_grad()
        loss = F.mse_loss(model(x), y)
        loss.backward()
        optimizer.step()
    return loss.item()


def test_only_the_bent_network_learns_what_is_not_linear():
    torch.manual_seed(0)
    x = torch.linspace(-1, 1, 64)[:, None]
    y = x.abs()
    flat = fitted(nn.Sequential(nn.Linear(1, 16), nn.Linear(16, 16), nn.Linear(16, 1)), x, y)
    bent = fitted(nn.Sequential(nn.Linear(1, 16), nn.ReLU(), nn.Linear(16, 1)), x, y)
    best_line = y.var(correction=0).item()  # the best affine function of x is the mean
    assert flat > 0.95 * best_line and bent < 0.01 * best_line


# --- episode 11: nn.Sequential --------------------------------------------------------------------


def perceptron():
    return nn.Sequential(nn.Linear(8, 6), nn.ReLU(), nn.Linear(6, 4), nn.ReLU(), nn.Linear(4, 2))


def test_data_flows_in_the_order_given():
    model, x = perceptron(), torch.randn(3, 8)
    by_hand = x
    for layer in model:
        by_hand = layer(by_hand)
    assert model(x).equal(by_hand)
    x = torch.tensor([3.0])
    assert nn.Sequential(nn.Softplus(), nn.Tanh())(x).equal(torch.tanh(F.softplus(x)))
    assert nn.Sequential(nn.Tanh(), nn.Softplus())(x).equal(F.softplus(torch.tanh(x)))
    assert nn.Sequential()(x) is x


def test_sequential_takes_one_straight_road():
    with pytest.raises(TypeError, match=r"forward\(\) takes 2 positional arguments but 3 were"):
        perceptron()(torch.ones(1, 8), torch.ones(1, 8))

    class Residual(nn.Module):
        def __init__(self, road):
            super().__init__()
            self.road = road

        def forward(self, x):
            return x + self.road(x)

    road, x = nn.Sequential(nn.Linear(4, 4), nn.ReLU()), torch.randn(2, 4)
    assert Residual(road)(x).equal(x + road(x))


def test_named_parameters_are_numbered():
    model = perceptron()
    named = model.named_parameters()
    assert iter(named) is named  # an iterator, not a list
    shapes = {name: tuple(parameter.shape) for name, parameter in named}
    assert shapes == {"0.weight": (6, 8), "0.bias": (6,), "2.weight": (4, 6), "2.bias": (4,),
                      "4.weight": (2, 4), "4.bias": (2,)}
    for name, parameter in model.named_parameters():
        assert parameter.requires_grad and isinstance(parameter, nn.Parameter)
        assert parameter is model.get_parameter(name)
    assert shapes["2.weight"][1] == shapes["0.weight"][0]  # the chain fits
    with pytest.raises(RuntimeError, match="cannot be multiplied|inner sizes"):
        nn.Sequential(nn.Linear(8, 6), nn.Linear(5, 4))(torch.ones(1, 8))


def test_layers_may_be_named():
    model = nn.Sequential(OrderedDict(first=nn.Linear(2, 2), bend=nn.ReLU()))
    assert [name for name, _ in model.named_parameters()] == ["first.weight", "first.bias"]
    assert model.first is model[0]
    assert str(perceptron()).splitlines()[:2] == [
        "Sequential(", "  (0): Linear(in_features=8, out_features=6, bias=True)"]


# --- episode 12: losses ---------------------------------------------------------------------------

COAT = torch.tensor([[0.3, -1.2, 2.0, 0.0, 4.1, 0.5, -0.7, 1.1, 0.2, -2.0]])  # ten raw scores


@pytest.mark.parametrize("loss, target", [
    (nn.MSELoss(), torch.zeros(1, 10)), (nn.L1Loss(), torch.zeros(1, 10)),
    (nn.HuberLoss(), torch.zeros(1, 10)), (nn.CrossEntropyLoss(), torch.tensor([4])),
    (nn.BCEWithLogitsLoss(), torch.ones(1, 10)), (nn.MultiMarginLoss(), torch.tensor([2]))])
def test_a_loss_is_one_number_that_training_brings_down(loss, target):
    scores = COAT.clone().requires_grad_()
    first = loss(scores, target)
    assert first.shape == () and first.dim() == 0 and first.item() > 0
    first.backward()
    with torch.no_grad():
        assert loss(scores - 0.1 * scores.grad, target) < first


def test_mean_square_error_is_the_distance_of_a_guess():
    guess, truth = torch.tensor([21.0, 18.5, 25.0]), torch.tensor([20.0, 19.0, 22.0])
    assert nn.MSELoss()(guess, truth).item() == pytest.approx((1 + 0.25 + 9) / 3)
    assert nn.MSELoss(reduction="sum")(guess, truth).item() == pytest.approx(10.25)
    assert nn.MSELoss()(truth, truth).item() == 0


def test_cross_entropy_takes_raw_scores_and_a_whole_number():
    loss = nn.CrossEntropyLoss()(COAT, torch.tensor([4]))
    scores = COAT[0].tolist()
    by_hand = math.log(sum(math.exp(score) for score in scores)) - scores[4]
    assert loss.item() == pytest.approx(by_hand, rel=1e-5)
    parts = nn.NLLLoss()(nn.LogSoftmax(dim=1)(COAT), torch.tensor([4]))
    torch.testing.assert_close(loss, parts)
    torch.testing.assert_close(loss, nn.CrossEntropyLoss()(COAT + 100, torch.tensor([4])))
    with pytest.raises((RuntimeError, IndexError), match="out of bounds|out of range"):
        nn.CrossEntropyLoss()(COAT, torch.tensor([10]))


def test_low_scores_of_the_right_class_and_high_ones_of_others_cost():
    criterion, right = nn.CrossEntropyLoss(), torch.tensor([4])
    higher, other = COAT.clone(), COAT.clone()
    higher[0, 4] += 1
    other[0, 2] += 1
    base = criterion(COAT, right)
    assert criterion(higher, right) < base < criterion(other, right)


def test_softmax_sums_to_one_and_is_not_undone_by_a_second():
    probabilities = COAT.softmax(dim=1)
    assert probabilities.sum().item() == pytest.approx(1)
    again = probabilities.softmax(dim=1)
    assert again.max() / again.min() < math.e  # scores between 0 and 1 are all nearly alike
    assert probabilities.max() / probabilities.min() > 400


def test_softmax_before_the_loss_leaves_a_floor():
    """A model that is certain and right still pays log(e + 9) - 1."""
    certain = torch.full((1, 10), -50.0)
    certain[0, 4] = 50.0
    criterion, right = nn.CrossEntropyLoss(), torch.tensor([4])
    assert criterion(certain, right).item() == 0
    floor = criterion(certain.softmax(dim=1), right).item()
    assert floor == pytest.approx(math.log(math.e + 9) - 1, rel=1e-5)
    wrong = criterion(certain.softmax(dim=1), torch.tensor([3])).item()
    assert wrong == pytest.approx(floor + 1, rel=1e-5)  # and being certainly wrong costs 1 more
    assert criterion(certain, torch.tensor([3])).item() == pytest.approx(100)


def test_softmax_before_the_loss_shrinks_gradients():
    def gradient(scores, twice):
        scores = scores.clone().requires_grad_()
        seen = scores.softmax(dim=1) if twice else scores
        nn.CrossEntropyLoss()(seen, torch.tensor([3])).backward()
        return scores.grad.norm().item()

    torch.manual_seed(0)
    for scale in (0.1, 1.0, 5.0):
        scores = torch.randn(1, 10) * scale
        assert gradient(scores, True) < 0.5 * gradient(scores, False)
    certain_and_wrong = torch.zeros(1, 10)
    certain_and_wrong[0, 0] = 30.0
    assert gradient(certain_and_wrong, True) < 1e-6 < 1 < gradient(certain_and_wrong, False)


def test_softmax_before_the_loss_slows_training():
    torch.manual_seed(0)
    labels = torch.arange(200) % 10
    x = torch.randn(10, 20)[labels] + 0.7 * torch.randn(200, 20)

    def steps_to_learn(last):
        torch.manual_seed(1)
        model = nn.Sequential(nn.Linear(20, 32), nn.ReLU(), nn.Linear(32, 10), last)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.5)
        steps = 0
        while steps < 200:
            steps += 1
            optimizer.zero_grad()
            out = model(x)
            nn.CrossEntropyLoss()(out, labels).backward()
            optimizer.step()
            if out.argmax(1).eq(labels).float().mean() >= 0.9:
                break
        return steps

    raw, twice = steps_to_learn(nn.Identity()), steps_to_learn(nn.Softmax(dim=1))
    assert raw < 40 and twice > 3 * raw
