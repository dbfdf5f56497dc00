"""Kernels as people write them: grouped products, layer norm both ways, dropout, wide rows."""

import numpy as np
from kernel_checks import run

import yesca as torch
from yesca import kernels
from yesca.kernels import language as tl


@torch.kernel
def grouped_product(a_ptr, b_ptr, c_ptr, M, N, K, am, ak, bk, bn, cm, cn, BM: tl.constexpr,
                    BN: tl.constexpr, BK: tl.constexpr, GROUP: tl.constexpr,
                    ACTIVATION: tl.constexpr):
    pid, wide = tl.program_id(axis=0), tl.cdiv(N, BN)
    group = pid // (GROUP * wide)
    height = min(tl.cdiv(M, BM) - group * GROUP, GROUP)
    row = group * GROUP + pid % (GROUP * wide) % height
    column = pid % (GROUP * wide) // height
    inner = tl.arange(0, BK)
    rows = (row * BM + tl.arange(0, BM)) % M  # the last block begins anew
    columns = (column * BN + tl.arange(0, BN)) % N
    a = a_ptr + rows[:, None] * am + inner[None, :] * ak
    b = b_ptr + inner[:, None] * bk + columns[None, :] * bn
    total = tl.zeros((BM, BN), dtype=tl.float32)
    for k in range(tl.cdiv(K, BK)):
        left = tl.load(a, mask=inner[None, :] < K - k * BK, other=0.0)
        right = tl.load(b, mask=inner[:, None] < K - k * BK, other=0.0)
        total = tl.dot(left, right, total)
        a += BK * ak
        b += BK * bk
    if ACTIVATION == "leaky":
        total = tl.where(total >= 0, total, 0.01 * total)
    rows, columns = row * BM + tl.arange(0, BM), column * BN + tl.arange(0, BN)
    mask = (rows[:, None] < M) & (columns[None, :] < N)
    tl.store(c_ptr + rows[:, None] * cm + columns[None, :] * cn, total.to(tl.float16)
             if c_ptr.dtype.element_ty == tl.float16 else total, mask=mask)


def product(a, b, activation=""):
    (m, k), n = a.shape, b.shape[1]
    *_, c = run(grouped_product, lambda meta: (kernels.cdiv(m, 16) * kernels.cdiv(n, 32),), a, b,
                torch.zeros(m, n, dtype=a.dtype), m, n, k, *a.stride(), *b.stride(), n, 1,
                close=1e-2 if a.dtype is torch.float16 else 1e-5,
                BM=16, BN=32, BK=16, GROUP=2, ACTIVATION=activation)
    return c


def test_grouped_products():
    torch.manual_seed(0)
    a, b = torch.randn(50, 37), torch.randn(37, 70)
    expected = a.numpy() @ b.numpy()
    np.testing.assert_allclose(product(a, b), expected, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(product(a.t().contiguous().t(), b), expected, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(product(a, b, "leaky"),
                               np.where(expected >= 0, expected, 0.01 * expected), rtol=1e-4,
                               atol=1e-5)
    np.testing.assert_allclose(product(a.half(), b.half()).float(), expected, rtol=2e-2, atol=2e-2)


@torch.kernel
def norm_forward(x_ptr, y_ptr, weight_ptr, bias_ptr, mean_ptr, scale_ptr, n, eps,
                 BLOCK: tl.constexpr):
    row = tl.program_id(0)
    x_ptr += row * n
    y_ptr += row * n
    total = tl.zeros([BLOCK], dtype=tl.float32)
    for start in range(0, n, BLOCK):
        columns = start + tl.arange(0, BLOCK)
        total += tl.load(x_ptr + columns, mask=columns < n, other=0.0).to(tl.float32)
    mean = tl.sum(total, axis=0) / n
    squares = tl.zeros([BLOCK], dtype=tl.float32)
    for start in range(0, n, BLOCK):
        columns = start + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + columns, mask=columns < n, other=0.0).to(tl.float32)
        x = tl.where(columns < n, x - mean, 0.0)
        squares += x * x
    scale = 1 / tl.sqrt(tl.sum(squares, axis=0) / n + eps)
    tl.store(mean_ptr + row, mean)
    tl.store(scale_ptr + row, scale)
    for start in range(0, n, BLOCK):
        columns = start + tl.arange(0, BLOCK)
        mask = columns < n
        x = tl.load(x_ptr + columns, mask=mask, other=0.0).to(tl.float32)
        y = (x - mean) * scale * tl.load(weight_ptr + columns, mask=mask)
        tl.store(y_ptr + columns, y + tl.load(bias_ptr + columns, mask=mask), mask=mask)


@torch.kernel
def norm_backward(dx_ptr, dy_ptr, dw_ptr, db_ptr, x_ptr, weight_ptr, mean_ptr, scale_ptr, lock_ptr,
                  n, GROUPS: tl.constexpr, BLOCK: tl.constexpr):
    """The gradient of x; those of weight and bias are added up in GROUPS rows, under locks."""
    row, columns = tl.program_id(0), tl.arange(0, BLOCK)
    mask = columns < n
    group = row % GROUPS
    x = tl.load(x_ptr + row * n + columns, mask=mask, other=0.0)
    dy = tl.load(dy_ptr + row * n + columns, mask=mask, other=0.0)
    weight = tl.load(weight_ptr + columns, mask=mask, other=0.0)
    scale = tl.load(scale_ptr + row)
    normal = tl.where(mask, (x - tl.load(mean_ptr + row)) * scale, 0.0)
    passed = weight * dy
    first, second = tl.sum(normal * passed, axis=0) / n, tl.sum(passed, axis=0) / n
    tl.store(dx_ptr + row * n + columns, (passed - (normal * first + second)) * scale, mask=mask)
    own_w, own_b = dy * normal, dy
    while tl.atomic_cas(lock_ptr + group, 0, 1) == 1:
        pass
    if tl.load(lock_ptr + GROUPS + group) == 0:
        tl.atomic_xchg(lock_ptr + GROUPS + group, 1)
    else:
        own_w += tl.load(dw_ptr + group * n + columns, mask=mask)
        own_b += tl.load(db_ptr + group * n + columns, mask=mask)
    tl.store(dw_ptr + group * n + columns, own_w, mask=mask)
    tl.store(db_ptr + group * n + columns, own_b, mask=mask)
    tl.debug_barrier()
    tl.atomic_xchg(lock_ptr + group, 0)


@torch.kernel
def sum_rows(x_ptr, out_ptr, m, n, ROWS: tl.constexpr, BLOCK: tl.constexpr):
    columns = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    total = tl.zeros((ROWS, BLOCK), dtype=tl.float32)
    for start in range(0, m, ROWS):
        rows = start + tl.arange(0, ROWS)
        mask = (rows[:, None] < m) & (columns[None, :] < n)
        total += tl.load(x_ptr + rows[:, None] * n + columns[None, :], mask=mask, other=0.0)
    tl.store(out_ptr + columns, tl.sum(total, axis=0), mask=columns < n)


def test_layer_norm_both_ways():
    torch.manual_seed(1)
    m, n, groups = 13, 75, 4
    x = torch.randn(m, n, requires_grad=True)
    weight, bias = (torch.rand(n, requires_grad=True) for _ in range(2))
    dy = torch.randn(m, n)
    expected = torch.nn.functional.layer_norm(x, (n,), weight, bias)
    expected.backward(dy)
    plain = [t.detach() for t in (x, weight, bias)]
    _, y, _, _, mean, scale = run(
        norm_forward, (m,), plain[0], torch.zeros(m, n), plain[1], plain[2], torch.zeros(m),
        torch.zeros(m), n, 1e-5, BLOCK=32, close=1e-5)
    torch.testing.assert_close(y, expected.detach(), rtol=1e-4, atol=1e-5)
    dx, _, dw, db, *_ = run(
        norm_backward, (m,), torch.zeros(m, n), dy, torch.zeros(groups, n), torch.zeros(groups, n),
        plain[0], plain[1], mean, scale, torch.zeros(2 * groups, dtype=torch.int32), n,
        GROUPS=groups, BLOCK=128, close=1e-4)
    torch.testing.assert_close(dx, x.grad, rtol=1e-4, atol=1e-5)
    for partial, whole in ((dw, weight.grad), (db, bias.grad)):
        _, made = run(sum_rows, (2,), partial, torch.zeros(n), groups, n, ROWS=4, BLOCK=64,
                      close=1e-5)
        torch.testing.assert_close(made, whole, rtol=1e-4, atol=1e-5)


@torch.kernel
def dropout(x_ptr, out_ptr, n, p, seed, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offsets, mask=offsets < n)
    kept = tl.rand(seed, offsets) > p
    tl.store(out_ptr + offsets, tl.where(kept, x / (1 - p), 0.0), mask=offsets < n)


def test_dropout_by_seed():
    x = torch.ones(3000)
    _, out = run(dropout, (6,), x, torch.zeros(3000), 3000, 0.25, 7, BLOCK=512)
    _, again = run(dropout, (3,), x, torch.zeros(3000), 3000, 0.25, 7, BLOCK=1024)
    assert torch.equal(out, again)
    assert 0.7 < (out > 0).float().mean() < 0.8
    assert out.unique().tolist() == [0.0, torch.tensor(1.0).div(0.75).item()]


@torch.kernel
def dimensions(x_ptr, out_ptr, A: tl.constexpr, B: tl.constexpr, C: tl.constexpr):
    a, b, c = tl.arange(0, A), tl.arange(0, B), tl.arange(0, C)
    x = tl.load(x_ptr + (a[:, None, None] * B + b[None, :, None]) * C + c[None, None, :])
    tl.store(out_ptr + b[:, None] * C + c[None, :], tl.sum(x, 0))
    out_ptr += B * C
    tl.store(out_ptr + a[:, None] * C + c[None, :], tl.max(x, 1))
    out_ptr += A * C
    tl.store(out_ptr + a[:, None] * B + b[None, :], tl.min(x, 2))
    tl.store(out_ptr + A * B, tl.sum(x) + tl.argmax(tl.ravel(x), 0))


def test_three_dimensions():
    for a, b, c in ((2, 4, 32), (1, 4, 1), (4, 1, 16)):
        x = torch.randn(a, b, c)
        _, out = run(dimensions, (1,), x, torch.zeros(b * c + a * c + a * b + 1), A=a, B=b, C=c,
                     close=1e-5)
        expected = torch.cat([x.sum(0).ravel(), x.amax(1).ravel(), x.amin(2).ravel(),
                              x.sum().add(x.argmax())[None]])
        torch.testing.assert_close(out, expected)


@torch.kernel
def numbers_with_masks(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    pid = tl.program_id(0)
    x = tl.load(x_ptr + pid, mask=pid < n, other=7.0)
    tl.store(out_ptr + pid, x, mask=pid < 6)
    y = tl.load(x_ptr + tl.arange(0, BLOCK), mask=pid < n, other=2.0)
    tl.store(out_ptr + 8 + pid * BLOCK + tl.arange(0, BLOCK), y + tl.sum(y), mask=pid > 0)


def test_masks_of_one_number():
    _, out = run(numbers_with_masks, (8,), torch.arange(8.0), torch.zeros(16), 3, BLOCK=1)
    assert out.tolist() == [0, 1, 2, 7, 7, 7, 0, 0, 0, 0, 0, 4, 4, 4, 4, 4]


@torch.kernel
def find(x_ptr, out_ptr, n):
    place = 0
    while (place < n) & (tl.load(x_ptr + place) < 5):
        place += 1
    tl.store(out_ptr, place)


def test_a_loop_that_loads_its_condition():
    _, out = run(find, (1,), torch.arange(10.0), torch.zeros(1, dtype=torch.int32), 10)
    assert out.item() == 5
