"""Internal modules take no public name of PyTorch's: importing one sets that attribute."""

from public_names import PUBLIC
from source_tree import PACKAGE, sources


def test_no_module_takes_a_public_name():
    wrong = []
    for source in sources():
        parent, _, name = f"torch.{source.module}".rpartition(".")
        if not source.module or parent not in PUBLIC or name in PUBLIC[parent]["modules"]:
            continue  # not a package of PyTorch's, or a module of that name there too
        if name in PUBLIC[parent]["names"]:
            wrong.append(f"{source.name}: importing it would hide the public {parent}.{name}")
    assert not wrong, "\n".join(wrong)


def test_rooms_are_not_public_modules_of_another_meaning():
    rooms = {path.name for path in PACKAGE.iterdir() if path.is_dir()}
    internal = {"base", "core", "loops", "passes", "targets", "operators", "runtime", "dispatch",
                "graph", "_runner"}
    assert not internal & (PUBLIC["torch"]["modules"] | PUBLIC["torch"]["names"])
    assert internal - {"graph"} <= rooms


def test_the_table_of_names_follows_pytorch():
    """Each name of the package's table is public in PyTorch, but for those said to be its own."""
    from yesca import _names

    known = PUBLIC["torch"]["modules"] | PUBLIC["torch"]["names"]
    assert not _names.OWN & known
    known |= _names.OWN
    invented = {name for name in _names.locations() if name not in known}
    assert not invented
