"""Names of nodes and what hangs on them, against those that PyTorch 2.13 gave."""

import json
import sys
from pathlib import Path

import pytest

import yesca as torch

FIXTURES = Path(__file__).parents[1] / "fixtures"
GRAPHS = json.loads((FIXTURES / "graphs.json").read_text())


@pytest.fixture(scope="module")
def graph():
    sys.path.insert(0, str(FIXTURES))
    try:
        from graph_cases import graph
    finally:
        sys.path.remove(str(FIXTURES))
    return graph


@pytest.mark.parametrize("program", GRAPHS)
def test_graph(graph, program):
    assert graph(torch, program) == GRAPHS[program]
