"""Families of operators: every module of this folder that declares records.

A family is imported when one of its names is asked for. Which one that is stands in its source, as
the beginning of a schema; names that are made in a loop are found by importing what is left.
"""

from __future__ import annotations

import importlib
import re
from functools import cache
from pathlib import Path

    "__init__", "derivatives", "families", "kinds", "record", "schema", "eq", "arithmetic",
    "transcendental", "comparison", "activation", "reduction", "moments", "norms", "scans",
    "views", "copying", "creation", "indexing", "slicing", "gathering", "products",
    "contraction", "matrix_chains", "attending", "softmax_family", "normalisation",
    "batch_statistics", "joining", "rearranging", "sorting", "searching", "quantiles",
    "view_copies", "bags", "optimizers", "losses", "classification", "class_probabilities",
    "adding_products", "convolution", "pooling", "adaptive_pooling", "resampling", "patches",
    "factorisations", "lu_factors", "solvers", "matrix_norms", "matrix_functions", "bessel",
    "special_functions", "polynomials",


def load(name: str) -> None:
    """Import the family that declares `name`, or all of them where no source names it."""
    from .record import ALIASES, RECORDS

    family = _index().get(name)
    if family is not None:
        _import(family)
    elif name.endswith("_") and name[:-1] in _index():
        return  # an in-place form: no record of its own
    if name not in RECORDS and name not in ALIASES:
        load_all()


def load_all() -> None:
    """Import every family (tests and the documentation want them all)."""
    for family in all_families():
        _import(family)
