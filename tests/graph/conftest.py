"""The generated tests run once for every record."""

from operator_parameters import pytest_generate_tests

__all__ = ["pytest_generate_tests"]
