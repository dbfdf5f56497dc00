"""Finds `examples/mnist.py`, whose model, loader and step the MNIST programs time."""

import sys
from pathlib import Path

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
DATA = EXAMPLES / "data" / "mnist"
sys.path.insert(0, str(EXAMPLES))
