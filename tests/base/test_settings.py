"""Environment variables: parsed, kept, overridden, and shown in a table."""

import os

import pytest

from yesca.base import settings
from yesca.base.settings import Variable


@pytest.fixture
def variable(monkeypatch):
    made = []

    def make(parse, default, **options):
        made.append(Variable("YESCA_TEST_A", parse, default, "for tests", ("TEST_B",), **options))
        return made[-1]

    yield make
    for item in made:
        settings.ALL.remove(item)


def test_defaults_and_aliases(variable, monkeypatch):
    a = variable(int, 5)
    assert (a.get(), a.source(), a.raw()) == (5, None, None)
    monkeypatch.setenv("TEST_B", "7")
    assert a.get() == 5  # kept
    a.reset()
    assert (a.get(), a.source()) == (7, "TEST_B")
    monkeypatch.setenv("YESCA_TEST_A", " 8 ")
    a.reset()
    assert (a.get(), a.source()) == (8, "YESCA_TEST_A")


def test_live_variables(variable, monkeypatch):
    a = variable(int, lambda: 1, live=True)
    assert a.get() == 1
    monkeypatch.setenv("YESCA_TEST_A", "2")
    assert a.get() == 2


def test_override(variable):
    a = variable(int, 1)
    with a.override(3):
        assert a.get() == 3
    assert a.get() == 1


def test_errors_name_the_variable(variable, monkeypatch):
    monkeypatch.setenv("YESCA_TEST_A", "many")
    with pytest.raises(ValueError, match="environment variable YESCA_TEST_A is 'many'.*for tests"):
        variable(settings.level, 0).get()
    assert "invalid: many" in settings.table()


def test_parsers():
    assert [settings.flag(text) for text in ("1", "TRUE", "on", "0", "off", "")] == [True] * 3 + [
        False
    ] * 3
    assert settings.level("3") == 3
    assert settings.count("4,2") == 4
    assert settings.count("") is None
    sizes = {"0": 0, "10": 10, "2K": 2048, "1.5GiB": 3 << 29, "500MB": 500 << 20, "1 g": 1 << 30}
    assert {text: settings.size(text) for text in sizes} == sizes
    assert settings.folders(os.pathsep.join(["a", "", "b"])) == ("a", "b")
    assert settings.words("a,b  c") == ("a", "b", "c")
    wrong = ((settings.flag, "maybe"), (settings.count, "0"), (settings.size, "2X"))
    for parse, text in (*wrong, (settings.level, "-1")):
        with pytest.raises(ValueError):
            parse(text)


def test_table():
    lines = settings.table().splitlines()
    assert len(lines) == len(settings.ALL) + 1
    start = lines[0].index("meaning")
    for line, variable in zip(lines[1:], settings.ALL, strict=True):
        assert line[start:] == variable.help
        assert line[start - 1] == " "


def test_every_variable_is_documented():
    names = [variable.name for variable in settings.ALL]
    assert len(set(names)) == len(names)
    assert all(variable.help for variable in settings.ALL)


def test_another_programs_variable_may_say_anything(monkeypatch):
    monkeypatch.delenv("YESCA_NUM_THREADS", raising=False)
    for text in ("x", "0", "-1"):
        monkeypatch.setenv("OMP_NUM_THREADS", text)
        settings.NUM_THREADS.reset()
        assert settings.NUM_THREADS.get() is None
    settings.NUM_THREADS.reset()
