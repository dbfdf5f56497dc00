"""Products of bytes and packed int8 weights in a plan; see `targets.products_int8`."""

from __future__ import annotations

import math
from typing import Any

from ..core.devices import META
from ..loops.cost import Cost
from ..targets.products_int8 import (
    DEPTH, INT8_WORDS, LANES, UNIT_PANELS, Int8Target, int8_kernel, int8_target,
)
from . import kernels, machine

BLOCK_ROWS = 32  # of A in a unit: so often are the unit's weights read from a cache
CHUNK_BYTES = 1 << 18  # of weights, or of a row's products with them: less is not worth a thread

_addresses: dict[Int8Target, int] = {}
_target: Int8Target | None = None


def target() -> Int8Target:
    """The shape of this machine, as far as these products see it."""
    global _target
    if _target is None:
        _target = int8_target(*machine.shaping_features())
    return _target


def kernel_address(shape: Int8Target) -> int:
    """The address of the kernel, compiled or loaded when first asked for."""
    found = _addresses.get(shape)
    if found is None:
        key = machine.hash_key("product_int8", kernels.compiler_version(), repr(shape))
        name = machine.symbol("product_int8", key)
        module = machine.load("product_int8", lambda: int8_kernel(shape, name), key)
        found = _addresses[shape] = module.address(name)
    return found


def product(p: Any, a: Any, weight: Any, bias: list[Any], found: Any, c: Any) -> None:
    """c = (a @ weight - zero * sums) * (scale * scales) + bias, appended to the program `p`.

    a is (*, K) of uint8, K a multiple of DEPTH, c (*, N) of float32, both contiguous; `found` holds
    a's scale and zero point; weight has sums and scales: see `targets.products_int8`. bias: (N,),
    or none.
    """
    if p.device is META:
        return
    inner, columns = a.spec.shape[-1], c.spec.shape[-1]
    rows = math.prod(c.spec.shape[:-1])
    blocks = -(-columns // (LANES * UNIT_PANELS))
    high = min(rows, BLOCK_ROWS)
    units = -(-rows // high) * blocks
    cost = LANES * UNIT_PANELS * inner * -(-high // 4)  # four rows are read for at once
    values = {"rows": rows, "columns": columns, "groups": inner // DEPTH, "a_row": inner,
              "c_row": 4 * columns, "block_rows": high, "column_blocks": blocks}
    words = [values.get(name, 0) for name in INT8_WORDS]
    refs = [c, a, weight, *bias, found]
    places = [k for k, name in enumerate(INT8_WORDS[:5]) if bias or name != "bias"]
    total = Cost(inner * (rows + columns), 4 * rows * columns, 2 * rows * inner * columns)
    p.raw(kernel_address(target()), words, list(zip(places, refs, strict=True)), units,
          max(1, CHUNK_BYTES // cost), "product_int8", (), total, (0,))
