"""The first eigenpairs of symmetric matrices."""

import pytest

import yesca as torch


def symmetric(*batch):
    count = 144
    for size in batch:
        count *= size
    made = (torch.arange(float(count), dtype=torch.float64) * 1.37).sin().reshape(*batch, 12, 12)
    return made + made.mT


@pytest.mark.parametrize("largest", [True, False, None])
@pytest.mark.parametrize("batch", [(), (2,)])
def test_pairs(batch, largest):
    matrix = symmetric(*batch)
    values, vectors = torch.lobpcg(matrix, k=3, largest=largest)
    every = torch.linalg.eigvalsh(matrix)
    expected = every[..., :3] if largest is False else every.flip(-1)[..., :3]
    assert torch.allclose(values, expected) and vectors.shape == (*batch, 12, 3)
    assert torch.allclose(matrix @ vectors, vectors * values.unsqueeze(-2), atol=1e-10)


def test_pairs_for_another_product():
    matrix = symmetric()
    product = 3 * torch.eye(12, dtype=torch.float64) + 0.1
    values, vectors = torch.lobpcg(matrix, k=2, B=product)
    assert torch.allclose(matrix @ vectors, product @ vectors * values, atol=1e-10)
    assert torch.allclose(vectors.mT @ product @ vectors, torch.eye(2, dtype=torch.float64))


def test_how_many():
    start = torch.ones(12, 2, dtype=torch.float64)
    assert torch.lobpcg(symmetric(), X=start)[0].shape == (2,)
    assert torch.lobpcg(symmetric())[0].shape == (1,)
    assert torch.lobpcg(symmetric(), k=1, X=start)[1].shape == (12, 1)


def test_gradients():
    matrix = symmetric().requires_grad_()

    def function(m):
        values, vectors = torch.lobpcg(m + m.mT, k=2)
        return values, vectors.abs()

    assert torch.autograd.gradcheck(function, (matrix,))


def test_refusals():
    with pytest.raises(ValueError, match="smaller than 3 x the number of requested eigenpairs"):
        torch.lobpcg(torch.eye(5), k=2)
    with pytest.raises(AssertionError, match="A must be square"):
        torch.lobpcg(torch.ones(5, 6))
    with pytest.raises(AssertionError, match="A and B must have same shape"):
        torch.lobpcg(torch.eye(5), B=torch.eye(4))
