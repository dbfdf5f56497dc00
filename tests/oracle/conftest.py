"""Comparisons with PyTorch itself: `pip install torch==2.13.0`, else nothing is collected here."""

from importlib.util import find_spec

collect_ignore_glob = [] if find_spec("torch") else ["test_*.py"]
