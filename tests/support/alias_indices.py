"""Index tensors, masks and lists of tests/support/alias_programs.py."""

import numpy as np


def rows(program, size, apart=False):
    """An array of indices, negative ones too; apart: all different."""
    count = program.choose(range(min(size, 4) + 1)) if apart or not size else \
        program.choose(range(4))
    first = program.choose(range(size)) if size else 0
    step = program.choose((1, size - 1)) if apart else program.choose((1, 0, 2))
    return np.array([(first + k * step) % size for k in range(count)], np.int64)


def truths(program, shape):
    """A mask."""
    period, first = program.choose((2, 1, 3)), program.choose((0, 1))
    count = int(np.prod(shape, dtype=int))
    return np.array([(k + k // 3 + first) % period == 0 for k in range(count)],
                    bool).reshape(shape)


def along(program, shape, dim, most):
    """An index tensor for gather and scatter: the rows of each column are different if there are
    no more than in the shape."""
    size = shape[dim]
    sizes = [program.choose((n, n, max(n - 1, 0))) for n in shape]
    sizes[dim] = program.choose(range(most + 1))
    first = program.choose((0, 1))
    made = np.zeros(sizes, np.int64)
    for place in np.ndindex(*sizes):
        made[place] = (first + sum(place)) % size
    return made


def corner(index, dim):
    """The part of a tensor that an index tensor of `gather` reads."""
    return tuple(slice(None) if d == dim else slice(n) for d, n in enumerate(index.shape))


def signed(program, made, size):
    """The same indices, some counted from the end."""
    return made - size if program.choose((False, False, True)) else made


def mixed(program, shape):
    """Slices, one or two index tensors or lists, or a mask: as tensors, and as arrays.

    Numbers are left out: beside index tensors they count as such in NumPy alone.
    """
    given, arrays, dim, tensors = [], [], 0, 0
    broadcast = program.choose((1, 2, 3))
    while dim < len(shape):
        how = program.choose(("tensor", "slice", "mask", "list", "stop", "none"))
        n = shape[dim]
        if how == "stop":
            break
        if how == "none":
            if len(given) - dim < 2:
                given.append(None)
                arrays.append(None)
            else:
                break
            continue
        if how == "mask" and not tensors:
            span = program.choose(range(1, len(shape) - dim + 1))
            made = truths(program, shape[dim:dim + span])
            tensors = 2
            dim += span - 1
        elif how in ("tensor", "list") and tensors < 2 and n:
            first, step = program.choose(range(n)), program.choose((1, 0))
            made = signed(program, np.array(
                [(first + k * step) % n for k in range(broadcast)], np.int64), n)
            if how == "tensor" and tensors and program.choose((False, True)):
                made = made[:, None]
            tensors += 1
        else:
            ends = (None, *range(-n, n + 1))
            part = slice(program.choose(ends), program.choose(ends), program.choose((None, 2)))
            given.append(part)
            arrays.append(part)
            dim += 1
            continue
        given.append(made.tolist() if how == "list" and made.ndim == 1 else program.tensor(made))
        arrays.append(made)
        dim += 1
    if not tensors:
        given.append(Ellipsis)
        arrays.append(Ellipsis)
    return tuple(given), tuple(arrays)
