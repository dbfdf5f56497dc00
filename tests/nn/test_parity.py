"""Every module of `torch.nn` against PyTorch: names, shapes, first values, results, gradients."""

import json
import math
import pickle
import warnings
from pathlib import Path

import module_cases
import pytest

import yesca as torch
from yesca import nn

FIXTURES = Path(__file__).parents[1] / "fixtures"
TABLE = json.loads((FIXTURES / "modules.json").read_text(encoding="utf-8"))

pytestmark = pytest.mark.filterwarnings("ignore")


@pytest.fixture(scope="module")
def states():
    """What PyTorch saved of each module."""
    return torch.load(FIXTURES / "modules.pt")


def agree(found, expected, what):
    """Dtypes and shapes are the same, the weighted sum and the norm to a few float32 roundings."""
    if expected is None:
        assert found is None, what
        return
    assert found[:2] == expected[:2], what
    size = max(abs(expected[3]), 1e-2)
    for got, wanted in zip(found[2:], expected[2:], strict=True):
        if math.isfinite(wanted):
            assert got == pytest.approx(wanted, abs=3e-5 * size), what
        else:
            assert repr(got) == repr(wanted), what


@pytest.mark.parametrize("text", module_cases.MODULES)
def test_a_module_computes_what_pytorch_does(text):
    found, expected = module_cases.called(torch, text), TABLE[text]
    assert list(found["state"]) == list(expected["state"])
    for part in ("results", "gradients", "after"):
        assert len(found[part]) == len(expected[part]), part
        for place, (got, wanted) in enumerate(zip(found[part], expected[part], strict=True)):
            agree(got, wanted, (part, place))
    for name, wanted in expected["state"].items():
        agree(found["state"][name], wanted, name)


@pytest.mark.parametrize("text", [t for t in module_cases.MODULES if TABLE[t]["state"]])
def test_a_state_that_pytorch_saved_is_taken(text, states, tmp_path):
    module = module_cases.build(torch, text)[0]
    own = {name: value.clone() for name, value in module.state_dict().items()}
    with torch.no_grad():
        for value in module.state_dict().values():
            value.zero_()
    assert str(module.load_state_dict(states[text])) == "<All keys matched successfully>"
    for name, value in module.state_dict().items():
        torch.testing.assert_close(value, own[name])
    torch.save(module.state_dict(), tmp_path / "state.pt")
    again = torch.load(tmp_path / "state.pt")
    assert list(again) == list(own)
    assert all(torch.equal(again[name], value) for name, value in module.state_dict().items())


@pytest.mark.parametrize("text", module_cases.MODULES)
def test_a_module_is_pickled_with_its_state(text):
    module = module_cases.build(torch, text)[0]
    again = pickle.loads(pickle.dumps(module))
    assert repr(again) == repr(module) and again.training == module.training
    state = again.state_dict()
    assert all(torch.equal(state[name], value) for name, value in module.state_dict().items())


def test_every_public_module_has_a_case():
    called = " ".join(module_cases.MODULES)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        classes = {name for name in nn.__all__
                   if isinstance(getattr(nn, name), type) and not name.startswith("Lazy")}
    missing = {name for name in classes - module_cases.NO_LAYERS if f"nn.{name}(" not in called}
    assert not missing
