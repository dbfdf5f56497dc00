"""Stages as text: for people (`describe`) and, by the same text, for hashes (`signature`)."""

from __future__ import annotations

from .ir import Expr, Kernel, Stage, walk

_SYMBOLS = {"add": "+", "sub": "-", "mul": "*", "div": "/", "and": "&", "or": "|", "xor": "^",
            "lt": "<", "le": "<=", "gt": ">", "ge": ">=", "eq": "==", "ne": "!=", "shl": "<<",
            "shr": ">>"}


def _line(node: Expr, names: dict[Expr, str]) -> str:
    args = [names[a] for a in node.args]
    if node.op == "const":
        return f"{node.attr!r}"
    if node.op == "argument":
        return f"argument{node.attr}"
    if node.op == "load":
        return f"load b{node.attr}" + (f"[+{args[0]}]" if args else "")
    if node.op == "coord":
        return f"index of {node.attr}"
    if node.op in ("fold", "scan"):
        return f"{node.op} {node.attr} of {args[0]}"
    if node.op in _SYMBOLS:
        return f"{args[0]} {_SYMBOLS[node.op]} {args[1]}"
    if node.op in ("cast", "bitcast"):
        return f"{node.op} {args[0]} to {node.dtype.name}"
    return f"{node.op}({', '.join(args)})"


def describe(stage: Stage) -> str:
    """The stage, one operation a line, as a person reads it."""
    lines = [f"{stage.kind} stage"]
    for k, buffer in enumerate(stage.buffers):
        role = "out" if buffer.output else "in"
        place = "" if buffer.inner else ", one value a row"
        lines.append(f"  b{k}: {role} {buffer.dtype.name}{place}")
    for k, dtype in enumerate(stage.arguments):
        lines.append(f"  argument{k}: {dtype.name}")
    names: dict[Expr, str] = {}
    for node in walk(*stage.roots()):
        names[node] = f"t{len(names)}"
        lines.append(f"  {names[node]} = {_line(node, names)}  # {node.dtype.name}")
    for item in stage.stores:
        target = f"b{item.buffer}" + (f"[+{names[item.offset]}]" if item.offset is not None else "")
        guard = f" if {names[item.guard]}" if item.guard is not None else ""
        sign = {"": "=", "sum": "+="}.get(item.accumulate, f"{item.accumulate}=")
        lines.append(f"  {target} {sign} {names[item.value]}{guard}")
    return "\n".join(lines)


def describe_kernel(kernel: Kernel) -> str:
    """All stages of a kernel, with the barriers between them."""
    return f"kernel {kernel.name}\n" + "\n  -- barrier --\n".join(map(describe, kernel.stages))
