"""Values of wrong types in each place of each operator are refused as PyTorch refuses them."""

import json
import re
from pathlib import Path

import argument_facts

import yesca

RECORDED = json.loads(
    (Path(__file__).parents[1] / "fixtures" / "arguments.json").read_text())
#: Errors that come from the inside of an operator, not from a look at its arguments.
INSIDE = ("AttributeError", "KeyError", "AssertionError", "UnboundLocalError", "error",
          "ZeroDivisionError", "RecursionError")


#: How PyTorch begins when it looks at arguments; its functions in Python fail as Python does.
WORDS = re.compile(r"must be (?!str or)|received an invalid combination|expected Tensor as element")
#: Arguments for which it is right, or of no use to anyone, that more (or less) is taken.
OTHERS = {
    # A default of one of several signatures, given as such, fits another one here.
    **dict.fromkeys(("median", "nanmedian", "prod"), "dim keepdim"),
    **dict.fromkeys(("std", "std_mean", "var", "var_mean"), "unbiased keepdim"),
    **dict.fromkeys(("squeeze", "squeeze_copy"), "dim"),
    **dict.fromkeys(("trapezoid", "cumulative_trapezoid"), "x"),
    "contiguous": "memory_format", "linalg_matrix_rank": "tol hermitian",
    "scatter": "value reduce", "histogram": "range", "histogramdd": "bins",
    # PyTorch's functions of these names have no such argument, or another in its place.
    **dict.fromkeys(("celu", "selu", "threshold"), "inplace"),
    "huber_loss": "delta", "stft": "center pad_mode", "norm": "p dim dtype",
    "split": "split_size dim", "tensordot": "dims",
    # What has several signatures in PyTorch, and is one of the values here.
    "clamp": "min max", "float_power": "self", "gradient": "spacing",
    "movedim": "source destination", "repeat_interleave": "repeats output_size",
    "view_copy": "size",
    # Shapes that broadcast, or tolerances of batches that PyTorch makes of one matrix.
    **dict.fromkeys(("as_strided_scatter", "diagonal_scatter"), "src"),
    "linalg_pinv": "rcond hermitian atol rtol", "scaled_dot_product_attention": "attn_mask",
    "soft_margin_loss": "input",
    # Truth values that count as the numbers they are.
    "isin": "elements test_elements",
    # PyTorch calls the argument x, as these do too where it is named.
    **dict.fromkeys(("special_airy_ai", "special_scaled_modified_bessel_k0",
                     "special_scaled_modified_bessel_k1", "special_spherical_bessel_j0"), "self"),
}


def WANTED(one):  # noqa: N802 - read by conftest
    return one.name in RECORDED["operators"]


def by_kind(outcomes):
    return {kind: words for words, kinds in outcomes.items() for kind in kinds.split(" | ")}


def differences(one):
    """(argument, kind of value, what PyTorch does, what is done here) where that matters."""
    home, numbers = RECORDED["operators"][one.name]
    found = argument_facts.facts(yesca, one, home)
    for argument, number in numbers.items():
        wanted = by_kind(RECORDED["patterns"][number])
        for kind, mine in by_kind(found[argument]).items():
            other = wanted[kind]
            if not agree(mine, other):
                yield argument, kind, other, mine


def agree(mine, other):
    """Refusals by type have the same words; other errors may come in another order."""
    if mine == other:
        return True
    if "ok" in (mine, other):
        return False
    kinds = mine.partition(":")[0], other.partition(":")[0]
    if kinds[1] != "TypeError":
        return kinds[0] not in INSIDE or kinds[0] == kinds[1]
    return kinds[0] == "TypeError" and (not WORDS.search(other) or words(mine) == words(other))


def words(text):
    """Without what differs between a function and the inner one that refuses for it."""
    return re.sub(r" \(position \w+\)|^TypeError: \w+\(\)", "", text)[:40]


def test_types(one):
    assert {d[0] for d in differences(one)} == set(OTHERS.get(one.name, "").split()), \
        list(differences(one))
