"""Deterministic inputs, and gradients checked by central differences, twice."""

import math

import numpy as np
import pytest

import yesca as torch
from yesca import functional as ops


def values(shape, seed=0):
    """Small numbers that are no multiples of each other."""
    count = math.prod(shape)
    return np.sin(np.arange(1, count + 1) * (1.7 + seed)).reshape(shape)


def tensor(array, dtype=torch.float64):
    return torch.tensor(array.tolist(), dtype=dtype).reshape(array.shape)


def array(x):
    return np.array(x.detach().tolist(), dtype=float).reshape(tuple(x.shape))


def check_gradients(function, shapes, second=True):
    """Gradients, and gradients of a function of the gradients, by central differences."""
    arrays = [values(shape, k) for k, shape in enumerate(shapes)]

    def first(given):
        inputs = [tensor(a).requires_grad_() for a in given]
        result = function(*inputs)
        weights = tensor(values(tuple(result.shape), 7))
        return inputs, ops.sum(ops.mul(result, weights))

    def norm(given):
        inputs, total = first(given)
        made = torch.autograd.grad(total, inputs, create_graph=True)
        parts = [ops.sum(ops.mul(g, ops.mul(g, tensor(values(tuple(g.shape), 3))))) for g in made]
        return inputs, sum(parts[1:], parts[0])

    for build in (first, norm) if second else (first,):
        inputs, total = build(arrays)
        found = torch.autograd.grad(total, inputs, allow_unused=True)
        for k, a in enumerate(arrays):
            for at in list(np.ndindex(a.shape))[:4]:
                changed = [b.copy() for b in arrays]
                changed[k][at] += 1e-5
                high = build(changed)[1].item()
                changed[k][at] -= 2e-5
                slope = (high - build(changed)[1].item()) / 2e-5
                mine = 0.0 if found[k] is None else array(found[k])[at]
                assert mine == pytest.approx(slope, rel=1e-5, abs=1e-7)
