"""The views of tests/support/alias_programs.py.

Each takes the program and an alias, and gives a function of the tensor, the array that shows its
result, and a counter of writes where this is another one.
"""

import numpy as np

KINDS, FUNCTIONS = [], {}
MOST_ELEMENTS, MOST_DIMS = 64, 5


def kind(function):
    """Enter a kind of view: the step that adds what it makes to the program's aliases."""
    def step(program, alias):
        made = function(program, alias)
        if made is not None and made[1].size <= MOST_ELEMENTS and made[1].ndim <= MOST_DIMS:
            view, array, *counter = made
            program.add(view(alias.tensor), array, alias.memory, *(counter or [alias.versions]))

    step.__name__ = function.__name__
    KINDS.append(step)
    FUNCTIONS[function.__name__] = function
    return step


def basic_index(program, shape, whole=False):
    """Slices, numbers and None for the leading dimensions (whole: for all of them)."""
    index, choose = [], program.choose
    for n in shape:
        how = choose(("slice", "all", "number", "slice" if whole else "stop"))
        if how == "stop":
            break
        if how == "number" and n:
            index.append(choose(range(-n, n)))
        elif how == "slice":
            ends = (None, *range(-n - 1, n + 2))
            index.append(slice(choose(ends), choose(ends), choose((None, 1, 2, 3))))
        else:
            index.append(slice(None))
    if choose((False, False, True)):
        index.insert(choose(range(len(index) + 1)), None)
    return index


def any_basic_index(program, shape):
    """The same, for the last dimensions too, behind an ellipsis."""
    if program.choose((False, False, True)):
        middle = program.choose(range(len(shape) + 1))
        rest = shape[program.choose(range(middle, len(shape) + 1)):]
        return (*basic_index(program, shape[:middle]), Ellipsis, *basic_index(program, rest, True))
    return tuple(basic_index(program, shape))


def view_of(array, index):
    """What an index selects, as an array over the same memory."""
    return array[index if Ellipsis in index else (*index, Ellipsis)]


def strided(alias, shape, strides, first=0, dtype=None):
    """An array of other strides (in bytes) that begins `first` bytes after the alias."""
    array = alias.array
    if not np.prod(shape, dtype=int):
        return np.empty(tuple(shape), dtype or array.dtype)
    return np.ndarray(tuple(shape), dtype or array.dtype, alias.memory,
                      alias.offset * array.itemsize + first, tuple(strides))


def dim_of(program, array):
    """A dimension, and how it is called: from the end too."""
    dim = program.choose(range(array.ndim))
    return dim, program.choose((dim, dim - array.ndim))


@kind
def index(program, alias):
    chosen = any_basic_index(program, alias.array.shape)
    return lambda t: t[chosen], view_of(alias.array, chosen)


@kind
def transpose(program, alias):
    if alias.array.ndim:
        (a, first), (b, second) = (dim_of(program, alias.array) for _ in range(2))
        name = program.choose(("transpose", "swapaxes", "swapdims"))
        return lambda t: getattr(t, name)(first, second), alias.array.swapaxes(a, b)
    return lambda t: t.t(), alias.array[...]


@kind
def permute(program, alias):
    left, order = list(range(alias.array.ndim)), []
    while left:
        order.append(left.pop(program.choose(range(len(left)))))
    return lambda t: t.permute(order), alias.array.transpose(order)


@kind
def movedim(program, alias):
    if alias.array.ndim:
        (a, first), (b, second) = (dim_of(program, alias.array) for _ in range(2))
        return lambda t: t.movedim(first, second), np.moveaxis(alias.array, a, b)
    return None


@kind
def expand(program, alias):
    array = alias.array
    sizes = [program.choose((n, 3, 2)) if n == 1 else n for n in array.shape]
    strides = [0 if n != m else s for n, m, s in zip(sizes, array.shape, array.strides)]
    more = program.choose(((), (), (2,), (1,)))
    given = [*more, *(program.choose((n, -1)) if n == m else n
                      for n, m in zip(sizes, array.shape))]
    return (lambda t: t.expand(given),
            strided(alias, [*more, *sizes], [*(0 for _ in more), *strides]))


@kind
def unfold(program, alias):
    array = alias.array
    if not array.ndim:
        return None
    dim, name = dim_of(program, array)
    size = program.choose(range(array.shape[dim] + 1))
    step = program.choose((1, 2, 3))
    shape, strides = list(array.shape), list(array.strides)
    shape[dim] = (shape[dim] - size) // step + 1
    made = strided(alias, [*shape, size], [
        *strides[:dim], strides[dim] * step, *strides[dim + 1:], strides[dim]])
    return lambda t: t.unfold(name, size, step), made


@kind
def diagonal(program, alias):
    array = alias.array
    if array.ndim < 2:
        return None
    (a, first), (b, second) = (dim_of(program, array) for _ in range(2))
    if a == b:
        return None
    far = program.choose((0, 1, -1, 2))
    made = np.diagonal(array, far, a, b)
    made.flags.writeable = True
    return lambda t: t.diagonal(far, first, second), made


@kind
def pieces(program, alias):
    """One of the pieces that split, chunk, unbind and tensor_split give."""
    array = alias.array
    if not array.ndim or not array.size:
        return None
    dim, name = dim_of(program, array)
    n = array.shape[dim]
    how, count = program.choose(("split", "chunk", "tensor_split", "unbind")), \
        program.choose(range(1, n + 1))
    ends = [*range(0, n, count), n] if how == "split" else \
        [*range(0, n, -(-n // count)), n] if how == "chunk" else \
        [k * (n // count) + min(k, n % count) for k in range(count + 1)]
    lead = (slice(None),) * dim
    if how == "unbind":
        return lambda t: t.unbind(name)[count - 1], view_of(array, (*lead, count - 1))
    at = program.choose(range(len(ends) - 1))
    return (lambda t: getattr(t, how)(count, name)[at],
            array[(*lead, slice(ends[at], ends[at + 1]))])


@kind
def narrow(program, alias):
    array = alias.array
    if not array.ndim:
        return None
    dim, name = dim_of(program, array)
    start = program.choose(range(array.shape[dim] + 1))
    length = program.choose(range(array.shape[dim] - start + 1))
    return (lambda t: t.narrow(name, start, length),
            array[(*(slice(None),) * dim, slice(start, start + length))])


@kind
def squeeze(program, alias):
    array = alias.array
    single = [d for d, n in enumerate(array.shape) if n == 1]
    if not single:
        at = program.choose(range(array.ndim + 1))
        return lambda t: t.unsqueeze(at), np.expand_dims(array, at)
    dim = program.choose(single)
    how = program.choose(("one", "all", "several"))
    given = {"one": (dim,), "all": (), "several": (tuple(single),)}[how]
    left = {"one": (dim,), "all": None, "several": tuple(single)}[how]
    return lambda t: t.squeeze(*given), np.squeeze(array, left)


def factors(program, count):
    """Sizes whose product is the count."""
    sizes = []
    while count > 1:
        n = program.choose([d for d in range(2, count + 1) if count % d == 0])
        sizes.append(n)
        count //= n
    return [*sizes, *program.choose(((), (), (1,)))]


def shape_of(program, array):
    """Another shape of as many elements; as it is given: with -1 for a size."""
    sizes = factors(program, array.size) if array.size else [*array.shape[::-1]]
    given = list(sizes)
    if sizes and array.size and program.choose((False, True)):
        given[program.choose(range(len(given)))] = -1
    return sizes, given


@kind
def view(program, alias):
    """`view`, which is refused where the elements do not lie so."""
    sizes, given = shape_of(program, alias.array)
    made = alias.array.reshape(sizes)
    if made.size and not np.shares_memory(made, alias.array):
        program.attempt(lambda: alias.tensor.view(given), "view size is not compatible")
        return None
    return lambda t: t.view(given), made


@kind
def reshape(program, alias):
    """`reshape`, which begins a memory of its own where the elements do not lie so."""
    sizes, given = shape_of(program, alias.array)
    if program.choose((False, False, True)):
        sizes, given = [alias.array.size], [-1] if alias.array.size else [0]
    made = alias.array.reshape(sizes)
    if made.size and not np.shares_memory(made, alias.array):
        program.add(alias.tensor.reshape(given), made, made.reshape(-1), [0])
        return None
    return lambda t: t.reshape(given), made


@kind
def as_strided(program, alias):
    """Any elements of the memory."""
    count, size = alias.memory.size, alias.array.itemsize
    if not count or alias.memory.itemsize != size:
        return None
    first, shape, strides = program.choose(range(count)), [], []
    room = count - 1 - first
    for _ in range(program.choose(range(4))):
        step = program.choose((1, 2, 0, 3, 4))
        n = program.choose(range(1, min(room // step if step else 2, 4) + 2))
        room -= (n - 1) * step
        shape.append(n)
        strides.append(step)
    return (lambda t: t.as_strided(shape, strides, first),
            np.ndarray(tuple(shape), alias.array.dtype, alias.memory, first * size,
                       tuple(s * size for s in strides)))


@kind
def parts(program, alias):
    """The real or imaginary parts of complex numbers, or both."""
    array = alias.array
    if array.dtype != np.complex64:
        return None
    how = program.choose(("real", "imag", "view_as_real"))
    if how == "view_as_real":
        return (program.m.view_as_real,
                strided(alias, (*array.shape, 2), (*array.strides, 4), 0, np.float32))
    return lambda t: getattr(t, how), strided(
        alias, array.shape, array.strides, 4 * (how == "imag"), np.float32)


@kind
def detach(program, alias):
    """Shares the counter of writes; `data` has one of its own."""
    if program.choose((False, True)):
        return lambda t: t.data, alias.array[...], [0]
    return lambda t: t.detach(), alias.array[...]


def turn(program, alias):
    """The tensor itself gets other sizes and strides; that counts as a write."""
    array = alias.array
    how = program.choose(("transpose_", "unsqueeze_", "squeeze_", "t_"))
    if how == "unsqueeze_" and array.ndim < MOST_DIMS:
        at = program.choose(range(array.ndim + 1))
        alias.tensor.unsqueeze_(at)
        alias.array = np.expand_dims(array, at)
    elif how == "t_" and array.ndim <= 2:
        alias.tensor.t_()
        alias.array = array.T
    elif how == "transpose_" and array.ndim:
        (a, first), (b, second) = (dim_of(program, array) for _ in range(2))
        alias.tensor.transpose_(first, second)
        alias.array = array.swapaxes(a, b)
    else:
        alias.tensor.squeeze_()
        alias.array = np.squeeze(array)
    alias.versions[0] += 1


KINDS.append(turn)
