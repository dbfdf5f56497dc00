"""The layout of a recording's header, which native code and `yesca.graph` both write."""

from __future__ import annotations

#: Words: addresses of the trie node reached, of the values and of the list of storages; how many
#: storages, values and calls there are; bytes of results that do not exist yet; what to call for
#: an edge that was not expected, and after a call that checks values; the type of storages that
#: the recording watches.
NODE, VALUES, STORAGES, COUNT, USED, CALLS, PENDING_BYTES, BRANCH, CHECKED, WATCHED = range(10)
HEADER_WORDS = 16

#: A node of the trie, as native code reads it: the likeliest child; the frame of the program that
#: ran last (0: none did); how many words its own key has, and these.
CHILD, FRAME, LENGTH, KEY = range(4)

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
