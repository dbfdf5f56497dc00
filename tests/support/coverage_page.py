"""Writes docs/coverage.md: what of PyTorch's operator database passes, and what does not and why.

    python tests/support/coverage_page.py RESULT.json

RESULT.json is what the conformance harness writes: the counts of each kind of check, and for each
operator the checks by name with "" or what was wrong.
"""

import collections
import json
import re
import sys
import textwrap
from pathlib import Path

from yesca.base import absent

PAGE = Path(__file__).parents[2] / "docs" / "coverage.md"
KINDS = ("samples", "grads", "variants", "errors")
WORDS = {"samples": "samples", "grads": "gradients", "variants": "variants", "errors": "errors"}
#: Why operators do not pass, where the texts of the checks do not say it.
NOTES = {
    "as_strided_scatter": "PyTorch's gradient is wrong: it fails gradcheck, this one passes",
    "chalf": "complex32 can be named and compared only: no kernel computes in it",
    **dict.fromkeys(("special.bessel_j0", "special.bessel_j1", "special.bessel_y0",
                     "special.bessel_y1"),
                    "PyTorch's values beyond 5 are exact to 7 digits only, these to 14"),
}
MEASURED = (
    "PyTorch 2.13's operator database (OpInfo) is the oracle. For each operator and each of the "
    "dtypes {dtypes}, up to {samples} samples are compared: structure, shapes, dtypes and values; "
    "the gradients of all inputs; the variants (method, in-place, Python operator, `out=`); and "
    "inputs that must raise, by the class of the error.")
#: Kinds of tensors and parts of PyTorch that lack -> a name of theirs, by module: the error that
#: asking for it raises says what there is instead.
OUTSIDE = {
    "sparse tensors: CSR, CSC, BSR, BSC": ("", "sparse_csr_tensor"),
    "quantization with fixed ranges, and in training": ("ao.quantization", "prepare"),
    "nested (jagged) tensors": ("", "nested"),
    "`masked.MaskedTensor`": ("masked", "MaskedTensor"),
    "devices other than the CPU and `meta`": ("mps", "Event"),
    "`distributed` on more than one process": ("distributed", "DeviceMesh"),
    "`fx`, `export`, `onnx`, `hub`, `library`, `ops`": ("", "fx"),
    "TorchScript": ("", "ScriptModule"),
}


def share(passed, all_of_them):
    return f"{passed} of {all_of_them} ({100 * passed / all_of_them:.1f} %)" if all_of_them else "-"


def counted(operator, kind):
    found = operator["checks"].get(kind, {})
    return sum(not wrong for wrong in found.values()), len(found)


def passes(operator):
    return not any(wrong for found in operator["checks"].values() for wrong in found.values())


def reasons(operator):
    """What is wrong, most frequent first: {text: [kind of check ...]}; tensors are cut away."""
    found = collections.defaultdict(list)
    for kind, checks in operator["checks"].items():
        for wrong in filter(None, checks.values()):
            text = wrong.strip().splitlines()[0]
            text = "there is no such operator" if text.startswith("no yesca.") else text
            text = NOTES.get(operator["name"], re.sub(r"/\S+/", "", text))
            found[text[:160].replace("|", "\\|").replace("`", "'")].append(kind)
    return dict(sorted(found.items(), key=lambda pair: -len(pair[1]))[:3])


def numbered(kinds):
    """How many checks of each kind, in words."""
    found = collections.Counter(kinds)
    return ", ".join(f"{found[kind]} {word if found[kind] > 1 else word.removesuffix('s')}"
                     for kind, word in WORDS.items() if found[kind])


def marked(text):
    """Python's special names as code, which Markdown would print bold."""
    return re.sub(r"__[a-z]+__", lambda name: f"`{name[0]}`", text)


def instead(module, name):
    """What the error for a name that lacks tells of what there is."""
    return absent.note(module, name).partition(": ")[2].rstrip(")")


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
        [f"`{operator['name']}`", numbered(kinds), text]
        for operator in operators if operator not in good
        for text, kinds in reasons(operator).items()
    ]
    outside = [[what, instead(*name)] for what, name in OUTSIDE.items()]
    unmeasured = collections.defaultdict(list)
    for name, why in sorted(result["excluded"].items()):
        unmeasured[why].append(f"`{name}`")
    excluded = [textwrap.fill(f"- {marked(why)}: {', '.join(names)}", 100,
                              subsequent_indent="  ", break_long_words=False,
                              break_on_hyphens=False)
                for why, names in unmeasured.items()]
    settings = result["settings"]
    part = "" if settings["fraction"] == 1 else (
        f" A random {100 * settings['fraction']:.0f} % of the operators (seed {settings['seed']}).")
    return f"""# Coverage: what of PyTorch works

{textwrap.fill(MEASURED.format(dtypes=settings["dtypes"].replace(",", ", "),
                               samples=settings["max_samples"]) + part, 100)}

{table(["checks", "passed"], totals)}

By family; "whole" are the operators without a fault:

{table(["family", "operators", "whole", *(WORDS[kind] for kind in KINDS)], by_family)}

## What does not pass

Every operator with a check that fails, and why:

{table(["operator", "checks", "why"], missing) if missing else "Nothing."}

## What is not there at all

Asking for one of these raises an error that says so, and what there is instead. All public names
that lack are in `src/yesca/base/absent_names.py`; of those that begin with an underscore only some
that programs ask for nevertheless. The dtypes `complex32`, `int4` and their like can be named
and compared only; `float8_*` are kept, moved, converted and multiplied, as in PyTorch.

{table(["what", "instead"], outside)}

## What is not measured

Entries of the database that are no public operators, or none of a CPU:

{chr(10).join(excluded)}

This page is written by `tests/support/coverage_page.py` from a run over the database.
"""


if __name__ == "__main__":
    PAGE.write_text(page(json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))),
                    encoding="utf-8")
