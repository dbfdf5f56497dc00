"""The examples in docstrings run, and print what they say."""

import ast
import doctest
import importlib

import pytest
from source_tree import sources

import yesca

DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
WITH_EXAMPLES = [source for source in sources() if ">>> " in source.text]


def examples(source, module):
    """A doctest of each docstring of a file (read from the text; torch, nn and F are there)."""
    parser = doctest.DocTestParser()
    names = {"torch": yesca, "nn": yesca.nn, "F": yesca.nn.functional, **vars(module)}
    for node in ast.walk(source.tree):
        text = ast.get_docstring(node) if isinstance(node, DOCUMENTED) else None
        if text and ">>> " in text:
            name = getattr(node, "name", source.module)
            line = getattr(node, "lineno", 1)
            yield parser.get_doctest(text, dict(names), name, source.name, line)


@pytest.mark.parametrize("source", [pytest.param(s, id=s.name) for s in WITH_EXAMPLES])
def test_examples(source):
    module = importlib.import_module(f"yesca.{source.module}".rstrip("."))
    runner = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE)
    for test in examples(source, module):
        runner.run(test)
    assert runner.summarize(verbose=False).failed == 0
