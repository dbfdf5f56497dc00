"""How gamma and Dirichlet numbers move with their parameters."""

import pytest

import yesca as torch

SHAPES = torch.tensor([0.01, 0.1, 0.3, 0.9, 1.0, 1.5, 3.0, 8.0, 20.0, 100.0], dtype=torch.float64)
#: PyTorch's, at the shapes 0.1, 1, 3, 9, 20, where it sums a series to the end, and where not.
EXACT = {1e-5: [0.0011089279600203113, 0.00011935771978830517, 4.2563585603586516e-05,
                1.5294102131919658e-05, 7.266728200290752e-06],
         0.01: [0.4227934381297028, 0.05055692236986733, 0.01958865894852362,
                0.0076265401226181554, 0.003814674904184482]}
NEAR = {1.0: [6.792141058580078, 1.1736211627259934, 0.5787725001151918, 0.27950098221985464,
              0.15888008399650508],
        3.0: [9.440221149198345, 1.9378658620077207, 1.0570120360850799, 0.5593420120424198,
              0.3374631123394356]}


@pytest.mark.parametrize("place", [0.01, 0.5, 1.0, 3.0, 10.0, 90.0])
def test_gamma_numbers(place):
    x, step = torch.full_like(SHAPES, place), 1e-5 * SHAPES
    rise = (torch.igamma(SHAPES + step, x) - torch.igamma(SHAPES - step, x)) / (2 * step)
    density = torch.exp((SHAPES - 1) * x.log() - x - torch.lgamma(SHAPES))
    found = torch._standard_gamma_grad(SHAPES, x)
    seen = density > 1e-8  # where differences of numbers near 1 say something
    assert torch.allclose(found[seen], (-rise / density)[seen], rtol=1e-4)
    assert bool((found > 0).all())


@pytest.mark.parametrize("place", [*EXACT, *NEAR])
def test_against_stored_numbers(place):
    shapes = torch.tensor([0.1, 1.0, 3.0, 9.0, 20.0], dtype=torch.float64)
    found = torch._standard_gamma_grad(shapes, torch.full_like(shapes, place))
    wanted = torch.tensor(EXACT.get(place, NEAR.get(place)), dtype=torch.float64)
    assert torch.allclose(found, wanted, rtol=1e-14 if place in EXACT else 2e-3)


def test_large_shapes():
    """The series and the expansion for large shapes agree where both hold."""
    for root in (-3.0, -0.5, 0.0, 2.0, 4.0):
        a = torch.tensor([999.9, 1000.1], dtype=torch.float64)
        low, high = torch._standard_gamma_grad(a, a + root * a.sqrt()).tolist()
        assert low == pytest.approx(high, rel=1e-5)


def test_edges():
    a = torch.tensor([1.0, 2.0, -1.0, float("nan"), 2.0])
    found = torch._standard_gamma_grad(a, torch.tensor([0.0, 1e-30, 1.0, 1.0, float("nan")]))
    assert found[0] == 0 and found[1] >= 0 and found[2:].isnan().all()
    assert found.dtype is torch.float32
    with pytest.raises(RuntimeError, match="derivative for aten::_standard_gamma_grad is not impl"):
        torch._standard_gamma_grad(a.requires_grad_(), a.detach()).sum().backward()


def test_drawn_gamma_numbers():
    torch.manual_seed(0)
    shapes = torch.tensor([0.5, 1.0, 2.0, 5.0], requires_grad=True)
    drawn = torch._standard_gamma(shapes)
    assert drawn.grad_fn.name() == "StandardGammaBackward0"
    assert [edge[0].variable for edge in drawn.grad_fn.next_functions] == [shapes]
    (drawn * torch.arange(4.0)).sum().backward()
    slopes = torch._standard_gamma_grad(shapes.detach(), drawn.detach())
    assert torch.equal(shapes.grad, slopes * torch.arange(4.0))
    many = torch.full((20000,), 3.0, requires_grad=True)
    torch._standard_gamma(many).sum().backward()
    assert many.grad.mean().item() == pytest.approx(1.0, abs=0.02)  # the mean is the shape


def test_beta_numbers():
    a = torch.tensor([0.05, 0.5, 2.0, 30.0, 400.0], dtype=torch.float64)
    for place in (1e-6, 0.2, 0.7, 0.95, 0.9999):
        x = torch.full_like(a, place)
        found = torch._dirichlet_grad(x, a, a + 1)  # the distribution function is x**a
        wanted = -x * x.log() / (a * (1 - x))
        assert torch.allclose(found, wanted, rtol=1e-9)
        found = torch._dirichlet_grad(x, torch.ones_like(a), a + 1)  # 1 - (1 - x)**b
        near = torch._dirichlet_grad(x, torch.ones_like(a) + 1e-7, a + 1 + 1e-7)
        assert torch.allclose(found, near, rtol=1e-5)
    found = torch._dirichlet_grad(torch.tensor([0.1, 0.3, 0.5, 0.9]),
                                  torch.tensor([0.5, 1.0, 2.0, 5.0]),
                                  torch.tensor([8.0, 9.0, 3.0, 6.0]))
    assert torch.allclose(found, torch.tensor([0.2211, 0.2162, 0.3466, 0.1896]), rtol=1e-3)


def test_dirichlet_numbers():
    weights = torch.ones(2, 3, requires_grad=True)
    with pytest.raises(RuntimeError, match="derivative for aten::_sample_dirichlet is not implem"):
        torch._sample_dirichlet(weights).sum().backward()
    total = weights.detach().sum(-1, keepdim=True)
    torch.manual_seed(0)
    shares = torch._sample_dirichlet(torch.ones(20000, 3))
    slope = torch._dirichlet_grad(shares[:, 0], torch.ones(()), torch.tensor(3.0))
    # d/da of the mean a / (a + 2) at a = 1
    assert (slope * (1 - shares[:, 0])).mean().item() == pytest.approx(2 / 9, abs=0.01)
    assert total.tolist() == [[3.0], [3.0]]
