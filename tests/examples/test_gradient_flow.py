"""examples/gradient_flow.py: each ill network is told from the healthy one, layer by layer."""

import re
from pathlib import Path
from xml.etree import ElementTree

import pytest

EXAMPLES = Path(__file__).parents[2] / "examples"
PRELUDE = """
import sys, torch
from torch import nn
sys.path.insert(0, sys.argv[1])
from gradient_flow import GradientFlow, flags
torch.manual_seed(0)
"""


@pytest.fixture
def rows(run_program):
    """{network: [(layer, kind, figures and flag), ...]} of what the program prints."""
    printed = run_program(EXAMPLES / "gradient_flow.py")
    found = {}
    for name, table in re.findall(r"^(\w+): .*\n\nlayer .*\n((?:\d.*\n)+)", printed, re.MULTILINE):
        found[name] = [tuple(line.split()) for line in table.splitlines()]
    return found


def flagged(rows):
    return {row[0]: row[8] for row in rows if len(row) > 8}


def test_four_networks(rows, tmp_path):
    assert {name: len(table) for name, table in rows.items()} == dict.fromkeys(
        ["healthy", "vanishing", "exploding", "dead"], 17)
    assert flagged(rows["healthy"]) == {}
    assert flagged(rows["vanishing"]) == dict.fromkeys("02468", "vanishing")
    linear = [row[0] for row in rows["exploding"] if row[1] == "Linear"]
    assert flagged(rows["exploding"]) == dict.fromkeys(linear, "exploding")
    assert flagged(rows["dead"]) == {"7": "dead"}
    assert rows["dead"][7][4] == "75%"
    assert rows["healthy"][1][5:] == ("-", "-", "-")
    # The figures are those of PyTorch for the same seed.
    assert rows["healthy"][0] == (
        "0", "Linear", "-0.0302", "0.437", "0%", "11.3", "1.01e+00", "8.9e-02")
    assert rows["vanishing"][0][6:8] == ("1.49e-07", "3.2e-08")
    picture = ElementTree.parse(tmp_path / "gradient_flow.svg")
    hints = [title.text for title in picture.iter("{http://www.w3.org/2000/svg}title")]
    assert len(hints) == 4 * 9  # a bar for each layer with weights
    assert sum("vanishing" in hint for hint in hints) == 5


def run(run_python, code):
    done = run_python("-m", "yesca", "-c", PRELUDE + code, EXAMPLES)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def test_norms_are_those_of_the_parameters(run_python):
    assert run(run_python, """
model = nn.Sequential(nn.Linear(3, 4), nn.ReLU(inplace=True), nn.Linear(4, 1))
with GradientFlow(model) as flow:
    model(torch.randn(8, 3)).sum().backward()
norms = [torch.cat([p.grad.flatten() for p in layer.parameters()]).norm() for layer in model[::2]]
layers = flow.layers()
for one, norm in zip(layers[::2], norms):
    print(abs(one.gradient - norm.item()) < 1e-6 * one.gradient)
model.zero_grad()
model(torch.randn(8, 3)).sum().backward()
print(flow.layers() == layers, len(layers))
""") == ["True", "True", "True 3"]


def test_dead_units_are_counted_over_passes(run_python):
    assert run(run_python, """
model = nn.Sequential(nn.ReLU())
with GradientFlow(model) as flow:
    for units in ([[-1., -1., 1., -1.]], [[-1., 1., -1., -1.]], [[-1.] * 4] * 3):
        model(torch.tensor(units))
        print(flow.layers()[0].dead, flags(flow.layers()))
    model(torch.ones(2, 5))  # another shape: other units
    print(flow.layers()[0].dead)
""") == ["0.75 ['dead']", "0.5 ['']", "0.5 ['']", "0.0"]


def test_what_was_not_seen_has_no_figure(run_python):
    assert run(run_python, """
model = nn.ModuleDict({"used": nn.LSTM(3, 2), "frozen": nn.Linear(2, 2).requires_grad_(False),
                       "idle": nn.Linear(2, 2), "nought": nn.Linear(2, 2)})
nn.init.zeros_(model["nought"].weight), nn.init.zeros_(model["nought"].bias)
with GradientFlow(model) as flow:
    hidden, _ = model["used"](torch.randn(4, 3))
    model["nought"](model["frozen"](hidden)).sum().backward()
for one in flow.layers():
    print(one.name, one.kind, one.gradient is None, one.ratio is None)
print(str(flow).splitlines()[2].split()[6:])
""") == ["used LSTM False False", "frozen Linear True True", "nought Linear False True",
         "['-', '-']"]


def test_not_a_number_is_exploding(run_python):
    assert run(run_python, """
model = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 1))
with GradientFlow(model) as flow:
    (model(torch.randn(4, 2)).sum() * float("inf")).backward()
print(flags(flow.layers()))
with GradientFlow(model) as flow:
    model(torch.tensor([[float("nan"), 1.0]]))
print(flags(flow.layers()))
""") == ["['exploding', 'exploding']", "['exploding', 'exploding']"]
