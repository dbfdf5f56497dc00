"""What is measured, and the limits that yesca sets itself: all suites on one page."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace

from .sides import PROCESS, PROGRAMS, Task

FLOATS = 2048 * 2048  # elements of each tensor of `large_ops`
WORD = 4  # bytes of a float32


@dataclass(frozen=True)
class Case:
    """One timed body: its name in the program's result and what it is held to.

    figure: "ratio" of the side to the base; "later", seconds that the side takes more than the
    base; "own", what the side takes itself.
    """

    name: str
    limit: float | None = None  # for the upper quartile of the figure
    flops: float = 0.0  # arithmetic and traffic that the body cannot do without
    bytes: float = 0.0
    side: str = "yesca"
    base: str = "torch"
    figure: str = "ratio"
    label: str = ""  # what the report calls it, where the name alone does not say enough
    part: str = ""  # of the program: an argument; where none is said, the name before a comma

    def __post_init__(self) -> None:
        object.__setattr__(self, "part", self.part or self.name.split(", ")[0])


@dataclass(frozen=True)
class Suite:
    name: str
    about: str
    task: Task
    cases: tuple[Case, ...]
    unit: str = "ms"  # how what is measured is written: seconds, or bytes as MB
    mean_limit: float | None = None  # for the geometric mean of the ratios
    shows_mean: bool = False
    extra_sides: tuple[str, ...] = ()

    def only(self, names: Collection[str]) -> Suite:
        """This suite with the cases of these names or parts, and only the parts they need."""
        starts = tuple(f"{name}, " for name in names)
        cases = tuple(
            case
            for case in self.cases
            if case.part in names or f"{case.name}, ".startswith(starts)
        )
        needed = {case.part for case in cases}
        parts = tuple(part for part in self.task.parts if part in needed)
        return replace(self, cases=cases, task=replace(self.task, parts=parts))



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
    tuple(map(Case, (PROGRAMS / "calls.txt").read_text(encoding="utf-8").splitlines())),
    unit="µs",
    mean_limit=0.6,
    shows_mean=True,
)

SIZES = ("16", "100 k", "4 M")
OPERATORS = [
    tuple(map(str.strip, line.split("|")))
    for line in (PROGRAMS / "sweep.txt").read_text(encoding="utf-8").splitlines()
]

SWEEP = Suite(
    "sweep",
    "the 60 tensor operators that most programs call, on 16 to 4 million float32",
    Task("sweep.py", parts=SIZES),
    tuple(
        Case(f"{name} {size}{way}", limit=1.5, part=size)
        for size in SIZES
        for name, _, leaf in OPERATORS
        for way in ("", ", backward")[: 2 if leaf else 1]
    ),
    unit="µs",
    mean_limit=0.9,
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

MATMUL_BFLOAT16 = Suite(
    "matmul_bfloat16",
    "bfloat16 products; T: that factor is a transposed view",
    Task("matmul.py", parts=("bfloat16",)),
    tuple(
        Case(f"{size} {layout}", limit=None if size == 256 else 1.2, part="bfloat16")
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

MNIST_FLOPS = 6.0 * 64 * (784 * 256 + 256 * 128 + 128 * 10)

MNIST = Suite(
    "mnist",
    "784-256-128-10 with dropout and Adam, batches of 64",
    Task("mnist_steps.py", substitutes=(("jax", "mnist_jax.py"),)),
    (
        Case("training step", limit=0.5, flops=MNIST_FLOPS),
        Case("whole epoch"),
    ),
    extra_sides=("jax",),
)

GPT_FLOPS = 6.0 * 8 * 200 * (4 * (12 * 256**2 + 200 * 256) + 256 * 2030)  # causal: half of T
RESNET_FLOPS = 6.0 * 32 * (
    1024 * 9 * (3 * 32 + 2 * 32 * 32) + 256 * (9 * (32 * 64 + 64 * 64) + 32 * 64) + 64 * 10
)
STEP_FLOPS = {"MNIST": MNIST_FLOPS, "bigram": 0.0, "GPT": GPT_FLOPS, "ResNet": RESNET_FLOPS}

COMPILED_STEP = Suite(
    "compiled_step",
    "a whole training step as one compiled function, against PyTorch's eager mode",
    Task("compiled_step.py", substitutes=(("jax", "mnist_jax.py"),), parts=tuple(STEP_FLOPS)),
    (
        *(
            Case(name, limit=limit, flops=STEP_FLOPS[name])
            for name, limit in (("MNIST", 0.35), ("bigram", 0.2), ("GPT", 0.85), ("ResNet", 1.3))
        ),
        Case("MNIST", limit=0.9, base="jax", label="MNIST, to jax.jit"),
        Case("ResNet", limit=0.95, base="yesca, eager", label="ResNet, to our eager"),
        *(
            Case(name, side="yesca, eager", label=f"{name}, our eager", flops=STEP_FLOPS[name])
            for name in STEP_FLOPS
        ),
    ),
    extra_sides=("yesca, eager", "jax"),
)

COMPILED_MODEL = Suite(
    "compiled_model",
    "model = torch.compile(model), the loop around it unchanged, against PyTorch's eager mode",
    Task("compiled_model.py", parts=("MNIST", "GPT")),
    (
        Case("MNIST", limit=0.5, flops=MNIST_FLOPS),
        Case("GPT", limit=0.92, flops=GPT_FLOPS),
    ),
)

COMPILED_INFERENCE = Suite(
    "compiled_inference",
    "compiled functions without gradients, against PyTorch's eager mode",
    Task("compiled_inference.py"),
    (
        Case("elementwise", limit=0.25, bytes=4e6 * 3 * WORD),
        Case("layer_norm(gelu + r)", limit=0.5, bytes=4096 * 512 * 3.0 * WORD),
        Case("network", limit=0.3, bytes=(784 * 256 + 256 * 128 + 128 * 10) * 1.0 * WORD),
    ),
)

INT8 = Suite(
    "int8",
    "the MNIST network's linear layers at batch 1 with int8 weights, against our float32",
    Task("int8_layers.py"),
    (
        Case("all layers", limit=0.5, base="yesca, float32"),
        *(
            Case(name, base="yesca, float32")
            for name in ("784 to 256", "256 to 128", "128 to 10")
        ),
        Case("all layers", label="all layers, to PyTorch's int8"),
    ),
    unit="µs",
    extra_sides=("yesca, float32",),
)

FIRST_CALLS = (*STEP_FLOPS, *(case.name for case in COMPILED_INFERENCE.cases))

COMPILED_FIRST = Suite(
    "compiled_first",
    "the first call of a compiled program, against torch.compile's with an empty cache",
    Task("compiled_first.py", parts=FIRST_CALLS),
    (
        *(
            Case(name, limit=0.1, side="yesca, cold", label=f"{name}, cold")
            for name in FIRST_CALLS
        ),
        *(
            Case(f"{name}, beyond a later call", limit=0.15, figure="own", label=f"{name}, warm")
            for name in FIRST_CALLS
        ),
    ),
    unit="s",
    extra_sides=("yesca, cold",),
)

COMPILED_CALL = Suite(
    "compiled_call",
    "a compiled function of eight operators on four floats: what a call costs above its kernels",
    Task("compiled_call.py"),
    (Case("eight operators", limit=15e-6, figure="own"),),
    unit="µs",
    extra_sides=("yesca, eager",),
)

COMPILED_MEMORY = Suite(
    "compiled_memory",
    "the most bytes that a compiled training step allocates, against PyTorch's eager mode",
    Task("compiled_memory.py"),
    (
        Case("GPT", limit=0.8),
        Case("GPT", side="yesca, eager", label="GPT, our eager"),
    ),
    unit="MB",
    extra_sides=("yesca, eager",),
)

KERNELS = Suite(
    "kernels",
    "softmax over rows as a kernel of the program's own, against the built-in one",
    Task("kernels.py"),
    tuple(
        Case(f"softmax {size}", limit=1.2, base="yesca, built-in")
        for size in ("4096x1024", "64x50257")
    ),
    extra_sides=("yesca, built-in",),
)

AUTOCAST_STEP = Suite(
    "autocast_step",
    "a training step of the GPT under bfloat16 autocast, against PyTorch's eager mode under it",
    Task("autocast_step.py"),
    (
        Case("GPT", limit=0.8),
        Case("GPT", limit=1.0, side="yesca, eager", label="GPT, our eager"),
    ),
    extra_sides=("yesca, eager",),
)

AUTOCAST_MEMORY = Suite(
    "autocast_memory",
    "the bytes that a forward pass under bfloat16 autocast keeps, against the same in float32",
    Task("autocast_memory.py"),
    (Case("GPT", limit=0.6, base="yesca, float32"), Case("GPT", label="GPT, to PyTorch")),
    unit="MB",
    extra_sides=("yesca, float32",),
)

# Both layers, forward and backward: 32 rows through weights of 1024 x (128 + 256) and 1024 x 512.
LSTM_FLOPS = 6.0 * 50 * 32 * 1024 * (128 + 256 + 512)
RECURRENT = Suite(
    "recurrent",
    "a training step of LSTM(128, 256, 2) on 50 x 32, with SGD",
    Task("recurrent.py"),
    (Case("LSTM step", limit=1.0, flops=LSTM_FLOPS), Case("LSTM forward")),
)

OPTIMIZERS = Suite(
    "optimizers",
    "one step over 20 tensors of 200 thousand elements, against PyTorch's default form",
    Task("optimizers.py"),
    (
        Case("Adam", limit=0.5, bytes=20 * 200_000 * 7.0 * WORD),
        *(Case(name) for name in ("SGD", "AdamW", "RMSprop", "Adagrad", "NAdam")),
    ),
)

DATA = Suite(
    "data",
    "epochs of 60 000 x 784 in batches of 64, of small files, of ready batches; starting workers",
    Task("data.py", parts=(
        "TensorDataset", "own Dataset", "PNG files", "1 MB batches", "4 workers by spawn",
        "4 workers by fork")),
    (
        Case("TensorDataset", limit=0.2),
        Case("own Dataset", limit=0.6),
        Case("PNG files", limit=1.05),
        Case("1 MB batches", limit=0.8),
        Case("4 workers by spawn", limit=0.4),
        Case("4 workers by fork", limit=1.0),
    ),
)

FIRST_STEP = Suite(
    "first_step",
    "the MNIST program from its start to the end of its first optimizer step",
    Task("first_step.py"),
    (
        Case("first step, warm", limit=0.5),
        Case("first step, cold", limit=3.5, figure="later", side="yesca, cold",
             base="yesca"),
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

CHECKPOINT = 100 * 1118 * 1118 * WORD  # bytes

FILES = Suite(
    "files",
    "a checkpoint of 500 MB in 100 tensors; the file is in the system's memory, nothing is synced",
    Task("files.py", parts=("load", "mapped load", "save")),
    (
        Case("load", limit=0.7, bytes=2.0 * CHECKPOINT),
        Case("load, later", bytes=2.0 * CHECKPOINT),
        Case("mapped load", limit=0.02, figure="own"),
        Case("save", limit=1.0, bytes=2.0 * CHECKPOINT),
        Case("save, first"),
    ),
)

FILES_MEMORY = Suite(
    "files_memory",
    "the most memory that loading the checkpoint of 500 MB takes",
    Task("files.py", parts=("memory",)),
    (Case("load", limit=1.1 * CHECKPOINT, figure="own", part="memory"),),
    unit="MB",
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
        SWEEP,
        LARGE_OPS,
        MATMUL,
        MATMUL_BFLOAT16,
        BIGRAM,
        MNIST,
        COMPILED_STEP,
        COMPILED_MODEL,
        COMPILED_INFERENCE,
        INT8,
        COMPILED_FIRST,
        COMPILED_CALL,
        COMPILED_MEMORY,
        KERNELS,
        AUTOCAST_STEP,
        AUTOCAST_MEMORY,
        RECURRENT,
        OPTIMIZERS,
        DATA,
        FIRST_STEP,
        IMPORT,
        FILES,
        FILES_MEMORY,
        FRAMEWORKS,
    )
}
