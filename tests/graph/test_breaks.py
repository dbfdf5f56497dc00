"""What runs a recording early, and what has to be as in eager mode then."""

import copy
import io
import os
import pickle
import threading
import traceback

import pytest

import yesca as torch
from yesca.base import settings
from yesca.core.storage import UntypedStorage
from yesca.graph import recorder


def test_a_read_overwritten_later():
    """y = log(x); x.log_(): y comes from what x was."""

    def logs(x):
        y = torch.log(x)
        x.log_()
        return y

    def copies(x):
        b = x + 1
        x.copy_(b)
        c = x + 2
        return x * b / c

    def retyped(x):
        y = x.view(torch.int32) * 2
        y.sub_(-4)
        x[:, 2:5] = 2
        return y.view(torch.int64)

    for function, x in ((logs, torch.tensor([3.0, 3.5])), (copies, torch.ones(4)),
                        (retyped, torch.arange(-12, 12).reshape(4, 6))):
        mine, other = x.clone(), x.clone()
        expected = function(mine)
        assert torch.compile(function)(other).tolist() == expected.tolist()
        assert other.tolist() == mine.tolist()
        assert other._version == mine._version


def test_operand_that_overlaps_the_target():
    def listed(x):
        torch._foreach_add_([x], [x.flip(0)])
        return x

    def plain(x):
        return x.add_(x.flip(0))

    for function in (listed, plain):
        x = torch.arange(16.0).reshape(4, 4)
        assert torch.compile(function)(x)[:, 0].tolist() == [12.0] * 4


def test_writes_to_memory_that_overlaps_itself():
    """Each operator visits the shared elements twice before the next one does."""
    def stepped(x):
        pairs = x.as_strided((4096, 2), (1, 1))
        pairs.mul_(0.5)
        pairs.add_(1)
        return x + 0

    x = torch.linspace(0, 1, 4097)
    expected = stepped(x.clone())
    assert torch.equal(torch.compile(stepped)(x), expected)


def test_writes_over_what_nobody_has_read():
    """Only the last of them is left, in a kernel that keeps the rules of the IR."""
    def written(x):
        x.mul_(2)
        x.add_(1)
        y = x + 1
        y.mul_(2)
        y.sin_()
        return y.amax(0)

    x = torch.linspace(0, 1, 8192).view(64, 128)
    other = x.clone()
    assert torch.equal(torch.compile(written)(x), written(other))
    assert torch.equal(x, other)


def test_any_python_runs():
    def growing(x):
        values = [x.sum()]

        def grow():
            for item in values:
                if len(values) < 3:
                    values.append(item + 1)
                yield item

        return torch.stack(list(grow())).sum()

    compiled = torch.compile(growing)
    assert [compiled(torch.ones(1)).item() for _ in range(2)] == [6.0, 6.0]


def test_a_value_decides_a_branch(capsys):
    @torch.compile
    def signed(x):
        y = x * 2
        if y.sum() > 0:
            return y + 1
        return y - 1

    with settings.LOGS.override(("graph_breaks",)):
        for _ in range(2):
            assert signed(torch.ones(2)).tolist() == [3.0, 3.0]
            assert signed(-torch.ones(2)).tolist() == [-3.0, -3.0]
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 1  # however often it comes
    assert all("__bool__ needs the value of a tensor: ran 3 recorded" in line for line in lines)
    assert all("test_breaks.py" in line for line in lines)


def test_fullgraph_refuses_values_that_decide():
    @torch.compile(fullgraph=True)
    def signed(x):
        return x + 1 if x.sum() > 0 else x - 1

    with pytest.raises(RuntimeError, match="fullgraph=True, but __bool__ needs the value"):
        signed(torch.ones(2))


def test_places_are_logged_anew_after_a_reset(capsys):
    run = torch.compile(lambda x: (x * 2).sum().item() + (x * 3).sum().item())
    with settings.LOGS.override(("graph_breaks",)):
        run(torch.ones(2))
        run(torch.ones(3))
        assert len(capsys.readouterr().err.splitlines()) == 1  # one line, one reason
        torch.compiler.reset()
        run(torch.ones(2))
    assert len(capsys.readouterr().err.splitlines()) == 1


@pytest.mark.parametrize(("function", "name"), [
    (lambda x: torch.linalg.solve(x, x), "solve"), (lambda x: torch.fft.fft(x), "fft"),
    (lambda x: x.share_memory_(), "share_memory_"), (lambda x: x.svd(), "svd"),
    (lambda x: torch.save(x, io.BytesIO()), "save")])
def test_reasons_name_what_the_program_calls(function, name, capsys):
    with settings.LOGS.override(("graph_breaks",)):
        torch.compile(lambda x: function(x * 2))(torch.eye(2))
    said = capsys.readouterr().err.splitlines()[0]
    assert name in said.split(" reads or writes memory at once")[0]
    assert not {"learn", "public", "in_python"} & set(said.split())


def failing(x):
    return x @ torch.ones(5, 5)


@pytest.mark.parametrize("function", [
    lambda x: failing(x * 2), lambda x: torch.nn.functional.cross_entropy(x, x[:, 0].long() * 9)])
def test_tracebacks_of_errors_show_the_program(function):
    def names(error):
        frames = traceback.extract_tb(error.__traceback__)
        return [frame.filename for frame in frames]

    own = os.path.dirname(torch.__file__)
    compiled = torch.compile(function)
    with pytest.raises((RuntimeError, IndexError)) as caught:
        compiled(torch.ones(3, 4))
    found = names(caught.value)
    assert not any(name.startswith((own, "<schema")) for name in found)
    assert found[-1] == __file__ and len(found) >= 2
    with settings.VERBOSE.override(True), pytest.raises((RuntimeError, IndexError)) as caught:
        compiled(torch.ones(3, 4))
    assert any(name.startswith(own) for name in names(caught.value))


def test_an_exception_half_way():
    w, seen = torch.ones(3), []

    @torch.compile
    def failing(x):
        w.add_(x)
        seen.append(x * 3)
        raise ValueError("stop")

    with pytest.raises(ValueError, match="stop"):
        failing(torch.ones(3))
    assert w.tolist() == [2.0, 2.0, 2.0]
    assert w._version == 1
    assert seen[0].tolist() == [3.0, 3.0, 3.0]
    assert type(w._storage) is UntypedStorage
    assert torch.compile(lambda x: x + 1)(w).tolist() == [3.0, 3.0, 3.0]


def test_an_index_out_of_bounds_fails_on_its_line():
    w, after = torch.ones(3), []

    @torch.compile
    def picked(x, index):
        w.mul_(2)
        row = torch.nn.functional.embedding(index, x + 1)
        after.append("reached")
        return row

    assert picked(torch.ones(2, 2), torch.tensor([1])).tolist() == [[2.0, 2.0]]
    with pytest.raises(IndexError):
        picked(torch.ones(2, 2), torch.tensor([2]))
    assert after == ["reached"]
    assert w.tolist() == [4.0, 4.0, 4.0]


def test_shapes_need_no_values():
    before = recorder.replays

    @torch.compile
    def shaped(x):
        y = x @ x.t()
        assert y.shape == (3, 3)
        assert y.dtype is torch.float32
        assert y.stride() == (3, 1)
        assert y.is_contiguous()
        assert y[0].storage_offset() == 0
        return y

    shaped(torch.ones(3, 2))
    assert recorder.replays - before == 1


def test_memory_of_numpy_is_read_when_the_call_is_made():
    numpy = pytest.importorskip("numpy")
    array = numpy.ones(3, dtype=numpy.float32)

    @torch.compile
    def read(x):
        y = x * 2
        z = y + 1
        array[:] = 5
        return z

    assert read(torch.from_numpy(array)).tolist() == [3.0, 3.0, 3.0]

    @torch.compile
    def written(x):
        view = x.numpy()
        x.add_(1)
        return float(view[0])

    assert written(torch.zeros(2)) == 1.0


def test_versions_guard_the_tape():
    @torch.compile
    def broken(w):
        y = w.exp()
        loss = (y * y).sum()
        y.add_(1)
        loss.backward()

    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        broken(torch.ones(2, requires_grad=True))


def test_gradients_accumulate_into_tensors_that_exist():
    w = torch.ones(2, requires_grad=True)

    @torch.compile
    def accumulate(x):
        (w * x).sum().backward()
        return w.grad

    first = accumulate(torch.tensor([1.0, 2.0]))
    second = accumulate(torch.tensor([1.0, 2.0]))
    assert first is second
    assert w.grad.tolist() == [2.0, 4.0]


def test_another_thread_gets_the_value():
    found = []

    @torch.compile
    def handed(x):
        y = x + 1
        thread = threading.Thread(target=lambda: found.append((y * 2).tolist()))
        thread.start()
        thread.join()
        return y * 3

    assert handed(torch.ones(2)).tolist() == [6.0, 6.0]
    assert found == [[4.0, 4.0]]


def test_compiled_within_compiled_is_one_recording():
    inner = torch.compile(lambda x: x + 1)
    outer = torch.compile(lambda x: inner(x) * 2)
    before = recorder.replays
    assert outer(torch.ones(2)).tolist() == [4.0, 4.0]
    assert recorder.replays - before == 1


def test_long_recordings_run_in_parts():
    @torch.compile
    def long(x):
        for _ in range(9000):
            x = x + 1
        return x

    before = recorder.replays
    assert long(torch.zeros(1)).item() == 9000.0
    assert recorder.replays - before == 3


def test_garbage_is_not_kept():
    import gc
    import weakref

    compiled = torch.compile(lambda x: x + 1)
    x = torch.ones(2)
    compiled(x)
    seen = weakref.ref(x._storage)
    gc.disable()
    try:
        del x
        assert seen() is None
    finally:
        gc.enable()


def test_finalizers_run_operators_whenever_garbage_is_collected():
    import gc

    found = []

    class Cyclic:
        def __init__(self, x):
            self.x, self.own = x, self

        def __del__(self):
            found.append((self.x * 2).sum())
            if len(found) % 2:
                found[-1] = found[-1].item()

    def littering(x):
        for _ in range(6):
            Cyclic(x + 1)
            y = (x * 3).sin()
            x = x + (y + y.view(-1)[:1]).sum() * 0
        return y * x

    x = torch.ones(8)
    expected = littering(x).tolist()
    compiled = torch.compile(littering)
    before = gc.get_threshold()
    gc.set_threshold(1)
    try:
        assert all(compiled(x).tolist() == expected for _ in range(30))
    finally:
        gc.set_threshold(*before)
    gc.collect()
    assert len(found) >= 180
    assert {float(number) for number in found} == {32.0}


def test_random_draws_come_in_order():
    weight = torch.linspace(-1, 1, 12).view(3, 4)

    def noisy(x):
        y = torch.nn.functional.dropout(x @ weight, 0.5)
        z = y + torch.rand(2, 4)
        return z * torch.randn(2, 4)

    compiled = torch.compile(noisy)
    x = torch.ones(2, 3)
    for _ in range(2):
        torch.manual_seed(3)
        expected = noisy(x).tolist(), torch.rand(1).item()
        torch.manual_seed(3)
        assert (compiled(x).tolist(), torch.rand(1).item()) == expected


def test_copies_and_pickles_inside():
    @torch.compile
    def copied(x):
        y = x + 1
        return copy.deepcopy(y), pickle.loads(pickle.dumps(x * 2))

    first, second = copied(torch.ones(2))
    assert (first.tolist(), second.tolist()) == ([2.0, 2.0], [2.0, 2.0])
