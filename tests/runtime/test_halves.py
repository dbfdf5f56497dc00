"""Conversions of half types where the CPU has none."""

import os
import platform
import random
import struct
import subprocess
import sys

import pytest

from yesca.runtime import units
from yesca.runtime.native.halves import narrow
from yesca.targets.native import bits_of_f32, bits_of_f64

pytestmark = pytest.mark.every_cpu


def half_bits(value):
    try:
        return struct.unpack("<H", struct.pack("<e", value))[0]
    except OverflowError:
        return 0xFC00 if value < 0 else 0x7C00


def bfloat_bits(value):
    bits = bits_of_f32(value)
    return (bits + 0x7FFF + ((bits >> 16) & 1)) >> 16


def samples():
    generator = random.Random(3)
    yield from (0.0, -0.0, 1.0, -2.5, 65504.0, 65519.9, 65520.0, -1e6, 1e-8, float("inf"))
    yield from (5.960464477539063e-08, 2.98e-08, 2.9802322387695312e-08, 6.097555e-05, 2049.0)
    for _ in range(2000):
        yield generator.uniform(-4, 4) * 2.0 ** generator.randrange(-30, 18)


def test_narrow_rounds_to_nearest_even():
    compiled = units.callable_of(narrow)
    for value in samples():
        assert compiled(bits_of_f64(value), 10, 15) == half_bits(value), value
    single = [struct.unpack("<f", struct.pack("<f", value))[0] for value in samples()]
    for value in (*single, 1e-40, 3e38, 3.4028234663852886e38):
        assert compiled(bits_of_f64(value), 7, 127) == bfloat_bits(value), value
    nan = bits_of_f64(float("nan"))
    assert compiled(nan, 10, 15) & 0x7FFF > 0x7C00 and narrow(nan, 7, 127) & 0x7FFF > 0x7F80
    assert all(narrow(bits_of_f64(v), 10, 15) == half_bits(v) for v in (0.1, 1e-7, 7e4, -3.3))


OLD_CPU = """
import ctypes, random, struct
from yesca.runtime import machine
key = machine.hash_key("halves on an old CPU")
text = f'''
define void @double_{key}(ptr %p, i64 %n) {{
entry:
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %next, %loop ]
  %place = getelementptr half, ptr %p, i64 %i
  %half = load half, ptr %place
  %wide = fpext half %half to float
  %twice = fadd float %wide, %wide
  %narrow = fptrunc float %twice to half
  store half %narrow, ptr %place
  %next = add i64 %i, 1
  %more = icmp slt i64 %next, %n
  br i1 %more, label %loop, label %done
done:
  ret void
}}
'''
module = machine.load("halves", text, key)
double = module.function(f"double_{key}", None, ctypes.c_void_p, ctypes.c_int64)
values = [0.0, -1.5, 3e-7, 6e-8, 30000.0, 40000.0, float("-inf"), 1.0009765625]
data = ctypes.create_string_buffer(struct.pack("<8e", *values))
double(ctypes.addressof(data), 8)
expected = [2 * struct.unpack("<e", struct.pack("<e", value))[0] for value in values]
expected[5] = float("inf")
assert list(struct.unpack("<8e", data.raw[:16])) == expected
assert any(name.startswith("__") for name in machine._engine()._bound)
"""


@pytest.mark.skipif(platform.machine() not in ("x86_64", "AMD64"), reason="names an x86 CPU")
def test_an_old_cpu_computes_in_half():
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    environment["YESCA_CPU"] = "x86-64-v2"
    command = [sys.executable, "-c", OLD_CPU]
    result = subprocess.run(command, capture_output=True, text=True, env=environment)
    assert result.returncode == 0, result.stderr
