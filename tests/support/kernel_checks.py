"""Kernels run twice, as machine code and by the interpreter, on copies of their tensors."""

import yesca as torch


def copies(args):
    """Arguments with tensors of their own, laid out alike."""
    made = []
    for value in args:
        if isinstance(value, torch.Tensor):
            fresh = torch.empty_strided(value.shape, value.stride(), dtype=value.dtype)
            fresh.copy_(value)
            value = fresh
        made.append(value)
    return made


def run(kernel, grid, *args, close=0.0, **constants):
    """The tensors after a launch; both ways must give the same (to `close`)."""
    compiled, interpreted = copies(args), copies(args)
    kernel[grid](*compiled, **constants)
    kernel.interpret[grid](*interpreted, **constants)
    results = []
    for one, other in zip(compiled, interpreted, strict=True):
        if isinstance(one, torch.Tensor):
            torch.testing.assert_close(one, other, rtol=close, atol=close, equal_nan=True)
            results.append(one)
    return results
