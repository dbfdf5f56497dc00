"""einsum, tensordot and what is made of products, against NumPy and finite differences."""

import numpy as np
import pytest
from finite_differences import array, check_gradients, tensor, values

import yesca as torch
from yesca import functional as ops

SIZES = dict(zip("ijklmb", (2, 3, 4, 5, 2, 3), strict=True))
EQUATIONS = [
    "ij,jk->ki", "ij,jk", "bij,bjk->kbi", "ijl,jkm->kiml", "j,jk->k", "i,ij->j", "bi,bi->b",
    "ij,ij->", "ij,jk,kl->li", "ijb,jkb->bik", "ij,jk->kij", "ij->ji", "ij->", "ijk->kj",
    "ij,kl->il", "i j , j k -> i k", "ji,jk->k", "bij,bkj,bkl->bil",
]


@pytest.mark.parametrize("equation", EQUATIONS)
def test_einsum(equation):
    terms = equation.replace(" ", "").partition("->")[0].split(",")
    shapes = [tuple(SIZES[c] for c in term) for term in terms]
    arrays = [values(s, k) for k, s in enumerate(shapes)]
    np.testing.assert_allclose(array(torch.einsum(equation, *map(tensor, arrays))),
                               np.einsum(equation, *arrays), atol=1e-12)
    check_gradients(lambda *t: torch.einsum(equation, *t), shapes, second=len(shapes) == 2)


@pytest.mark.parametrize("equation, shapes", [
    ("...ij,...jk", [(2, 3, 4), (4, 5)]), ("...ij->ij...", [(2, 3, 4)]), ("i...->...", [(2, 3)]),
    ("ii", [(3, 3)]), ("ii->i", [(3, 3)]), ("ijj->ij", [(2, 3, 3)]),
    ("iij,j->i", [(2, 2, 3), (3,)]), (",ij->ij", [(), (2, 3)]), ("ij,ij->ij", [(1, 3), (2, 3)]),
    ("ij,jk->ik", [(0, 3), (3, 2)]),
])
def test_einsum_diagonals_ellipses_and_ones(equation, shapes):
    arrays = [values(s, k) for k, s in enumerate(shapes)]
    np.testing.assert_allclose(array(torch.einsum(equation, *map(tensor, arrays))),
                               np.einsum(equation, *arrays), atol=1e-12)


def test_einsum_lists():
    a, b = tensor(values((2, 3))), tensor(values((3, 4), 1))
    expected = array(a) @ array(b)
    for made in (torch.einsum(a, [0, 1], b, [1, 2], [0, 2]), torch.einsum(a, [0, 1], b, [1, 2]),
                 torch.einsum("ij,jk->ik", [a, b]),
                 torch.einsum(a, [..., 1], b, [1, 2], [..., 2])):
        np.testing.assert_allclose(array(made), expected, atol=1e-12)


@pytest.mark.parametrize("equation, words", [
    ("ij,kk->i", "subscript k is repeated for operand 1 but the sizes don't match, 4 != 3"),
    ("ij", "more operands were provided than specified in the equation"),
    ("ij,jk,k", "fewer operands were provided than specified in the equation"),
    ("ij,jk->ix", "output subscript x does not appear in the equation for any input operand"),
    ("ij,jk->ii", "output subscript i appears more than once in the output"),
    ("i.,jk", "found '.' for operand 0 that is not part of any ellipsis"),
    ("i1,jk", "invalid subscript given at index 1 in the equation string"),
    ("i,jk", "the number of subscripts in the equation (1) does not match the number of dimensions "
             "(2) for operand 0 and no ellipsis was given"),
    ("ij,ik", "subscript i has size 3 for operand 1 which does not broadcast with previously seen "
              "size 2"),
])
def test_einsum_errors(equation, words):
    with pytest.raises(RuntimeError) as caught:
        torch.einsum(equation, torch.ones(2, 3), torch.ones(3, 4))
    assert words in str(caught.value)


def test_tensordot_and_inner():
    a, b = values((2, 3, 4)), values((4, 3, 5), 1)
    x, y = tensor(a), tensor(b)
    for dims in (1, ([2, 1], [0, 1]), ([-1], [0])):
        np.testing.assert_allclose(array(torch.tensordot(x, y, dims)), np.tensordot(a, b, dims),
                                   atol=1e-12)
    check_gradients(lambda s, t: torch.tensordot(s, t, ([2, 1], [0, 1])), [(2, 3, 4), (4, 3, 2)])
    np.testing.assert_allclose(array(torch.inner(x, tensor(b[0, :, :4]))), np.inner(a, b[0, :, :4]),
                               atol=1e-12)


def test_chains_kron_and_bilinear():
    shapes = [(2, 30), (30, 4), (4, 50), (50, 6)]
    arrays = [values(s, k) for k, s in enumerate(shapes)]
    np.testing.assert_allclose(array(torch.chain_matmul(*map(tensor, arrays))),
                               np.linalg.multi_dot(arrays), atol=1e-9)
    np.testing.assert_allclose(array(torch.kron(tensor(arrays[1][:2]), tensor(arrays[2][0]))),
                               np.kron(arrays[1][:2], arrays[2][0]), atol=1e-12)
    x, y, w = values((2, 3)), values((2, 4), 1), values((5, 3, 4), 2)
    np.testing.assert_allclose(array(torch.nn.functional.bilinear(*map(tensor, (x, y, w)))),
                               np.einsum("bi,oij,bj->bo", x, w, y), atol=1e-12)
    check_gradients(torch.nn.functional.bilinear, [(2, 3), (2, 4), (5, 3, 4), (5,)])


@pytest.mark.parametrize("p", [0, 1, 1.5, 2, 3, float("inf")])
@pytest.mark.parametrize("rows", [4, 27])
def test_cdist(p, rows):
    a, b = values((2, rows, 3)), values((6, 3), 1)
    apart = np.abs(a[:, :, None] - b[None, None])
    expected = (apart.max(-1) if p == float("inf") else (apart != 0).sum(-1) if p == 0
                else (apart**p).sum(-1) ** (1 / p))
    np.testing.assert_allclose(array(ops.cdist(tensor(a), tensor(b), p)), expected, atol=1e-9)
    check_gradients(lambda s, t: ops.cdist(s, t, p), [(2, rows, 3), (6, 3)],
                    second=p not in (0,) and rows == 4)
