"""Result dtypes of operators under autocast are those that PyTorch was recorded with.

Operators without a class that are one kernel take what comes: tests/operators has their dtypes.
"""

import json
from pathlib import Path

import autocast_cases
import operator_cases
import operator_facts
import pytest

import yesca as torch

RECORDED = json.loads((Path(__file__).parents[1] / "fixtures" / "autocast.json").read_text())
RECORDS = operator_cases.records()
CONCERNED = [name for name in RECORDED["records"]
             if RECORDS[name].autocast or RECORDS[name].composite is not None]


def wanted(table, name):
    return {key: [RECORDED["texts"][number] for number in numbers]
            for key, numbers in RECORDED[table][name].items()}


@pytest.mark.parametrize("name", autocast_cases.CALLS)
def test_calls(name):
    autocast_cases.check(name, autocast_cases.of_call(torch, name), wanted("calls", name))


@pytest.mark.parametrize("name", CONCERNED)
def test_records(name):
    function = operator_facts.public(torch, name)
    autocast_cases.check(name, autocast_cases.of_record(torch, RECORDS[name], function),
                         wanted("records", name))


def test_what_is_one_kernel_and_has_no_class_takes_what_comes():
    for name in RECORDED["records"].keys() - set(CONCERNED):
        facts = wanted("records", name)
        ways = {way for fact in facts["s"] for way in fact.split()}
        assert facts["s"] == facts["h"], name  # whatever the lower precision is
        assert not ways & {"sf", "hf"}, name  # halves are not widened
