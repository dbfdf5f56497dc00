"""The writes of tests/support/alias_programs.py: a function of the tensor, one of the array.

Where several elements of the written tensor are one, PyTorch refuses if it sees that from a stride
of 0; otherwise what it leaves depends on the order, unless all elements get the same number.
"""

import alias_indices
import alias_views
import numpy as np

KINDS = []
WRITTEN = "more than one element of the written-to tensor refers to a single memory location"
READ = "some elements of the input tensor and the written-to tensor refer to a single memory"


def kind(overlap="refused", dtypes="bifcu"):
    """Enter a kind of write.

    overlap: whether elements that are one are "refused", get the "same" number, or are "left" to
    the write, which gives the words that it is refused with, or None where it depends on the order.
    """
    def enter(function):
        def step(program, alias):
            made = function(program, alias) if alias.array.dtype.kind in dtypes else None
            if made is None:
                return
            write, change, words = (*made, "")[:3]
            if overlap == "refused":
                first = words_for(alias.array)
                words = words if first == "" else first
            if words is not None:
                program.attempt(lambda: write(alias.tensor), words)
            if words == "":
                change(alias.array)
                alias.versions[0] += 1

        step.__name__ = function.__name__
        KINDS.append(step)
        return step

    return enter


def places(array):
    """The address of each element."""
    steps = (at * step for at, step in zip(np.indices(array.shape), array.strides))
    return sum(steps, np.full(array.shape, array.__array_interface__["data"][0]))


def shared(array):
    """Whether several elements are one."""
    return np.unique(places(array)).size < array.size


def words_for(array):
    """The words with which a write to elements that are one is refused; None: it is not, and what
    it leaves depends on the order."""
    folded = array.size > 0 and any(n > 1 and s == 0 for n, s in zip(array.shape, array.strides))
    return WRITTEN if folded else None if shared(array) else ""


def dense(array):
    """Whether the elements fill a part of the memory, each place once."""
    expected = array.itemsize
    for step, n in sorted((s, n) for s, n in zip(array.strides, array.shape) if n != 1):
        if step != expected:
            return False
        expected *= n
    return True


def clash(written, read):
    """"" where the operand can be read while the other is written, READ where PyTorch refuses,
    None where it depends on the order."""
    a, b = written.array, read.array
    if written is read or not a.size or not b.size or written.memory is not read.memory:
        return ""
    if dense(a) and dense(b):
        begins, ends = zip(*((int(p.min()), int(p.max()) + x.itemsize)
                             for p, x in ((places(a), a), (places(b), b))))
        if begins[0] == begins[1] and ends[0] == ends[1]:
            return "" if a.strides == b.strides else READ
        return READ if begins[0] < ends[1] and begins[1] < ends[0] else ""
    mine, other = places(a), places(b)
    if a.dtype == b.dtype and a.shape == b.shape and (mine == other).all():
        return ""
    ours, theirs = ({at + k for at in p.reshape(-1).tolist() for k in range(x.itemsize)}
                    for p, x in ((mine, a), (other, b)))
    return None if ours & theirs else ""


def fresh(program, shape, dtype):
    """An array, and a tensor of its values over memory of its own."""
    array = program.values(shape, dtype)
    return program.tensor(array), array


def smaller(program, shape):
    """A shape that is broadcast to this one."""
    sizes = [program.choose((n, n, 1)) for n in shape]
    return tuple(sizes[program.choose(range(len(sizes) + 1)):])


def operand(program, alias, dtypes=()):
    """A tensor that is broadcast to the alias's shape, its values, and why PyTorch refuses it."""
    if program.choose((False, True)):
        others = [a for a in program.aliases if _fits(a.array, alias.array)
                  and a.array.dtype in (alias.array.dtype, *dtypes)]
        other = program.choose(others)
        words = clash(alias, other)
        if words is None or other is alias and shared(alias.array):
            return other.tensor.clone(), other.array.copy(), ""
        return other.tensor, other.array.copy(), words
    shape = smaller(program, alias.array.shape)
    return *fresh(program, shape, alias.array.dtype), ""


def _fits(array, into):
    try:
        return np.broadcast_shapes(array.shape, into.shape) == into.shape
    except ValueError:
        return False


def number_for(program, array):
    return program.choose(program.numbers(array.dtype))


# ---- elementwise -------------------------------------------------------------------------------

@kind("same")
def fill(program, alias):
    number = number_for(program, alias.array)
    if program.choose((False, False, True)):
        return lambda t: t.zero_(), lambda a: a.fill(0)
    return lambda t: t.fill_(number), lambda a: a.fill(number)


@kind()
def add(program, alias):
    tensor, array, words = operand(program, alias)
    if alias.array.dtype == bool or program.choose((False, True)):
        return lambda t: t.add_(tensor), lambda a: np.add(a, array, out=a), words
    return (lambda t: t.add_(tensor, alpha=2),
            lambda a: np.add(a, array * a.dtype.type(2), out=a), words)


@kind(dtypes="iufc")
def numbers(program, alias):
    """In-place arithmetic with a number."""
    number = number_for(program, alias.array)
    name = program.choose(("add", "sub", "mul"))
    if name == "sub" and alias.array.dtype.kind == "u":
        name = "add"
    changes = {"add": np.add, "sub": np.subtract, "mul": np.multiply}
    return (lambda t: getattr(t, f"{name}_")(number),
            lambda a: changes[name](a, a.dtype.type(number), out=a))


@kind()
def multiply(program, alias):
    tensor, array = fresh(program, smaller(program, alias.array.shape), alias.array.dtype)
    return lambda t: t.mul_(tensor), lambda a: np.multiply(a, array, out=a)


@kind()
def copy(program, alias):
    wider = [np.dtype(d) for d in ("bool", "uint8", "int64", "float32", "float64")
             if np.can_cast(d, alias.array.dtype, "safe")]
    tensor, array, words = operand(program, alias, wider)
    return lambda t: t.copy_(tensor), lambda a: np.copyto(a, array), words


@kind(dtypes="iuf")
def clamp(program, alias):
    low, high = program.choose(((0, 2), (None, 1), (1, None), (2, 1)))
    def change(a):
        np.minimum(a if low is None else np.maximum(a, low), 99 if high is None else high, out=a)
    return lambda t: t.clamp_(low, high), change


@kind("same")
def masked_fill(program, alias):
    truths = alias_indices.truths(program, smaller(program, alias.array.shape))
    number = number_for(program, alias.array)
    def change(a):
        a[np.broadcast_to(truths, a.shape)] = number
    return lambda t: t.masked_fill_(program.tensor(truths), number), change


@kind()
def into(program, alias):
    """`out=`."""
    if alias.array.dtype == bool:
        return None
    first, second = (fresh(program, alias.array.shape, alias.array.dtype) for _ in range(2))
    return (lambda t: program.m.add(first[0], second[0], out=t),
            lambda a: np.add(first[1], second[1], out=a))


# ---- by indices --------------------------------------------------------------------------------

def words_for_view(array, index):
    """The words with which a write through an index is refused: only one through a view is."""
    by_places = any(isinstance(part, np.ndarray) for part in index)
    return "" if by_places else words_for(alias_views.view_of(array, index))


def once(array, index):
    """Whether an index selects no element twice."""
    chosen = places(array)[index]
    return np.unique(chosen).size == chosen.size


@kind("left")
def set_number(program, alias):
    number = number_for(program, alias.array)
    given, arrays = alias_indices.mixed(program, alias.array.shape)
    return (lambda t: t.__setitem__(given, number), lambda a: a.__setitem__(arrays, number),
            words_for_view(alias.array, arrays))


@kind("left")
def set_part(program, alias):
    """A view, written through an index."""
    given = alias_views.any_basic_index(program, alias.array.shape)
    part = alias_views.view_of(alias.array, given)
    if program.choose((False, True)):
        tensor = array = number_for(program, alias.array)
    else:
        tensor, array = fresh(program, smaller(program, part.shape), alias.array.dtype)
    return (lambda t: t.__setitem__(given, tensor), lambda a: a.__setitem__(given, array),
            "" if part.ndim == 0 else words_for(part))


@kind("left")
def set_places(program, alias):
    given, arrays = alias_indices.mixed(program, alias.array.shape)
    if not once(alias.array, arrays):
        return None
    shape = smaller(program, alias.array[arrays].shape)
    tensor, array = fresh(program, shape, alias.array.dtype)
    return (lambda t: t.__setitem__(given, tensor), lambda a: a.__setitem__(arrays, array),
            words_for_view(alias.array, arrays))


@kind("left")
def index_put(program, alias):
    """All repetitions are added, or each place is written once."""
    if not alias.array.ndim:
        return None
    n = alias.array.shape[0]
    adds = program.choose((True, False))
    made = alias_indices.signed(program, alias_indices.rows(program, n, not adds), n)
    tensor, array = fresh(program, smaller(program, (len(made), *alias.array.shape[1:])),
                          alias.array.dtype)
    def change(a):
        if adds:
            np.add.at(a, made, array)
        else:
            a[made] = array
    return (lambda t: t.index_put_((program.tensor(made),), tensor, accumulate=adds), change,
            None if shared(alias.array) else "")


@kind()
def index_rows(program, alias):
    """index_add_ and index_copy_."""
    array = alias.array
    if not array.ndim:
        return None
    dim, name = alias_views.dim_of(program, array)
    how = program.choose(("index_add_", "index_copy_"))
    rows = alias_indices.rows(program, array.shape[dim], how != "index_add_")
    index, lead = program.tensor(rows), (slice(None),) * dim
    tensor, source = fresh(program, (*array.shape[:dim], len(rows), *array.shape[dim + 1:]),
                           array.dtype)
    def change(a):
        if how == "index_add_":
            np.add.at(a, (*lead, rows), source)
        else:
            a[(*lead, rows)] = source
    return lambda t: getattr(t, how)(name, index, tensor), change


@kind("same")
def index_fill(program, alias):
    array = alias.array
    if not array.ndim:
        return None
    dim, name = alias_views.dim_of(program, array)
    rows, number = alias_indices.rows(program, array.shape[dim]), number_for(program, array)
    index = (*(slice(None),) * dim, rows)
    return (lambda t: t.index_fill_(name, program.tensor(rows), number),
            lambda a: a.__setitem__(index, number))


@kind()
def scatter(program, alias):
    """scatter_ and scatter_add_."""
    array = alias.array
    if not array.ndim:
        return None
    dim, name = alias_views.dim_of(program, array)
    adds = program.choose((False, True))
    most = array.shape[dim] and (3 if adds else min(array.shape[dim], 3))
    index = alias_indices.along(program, array.shape, dim, most)
    tensor, source = fresh(program, [n + program.choose((0, 1)) for n in index.shape], array.dtype)
    def change(a):
        for place in np.ndindex(*index.shape):
            into = (*place[:dim], index[place], *place[dim + 1:])
            a[into] = a[into] + source[place] if adds else source[place]
    method = "scatter_add_" if adds else "scatter_"
    return lambda t: getattr(t, method)(name, program.tensor(index), tensor), change


@kind()
def masked_scatter(program, alias):
    truths = alias_indices.truths(program, alias.array.shape)
    tensor, source = fresh(program, (int(truths.sum()) + program.choose((0, 1)),),
                           alias.array.dtype)
    return (lambda t: t.masked_scatter_(program.tensor(truths), tensor),
            lambda a: a.__setitem__(truths, source[:truths.sum()] if a.ndim else source[:1]))


@kind()
def put(program, alias):
    rows = alias_indices.rows(program, alias.array.size, True)
    tensor, source = fresh(program, rows.shape, alias.array.dtype)
    adds = program.choose((False, True))
    def change(a):
        for row, value in zip(rows, source):
            place = np.unravel_index(row, a.shape)
            a[place] = a[place] + value if adds else value
    return lambda t: t.put_(program.tensor(rows), tensor, adds), change


@kind("left", "iufc")
def add_to_part(program, alias):
    """`x[index] += number`: the part is written, then it is set to itself."""
    given = alias_views.any_basic_index(program, alias.array.shape)
    part = alias_views.view_of(alias.array, given)
    number = number_for(program, alias.array)
    def write(tensor):
        tensor[given] += number
    def change(array):
        alias_views.view_of(array, given)[...] += array.dtype.type(number)
        alias.versions[0] += 1
    return write, change, words_for(part)


@kind(dtypes="iuf")
def reduce(program, alias):
    """scatter_reduce_ and index_reduce_: sums, or the largest."""
    array = alias.array
    if not array.ndim:
        return None
    dim, name = alias_views.dim_of(program, array)
    if program.choose((False, True)):
        index = alias_indices.along(program, array.shape, dim, array.shape[dim] and 3)
        tensor, source = fresh(program, index.shape, array.dtype)
        how = program.choose(("sum", "amax"))
        def scattered(a):
            for place in np.ndindex(*index.shape):
                into = (*place[:dim], index[place], *place[dim + 1:])
                a[into] = a[into] + source[place] if how == "sum" else max(a[into], source[place])
        return (lambda t: t.scatter_reduce_(name, program.tensor(index), tensor, how), scattered)
    rows = alias_indices.rows(program, array.shape[dim])
    tensor, source = fresh(program, (*array.shape[:dim], len(rows), *array.shape[dim + 1:]),
                           array.dtype)
    return (lambda t: t.index_reduce_(name, program.tensor(rows), tensor, "amax"),
            lambda a: np.maximum.at(a, (*(slice(None),) * dim, rows), source))


def outside(program, alias):
    """NumPy writes to the memory: no version counts that."""
    if not alias.array.size or shared(alias.array):
        return
    number = number_for(program, alias.array)
    alias.tensor.numpy()[...] = number
    alias.array[...] = number


KINDS.append(outside)
