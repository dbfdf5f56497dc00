"""The version of the language that `import triton` finds."""

__version__ = "3.5.0"
