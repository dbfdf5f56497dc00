"""`assert_close` of sparse tensors: PyTorch's words."""

import pytest

import yesca as torch

close = torch.testing.assert_close


def some(factor=1.0):
    return torch.sparse_coo_tensor([[0, 1, 1], [2, 0, 2]], [3.0, 4.0, 5.0], (2, 3)) * factor


def test_close_ones():
    close(some(), some().coalesce())
    close(some(), some().to_dense(), check_layout=False)
    twice = torch.sparse_coo_tensor([[0, 0]], [1.0, 2.0], (2,))
    close(twice, torch.tensor([3.0, 0.0]).to_sparse())


@pytest.mark.parametrize(("other", "words"), [
    (some(2.0), "Sparse COO values are not close!\n\nMismatched elements: 3 / 3"),
    (some().to_dense(), "attribute 'layout' do not match: torch.sparse_coo != torch.strided"),
    (torch.sparse_coo_tensor([[0], [0]], [1.0], (2, 3)),
     "The number of specified values in sparse COO tensors does not match: 3 != 1"),
    (torch.sparse_coo_tensor([[0, 1, 1], [2, 0, 1]], [3.0, 4.0, 5.0], (2, 3)),
     "Sparse COO indices are not equal!\n\nMismatched elements: 1 / 6"),
    (torch.ones(2, 3).to_sparse(1),
     "The number of sparse dimensions in sparse COO tensors does not match: 2 != 1")])
def test_differing_ones(other, words):
    with pytest.raises(AssertionError) as caught:
        close(some(), other)
    assert words in str(caught.value)
