"""Where each family of operators lives; a family is imported when one of its names is needed."""

from __future__ import annotations

import importlib

FAMILIES = (
    "arithmetic", "transcendental", "comparison", "activation", "reduction", "moments",
    "norms", "scans", "views", "copying",
    "creation", "indexing", "slicing", "gathering", "products", "contraction", "matrix_chains",
    "attending", "softmax_family", "normalisation", "batch_statistics", "joining", "rearranging",
    "sorting", "searching", "quantiles", "view_copies", "bags", "optimizers", "losses",
    "classification", "class_probabilities", "adding_products", "convolution", "pooling",
    "adaptive_pooling", "resampling", "patches", "factorisations", "lu_factors", "solvers",
    "matrix_norms", "matrix_functions", "bessel", "special_functions", "polynomials",
)
_loaded: list[str] = []


def load(name: str) -> None:
    """Import the families until one declares `name`."""
    from .record import ALIASES, RECORDS

    for family in FAMILIES:
        if family not in _loaded:
            _loaded.append(family)
            importlib.import_module(f".{family}", __package__)
            if name in RECORDS or name in ALIASES:
                return


def load_all() -> None:
    """Import every family (tests and the documentation want them all)."""
    for family in FAMILIES:
        if family not in _loaded:
            _loaded.append(family)
            importlib.import_module(f".{family}", __package__)
