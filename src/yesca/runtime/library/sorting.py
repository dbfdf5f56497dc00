"""Sorting rows of unsigned 64-bit words: radix sort, and selection of the smallest.

Records turn values of any dtype into words whose unsigned order is the wanted one, most often
with the element's index in the low half: words differ then, so every order is a stable one and
the same whatever the algorithm.

A radix pass moves the words by one byte; the counts of all bytes come from one reading, and a
byte that all words share costs no pass. Words of a machine function (`words`, 8 bytes each):

    sort_words      keys | scratch | n | first byte
    select_words    keys | scratch | n | k
    sort_pairs      keys | partners | scratch of the keys | scratch of the partners | n
"""

from ...targets.native import (
    Unit, i64, load_i64, load_ptr, load_u64, memcpy, memset, ptr, stack, store_i64, store_u64,
    u64, unlikely, void,
)  # fmt: skip

unit = Unit("sorting")

_SHORT = 48  # up to here insertion is faster than counting
_FEW = 32  # up to here the smallest ones are held in order while the others are read
_BYTES = 8
_BUCKETS = 256
_COUNTS_NBYTES = _BYTES * _BUCKETS * 8


@unit.function(inline=True)
def insert_word(keys: ptr, low: i64, at: i64, key: u64) -> void:
    """Put a word among keys[low:at], which are in order; the room for one more is at `at`."""
    place = at
    while place > low and load_u64(keys, (place - 1) * 8) > key:
        store_u64(keys, place * 8, load_u64(keys, (place - 1) * 8))
        place -= 1
    store_u64(keys, place * 8, key)


@unit.function
def insert_words(keys: ptr, low: i64, high: i64) -> void:
    """Insertion sort of keys[low:high]."""
    for at in range(low + 1, high):
        insert_word(keys, low, at, load_u64(keys, at * 8))


@unit.function
def count_bytes(keys: ptr, count: i64, first: i64, counts: ptr) -> void:
    """How often each value of each byte from `first` on occurs."""
    memset(counts, 0, _COUNTS_NBYTES)
    for at in range(count):
        key = load_u64(keys, at * 8) >> u64(first * 8)
        for byte in range(first, _BYTES):
            cell = (byte * _BUCKETS + i64(key & 255)) * 8
            store_i64(counts, cell, load_i64(counts, cell) + 1)
            key = key >> 8


@unit.function
def starts_of(counts: ptr, byte: i64, sample: u64, count: i64) -> i64:
    """Turn one byte's counts into first places; 0 if all words agree in that byte."""
    base = byte * _BUCKETS * 8
    same = i64((sample >> u64(byte * 8)) & 255)
    if load_i64(counts, base + same * 8) == count:
        return 0
    total = i64(0)
    for bucket in range(_BUCKETS):
        here = load_i64(counts, base + bucket * 8)
        store_i64(counts, base + bucket * 8, total)
        total += here
    return 1


@unit.function
def radix_words(keys: ptr, scratch: ptr, count: i64, first: i64, counts: ptr) -> void:
    """Sort `count` words by the bytes from `first` on, stably."""
    if count <= _SHORT and first == 4:
        insert_words(keys, 0, count)
        return
    count_bytes(keys, count, first, counts)
    source = keys
    target = scratch
    for byte in range(first, _BYTES):
        if starts_of(counts, byte, load_u64(source), count) != 0:
            base = byte * _BUCKETS * 8
            for at in range(count):
                key = load_u64(source, at * 8)
                cell = base + i64((key >> u64(byte * 8)) & 255) * 8
                place = load_i64(counts, cell)
                store_i64(counts, cell, place + 1)
                store_u64(target, place * 8, key)
            other = source
            source = target
            target = other
    if source != keys:
        memcpy(keys, source, count * 8)


@unit.function
def sort_words(words: ptr, low: i64, high: i64) -> void:
    """Sort the rows [low, high)."""
    keys = load_ptr(words)
    scratch = load_ptr(words, 8)
    count = load_i64(words, 16)
    first = load_i64(words, 24)
    counts = stack(_COUNTS_NBYTES)
    for row in range(low, high):
        shift = row * count * 8
        if count > 1:
            radix_words(keys + shift, scratch + shift, count, first, counts)


@unit.function
def middle_of_three(keys: ptr, low: i64, high: i64) -> u64:
    """The middle one of the first, the middle and the last word of keys[low:high]."""
    a = load_u64(keys, low * 8)
    b = load_u64(keys, (low + (high - low) // 2) * 8)
    c = load_u64(keys, (high - 1) * 8)
    return max(min(a, b), min(max(a, b), c))


@unit.function
def divide_words(keys: ptr, low: i64, high: i64) -> i64:
    """Words below a pivot first, the others after them; gives where those start."""
    pivot = middle_of_three(keys, low, high)
    left = low
    right = high - 1
    while True:
        while load_u64(keys, left * 8) < pivot:
            left += 1
        while load_u64(keys, right * 8) > pivot:
            right -= 1
        if left >= right:
            return max(left, low + 1)
        a = load_u64(keys, left * 8)
        store_u64(keys, left * 8, load_u64(keys, right * 8))
        store_u64(keys, right * 8, a)
        left += 1
        right -= 1
    return left


@unit.function
def gather_smallest(keys: ptr, scratch: ptr, count: i64, k: i64, counts: ptr) -> void:
    """The k smallest words at the front, in any order."""
    low = i64(0)
    high = count
    turns = 0
    while high - low > _SHORT and high > k:
        turns += 1
        if turns > 64:  # an adversary chose the pivots
            radix_words(keys, scratch, count, 0, counts)
            return
        border = divide_words(keys, low, high)
        if border >= k:
            high = border
        else:
            low = border
    if high > k:
        insert_words(keys, low, high)


@unit.function
def few_smallest(keys: ptr, chosen: ptr, count: i64, k: i64) -> void:
    """The k smallest words, in order, at the front: each is put among those chosen so far."""
    memcpy(chosen, keys, k * 8)
    insert_words(chosen, 0, k)
    bound = load_u64(chosen, (k - 1) * 8)
    for at in range(k, count):
        key = load_u64(keys, at * 8)
        if unlikely(key < bound):
            insert_word(chosen, 0, k - 1, key)
            bound = load_u64(chosen, (k - 1) * 8)
    memcpy(keys, chosen, k * 8)


@unit.function
def smallest_first(keys: ptr, scratch: ptr, count: i64, k: i64, counts: ptr) -> void:
    """The k smallest words, in order, at the front.

    One reading keeps what is below the k-th smallest so far; what has been read serves as scratch.
    """
    if k <= _FEW:
        few_smallest(keys, scratch, count, k)
        return
    room = 4 * k + 64
    if room > count:
        gather_smallest(keys, scratch, count, k, counts)
        insert_or_sort(keys, scratch, k, counts)
        return
    bound = ~u64(0)
    kept = i64(0)
    for at in range(count):
        key = load_u64(keys, at * 8)
        if unlikely(key <= bound):
            store_u64(scratch, kept * 8, key)
            kept += 1
            if unlikely(kept == room):
                gather_smallest(scratch, keys, kept, k, counts)
                bound = u64(0)
                for place in range(k):
                    bound = max(bound, load_u64(scratch, place * 8))
                kept = k
    gather_smallest(scratch, keys, kept, k, counts)
    insert_or_sort(scratch, keys, k, counts)
    memcpy(keys, scratch, k * 8)


@unit.function
def insert_or_sort(keys: ptr, scratch: ptr, count: i64, counts: ptr) -> void:
    """Sort the first `count` words by all their bytes (selection has mixed equal values)."""
    if count <= _SHORT:
        insert_words(keys, 0, count)
    else:
        radix_words(keys, scratch, count, 0, counts)


@unit.function
def select_words(words: ptr, low: i64, high: i64) -> void:
    """In the rows [low, high), the k smallest words in order at the front."""
    keys = load_ptr(words)
    scratch = load_ptr(words, 8)
    count = load_i64(words, 16)
    k = load_i64(words, 24)
    counts = stack(_COUNTS_NBYTES)
    for row in range(low, high):
        shift = row * count * 8
        smallest_first(keys + shift, scratch + shift, count, k, counts)


@unit.function
def radix_pairs(keys: ptr, partners: ptr, spare_keys: ptr, spare_partners: ptr, count: i64,
                counts: ptr) -> void:
    """Sort words and move a partner with each, stably."""
    count_bytes(keys, count, 0, counts)
    source = keys
    target = spare_keys
    moved = partners
    aside = spare_partners
    for byte in range(_BYTES):
        if starts_of(counts, byte, load_u64(source), count) != 0:
            base = byte * _BUCKETS * 8
            for at in range(count):
                key = load_u64(source, at * 8)
                cell = base + i64((key >> u64(byte * 8)) & 255) * 8
                place = load_i64(counts, cell)
                store_i64(counts, cell, place + 1)
                store_u64(target, place * 8, key)
                store_i64(aside, place * 8, load_i64(moved, at * 8))
            other = source
            source = target
            target = other
            other = moved
            moved = aside
            aside = other
    if source != keys:
        memcpy(keys, source, count * 8)
        memcpy(partners, moved, count * 8)


@unit.function
def insert_pairs(keys: ptr, partners: ptr, count: i64) -> void:
    """Insertion sort of a short row of pairs."""
    for at in range(1, count):
        key = load_u64(keys, at * 8)
        partner = load_i64(partners, at * 8)
        place = at
        while place > 0 and load_u64(keys, (place - 1) * 8) > key:
            store_u64(keys, place * 8, load_u64(keys, (place - 1) * 8))
            store_i64(partners, place * 8, load_i64(partners, (place - 1) * 8))
            place -= 1
        store_u64(keys, place * 8, key)
        store_i64(partners, place * 8, partner)


@unit.function
def sort_pairs(words: ptr, low: i64, high: i64) -> void:
    """Sort the rows [low, high) of pairs."""
    keys = load_ptr(words)
    partners = load_ptr(words, 8)
    spare_keys = load_ptr(words, 16)
    spare_partners = load_ptr(words, 24)
    count = load_i64(words, 32)
    counts = stack(_COUNTS_NBYTES)
    for row in range(low, high):
        shift = row * count * 8
        if count <= _SHORT:
            insert_pairs(keys + shift, partners + shift, count)
        else:
            radix_pairs(keys + shift, partners + shift, spare_keys + shift,
                        spare_partners + shift, count, counts)
