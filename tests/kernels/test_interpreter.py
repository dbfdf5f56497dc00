"""The interpreter finds what machine code cannot see."""

import pytest
from kernel_checks import run

import yesca as torch
from yesca import kernels
from yesca.kernels import language as tl


@torch.kernel
def softmax(out_ptr, x_ptr, columns, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * columns + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offsets)  # the mask is missing
    top = tl.exp(x - tl.max(x, axis=0))
    tl.store(out_ptr + offsets, top / tl.sum(top, axis=0), mask=tl.arange(0, BLOCK) < columns)


def test_a_missing_mask_is_found():
    x = torch.randn(3, 600)
    with pytest.raises(kernels.OutOfBounds) as caught:
        softmax.interpret[(3,)](torch.empty_like(x), x, 600, BLOCK=1024)
    message = str(caught.value)
    assert message.startswith("[softmax] ") and "test_interpreter.py:" in message
    assert "x = tl.load(x_ptr + offsets)  # the mask is missing" in message
    assert ("program (2, 0, 0) reads x_ptr at offset 1800, 1801, 1802, 1803, ... "
            "(lane 600, 601, 602, 603, ...; 424 of 1024 lanes)") in message
    assert "the tensor of shape (3, 600) has the offsets 0..1799" in message
    assert "no mask was given: tl.load(..., mask=...)" in message
    assert "in program (2, 0, 0) of softmax" in caught.value.__notes__


@torch.kernel
def copy(x_ptr, out_ptr, n, ROWS: tl.constexpr, COLUMNS: tl.constexpr):
    places = tl.arange(0, ROWS)[:, None] * COLUMNS + tl.arange(0, COLUMNS)[None, :]
    tl.store(out_ptr + places - 1, tl.load(x_ptr + places, mask=places < n), mask=places < n)


def test_a_wrong_mask_is_found():
    with pytest.raises(kernels.OutOfBounds, match=r"writes out_ptr at offset -1 \(lane \(0, 0\); "
                       r"1 of 8 lanes\).*the mask lets these lanes through"):
        copy.interpret[(1,)](torch.zeros(8), torch.zeros(8), 8, ROWS=2, COLUMNS=4)
    with pytest.raises(kernels.OutOfBounds, match="reads x_ptr .* has no elements"):
        copy.interpret[(1,)](torch.zeros(0), torch.zeros(8), 8, ROWS=2, COLUMNS=4)


def test_a_view_has_bounds_of_its_own():
    memory = torch.arange(20.0)
    view = memory[4:16].reshape(3, 4)[:, :2]  # offsets 0..9 of its own

    @torch.kernel
    def read(x_ptr, out_ptr, at):
        tl.store(out_ptr, tl.load(x_ptr + at))

    out = torch.zeros(1)
    read.interpret[(1,)](view, out, 9)
    assert out.item() == 13.0
    for at in (-1, 10):
        with pytest.raises(kernels.OutOfBounds, match=r"has the offsets 0\.\.9"):
            read.interpret[(1,)](view, out, at)


@torch.kernel
def overlap(out_ptr, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * (BLOCK - 1) + tl.arange(0, BLOCK)
    tl.store(out_ptr + offsets, tl.program_id(0))


@torch.kernel
def neighbours(x_ptr, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(x_ptr + offsets, tl.load(x_ptr + offsets + 1))


def test_races_are_found():
    with pytest.raises(kernels.Race, match=r"program \(1, 0, 0\) writes out_ptr at offset 3, which "
                       r"program \(0, 0, 0\) has written.*tl.atomic_add"):
        overlap.interpret[(2,)](torch.zeros(8), BLOCK=4)
    with pytest.raises(kernels.Race, match=r"program \(1, 0, 0\) writes x_ptr at offset 4, which "
                       r"program \(0, 0, 0\) has read"):
        neighbours.interpret[(2,)](torch.zeros(9), BLOCK=4)


@torch.kernel
def locked(total_ptr, lock_ptr, x_ptr):
    while tl.atomic_cas(lock_ptr, 0, 1) == 1:
        pass
    tl.store(total_ptr, tl.load(total_ptr) + tl.load(x_ptr + tl.program_id(0)))
    tl.atomic_xchg(lock_ptr, 0)


@pytest.mark.parametrize("kernel", [locked, locked.interpret], ids=["compiled", "interpreted"])
def test_locks_are_no_races(kernel):
    total = torch.zeros(1)
    kernel[(10,)](total, torch.zeros(1, dtype=torch.int32), torch.arange(10.0))
    assert total.item() == 45.0 and total._version == 1


def test_python_works_inside(capsys, monkeypatch):
    stops = []
    monkeypatch.setattr("sys.breakpointhook", lambda: stops.append(1))

    @torch.kernel
    def told(x_ptr):
        x = tl.load(x_ptr + tl.arange(0, 2))
        print("program", tl.program_id(0), x)
        breakpoint()
        tl.device_print("x", x)

    told[(1,)](torch.tensor([1.0, 2.5]))  # what prints is interpreted without being asked
    assert capsys.readouterr().out == ("program 0 [1.  2.5]\npid (0, 0, 0) idx (0,) x 1.0\n"
                                       "pid (0, 0, 0) idx (1,) x 2.5\n")
    assert stops == [1]


def test_assertions_are_checked():
    @torch.kernel
    def checked(x_ptr):
        x = tl.load(x_ptr + tl.arange(0, 4))
        tl.device_assert(x < 3, "x is small")

    checked[(1,)](torch.arange(4.0))
    with pytest.raises(AssertionError, match=r"program \(0, 0, 0\), lane \[3\]: x is small"):
        checked.interpret[(1,)](torch.arange(4.0))


def test_all_kernels_are_interpreted_where_asked(monkeypatch):
    monkeypatch.setenv("TRITON_INTERPRET", "1")  # read when a kernel is made
    made = torch.kernel(overlap.fn)
    monkeypatch.delenv("TRITON_INTERPRET")
    for kernel in (made, torch.kernel(overlap.fn, interpret=True)):
        with pytest.raises(kernels.Race):
            kernel[(2,)](torch.zeros(8), BLOCK=4)


def test_several_elements_have_no_truth():
    @torch.kernel
    def decides(x_ptr):
        if tl.load(x_ptr + tl.arange(0, 4)) > 1:
            tl.store(x_ptr, 1.0)

    with pytest.raises(ValueError, match=r"several elements.*use tl\.where"):
        decides.interpret[(1,)](torch.zeros(4))


@torch.kernel
def quotient(x_ptr, y_ptr, out_ptr, n: tl.constexpr):
    k = tl.arange(0, n)
    tl.store(out_ptr + k, tl.load(x_ptr + k) // tl.load(y_ptr + k))


@pytest.mark.parametrize("dtype", [torch.int8, torch.int32, torch.int64], ids=str)
def test_quotients_of_the_least_integer(dtype):
    least = torch.iinfo(dtype).min
    x = torch.full((4,), least, dtype=dtype)
    *_, out = run(quotient, (1,), x, torch.tensor([1, -1, 2, -3], dtype=dtype),
                  torch.zeros(4, dtype=dtype), 4)
    assert out.tolist() == [least, least, least // 2, -(least // 3) - 1]


def test_grids_without_programs():
    out = torch.zeros(4)
    for grid in ((0,), (1 << 40, 0), (0, 1 << 70)):
        quotient.interpret[grid](out, out, out, 4)
    assert out.tolist() == [0.0] * 4
