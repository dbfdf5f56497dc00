"""Dtypes, strides and saved tensors of operators are those that PyTorch was recorded with."""

import json
from pathlib import Path

import operator_cases
import operator_facts
import pytest

import yesca
from yesca.dispatch.call import OPERATORS

RECORDED = json.loads(
    (Path(__file__).parents[1] / "fixtures" / "operators.json").read_text())


def recorded(one, fact):
    """What PyTorch does, or None where it has no such operator."""
    number = RECORDED["operators"].get(one.name, {}).get(fact)
    return None if number is None else RECORDED["patterns"][number]


def WANTED(one):  # noqa: N802 - read by conftest
    return one.name in RECORDED["operators"]


def test_dtypes(one):
    """Promotion of dtypes, 0-dim tensors included, and the dtypes that are refused."""
    wanted = recorded(one, "dtypes")
    if wanted is None:
        pytest.skip("nothing recorded")
    assert by_key(operator_facts.dtypes(
        yesca, one, getattr(OPERATORS, one.name), device="meta")) == by_key(wanted)


def by_key(grouped):
    return {key: value for value, keys in grouped.items() for key in keys.split()}


def test_strides(one):
    """Results lie in memory as PyTorch's do, and share memory where PyTorch's do."""
    wanted = recorded(one, "strides")
    if wanted is None:
        pytest.skip("nothing recorded")
    assert operator_facts.strides(yesca, one, getattr(OPERATORS, one.name)) == wanted


def test_saved(one):
    """A write between forward and backward is refused where PyTorch refuses it."""
    assert operator_facts.saved(yesca, one, getattr(OPERATORS, one.name)) == \
        (recorded(one, "saved") or [])
