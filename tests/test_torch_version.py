"""Versions compare as PEP 440 says, with texts, tuples and versions of `packaging`."""

import pickle

import pytest

from yesca import __version__
from yesca.torch_version import TorchVersion

ORDER = [
    "1.0.dev1", "1.0a1.dev2", "1.0a1", "1.0a2", "1.0b1", "1.0rc1", "1.0", "1.0+cpu", "1.0+cpu.2",
    "1.0+2", "1.0.post1.dev3", "1.0.post1", "1.0.1", "1.9", "1.10", "2.13.0", "2.13.1", "1!0.1",
]


def test_order():
    versions = [TorchVersion(text) for text in ORDER]
    for i, low in enumerate(versions):
        for high in versions[i + 1:]:
            assert low < high and high > low and low <= high and low != high, (low, high)
            assert not (low == high or low > high or low >= high)


def test_equal_forms():
    for text in ("2.13", "2.13.0.0", "v2.13.0", " 2.13.0 "):
        assert TorchVersion("2.13.0") == text
    assert TorchVersion("1.0-alpha.1") == "1.0a1"
    assert TorchVersion("1.0-1") == "1.0.post1"


def test_other_types():
    assert __version__ == "2.13.0"
    assert isinstance(__version__, str)
    assert __version__ >= (2, 1) and __version__ < [3] and __version__ > "2.9"
    assert __version__.split(".")[:2] == ["2", "13"]
    assert hash(__version__) == hash("2.13.0")
    assert pickle.loads(pickle.dumps(__version__)) == __version__

    class Version:
        def __str__(self):
            return "2.12"

    assert __version__ > Version()


def test_what_is_no_version():
    assert __version__ != "parrot"  # compared as plain text
    with pytest.raises(ValueError, match="can't convert 3 to Version"):
        _ = __version__ > 3
