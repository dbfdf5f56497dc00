"""Writes docs/coverage.md: what of PyTorch's operator database passes, and what does not and why.

    python tests/support/coverage_page.py RESULT.json

RESULT.json is what the conformance harness writes: the counts of each kind of check, and for each
operator the checks by name with "" or what was wrong.
"""

import collections
import json
import re
import sys
from pathlib import Path

PAGE = Path(__file__).parents[2] / "docs" / "coverage.md"
KINDS = ("samples", "grads", "variants", "errors")
WORDS = {"samples": "samples", "grads": "gradients", "variants": "variants", "errors": "errors"}


def share(passed, all_of_them):
    return f"{passed} of {all_of_them} ({100 * passed / all_of_them:.1f} %)" if all_of_them else "-"


def counted(operator, kind):
    found = operator["checks"].get(kind, {})
    return sum(not wrong for wrong in found.values()), len(found)


def passes(operator):
    return not any(wrong for found in operator["checks"].values() for wrong in found.values())


def reasons(operator):
    """What is wrong, most frequent first: [(text, checks)]; numbers and tensors are cut away."""
    found = collections.Counter()
    for checks in operator["checks"].values():
        for wrong in filter(None, checks.values()):
            first = wrong.strip().splitlines()[0]
            found[re.sub(r"/\S+/", "", first)[:160].replace("|", "\\|")] += 1
    return found.most_common(3)


def table(head, rows):
    """A Markdown table whose columns line up."""
    rows = [head, *rows]
    widths = [max(len(row[k]) for row in rows) for k in range(len(head))]
    lines = ["| " + " | ".join(f"{cell:{w}}" for cell, w in zip(row, widths)) + " |"
             for row in rows]
    return "\n".join([lines[0], "|" + "|".join("-" * (w + 2) for w in widths) + "|", *lines[1:]])


def page(result):
    operators = sorted(result["ops"].values(), key=lambda operator: operator["name"])
    families = collections.defaultdict(list)
    for operator in operators:
        families[operator["family"]].append(operator)
    good = [operator for operator in operators if passes(operator)]
    totals = [["operators without a fault", share(len(good), len(operators))]]
    totals += [[WORDS[kind], share(*result["totals"][kind])] for kind in KINDS]
    by_family = [
        [name, str(len(members)), str(sum(map(passes, members))),
         *(share(*map(sum, zip(*(counted(member, kind) for member in members))))
           for kind in KINDS)]
        for name, members in sorted(families.items())
    ]
    missing = [
        [f"`{operator['name']}`", f"{count}", text.replace("`", "'")]
        for operator in operators if operator not in good for text, count in reasons(operator)
    ]
    outside = [[f"`{name}`", why] for name, why in sorted(result["excluded"].items())]
    settings = result["settings"]
    part = "" if settings["fraction"] == 1 else (
        f" A random {100 * settings['fraction']:.0f} % of the operators (seed {settings['seed']}).")
    return f"""# Coverage

Written by `tests/support/coverage_page.py`, not by hand. PyTorch 2.13's operator database (OpInfo)
is the oracle: for dtypes {settings['dtypes'].replace(',', ', ')}, up to {settings['max_samples']}
samples of each operator and dtype, their gradients, the variants (method, in-place, `out=`) and the
inputs that must raise.{part}

{table(["checks", "passed"], totals)}

{table(["family", "operators", "whole", *(WORDS[kind] for kind in KINDS)], by_family)}

## What does not pass

{table(["operator", "checks", "why"], missing)}

## What is not measured

{table(["operator", "why"], outside)}
"""


if __name__ == "__main__":
    PAGE.write_text(page(json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))),
                    encoding="utf-8")
