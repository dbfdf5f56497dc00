"""The work of both versions of the interface: one function for an operation and a kind of input."""

from __future__ import annotations
