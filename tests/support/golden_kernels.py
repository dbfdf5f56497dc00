"""A few kernels of every kind: what operators plan for them, as printed loop IR.

    PYTHONPATH=src python tests/support/golden_kernels.py      # writes tests/fixtures/golden anew

A golden kernel is the list of stages, and of the variants chosen for their layouts, that one call
(with its derivative, where it has one) plans. Nothing is launched. What differs from the stored
text is a change of a kernel: look at the difference, then store it.
"""

from __future__ import annotations

import sys
from collections import Counter
from contextlib import contextmanager
from pathlib import Path

from interpreted import fresh_plans, python_path

import yesca
from yesca.loops.printer import describe
from yesca.nn import functional as F
from yesca.runtime import kernels, plan, variants

FOLDER = Path(__file__).parents[1] / "fixtures" / "golden"


def tensor(*shape, dtype="float32", grad=False):
    return yesca.zeros(shape, dtype=getattr(yesca, dtype)).requires_grad_(grad)


def pair(function, dtype="float32", shapes=((3, 4), (3, 4))):
    """A case: a function of tensors."""
    return lambda: (function, [tensor(*shape, dtype=dtype) for shape in shapes])


def one(function, dtype="float32", shape=(3, 4)):
    return pair(function, dtype, (shape,))


def both(function, *shapes, dtype="float32"):
    """A case: a function of tensors and its derivative."""
    def run(*inputs):
        result = function(*inputs)
        yesca.autograd.grad(result, inputs, result.detach())

    return lambda: (run, [tensor(*s, dtype=dtype, grad=True) for s in shapes])


def step(kind, dtype="float32", **options):
    """A case: one step of an optimizer, its state there already."""
    def make():
        parameters = [yesca.nn.Parameter(tensor(*s, dtype=dtype)) for s in ((3, 4), (5,))]
        optimizer = getattr(yesca.optim, kind)(parameters, **options)
        for _ in range(2):
            for p in parameters:
                p.grad = yesca.ones_like(p)
            optimizer.step()
        return optimizer.step, []

    return make


def again(function):
    """Call it for two sizes: a layout gets a kernel of its own at its second use."""
    def run(*inputs):
        function(*inputs)
        function(*(x[1:] for x in inputs))

    return run


LABELS = yesca.tensor([1, 0, 2])
INDEX = yesca.tensor([[0, 1, 1, 0], [2, 0, 1, 2]])
CASES = {
    "add": pair(lambda x, y: x + y),
    "add broadcast": pair(again(lambda x, y: x + y), shapes=((256, 256), (256, 1))),
    "add with alpha, int64": pair(lambda x, y: yesca.add(x, y, alpha=3), "int64"),
    "and, bool": pair(lambda x, y: x & y, "bool"),
    "floor_divide, int32": pair(lambda x, y: x // y, "int32"),
    "less, uint8": pair(lambda x, y: x < y, "uint8"),
    "mul, bfloat16": pair(lambda x, y: x * y, "bfloat16"),
    "mul, complex64": pair(lambda x, y: x * y, "complex64"),
    "abs, complex128": one(lambda x: x.abs(), "complex128"),
    "copy to int64": one(lambda x: x.long(), "float32"),
    "copy to bfloat16": one(lambda x: x.bfloat16(), "float64"),
    "copy, transposing": one(lambda x: x.t().contiguous(), shape=(256, 256)),
    "gelu": both(F.gelu, (3, 4)),
    "pow, float64": pair(yesca.pow, "float64"),
    "sin, float16": one(yesca.sin, "float16"),
    "where": pair(lambda x, y: yesca.where(x > 0, x, y)),
    "sum": one(lambda x: x.sum(-1)),
    "sum over columns": one(lambda x: x.sum(0), shape=(300, 400)),
    "mean, float16": one(lambda x: x.mean(), "float16"),
    "prod, int64": one(lambda x: x.prod(1), "int64"),
    "amax": one(lambda x: x.amax(-1)),
    "all": one(lambda x: x.all(-1)),
    "any, bool": one(lambda x: x.any(-1), "bool"),
    "argmax": one(lambda x: x.argmax(-1)),
    "argmin, int32": one(lambda x: x.argmin(0), "int32"),
    "max with indices": one(lambda x: x.max(-1)),
    "aminmax": one(lambda x: yesca.aminmax(x)),
    "var_mean": one(lambda x: yesca.var_mean(x, -1)),
    "logsumexp": both(lambda x: x.logsumexp(-1), (3, 4)),
    "norm": one(lambda x: yesca.linalg.vector_norm(x)),
    "cumsum": both(lambda x: x.cumsum(-1), (3, 4)),
    "cumprod, complex64": one(lambda x: x.cumprod(0), "complex64"),
    "cummax": one(lambda x: x.cummax(-1)),
    "gather": both(lambda x: x.gather(0, INDEX), (3, 4)),
    "index_select": both(lambda x: x.index_select(0, LABELS), (3, 4)),
    "index_put": pair(lambda x, y: x.index_put_((LABELS,), y, accumulate=True)),
    "scatter_add": pair(lambda x, y: x.scatter_add_(0, INDEX, y)),
    "scatter_reduce amax": pair(lambda x, y: x.scatter_reduce_(0, INDEX, y, "amax")),
    "embedding": both(lambda w: F.embedding(LABELS, w), (3, 4)),
    "masked_fill": both(lambda x: x.masked_fill(LABELS[:, None] > 0, 2.0), (3, 4)),
    "sort": one(lambda x: x.sort(-1)),
    "topk": one(lambda x: x.topk(2)),
    "softmax": both(lambda x: F.softmax(x, -1), (3, 4)),
    "log_softmax, bfloat16": both(lambda x: F.log_softmax(x, -1), (3, 4), dtype="bfloat16"),
    "cross_entropy": both(lambda x: F.cross_entropy(x, LABELS), (3, 4)),
    "layer_norm": both(lambda x, w, b: F.layer_norm(x, (4,), w, b), (3, 4), (4,), (4,)),
    "max_pool2d": both(lambda x: F.max_pool2d(x, 2), (1, 2, 4, 4)),
    "SGD": step("SGD", lr=0.1, momentum=0.9),
    "AdamW": step("AdamW", lr=0.1),
}


@contextmanager
def planned():
    """The (stage, variant) pairs that calls plan inside; no kernel is compiled or run."""
    found = {}

    def address(stage, variant=kernels.GENERAL, name="kernel"):
        found.setdefault((stage, variant))
        return 0

    before = kernels.address, plan._launch, variants._layout_uses
    kernels.address, variants._layout_uses = address, Counter()
    plan._launch = lambda launches, places, arguments, launch: None
    try:
        with python_path(), fresh_plans():
            yield found
    finally:
        kernels.address, plan._launch, variants._layout_uses = before


def stages(name):
    """The stages of a golden kernel with their variants, in the order in which they are planned."""
    function, inputs = CASES[name]()
    with planned() as found:
        function(*inputs)
    return list(found)


def printed(name):
    """The text that is stored."""
    parts = []
    for stage, variant in stages(name):
        layout = ", ".join(filter(None, (
            variant.pattern and f"strides {variant.pattern}", variant.columns and "columns",
            variant.tiled and "tiled"))) or "any strides"
        parts.append(f"{describe(stage)}\n  for {layout}\n")
    return "\n".join(parts)


def file_of(name):
    return FOLDER / ("".join(c if c.isalnum() else "_" for c in name) + ".txt")


def main():
    FOLDER.mkdir(exist_ok=True)
    for old in FOLDER.glob("*.txt"):
        old.unlink()
    for name in CASES:
        file_of(name).write_text(printed(name), encoding="utf-8")
    print(f"{len(CASES)} golden kernels in {FOLDER}", file=sys.stderr)


if __name__ == "__main__":
    main()
