"""`float`, `int`, `bool` and `complex` as dtypes."""

import pytest

import yesca as torch

TYPES = {float: torch.float64, int: torch.int64, bool: torch.bool, complex: torch.complex128}
CALLS = {
    "zeros": lambda t: torch.zeros(2, dtype=t), "ones": lambda t: torch.ones(2, dtype=t),
    "empty": lambda t: torch.empty(2, dtype=t), "full": lambda t: torch.full((2,), 1, dtype=t),
    "eye": lambda t: torch.eye(2, dtype=t), "tensor": lambda t: torch.tensor([1], dtype=t),
    "as_tensor": lambda t: torch.as_tensor([1], dtype=t), "to": lambda t: torch.ones(2).to(t),
    "to by name": lambda t: torch.ones(2).to(dtype=t),
    "to with a device": lambda t: torch.ones(2).to("cpu", t),
    "zeros_like": lambda t: torch.zeros_like(torch.ones(2), dtype=t),
    "new_ones": lambda t: torch.ones(2).new_ones(3, dtype=t),
    "new_full": lambda t: torch.ones(2).new_full((3,), 1, dtype=t),
    "sum": lambda t: torch.ones(2).sum(dtype=t), "sum over": lambda t: torch.sum(
        torch.ones(2), 0, dtype=t),
    "scalar": lambda t: torch.scalar_tensor(1, dtype=t),
    "buffer": lambda t: torch.frombuffer(bytearray(16), dtype=t),
    "view": lambda t: torch.zeros(4).view(t),
}


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize("python", TYPES)
def test_python_types_are_dtypes(python, name):
    for _ in range(3):  # the third call takes the builtin path
        assert CALLS[name](python).dtype is TYPES[python]


@pytest.mark.parametrize("python", [float, int])
def test_of_numbers_in_a_row(python):
    for call in (lambda t: torch.arange(3, dtype=t), lambda t: torch.linspace(0, 4, 3, dtype=t),
                 lambda t: torch.logspace(0, 1, 2, dtype=t), lambda t: torch.randperm(3, dtype=t)):
        assert call(python).dtype is TYPES[python]
    assert torch.hann_window(3, dtype=float).dtype is torch.float64
    assert torch.nn.Linear(2, 2).to(float).weight.dtype is torch.float64
    assert torch.can_cast(int, torch.float32)


def test_other_types_are_refused():
    for call in (lambda: torch.zeros(2, dtype=str), lambda: torch.ones(2).to(list),
                 lambda: torch.ones(2).sum(dtype=dict), lambda: torch.tensor([1], dtype=set)):
        with pytest.raises(TypeError):
            call()
