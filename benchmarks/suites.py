"""What is measured, and the limits that yesca sets itself: all suites on one page."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from .sides import PROCESS, Task

FLOATS = 2048 * 2048  # elements of each tensor of `large_ops`
WORD = 4  # bytes of a float32


@dataclass(frozen=True)
class Case:
    """One timed body: its name in the program's result and what it is held to."""

    name: str
    limit: float | None = None  # for the upper quartile of the ratio to PyTorch
    flops: float = 0.0  # arithmetic and traffic that the body cannot do without
    bytes: float = 0.0
    later_than: str = ""  # the limit is seconds later than this side, not a ratio
    side: str = "yesca"


@dataclass(frozen=True)
class Suite:
    name: str
    about: str
    task: Task
    cases: tuple[Case, ...]
    unit: str = "ms"  # how seconds are written
    mean_limit: float | None = None  # for the geometric mean of the ratios
    shows_mean: bool = False
    extra_sides: tuple[str, ...] = ()


SMALL_OPS = Suite(
    "small_ops",
    "one operator on 4x4 float32; g requires grad, i is an index tensor",
    Task("small_ops.py"),
    tuple(
        Case(name, limit=0.9)
        for name in (
            "a + b",
            "a * 2.0",
            "g + b",
            "a @ b",
            "g @ b",
            "a.view(16)",
            "a[0]",
            "a[i]",
            "a.sum()",
            "relu(g)",
            "linear(x)",
            "forward, backward",
        )
    ),
    unit="µs",
    mean_limit=0.4,
    shows_mean=True,
)

CALLS = Suite(
    "calls",
    "everyday calls on small tensors, one a line in programs/calls.txt",
    Task("calls.py"),
    tuple(map(Case, (Path(__file__).parent / "programs" / "calls.txt").read_text(
        encoding="utf-8").splitlines())),
    unit="µs",
    mean_limit=0.6,
    shows_mean=True,
)

LARGE_OPS = Suite(
    "large_ops",
    "one operator on 2048x2048 float32",
    Task("large_ops.py"),
    tuple(
        Case(name, limit=1.1, bytes=traffic * FLOATS)
        for name, traffic in (
            ("x + y", 3 * WORD),
            ("exp", 2 * WORD),
            ("tanh", 2 * WORD),
            ("gelu", 2 * WORD),
            ("sum", WORD),
            ("sum(0)", WORD),
            ("softmax(-1)", 2 * WORD),
            ("layer_norm", 2 * WORD),
            ("x > y", 2 * WORD + 1),
            ("where", 3 * WORD + 1),
        )
    ),
    shows_mean=True,
)

MATMUL = Suite(
    "matmul",
    "float32 products; T: that factor is a transposed view",
    Task("matmul.py"),
    tuple(
        Case(f"{size} {layout}", limit=1.1 if layout == "NN" else 1.15, flops=2.0 * size**3)
        for size in (256, 1024, 2048)
        for layout in ("NN", "NT", "TN")
    ),
)

BIGRAM = Suite(
    "bigram",
    "one training step of a table of logits: cross entropy, backward, AdamW",
    Task("bigram.py"),
    (Case("training step", limit=0.45),),
    unit="µs",
)

MNIST = Suite(
    "mnist",
    "784-256-128-10 with dropout and Adam, batches of 64",
    Task("mnist_steps.py", substitutes=(("jax", "mnist_jax.py"),)),
    (
        Case("training step", limit=0.5, flops=6.0 * 64 * (784 * 256 + 256 * 128 + 128 * 10)),
        Case("whole epoch"),
    ),
    extra_sides=("jax",),
)

FIRST_STEP = Suite(
    "first_step",
    "the MNIST program from its start to the end of its first optimizer step",
    Task("first_step.py"),
    (
        Case("first step, warm", limit=0.5),
        Case("first step, cold", limit=3.5, later_than="yesca", side="yesca, cold"),
    ),
    unit="s",
    extra_sides=("yesca, cold",),
)

IMPORT = Suite(
    "import",
    "a process that imports the package and ends",
    Task(
        statements=(
            ("yesca", "import yesca"),
            ("torch", "import torch"),
            ("control", "import torch"),
        )
    ),
    (Case(PROCESS, limit=0.13),),
)

FRAMEWORKS = Suite(
    "frameworks",
    "one epoch of 512 points in a circle, four layers of 2-16-16-8-2, batches of 32, SGD",
    Task("circles.py", substitutes=(("python", "circles_python.py"), ("jax", "circles_jax.py"))),
    (Case("epoch"),),
    extra_sides=("jax", "python"),
)

SUITES = {
    suite.name: suite
    for suite in (
        SMALL_OPS,
        CALLS,
        LARGE_OPS,
        MATMUL,
        BIGRAM,
        MNIST,
        FIRST_STEP,
        IMPORT,
        FRAMEWORKS,
    )
}
