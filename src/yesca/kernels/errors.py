"""What is wrong with a kernel, and in which line of it."""

from __future__ import annotations


class CompilationError(Exception):
    """A kernel that cannot be compiled; `__cause__` is the error that tells why."""

    def __init__(self, where: str, line: str, column: int, message: str) -> None:
        super().__init__(f"at {where}:\n{line}\n{' ' * column}^\n{message}")
        self.where, self.line, self.message = where, line.strip(), message


class OutOfBounds(IndexError):
    """The interpreter saw a program touch memory outside of its tensor."""


class Race(RuntimeError):
    """The interpreter saw two programs store to one element."""


class NeedsInterpreter(Exception):
    """A kernel that prints, or stops for a debugger, as it runs: no machine code does that."""
