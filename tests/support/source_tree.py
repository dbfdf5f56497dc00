"""The package's source files, parsed once, for the tests of structure.

    python tests/support/source_tree.py      # prints the table of sizes
"""

from __future__ import annotations

import ast
import io
import tokenize
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "src" / "yesca"

LINE_COLUMNS, FILE_LINES, FUNCTION_LINES, TOKENS_A_LINE = 100, 500, 60, 11.0

#: The engine's rooms, from the machine up; each may import the ones it lists and itself.
ENGINE: dict[str, str] = {
    "base": "",
    "core": "base",
    "loops": "base core",
    "passes": "base core loops",
    "targets": "base core loops",
    "operators": "base core loops",
    "runtime": "base core loops passes targets operators",
    "dispatch": "base core loops passes targets operators runtime",
    "profiler": "base core loops passes targets operators runtime dispatch",
    "autograd": "base core loops passes targets operators runtime dispatch profiler",
    "tensor": "base core loops passes targets operators runtime dispatch profiler autograd",
    "graph": "base core loops passes targets operators runtime dispatch profiler autograd tensor",
}
#: Files beside the rooms that belong to the row of `_tensor.py` and `functional.py`.
TENSOR_FILES = (
    "_tensor", "_tensor_methods", "_tensor_meta", "_legacy_methods", "_rare_methods",
    "_view_writes",
    "_access", "_restrided",
    "_indexing", "_printing", "_quantized", "_quantized_calls", "_sparse", "_rebuild",
    "_storage_access",
    "typed_storages", "typed_tensors",
    "functional",
)
#: Public modules in a room of the engine that are plain Python over all rooms: nothing of the
#: engine may import them.
FACES = ("autograd.functional", "autograd.gradcheck", "autograd.grads")
#: Files that may know every room: the package's names and the runner.
TOP = ("__init__", "__main__", "_names", "_runner")

_LAYOUT = (
    tokenize.NEWLINE, tokenize.NL, tokenize.INDENT, tokenize.DEDENT, tokenize.COMMENT,
    tokenize.ENCODING, tokenize.ENDMARKER,
)


@dataclass(frozen=True)
class Source:
    """One file of the package."""

    path: Path
    module: str  # dotted, without the package: "core.dtypes"; "" for the package itself
    text: str
    tree: ast.Module

    @property
    def name(self) -> str:
        return self.path.relative_to(ROOT).as_posix()

    @property
    def room(self) -> str:
        """The row of the table of rooms: `core`, `tensor`, `top`, or `public` for all others."""
        return room_of(self.module or "__init__")

    def functions(self) -> Iterator[tuple[str, int]]:
        """(name, lines) of each function and method, decorators not counted."""
        for node in ast.walk(self.tree):
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
                yield node.name, (node.end_lineno or node.lineno) - node.lineno + 1

    def tokens(self) -> tuple[int, int]:
        """(tokens, lines that carry tokens), comments, docstrings and layout left out."""
        lines, count, starts = set(), 0, True
        for token in tokenize.generate_tokens(io.StringIO(self.text).readline):
            if token.type in _LAYOUT:
                starts = starts or token.type == tokenize.NEWLINE
            elif not (starts and token.type == tokenize.STRING):
                count, starts = count + 1, False
                lines.update(range(token.start[0], token.end[0] + 1))
        return count, len(lines)

    def imports(self, type_checking: bool = False) -> Iterator[tuple[int, str, str]]:
        """(line, module, name) of each import, function-local ones included.

        Modules of the package start with "yesca"; relative imports are resolved. Blocks under
        `if TYPE_CHECKING` never run, and are left out unless asked for.
        """
        skipped = set() if type_checking else self._type_checking_nodes()
        package = ["yesca", *self.module.split(".")] if self.module else ["yesca"]
        if self.path.name != "__init__.py":
            package = package[:-1]
        for node in ast.walk(self.tree):
            if node in skipped:
                continue
            if isinstance(node, ast.Import):
                for alias in node.names:
                    yield node.lineno, alias.name, ""
            elif isinstance(node, ast.ImportFrom):
                base = package[:len(package) - node.level + 1] if node.level else []
                module = ".".join([*base, *([node.module] if node.module else [])])
                for alias in node.names:
                    yield node.lineno, module, alias.name

    def _type_checking_nodes(self) -> set[ast.AST]:
        found: set[ast.AST] = set()
        for node in ast.walk(self.tree):
            if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
                found.update(inner for part in node.body for inner in ast.walk(part))
        return found


def room_of(module: str) -> str:
    """The row of the table for a module's name, dotted, without the package."""
    first = module.partition(".")[0]
    if module in FACES:
        return "public"
    if first in TOP:
        return "top"
    if first in TENSOR_FILES:
        return "tensor"
    return first if first in ENGINE else "public"


@cache
def sources() -> tuple[Source, ...]:
    """All files of the package."""
    found = []
    for path in sorted(PACKAGE.rglob("*.py")):
        text = path.read_text(encoding="utf-8")
        parts = list(path.relative_to(PACKAGE).with_suffix("").parts)
        module = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
        found.append(Source(path, module, text, ast.parse(text)))
    return tuple(found)


def size_table() -> str:
    """Files, lines and density of each room, lined up in columns."""
    heads = ("room", "files", "lines", "longest file", "longest function", "p95", "tokens/line")
    rows = [heads]
    rooms = sorted({source.room for source in sources()})
    for room in [*rooms, "all"]:
        members = [s for s in sources() if room in (s.room, "all")]
        lengths = sorted(length for s in members for _, length in s.functions()) or [0]
        tokens = [sum(pair) for pair in zip(*(s.tokens() for s in members), strict=True)]
        rows.append((
            room, str(len(members)), str(sum(s.text.count("\n") for s in members)),
            str(max(s.text.count("\n") for s in members)), str(lengths[-1]),
            str(lengths[int(0.95 * (len(lengths) - 1))]), f"{tokens[0] / max(tokens[1], 1):.1f}",
        ))
    widths = [max(len(row[column]) for row in rows) for column in range(len(heads))]
    return "\n".join(
        "  ".join([row[0].ljust(widths[0]), *map(str.rjust, row[1:], widths[1:])]) for row in rows
    )


if __name__ == "__main__":
    print(size_table())
