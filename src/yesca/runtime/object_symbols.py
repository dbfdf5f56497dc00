"""The symbols of an object file.

LLVM ends the process when a linked object needs a symbol that nobody has, so the engine asks
first. Code generation may add needs that no declaration shows (`memcpy`, `fmod`, conversions of
half types), hence the object itself is read. Only ELF is understood; for other formats the
answer is empty and LLVM's own resolution stands.
"""

import struct

_SECTION_SYMBOL_TABLE = 2
_SYMBOL_BYTES = 24


def undefined_symbols(code: bytes) -> list:
    """Names that the 64-bit little-endian ELF object `code` expects from outside, sorted."""
    return sorted({name for name, section in _symbols(code) if section == 0})


def defined_symbols(code: bytes) -> list:
    """Names that the ELF object `code` has itself, sorted."""
    return sorted({name for name, section in _symbols(code) if section != 0})


def _symbols(code):
    """(name, number of its section or 0) of each entry of the symbol tables."""
    if code[:6] != b"\x7fELF\x02\x01":
        return
    table_offset = struct.unpack_from("<Q", code, 40)[0]
    entry_bytes, entries = struct.unpack_from("<HH", code, 58)
    sections = [
        struct.unpack_from("<IIQQQQII", code, table_offset + index * entry_bytes)
        for index in range(entries)
    ]
    for _, kind, _, _, offset, nbytes, link, _ in sections:
        if kind == _SECTION_SYMBOL_TABLE:
            strings = sections[link][4]
            for position in range(offset, offset + nbytes, _SYMBOL_BYTES):
                name, _, _, section = struct.unpack_from("<IBBH", code, position)
                if name != 0:
                    start = strings + name
                    yield code[start:code.index(b"\0", start)].decode(), section
