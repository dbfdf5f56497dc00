"""`python -m yesca program.py`: runs a program written for PyTorch."""

from __future__ import annotations


def console() -> int:
    """The entry point of the command `yesca`; returns the exit code."""
    from yesca._runner.command import main

    return main()


def _enter() -> None:
    code = console()
    if code:
        raise SystemExit(code)


if __name__ == "__main__":
    _enter()  # the program takes over this module's namespace: nothing may stand below
