"""A product's units, and a nest over what they have written, row of blocks by row of blocks.

A launch of `run` is the launch of a product, its units handed out by the pool as ever. Whoever
ends the last block of a row of blocks sends the nest over these rows, which are still in the
cache. Its words: those below, the product's own, the nest's, then a counter for each row of several
blocks, 0 as every launch begins with fresh words. Neither kernel knows of the other.
"""

from types import SimpleNamespace

from ...targets.native import (
    Unit, atomic_add_i64, call_void, i64, load_i64, load_ptr, ptr, void,
)  # fmt: skip

unit = Unit("epilogue")

# Word numbers. KERNEL, SECOND: the two machine functions; NEST, COUNTERS: where the nest's words
# and the counters begin; POINTS: of the nest in a row of the product; TOGETHER: rows of blocks
# between which the nest has no turn, if each is one block. The others are those of
# `targets.products_stages.Blocks`.
WORD = SimpleNamespace(
    KERNEL=0, SECOND=1, NEST=2, COUNTERS=3, POINTS=4, TOGETHER=5, ROWS=6, BLOCK_ROWS=7,
    ROW_BLOCKS=8, COLUMN_BLOCKS=9, COUNT=10,
)  # fmt: skip


@unit.function
def point(words: ptr, block: i64) -> i64:
    """The first point of the nest in a row of blocks, rows counted through all matrices."""
    row_blocks, rows = load_i64(words, WORD.ROW_BLOCKS * 8), load_i64(words, WORD.ROWS * 8)
    matrix = block // row_blocks
    below = min((block - matrix * row_blocks) * load_i64(words, WORD.BLOCK_ROWS * 8), rows)
    return (matrix * rows + below) * load_i64(words, WORD.POINTS * 8)


@unit.function
def run(words: ptr, low: i64, high: i64) -> void:
    """Units [low, high) of the product, and the nest over rows of blocks that end with them."""
    kernel, second = load_ptr(words), load_ptr(words, WORD.SECOND * 8)
    own, nest = words + WORD.COUNT * 8, words + load_i64(words, WORD.NEST * 8) * 8
    counters = words + load_i64(words, WORD.COUNTERS * 8) * 8
    across, together = load_i64(words, WORD.COLUMN_BLOCKS * 8), load_i64(words, WORD.TOGETHER * 8)
    while low < high:
        block = low // across
        end = min((block + together) * across, high)
        call_void(kernel, own, low, end)
        whole = across == 1
        if not whole:
            whole = atomic_add_i64(counters, block * 8, end - low) + end - low == across
        if whole:
            after = block + together if across > 1 else end
            call_void(second, nest, point(words, block), point(words, after))
        low = end
