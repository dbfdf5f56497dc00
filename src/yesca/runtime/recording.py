"""The layout of a recording's header, which native code and `yesca.graph` both write."""

from __future__ import annotations

import struct

#: Words: addresses of the trie node reached, of the values and of the list of storages; how many
#: storages, values and calls there are; bytes of results that do not exist yet; what to call for
#: an edge that was not expected, and after a call that checks values; the type of storages that
#: the recording watches.
NODE, VALUES, STORAGES, COUNT, USED, CALLS, PENDING_BYTES, BRANCH, CHECKED, WATCHED = range(10)
HEADER_WORDS = 16

#: A node of the trie, as native code reads it: the likeliest child; the frame of the program that
#: ran last (0: none did); whether a program for several threads is near; how many words its own key
#: has, and these.
CHILD, FRAME, ROUSES, LENGTH, KEY = range(5)

#: What is known of running it: a frame, as native code reads it. How many storages it has; bytes of
#: the arena; where in it error words and bases begin; how many error words there are; whether the
#: GIL is released; the address of the launches. Then for each storage what it is (EARLIER,
#: TEMPORARY, or a RESULT that somebody holds), its place among the bases or -1, and its bytes.
FRAME_STORAGES, ARENA, CELLS_AT, BASES_AT, CELLS, SLOW, TABLE = range(7)
FRAME_WORDS = 7
EARLIER, TEMPORARY, RESULT = range(3)

#: What running a recording gives: it is empty; it ran; other results are held than those the
#: program was made for, so that nothing ran; it ran, and launches reported errors.
NOTHING, RAN, OTHERS_LIVE, REPORTED = range(4)

#: A storage's number holds, above these bits, the place of its first offset among the values.
VALUE_SHIFT, NUMBER_MASK = 32, (1 << 32) - 1

#: A longer recording is run before it goes on.
MOST_CALLS = 1 << 12
MOST_VALUES = 1 << 16
MOST_BYTES = 1 << 30
ROOM = 1 << 12  # values that one more call may need

#: Added to the pending bytes while a recording takes no calls: while one is written down by Python,
#: where the handler of a signal may come in between, and while it is run.
CLOSED = 1 << 60


def number_words(value: complex) -> tuple[int, int]:
    """A run-time number as a recording holds it: as an integer, and as the bits of a float64.

    Calls with complex numbers are not recorded.
    """
    if isinstance(value, complex):
        return 0, 0
    whole = int(value) if value == value and abs(value) != float("inf") else 0
    wrapped = (whole + (1 << 63)) % (1 << 64) - (1 << 63)
    return wrapped, struct.unpack("q", struct.pack("d", _as_float(value)))[0]


def _as_float(value: float) -> float:
    try:
        return float(value)
    except OverflowError:
        return float("inf") if value > 0 else float("-inf")
