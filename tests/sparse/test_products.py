"""Products of sparse matrices: large ones, transforms, compiled ones."""

import pytest

import yesca as torch


def some(rows, columns, count, seed=0, dtype=torch.float64):
    torch.manual_seed(seed)
    places = torch.stack([torch.randint(0, rows, (count,)), torch.randint(0, columns, (count,))])
    return torch.sparse_coo_tensor(places, torch.randn(count, dtype=dtype), (rows, columns))


@pytest.mark.parametrize("count", [0, 1, 40, 300])
def test_against_dense_products(count):
    a, b = some(12, 9, count), some(9, 7, count, 1)
    x, y = torch.randn(9, 5, dtype=torch.float64), torch.randn(4, 12, dtype=torch.float64)
    torch.testing.assert_close(a @ x, a.to_dense() @ x)
    torch.testing.assert_close(y @ a, y @ a.to_dense())
    torch.testing.assert_close((a @ b).to_dense(), a.to_dense() @ b.to_dense())
    torch.testing.assert_close(a @ x.t().contiguous().t()[:, 1], a.to_dense() @ x[:, 1])
    assert (a @ b).is_coalesced()
    torch.testing.assert_close(torch.hspmm(a, x).to_dense(), a.to_dense() @ x)
    torch.testing.assert_close(torch.smm(a, x).to_dense(), a.to_dense() @ x)


def test_under_transforms():
    a = some(4, 3, 6)
    x = torch.randn(5, 3, 2, dtype=torch.float64)
    full = a.to_dense()
    torch.testing.assert_close(torch.vmap(lambda v: torch.sparse.mm(a, v))(x), full @ x)
    found = torch.func.grad(lambda v: torch.sparse.mm(a, v).pow(2).sum())(x[0])
    torch.testing.assert_close(found, 2 * full.t() @ (full @ x[0]))
    _, tangent = torch.func.jvp(lambda v: torch.sparse.mm(a, v), (x[0],), (x[1],))
    torch.testing.assert_close(tangent, full @ x[1])


def test_compiled():
    a, x = some(4, 3, 6), torch.randn(3, 2, dtype=torch.float64, requires_grad=True)

    @torch.compile
    def step(x):
        y = torch.sparse.mm(a, x).relu() + 1
        return torch.sparse.mm(a.t(), y).sum()

    full = a.to_dense()
    for _ in range(3):
        x.grad = None
        made = step(x)
        made.backward()
        got = x.grad.clone()
        x.grad = None
        wanted = (full.t() @ ((full @ x).relu() + 1)).sum()
        wanted.backward()
        torch.testing.assert_close(made, wanted)
        torch.testing.assert_close(got, x.grad)


def test_a_dense_tensor_takes_a_sparse_one_in_place():
    a = some(4, 3, 6)
    x = torch.ones(4, 3, dtype=torch.float64)
    view = torch.ones(3, 4, dtype=torch.float64).t()
    x += a
    view -= a
    torch.testing.assert_close(x, 1 + a.to_dense())
    torch.testing.assert_close(view, 1 - a.to_dense())
    y = torch.ones(4, 3, dtype=torch.float64, requires_grad=True)
    (y + a).pow(2).sum().backward()
    torch.testing.assert_close(y.grad, 2 * (1 + a.to_dense()))


def test_complex_values():
    a = torch.sparse_coo_tensor([[0, 1], [1, 0]], [1j, 2.0], (2, 2), dtype=torch.complex128)
    x = torch.eye(2, dtype=torch.complex128)
    assert torch.sparse.mm(a, x).tolist() == [[0, 1j], [2, 0]]
    assert a.conj().to_dense().tolist() == [[0, -1j], [2, 0]]
    assert a.abs().to_dense().tolist() == [[0, 1], [2, 0]]
