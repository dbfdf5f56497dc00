"""Imports point down: the table of rooms is `ENGINE` in source_tree.py and ARCHITECTURE.md."""

import ast

from source_tree import ENGINE, FACES, PACKAGE, ROOT, TENSOR_FILES, TOP, room_of, sources

from yesca._names import SUBMODULES


def imported_rooms(source):
    """(line, room) of each import of the package's own modules."""
    for line, module, name in source.imports():
        parts = module.split(".")
        if parts[0] != "yesca":
            continue
        first = parts[1] if len(parts) > 1 else name
        beside = PACKAGE / first
        known = first in {*TENSOR_FILES, *SUBMODULES} or beside.is_dir()
        known = known or beside.with_suffix(".py").is_file()
        if len(parts) == 1 and not known:
            first = "__init__"  # a public name, from the package itself
        dotted = ".".join(parts[1:]) or first
        whole = f"{dotted}.{name}"
        yield line, room_of(whole if whole in FACES else dotted)


def test_imports_point_down():
    wrong = []
    for source in sources():
        room = source.room
        if room in ENGINE:
            allowed = {room, *ENGINE[room].split()}
        else:
            allowed = {"public", *ENGINE, *(["top"] if room == "top" else [])}
        wrong += [f"{source.name}:{line}: {room} imports {other}"
                  for line, other in imported_rooms(source) if other not in allowed]
    assert not wrong, "\n".join(wrong)


def test_imports_name_a_room():
    """Inside the package nothing imports the package, and PyTorch is imported nowhere."""
    wrong = []
    for source in sources():
        for line, module, name in source.imports(type_checking=True):
            if module.partition(".")[0] in ("torch", "functorch", "torchgen"):
                wrong.append(f"{source.name}:{line}: imports {module}")
            if module == "yesca" and not name and source.room != "top":
                wrong.append(f"{source.name}:{line}: import yesca; import from the room")
    assert not wrong, "\n".join(wrong)


#: Waits for the imports that other threads have begun, whatever they are.
WAITS = ("runtime.forks",)


def hides_what_it_needs(call):
    """Probing with hasattr (but for the interpreter's own modules), and imports by name.

    A room may still load its own modules by name: `import_module(f".{name}", __package__)`.
    """
    function, arguments = ast.unparse(call.func), [ast.unparse(arg) for arg in call.args]
    if function == "hasattr":
        return arguments[0] not in ("sys", "os")
    if function in ("importlib.import_module", "import_module"):
        return arguments[1:] != ["__package__"]
    return function == "__import__"


def test_the_engine_probes_nothing():
    wrong = [
        f"{source.name}:{node.lineno}: {ast.unparse(node)}"
        for source in sources() if source.room in ENGINE and source.module not in WAITS
        for node in ast.walk(source.tree)
        if isinstance(node, ast.Call) and hides_what_it_needs(node)
    ]
    assert not wrong, "\n".join(wrong)


def test_four_registration_points():
    registry = next(source for source in sources() if source.module == "core.registry")
    names = set()
    for node in registry.tree.body:
        targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
        names.update(t.id for t in targets if isinstance(t, ast.Name) and t.id[0] != "_")
    assert names == {"wrap", "record_node", "capture", "allocate"}


def test_every_room_is_in_the_map():
    text = (ROOT / "docs" / "ARCHITECTURE.md").read_text(encoding="utf-8")
    missing = [room for room in ENGINE if f"`{room}/`" not in text and room != "tensor"]
    assert not missing
    assert all(f"`{name}.py`" in text for name in ("_tensor", "functional", *TOP[:2]))
