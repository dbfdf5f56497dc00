"""Launches inside of compiled functions: recorded, kept in order, the same bits as at once."""

import threading

import pytest

import yesca as torch
from yesca import kernels
from yesca.graph import stored
from yesca.kernels import language as tl
from yesca.runtime import cache


@torch.kernel
def mix(x_ptr, y_ptr, out_ptr, n, factor, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    x = tl.load(x_ptr + offsets, mask=mask)
    y = tl.load(y_ptr + offsets, mask=mask)
    tl.store(out_ptr + offsets, tl.exp(-tl.abs(x).to(tl.float32)) * factor + y, mask=mask)


@torch.kernel
def rows_kernel(x_ptr, out_ptr, columns, row_stride, column_stride, BLOCK: tl.constexpr):
    row, inside = tl.program_id(0), tl.arange(0, BLOCK)
    mask = inside < columns
    x = tl.load(x_ptr + row * row_stride + inside * column_stride, mask=mask, other=0.0)
    total = tl.sum(x, 0)
    tl.store(out_ptr + row * columns + inside, x - total / columns, mask=mask)


@torch.kernel
def count(x_ptr, bins_ptr, BLOCK: tl.constexpr):
    x = tl.load(x_ptr + tl.program_id(0) * BLOCK + tl.arange(0, BLOCK))
    tl.atomic_add(bins_ptr + (x > 0).to(tl.int32), 1.0)


@torch.kernel
def accumulate(x_ptr, total_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    before = tl.load(total_ptr + offsets, mask=mask)
    tl.store(total_ptr + offsets, before + tl.load(x_ptr + offsets, mask=mask), mask=mask)


def blocks_of(n, block=64):
    return (kernels.cdiv(n, block),)


def mixed(x, y, factor=0.5, block=64):
    out = torch.empty_like(x)
    mix[blocks_of(x.numel(), block)](x, y, out, x.numel(), factor, BLOCK=block)
    return out


def centred(x):
    out = torch.empty(x.shape, dtype=x.dtype)
    block = kernels.next_power_of_2(x.shape[1])
    rows_kernel[(len(x),)](x, out, x.shape[1], *x.stride(), BLOCK=block)
    return out


def around(x, factor, block):
    return mixed(x * 2 + 1, x.relu(), factor, block).sum() + mixed(x, x, factor, block)


def in_place(x, factor, block):
    total = torch.zeros_like(x)
    for k in range(3):
        accumulate[blocks_of(x.numel())](x * k, total, x.numel(), BLOCK=64)
        x = x + total
    total += factor
    return x, total


def reductions(x, factor, block):
    rows = (x * factor).reshape(-1, 5)
    return centred(rows) + 1, centred(rows.t().exp()).mean(), centred(rows[1:, ::2])


def atomics(x, factor, block):
    bins = torch.zeros(2, dtype=x.dtype)
    if x.dtype in (torch.float32, torch.float64):
        count[(x.numel() // 4,)](x - factor, bins, BLOCK=4)
    return bins / x.numel()


@pytest.mark.parametrize("body", [around, in_place, reductions, atomics])
def test_twenty_calls_of_changing_kinds(body):
    compiled = torch.compile(body, fullgraph=True)
    kinds = (torch.float32, torch.float64, torch.float32, torch.bfloat16, torch.float32)
    for turn in range(20):
        size = (40, 4800, 9600)[turn // 3 % 3]
        x = torch.randn(size).to(kinds[turn % 5])
        given = (x, 0.25 * (turn // 2 - 3), 64 if turn % 4 else 128)
        expected, made = body(*given), compiled(*given)
        for one, other in zip(torch.utils._pytree.tree_leaves(expected),
                              torch.utils._pytree.tree_leaves(made), strict=True):
            assert torch.equal(one, other), turn


def test_effects_on_what_was_there_before():
    def step(x, total, view):
        accumulate[(1,)](x, total, x.numel(), BLOCK=64)
        before = total * 2
        accumulate[(1,)](before, view, view.numel(), BLOCK=64)  # half of the same memory
        return total + 0

    compiled = torch.compile(step, fullgraph=True)
    given = [torch.randn(40), torch.randn(40)]
    totals = [given[1].clone(), given[1].clone()]
    for _ in range(5):
        versions = [t._version for t in totals]
        made = [run(given[0], t, t[20:]) for run, t in zip((step, compiled), totals, strict=True)]
        assert torch.equal(*made) and torch.equal(*totals)
        assert [t._version - v for t, v in zip(totals, versions, strict=True)] == [2, 2]


def test_explained_as_one_graph():
    def step(x):
        return mixed(x * 2, x).relu()

    found = torch.compiler.explain(step)(torch.randn(1000))
    assert found.graph_break_count == 0 and found.graph_count == 1
    assert found.ops_per_graph == [["mul", "uninitialised_like", "mix", "relu"]]
    (graph,) = found.graphs
    assert "mix" in "+".join(graph.launches)
    assert graph.eager_bytes == 8000 + 12000 + 8000
    assert "mix" in graph.table() and "mix" in graph.code()


def test_what_nobody_sees_is_left_out():
    def step(x):
        mixed(x, x)
        return x + 1

    found = torch.compiler.explain(step)(torch.randn(100))
    assert "mix" in found.ops_per_graph[0] and found.graphs[0].launches == ["add"]


def test_memory_of_others_is_written_at_once():
    def step(x, shared):
        doubled = x * 2
        mix[(1,)](doubled, doubled, shared, 10, 1.0, BLOCK=16)
        return doubled + shared

    compiled = torch.compile(step)
    for _ in range(4):
        x, shared, other = torch.randn(10), torch.zeros(10), torch.zeros(10)
        seen = other.numpy()
        assert torch.equal(step(x, shared), compiled(x, other))
        assert torch.equal(shared, torch.from_numpy(seen))


@kernels.autotune([kernels.Config({"BLOCK": 16}), kernels.Config({"BLOCK": 64})], key=["n"])
@kernels.heuristics({"EVEN": lambda given: given["n"] % given["BLOCK"] == 0})
@kernels.jit
def tuned(x_ptr, n, BLOCK: tl.constexpr, EVEN: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = None if EVEN else offsets < n
    tl.store(x_ptr + offsets, tl.load(x_ptr + offsets, mask=mask) + 1, mask=mask)


def test_tuned_kernels_are_measured_outside_and_recorded():
    def step(x):
        y = x * 2
        tuned[lambda meta: blocks_of(meta["n"], meta["BLOCK"])](y, y.numel())
        return y + y

    compiled = torch.compile(step, fullgraph=True)
    for n in (64, 70, 64, 70, 70):
        x = torch.randn(n)
        assert torch.equal(compiled(x), (x * 2 + 1) * 2)
    assert torch.compiler.explain(step)(torch.randn(64)).graph_break_count == 0


def test_interpreted_kernels_run_at_once(capsys):
    @torch.kernel
    def shows(x_ptr):
        tl.device_print("x", tl.load(x_ptr))

    def step(x):
        shows[(1,)](x + 1)
        with pytest.raises(kernels.CompilationError):
            mix[(1,)](x, x, x, 4, 1.0, BLOCK=3)
        with pytest.raises(IndexError, match="offset 4"):
            mix.interpret[(1,)](x, x, x.clone(), 8, 1.0, BLOCK=8)
        return x * 2

    compiled = torch.compile(step)
    for _ in range(3):
        assert compiled(torch.ones(4)).tolist() == [2.0] * 4
    assert capsys.readouterr().out == "pid (0, 0, 0) x 2.0\n" * 3


def test_in_functions_with_derivatives():
    class Mix(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, y):
            ctx.save_for_backward(x)
            return mixed(x, y)

        @staticmethod
        def backward(ctx, grad):
            (x,) = ctx.saved_tensors
            return mixed(x, grad) * x.sign() * -1, grad

    def step(x):
        loss = (Mix.apply(x * 3, x.sin()) ** 2).sum()
        (grad,) = torch.autograd.grad(loss, x)
        return loss.detach(), grad

    compiled = torch.compile(step, fullgraph=True)
    for _ in range(5):
        x = torch.randn(4500, requires_grad=True)
        assert all(map(torch.equal, step(x), compiled(x)))


def test_empty_tensors_and_wide_numbers():
    @torch.kernel
    def tell(out_ptr, nothing_ptr, number, truth):
        tl.store(out_ptr, number)
        tl.store(out_ptr + 1, truth)

    def step(number, truth):
        out, nothing = torch.zeros(2, dtype=torch.int64), torch.empty(0) + 1
        tell[(1,)](out, nothing, number, truth)
        mix[(0,)](nothing, nothing, nothing, 0, 1.0, BLOCK=16)
        return out, nothing

    compiled = torch.compile(step)
    for number in (-5, 7, 1 << 40, -(1 << 62), 9, (1 << 63) - 1):
        for truth in (True, False):
            out, nothing = compiled(number, truth)
            assert out.tolist() == [number, truth] and nothing.shape == (0,)


def test_odd_numbers():
    compiled = torch.compile(mixed, fullgraph=True)
    x, y = torch.randn(5000), torch.randn(5000)
    for factor in (0.5, float("nan"), float("inf"), -0.0, 3, True, 1, 1e300, 1 << 40):
        torch.testing.assert_close(compiled(x, y, factor), mixed(x, y, factor), rtol=0, atol=0,
                                   equal_nan=True)


def test_memory_that_is_gone_is_refused_at_the_launch():
    def step(x):
        gone = x + 0
        gone.untyped_storage().resize_(0)
        with pytest.raises(RuntimeError, match="not allocated yet"):
            mixed(gone, x)
        return x * 2

    x = torch.randn(5000)
    assert torch.equal(torch.compile(step)(x), step(x))


def test_threads_and_subclasses():
    class Own(torch.Tensor):
        pass

    compiled = torch.compile(mixed)
    found = []

    def work():
        for _ in range(5):
            x = torch.randn(5000)
            found.append(torch.equal(compiled(x, x), mixed(x, x)))

    workers = [threading.Thread(target=work) for _ in range(3)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    x = torch.randn(5000).as_subclass(Own)
    assert found == [True] * 15 and torch.equal(compiled(x, x), mixed(x, x))


def test_programs_on_disk(tmp_path, monkeypatch):
    def step(x):
        for _ in range(20):
            x = mixed(x * 2, x + 1)
        return x

    read = []
    restored = stored._restored
    monkeypatch.setattr(stored, "_restored", lambda *given: read.append(1) or restored(*given))
    monkeypatch.setattr(cache, "_current", cache._current)
    cache.use([tmp_path])
    x = torch.randn(5000)
    expected = step(x)
    for times in range(2):  # each compiled function has recordings of its own
        compiled = torch.compile(step, fullgraph=True)
        assert all(torch.equal(compiled(x), expected) for _ in range(3))
        assert len(read) == times
