"""Every optimizer and scheduler against PyTorch, over 50 and 100 steps."""

import json
import warnings
from pathlib import Path

import optimizer_cases as cases
import pytest

import yesca as torch
from yesca import optim

FIXTURES = Path(__file__).parents[1] / "fixtures"
TABLE = json.loads((FIXTURES / "optimizers.json").read_text(encoding="utf-8"))

pytestmark = pytest.mark.filterwarnings("ignore")


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("problem", cases.PROBLEMS)
@pytest.mark.parametrize("text", cases.OPTIMIZERS)
def test_an_optimizer_goes_pytorchs_way(text, problem, dtype):
    """To 1e-9 and 1e-4, or twice as far as PyTorch goes when it begins a few roundings away."""
    row = TABLE["optimizers"][f"{text}; {problem}; {dtype}"]
    near = {"float64": 1e-9, "float32": 1e-4}[dtype]
    found = cases.trained(torch, text, problem, dtype)
    for part, numbers in zip(("losses", "params"), found, strict=True):
        spread = 0.0
        for got, wanted, own in zip(numbers, row[part], row[f"spread of {part}"], strict=True):
            spread = max(spread, own)
            assert got == pytest.approx(wanted, rel=near, abs=max(near, 2 * spread)), part


@pytest.mark.parametrize("text", cases.FUNCTIONAL)
def test_a_functional_form_does_what_pytorchs_does(text):
    near = 2e-2 if "muon" in text else 2e-6  # Muon multiplies in bfloat16
    wanted = TABLE["functional"][text]
    assert cases.stepped(torch, text) == pytest.approx(wanted, rel=near, abs=near)


@pytest.fixture(scope="module")
def saved():
    """The states that PyTorch saved half-way."""
    return torch.load(FIXTURES / "optimizers.pt")


@pytest.mark.parametrize("text", cases.OPTIMIZERS)
def test_a_state_that_pytorch_saved_is_gone_on_with(text, saved, tmp_path):
    wanted = TABLE["continued"][text]
    _, losses = cases.halves(torch, text, saved[text])
    near = 1e-6 if text.startswith("LBFGS") else 1e-11
    assert losses == pytest.approx(wanted, rel=near)
    own, _ = cases.halves(torch, text)
    assert own["state"].keys() == saved[text]["state"].keys()
    for ours, theirs in zip(own["state"]["param_groups"], saved[text]["state"]["param_groups"],
                            strict=True):
        assert list(ours) == list(theirs)
    for key, entries in saved[text]["state"]["state"].items():
        names = own["state"]["state"][key].keys()
        assert names == entries.keys()
        for name in names:
            got = own["state"]["state"][key][name]
            value = entries[name]
            assert type(got) is type(value)
            if isinstance(value, torch.Tensor):
                assert (got.dtype, got.shape) == (value.dtype, value.shape)
    torch.save(own, tmp_path / "state.pt")
    _, again = cases.halves(torch, text, torch.load(tmp_path / "state.pt"))
    assert again == pytest.approx(wanted, rel=near)


@pytest.mark.parametrize("text", cases.SCHEDULERS)
def test_a_scheduler_gives_pytorchs_rates(text):
    found = cases.rates(torch, text)[::3]
    for got, wanted in zip(found, TABLE["schedulers"][text], strict=True):
        assert got == pytest.approx(wanted, rel=1e-12, abs=1e-15)


def test_every_public_optimizer_and_scheduler_has_a_case():
    texts = " ".join((*cases.OPTIMIZERS, *cases.SCHEDULERS))
    apart = {"Optimizer", "LRScheduler", "SparseAdam", "AveragedModel"}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for module in (optim, optim.lr_scheduler, optim.swa_utils):
            public = getattr(module, "__all__", None) or dir(module)
            names = {name for name in public if name[0].isupper()} - apart
            assert {name for name in names if f"{name}(" not in texts} <= {"Tensor"}
