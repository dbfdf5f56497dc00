"""The reads of tests/support/alias_programs.py: values that are copies."""

import alias_indices
import numpy as np

KINDS = []


def kind(function):
    """Enter a kind of read. It gives a function of the tensor and what this gives as an array."""
    def step(program, alias):
        made = function(program, alias)
        if made is not None:
            read, wanted = made
            got, wanted = read(alias.tensor), np.asarray(wanted)
            assert tuple(got.shape) == wanted.shape
            assert got.tolist() == wanted.tolist()

    step.__name__ = function.__name__
    KINDS.append(step)
    return step


@kind
def lookup(program, alias):
    given, arrays = alias_indices.mixed(program, alias.array.shape)
    return lambda t: t[given], alias.array[arrays]


@kind
def gather(program, alias):
    array = alias.array
    if not array.ndim:
        return None
    dim = program.choose(range(array.ndim))
    rows = alias_indices.along(program, array.shape, dim, array.shape[dim] and 3)
    return (lambda t: t.gather(dim, program.tensor(rows)),
            np.take_along_axis(array[alias_indices.corner(rows, dim)], rows, dim))


@kind
def select(program, alias):
    array = alias.array
    if not array.ndim:
        return None
    dim = program.choose(range(array.ndim))
    rows = alias_indices.rows(program, array.shape[dim])
    return (lambda t: t.index_select(dim, program.tensor(rows)), np.take(array, rows, dim))


@kind
def mask(program, alias):
    truths = alias_indices.truths(program, alias.array.shape)
    return (lambda t: t.masked_select(program.tensor(truths)),
            alias.array[truths] if truths.ndim else alias.array[truths].reshape(-1))


@kind
def flat(program, alias):
    rows = alias_indices.rows(program, alias.array.size)
    return (lambda t: t.take(program.tensor(rows)),
            alias.array.reshape(-1)[rows])


@kind
def order(program, alias):
    array = alias.array
    how = program.choose(("clone", "contiguous", "flip", "nonzero", "roll"))
    if how == "flip" and array.ndim:
        dim = program.choose(range(array.ndim))
        return lambda t: t.flip(dim), np.flip(array, dim)
    if how == "roll" and array.ndim:
        dim, far = program.choose(range(array.ndim)), program.choose((1, -1, 5))
        return lambda t: t.roll(far, dim), np.roll(array, far, dim)
    if how == "nonzero" and array.ndim:
        return lambda t: t.nonzero(), np.stack(np.nonzero(array), -1)
    return lambda t: t.contiguous() if how == "contiguous" else t.clone(), array.copy()
