"""Environment variables are read in base/settings.py and nowhere else."""

import ast

from source_tree import sources

READERS = {"environ", "environb", "getenv", "getenvb", "putenv", "unsetenv"}


def test_only_the_settings_read_the_environment():
    wrong = []
    for source in sources():
        if source.module == "base.settings":
            continue
        for node in ast.walk(source.tree):
            attribute = isinstance(node, ast.Attribute) and node.attr in READERS
            imported = isinstance(node, ast.ImportFrom) and node.module in ("os", "posix")
            if attribute or (imported and READERS & {alias.name for alias in node.names}):
                wrong.append(f"{source.name}:{node.lineno}")
    assert not wrong, "\n".join(wrong)
