"""Products against NumPy, their gradients against finite differences, threads against one."""

import numpy as np
import pytest
from finite_differences import array, check_gradients, tensor, values

import yesca as torch

PAIRS = [
    ((3,), (3,)), ((2, 3), (3,)), ((3,), (3, 4)), ((2, 3), (3, 4)), ((5, 2, 3), (3, 4)),
    ((2, 5, 2, 3), (3,)), ((3,), (5, 3, 4)), ((2, 3), (5, 3, 4)), ((2, 1, 2, 3), (5, 3, 4)),
    ((0, 3), (3, 4)), ((2, 0), (0, 4)), ((5, 2, 0), (0, 4)), ((37, 65), (65, 43)),
]
DTYPES = {"float32": 1e-5, "float64": 1e-12, "bfloat16": 2e-2, "float16": 4e-3, "int64": 0,
          "uint8": 0}


@pytest.mark.parametrize("dtype", DTYPES)
def test_matmul(dtype):
    kind = getattr(torch, dtype)
    for left, right in PAIRS:
        a, b = values(left), values(right, 1)
        if not kind.is_floating_point:
            a, b = np.trunc(a * 9) % 11, np.trunc(b * 9) % 13
        x, y = tensor(a, kind), tensor(b, kind)
        expected = array(x) @ array(y)
        made = x @ y
        assert made.dtype is kind and tuple(made.shape) == expected.shape and made.is_contiguous()
        if dtype == "uint8":
            expected = expected % 256
        scale = max(1.0, np.abs(expected).max(initial=0))
        np.testing.assert_allclose(array(made), expected, atol=DTYPES[dtype] * scale)


@pytest.mark.parametrize("left, right", [p for p in PAIRS if 0 not in p[0] and p[0] != (37, 65)])
def test_matmul_gradients(left, right):
    check_gradients(lambda a, b: a @ b, [left, right])


def test_transposed_and_stepped_operands():
    a, b = tensor(values((6, 10))), tensor(values((8, 12), 1))
    for x, y in ((a.t()[:6], b.t()[:6]), (a[::2, 1:9:2], b[1:5, ::3]), (a[:, :4], b[:4].flip(0))):
        np.testing.assert_allclose(array(x @ y), array(x) @ array(y), atol=1e-12)
    heads = tensor(values((2, 5, 3, 4))).transpose(1, 2)  # batches that do not join
    np.testing.assert_allclose(array(heads @ heads.transpose(-1, -2)),
                               array(heads) @ np.swapaxes(array(heads), -1, -2), atol=1e-12)


@pytest.mark.parametrize("shape", [(3,), (2, 3), (5, 2, 3), (0, 3)])
@pytest.mark.parametrize("biased", [True, False])
def test_linear(shape, biased):
    x, w, b = (tensor(values(s, k)) for k, s in enumerate([shape, (4, 3), (4,)]))
    made = torch.nn.functional.linear(x, w, b if biased else None)
    expected = array(x) @ array(w).T + (array(b) if biased else 0)
    np.testing.assert_allclose(array(made), expected, atol=1e-12)
    if 0 not in shape:
        shapes = [shape, (4, 3)] + ([(4,)] if biased else [])
        check_gradients(torch.nn.functional.linear, shapes)


@pytest.mark.parametrize("name, shapes", [
    ("addmm", [(2, 4), (2, 3), (3, 4)]), ("addmm", [(4,), (2, 3), (3, 4)]),
    ("addmm", [(2, 1), (2, 3), (3, 4)]), ("addmv", [(2,), (2, 3), (3,)]),
    ("baddbmm", [(5, 2, 4), (5, 2, 3), (5, 3, 4)]), ("addbmm", [(2, 4), (5, 2, 3), (5, 3, 4)]),
    ("addr", [(2, 3), (2,), (3,)]),
])
def test_adding_products(name, shapes):
    start, a, b = (values(s, k) for k, s in enumerate(shapes))
    product = {"addbmm": lambda: (a @ b).sum(0), "addr": lambda: np.outer(a, b)}.get(
        name, lambda: a @ b)()
    x, y, z = (tensor(v) for v in (start, a, b))
    function = getattr(torch, name)
    for beta, alpha in ((1, 1), (0.5, -2.0), (0.5, 3), (2, 0)):
        np.testing.assert_allclose(array(function(x, y, z, beta=beta, alpha=alpha)),
                                   beta * start + alpha * product, atol=1e-12)
    nan = tensor(np.full(shapes[0], np.nan))
    np.testing.assert_allclose(array(function(nan, y, z, beta=0)), product, atol=1e-12)
    check_gradients(lambda *t: function(*t, beta=0.5, alpha=2.0), shapes)


def test_in_place_products_may_read_their_target():
    a, b = values((4, 4)), values((4, 4), 1)
    x, y = tensor(a), tensor(b)
    x.addmm_(x, y, beta=2)
    np.testing.assert_allclose(array(x), 2 * a + a @ b, atol=1e-12)
    z = tensor(b).t()
    z.addmm_(z, y)
    np.testing.assert_allclose(array(z), b.T + b.T @ b, atol=1e-12)


def test_results_do_not_depend_on_threads():
    before = torch.get_num_threads()
    try:
        for dtype in (torch.float32, torch.bfloat16):
            x, y = (tensor(values(s, k), dtype) for k, s in enumerate([(150, 190), (190, 170)]))
            made = []
            for count in (1, 2, 3):
                torch.set_num_threads(count)
                made.append(array(x @ y))
            assert (made[0] == made[1]).all() and (made[0] == made[2]).all()
    finally:
        torch.set_num_threads(before)


def test_names_of_the_tape():
    x, w, b = (tensor(values(s)).requires_grad_() for s in ((2, 3), (3, 3), (3,)))
    linear = torch.nn.functional.linear
    names = [r.grad_fn.name() for r in (x @ w, linear(x, w), linear(x, w, b), x @ b, b @ b,
                                        torch.stack([x, x]) @ w)]
    assert names == ["MmBackward0", "MmBackward0", "AddmmBackward0", "MvBackward0", "DotBackward0",
                     "UnsafeViewBackward0"]


@pytest.mark.parametrize("name, shapes, words", [
    ("mm", [(2, 3), (4, 5)], "mat1 and mat2 shapes cannot be multiplied (2x3 and 4x5)"),
    ("matmul", [(5, 2, 3), (4, 5)], "mat1 and mat2 shapes cannot be multiplied (10x3 and 4x5)"),
    ("mv", [(2, 2), (3,)], "size mismatch, got input (2), mat (2x2), vec (3)"),
    ("bmm", [(2, 3), (3, 5)], "batch1 must be a 3D tensor"),
    ("dot", [(2,), (3,)], "expected tensor [2] and src [3] to have the same number of elements"),
    ("matmul", [(), (3,)], "both arguments to matmul need to be at least 1D, but they are 0D"),
    ("addmm", [(3, 2), (2, 3), (3, 5)], "The expanded size of the tensor (5) must match"),
])
def test_errors(name, shapes, words):
    with pytest.raises(RuntimeError) as caught:
        getattr(torch, name)(*(torch.ones(s) for s in shapes))
    assert words in str(caught.value)


def test_two_dtypes():
    x = torch.ones(2, 2)
    with pytest.raises(RuntimeError, match="expected m1 and m2 to have the same dtype, but got: "
                                           "float != double"):
        torch.mm(x, x.double())


def test_meta():
    x = torch.ones(2, 3, device="meta")
    assert (x @ x.t()).shape == (2, 2) and torch.addmm(x, x @ x.t(), x).device.type == "meta"
