"""Statements of kernels: branches, loops, helpers, the order of loads and stores."""

import pytest
from kernel_checks import run

import yesca as torch
from yesca import kernels
from yesca.kernels import language as tl


@torch.kernel
def branches(out_ptr, n, BLOCK: tl.constexpr):
    pid = tl.program_id(0)
    offsets = pid * BLOCK + tl.arange(0, BLOCK)
    factor = 1.0
    x = offsets.to(tl.float32)
    if pid == 0:
        factor = 10.0
        x = x + 1
    elif n > 20 and pid == 1:
        factor = 20.0
    else:
        x = -x
    scale = 2.0 if pid < 2 else 3.0
    tl.store(out_ptr + offsets, x * factor * scale, mask=offsets < n)


def test_branches_join_their_names():
    (out,) = run(branches, (3,), torch.zeros(24), 24, BLOCK=8)
    assert out[:8].tolist() == [(k + 1) * 20.0 for k in range(8)]
    assert out[8:16].tolist() == [k * 40.0 for k in range(8, 16)]
    assert out[16:].tolist() == [k * -3.0 for k in range(16, 24)]
    (out,) = run(branches, (2,), torch.zeros(16), 16, BLOCK=8)
    assert out[8:].tolist() == [k * -2.0 for k in range(8, 16)]


@torch.kernel
def early(out_ptr, n):
    pid = tl.program_id(0)
    if pid >= n:
        return
    value = clipped(pid, 3)
    if value == 2:
        tl.store(out_ptr + pid, 100)
        return
    tl.store(out_ptr + pid, value)


@torch.kernel
def broken(out_ptr, n, KIND: tl.constexpr):
    x = tl.zeros((16, 16), tl.float32)
    if KIND == "power":
        x = x ** 2
    if KIND == "matrix":
        x = x @ x
    if KIND == "comprehension":
        x = [y + 1 for y in (x,)]
    for _ in range(n):
        if KIND == "break":
            break
        if KIND == "continue":
            continue
    tl.store(out_ptr, tl.sum(x))


@pytest.mark.parametrize(("kind", "repair"), [
    ("power", r"x \*\* 2\n.*tl.exp2"), ("matrix", "x @ x\n.*tl.dot"), ("break", "break\n.*`while`"),
    ("continue", "continue\n.*`if`"), ("comprehension", "for y in .*\n.*interpret")],
    ids=["power", "matrix", "break", "continue", "comprehension"])
def test_what_is_not_supported_names_its_line_and_repair(kind, repair):
    with pytest.raises(kernels.CompilationError, match=f"(?s)test_tracing.py:.*{repair}"):
        broken[(1,)](torch.zeros(1), 3, kind)


@kernels.jit
def clipped(x, most):
    if x > most:
        return most
    doubled = x + x
    return doubled - x


def test_returns_from_branches():
    (out,) = run(early, (8,), torch.full((8,), -1, dtype=torch.int32), 6)
    assert out.tolist() == [0, 1, 100, 3, 3, 3, -1, -1]


@torch.kernel
def loops(x_ptr, out_ptr, rows, columns, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    pointers = x_ptr + offsets
    total = tl.zeros([BLOCK], tl.float32)
    weighted = total
    count = 0
    for row in range(rows):
        x = tl.load(pointers, mask=offsets < columns, other=0.0)
        total += x
        weighted += x * row
        pointers += columns
        count += 1
    tl.store(out_ptr + offsets, total)
    tl.store(out_ptr + BLOCK + offsets, weighted)
    down = 0
    for k in range(10, rows, -3):
        down += k
    last = 1.0
    for k in tl.static_range(3):
        last = last * 2 + k
    steps, left = 0, columns
    while left > 1:
        left = left // 2
        steps += 1
    tl.store(out_ptr + 2 * BLOCK + offsets, count + 100 * down + 10000 * steps + last)


@pytest.mark.parametrize("rows", [0, 1, 5])
def test_loops(rows):
    x = torch.randn(max(rows, 1), 12)
    _, out = run(loops, (1,), x, torch.zeros(3, 16), rows, 12, BLOCK=16, close=1e-6)
    x = x[:rows]
    torch.testing.assert_close(out[0, :12], x.sum(0))
    torch.testing.assert_close(out[1, :12], (x * torch.arange(rows)[:, None]).sum(0))
    down = sum(range(10, rows, -3))
    assert out[2, 0] == rows + 100 * down + 30000 + 12
    assert not out[:2, 12:].any()


@torch.kernel
def exchange(out_ptr, n, BLOCK: tl.constexpr):
    a, b = tl.arange(0, BLOCK), tl.arange(0, BLOCK) * 0 + 1
    one, two = 1, 2
    for _ in range(n):
        a, b = b, a + b
        one, two = two, one
    tl.store(out_ptr + tl.arange(0, BLOCK), a + 1000 * one)


def test_loops_that_exchange_names():
    for n in range(5):
        (out,) = run(exchange, (1,), torch.zeros(4, dtype=torch.int32), n, BLOCK=4)
        expected = []
        for start in range(4):
            a, b = start, 1
            for _ in range(n):
                a, b = b, a + b
            expected.append(a + 1000 * (1 + n % 2))
        assert out.tolist() == expected


@torch.kernel
def nested(x_ptr, out_ptr, m, n, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    total = 0.0
    for i in range(m):
        inner = tl.zeros([BLOCK], tl.float32)
        for j in range(0, n, BLOCK):
            places = i * n + j + offsets
            if i % 2 == 0:
                inner += tl.load(x_ptr + places, mask=j + offsets < n, other=0.0)
            else:
                inner -= tl.load(x_ptr + places, mask=j + offsets < n, other=0.0)
        total += tl.sum(inner, axis=0)
    tl.store(out_ptr, total)


def test_loops_in_loops():
    x = torch.randn(5, 21)
    _, out = run(nested, (1,), x, torch.zeros(1), 5, 21, BLOCK=8, close=1e-5)
    sign = torch.tensor([1.0, -1, 1, -1, 1])
    torch.testing.assert_close(out[0], (x.sum(1) * sign).sum())


@torch.kernel
def attention(q_ptr, k_ptr, v_ptr, out_ptr, length, scale, BLOCK: tl.constexpr, D: tl.constexpr):
    rows, inner = tl.arange(0, BLOCK), tl.arange(0, D)
    places = rows[:, None] * D + inner[None, :]
    q = tl.load(q_ptr + places)
    best = tl.full([BLOCK], float("-inf"), tl.float32)
    total = tl.zeros([BLOCK], tl.float32)
    made = tl.zeros([BLOCK, D], tl.float32)
    for start in range(0, length, BLOCK):
        k = tl.load(k_ptr + start * D + places)
        scores = tl.dot(q, tl.trans(k)) * scale
        scores = tl.where(start + rows[None, :] <= rows[:, None] + length - BLOCK, scores,
                          float("-inf"))
        top = tl.maximum(best, tl.max(scores, 1))
        weights = tl.exp(scores - top[:, None])
        shrink = tl.exp(best - top)
        total = total * shrink + tl.sum(weights, 1)
        made = made * shrink[:, None]
        made = tl.dot(weights, tl.load(v_ptr + start * D + places), made)
        best = top
    tl.store(out_ptr + places, made / total[:, None])


def test_attention_in_pieces():
    torch.manual_seed(3)
    q, k, v = torch.randn(16, 8), torch.randn(64, 8), torch.randn(64, 8)
    *_, out = run(attention, (1,), q, k, v, torch.zeros(16, 8), 64, 0.3, BLOCK=16, D=8, close=1e-5)
    scores = q @ k.t() * 0.3
    scores.masked_fill_(torch.arange(64) > torch.arange(16)[:, None] + 48, float("-inf"))
    torch.testing.assert_close(out, scores.softmax(-1) @ v, rtol=1e-4, atol=1e-5)


# ---- loads and stores in order ---------------------------------------------------------------

@torch.kernel
def reverse(x_ptr, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    tl.store(x_ptr + offsets, tl.load(x_ptr + BLOCK - 1 - offsets))


@torch.kernel
def shift(x_ptr, out_ptr, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    before = tl.load(x_ptr + offsets)
    tl.store(out_ptr + offsets + 1, before)
    after = tl.load(x_ptr + offsets)
    tl.store(out_ptr + offsets, before * 100 + after)


@torch.kernel
def collide(x_ptr, BLOCK: tl.constexpr):
    places = x_ptr + tl.arange(0, BLOCK) % 4
    tl.store(places, tl.load(places) + 1)


@torch.kernel
def wait(x_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    before = tl.load(x_ptr + offsets)
    for k in range(n):
        now = tl.load(x_ptr + offsets)
        if k % 2 == 0:
            tl.store(x_ptr + offsets, now + 1)
        else:
            put(x_ptr + offsets, now * 2)
    tl.store(x_ptr + offsets, before * 1000 + tl.load(x_ptr + offsets))


@kernels.jit
def put(places, values):
    tl.store(places, values)


def test_loads_come_before_later_stores():
    (out,) = run(reverse, (1,), torch.arange(64.0), BLOCK=64)
    assert out.tolist() == list(range(64))[::-1]
    (out,) = run(collide, (1,), torch.zeros(4), BLOCK=64)
    assert out.tolist() == [1.0] * 4
    (out,) = run(wait, (1,), torch.arange(8.0), 3, BLOCK=8)
    assert out.tolist() == [k * 1000 + (k + 1) * 2 + 1 for k in range(8)]


def test_tensors_that_share_memory():
    for kernel in (shift, shift.interpret):
        memory = torch.arange(17.0)
        kernel[(1,)](memory[:16], memory, BLOCK=16)
        shifted = [0.0, *range(16)]
        assert memory.tolist() == [k * 100 + shifted[k] for k in range(16)] + [15.0]
    x, out = torch.arange(16.0), torch.zeros(17)
    _, made = run(shift, (1,), x, out, BLOCK=16)
    assert made.tolist() == [k * 101.0 for k in range(16)] + [15.0]


@torch.kernel
def normalise_in_place(x_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    row = x_ptr + tl.program_id(0) * n + offsets
    x = tl.load(row, mask=offsets < n, other=0.0)
    size = tl.sqrt(tl.sum(x * x, axis=0))
    tl.store(row, x / size, mask=offsets < n)
    tl.store(row, tl.load(row, mask=offsets < n) + x, mask=offsets < n)


def test_in_place():
    x = torch.randn(3, 40)
    (out,) = run(normalise_in_place, (3,), x, 40, BLOCK=64, close=1e-6)
    torch.testing.assert_close(out, x / x.norm(dim=1, keepdim=True) + x)


# ---- what is refused -------------------------------------------------------------------------

def refused(function, *args):
    with pytest.raises(kernels.CompilationError) as caught:
        torch.kernel(function)[(1,)](*args)
    return str(caught.value)


def changes_type(x_ptr, n):
    total = 0
    for _ in range(n):
        total = total + 0.5
    tl.store(x_ptr, total)


def grows(x_ptr, n):
    total = 0.0
    for _ in range(n):
        total += tl.zeros([4], tl.float32)
    tl.store(x_ptr, total)


def returns_from_a_loop(x_ptr, n):
    for k in range(n):
        if k == 3:
            return
    tl.store(x_ptr, 1.0)


def differs(x_ptr, n):
    x = 1.0
    if n > 3:
        x = tl.zeros([4], tl.float32)
    tl.store(x_ptr, x)


def is_not_there(x_ptr, n):
    if n > 3:
        y = 1.0
    tl.store(x_ptr, y)


def breaks(x_ptr, n):
    for _ in range(n):
        break


def decides(x_ptr, n):
    if tl.arange(0, 4) > n:
        tl.store(x_ptr, 1.0)


def writes_a_part(x_ptr, n):
    x = tl.zeros([4], tl.float32)
    x[0] = 1


@pytest.mark.parametrize(("function", "words"), [
    (changes_type, "Loop-carried variable total has initial type int32 but is re-assigned to fp32"),
    (grows, r"initial type fp32 but is re-assigned to <[4], fp32>"),
    (returns_from_a_loop, "Cannot return from inside a loop"),
    (differs, "Mismatched type for x between then block (<[4], fp32>) and else block (fp32)"),
    (is_not_there, "y is not defined here"),
    (breaks, "unsupported statement in a kernel: break"),
    (decides, "use tl.where"),
    (writes_a_part, "a block cannot be written to in parts"),
])
def test_refused_statements(function, words):
    message = refused(function, torch.zeros(8), 5)
    assert words in message and f"in {function.__name__}" in message


def test_closures_and_globals():
    number, table = 3, (tl.float32, 2.0)

    @torch.kernel
    def kernel(x_ptr):
        kind, factor = table
        tl.store(x_ptr, tl.cast(number, kind) * factor + FACTOR)

    (out,) = run(kernel, (1,), torch.zeros(1))
    assert out.item() == 106.0


FACTOR = tl.constexpr(100)
