"""Sequences of different lengths in one tensor."""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Iterable

from ... import functional as ops
from ..._tensor import Tensor
from ...core import dtypes
from ...core.layouts import contiguous_format

__all__ = [
    "PackedSequence",
    "invert_permutation",
    "pack_padded_sequence",
    "pack_sequence",
    "pad_packed_sequence",
    "pad_sequence",
    "unpack_sequence",
    "unpad_sequence",
]


class PackedSequence(
    namedtuple("PackedSequence", "data batch_sizes sorted_indices unsorted_indices")
):
    """Sequences of different lengths without padding, as recurrent layers take them.

    `data` holds all first entries, then all second ones, ...; `batch_sizes[t]` says how many
    sequences reach time t. They are sorted by length: `sorted_indices` says how, and
    `unsorted_indices` how back. Made by `pack_padded_sequence` and `pack_sequence`.
    """

    __slots__ = ()

    def __new__(cls, data, batch_sizes=None, sorted_indices=None, unsorted_indices=None):
        if batch_sizes is not None and batch_sizes.device.type != "cpu":
            raise ValueError(
                "batch_sizes should always be on CPU. Instances of PackedSequence should never be "
                "created manually. They should be instantiated by functions like pack_sequence "
                "and pack_padded_sequences in nn.utils.rnn."
            )
        if batch_sizes is None:  # the two together
            assert isinstance(data, (list, tuple)) and len(data) == 2, (
                "Expected data to be a list or tuple of length 2")
            data, batch_sizes = data
        if unsorted_indices is None:
            unsorted_indices = invert_permutation(sorted_indices)
        return super().__new__(cls, data, batch_sizes, sorted_indices, unsorted_indices)

    @property
    def is_cuda(self) -> bool:
        """Whether the data is on a CUDA device."""
        return self.data.is_cuda

    def is_pinned(self) -> bool:
        """Whether the data is in pinned memory."""
        return self.data.is_pinned()

    def to(self, *args, **kwargs) -> PackedSequence:
        """With the data moved or cast; the permutations follow it to its device."""
        data = self.data.to(*args, **kwargs)
        moved = (
            None if each is None else each.to(data.device)
            for each in (self.sorted_indices, self.unsorted_indices)
        )
        return type(self)(data, self.batch_sizes, *moved)

    def cpu(self, *args, **kwargs) -> PackedSequence:
        """With the data on the CPU; further arguments as those of `to`."""
        return self.to(*args, **{"device": "cpu", **kwargs})

    def cuda(self, *args, **kwargs) -> PackedSequence:
        """With the data on a CUDA device."""
        return self.to(self.data.cuda(*args, **kwargs).device)

    def float(self) -> PackedSequence:
        """With the data as float32."""
        return self._replace(data=self.data.float())

    def double(self) -> PackedSequence:
        """With the data as float64."""
        return self._replace(data=self.data.double())

    def half(self) -> PackedSequence:
        """With the data as float16."""
        return self._replace(data=self.data.half())

    def long(self) -> PackedSequence:
        """With the data as int64."""
        return self._replace(data=self.data.long())

    def int(self) -> PackedSequence:
        """With the data as int32."""
        return self._replace(data=self.data.int())

    def short(self) -> PackedSequence:
        """With the data as int16."""
        return self._replace(data=self.data.short())

    def char(self) -> PackedSequence:
        """With the data as int8."""
        return self._replace(data=self.data.char())

    def byte(self) -> PackedSequence:
        """With the data as uint8."""
        return self._replace(data=self.data.byte())


def invert_permutation(permutation: Tensor | None) -> Tensor | None:
    """The permutation that undoes `permutation`."""
    if permutation is None:
        return None
    positions = ops.arange(permutation.numel(), device=permutation.device)
    return ops.empty_like(permutation).scatter_(0, permutation, positions)


def pack_padded_sequence(
    input: Tensor, lengths, batch_first: bool = False, enforce_sorted: bool = True
) -> PackedSequence:
    """Packs (L, N, *), or (N, L, *) with `batch_first`, given the length of each sequence.

    With `enforce_sorted` the lengths must not increase; otherwise the sequences are sorted.
    """
    sizes = _whole(lengths)
    rows = input if batch_first else input.transpose(0, 1)  # (N, L, *)
    if len(sizes) != rows.size(0):
        raise RuntimeError(
            f"Expected `len(lengths)` to be equal to batch_size, but got {len(sizes)} "
            f"(batch_size={rows.size(0)})"
        )
    if not rows.numel():
        raise RuntimeError("Cannot pack empty tensors.")
    if min(sizes) <= 0:
        raise RuntimeError(
            "Length of all samples has to be greater than 0, but found an element in 'lengths' "
            "that is <= 0"
        )
    order = sorted(range(len(sizes)), key=lambda index: -sizes[index])
    sorted_indices = None
    if not enforce_sorted:
        sorted_indices = ops.tensor(order, device=input.device)
        rows = rows.index_select(0, sorted_indices)
        sizes = [sizes[index] for index in order]
    elif any(later > earlier for earlier, later in zip(sizes, sizes[1:])):
        raise RuntimeError(
            "`lengths` array must be sorted in decreasing order when `enforce_sorted` is True. "
            "You can pass `enforce_sorted=False` to pack_padded_sequence and/or pack_sequence to "
            "sidestep this requirement if you do not need ONNX exportability."
        )
    batch_sizes = [sum(size > time for size in sizes) for time in range(sizes[0])]
    data = ops.cat([rows[:count, time] for time, count in enumerate(batch_sizes)])
    return PackedSequence(data, ops.tensor(batch_sizes), sorted_indices, None)


def _whole(lengths) -> list[int]:
    """The lengths as numbers; of a list, the whole part of each."""
    if not isinstance(lengths, Tensor):
        lengths = ops.tensor(lengths, dtype=dtypes.int64)
    if lengths.dim() != 1:
        kind = lengths.type().rpartition(".")[2].removesuffix("Tensor")
        raise RuntimeError(
            "'lengths' argument should be a 1D CPU int64 tensor, but got "
            f"{lengths.dim()}D {lengths.device.type} {kind} tensor"
        )
    return [int(length) for length in lengths.tolist()]


def pad_packed_sequence(
    sequence: PackedSequence,
    batch_first: bool = False,
    padding_value: float = 0.0,
    total_length: int | None = None,
) -> tuple[Tensor, Tensor]:
    """(padded, lengths) from packed sequences, in their original order."""
    sizes = sequence.batch_sizes.tolist()
    length = len(sizes) if total_length is None else total_length
    if length < len(sizes):
        raise ValueError(
            "Expected total_length to be at least the length of the longest sequence in input, "
            f"but got total_length={length} and max sequence length being {len(sizes)}"
        )
    data = sequence.data
    padded = data.new_full((length, sizes[0], *data.shape[1:]), padding_value)  # (L, N, *)
    for time, part in enumerate(data.split(sizes)):
        padded[time, : sizes[time]] = part
    lengths = ops.tensor([sum(size > row for size in sizes) for row in range(sizes[0])])
    if sequence.unsorted_indices is not None:
        padded = padded.index_select(1, sequence.unsorted_indices)
        lengths = lengths[sequence.unsorted_indices.cpu()]
    return (padded.transpose(0, 1) if batch_first else padded), lengths


def pack_sequence(sequences, enforce_sorted: bool = True) -> PackedSequence:
    """Packs a list of sequences (L_i, *)."""
    lengths = [sequence.size(0) for sequence in sequences]
    return pack_padded_sequence(pad_sequence(sequences), lengths, enforce_sorted=enforce_sorted)


def unpack_sequence(packed_sequences: PackedSequence) -> list[Tensor]:
    """The list of sequences (L_i, *) that were packed."""
    padded, lengths = pad_packed_sequence(packed_sequences, batch_first=True)
    return unpad_sequence(padded, lengths, batch_first=True)


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
    """Copies of the sequences (L_i, *) of a padded tensor (L, N, *), or (N, L, *) if batch_first.

    >>> import yesca as torch
    >>> padded = torch.tensor([[1.0, 3.0], [2.0, 0.0]])
    >>> torch.nn.utils.rnn.unpad_sequence(padded, torch.tensor([2, 1]))
    [tensor([1., 2.]), tensor([3.])]
    """
    rows = padded_sequences if batch_first else padded_sequences.transpose(0, 1)
    return [row[: int(length)].clone(memory_format=contiguous_format)
            for row, length in zip(rows, lengths, strict=True)]
