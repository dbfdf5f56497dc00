"""Nests: which memory they touch, whether they meet."""

from yesca.core.dtypes import float32
from yesca.loops.ir import Buffer, Stage, Store, argument, load, operate
from yesca.loops.nests import Nest, Operand, Place, apart, conflict, pruned


def copy(source, target, sizes=(4, 3)):
    """target = source; each an operand."""
    stage = Stage("flat", (Buffer(float32), Buffer(float32, True)), (),
                  (Store(1, load(0, float32)),))
    return Nest(stage, sizes, (source, target), ())


def at(memory, offset=0, strides=(4, 16), shift=-1):
    return Operand(Place(memory, shift, offset), strides)


def test_memories():
    assert copy(at(0), at(1)).memories == (frozenset({0}), frozenset({1}))


def test_pieces_of_one_memory_are_apart():
    a = copy(at(0), at(1))
    assert apart(a, 1, copy(at(1, 48), at(2)), 0)  # one behind the other
    assert not apart(a, 1, copy(at(1, 44), at(2)), 0)
    columns = copy(at(0, strides=(8, 32)), at(1, strides=(8, 32)))
    assert apart(columns, 1, copy(at(1, 4, (8, 32)), at(2)), 0)  # every other element
    assert not apart(columns, 1, copy(at(1, 2, (8, 32)), at(2)), 0)
    assert not apart(a, 1, copy(at(1, 48, shift=5), at(2)), 0)  # nobody knows


def test_order_matters_where_one_writes():
    assert conflict(copy(at(0), at(1)), copy(at(1), at(2)))
    assert conflict(copy(at(1), at(2)), copy(at(0), at(1)))
    assert not conflict(copy(at(0), at(1)), copy(at(0), at(2)))


def test_pruned():
    total = operate("add", load(0, float32), argument(1, float32))
    stage = Stage("flat", (Buffer(float32), Buffer(float32), Buffer(float32, True),
                           Buffer(float32, True)), (float32, float32),
                  (Store(2, operate("mul", load(1, float32), argument(0, float32))),
                   Store(3, total)))
    nest = Nest(stage, (4, 3), tuple(at(k) for k in range(4)), ("first", "second"))
    one = pruned(nest, stage.stores[1:])
    assert [o.place.memory for o in one.operands] == [0, 3]
    assert one.numbers == ("second",)
    assert one.stage.stores[0].buffer == 1
