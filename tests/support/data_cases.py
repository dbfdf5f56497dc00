"""Programs with datasets and loaders that run alike on any module with PyTorch's API: `a(m)` is
its `utils.data`; what they give, draw, refuse and warn of is compared.
"""

import collections
import dataclasses
import random
import warnings

import numpy as np

Pair = collections.namedtuple("Pair", "a b")


@dataclasses.dataclass
class Plain:
    x: int = 1


class Mapping(collections.abc.Mapping):
    def __init__(self, items):
        self.items_ = dict(items)

    def __getitem__(self, key):
        return self.items_[key]

    def __iter__(self):
        return iter(self.items_)

    def __len__(self):
        return len(self.items_)


class Listed(list):
    label = "kept"


class Fixed(list):
    def __setitem__(self, place, item):
        raise TypeError("fixed")


class Numbers:
    """A dataset of a function of the index."""

    def __init__(self, n=7, function=lambda i: i):
        self.n, self.function = n, function

    def __len__(self):
        return self.n

    def __getitem__(self, index):
        return self.function(index)


class Whole(Numbers):
    def __getitems__(self, indices):
        return [index * 10 for index in indices]


class Short(Numbers):
    def __getitems__(self, indices):
        return [0]


class Without(Numbers):
    __getitems__ = None


def stream(m, n=7, claimed=None, parts=False):
    class Stream(m.utils.data.IterableDataset):
        def __iter__(self):
            info = m.utils.data.get_worker_info()
            if parts and info is not None:
                return iter(range(info.id, n, info.num_workers))
            return iter(range(n))

        def __repr__(self):
            return "Stream"

    if claimed is not None:
        Stream.__len__ = lambda self: claimed
    return Stream()


def told(thing):
    """What may be compared of a result."""
    if hasattr(thing, "untyped_storage"):
        return ("tensor", str(thing.dtype), tuple(thing.shape), thing.tolist())
    if isinstance(thing, np.ndarray):
        return ("array", str(thing.dtype), thing.tolist())
    if isinstance(thing, collections.abc.Mapping):
        return type(thing).__name__, {key: told(thing[key]) for key in thing}
    if isinstance(thing, (list, tuple)):
        return type(thing).__name__, getattr(thing, "label", ""), [told(item) for item in thing]
    if isinstance(thing, (int, float, str, bytes, type(None), np.generic)):
        return type(thing).__name__, thing
    return type(thing).__name__


def outcome(case, m):
    """(what it gives, the next draw of the default generators, warnings), or the error."""
    m.manual_seed(3)
    random.seed(3)
    np.random.seed(3)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            given = told(case(m))
        except Exception as error:
            return None, type(error).__name__, str(error)
    after = m.rand(1).item(), random.random(), float(np.random.rand())
    return given, after, [(w.category.__name__, str(w.message)) for w in caught]


def compare_modules(case, ours, theirs):
    """Fail unless both give the same, or refuse with the same error; ours may say more."""
    ours, theirs = outcome(case, ours), outcome(case, theirs)
    if theirs[0] is not None:
        assert ours == theirs
        return
    assert ours[0] is None, f"expected {theirs}, got {ours}"
    said, known = ("".join(text.replace("yesca", "torch").split())
                   for text in (ours[2], (theirs[2].splitlines() or [""])[0].rstrip(".!")))
    assert ours[1] == theirs[1] and known in said, (ours, theirs)


def a(m):
    """The module's data room."""
    return m.utils.data
