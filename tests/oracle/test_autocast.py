"""Autocast against PyTorch's: result dtypes of every operator that it knows, and of all records."""

import math
import warnings

import autocast_cases
import operator_cases
import operator_facts
import pytest
import torch

import yesca

pytestmark = [pytest.mark.oracle, pytest.mark.filterwarnings("ignore")]

RECORDS = {name: one for name, one in operator_cases.records().items()
           if operator_facts.public(torch, name) and operator_facts.recordable(one)}
#: Names in PyTorch's registrations that are other names of, or parts of, what is called.
UNDER_OTHER_NAMES = {
    "_convolution", "_grid_sampler_2d_cpu_fallback", "_lu_with_info", "mkldnn_rnn_layer",
    "multilabel_margin_loss_forward", "_native_multi_head_attention",
}
#: PyTorch computes these by products in the lower precision, or picks other signs.
OTHER_VALUES = {"bilinear", "linalg_eig", "linalg_eigh", "linalg_svd", "svd"}


def test_every_operator_that_autocast_registers_is_called():
    """The list is PyTorch's own, of the CPU."""
    called = set(RECORDS) | {name.split()[0] for name in autocast_cases.CALLS}
    called |= {name.removesuffix("d") for name in called}
    missing = []
    for entry in torch._C._dispatch_get_registrations_for_dispatch_key("AutocastCPU"):
        name = entry.removeprefix("aten::").split(".")[0]
        spoken = name.replace("reflection_pad", "pad").replace("replication_pad", "pad")
        if name not in UNDER_OTHER_NAMES and not called & {
                name, spoken[:-2], name.replace("grid_sampler_2d", "grid_sampler"),
                name.replace("grid_sampler_3d", "grid_sampler")}:
            missing.append(name)
    assert not missing


@pytest.mark.parametrize("name", autocast_cases.CALLS)
def test_calls(name):
    autocast_cases.check(name, autocast_cases.of_call(yesca, name),
                         autocast_cases.of_call(torch, name))


@pytest.mark.parametrize("name", RECORDS)
def test_records(name):
    ours, theirs = (autocast_cases.of_record(
        package, RECORDS[name], operator_facts.public(package, name))
        for package in (yesca, torch))
    autocast_cases.check(name, ours, theirs)


def results(package, name, number):
    package.manual_seed(0)
    one = RECORDS[name]
    case = operator_facts.cases(one, package, "float32")[number]
    with warnings.catch_warnings(), package.autocast("cpu", dtype=package.bfloat16):
        warnings.simplefilter("ignore")
        return operator_cases.tensors_in(package, operator_cases.call(
            one, operator_facts.public(package, name), case))


@pytest.mark.parametrize("name", sorted(set(RECORDS) - OTHER_VALUES))
def test_values(name):
    """What stays float32 is as accurate as without autocast, unless PyTorch's is not either."""
    for number in range(len(operator_facts.cases(RECORDS[name], yesca))):
        try:
            wanted = results(torch, name, number)
        except Exception:  # PyTorch refuses the arguments
            continue
        for a, b in zip(results(yesca, name, number), wanted):
            if str(a.dtype) != str(b.dtype):
                assert name in autocast_cases.DIFFER
                continue
            tolerance = 2e-2 if b.dtype is torch.bfloat16 else 1e-4
            theirs = operator_cases.values_of(b)
            scale = max([abs(v) for v in theirs if math.isfinite(v)], default=0.0) + 1e-3
            for x, y in zip(operator_cases.values_of(a), theirs):
                assert x == y or (x != x and y != y) or abs(x - y) <= tolerance * scale
