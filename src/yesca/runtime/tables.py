"""Which tensors of several lists go into one launch of a table stage."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from .references import Ref


def grouped(lists: Sequence[Sequence[Ref]], main: int) -> Iterator[tuple[bool, list[Any]]]:
    """Entries (one tensor of each list) by dtypes and layout, with whether they go together.

    `main`: the list whose tensors' elements are counted. 0-dim tensors beside larger ones stand for
    one value of their entry. Entries whose strides differ among themselves go alone, and so do
    complex ones.
    """
    groups: dict[tuple[Any, ...], list[tuple[Ref, ...]]] = {}
    for entry in zip(*lists, strict=True):
        largest = entry[main].spec
        single = tuple(r.spec.ndim == 0 and largest.numel != 1 for r in entry)
        alike = largest.dense and all(one or (r.spec.strides == largest.strides
                                              and r.spec.shape == largest.shape)
                                      for r, one in zip(entry, single, strict=True))
        groups.setdefault((alike, single, *(r.spec.dtype for r in entry)), []).append(entry)
    for (alike, single, *kinds), entries in groups.items():
        together = bool(alike) and not any(d.is_complex for d in kinds)
        yield together, entries if not together else [
            tuple(r.as_rows() if one else r for r, one in zip(entry, single, strict=True))
            for entry in entries]
