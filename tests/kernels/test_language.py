"""The language, function by function: machine code, interpreter and NumPy agree."""

import numpy as np
import pytest
from kernel_checks import run

import yesca as torch
from yesca import kernels
from yesca.kernels import language as tl
from yesca.kernels.language.extra import libdevice


@torch.kernel
def elementwise(x_ptr, y_ptr, out_ptr, BLOCK: tl.constexpr, NAME: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    x, y = tl.load(x_ptr + offsets), tl.load(y_ptr + offsets)
    if NAME == "arithmetic":
        z = (x + y) * 2 - x / y + 3 - y * -x
    elif NAME == "comparisons":
        z = (x < y) + 2 * (x == y) + 4 * (x > 0) + 8 * (x != y) + 16 * (1 <= x) + 32 * (y >= x)
    elif NAME == "extremes":
        z = tl.maximum(x, y) * 100 + tl.minimum(x, 2.0) + tl.clamp(y, -1.0, 1.0)
    elif NAME == "functions":
        z = tl.exp(-tl.abs(x)) + tl.log(tl.abs(x) + 1) + tl.sin(x) * tl.cos(y) + tl.sigmoid(x)
    elif NAME == "more functions":
        a = tl.abs(x) + 1
        z = tl.sqrt(a) + tl.rsqrt(a) + tl.exp2(-a) + tl.log2(a) + tl.floor(x) + tl.ceil(y)
        z += tl.erf(x) + tl.fma(x, y, a) + tl.fdiv(x, a) + libdevice.tanh(x) + libdevice.pow(a, y)
    elif NAME == "where":
        z = tl.where(x > y, x, tl.where(y > 0, 7, -y))
    elif NAME == "methods":
        z = x.abs().sqrt() + y.to(tl.int32) + (x.exp() > 1).to(tl.float32) + x.sigmoid()
    elif NAME == "nan":
        z = tl.where(libdevice.isnan(x), 1.0, 0.0) + tl.where(libdevice.isinf(y), 2.0, 0.0)
    else:
        z = x % y + tl.cdiv(10, 3)
    tl.store(out_ptr + offsets, z)


REFERENCES = {
    "arithmetic": lambda x, y: (x + y) * 2 - x / y + 3 - y * -x,
    "comparisons": lambda x, y: ((x < y) + 2 * (x == y) + 4 * (x > 0) + 8 * (x != y)
                                 + 16 * (x >= 1) + 32 * (y >= x)),
    "extremes": lambda x, y: (np.maximum(x, y) * 100 + np.minimum(x, 2) + np.clip(y, -1, 1)),
    "functions": lambda x, y: (np.exp(-abs(x)) + np.log(abs(x) + 1) + np.sin(x) * np.cos(y)
                               + 1 / (1 + np.exp(-x))),
    "where": lambda x, y: np.where(x > y, x, np.where(y > 0, 7, -y)),
    "methods": lambda x, y: (np.sqrt(abs(x)) + np.trunc(y) + (np.exp(x) > 1)
                             + 1 / (1 + np.exp(-x))),
    "remainder": lambda x, y: np.fmod(x, y) + 4,
}


@pytest.mark.parametrize("name", list(REFERENCES))
def test_elementwise(name):
    torch.manual_seed(0)
    x, y = torch.randn(64) * 3, torch.randn(64) * 3
    x[3] = y[3]
    *_, out = run(elementwise, (1,), x, y, torch.zeros(64), BLOCK=64, NAME=name, close=1e-5)
    expected = REFERENCES[name](x.double().numpy(), y.double().numpy())
    np.testing.assert_allclose(out.numpy(), expected, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("name", ["more functions", "nan"])
def test_interpreter_and_machine_code_agree(name):
    x, y = torch.linspace(-3, 3, 32), torch.linspace(2, -1, 32)
    if name == "nan":
        x[2], y[4] = float("nan"), float("inf")
    *_, out = run(elementwise, (1,), x, y, torch.zeros(32), BLOCK=32, NAME=name, close=1e-5)
    assert len(out.unique()) > 2


@torch.kernel
def integers(x_ptr, y_ptr, out_ptr, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    x, y = tl.load(x_ptr + offsets), tl.load(y_ptr + offsets)
    tl.store(out_ptr + offsets, x // y)
    tl.store(out_ptr + BLOCK + offsets, x % y)
    tl.store(out_ptr + 2 * BLOCK + offsets, (x << 2) ^ (y & 3) | (~x >> 1))
    tl.store(out_ptr + 3 * BLOCK + offsets, tl.where((x > 0) & ~(y > 0), x, -y))


@pytest.mark.parametrize("dtype", [torch.int32, torch.int64])
def test_integers_divide_as_in_c(dtype):
    x = torch.tensor([7, -7, 7, -7, 100, -1, 0, 5], dtype=dtype)
    y = torch.tensor([2, 2, -2, -2, 7, 3, 5, -6], dtype=dtype)
    *_, out = run(integers, (1,), x, y, torch.zeros(32, dtype=dtype), BLOCK=8)
    a, b = x.numpy(), y.numpy()
    quotient = np.trunc(a / b).astype(a.dtype)
    expected = [quotient, a - quotient * b, (a << 2) ^ (b & 3) | (~a >> 1),
                np.where((a > 0) & ~(b > 0), a, -b)]
    assert out.reshape(4, 8).tolist() == np.stack(expected).tolist()


@torch.kernel
def types(x_ptr, out_ptr, KIND: tl.constexpr):
    x = tl.load(x_ptr + tl.arange(0, 8))
    tl.static_assert(x.to(KIND).dtype == KIND)
    tl.store(out_ptr + tl.arange(0, 8), (x.to(KIND) + 1).to(tl.float32))


@pytest.mark.parametrize("kind", ["int8", "int32", "uint8", "int64", "float16", "bfloat16",
                                  "float64"])
def test_casts(kind):
    x = torch.tensor([0.0, 1.5, -1.5, 100.3, 33.4, 7.0, 8.25, 3.0])
    if kind.startswith("u"):
        x = x.abs()
    _, out = run(types, (1,), x, torch.zeros(8), KIND=getattr(tl, kind))
    assert torch.equal(out, (x.to(getattr(torch, kind)) + 1).float())


def test_promotion():
    @torch.kernel
    def check(half_ptr, brain_ptr, small_ptr):
        half, brain = tl.load(half_ptr), tl.load(brain_ptr)
        small = tl.load(small_ptr)
        tl.static_assert((half + 1.5).dtype == tl.float16)
        tl.static_assert((half / 2).dtype == tl.float32)
        tl.static_assert((half + brain).dtype == tl.float32)
        tl.static_assert((small + 1).dtype == tl.int8)
        tl.static_assert((small + 1.5).dtype == tl.float32)
        tl.static_assert((small / small).dtype == tl.float32)
        tl.static_assert((small + tl.program_id(0)).dtype == tl.int32)
        tl.static_assert((small < 3).dtype == tl.int1)
        tl.static_assert(half_ptr.dtype.element_ty == tl.float16)
        tl.static_assert(tl.sum(tl.zeros([4], tl.int8), 0).dtype == tl.int32)

    run(check, (1,), torch.ones(1).half(), torch.ones(1).bfloat16(),
        torch.ones(1, dtype=torch.int8))


@torch.kernel
def reductions(x_ptr, out_ptr, M: tl.constexpr, N: tl.constexpr, AXIS: tl.constexpr,
               NAME: tl.constexpr):
    rows, columns = tl.arange(0, M), tl.arange(0, N)
    x = tl.load(x_ptr + rows[:, None] * N + columns[None, :])
    if NAME == "argmax":
        made = tl.argmax(x, AXIS)
    elif NAME == "both":
        value, place = tl.min(x, AXIS, return_indices=True)
        made = value + place
    elif NAME == "reduce":
        made = tl.reduce(x, AXIS, larger)
    elif NAME == "softmax":
        made = tl.sum(tl.softmax(x, AXIS) * x, AXIS)
    else:
        made = getattr(tl, NAME)(x, AXIS)
    if AXIS is None:
        tl.store(out_ptr, made)
    else:
        tl.store(out_ptr + (columns if AXIS == 0 else rows), made)


@kernels.jit
def larger(a, b):
    return tl.where(a > b, a, b)


@pytest.mark.parametrize("axis", [0, 1, None])
@pytest.mark.parametrize("name", ["sum", "max", "min", "argmax", "both", "reduce", "softmax"])
def test_reductions(name, axis):
    if axis is None and name in ("argmax", "softmax"):
        pytest.skip("wants an axis")
    torch.manual_seed(1)
    x = torch.randn(8, 32)
    _, out = run(reductions, (1,), x, torch.zeros(32), M=8, N=32, AXIS=axis, NAME=name,
                 close=1e-5)
    a = x.numpy()
    expected = {
        "sum": lambda: a.sum(axis), "max": lambda: a.max(axis), "min": lambda: a.min(axis),
        "argmax": lambda: a.argmax(axis), "both": lambda: a.min(axis) + a.argmin(axis),
        "reduce": lambda: a.max(axis),
        "softmax": lambda: (torch.softmax(x, axis) * x).sum(axis).numpy(),
    }[name]()
    found = out.numpy()[:np.size(expected)]
    np.testing.assert_allclose(found, np.reshape(expected, -1), rtol=1e-5, atol=1e-5)


def test_a_nan_gives_way_to_a_number_in_max():
    x = torch.tensor([[1.0, float("nan"), 3.0, 2.0], [float("nan")] * 4])
    _, out = run(reductions, (1,), x, torch.zeros(2), M=2, N=4, AXIS=1, NAME="max")
    assert out.tolist() == [3.0, float("-inf")]


@torch.kernel
def scans(x_ptr, out_ptr, AXIS: tl.constexpr, REVERSE: tl.constexpr):
    places = tl.arange(0, 4)[:, None] * 8 + tl.arange(0, 8)[None, :]
    x = tl.load(x_ptr + places)
    tl.store(out_ptr + places, tl.cumsum(x, AXIS, reverse=REVERSE))
    decay, total = tl.associative_scan((x * 0 + 0.5, x), AXIS, linear, reverse=REVERSE)
    tl.store(out_ptr + 32 + places, total)


@kernels.jit
def linear(a1, b1, a2, b2):
    return a1 * a2, b1 * a2 + b2


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("axis", [0, 1])
def test_scans(axis, reverse):
    x = torch.randn(4, 8)
    _, out = run(scans, (1,), x, torch.zeros(2, 4, 8), AXIS=axis, REVERSE=reverse, close=1e-6)
    ordered = x.flip(axis) if reverse else x
    running = [ordered.select(axis, 0)]
    for k in range(1, x.shape[axis]):
        running.append(running[-1] * 0.5 + ordered.select(axis, k))
    expected = torch.stack([ordered.cumsum(axis), torch.stack(running, axis)])
    torch.testing.assert_close(out, expected.flip(axis + 1) if reverse else expected)


@torch.kernel
def shapes(x_ptr, out_ptr, NAME: tl.constexpr):
    x = tl.load(x_ptr + tl.arange(0, 4)[:, None] * 8 + tl.arange(0, 8)[None, :])
    if NAME == "trans":
        y = tl.ravel(tl.trans(x))
    elif NAME == "reshape":
        y = tl.reshape(tl.reshape(x, (2, 2, 8)).permute(1, 0, 2), [32])
    elif NAME == "flip":
        y = tl.ravel(tl.flip(x, 1))
    elif NAME == "join":
        y = tl.reshape(tl.join(tl.sum(x, 0), tl.max(x, 0)), 16)
        y = tl.ravel(tl.join(y, y + 1))
    elif NAME == "gather":
        index = (tl.arange(0, 4)[:, None] + 2 * tl.arange(0, 8)[None, :]) % 8
        y = tl.ravel(tl.gather(x, index, 1))
    else:
        a, b = tl.broadcast(tl.arange(0, 4)[:, None], tl.expand_dims(tl.arange(0, 8), 0))
        y = (a * 10 + b + tl.zeros_like(x) + tl.full((4, 8), 0.5, tl.float32)).reshape(32)
    tl.store(out_ptr + tl.arange(0, 32), y)


def test_shapes():
    x = torch.randn(4, 8)
    a = x.numpy()
    index = (np.arange(4)[:, None] + 2 * np.arange(8)) % 8
    pairs = np.stack([a.sum(0), a.max(0)], -1).reshape(16)
    expected = {
        "trans": a.T, "reshape": a.reshape(2, 2, 8).transpose(1, 0, 2), "flip": a[:, ::-1],
        "join": np.stack([pairs, pairs + 1], -1), "gather": np.take_along_axis(a, index, 1),
        "broadcast": np.arange(4)[:, None] * 10 + np.arange(8) + 0.5,
    }
    for name, values in expected.items():
        _, out = run(shapes, (1,), x, torch.zeros(32), NAME=name, close=1e-6)
        np.testing.assert_allclose(out.numpy(), values.reshape(-1), rtol=1e-5, err_msg=name)


@torch.kernel
def product(a_ptr, b_ptr, c_ptr, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    rows, columns, inner = tl.arange(0, M), tl.arange(0, N), tl.arange(0, K)
    a = tl.load(a_ptr + rows[:, None] * K + inner[None, :])
    b = tl.load(b_ptr + inner[:, None] * N + columns[None, :])
    places = c_ptr + rows[:, None] * N + columns[None, :]
    tl.store(places, tl.dot(a, b, tl.dot(a, b)).to(c_ptr.dtype.element_ty))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.float16, torch.int8])
@pytest.mark.parametrize(("m", "n", "k"), [(16, 32, 8), (2, 4, 16), (1, 64, 1)])
def test_dot(m, n, k, dtype):
    torch.manual_seed(2)
    a, b = (torch.randint(-3, 4, s).to(dtype) for s in ((m, k), (k, n)))
    out = torch.zeros(m, n, dtype=torch.int32 if dtype is torch.int8 else dtype)
    *_, c = run(product, (1,), a, b, out, M=m, N=n, K=k)
    assert torch.equal(c.double(), 2 * (a.double() @ b.double()))


@torch.kernel
def atomics(x_ptr, bins_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offsets, mask=offsets < n)
    before = tl.atomic_add(bins_ptr + x, 1, mask=offsets < n)
    tl.atomic_max(bins_ptr + 8, tl.max(before, 0))
    tl.atomic_min(bins_ptr + 9, tl.min(before, 0))
    tl.atomic_xor(bins_ptr + 10, tl.program_id(0) + 1)
    tl.atomic_or(bins_ptr + 11, tl.program_id(0) + 1)
    tl.atomic_and(bins_ptr + 12, tl.program_id(0))


def test_atomic_operations_count():
    x = torch.arange(50, dtype=torch.int32) % 7
    start = torch.zeros(13, dtype=torch.int32)
    start[12] = 7
    _, bins = run(atomics, (4,), x, start, 50, BLOCK=16)
    assert bins[:8].tolist() == torch.bincount(x, minlength=8).tolist()
    assert bins[8:].tolist() == [7, 0, 1 ^ 2 ^ 3 ^ 4, 7, 0]


def test_random_numbers_do_not_depend_on_the_block():
    @torch.kernel
    def draw(out_ptr, seed, BLOCK: tl.constexpr):
        offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
        tl.store(out_ptr + offsets, tl.rand(seed, offsets))
        tl.store(out_ptr + 1024 + offsets, tl.randn(seed, offsets))

    (a,) = run(draw, (1,), torch.zeros(2048), 42, BLOCK=1024, close=1e-5)
    (b,) = run(draw, (16,), torch.zeros(2048), 42, BLOCK=64, close=1e-5)
    (c,) = run(draw, (16,), torch.zeros(2048), 43, BLOCK=64, close=1e-5)
    assert torch.equal(a, b) and not torch.equal(a, c)
    uniform, normal = a[:1024], a[1024:]
    assert 0 <= uniform.min() and uniform.max() < 1 and abs(uniform.mean() - 0.5) < 0.05
    assert abs(normal.mean()) < 0.1 and abs(normal.std() - 1) < 0.1


def test_philox_is_that_of_the_paper():
    """The known answers of Random123: counters and keys of zeros, and of ones."""
    @torch.kernel
    def bits(out_ptr, seed, c):
        a, b, d, e = tl.philox(seed, c, c, c, c)
        tl.store(out_ptr, a.to(tl.int64))
        tl.store(out_ptr + 1, b.to(tl.int64))
        tl.store(out_ptr + 2, d.to(tl.int64))
        tl.store(out_ptr + 3, e.to(tl.int64))

    (zeros,) = run(bits, (1,), torch.zeros(4, dtype=torch.int64), 0, 0)
    assert [f"{v:08x}" for v in zeros.tolist()] == ["6627e8d5", "e169c58d", "bc57ac4c", "9b00dbd8"]
    (ones,) = run(bits, (1,), torch.zeros(4, dtype=torch.int64), -1, -1)
    assert [f"{v:08x}" for v in ones.tolist()] == ["408f276d", "41c83b0e", "a20bc7c6", "6d5451fd"]


def wrong(body, *args):
    """The error of a kernel that has one wrong line."""
    with pytest.raises(kernels.CompilationError) as caught:
        body[(1,)](*args)
    return str(caught.value)


def test_refusals_say_what_is_wrong():
    @torch.kernel
    def size(x_ptr, N: tl.constexpr):
        tl.store(x_ptr + tl.arange(0, N), 0.0)

    x = torch.ones(8)
    assert "arange's range must be a power of 2" in wrong(size, x, 600)
    assert "next_power_of_2(600)" in wrong(size, x, 600)
    assert "exceeds triton maximum tensor numel" in wrong(size, x, 1 << 21)
    assert "must be of type tl.constexpr" in wrong(
        torch.kernel(size_of_the_launch), x, 5)

    @torch.kernel
    def mixed(x_ptr):
        a = tl.arange(0, 4) + tl.arange(0, 8)
        tl.store(x_ptr, a)

    message = wrong(mixed, x)
    assert "incompatible dimensions at index 0: 4 and 8" in message
    assert "a = tl.arange(0, 4) + tl.arange(0, 8)" in message and "in mixed" in message


def size_of_the_launch(x_ptr, n):
    tl.store(x_ptr + tl.arange(0, n), 0.0)


@pytest.mark.parametrize(("line", "words"), [
    ("tl.store(3, x)", "Unsupported ptr type"),
    ("tl.load(x_ptr, other=1.0)", "`other` cannot be provided without `mask`"),
    ("tl.load(x_ptr, mask=i < 3)", "cannot be block type if pointer"),
    ("tl.exp(i)", "Expected dtype"),
    ("x & 1.5", "unexpected type fp32"),
    ("tl.dot(x, x)", "two dimensions"),
    ("x[0]", "unsupported tensor index"),
    ("tl.trans(x)", "0- or 1-dimensional"),
    ("tl.reshape(x, 16)", "cannot change total number of elements"),
    ("tl.full((3,), 0, tl.float32)", "power of two"),
    ("tl.program_id(3)", "axis must be 0, 1, or 2"),
    ("tl.sum(x, 1)", "invalid axis 1"),
    ("x_ptr * 2", "invalid operands of type"),
    ("x_ptr + 1.5", "offset must be an integer"),
    ("tl.static_assert(False, 'never')", "static_assert failed: never"),
    ("tl.atomic_add(h_ptr, 1)", "does not support fp16"),
    ("i + (1 << 40)", "out of range for type int32"),
    ("unknown(x)", "unknown is not defined"),
    ("x.unknown()", "no attribute 'unknown'"),
    ("x.to(3)", "no type of the language"),
])
def test_refused_lines(line, words, tmp_path):
    import importlib.util

    path = tmp_path / "wrong_kernel.py"
    path.write_text("import yesca as torch\nfrom yesca.kernels import language as tl\n\n"
                    "@torch.kernel\ndef kernel(x_ptr, h_ptr):\n    i = tl.arange(0, 8)\n"
                    f"    x = tl.load(x_ptr + i)\n    {line}\n")
    spec = importlib.util.spec_from_file_location("wrong_kernel", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    message = wrong(module.kernel, torch.ones(8), torch.ones(8).half())
    assert words in message and f"wrong_kernel.py:8, in kernel:\n    {line}\n" in message


@torch.kernel
def dear_scan(x_ptr, y_ptr, out_ptr, n, N: tl.constexpr):
    k = tl.arange(0, N)
    x, y = tl.load(x_ptr + k, mask=k < n, other=0), tl.load(y_ptr + k, mask=k < n, other=1)
    value = tl.where(x > y, x * y + 2, y - x) * (x + 3) + tl.maximum(x * x, y * y - x) * 0.5
    tl.store(out_ptr + k, tl.cumsum(value, 0) + value, mask=k < n)


def test_a_dear_value_that_a_scan_and_a_later_loop_need():
    x, y = torch.arange(15.0), torch.arange(15.0).flip(0)
    *_, out = run(dear_scan, (1,), x, y, torch.zeros(15), 15, N=16)
    value = torch.where(x > y, x * y + 2, y - x) * (x + 3) + torch.maximum(x * x, y * y - x) * 0.5
    assert out.equal(value.cumsum(0) + value)


@torch.kernel
def sorts(x_ptr, out_ptr, M: tl.constexpr, N: tl.constexpr, DIM: tl.constexpr,
          DOWN: tl.constexpr):
    places = tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :]
    tl.store(out_ptr + places, tl.sort(tl.load(x_ptr + places), DIM, descending=DOWN))


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.int8, torch.int64])
def test_sort(dtype):
    torch.manual_seed(0)
    x = (torch.randn(4, 16) * 20).to(dtype)
    for dim, down in ((None, False), (0, True), (1, True), (-2, False)):
        _, out = run(sorts, (1,), x, torch.zeros_like(x), 4, 16, dim, down)
        assert torch.equal(out, x.sort(-1 if dim is None else dim, descending=down).values)
    x = x[:1, :1].clone()
    assert torch.equal(run(sorts, (1,), x, torch.zeros_like(x), 1, 1, None, False)[1], x)


def test_sort_keeps_all_elements():
    x = torch.tensor([[2.0, float("nan"), -1.0, float("inf"), 0.0, float("nan"), 1.0, -3.0]])
    _, out = run(sorts, (1,), x, torch.zeros_like(x), 1, 8, None, False)
    assert sorted(map(str, out[0].tolist())) == sorted(map(str, x[0].tolist()))


@pytest.mark.parametrize("name", ["sum", "max", "argmin", "softmax", "cumsum", "cumprod", "sort",
                                  "xor_sum"])
def test_numbers_have_no_axis(name):
    function = getattr(tl, name)

    @torch.kernel
    def number(out_ptr):
        tl.store(out_ptr, function(1.5, 0))

    @torch.kernel
    def loaded(out_ptr):
        tl.store(out_ptr, function(tl.load(out_ptr), 0))

    for kernel in (number, loaded):
        with pytest.raises(kernels.CompilationError, match="a reduction wants a block, got"):
            kernel[(1,)](torch.ones(1))
