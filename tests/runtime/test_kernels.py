"""Kernels: their keys cover whatever decides what is compiled."""

from pathlib import Path

import pytest
from source_tree import PACKAGE, sources

import yesca
from yesca.runtime import kernels, machine, products

#: Modules that the compiler imports and that have no part in the text it writes.
APART = {"base", "base.errors", "base.naming", "base.settings", "core", "loops.interpret",
         "loops.derive", "core.layouts"}


def imported(module, known):
    """The modules of the package that a module imports, itself included."""
    found, waiting = set(), [module]
    while waiting:
        name = waiting.pop()
        if name in found or name not in known:
            continue
        found.add(name)
        ours = [i for i in known[name].imports() if i[1].startswith("yesca.")]
        for _, target, attribute in ours:
            below = target.removeprefix("yesca.")
            waiting += [below, f"{below}.{attribute}"]
    return found


def test_key_covers_the_sources_of_the_compiler():
    known = {source.module: source for source in sources()}
    installed = Path(yesca.__file__).parent  # not the tree that `sources` reads, perhaps
    hashed = {path.relative_to(installed) for path in kernels.compiler_sources()}
    used = imported("passes.pipeline", known) | imported("targets.llvm", known)
    used |= imported("targets.products", known)
    missing = {name for name in used - APART
               if known[name].path.relative_to(PACKAGE) not in hashed}
    assert not missing


def test_another_compiler_has_other_keys(monkeypatch, tmp_path):
    before = kernels.compiler_version()
    changed = tmp_path / "changed.py"
    changed.write_text("# another rule")
    files = [*kernels.compiler_sources(), changed]
    monkeypatch.setattr(kernels, "compiler_sources", lambda: files)
    assert kernels.compiler_version.__wrapped__() != before


def test_another_compiler_has_other_products(monkeypatch):
    keys = []

    def load(name, text, key):
        keys.append(key)
        raise LookupError

    monkeypatch.setattr(products, "_addresses", {})
    monkeypatch.setattr(machine, "load", load)
    for version in ("one", "another", "one"):
        monkeypatch.setattr(kernels, "compiler_version", lambda version=version: version)
        with pytest.raises(LookupError):
            products.kernel_address("tile", "float32")
    assert keys[0] == keys[2] != keys[1]
