"""The layout of a recording's header, which native code and `yesca.graph` both write."""

from __future__ import annotations

#: Words: addresses of the trie node reached, of the values and of the list of storages; how many
#: storages, values and calls there are; bytes of results that do not exist yet; what to call for
#: an edge that was not expected, and after a call that checks values.
NODE, VALUES, STORAGES, COUNT, USED, CALLS, PENDING_BYTES, BRANCH, CHECKED = range(9)
HEADER_WORDS = 16

#: A storage's number holds, above these bits, the place of its first offset among the values.
VALUE_SHIFT, NUMBER_MASK = 32, (1 << 32) - 1

#: A longer recording is run before it goes on.
MOST_CALLS = 1 << 12
MOST_VALUES = 1 << 16
MOST_BYTES = 1 << 30
ROOM = 1 << 12  # values that one more call may need
