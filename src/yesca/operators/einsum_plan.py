"""einsum: the equation read once, then a chain of contractions from left to right.

`parse` gives labels: letters are small numbers, the dimensions of an ellipsis come after them.
Its result is kept for every equation and ranks of operands; what depends on sizes (broadcasting of
ones, complaints) is done at the call.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from ..base.errors import argument_error
from ..core.tensor_base import TensorBase
from .argument_types import refuse_others
from .contraction import Labels, pair

LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
_DOTS = len(LETTERS)  # the label of an ellipsis; its dimensions are _DOTS + 1, _DOTS + 2 ...


@dataclass(frozen=True)
class Equation:
    """Labels of each operand's dimensions and of the result's."""

    operands: tuple[Labels, ...]
    out: Labels


def _letter(label: int) -> str:
    return LETTERS[label] if label < _DOTS else "..."


@lru_cache(maxsize=4096)
def parse(equation: str, ranks: tuple[int, ...]) -> Equation:
    """Read an equation for operands of these ranks."""
    left, arrow, right = equation.partition("->")
    terms = [_term(part, start, k) for k, (part, start) in enumerate(_parts(left))]
    if len(terms) > len(ranks):
        raise RuntimeError("einsum(): fewer operands were provided than specified in the equation")
    if len(terms) < len(ranks):
        raise RuntimeError("einsum(): more operands were provided than specified in the equation")
    wanted = _term(right, len(left) + 2, None) if arrow else None
    return resolve(tuple(terms), wanted, ranks)


def _parts(text: str) -> list[tuple[str, int]]:
    parts, start = [], 0
    for part in text.split(","):
        parts.append((part, start))
        start += len(part) + 1
    return parts


def _term(text: str, start: int, operand: int | None) -> Labels:
    """One operand's subscripts; `operand` is None for the output."""
    of = "the output" if operand is None else f"operand {operand}"
    labels: list[int] = []
    k = 0
    while k < len(text):
        character = text[k]
        if character == ".":
            if _DOTS in labels:
                raise RuntimeError(f"einsum(): found '.' for {of} for which an ellipsis was "
                                   "already found")
            if text[k:k + 3] != "...":
                raise RuntimeError(f"einsum(): found '.' for {of} that is not part of any "
                                   "ellipsis")
            labels.append(_DOTS)
            k += 3
            continue
        if character != " ":
            if character not in LETTERS:
                raise RuntimeError(
                    f"einsum(): invalid subscript given at index {start + k} in the equation "
                    "string, subscripts must be in [a-zA-Z]")
            labels.append(LETTERS.index(character))
        k += 1
    return tuple(labels)


def resolve(terms: Sequence[Labels], wanted: Labels | None, ranks: Sequence[int]) -> Equation:
    """Ellipses as labels of their own, right-aligned; the implicit result where none is given."""
    dots = 0
    for k, (term, rank) in enumerate(zip(terms, ranks, strict=True)):
        named = len(term) - (_DOTS in term)
        if _DOTS in term and named > rank:
            raise RuntimeError(
                f"einsum(): the number of subscripts in the equation ({named}) is more than the "
                f"number of dimensions ({rank}) for operand {k}")
        if _DOTS not in term and named != rank:
            raise RuntimeError(
                f"einsum(): the number of subscripts in the equation ({named}) does not match the "
                f"number of dimensions ({rank}) for operand {k} and no ellipsis was given")
        dots = max(dots, rank - named if _DOTS in term else 0)
    operands = tuple(_spread(term, rank - len(term) + 1, dots)
                     for term, rank in zip(terms, ranks, strict=True))
    seen = [g for term in terms for g in term]
    if wanted is None:
        single = tuple(g for g in range(_DOTS) if seen.count(g) == 1)
        return Equation(operands, (*range(_DOTS + 1, _DOTS + 1 + dots), *single))
    for g in wanted:
        if g != _DOTS and g not in seen:
            raise RuntimeError(f"einsum(): output subscript {_letter(g)} does not appear in the "
                               "equation for any input operand")
        if wanted.count(g) > 1:
            raise RuntimeError(f"einsum(): output subscript {_letter(g)} appears more than once "
                               "in the output")
    return Equation(operands, _spread(wanted, dots, dots))


def _spread(term: Labels, count: int, dots: int) -> Labels:
    made: list[int] = []
    for g in term:
        made += range(_DOTS + 1 + dots - count, _DOTS + 1 + dots) if g == _DOTS else (g,)
    return tuple(made)


def evaluate(ops: Any, equation: Equation, operands: Sequence[Any]) -> Any:
    """Contract the operands from left to right."""
    _check_sizes(equation, operands)
    tensors, labels = [], []
    for k, (tensor, own) in enumerate(zip(operands, equation.operands, strict=True)):
        tensor, own = _diagonals(ops, tensor, own, k)
        tensors.append(tensor)
        labels.append(own)
    out = equation.out
    if len(tensors) == 1:
        return _single(ops, tensors[0], labels[0], out)
    made, left = tensors[0], labels[0]
    for k in range(1, len(tensors)):
        later = {g for own in labels[k + 1:] for g in own}
        last = k == len(tensors) - 1
        keep = out if last else tuple(dict.fromkeys(
            g for g in (*left, *labels[k]) if g in out or g in later))
        if len(tensors) == 2 and _turned(left, labels[k], out):
            made = pair(ops, tensors[k], made, labels[k], left, keep)
        else:
            made = pair(ops, made, tensors[k], left, labels[k], keep)
        left = keep
    return made


def _turned(left: Labels, right: Labels, out: Labels) -> bool:
    """Whether all columns of the product stand before its rows in the result."""
    rows = [k for k, g in enumerate(out) if g not in right]
    columns = [k for k, g in enumerate(out) if g not in left]
    return bool(rows) and bool(columns) and max(columns) < min(rows)


def _check_sizes(equation: Equation, operands: Sequence[Any]) -> None:
    sizes: dict[int, int] = {}
    for k, (tensor, own) in enumerate(zip(operands, equation.operands, strict=True)):
        mine: dict[int, int] = {}
        for g, size in zip(own, tensor.shape, strict=True):
            if g in mine and mine[g] != size:
                raise RuntimeError(f"einsum(): subscript {_letter(g)} is repeated for operand {k} "
                                   f"but the sizes don't match, {size} != {mine[g]}")
            mine[g] = size
        for g, size in mine.items():
            known = sizes.get(g, 1)
            if size not in (1, known) and known != 1:
                raise RuntimeError(
                    f"einsum(): subscript {_letter(g)} has size {size} for operand {k} which does "
                    f"not broadcast with previously seen size {known}")
            sizes[g] = size if known == 1 else known


def _diagonals(ops: Any, tensor: Any, labels: Labels, operand: int) -> tuple[Any, Labels]:
    """A label that an operand has twice means its diagonal."""
    for g in dict.fromkeys(labels):
        while labels.count(g) > 1:
            first = labels.index(g)
            second = labels.index(g, first + 1)
            tensor = ops.diagonal(tensor, 0, first, second)  # its dimension is the last one now
            rest = tensor.dim() - 1
            tensor = ops.permute(tensor, (*range(first), rest, *range(first, rest)))
            labels = (*labels[:second], *labels[second + 1:])
    return tensor, labels


def _single(ops: Any, tensor: Any, labels: Labels, out: Labels) -> Any:
    """One operand: its dimensions in the order of the result, the others summed."""
    summed = tuple(d for d, g in enumerate(labels) if g not in out)
    tensor = ops.permute(tensor, tuple(labels.index(g) for g in out) + summed)
    return ops.sum(tensor, tuple(range(len(out), len(labels)))) if summed else tensor


def einsum(ops: Any, args: tuple[Any, ...]) -> Any:
    """einsum("ij,jk->ik", a, b), einsum("ij,jk->ik", [a, b]) or einsum(a, [0, 1], b, [1, 2])."""
    if not args or (isinstance(args[0], str) and len(args) < 2):
        raise ValueError("einsum(): must specify the equation string and at least one operand, or "
                         "at least one operand and its subscripts list")
    if isinstance(args[0], str):
        operands = args[1:]
        if len(operands) == 1 and isinstance(operands[0], (list, tuple)):
            operands = tuple(operands[0])
        refuse_others(operands, 1)
        return evaluate(ops, parse(args[0], tuple(t.dim() for t in operands)), operands)
    if not isinstance(args[0], TensorBase | list | tuple):
        raise argument_error("einsum", "equation", 1, "str", args[0])
    wanted = _list_labels(args[-1]) if len(args) % 2 else None
    pairs = args[:len(args) // 2 * 2]
    operands = pairs[::2]
    terms = tuple(_list_labels(s) for s in pairs[1::2])
    return evaluate(ops, resolve(terms, wanted, [t.dim() for t in operands]), operands)


def _list_labels(subscripts: Sequence[Any]) -> Labels:
    made = []
    for s in subscripts:
        if s is Ellipsis:
            made.append(_DOTS)
        elif isinstance(s, int) and 0 <= s < len(LETTERS):
            made.append(s)
        else:
            raise ValueError("einsum(): subscript in subscript list is not within the valid range "
                             f"[0, {len(LETTERS)})")
    return tuple(made)
