"""Sequences of different lengths in one tensor."""

from __future__ import annotations

from collections.abc import Iterable

from ..._tensor import Tensor

__all__ = ["pad_sequence", "unpad_sequence"]


def pad_sequence(
    sequences: Tensor | Iterable[Tensor],
    batch_first: bool = False,
    padding_value: float = 0.0,
    padding_side: str = "right",
) -> Tensor:
    """Stack sequences (L_i, *), filled up to the longest with `padding_value`.

    The result is (L, N, *), or (N, L, *) with `batch_first`.

    >>> import yesca as torch
    >>> torch.nn.utils.rnn.pad_sequence([torch.ones(2), torch.ones(3)], batch_first=True)
    tensor([[1., 1., 0.],
            [1., 1., 1.]])
    """
    if not isinstance(sequences, Iterable):
        raise RuntimeError(
            "pad_sequence: Expected iterable for input sequences, but got arg of type: "
            f"{type(sequences)}"
        )
    if padding_side not in ("left", "right"):
        raise RuntimeError(
            f"Expected padding_side to be one of left or right, but got {padding_side}."
        )
    sequences = tuple(sequences)
    if not sequences:
        raise RuntimeError("received an empty list of sequences")
    longest = max(sequence.size(0) for sequence in sequences)
    first = sequences[0]
    shape = (len(sequences), longest, *first.shape[1:])
    padded = first.new_full(shape, padding_value)  # (N, L, *)
    for index, sequence in enumerate(sequences):
        length = sequence.size(0)
        start = 0 if padding_side == "right" else longest - length
        padded[index, start : start + length] = sequence
    return padded if batch_first else padded.transpose(0, 1).contiguous()


def unpad_sequence(
    padded_sequences: Tensor, lengths: Tensor, batch_first: bool = False
) -> list[Tensor]:
    """The sequences (L_i, *) of a padded tensor (L, N, *), or (N, L, *) with `batch_first`."""
    rows = padded_sequences if batch_first else padded_sequences.transpose(0, 1)
    return [row[: int(length)] for row, length in zip(rows, lengths, strict=True)]
