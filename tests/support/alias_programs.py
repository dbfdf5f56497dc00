"""Random programs of views, writes and reads on shared memory, beside NumPy's arrays.

`Program(m, choose)` begins one, `step()` goes on, `check()` compares all tensors with the arrays:
values, sizes, strides, offsets, version counters. `choose(options)` gives an element of a sequence.
What a program calls depends on the choices and on sizes and strides alone, so that the same choices
make the same program in every package.
"""

from dataclasses import dataclass

import alias_reads
import alias_views
import alias_writes
import numpy as np

DTYPES = ("float32", "int64", "bool", "uint8", "float64", "complex64")
SHAPES = ((2, 3), (4,), (6, 2), (2, 3, 2), (), (1, 5), (3, 1, 4), (0, 3), (8,), (2, 0), (3, 3))
STEPS = alias_views.KINDS * 2 + alias_writes.KINDS + alias_reads.KINDS
MOST_ALIASES = 6


@dataclass(eq=False)
class Alias:
    """A tensor and the array that shows its values; `versions` counts the writes to it."""

    tensor: object
    array: np.ndarray
    memory: np.ndarray  # of one dimension: the whole storage that both are parts of
    versions: list

    @property
    def offset(self):
        """Where the first element lies, in elements."""
        first = self.array.__array_interface__["data"][0]
        return (first - self.memory.__array_interface__["data"][0]) // self.array.itemsize


class Program:
    """What a program holds; the parts that views, writes and reads are made with."""

    def __init__(self, m, choose):
        self.m, self.choose, self.log, self.aliases = m, choose, [], []
        dtype = choose(DTYPES)
        self.begin(choose(SHAPES), dtype)
        self.begin(choose(SHAPES), choose((dtype, choose(DTYPES))))

    def begin(self, shape, dtype):
        """A tensor over a storage of its own."""
        array = self.values(shape, dtype)
        self.add(self.tensor(array), array, array.reshape(-1), [0])

    def add(self, tensor, array, memory, versions):
        self.aliases.append(Alias(tensor, array, memory, versions))
        del self.aliases[:-MOST_ALIASES]

    def numbers(self, dtype):
        """Numbers that a dtype holds exactly, after a few sums and products too."""
        return {"b": (True, False), "c": (1, 2 - 1j, 0, 1j), "f": (1, -2, 0, 2, 0.5)}.get(
            np.dtype(dtype).kind, (1, 2, 0, 3))

    def values(self, shape, dtype):
        """An array of small numbers, of which the first is chosen."""
        numbers = self.numbers(dtype)
        first = self.choose(range(len(numbers)))
        count = int(np.prod(shape, dtype=int))
        return np.array([numbers[(first + k * k) % len(numbers)] for k in range(count)],
                        dtype).reshape(shape)

    def tensor(self, array):
        """A tensor of an array's values, over memory of its own."""
        dtype = getattr(self.m, array.dtype.name)
        return self.m.tensor(array.tolist(), dtype=dtype).reshape(array.shape)

    def attempt(self, function, refused=""):
        """Call a function, which is refused with these words; None then."""
        try:
            made = function()
        except RuntimeError as error:
            assert refused and refused in str(error), error
            return None
        assert not refused, f"nothing is said of {refused!r}"
        return made

    def step(self):
        """One view, write or read."""
        kind, alias = self.choose(STEPS), self.choose(self.aliases[::-1])
        self.log.append(kind.__name__)
        kind(self, alias)

    def check(self):
        """All tensors are what the arrays say."""
        for alias in self.aliases:
            tensor, array = alias.tensor, alias.array
            assert tuple(tensor.shape) == array.shape
            assert tensor.tolist() == array.tolist()
            assert tensor._version == alias.versions[0]
            if array.size:
                assert tensor.storage_offset() == alias.offset
                for n, step, wanted in zip(array.shape, tensor.stride(), array.strides):
                    assert n == 1 or step * array.itemsize == wanted
