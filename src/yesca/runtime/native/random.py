"""The Mersenne Twister and what is drawn from its bits alone: uniform numbers and integers.

A generator is one block of memory (`State`). Whole blocks of 624 words are made at a time and
tempered at once, so that every fill below is a plain loop over words, which LLVM vectorises.
`LEFT` and `NEXT` count as PyTorch's generator does, so that states can be exchanged: a draw takes
one from `LEFT`, and makes a new block when none is left. A `LEFT` of 0 means that the words do not
follow from the seed yet: they are made when one is needed. Whoever reads or writes a state that
others may know holds its `LOCK` (`drawing.take`).

Targets are contiguous. Numbers follow PyTorch's recipes word for word: 24 bits for float32 and
the half types, 53 for float64, scaled to the bounds with one rounding; what is rounded up to the
upper bound becomes the lower one.
"""

from types import SimpleNamespace

from ...targets.native import (
    Unit, bf16, f16, f32, f64, fma, i32, i64, load_f32, load_f64, load_i64, load_u32, load_u64,
    memcpy, memset, ptr, stack, store, store_f32, store_f64, store_i32, store_i64, store_u32,
    store_u64, u32, u64, unlikely, void,
)  # fmt: skip

unit = Unit("random")

_WORDS, _MIDDLE = 624, 397
State = SimpleNamespace(
    SEED=0, LEFT=8, NEXT=16, SEEDED=24, SECOND=32, HAS_SECOND=40, SINGLE=48, LOCK=56, WORDS=64,
    DRAWS=64 + 4 * _WORDS, NBYTES=64 + 8 * _WORDS,
)  # fmt: skip

#: PyTorch's layout of a saved state: every word of the twister in 64 bits.
Saved = SimpleNamespace(
    SEED=0, LEFT=8, SEEDED=12, NEXT=16, WORDS=24, NORMAL_X=5016, NORMAL_Y=5024, NORMAL_RHO=5032,
    HAS_NORMAL=5040, SINGLE=5048, NBYTES=5056,
)  # fmt: skip

_UPPER, _LOWER, _MATRIX = 0x80000000, 0x7FFFFFFF, 0x9908B0DF
_SINGLE_MASK, _SINGLE_SCALE = (1 << 24) - 1, 2.0**-24
_DOUBLE_MASK, _DOUBLE_SCALE = (1 << 53) - 1, 2.0**-53


# The twister.


@unit.function
def seed(state: ptr, value: u64) -> void:
    """Start from a seed."""
    store_u64(state, State.SEED, value)
    store_i64(state, State.LEFT, 0)
    store_i64(state, State.NEXT, 0)
    store_i64(state, State.SEEDED, 1)
    store_i64(state, State.SECOND, 0)
    store_i64(state, State.HAS_SECOND, 0)
    store_i64(state, State.SINGLE, 0)


@unit.function
def _begin(state: ptr) -> void:
    """Make the words that follow from the seed; only its low 32 bits count."""
    word = u32(load_u64(state, State.SEED))
    store_u32(state, State.WORDS, word)
    for index in range(1, _WORDS):
        word = (word ^ (word >> 30)) * 1812433253 + u32(index)
        store_u32(state, State.WORDS + index * 4, word)
    store_i64(state, State.LEFT, 1)


@unit.function(inline=True)
def _twisted(words: ptr, index: i64, following: i64, partner: i64) -> void:
    low = load_u32(words, following * 4)
    mixed = (load_u32(words, index * 4) & _UPPER) | (low & _LOWER)
    odd = (u32(0) - (low & 1)) & _MATRIX
    store_u32(words, index * 4, load_u32(words, partner * 4) ^ (mixed >> 1) ^ odd)


@unit.function(inline=True)
def _tempered(word: u32) -> u32:
    word = word ^ (word >> 11)
    word = word ^ ((word << 7) & 0x9D2C5680)
    word = word ^ ((word << 15) & 0xEFC60000)
    return word ^ (word >> 18)


@unit.function(noalias=("words", "draws"))
def _temper(words: ptr, draws: ptr) -> void:
    for index in range(_WORDS):
        store_u32(draws, index * 4, _tempered(load_u32(words, index * 4)))


@unit.function
def _refill(state: ptr) -> void:
    if load_i64(state, State.LEFT) == 0:
        _begin(state)
    words = state + State.WORDS
    for index in range(_WORDS - _MIDDLE):
        _twisted(words, index, index + 1, index + _MIDDLE)
    for index in range(_WORDS - _MIDDLE, _WORDS - 1):
        _twisted(words, index, index + 1, index + _MIDDLE - _WORDS)
    _twisted(words, _WORDS - 1, 0, _MIDDLE - 1)
    _temper(words, state + State.DRAWS)
    store_i64(state, State.LEFT, _WORDS + 1)
    store_i64(state, State.NEXT, 0)


@unit.function(inline=True)
def available(state: ptr) -> i64:
    """How many words can be read at `upcoming` (at least one)."""
    if unlikely(load_i64(state, State.LEFT) <= 1):
        _refill(state)
    return load_i64(state, State.LEFT) - 1


@unit.function(inline=True)
def upcoming(state: ptr) -> ptr:
    """Where the next word is."""
    return state + State.DRAWS + load_i64(state, State.NEXT) * 4


@unit.function(inline=True)
def use(state: ptr, count: i64) -> void:
    """Count words as drawn."""
    store_i64(state, State.LEFT, load_i64(state, State.LEFT) - count)
    store_i64(state, State.NEXT, load_i64(state, State.NEXT) + count)


@unit.function(inline=True)
def word_of(state: ptr) -> u32:
    """One word."""
    available(state)
    word = load_u32(upcoming(state))
    use(state, 1)
    return word


@unit.function(inline=True)
def long_word_of(state: ptr) -> u64:
    """Two words, the first one above."""
    high = u64(word_of(state)) << 32
    return high | u64(word_of(state))


@unit.function(inline=True)
def long_word_at(words: ptr, index: i64) -> u64:
    """The same from words that lie ready."""
    high = u64(load_u32(words, index * 8)) << 32
    return high | u64(load_u32(words, index * 8 + 4))


@unit.function(inline=True)
def fraction(word: u64) -> f64:
    """The low 53 bits as a number in [0, 1)."""
    return f64(i64(word & _DOUBLE_MASK)) * _DOUBLE_SCALE


@unit.function(inline=True)
def uniform_of(state: ptr) -> f64:
    """One number in [0, 1)."""
    return fraction(long_word_of(state))


# Saved states.


@unit.function
def save(state: ptr, target: ptr) -> void:
    """Write PyTorch's form of the state."""
    if load_i64(state, State.LEFT) == 0:
        _begin(state)
    memset(target, 0, Saved.NBYTES)
    store_i64(target, Saved.SEED, load_i64(state, State.SEED))
    store_i32(target, Saved.LEFT, i32(load_i64(state, State.LEFT)))
    store_i32(target, Saved.SEEDED, i32(load_i64(state, State.SEEDED)))
    store_i64(target, Saved.NEXT, load_i64(state, State.NEXT))
    for index in range(_WORDS):
        store_u64(target, Saved.WORDS + index * 8, u64(load_u32(state, State.WORDS + index * 4)))
    store_i32(target, Saved.HAS_NORMAL, i32(load_i64(state, State.HAS_SECOND)))
    store_i64(target, Saved.NORMAL_Y, load_i64(state, State.SECOND))
    store_i64(target, Saved.SINGLE, load_i64(state, State.SINGLE))


@unit.function
def restore(state: ptr, source: ptr) -> i64:
    """Take PyTorch's form of a state; returns 0, and changes nothing, when it is none."""
    left = i64(u32(load_u64(source, Saved.LEFT)))
    seeded = i64(load_u64(source, Saved.LEFT) >> 32)
    following = i64(u32(load_u64(source, Saved.NEXT)))
    if seeded != 1 or left < 1 or left + following > _WORDS + 1:
        return 0
    store_i64(state, State.SEED, load_i64(source, Saved.SEED))
    store_i64(state, State.LEFT, left)
    store_i64(state, State.NEXT, following)
    store_i64(state, State.SEEDED, 1)
    for index in range(_WORDS):
        word = u32(load_u64(source, Saved.WORDS + index * 8))
        store_u32(state, State.WORDS + index * 4, word)
    _temper(state + State.WORDS, state + State.DRAWS)
    has_second = u32(load_u64(source, Saved.HAS_NORMAL)) != 0
    store_i64(state, State.HAS_SECOND, 1 if has_second else 0)
    store_i64(state, State.SECOND, load_i64(source, Saved.NORMAL_Y) if has_second else i64(0))
    store_i64(state, State.SINGLE, load_i64(source, Saved.SINGLE))
    return 1


# Uniform numbers.


@unit.function(noalias=("target", "words"))
def _single_run(target: ptr, words: ptr, count: i64, low: f32, high: f32) -> void:
    width = high - low
    for index in range(count):
        part = f32(i32(load_u32(words, index * 4) & _SINGLE_MASK)) * _SINGLE_SCALE
        value = fma(part, width, low)
        store_f32(target, index * 4, low if value == high else value)


@unit.function
def uniform_f32(state: ptr, target: ptr, count: i64, low: f64, high: f64) -> void:
    """Numbers of [low, high), 24 bits each."""
    done = 0
    while done < count:
        run = min(available(state), count - done)
        _single_run(target + done * 4, upcoming(state), run, f32(low), f32(high))
        use(state, run)
        done += run


@unit.function(noalias=("target", "words"))
def _double_run(target: ptr, words: ptr, count: i64, low: f64, high: f64) -> void:
    width = high - low
    for index in range(count):
        value = fma(fraction(long_word_at(words, index)), width, low)
        store_f64(target, index * 8, low if value == high else value)


@unit.function
def uniform_f64(state: ptr, target: ptr, count: i64, low: f64, high: f64) -> void:
    """Numbers of [low, high), 53 bits each."""
    pair = stack(8)
    done = 0
    while done < count:
        run = min(available(state) >> 1, count - done)
        if run > 0:
            _double_run(target + done * 8, upcoming(state), run, low, high)
            use(state, run * 2)
        else:  # the two words lie in two blocks
            run = 1
            store_u32(pair, 0, word_of(state))
            store_u32(pair, 4, word_of(state))
            _double_run(target + done * 8, pair, run, low, high)
        done += run


def _half_type(kind):
    @unit.function(name=f"uniform_run_{kind}", noalias=("target", "words"))
    def run_of(target: ptr, words: ptr, count: i64, low: f32, high: f32) -> void:
        width = high - low
        least, limit = kind(low), kind(high)
        for index in range(count):
            part = f32(i32(load_u32(words, index * 4) & _SINGLE_MASK)) * _SINGLE_SCALE
            value = kind(fma(part, width, low))
            store(kind, target, index * 2, least if value == limit else value)

    @unit.function(name=f"uniform_{kind}")
    def fill(state: ptr, target: ptr, count: i64, low: f64, high: f64) -> void:
        done = 0
        while done < count:
            run = min(available(state), count - done)
            run_of(target + done * 2, upcoming(state), run, f32(low), f32(high))
            use(state, run)
            done += run

    return fill


# float32 numbers, rounded.
uniform_f16 = _half_type(f16)
uniform_bf16 = _half_type(bf16)


# Integers.


@unit.function(noalias=("target", "words"))
def _word_run(target: ptr, words: ptr, count: i64, bound: u32, base: i64) -> void:
    for index in range(count):
        store_i64(target, index * 8, i64(u64(load_u32(words, index * 4) % bound)) + base)


@unit.function
def integers(state: ptr, target: ptr, count: i64, bound: u64, base: i64, wide: i64) -> void:
    """int64 numbers base + draw % bound; `wide` draws have 64 bits; a bound of 0 is 2**64.

    Draws that are not wide need a bound below 2**32.
    """
    done = 0
    while done < count:
        run = i64(1)
        if wide != 0:
            word = long_word_of(state)
            rest = word % bound if bound != 0 else word
            store_u64(target, done * 8, rest + u64(base))
        else:
            run = min(available(state), count - done)
            _word_run(target + done * 8, upcoming(state), run, u32(bound), base)
            use(state, run)
        done += run


@unit.function
def permutation(state: ptr, target: ptr, count: i64) -> void:
    """The int64 numbers below `count` in random order."""
    for index in range(count):
        store_i64(target, index * 8, index)
    wide = count >= _FEW
    for index in range(count - 1):
        word = long_word_of(state) if wide else u64(word_of(state))
        other = index + i64(word % u64(count - index))
        kept = load_i64(target, index * 8)
        store_i64(target, index * 8, load_i64(target, other * 8))
        store_i64(target, other * 8, kept)


_FEW = (2**32 - 1) // 20  # below it 32 bits are random enough


# Truth values with a probability of their own.


@unit.function
def chances_f32(state: ptr, target: ptr, chances: ptr, count: i64) -> i64:
    """float64 ones where a draw of 24 bits is below the float32 chance; stops at a wrong one.

    Returns how many were drawn.
    """
    for index in range(count):
        chance = load_f32(chances, index * 4)
        if not (chance >= 0.0 and chance <= 1.0):
            return index
        part = f32(i32(word_of(state) & _SINGLE_MASK)) * _SINGLE_SCALE
        store_f64(target, index * 8, 1.0 if part < chance else 0.0)
    return count


@unit.function
def chances_f64(state: ptr, target: ptr, chances: ptr, count: i64) -> i64:
    """The same with 53 bits and float64 chances."""
    for index in range(count):
        chance = load_f64(chances, index * 8)
        if not (chance >= 0.0 and chance <= 1.0):
            return index
        store_f64(target, index * 8, 1.0 if uniform_of(state) < chance else 0.0)
    return count


@unit.function
def copy_state(target: ptr, source: ptr) -> void:
    """Make a state that nobody else knows yet that of another generator, whose lock is held."""
    memcpy(target, source, State.NBYTES)
    store_i64(target, State.LOCK, 0)
