"""Families of operators: every module of this folder that declares records.

A family is imported when one of its names is asked for. Which one that is stands in its source: as
the beginning of a schema, among aliases, or, for names that are put together from parts, in a line
`# Names: one another`. The tensor's class knows its methods by these names before they are made.
"""

from __future__ import annotations

import importlib
import re
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .record import Record

#: Modules of this folder that declare no operators.
HELPERS = (
    "__init__", "derivatives", "families", "filling", "kinds", "record", "schema", "unsigned")
_FOLDER = Path(__file__).parent
#: `"add(Tensor self` in a schema, and `eq = _compared("eq"` where a helper completes it.
_SCHEMA = re.compile(rb'"(\w+)\((?=Tensor|any |int|Scalar)|^\w+ = \w+\(\s*"(\w+)"', re.MULTILINE)
_ALIASES, _QUOTED = re.compile(rb"aliases=\(([^)]*)\)"), re.compile(rb'"(\w+)"')
_NAMES, _HEAD = re.compile(rb"# Names: (.+)"), 4096  # bytes of a source that such lines stand in
_loaded: set[str] = set()


@cache
def all_families() -> tuple[str, ...]:
    """The names of the modules, in alphabetical order."""
    return tuple(sorted(f.stem for f in _FOLDER.glob("*.py") if f.stem not in HELPERS))


@cache
def _index() -> dict[str, str]:
    """Operator name -> family, as far as sources say it."""
    found: dict[str, str] = {}
    for family in all_families():
        source = (_FOLDER / f"{family}.py").read_bytes()
        for schema, helper in _SCHEMA.findall(source):
            found.setdefault((schema or helper).decode(), family)
        named = [n for aliases in _ALIASES.findall(source) for n in _QUOTED.findall(aliases)]
        named += [n for names in _NAMES.findall(source[:_HEAD]) for n in names.split()]
        for name in named:
            found.setdefault(name.decode(), family)
    return found


def known_names() -> Iterable[str]:
    """The names that sources say, without importing anything."""
    return _index().keys()


def _import(family: str) -> None:
    if family not in _loaded:
        _loaded.add(family)
        try:
            importlib.import_module(f".{family}", __package__)
        except BaseException:  # Ctrl-C, or no memory: the next one who asks tries again
            _loaded.discard(family)
            raise


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


def get(name: str) -> Record:
    """The record of this name; its family is imported if need be."""
    from .record import RECORDS

    if name not in RECORDS:
        load(name)
    return RECORDS[name]


def load_all() -> None:
    """Import every family (tests and the documentation want them all)."""
    for family in all_families():
        _import(family)
