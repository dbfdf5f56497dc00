"""Distributions against PyTorch's records: draws, densities, moments, gradients, errors."""

import json
import warnings
from pathlib import Path

import distribution_cases as cases
import distribution_facts as facts
import pytest

import yesca as torch

TABLE = Path(__file__).parents[1] / "fixtures" / "distributions.json"
EXPECTED = json.loads(TABLE.read_text(encoding="utf-8"))
#: How far gradients of draws may be off: PyTorch's of gamma numbers are right to three digits.
OF_GAMMA = ("Beta", "Chi2", "Dirichlet", "FisherSnedecor", "Gamma", "InverseGamma", "StudentT",
            "Wishart")
LOOSE, TIGHT = 2e-3, 1e-6
#: PyTorch's Bessel functions are right to seven digits.
OF_BESSEL, NEARLY = ("VonMises",), 1e-5


def as_json(found):
    return json.loads(json.dumps(found))


def close(found, expected, tolerance):
    """Shapes and numbers agree; None or an error where PyTorch has no gradient is no claim."""
    if expected is None or isinstance(expected, str):
        return
    shape, values = expected
    assert found[0] == shape
    assert found[1] == pytest.approx(values, rel=tolerance, abs=tolerance, nan_ok=True)


def same(found, expected, loose=TIGHT):
    """A result and its gradients, or the class of an error."""
    if isinstance(expected, str):
        assert found == expected
        return
    close(found[0], expected[0], TIGHT)
    if isinstance(expected[1], list):
        for mine, other in zip(found[1], expected[1], strict=True):
            close(mine, other, loose)


def kind(text):
    return text.partition("(")[0].rpartition(".")[2]


@pytest.mark.parametrize("text", cases.CASES)
def test_distributions(text):
    found = as_json(facts.distribution_facts(torch, text))
    expected = EXPECTED["distributions"][text]
    assert found.keys() == expected.keys()
    for name in ("shapes", "has", "dtype"):
        assert found[name] == expected[name], name
    close(found["sample"], expected["sample"], TIGHT)
    if "rsample" in expected:
        same(found["rsample"], expected["rsample"], LOOSE if kind(text) in OF_GAMMA else TIGHT)
    for name in ("log_prob", "entropy", "cdf", "icdf"):
        same(found[name], expected[name], NEARLY if kind(text) in OF_BESSEL else TIGHT)
    for name in ("mean", "mode", "variance", "stddev"):
        same([found[name], None], [expected[name], None])
    for mine, other in zip(found.get("support", ()), expected.get("support", ()), strict=True):
        same([mine, None], [other, None])
    assert found["expanded"][:3] == expected["expanded"][:3]
    for mine, other in zip(found["expanded"][3:], expected["expanded"][3:], strict=True):
        close(mine, other, TIGHT)


def test_every_distribution_is_covered():
    T = torch.distributions
    covered = {type(facts.Case(torch, text).made) for text in cases.CASES}
    bases = {T.Distribution, T.ExponentialFamily}
    classes = {getattr(T, name) for name in T.__all__ if isinstance(getattr(T, name), type)}
    assert {c for c in classes if issubclass(c, T.Distribution)} - bases <= covered


@pytest.mark.parametrize("pair", EXPECTED["divergences"])
def test_divergences(pair):
    same(as_json(facts.divergence_facts(torch, pair.split())), EXPECTED["divergences"][pair])


def test_registered_pairs():
    registered = {f"{p.__name__} {q.__name__}" for p, q in torch.distributions.kl._KL_REGISTRY}
    assert registered == EXPECTED["divergences"].keys()


@pytest.mark.parametrize("text", cases.TRANSFORMS)
def test_transforms(text):
    found, expected = as_json(facts.transform_facts(torch, text)), EXPECTED["transforms"][text]
    for name in ("forward", "inverse", "change", "change back"):
        same(found[name], expected[name])
    assert (found["blocks"], found["shapes"]) == (expected["blocks"], expected["shapes"])


@pytest.mark.parametrize("text", cases.CONSTRAINTS)
def test_constraints(text):
    assert as_json(facts.constraint_facts(torch, text)) == EXPECTED["constraints"][text]


def said(text):
    """An error's text without the package's name and what spaces it has."""
    return " ".join(text.replace("yesca.", "torch.").split())


@pytest.mark.parametrize("text", cases.ERRORS)
def test_errors(text):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a base class says what it does not define
        error, words = facts.error_facts(torch, text)
    expected, known = EXPECTED["errors"][text]
    assert error == expected and error
    assert said(words) == said(known) or not known


@pytest.mark.parametrize("text", cases.SHOWN)
def test_shown(text):
    assert facts.shown(torch, text) == EXPECTED["shown"][text]
