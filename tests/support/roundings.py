"""Conversions of float16, bfloat16 and floats of 8 bits, compared with conversions made anew.

What a number is rounded to is looked up here: among all numbers of the dtype, in float64, with the
even neighbour where it lies in the middle. Run as a program this checks the half types in a process
of its own, whose environment may name another CPU.
"""

import numpy as np

HALVES = ("float16", "bfloat16")
WHOLES = ("int8", "uint8", "int32", "int64", "bool")
EIGHTS = ("float8_e4m3fn", "float8_e5m2", "float8_e4m3fnuz", "float8_e5m2fnuz")


def codes(name):
    """Every bit pattern of a dtype."""
    return np.arange(1 << (16 if name in HALVES else 8), dtype=np.uint32)


def values(name):
    """The number of every bit pattern, in float64; NaN for those of floats of 8 bits that the
    format takes for NaN."""
    bits = codes(name)
    if name == "float16":
        return bits.astype(np.uint16).view(np.float16).astype(np.float64)
    if name == "bfloat16":
        with np.errstate(invalid="ignore"):
            return (bits << 16).view(np.float32).astype(np.float64)
    fraction = 3 if "e4m3" in name else 2
    uz = name.endswith("uz")
    bias = {"float8_e4m3fn": 7, "float8_e5m2": 15, "float8_e4m3fnuz": 8, "float8_e5m2fnuz": 16}
    exponent, rest = (bits & 127) >> fraction, bits & ((1 << fraction) - 1)
    whole = np.where(exponent > 0, rest + (1 << fraction), rest)
    made = np.ldexp(whole, np.maximum(exponent, 1).astype(int) - bias[name] - fraction)
    if uz:
        made[128] = np.nan
    elif name == "float8_e4m3fn":
        made[[127, 255]] = np.nan
    else:
        made[(bits & 127) == 124] = np.inf
        made[(bits & 127) > 124] = np.nan
    return np.where(bits > 127, -made, made)


def rounded(x, name):
    """The bit patterns that float64 numbers are rounded to; -1 stands for any NaN."""
    known = values(name)
    half = len(known) // 2
    table = known[:half][np.isfinite(known[:half])]  # ascending, the code is the place
    size = np.abs(x)
    above = np.clip(np.searchsorted(table, size), 1, len(table) - 1)
    below = above - 1
    middle = (table[below] + table[above]) / 2
    code = np.where((size > middle) | ((size == middle) & (above % 2 == 0)), above, below)
    largest = len(table) - 1
    beyond = table[largest] + (table[largest] - table[largest - 1]) / 2
    over = (size > beyond) | ((size == beyond) & (largest % 2 == 1))
    # The largest number of float8_e4m3fn stands for what is beyond; elsewhere infinity follows it.
    code = np.where(over, largest + (name != "float8_e4m3fn"), code)
    uz = name.endswith("uz")
    code = np.where(np.signbit(x) & ~(uz & (code == 0)), code + half, code)
    if uz:
        code[over] = -1
    return np.where(np.isnan(x), -1, code)


def around_middles(name):
    """float32 numbers at, just below and just above what lies between neighbours; the neighbours
    themselves; what is beyond the largest, and special values. Both signs."""
    known = values(name)
    table = known[: len(known) // 2]
    table = table[np.isfinite(table)]
    beyond = table[-1] + (table[-1] - table[-2]) / 2
    middles = np.append((table[1:] + table[:-1]) / 2, beyond).astype(np.float32)
    assert np.array_equal(middles.astype(np.float64)[:-1], (table[1:] + table[:-1]) / 2)
    special = np.float32([np.inf, np.nan, 3.4028235e38, 1e-45, 1.1754942e-38, 1.1754944e-38])
    exact = np.concatenate([middles, table.astype(np.float32), special])
    with np.errstate(over="ignore", under="ignore"):
        sizes = np.concatenate([exact, *(np.nextafter(exact, np.float32(end))
                                         for end in (-np.inf, np.inf))])
    sizes = np.abs(sizes)
    return np.concatenate([sizes, -sizes])


def bits_of(tensor, torch):
    """The bit patterns of a tensor of narrow floats, -1 for NaN."""
    wide = tensor.contiguous()
    raw = wide.view(torch.uint8 if wide.element_size() == 1 else torch.int16)
    made = raw.to(torch.int64).numpy() & (255 if wide.element_size() == 1 else 65535)
    return np.where(np.isnan(wide.double().numpy()), -1, made)


def of_bits(bits, name, torch):
    """A tensor of narrow floats from its bit patterns."""
    kind = np.uint8 if name not in HALVES else np.int16
    raw = torch.from_numpy(bits.astype(np.uint16).view(np.int16).copy() if kind is np.int16
                           else bits.astype(np.uint8))
    return raw.view(getattr(torch, name))


#: Ways that a conversion may be compiled: long and short rows, steps between elements, each alone.
LAYOUTS = {
    "dense": lambda torch, x, f: f(x),
    "tails": lambda torch, x, f: torch.cat([f(x[a:b]) for a, b in (
        (0, 1), (1, 4), (4, 11), (11, 44), (44, len(x)))]),
    "stepped": lambda torch, x, f: f(torch.stack([x, x], 1)[:, 0]),
    "transposed": lambda torch, x, f: f(x[: len(x) // 7 * 7].view(-1, 7).t()).t().reshape(-1),
}


def same(made, wanted):
    """Whether numbers agree, signs of zeros too, any NaN with any."""
    made, wanted = (np.asarray(a)[: min(len(made), len(wanted))] for a in (made, wanted))
    return np.array_equal(made, wanted, equal_nan=made.dtype.kind == "f") and (
        made.dtype.kind != "f" or np.array_equal(np.signbit(made[made == 0]),
                                                 np.signbit(wanted[made == 0])))


def _integers(made, known, whole):
    """Those of the integers that numbers convert to which are defined, and what they should be."""
    if whole == "bool":
        return made, known != 0
    limits = np.iinfo(whole)
    fits = (known > limits.min - 1.0) & (known < limits.max + 1.0)
    return made[fits], np.trunc(known[fits]).astype(whole)


def wrong_out_of(torch, name, others=(*HALVES, *EIGHTS), wholes=WHOLES):
    """Conversions of every number of a narrow dtype to others, to wider ones and to integers."""
    known = values(name)
    x = of_bits(codes(name), name, torch)
    for layout, run in LAYOUTS.items():
        for wide, kind in (("float32", np.float32), ("float64", np.float64)):
            made = run(torch, x, lambda v, wide=wide: v.to(getattr(torch, wide))).numpy()
            with np.errstate(invalid="ignore"):
                wanted = known.astype(kind)
            if not same(made, wanted):
                yield f"{name} to {wide}, {layout}"
        for other in (other for other in others if other != name):
            made = bits_of(run(torch, x, lambda v, other=other: v.to(getattr(torch, other))), torch)
            if not same(made, rounded(known, other)):
                yield f"{name} to {other}, {layout}"
        for whole in wholes:
            made = run(torch, x, lambda v, whole=whole: v.to(getattr(torch, whole))).numpy()
            if not same(*_integers(made, known[: len(made)], whole)):
                yield f"{name} to {whole}, {layout}"
    if not same(np.float64(x.tolist()), known):
        yield f"{name} to numbers"


def wrong_into(torch, name, wholes=WHOLES):
    """Conversions to a narrow dtype: exact, ties to even, by way of float32."""
    dtype = getattr(torch, name)
    sources = {"float32": around_middles(name)}
    sources["float64"] = np.concatenate([
        sources["float32"].astype(np.float64),
        np.float64([1 + 2**-11 + 2**-40, 1e300, 1e-300, -1e39]),
        1 + np.float64([2**-9 + 2**-40, 2**-4 + 2**-40, 2**-3 - 2**-40])])
    powers = 2 ** np.arange(63)
    numbers = {"int8": np.arange(-128, 128), "uint8": np.arange(256),
               "int32": np.arange(-70000, 70000, 7), "bool": np.array([False, True]),
               "int64": np.concatenate([powers, -powers, powers + 1, powers + powers // 2048,
                                        powers + powers // 256 + 1])}
    sources.update({whole: numbers[whole] for whole in wholes})
    for kind, numbers in sources.items():
        numbers = numbers.astype(kind)
        with np.errstate(over="ignore"):
            wanted = rounded(numbers.astype(np.float32).astype(np.float64), name)
        for layout, run in LAYOUTS.items():
            made = bits_of(run(torch, torch.from_numpy(numbers), lambda v: v.to(dtype)), torch)
            if not same(made, wanted):
                yield f"{kind} to {name}, {layout}"
        target = torch.empty(len(numbers), dtype=dtype)
        if not same(bits_of(target.copy_(torch.from_numpy(numbers)), torch), wanted):
            yield f"copy of {kind} to {name}"


def wrong(torch, names):
    """Conversions between narrow floats and float32, float64 that differ."""
    return [one for name in names
            for one in (*wrong_out_of(torch, name, names, ()), *wrong_into(torch, name, ()))]


if __name__ == "__main__":
    import sys

    found = wrong(__import__(sys.argv[1]), HALVES)
    sys.exit("\n".join(found) or 0)
