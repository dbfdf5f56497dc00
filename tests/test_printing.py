"""Printed tensors, compared character for character with what PyTorch 2.13 prints."""

import json
from math import inf, nan
from pathlib import Path

import pytest

import yesca as torch
from yesca import _printing

TABLE = json.loads((Path(__file__).parent / "fixtures" / "printing.json").read_text())
NAMES = {"torch": torch, "nan": nan, "inf": inf}


@pytest.fixture(autouse=True)
def default_settings():
    yield
    torch.set_printoptions(profile="default")
    torch.set_default_dtype(torch.float32)


def case_name(case):
    options = case.get("options") or case.get("default") or ""
    return f"{case['expression']} {options}".strip()


@pytest.mark.parametrize("case", TABLE, ids=case_name)
def test_prints_as_recorded(case):
    torch.set_printoptions(profile="default")
    torch.set_printoptions(**case.get("options", {}))
    torch.set_default_dtype(getattr(torch, case.get("default", "float32")))
    value = eval(case["expression"], NAMES)
    assert (value if isinstance(value, str) else repr(value)) == case["text"]


def test_sci_mode_is_forgotten_by_the_next_call():
    torch.set_printoptions(sci_mode=True)
    torch.set_printoptions(precision=4)
    assert repr(torch.tensor([1.5])) == "tensor([1.5000])"


def test_printoptions_come_back():
    with _printing.printoptions(precision=1, sci_mode=True):
        assert repr(torch.tensor([1.5])) == "tensor([1.5e+00])"
    assert repr(torch.tensor([1.5])) == "tensor([1.5000])"
    assert _printing.get_printoptions()["precision"] == 4


@pytest.mark.parametrize("device", ["cpu", "meta"])
def test_format_of_many_numbers_is_refused(device):
    with pytest.raises(TypeError, match=r"unsupported format string passed to Tensor.__format__"):
        format(torch.ones(2, device=device), ".2f")


def test_subclasses_print_their_name():
    class Frame(torch.Tensor):
        pass

    class Weight(torch.nn.Parameter):
        pass

    frame = torch.ones(2).as_subclass(Frame)
    assert repr(frame) == "Frame([1., 1.])"
    assert repr(torch.nn.Parameter(frame)) == "Parameter(Frame([1., 1.], requires_grad=True))"
    expected = "Parameter containing:\nParameter(Weight([1., 1.], requires_grad=True))"
    assert repr(Weight(torch.ones(2))) == expected


def test_a_function_of_ones_own_is_named():
    class Twice(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, gradient):
            return gradient * 2

    x = torch.ones(2, requires_grad=True)
    assert repr(Twice.apply(x)) == "tensor([2., 2.], grad_fn=<TwiceBackward>)"


def test_in_place_writes_to_a_view_are_named():
    x = torch.ones(2, requires_grad=True) * 1
    x[0].mul_(2)
    assert repr(x) == "tensor([2., 1.], grad_fn=<CopySlices>)"


def test_only_the_corners_are_fetched():
    seen = []

    class Spy:
        """A million numbers that records how many of them it is asked for."""

        def __init__(self, tensor):
            self.tensor = tensor

        def __getattr__(self, name):
            return getattr(self.tensor, name)

        def __getitem__(self, index):
            return Spy(self.tensor[index])

        def detach(self):
            return self

        def tolist(self):
            seen.append(self.tensor.numel())
            return self.tensor.tolist()

    text = _printing.tensor_repr(Spy(torch.zeros(1000, 1000)))
    assert text.startswith("Spy([[0., 0., 0.,  ..., 0., 0., 0.],\n")
    assert sum(seen) == 36
