"""Programs on pages of the docs: each `python` block is one, and the plain block after it is what
it prints. The blocks of a page are independent of each other and say `import torch`.

    python -m yesca tests/support/pages.py docs/training_patterns.md          # tells what differs
    python tests/support/pages.py docs/training_patterns.md                   # the same of PyTorch
    python -m yesca tests/support/pages.py docs/training_patterns.md --write  # puts outputs in anew
"""

import contextlib
import io
import linecache
import os
import re
import sys
import tempfile
from pathlib import Path

BLOCK = re.compile(r"^```python\n(.*?)^```\n\n```\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def printed(code, name):
    """What a program prints, run by itself in an empty folder."""
    output, before = io.StringIO(), os.getcwd()
    linecache.cache[name] = (len(code), None, code.splitlines(True), name)  # kernels are read
    with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stdout(output):
        os.chdir(folder)
        try:
            exec(compile(code, name, "exec"), {"__name__": "__main__"})
        finally:
            os.chdir(before)
    return output.getvalue()


def main(page, write):
    text, different = page.read_text(encoding="utf-8"), 0

    def rerun(match):
        nonlocal different
        code, expected = match.groups()
        line = text[:match.start()].count("\n") + 1
        output = printed(code, f"{page.name}:{line}")
        if output != expected:
            different += 1
            print(f"{page.name}:{line}: expected\n{expected}got\n{output}")
        return f"```python\n{code}```\n\n```\n{output}```"

    rewritten, count = BLOCK.subn(rerun, text)
    if write:
        page.write_text(rewritten, encoding="utf-8")
    print(f"{count} programs, {different} with another output")


if __name__ == "__main__":
    main(Path(sys.argv[1]).resolve(), "--write" in sys.argv[2:])
