"""Weak references by identity."""

import gc

import pytest

import yesca as torch
from yesca.utils.weak import TensorWeakRef, WeakIdKeyDictionary, WeakIdRef


def test_keys_are_compared_by_identity():
    x, y = torch.ones(2), torch.ones(2)
    notes = WeakIdKeyDictionary([(x, 1)])
    notes[y] = 2
    assert (notes[x], notes[y], len(notes)) == (1, 2, 2)
    assert x in notes and torch.ones(2) not in notes and 3 not in notes
    assert sorted(notes.values()) == [1, 2] and [k is x or k is y for k in notes] == [True, True]
    with pytest.raises(KeyError):
        notes[torch.ones(2)]


def test_keys_that_die_are_forgotten():
    x, y = torch.ones(2), torch.zeros(2)
    notes = WeakIdKeyDictionary([(x, 1), (y, 2)])
    del y
    gc.collect()
    assert list(notes.items()) == [(x, 1)] and len(notes.keyrefs()) == 1
    for key in notes:  # while it is being read
        del key, x
        gc.collect()
    assert len(notes) == 0


def test_like_other_dictionaries():
    x, y = torch.ones(2), torch.zeros(2)
    one, two = WeakIdKeyDictionary([(x, [1])]), WeakIdKeyDictionary([(y, [2])])
    both = one | two
    assert len(both) == 2 and both == WeakIdKeyDictionary([(y, [2]), (x, [1])])
    copied, deep = one.copy(), one.__deepcopy__({})
    assert copied == one and copied[x] is one[x] and deep[x] == [1] and deep[x] is not one[x]
    assert both.pop(x) == [1] and both.pop(x, 5) == 5 and both.setdefault(y, 3) == [2]
    assert both.popitem() == (y, [2]) and not both
    both |= one
    assert both.get(x) == [1] and both.get(y) is None
    with pytest.raises(TypeError):
        one | 3


def test_references():
    x = torch.ones(2)
    assert WeakIdRef(x) == WeakIdRef(x) != WeakIdRef(torch.ones(2))
    held = TensorWeakRef(x)
    assert held() is x
    del x
    gc.collect()
    assert held() is None
    with pytest.raises(AssertionError, match="expected torch.Tensor, got <class 'int'>"):
        TensorWeakRef(3)
