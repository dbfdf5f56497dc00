"""One entry for all draws whose numbers follow from a few parameters, and the lock of a generator.

The lock is a word of the generator's state, taken by machine code for the time of a draw, so that a
draw is a plan's launch like any other. Who has to wait for it gives the GIL up: the owner may be a
thread that wants it back first (one that forks, for instance).
"""

from ...core.draws import Recipe
from ...core.dtypes import bfloat16, float16, float32
from ...targets.native import (
    Unit, atomic_cas_i64, atomic_store_i64, external, i32, i64, load_f64, load_i64, load_ptr,
    load_u64, ptr, store_i64, unlikely, void,
)  # fmt: skip
from . import distributions as kinds
from . import fastkey, normal, random
from .fastobjects import RUNNING
from .objects import gil_release, gil_restore
from .random import State

unit = Unit("drawing")

#: The words of a draw.
TARGET, DTYPE, COUNT, RECIPE, FIRST, SECOND, STATE, WORDS = 0, 8, 16, 24, 32, 40, 48, 7
#: Those of a draw with a chance for each element; DOUBLE: whether chances are float64.
CHANCES, FAILED, CODE, NUMBER, DOUBLE, SOURCE = 8, 16, 24, 32, 40, 48
_FLOAT32, _FLOAT16, _BFLOAT16 = float32.code, float16.code, bfloat16.code
_NAP_MICROSECONDS = 20

_holds_gil = external("PyGILState_Check", [], i32)
_nap = external("usleep", [i32], i32)


@unit.function
def _wait() -> void:
    """Let others go on for a while."""
    if _holds_gil() == 0:
        _nap(_NAP_MICROSECONDS)
        return
    # The plan that this draw belongs to must outlive it.
    store_i64(fastkey.state, RUNNING, load_i64(fastkey.state, RUNNING) + 1)
    thread = gil_release()
    _nap(_NAP_MICROSECONDS)
    gil_restore(thread)
    store_i64(fastkey.state, RUNNING, load_i64(fastkey.state, RUNNING) - 1)


@unit.function
def take(state: ptr) -> void:
    """Get the lock of a generator's state."""
    while unlikely(atomic_cas_i64(state, State.LOCK, 0, 1) != 0):
        _wait()


@unit.function
def give(state: ptr) -> void:
    """Give it back."""
    atomic_store_i64(state, State.LOCK, 0)


@unit.function
def _uniform(state: ptr, code: i64, target: ptr, words: ptr) -> void:
    count, low, high = load_i64(words, COUNT), load_f64(words, FIRST), load_f64(words, SECOND)
    if code == _FLOAT32:
        random.uniform_f32(state, target, count, low, high)
    elif code == _FLOAT16:
        random.uniform_f16(state, target, count, low, high)
    elif code == _BFLOAT16:
        random.uniform_bf16(state, target, count, low, high)
    else:
        random.uniform_f64(state, target, count, low, high)


@unit.function
def _normal(state: ptr, code: i64, target: ptr, words: ptr) -> void:
    count, mean, width = load_i64(words, COUNT), load_f64(words, FIRST), load_f64(words, SECOND)
    if code == _FLOAT32:
        normal.normal_f32(state, target, count, mean, width)
    elif code == _FLOAT16:
        normal.normal_f16(state, target, count, mean, width)
    elif code == _BFLOAT16:
        normal.normal_bf16(state, target, count, mean, width)
    else:
        normal.normal_f64(state, target, count, mean, width)


@unit.function
def draw_words(words: ptr, low: i64, high: i64) -> void:
    """A kernel of one point: the whole draw, in the order of memory."""
    state, target, count = load_ptr(words, STATE), load_ptr(words, TARGET), load_i64(words, COUNT)
    code, recipe = load_i64(words, DTYPE), load_i64(words, RECIPE)
    take(state)
    if recipe == Recipe.UNIFORM:
        _uniform(state, code, target, words)
    elif recipe == Recipe.NORMAL_BLOCKS:
        _normal(state, code, target, words)
    elif recipe == Recipe.PERMUTATION:
        random.permutation(state, target, count)
    elif recipe == Recipe.INTEGERS or recipe == Recipe.WIDE_INTEGERS:
        wide = i64(1) if recipe == Recipe.WIDE_INTEGERS else i64(0)
        kinds.draw_integers(state, code, target, count, load_u64(words, FIRST),
                            load_i64(words, SECOND), wide)
    else:
        kinds.draw(state, code, target, count, recipe, load_f64(words, FIRST),
                   load_f64(words, SECOND))
    give(state)


@unit.function
def chances_words(words: ptr, low: i64, high: i64) -> void:
    """A kernel of one point: ones and zeros by chances in memory; notes one that is none."""
    state, count = load_ptr(words, SOURCE), load_i64(words, NUMBER)
    take(state)
    drawn = kinds.draw_chances(state, load_i64(words, CODE), load_ptr(words, TARGET), count,
                               load_ptr(words, CHANCES), load_i64(words, DOUBLE))
    if drawn < count:
        store_i64(load_ptr(words, FAILED), 0, 1)
    give(state)
