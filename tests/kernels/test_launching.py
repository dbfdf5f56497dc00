"""Launching kernels: grids, arguments, what is compiled anew, versions, refusals."""

import copy
import pickle
import threading

import numpy as np
import pytest
from kernel_checks import run

import yesca as torch
from yesca import kernels
from yesca.kernels import language as tl


@torch.kernel
def add(x_ptr, y_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    x = tl.load(x_ptr + offsets, mask=mask)
    y = tl.load(y_ptr + offsets, mask=mask)
    tl.store(out_ptr + offsets, x + y, mask=mask)


@torch.kernel
def fill(out_ptr, value, n, BLOCK: tl.constexpr = 16):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out_ptr + offsets, value, mask=offsets < n)


@torch.kernel
def grid_numbers(out_ptr):
    x, y, z = tl.program_id(0), tl.program_id(1), tl.program_id(2)
    place = x + tl.num_programs(0) * (y + tl.num_programs(1) * z)
    tl.store(out_ptr + place, x + 10 * y + 100 * z)


@pytest.mark.parametrize("n", [1, 15, 64, 1000])
def test_add(n):
    x, y = torch.randn(n), torch.randn(n)
    *_, out = run(add, lambda meta: (kernels.cdiv(meta["n"], meta["BLOCK"]),), x, y,
                  torch.zeros(n), n, BLOCK=64)
    assert torch.equal(out, x + y)


def test_a_grid_has_up_to_three_dimensions():
    (out,) = run(grid_numbers, (2, 3, 2), torch.zeros(12, dtype=torch.int32))
    assert out.tolist() == [x + 10 * y + 100 * z for z in range(2) for y in range(3)
                            for x in range(2)]
    out = torch.zeros(3, dtype=torch.int32)
    grid_numbers[3](out)
    assert out.tolist() == [0, 1, 2]


def test_an_empty_grid_runs_nothing():
    out = torch.ones(4)
    fill[(0,)](out, 2.0, 4)
    assert out.tolist() == [1.0] * 4 and out._version == 0


@pytest.mark.parametrize(("grid", "error", "words"), [
    ((1, 2, 3, 4), TypeError, "one to three"), ((1.5,), TypeError, "whole numbers"),
    ((-1,), ValueError, "negative"), ((1 << 20, 1 << 20), ValueError, "at most"),
    ("x", TypeError, "one to three"),
])
def test_refused_grids(grid, error, words):
    with pytest.raises(error, match=words):
        fill[grid](torch.ones(4), 2.0, 4)


def test_arguments_by_name_defaults_and_hints():
    out = torch.zeros(20)
    fill[(2,)](out_ptr=out, n=20, value=3, num_warps=8, num_stages=2)
    assert out.tolist() == [3.0] * 20
    with pytest.raises(TypeError, match=r"fill\(\): missing a required argument: 'n'"):
        fill[(1,)](out, 2.0)
    with pytest.raises(TypeError, match="unexpected keyword argument 'm'"):
        fill[(1,)](out, 2.0, m=3, n=1)
    with pytest.raises(TypeError, match="multiple values"):
        fill[(1,)](out, 2.0, 3, n=1)


@torch.kernel
def two_numbers(out_ptr, first, second, SCALE: tl.constexpr = 10):
    tl.store(out_ptr, first * SCALE + second)


def test_arguments_by_name_in_any_order():
    out = torch.zeros(1)
    for _ in range(3):
        two_numbers[(1,)](out, second=3, first=5)
        assert out.item() == 53
        two_numbers[(1,)](second=7, out_ptr=out, first=2, SCALE=100)
        assert out.item() == 207
        two_numbers[(1,)](out, 4, second=6, num_warps=4)
        assert out.item() == 46


def test_launches_that_were_there_before():
    """What is known of earlier arguments must not stand for others."""
    out = torch.zeros(4)
    for value in (2, 1, 3, 1, 1 << 31, -5, (1 << 31) - 1, 1 << 40, 2):
        two_numbers[(1,)](out, value, 0, SCALE=1)
        assert out[0].item() == torch.tensor(value).float().item()
    for scale in (2, 2.5, True, -0.0, 0.0, 2):
        two_numbers[(1,)](out, 3, 0, SCALE=scale)
        assert out[0].item() == 3.0 * scale
    two_numbers[(1,)](out.double(), 3, 0)
    two_numbers[(1,)](out[1:], 3, 0)
    assert out.tolist() == [6.0, 30.0, 0.0, 0.0]

    @torch.kernel
    def swap(x_ptr, y_ptr, BLOCK: tl.constexpr):
        offsets = tl.arange(0, BLOCK)
        tl.store(y_ptr + offsets + 1, tl.load(x_ptr + offsets))

    for _ in range(2):
        x, y = torch.arange(9.0), torch.zeros(9)
        swap[(1,)](x, y, BLOCK=8)
        swap[(1,)](x, x, BLOCK=8)  # all is loaded before it is stored
        assert x.tolist() == y.tolist() == [0.0, *range(8)]
        shared = torch.arange(9.0)
        swap[(1,)](torch.from_numpy(shared.numpy()), shared, BLOCK=8)
        assert shared.tolist() == [0.0, *range(8)]
    with pytest.raises(RuntimeError, match="not allocated yet"):
        x.untyped_storage().resize_(0)
        swap[(1,)](x, y, BLOCK=8)


def test_numbers_of_numpy():
    @torch.kernel
    def numbers(out_ptr, a, b, c, d, N: tl.constexpr):
        tl.store(out_ptr + tl.arange(0, N), a + b + c)
        tl.store(out_ptr, d)

    given = [(np.int64(3), np.float32(0.5), np.bool_(True)), (np.uint8(1), np.float64(2.5), True),
             (np.int32(-7), np.float16(1.5), np.False_)]
    for a, b, c in given:
        (out,) = run(numbers, (np.int64(1),), torch.zeros(4), a, b, c, np.array(9), N=np.int64(4))
        assert out.tolist() == [9.0, *[float(a) + float(b) + float(c)] * 3]
    assert numbers[(1,)](out, np.int64(2), np.float32(1), np.True_, 1, N=4) is \
        numbers[(1,)](out, 2, 1.0, True, 1, 4)


def test_a_launch_names_its_parameters():
    @torch.kernel
    def several(*pointers):
        pass

    with pytest.raises(TypeError, match="names all of its parameters"):
        several[(1,)](torch.ones(1))


def test_views_and_strides():
    @torch.kernel
    def scale(x_ptr, rows, row_stride, column_stride, COLUMNS: tl.constexpr):
        columns = tl.arange(0, COLUMNS)
        places = x_ptr + tl.program_id(0) * row_stride + columns * column_stride
        tl.store(places, tl.load(places) * 2)

    x = torch.arange(64.0).reshape(8, 8)
    part = x[2:6, ::2].t()[:, 1:3]  # 4 by 2, strides 2 and 8
    expected = x.clone()
    expected[2:6, ::2].t()[:, 1:3].mul_(2)
    scale[(4,)](part, 4, *part.stride(), COLUMNS=2)
    assert torch.equal(x, expected)


def test_what_is_compiled_anew():
    @torch.kernel
    def twice(x_ptr, n, step, BLOCK: tl.constexpr):
        offsets = tl.arange(0, BLOCK) * step
        tl.store(x_ptr + offsets, tl.load(x_ptr + offsets, mask=offsets < n) * 2,
                 mask=offsets < n)

    x = torch.ones(16)
    first = twice[(1,)](x, 16, 2, BLOCK=8)
    assert twice[(1,)](x, 14, 3, BLOCK=8) is first
    assert twice[(1,)](x, 16, 1, BLOCK=8) is not first  # a stride of 1 is a constant
    assert twice[(1,)](x, 16, 2, BLOCK=4) is not first
    assert twice[(1,)](x.double(), 16, 2, BLOCK=8) is not first
    assert len(twice.made) == 4


@pytest.mark.parametrize("dtype", [
    torch.bool, torch.int8, torch.uint8, torch.int16, torch.int32, torch.int64, torch.float16,
    torch.bfloat16, torch.float32, torch.float64,
])
def test_dtypes(dtype):
    x = (torch.arange(32) % 3).to(dtype)
    y = (torch.arange(32) % 2).to(dtype)
    *_, out = run(add, (2,), x, y, torch.zeros(32, dtype=dtype), 32, BLOCK=16)
    assert torch.equal(out, x + y)


def test_numbers_of_many_kinds():
    @torch.kernel
    def numbers(out_ptr, small, large, real, truth):
        tl.store(out_ptr, small)
        tl.store(out_ptr + 1, large)
        tl.store(out_ptr + 2, real)
        tl.store(out_ptr + 3, truth)

    for large in (1 << 40, -(1 << 40), (1 << 63) - 1):
        (out,) = run(numbers, (1,), torch.zeros(4, dtype=torch.float64), -5, large, 0.5, True)
        assert out.tolist() == [-5.0, float(large), 0.5, 1.0]


def test_written_tensors_have_new_versions():
    x, y, out = torch.randn(4), torch.randn(4), torch.zeros(4)
    add[(1,)](x, y, out, 4, BLOCK=4)
    assert (x._version, y._version, out._version) == (0, 0, 1)
    kept = (out.requires_grad_() * out).sum()
    fill[(1,)](out, 1.0, 4)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        kept.backward()


def test_refused_tensors():
    with pytest.raises(ValueError, match="Pointer argument .* cannot be accessed from Triton"):
        fill[(1,)](torch.ones(4, device="meta"), 1.0, 4)
    with pytest.raises(TypeError, match="no type of the language: torch.complex64"):
        fill[(1,)](torch.ones(4, dtype=torch.complex64), 1.0, 4)
    with pytest.raises(kernels.CompilationError, match="Unsupported|neither a block|fill"):
        fill[(1,)]([1, 2], 1.0, 4)


def test_vmap_is_told_what_to_do():
    def one(x):
        out = torch.empty_like(x)
        add[(1,)](x, x, out, 4, BLOCK=4)
        return out

    with pytest.raises((ValueError, RuntimeError), match="cannot be accessed|register_vmap"):
        torch.func.vmap(one)(torch.randn(3, 4))


def test_a_kernel_is_no_function():
    with pytest.raises(RuntimeError, match="outside of the scope of a kernel"):
        fill(torch.ones(4), 1.0, 4)
    with pytest.raises(RuntimeError, match="@triton.jit"):
        tl.arange(0, 4)
    with pytest.raises(ValueError, match="defined in a Python file"):
        torch.kernel(eval("lambda x: x", {}))  # noqa: S307
    for thing in (3, int, torch.nn.Linear(2, 2)):
        with pytest.raises(TypeError, match="wants a function"):
            torch.kernel(thing)
    with pytest.raises(ValueError, match="generator"):
        torch.kernel(generator)


def generator(out_ptr):
    yield 1


FACTOR = 3


class Settings:
    offset = 1.0


@kernels.jit
def lifted(x):
    return x + Settings.offset


@torch.kernel
def reads_around(out_ptr):
    tl.store(out_ptr, lifted(FACTOR))


def reader(number):
    @torch.kernel
    def reads_closure(out_ptr):
        tl.store(out_ptr, number)

    def change(value):
        nonlocal number
        number = value

    return reads_closure, change


def test_numbers_from_around_a_kernel_are_those_of_the_launch(monkeypatch):
    out = torch.zeros(1)
    made = reads_around[(1,)](out)
    assert out.item() == 4 and reads_around[(1,)](out) is made
    monkeypatch.setitem(globals(), "FACTOR", 5)
    reads_around[(1,)](out)
    assert out.item() == 6
    monkeypatch.setattr(Settings, "offset", 2.5)
    reads_around[(1,)](out)
    assert out.item() == 7.5
    monkeypatch.setitem(globals(), "lifted", kernels.jit(lifted.fn, interpret=False))
    assert reads_around[(1,)](out) is not made and out.item() == 7.5
    kernel, change = reader(1)
    kernel[(1,)](out)
    change(2)
    kernel[(1,)](out)
    assert out.item() == 2


@torch.kernel
def constant(out_ptr, c: tl.constexpr):
    tl.store(out_ptr, c if not isinstance(c, tuple) else c[0] / 2)


def test_constants_that_are_equal_and_differ():
    out = torch.zeros(1)
    for value in (0.0, -0.0, 0.0):
        constant[(1,)](out, value)
        assert str(out.item()) == str(value)
    for _ in range(3):
        constant[(1,)](out, float("nan"))
    assert len(constant.made) == 3
    for value in ((1,), (1.0,), [1]):
        constant[(1,)](out, value if isinstance(value, tuple) else tuple(value))
    assert len(constant.made) == 5


def test_the_negative_bit_is_refused():
    z = torch.ones(4, dtype=torch.complex64).conj().imag
    for kernel in (fill, fill.interpret):
        with pytest.raises(ValueError, match="negative bit.*resolve_neg"):
            kernel[(1,)](z, 1.0, 4)


def test_pickled_and_copied():
    assert pickle.loads(pickle.dumps(fill)) is fill
    assert copy.deepcopy(fill) is fill
    assert repr(fill) == f"JITFunction({__name__}:fill)"


def test_threads_launch_at_once():
    results = [torch.zeros(5000) for _ in range(4)]

    def work(k):
        for turn in range(20):
            fill[(kernels.cdiv(5000, 16),)](results[k], float(k + turn), 5000)

    workers = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert [r.unique().tolist() for r in results] == [[k + 19.0] for k in range(4)]


def test_any_number_of_threads_gives_the_same_bits():
    before = torch.get_num_threads()
    x, y = torch.randn(10000), torch.randn(10000)
    made = []
    try:
        for count in (1, 2, 3):
            torch.set_num_threads(count)
            out = torch.empty(10000)
            add[(kernels.cdiv(10000, 16),)](x, y, out, 10000, BLOCK=16)
            made.append(out)
    finally:
        torch.set_num_threads(before)
    assert torch.equal(made[0], made[1]) and torch.equal(made[0], made[2])


def test_in_compiled_functions():
    def step(x):
        doubled = x * 2
        out = torch.empty_like(x)
        add[(1,)](doubled, x, out, x.numel(), BLOCK=16)
        doubled += 1  # after the kernel
        return out.relu(), doubled

    x = torch.randn(10)
    compiled = torch.compile(step)
    for _ in range(4):
        out, doubled = compiled(x)
        torch.testing.assert_close(out, (x * 2 + x).relu())
        torch.testing.assert_close(doubled, x * 2 + 1)


def test_a_write_waits_for_recorded_reads():
    def step(x):
        before = x + 1
        fill[(1,)](x, 0.0, x.numel())
        return before, x + 0

    compiled = torch.compile(step)
    for _ in range(4):
        x = torch.ones(10)
        before, after = compiled(x)
        assert before.tolist() == [2.0] * 10 and after.tolist() == [0.0] * 10


def test_a_profile_shows_launches():
    x, out = torch.randn(100), torch.empty(100)
    with torch.profiler.profile() as profile:
        for _ in range(3):
            add[(2,)](x, x, out, 100, BLOCK=64)
    assert [event.count for event in profile.key_averages() if event.key == "add"] == [3]
    assert out.equal(x + x)


def test_source_on_request(capfd):
    text = fill.source(torch.ones(4), 1.0, 4, BLOCK=64)
    assert "define void @kernel_" in text and "store" in text
    assert "each of [64]" in fill.asm["ttir"]
    assert "ret" in fill.warmup(torch.ones(4), 1.0, 4, BLOCK=64, grid=(1,)).asm["asm"]
    with pytest.raises(RuntimeError, match="has not been compiled"):
        torch.kernel(grid_numbers.fn).asm  # noqa: B018


def test_source_in_the_log(run_python):
    code = ("import test_launching as t, yesca as torch; t.fill[(1,)](torch.ones(4), 1.0, 4)")
    from pathlib import Path

    here = Path(__file__).parent
    paths = f"import sys; sys.path[:0] = [{str(here)!r}, {str(here.parent / 'support')!r}]; "
    done = run_python("-c", paths + code, TORCH_LOGS="output_code")
    assert "; fill\n" in done.stderr and "define void @kernel_" in done.stderr


def doubled(x):
    out = torch.empty_like(x)
    add[(1,)](x, x, out, x.numel(), BLOCK=4)
    return out


def test_derivatives_of_func_are_not_lost():
    """As PyTorch: under `torch.func` there is no address; ordinary autograd sees new values."""
    x = torch.ones(4)
    lost = pytest.raises(RuntimeError, match="Cannot access data pointer.*kernel add has none")
    for take in (torch.func.grad(lambda x: doubled(x * 3).sum()),
                 torch.func.jacrev(doubled), lambda x: torch.func.vjp(doubled, x),
                 lambda x: torch.func.jvp(doubled, (x,), (x,)), torch.func.jacfwd(doubled),
                 torch.func.grad(torch.func.grad(lambda x: doubled(x).sum()))):
        with lost:
            take(x)
    assert not doubled(x.clone().requires_grad_()).requires_grad

    other = torch.ones(4, requires_grad=True)
    made = torch.func.grad(lambda y: (y * doubled(y.detach()) * doubled(other)).sum())(x)
    assert made.tolist() == [4.0] * 4

    class Double(torch.autograd.Function):
        @staticmethod
        def forward(x):
            return doubled(x)

        @staticmethod
        def setup_context(ctx, inputs, output):
            pass

        @staticmethod
        def backward(ctx, grad):
            return grad * 2

    assert torch.func.grad(lambda x: Double.apply(x).sum())(x).tolist() == [2.0] * 4
