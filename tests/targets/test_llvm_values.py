"""Conversions of narrow floats in machine code: every value, on every kind of CPU and kernel."""

import os
import platform
import subprocess
import sys

import numpy as np
import pytest
import roundings

import yesca as torch

NAMES = (*roundings.HALVES, *roundings.EIGHTS)
#: The integers beside which halves are converted; bytes pass through float32, and need few.
WHOLES = {**dict.fromkeys(roundings.HALVES, roundings.WHOLES),
          **dict.fromkeys(roundings.EIGHTS, ("int64", "bool"))}


@pytest.mark.parametrize("name", NAMES)
def test_every_value_converts_out_of_a_narrow_dtype(name):
    assert not list(roundings.wrong_out_of(torch, name, wholes=WHOLES[name]))


@pytest.mark.parametrize("name", NAMES)
def test_every_middle_between_neighbours_is_rounded_to_the_even_one(name):
    assert not list(roundings.wrong_into(torch, name, WHOLES[name]))


def test_the_comparison_notices_other_roundings():
    x = roundings.around_middles("float16")
    wanted = roundings.rounded(x.astype(np.float64), "float16")
    with np.errstate(over="ignore"):
        exact = x.astype(np.float16)
        other = np.nextafter(exact, np.float16(0))
    bits = np.where(np.isnan(x), -1, exact.view(np.uint16).astype(int))
    assert roundings.same(bits, wanted)
    assert (np.where(np.isnan(x), -1, other.view(np.uint16)) != wanted).mean() > 0.9
    assert not roundings.same(np.float32([0.0]), np.float32([-0.0]))


@pytest.mark.parametrize("cpu", ["x86-64-v2", "x86-64-v3"])
@pytest.mark.skipif(platform.machine() not in ("x86_64", "AMD64"), reason="names an x86 CPU")
def test_older_cpus_round_alike(cpu):
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "YESCA_CPU": cpu}
    command = [sys.executable, roundings.__file__, "yesca"]
    result = subprocess.run(command, capture_output=True, text=True, env=environment)
    assert result.returncode == 0, result.stderr


@pytest.mark.parametrize("name", NAMES)
def test_fused_kernels_round_between_operators(name):
    dtype = getattr(torch, name)
    x = torch.from_numpy(roundings.around_middles(name))

    def steps(x):
        narrow = (x * 1.0).to(dtype)
        return narrow, narrow.to(torch.float32) + 0.0, (-x).to(dtype).to(torch.float64)

    compiled = torch.compile(steps)
    wanted = roundings.rounded(x.numpy().astype(np.float64), name)
    known = roundings.values(name)
    for _ in range(3):
        narrow, wide, negative = compiled(x)
        assert roundings.same(roundings.bits_of(narrow, torch), wanted)
        expected = np.where(wanted < 0, np.nan, known[wanted]) + 0.0
        assert roundings.same(wide.numpy(), expected.astype(np.float32))
        assert roundings.same(negative.numpy(), steps(x)[2].numpy())


@pytest.mark.parametrize("name", roundings.HALVES)
def test_reductions_and_scans_round_what_they_store(name):
    dtype = getattr(torch, name)
    x = torch.from_numpy(roundings.around_middles(name))
    wanted = roundings.rounded(x.numpy().astype(np.float64), name)
    known = np.where(wanted < 0, np.nan, roundings.values(name)[wanted])
    pairs = torch.stack([x, torch.zeros_like(x)], 1)
    halves = pairs.to(dtype)
    for made, expected in (
            (pairs.sum(1, dtype=dtype), known), (pairs.cumsum(1, dtype=dtype)[:, 1], known),
            (pairs.amax(1).to(dtype), np.maximum(known, 0)),
            (halves.sum(1), known), (halves.t().contiguous().sum(0), known),
            (halves.cumsum(1)[:, 1], known), (halves.amin(1), np.minimum(known, 0))):
        assert made.dtype is dtype
        assert np.array_equal(made.double().numpy(), expected, equal_nan=True)
