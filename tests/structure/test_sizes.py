"""Files, functions and lines stay short. `python tests/support/source_tree.py` prints the table."""

from source_tree import (
    FILE_LINES,
    FUNCTION_LINES,
    LINE_COLUMNS,
    ROOT,
    TOKENS_A_LINE,
    size_table,
    sources,
)

FOLDERS = ("src", "tests", "examples", "tools", "bench")


def test_lines_and_files():
    wrong = []
    for path in sorted(path for folder in FOLDERS for path in (ROOT / folder).rglob("*.py")):
        name = path.relative_to(ROOT)
        lines = path.read_text(encoding="utf-8").splitlines()
        wrong += [f"{name}:{number}: {len(line)} columns"
                  for number, line in enumerate(lines, start=1) if len(line) > LINE_COLUMNS]
        if len(lines) > FILE_LINES:
            wrong.append(f"{name}: {len(lines)} lines")
    assert not wrong, "\n".join(wrong)


def test_functions():
    wrong = [
        f"{source.name}: {name} has {lines} lines"
        for source in sources() for name, lines in source.functions() if lines > FUNCTION_LINES
    ]
    assert not wrong, "\n".join(wrong)


def test_density():
    tokens, lines = map(sum, zip(*(source.tokens() for source in sources()), strict=True))
    print(size_table())
    assert tokens / lines <= TOKENS_A_LINE, "too many tokens on a line; the table tells where"


def test_readmes_of_rooms():
    readmes = (ROOT / "src").rglob("README.md")
    wrong = [str(path) for path in readmes
             if len(path.read_text(encoding="utf-8").splitlines()) > 30]
    assert not wrong, "\n".join(wrong)


def test_every_room_has_a_readme():
    rooms = {path.parent for path in (ROOT / "src" / "yesca").glob("*/__init__.py")}
    missing = [room.name for room in sorted(rooms) if not (room / "README.md").is_file()]
    assert not missing
