"""The README's example, its output and its commands.

    python tests/support/readme.py 2      # prints the second command
"""

import re
import sys
from pathlib import Path

TEXT = (Path(__file__).parents[2] / "README.md").read_text(encoding="utf-8")


def blocks(language):
    """The fenced blocks of a language ("" for plain ones)."""
    fences = re.findall(r"^```(\w*)\n(.*?)^```$", TEXT, re.MULTILINE | re.DOTALL)
    return [text for name, text in fences if name == language]


def commands():
    """The lines of the shell block."""
    return blocks("sh")[0].splitlines()


if __name__ == "__main__":
    print(commands()[int(sys.argv[1]) - 1])
