"""Modules that programs ask something: compiler, distributed, jit, dlpack, typed storages."""

import gc
import subprocess
import sys

import numpy as np
import pytest

import yesca as torch


def test_compiler():
    seen = []

    def function(x):
        seen.append(torch.compiler.is_compiling())
        return x + 1

    compiled = torch.compile(function)
    assert compiled(torch.ones(2)).tolist() == [2.0, 2.0] and not torch.compiler.is_compiling()
    with torch.compiler.set_stance("force_eager"):
        compiled(torch.ones(2))
    assert torch.compiler.disable(compiled)(torch.ones(1)).tolist() == [2.0]
    assert seen == [True, False, False]
    with torch.compiler.set_stance("sometimes"), pytest.raises(
            RuntimeError, match="invalid torch.compile stance 'DynamoStance.stance='sometimes', "):
        compiled(torch.ones(2))


def test_disabled_inside_of_compiled():
    seen = []

    @torch.compiler.disable
    def outside(x):
        seen.append(torch.compiler.is_compiling())
        return x.sum().item()

    @torch.compile
    def function(x):
        y = x * 2
        total = outside(y)
        return y + total

    for _ in range(2):
        assert function(torch.ones(2)).tolist() == [6.0, 6.0]
    assert seen == [False, False]


def test_no_process_group():
    distributed = torch.distributed
    assert not distributed.is_available() and not distributed.is_initialized()
    with pytest.raises(ValueError, match="Default process group has not been initialized"):
        distributed.get_rank()
    with pytest.raises(RuntimeError, match="is_available"):
        distributed.init_process_group("gloo")


def test_no_torchscript():
    jit = torch.jit
    assert jit.script(abs) is abs
    with pytest.raises(RuntimeError, match="takes a function, module or class"):
        jit.script(3)
    assert not jit.is_scripting() and not jit.is_tracing()
    assert jit.unused(abs) is abs and jit.ignore(abs) is abs and jit.ignore(drop=True)(abs) is abs
    assert jit.export(abs) is abs and jit.annotate(int, 3) == 3
    assert jit.isinstance([1], list[int]) and not jit.isinstance({"a": 1}, dict[str, str])
    with pytest.raises(NotImplementedError, match="no TorchScript"):
        jit.trace(abs, 1)


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "bool", "int16", "uint8", "complex64"])
def test_dlpack_round_trip(dtype):
    x = torch.arange(6).reshape(2, 3).to(getattr(torch, dtype)).t()
    made = torch.from_dlpack(x)
    assert made.dtype == x.dtype and made.stride() == (1, 3) and torch.equal(made, x)
    made[0, 0] = 1
    assert x[0, 0].item() == 1


def test_dlpack_with_numpy():
    array = np.zeros(3)
    made = torch.from_dlpack(array)
    made[1] = 2
    assert array.tolist() == [0.0, 2.0, 0.0]
    x = torch.ones(2)
    shared = np.from_dlpack(x)
    x[0] = 5
    assert shared.tolist() == [5.0, 1.0]
    del made, shared
    gc.collect()


def test_capsules_are_taken_once():
    capsule = torch.utils.dlpack.to_dlpack(torch.ones(2))
    assert torch.from_dlpack(capsule).tolist() == [1.0, 1.0]
    with pytest.raises(RuntimeError, match="consumed only once"):
        torch.from_dlpack(capsule)
    with pytest.raises(BufferError, match="require gradient"):
        torch.from_dlpack(torch.ones(1, requires_grad=True))
    capsule = torch.utils.dlpack.to_dlpack(torch.ones(1, requires_grad=True))
    assert not torch.from_dlpack(capsule).requires_grad
    with pytest.raises(TypeError, match="must be Tensor, not int"):
        torch.utils.dlpack.to_dlpack(3)


def test_arrays_that_may_not_be_written_come_by_dlpack():
    array = np.arange(3.0)
    array.flags.writeable = False
    held = sys.getrefcount(array)
    made = torch.from_dlpack(array)
    assert made.tolist() == [0.0, 1.0, 2.0] and sys.getrefcount(array) > held
    del made
    gc.collect()
    assert sys.getrefcount(array) == held


@pytest.mark.parametrize("call", ["from_dlpack(np.ones(2))", "asarray(np.ones(2))",
                                  "UntypedStorage(16)"])
def test_first_calls(call):
    """The first thing that a process asks of the package."""
    program = f"import numpy as np; import yesca; print(len(yesca.{call}))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.stdout.strip() in ("2", "16"), done.stderr


def test_typed_storages():
    storage = torch.FloatStorage([1, 2, 3])
    assert storage.tolist() == [1.0, 2.0, 3.0] and len(storage) == 3 and storage.nbytes() == 12
    assert isinstance(storage, torch.FloatStorage) and not isinstance(storage, torch.LongStorage)
    assert type(storage) is torch.TypedStorage and torch.is_storage(storage)
    storage[1] = 7
    assert storage[1] == 7.0 and storage.long().tolist() == [1, 7, 3]
    assert torch.FloatTensor(storage).tolist() == [1.0, 7.0, 3.0]
    x = torch.ones(2)
    x.storage().fill_(4)
    assert x.tolist() == [4.0, 4.0] and x.storage() is x.storage()
    assert x.storage().type() == "torch.FloatStorage"
    with pytest.raises(IndexError, match="index 5 out of range for storage of size 3"):
        storage[5]


def test_shared_memory():
    x = torch.arange(4.0)
    view = x[1:]
    assert x.share_memory_() is x and x.is_shared() and view.is_shared()
    view[0] = 9
    assert x.tolist() == [0.0, 9.0, 2.0, 3.0]
