"""Arguments that records refuse, and results for which PyTorch has a rule of its own."""

import pytest

import yesca as torch


@pytest.mark.parametrize("start", [torch.tensor([1]), torch.tensor([1, 2]), torch.tensor(1.0),
                                   torch.tensor(True)])
def test_a_start_is_an_integer_of_no_dimension(start: torch.Tensor) -> None:
    x = torch.arange(20).reshape(4, 5)
    for narrow in (lambda: torch.narrow(x, 1, start, 2), lambda: x.narrow(1, start, 2)):
        with pytest.raises(RuntimeError, match="start must be an 0-dim integral Tensor"):
            narrow()
    assert x.narrow(1, torch.tensor(1), 2).tolist() == x[:, 1:3].tolist()


def test_narrow_copy_knows_no_dimension_beyond() -> None:
    x = torch.zeros(2, 3)
    with pytest.raises(RuntimeError, match="Expected dim < "):
        torch.narrow_copy(x, 2, 0, 1)
    with pytest.raises(IndexError, match="Dimension out of range"):
        torch.narrow_copy(x, -3, 0, 1)
    with pytest.raises(IndexError, match="start out of range"):
        torch.narrow(x, 0, 5, 1)


def test_a_power_of_two_numbers_is_refused() -> None:
    with pytest.raises(TypeError, match=r"pow\(\) received an invalid combination of arguments"):
        torch.pow(2, 3)


def test_phases_of_running_logarithms() -> None:
    """From left to right, the phase of the larger number is kept."""
    x = torch.tensor([-1.4590 - 7.8209j, -1.8878 + 3.9578j, -1.3596 + 8.6006j, 2.1889 - 0.81716j,
                      -2.0948 - 1.28e-3j])
    expected = [-7.8209, -8.1272, -8.9065, -0.8513, -0.8410]
    for given in (x, x.to(torch.complex128), torch.stack((x, x), 1)):
        made = torch.logcumsumexp(given, 0)
        phases = made.imag.reshape(5, -1)
        assert torch.allclose(phases.float(), torch.tensor(expected)[:, None], atol=2e-4)
        assert torch.allclose(made.exp(), given.exp().cumsum(0), rtol=1e-4)
    assert torch.logcumsumexp(x[:1], 0).tolist() == x[:1].tolist()
    assert torch.logcumsumexp(x[:0], 0).shape == (0,)
