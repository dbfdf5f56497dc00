"""The generator and all draws, compared with numbers recorded from PyTorch 2.13."""

import copy
import hashlib
import json
import math
import pickle
import sys
import threading
from pathlib import Path

import pytest

import yesca as torch

pytestmark = pytest.mark.every_cpu

FIXTURES = Path(__file__).parents[1] / "fixtures"
TABLE = json.loads((FIXTURES / "random.json").read_text())
SEED = 1234
#: Relative errors that another C library may cause.
TOLERANCES = {"float64": 1e-13, "float32": 3e-7, "float16": 2e-3, "bfloat16": 1.6e-2}


def evaluated(expression):
    return eval(expression, {"torch": torch})


def digest(data):
    return hashlib.blake2b(data, digest_size=8).hexdigest()


def bytes_of(tensor):
    packed = tensor.clone(memory_format=torch.contiguous_format)
    return bytes(packed.untyped_storage().tolist())[: packed.nbytes]


def numbers(tensor):
    values = tensor.reshape(-1).tolist()
    return [part for v in values for part in (v.real, v.imag)] if tensor.is_complex() else values


def following():
    return torch.randint(2**31, (1,)).item()


def assert_close(values, expected, dtype):
    tolerance = TOLERANCES.get(str(dtype).rpartition(".")[2], 0)
    assert len(values) == len(expected)
    for value, wanted in zip(values, expected, strict=True):
        assert math.isclose(value, wanted, rel_tol=tolerance, abs_tol=tolerance)


@pytest.mark.parametrize("part", range(8))
def test_exact_numbers(part):
    wrong = []
    for expression, expected, after in TABLE["exact"][part::8]:
        torch.manual_seed(SEED)
        if (digest(bytes_of(evaluated(expression))), following()) != (expected, after):
            wrong.append(expression)
    assert not wrong


@pytest.mark.parametrize("part", range(4))
def test_numbers_of_the_c_library(part):
    for expression, expected, after in TABLE["close"][part::4]:
        torch.manual_seed(SEED)
        drawn = evaluated(expression)
        assert_close(numbers(drawn), expected, drawn.dtype.to_real())
        assert following() == after, expression


def test_a_sequence_of_draws():
    sys.path.insert(0, str(FIXTURES))
    try:
        from random_cases import SEQUENCE
    finally:
        sys.path.remove(str(FIXTURES))
    torch.manual_seed(SEED)
    for expression, expected in zip(SEQUENCE, TABLE["sequence"], strict=True):
        drawn = evaluated(expression)
        assert_close(numbers(drawn), expected, drawn.dtype)


@pytest.mark.parametrize(("before", "expected", "after"), TABLE["states"])
def test_states_are_those_of_pytorch(before, expected, after):
    torch.manual_seed(SEED)
    evaluated(before)
    state = torch.get_rng_state()
    assert state.dtype is torch.uint8 and state.shape == (5056,)
    # The number kept for later is a matter of the C library; all else is exact.
    if before != "torch.randn(3)":
        assert digest(bytes_of(state)) == expected
    other = torch.Generator()
    other.set_state(state)
    for generator in (None, other):
        drawn = torch.randn(4, generator=generator)
        assert_close(drawn.tolist(), after, drawn.dtype)


def test_large_fills_cross_blocks_of_words():
    """Every way to cut a draw of 2000 numbers gives the same numbers."""
    whole = torch.rand(2000, generator=torch.Generator().manual_seed(5)).tolist()
    for size in (1, 3, 623, 624, 625, 1999):
        generator = torch.Generator().manual_seed(5)
        parts = []
        while len(parts) < 2000:
            count = min(size, 2000 - len(parts))
            parts += torch.rand(count, generator=generator).tolist()
        assert parts == whole


# ---- seeds -------------------------------------------------------------------------------------

@pytest.mark.parametrize(("seed", "initial"), [
    (0, 0), (-1, 2**64 - 1), (2**63, 2**63), (2**64 - 1, 2**64 - 1), (-(2**63), 2**63)])
def test_seeds_of_64_bits(seed, initial):
    assert torch.Generator().manual_seed(seed).initial_seed() == initial
    assert torch.manual_seed(seed).initial_seed() == torch.initial_seed() == initial


def test_seeds_that_are_refused():
    generator = torch.Generator()
    for seed in (2**64, -(2**63) - 1):
        with pytest.raises(ValueError, match="Overflow when unpacking long long"):
            generator.manual_seed(seed)
    for seed in (1.5, "1", True, None):
        with pytest.raises(RuntimeError, match="manual_seed expected a long, but got"):
            generator.manual_seed(seed)
    assert torch.manual_seed("7").initial_seed() == torch.manual_seed(7.9).initial_seed() == 7


def test_a_new_generator_has_pytorch_s_seed():
    assert torch.Generator().initial_seed() == 67280421310721


def test_seed_takes_one_from_the_system():
    generator = torch.Generator()
    seeds = {generator.seed() for _ in range(3)}
    assert len(seeds) == 3 and generator.initial_seed() in seeds
    assert torch.seed() == torch.initial_seed()


def test_manual_seed_forgets_the_kept_normal_number():
    torch.manual_seed(SEED)
    first = torch.randn(3).tolist()
    torch.manual_seed(SEED)
    assert torch.randn(3).tolist() == first


# ---- states and copies -------------------------------------------------------------------------

def test_copies_draw_the_same():
    generator = torch.Generator().manual_seed(3)
    torch.randn(3, generator=generator)
    copies = [generator.clone_state(), copy.deepcopy(generator),
              pickle.loads(pickle.dumps(generator))]
    expected = torch.randn(20, generator=generator).tolist()
    for other in copies:
        assert other is not generator and other.initial_seed() == 3
        assert torch.randn(20, generator=other).tolist() == expected


def test_states_that_are_refused():
    generator = torch.Generator()
    with pytest.raises(TypeError, match=r"expected a torch\.ByteTensor, but got int"):
        generator.set_state(3)
    with pytest.raises(TypeError, match=r"RNG state must be a torch\.ByteTensor"):
        generator.set_state(torch.zeros(5056))
    with pytest.raises(RuntimeError, match="of size 5056 but found .* to be 3"):
        generator.set_state(torch.zeros(3, dtype=torch.uint8))
    with pytest.raises(RuntimeError, match="must be contiguous"):
        generator.set_state(torch.zeros(5056, 2, dtype=torch.uint8)[:, 0])
    before = generator.get_state().tolist()
    with pytest.raises(RuntimeError, match="Invalid mt19937 state"):
        generator.set_state(torch.zeros(5056, dtype=torch.uint8))
    assert generator.get_state().tolist() == before


def test_fork_rng_restores_the_state():
    torch.manual_seed(SEED)
    with torch.random.fork_rng():
        inside = torch.rand(3).tolist()
    assert torch.rand(3).tolist() == inside


def test_what_only_accelerators_have():
    generator = torch.Generator(device="cpu")
    assert generator.device == torch.device("cpu")
    for call in (generator.get_offset, lambda: generator.set_offset(1)):
        with pytest.raises(RuntimeError, match="CPU Generator does not use offset"):
            call()
    with pytest.raises(NotImplementedError, match="graphsafe_get_state is not supported"):
        generator.graphsafe_get_state()
    for device in ("cuda", "meta"):
        with pytest.raises(RuntimeError):
            torch.Generator(device=device)


# ---- threads and processes ---------------------------------------------------------------------

def test_threads_share_a_generator():
    generator = torch.Generator().manual_seed(0)
    drawn = []
    threads = [
        threading.Thread(target=lambda: drawn.extend(
            torch.rand(5000, generator=generator).tolist() for _ in range(4)))
        for _ in range(4)
    ]  # fmt: skip
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    expected = torch.rand(80000, generator=torch.Generator().manual_seed(0)).tolist()
    assert sorted(value for values in drawn for value in values) == sorted(expected)


def test_a_program_draws_the_same_after_a_fork(run_python):
    program = """
import os, warnings
import yesca as torch
torch.manual_seed(3)
torch.rand(1)
read, write = os.pipe()
warnings.simplefilter("ignore")
if os.fork() == 0:
    os.write(write, repr(torch.rand(3).tolist()).encode())
    os._exit(0)
os.wait()
print(os.read(read, 1000).decode() == repr(torch.rand(3).tolist()))
"""
    if sys.platform == "win32":
        pytest.skip("no fork")
    assert run_python("-c", program).stdout.strip() == "True"
