"""Dtypes, strides and saved tensors of operators are those that PyTorch was recorded with."""

import json
from pathlib import Path

import operator_cases
import operator_facts

import yesca
from yesca.dispatch.call import OPERATORS

RECORDED = json.loads(
    (Path(__file__).parents[1] / "fixtures" / "operators.json").read_text())


#: Operators that keep an intermediate result's factors where PyTorch keeps the result, so that a
#: write is refused that PyTorch lets through. Everywhere else that would be a defect.
REFUSE_MORE = frozenset("""
    frexp kron l1_loss matmul qr scaled_dot_product_attention std_mean svd tensordot var_mean
    """.split())


#: Elementwise operators that keep less, because of what they are composed of in PyTorch.
KEEP_LESS = frozenset(["sgn"])


def recorded(one, fact):
    """What PyTorch does, or None where it has no such operator."""
    number = RECORDED["operators"].get(one.name, {}).get(fact)
    return None if number is None else RECORDED["patterns"][number]


def WANTED(one):  # noqa: N802 - read by conftest
    return one.name in RECORDED["operators"]


@operator_cases.only(lambda one: recorded(one, "dtypes") is not None)
def test_dtypes(one):
    """Promotion of dtypes, 0-dim tensors included, and the dtypes that are refused."""
    wanted = recorded(one, "dtypes")
    assert by_key(operator_facts.dtypes(
        yesca, one, getattr(OPERATORS, one.name), device="meta")) == by_key(wanted)


def by_key(grouped):
    return {key: value for value, keys in grouped.items() for key in keys.split()}


@operator_cases.only(lambda one: recorded(one, "strides") is not None)
def test_strides(one):
    """Results lie in memory as PyTorch's do, and share memory where PyTorch's do."""
    wanted = recorded(one, "strides")
    assert operator_facts.strides(yesca, one, getattr(OPERATORS, one.name)) == wanted


def test_saved(one):
    """A write between forward and backward is refused only where PyTorch refuses it.

    Refusing less is right as long as nothing that is kept has changed: some formulas read shapes
    alone where PyTorch keeps the tensor. Elementwise operators keep exactly the same.
    """
    wanted = recorded(one, "saved") or []
    got = operator_facts.saved(yesca, one, getattr(OPERATORS, one.name))
    if one.kind == "elementwise" and one.name not in KEEP_LESS:
        assert got == wanted
    elif one.name not in REFUSE_MORE:
        for mine, other in zip(got, wanted or [""] * len(got)):
            if mine[:1] not in "-!" and other[:1] not in ("-", "!"):
                assert set(mine.split()) <= set(other.split())
