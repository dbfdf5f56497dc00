"""The verifier: what must hold for a stage, and for the stages of one launch, to mean anything.

The builders of `ir` refuse most mistakes where they are made; passes and hand-made nodes do not go
through them. `verify` reads a finished stage with fresh eyes and raises `InvalidStage`, naming the
line of the printed stage that is wrong. It runs before a stage is compiled wherever
`YESCA_VERIFY` or `YESCA_DEBUG` is set, as in the tests.
"""

from __future__ import annotations

from collections.abc import Iterable

from ..core.dtypes import (
    BOOL, COMPLEX, FLOATING, SMALL_FLOATS, bfloat16, bool_, float32, float64, int64,
)
from .ir import (
    FOLDS, FUNCTIONS, OPERATIONS, SCANS, Expr, Stage, Store, fold_kind, inner_varying,
    walk,
)

KINDS = ("flat", "rows", "table")
#: Operations of floating-point numbers only, and of integers and truth values only.
FLOAT_ONLY = {*FUNCTIONS, "div", "sqrt", "floor", "ceil", "trunc", "round", "copysign"} \
    - {"pow", "fmod"}
WHOLE_ONLY = frozenset(("idiv", "irem", "and", "or", "xor", "not", "shl", "shr"))


class InvalidStage(ValueError):
    """A stage that breaks a rule of the loop IR."""


def verify(stage: Stage, lowered: bool = False) -> None:
    """Raise InvalidStage unless the stage obeys the rules of the loop IR.

    lowered : the passes have been through it, so that no elementary function may be left

    >>> from yesca.core.dtypes import float32
    >>> from yesca.loops import ir
    >>> x = ir.load(0, float32)
    >>> out = (ir.Buffer(float32), ir.Buffer(float32, output=True))
    >>> verify(ir.Stage("flat", out, (), (ir.Store(1, x + 1.0),)))
    >>> verify(ir.Stage("flat", out, (), (ir.Store(1, x < 1.0),)))
    Traceback (most recent call last):
    yesca.loops.verify.InvalidStage: [store to b1] the value is bool, the buffer float32; cast it
    """
    if stage.kind not in KINDS:
        raise InvalidStage(f"[stage] unknown kind {stage.kind!r}; one of {', '.join(KINDS)}")
    for slot, dtype in enumerate(stage.arguments):
        if dtype.category == COMPLEX or (dtype.category == FLOATING
                                         and dtype not in (float32, float64)):
            raise InvalidStage(f"[argument{slot}] {dtype.name} does not travel as a number; pass "
                               "float32 and cast it")
    for node in walk(*stage.roots()):
        _verify_node(stage, node)
        if lowered and node.op in FUNCTIONS:
            _wrong(node, "is left after lowering")
    varying = inner_varying(stage)
    for item in stage.stores:
        _verify_store(stage, item, varying)
    _verify_buffers(stage)


# ---- expressions -----------------------------------------------------------------------------

def _verify_node(stage: Stage, node: Expr) -> None:
    if node.dtype.category == COMPLEX:
        _wrong(node, "complex values are pairs of real expressions (loops/complexes.py)")
    check = _LEAVES.get(node.op)
    if check is not None:
        check(stage, node)
    elif node.op in OPERATIONS:
        _verify_operation(node)
    else:
        _wrong(node, "no such operation")


def _wrong(node: Expr, why: str) -> None:
    what = node.op if node.attr is None else f"{node.op} {node.attr}"
    operands = ", ".join(a.dtype.name for a in node.args)
    raise InvalidStage(f"[{what}] {why}; {node.dtype.name} from ({operands})")


def _verify_const(stage: Stage, node: Expr) -> None:
    kind = {FLOATING: float, BOOL: bool}.get(node.dtype.category, int)
    if type(node.attr) is not kind:
        _wrong(node, f"a {node.dtype.name} constant holds a Python {kind.__name__}")


def _verify_argument(stage: Stage, node: Expr) -> None:
    if not 0 <= node.attr < len(stage.arguments):
        _wrong(node, f"the stage has {len(stage.arguments)} arguments")
    if stage.arguments[node.attr] is not node.dtype:
        _wrong(node, f"the stage declares it as {stage.arguments[node.attr].name}")


def _verify_coord(stage: Stage, node: Expr) -> None:
    axes = {"flat": ("point",), "rows": ("inner", "point"), "table": ()}[stage.kind]
    if node.attr not in axes:
        _wrong(node, f"a {stage.kind} stage has no such index")
    if node.dtype is not int64:
        _wrong(node, "indices are int64")


def _verify_load(stage: Stage, node: Expr) -> None:
    if not 0 <= node.attr < len(stage.buffers):
        _wrong(node, f"the stage has {len(stage.buffers)} buffers")
    buffer = stage.buffers[node.attr]
    if buffer.dtype is not node.dtype:
        _wrong(node, f"the buffer holds {buffer.dtype.name}")
    if len(node.args) > 1 or any(a.dtype is not int64 for a in node.args):
        _wrong(node, "an offset is one int64")
    if buffer.output:
        _wrong(node, "a stage does not read what it writes: other points may have written it "
                     "already; read it as a buffer of its own, or in a later stage")


def _verify_fold(stage: Stage, node: Expr) -> None:
    kinds = FOLDS if node.op == "fold" else SCANS
    if stage.kind != "rows":
        _wrong(node, f"a {stage.kind} stage has no inner axis")
    kind = fold_kind(node)
    if kind not in kinds or len(node.args) != 1:
        _wrong(node, f"one operand, and one of {', '.join(kinds)}")
    truth = kind in ("any", "all")
    wanted = int64 if kind in ("argmax", "argmin") else bool_ if truth else node.args[0].dtype
    if node.dtype is not wanted:
        _wrong(node, f"gives {wanted.name}")
    if node.dtype is bfloat16 or node.dtype in SMALL_FLOATS:
        _wrong(node, "is too narrow to combine in; cast the operand to float32")
    if node.op == "fold" and any(below.op == "scan" for below in _below(node)):
        _wrong(node, "running values are not folded in the pass that makes them; scan in a stage "
                     "of its own")


_LEAVES = {"const": _verify_const, "argument": _verify_argument, "coord": _verify_coord,
           "load": _verify_load, "fold": _verify_fold, "scan": _verify_fold}


def _below(node: Expr) -> Iterable[Expr]:
    """What a fold combines, inner folds left out: those are done before."""
    stack, seen = list(node.args), set()
    while stack:
        one = stack.pop()
        if one in seen or one.op == "fold":
            continue
        seen.add(one)
        yield one
        stack.extend(one.args)


def _verify_operation(node: Expr) -> None:
    count, result = OPERATIONS[node.op]
    if len(node.args) != count:
        _wrong(node, f"takes {count} operands")
    operands = [a.dtype for a in node.args]
    if node.op == "where":
        if operands[0] is not bool_:
            _wrong(node, "the condition is bool")
        operands = operands[1:]
    if any(d is not operands[0] for d in operands):
        _wrong(node, "operands have one dtype; cast one of them")
    if node.op == "bitcast" and operands[0].itemsize != node.dtype.itemsize:
        _wrong(node, "sizes differ")
    wanted = bool_ if result == "bool" else operands[0] if result == "same" else node.dtype
    if node.dtype is not wanted:
        _wrong(node, f"gives {wanted.name}")
    floating = operands[0].category == FLOATING
    if node.op in FLOAT_ONLY and not floating or node.op in WHOLE_ONLY and floating:
        _wrong(node, f"is not an operation of {operands[0].name}")


# ---- stores and buffers ----------------------------------------------------------------------

def _verify_store(stage: Stage, item: Store, varying: set[Expr]) -> None:
    where = f"[store to b{item.buffer}]"
    if not 0 <= item.buffer < len(stage.buffers):
        raise InvalidStage(f"{where} the stage has {len(stage.buffers)} buffers")
    buffer = stage.buffers[item.buffer]
    if not buffer.output:
        raise InvalidStage(f"{where} the buffer is an input; mark it as an output")
    if item.value.dtype is not buffer.dtype:
        raise InvalidStage(f"{where} the value is {item.value.dtype.name}, the buffer "
                           f"{buffer.dtype.name}; cast it")
    for name, extra, dtype in (("offset", item.offset, int64), ("guard", item.guard, bool_)):
        if extra is not None and extra.dtype is not dtype:
            raise InvalidStage(f"{where} the {name} is {extra.dtype.name}, not {dtype.name}")
    if item.accumulate and item.accumulate not in SCANS:
        raise InvalidStage(f"{where} nothing accumulates by {item.accumulate!r}; one of "
                           f"{', '.join(SCANS)}")
    if item.accumulate and (buffer.dtype is bfloat16 or buffer.dtype in SMALL_FLOATS):
        raise InvalidStage(f"{where} {buffer.dtype.name} is too narrow to combine in; combine in "
                           "float32 and convert")
    if stage.kind == "table" and (item.offset is not None or item.accumulate):
        raise InvalidStage(f"{where} the pieces of a table are written in any order and once")
    plain = item.offset is None and item.guard is None and not item.accumulate
    if stage.kind == "rows" and plain and not buffer.inner and item.value in varying:
        raise InvalidStage(f"{where} one value a row, but the stored one varies along the inner "
                           "axis; fold it")


def _verify_buffers(stage: Stage) -> None:
    stored = [s.buffer for s in stage.stores]
    for k, buffer in enumerate(stage.buffers):
        if buffer.dtype.category == COMPLEX:
            raise InvalidStage(f"[b{k}] complex memory is seen as two real buffers "
                               "(runtime/parts.py)")
        if buffer.output and k not in stored:
            raise InvalidStage(f"[b{k}] an output that no store writes")
    plain = [s.buffer for s in stage.stores if s.offset is None and s.guard is None]
    for k in set(plain):
        if plain.count(k) > 1:
            raise InvalidStage(f"[b{k}] two stores write the same place; only the last would stay")
