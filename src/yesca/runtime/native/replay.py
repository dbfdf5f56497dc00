"""Replaying a recorded program: one native call walks its table of launches.

A program (written by `graph.program`) is 8-byte words; sections follow each other:

    launches, then for each: address, total, grain, words, pointers, numbers, then
    the words | pointers: word, base, place among the values or -1, bytes beyond |
    numbers: word, place among the values, 0 integer, 1 float64, 2 float32

`bases` are addresses: first the arena, whose start is room for the longest launch's words, then
the tensors that exist outside the program. `values` are what differs between two runs: where an
operand begins in its storage, and numbers (as an integer, then as a float64).
"""

from ...targets.native import (
    Unit, call_void, f32, i64, load_f64, load_i64, load_ptr, memcpy, ptr, store_f32, store_f64,
    store_i64, void,
)  # fmt: skip
from .pool import dispatch

unit = Unit("replay")

LAUNCH_WORDS, POINTER_WORDS, NUMBER_WORDS = 6, 4, 3


@unit.function
def fill_numbers(words: ptr, at: ptr, count: i64, values: ptr) -> ptr:
    """Put the run-time numbers of a launch into its words; gives the end of the section."""
    entry = at
    for index in range(count):
        word, place, kind = load_i64(entry) * 8, load_i64(entry, 8) * 8, load_i64(entry, 16)
        if kind == 1:
            store_f64(words, word, load_f64(values, place + 8))
        elif kind == 2:
            store_i64(words, word, 0)
            store_f32(words, word, f32(load_f64(values, place + 8)))
        else:
            store_i64(words, word, load_i64(values, place))
        entry = entry + NUMBER_WORDS * 8
    return entry


@unit.function
def replay(program: ptr, bases: ptr, values: ptr) -> void:
    """Run all launches of a program in order."""
    words = load_ptr(bases)
    at = program + 8
    for index in range(load_i64(program)):
        total, grain = load_i64(at, 8), load_i64(at, 16)
        count, pointers, numbers = load_i64(at, 24), load_i64(at, 32), load_i64(at, 40)
        entry = at + LAUNCH_WORDS * 8
        memcpy(words, entry, count * 8)
        entry = entry + count * 8
        for p in range(pointers):
            place = load_i64(bases, load_i64(entry, 8) * 8) + load_i64(entry, 24)
            moved = load_i64(entry, 16)
            if moved >= 0:
                place = place + load_i64(values, moved * 8)
            store_i64(words, load_i64(entry) * 8, place)
            entry = entry + POINTER_WORDS * 8
        entry = fill_numbers(words, entry, numbers, values)
        if total > grain:
            dispatch(load_ptr(at), words, total, grain)
        else:
            call_void(load_ptr(at), words, i64(0), total)
        at = entry
