"""The container of a checkpoint: a zip archive whose records are stored, aligned, and named
`<archive>/<record>`.

    local header, name, padding, data, data descriptor      once a record
    central directory entry                                 once a record
    zip64 end record, its locator, end record

Data starts at a multiple of the alignment (64), so that a mapped file is a usable storage; the
padding is an extra field `FB` filled with `Z`. Sizes and CRC follow the data in a descriptor.
The details are those of PyTorch's writer, and files come out the same byte for byte.
"""

from __future__ import annotations

import struct

LOCAL = struct.Struct("<4s5H3L2H")
CENTRAL = struct.Struct("<4s6H3L5H2L")
DESCRIPTOR = struct.Struct("<4s3L")
DESCRIPTOR64 = struct.Struct("<4sLQQ")
END64 = struct.Struct("<4sQ2H2L4Q")
LOCATOR64 = struct.Struct("<4sLQL")
END = struct.Struct("<4s4H2LH")

LOCAL_MARK = b"PK\x03\x04"
CENTRAL_MARK = b"PK\x01\x02"
DESCRIPTOR_MARK = b"PK\x07\x08"
END64_MARK = b"PK\x06\x06"
LOCATOR64_MARK = b"PK\x06\x07"
END_MARK = b"PK\x05\x06"

MAX32 = 0xFFFFFFFF
MAX16 = 0xFFFF
UTF8 = 0x0800  # names are UTF-8
DESCRIBED = 0x0008  # sizes and CRC come in a descriptor
STORED, DEFLATED = 0, 8
ZIP64_FIELD = 1


def padding(position: int, name_length: int, size: int, alignment: int) -> bytes:
    """The extra field that makes a record's data start at a multiple of `alignment`."""
    start = position + LOCAL.size + name_length + 4
    start += len(zip64_field(size, size, position))
    return b"FB" + struct.pack("<H", -start % alignment) + b"Z" * (-start % alignment)


def zip64_field(size: int, compressed: int, position: int) -> bytes:
    """The extra field with the numbers that do not fit in 32 bits ("" if all do)."""
    values = []
    if size >= MAX32:
        values += [size, compressed]
    if position >= MAX32:
        values.append(position)
    if not values:
        return b""
    return struct.pack(f"<2H{len(values)}Q", ZIP64_FIELD, 8 * len(values), *values)
