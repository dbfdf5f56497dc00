"""`assert_close` accepts what PyTorch's accepts, and says the same of what it does not."""

from collections import OrderedDict, namedtuple

import numpy as np
import pytest

import yesca as torch
from yesca.testing import assert_allclose, assert_close

Pair = namedtuple("Pair", "a b")
tensor = torch.tensor
NAN, INF = float("nan"), float("inf")


def reason(*arguments, kind=AssertionError, **options):
    with pytest.raises(kind) as caught:
        assert_close(*arguments, **options)
    return str(caught.value)


@pytest.mark.parametrize(("actual", "expected", "options"), [
    (1, 1, {}), (1.0, 1.0 + 1e-8, {}), (1, 1.0, {"check_dtype": False}), (True, True, {}),
    (None, None, {}), (1j, 1j, {}), (INF, INF, {}), (10**30, 10**30, {}), (1e-300, 0.0, {}),
    (np.bool_(True), True, {}), (np.float32(1.5), 1.5, {}), (1, 2, {"rtol": 0, "atol": 1.5}),
    (NAN, NAN, {"equal_nan": True}),
    (tensor([1.0, 2.0]), tensor([1.0, 2.0]), {}),
    (tensor([1.0, 2.0]), tensor([1.0, 2.0]).double(), {"check_dtype": False}),
    (tensor([1]), tensor([1.0]), {"check_dtype": False}),
    (tensor([1.0]), tensor([1.5]), {"rtol": 0, "atol": 1}),
    (tensor([NAN]), tensor([NAN]), {"equal_nan": True}), (tensor([INF]), tensor([INF]), {}),
    (tensor([1 + 1j]), tensor([1 + 1j]), {}), (tensor([]), tensor([]), {}),
    (torch.ones(2).half(), tensor([1.0, 1.0009]).half(), {}),
    (torch.ones(2, 3)[:, ::2], torch.ones(2, 2), {}),
    (tensor([1.0], requires_grad=True), tensor([1.0]), {}),
    (torch.nn.Parameter(torch.ones(1)), torch.ones(1), {}),
    (torch.ones(1, device="meta"), torch.ones(1, device="meta"), {}),
    (torch.ones(1, device="meta"), torch.ones(1), {"check_device": False}),
    (np.array([1.0]), np.array([1.0]), {}),
    ([1, 2], [1, 2], {}), ([1, 2], (1, 2), {}), (range(3), [0, 1, 2], {}), ([], [], {}),
    (torch.Size([1, 2]), (1, 2), {}), ([[]], [()], {}), (b"a", b"a", {}),
    ({"a": 1}, {"a": 1}, {}), ({2: 1, 1: 1}, {1: 1, 2: 1}, {}),
    (OrderedDict(a=1), {"a": 1}, {}), (torch.ones(3).unbind(), [tensor(1.0)] * 3, {}),
])
def test_close(actual, expected, options):
    assert_close(actual, expected, **options)


@pytest.mark.parametrize(("actual", "expected", "options", "text"), [
    (1, 2, {}, "Scalars are not equal!\n\nExpected 2 but got 1.\nAbsolute difference: 1\n"
               "Relative difference: 0.5"),
    (1.0, 1.1, {}, "Scalars are not close!\n\nExpected 1.1 but got 1.0.\n"
                   "Absolute difference: 0.10000000000000009 (up to 1e-07 allowed)\n"
                   "Relative difference: 0.09090909090909098 (up to 1e-07 allowed)"),
    (1 + 1j, 1 + 2j, {}, "Scalars are not close!\n\nExpected (1+2j) but got (1+1j).\n"
                         "Absolute difference: 1.0 (up to 1e-07 allowed)\n"
                         "Relative difference: 0.4472135954999579 (up to 1e-07 allowed)"),
    (INF, 1.0, {}, "Scalars are not close!\n\nExpected 1.0 but got inf.\n"
                   "Absolute difference: inf (up to 1e-07 allowed)\n"
                   "Relative difference: inf (up to 1e-07 allowed)"),
    (NAN, NAN, {}, "Scalars are not close!\n\nExpected nan but got nan.\n"
                   "Absolute difference: nan (up to 1e-07 allowed)\n"
                   "Relative difference: nan (up to 1e-07 allowed)"),
    (1, 3, {"rtol": 0.5, "atol": 0},
     "Scalars are not close!\n\nExpected 3 but got 1.\nAbsolute difference: 2 (up to 0 allowed)\n"
     "Relative difference: 0.6666666666666666 (up to 0.5 allowed)"),
    (tensor(5), tensor(7), {}, "Scalars are not equal!\n\nExpected 7 but got 5.\n"
                               "Absolute difference: 2\nRelative difference: 0.2857142857142857"),
    (tensor(1.0), tensor(2.0), {}, "Scalars are not close!\n\nExpected 2.0 but got 1.0.\n"
                                   "Absolute difference: 1.0 (up to 1e-05 allowed)\n"
                                   "Relative difference: 0.5 (up to 1.3e-06 allowed)"),
    (1, 1.0, {}, "The (d)types do not match: <class 'int'> != <class 'float'>."),
    (True, False, {}, "Booleans mismatch: True is not False"),
    (None, 1, {}, "None mismatch: None is not 1"),
    ([1], [1, 2], {}, "The length of the sequences mismatch: 1 != 2"),
    ({"a": 1}, {"b": 1}, {}, "The keys of the mappings do not match:\n"
                             "Missing keys in the actual mapping: ['b']\n"
                             "Additional keys in the actual mapping: ['a']"),
])
def test_numbers_and_containers(actual, expected, options, text):
    assert reason(actual, expected, **options) == text


@pytest.mark.parametrize(("actual", "expected", "absolute", "relative", "mismatched"), [
    (tensor([1.0, 2.0]), tensor([1.0, 2.5]), "0.5 at index (1,) (up to 1e-05 allowed)",
     "0.20000000298023224 at index (1,) (up to 1.3e-06 allowed)", "1 / 2 (50.0%)"),
    (tensor([1.0, 2.0, 3.0]), tensor([1.5, 2.5, 3.0]), "0.5 at index (0,) (up to 1e-05 allowed)",
     "0.3333333432674408 at index (0,) (up to 1.3e-06 allowed)", "2 / 3 (66.7%)"),
    (torch.arange(6.0).view(2, 3), torch.arange(6.0).view(2, 3) * 2,
     "5.0 at index (1, 2) (up to 1e-05 allowed)", "0.5 at index (0, 1) (up to 1.3e-06 allowed)",
     "5 / 6 (83.3%)"),
    (tensor([NAN]), tensor([NAN]), "nan at index (0,) (up to 1e-05 allowed)",
     "nan at index (0,) (up to 1.3e-06 allowed)", "1 / 1 (100.0%)"),
    (tensor([1.0]), tensor([0.0]), "1.0 at index (0,) (up to 1e-05 allowed)",
     "inf at index (0,) (up to 1.3e-06 allowed)", "1 / 1 (100.0%)"),
    (tensor([1 + 1j]), tensor([1 + 2j]), "1.0 at index (0,) (up to 1e-05 allowed)",
     "0.4472135901451111 at index (0,) (up to 1.3e-06 allowed)", "1 / 1 (100.0%)"),
    (tensor([1.0, 2.0]).bfloat16(), tensor([1.0, 2.1]).bfloat16(),
     "0.09375 at index (1,) (up to 1e-05 allowed)",
     "0.044677734375 at index (1,) (up to 0.016 allowed)", "1 / 2 (50.0%)"),
    (np.array([1.0, 2.0]), np.array([1.0, 3.0]), "1.0 at index (1,) (up to 1e-07 allowed)",
     "0.3333333333333333 at index (1,) (up to 1e-07 allowed)", "1 / 2 (50.0%)"),
    (tensor([1, 2]), tensor([1, 3]), "1 at index (1,)", "0.3333333432674408 at index (1,)",
     "1 / 2 (50.0%)"),
    (tensor([200], dtype=torch.uint8), tensor([100], dtype=torch.uint8), "100 at index (0,)",
     "1.0 at index (0,)", "1 / 1 (100.0%)"),
    (tensor([True]), tensor([False]), "1 at index (0,)", "inf at index (0,)", "1 / 1 (100.0%)"),
    (tensor([2**62]), tensor([2**62 + 1]), "1 at index (0,)",
     "2.168404344971009e-19 at index (0,)", "1 / 1 (100.0%)"),
])
def test_tensors(actual, expected, absolute, relative, mismatched):
    close = "close" if "allowed" in absolute else "equal"
    assert reason(actual, expected) == (
        f"Tensor-likes are not {close}!\n\nMismatched elements: {mismatched}\n"
        f"Greatest absolute difference: {absolute}\nGreatest relative difference: {relative}")


def test_dtypes_that_differ():
    text = reason(tensor([1.0, 2.0]).half(), tensor([1.0, 2.1]).double(), check_dtype=False)
    assert "0.09999990463256836 at index (1,) (up to 1e-05 allowed)" in text
    assert "(up to 0.001 allowed)" in text


@pytest.mark.parametrize(("actual", "expected", "options", "attribute"), [
    (torch.ones(2), torch.ones(1, 2).double(), {}, "'shape' do not match: torch.Size([2]) != "
                                                   "torch.Size([1, 2])."),
    (torch.ones(1), torch.ones(1, device="meta"), {}, "'device' do not match: cpu != meta."),
    (torch.ones(1), torch.ones(1).double(), {}, "'dtype' do not match: torch.float32 != "
                                                "torch.float64."),
    (torch.ones(2, 3), torch.ones(3, 2).t(), {"check_stride": True},
     "'stride()' do not match: (3, 1) != (1, 2)."),
])
def test_attributes(actual, expected, options, attribute):
    assert reason(actual, expected, **options) == f"The values for attribute {attribute}"


def test_places():
    where = "\n\nThe failure occurred for item "
    assert reason({"a": [1, {"b": 2}]}, {"a": [1, {"b": 3}]}).endswith(where + "['a'][1]['b']")
    assert reason(Pair(1, 2), Pair(1, 3)).endswith(where + "[1]")
    # What cannot be paired is found before anything is compared.
    assert reason([1, [1]], [2, [1, 2]]) == \
        "The length of the sequences mismatch: 1 != 2" + where + "[1]"
    assert reason({1: 1, "a": 2}, {1: 1, "b": 2}).startswith("The keys of the mappings")


@pytest.mark.parametrize(("actual", "expected"), [
    ("a", "a"), (object(), object()), ({1}, {1}), (torch.ones(1), 1.0), (1.0, torch.ones(1)),
    (torch.ones(1), np.ones(1)), (np.ones(1), [1.0]), (np.array(["a"]), np.array(["a"])),
    (True, 1),
])
def test_what_cannot_be_compared(actual, expected):
    assert reason(actual, expected, kind=TypeError) == (
        "No comparison pair was able to handle inputs of type "
        f"{type(actual)} and {type(expected)}.")


def test_subclasses():
    parameter = torch.nn.Parameter(torch.ones(1))
    assert "No comparison pair" in reason(parameter, torch.ones(1), allow_subclasses=False,
                                          kind=TypeError)


def test_tolerances():
    for given, lacking in (("rtol", "atol"), ("atol", "rtol")):
        assert reason(1.0, 1.0, kind=ValueError, **{given: 0.1}) == (
            "Both 'rtol' and 'atol' must be either specified or omitted, but got no "
            f"{lacking}.")
    assert "must not be negative" in reason(1.0, 1.0, kind=ValueError, rtol=-1.0, atol=0.0)
    assert "0.10000002384185791 at index (0,)\n" in reason(tensor([1.0]), tensor([1.1]), rtol=0,
                                                         atol=0)


def test_messages():
    assert reason(1, 2, msg="custom") == "custom"
    text = reason([1], [2], msg=lambda plain: f"before\n{plain}\nafter")
    assert text.startswith("before\nScalars are not equal!") and text.endswith("[0]\nafter")


def test_the_older_function():
    with pytest.warns(FutureWarning, match="assert_allclose... is deprecated"):
        assert_allclose([1.0, 2.0], [1.0, 2.0 + 1e-5])
    with pytest.warns(FutureWarning, match="deprecated"), \
            pytest.raises(AssertionError, match=r"up to 0.0001 allowed"):
        assert_allclose(tensor([1.0]), tensor([1.1]))
    with pytest.warns(FutureWarning, match="deprecated"), \
            pytest.raises(AssertionError, match="different"):
        assert_allclose(tensor([1.0]), tensor([1.1]), msg="different")


def test_floats_of_8_bits_are_equal_or_not():
    x = torch.tensor([1.0, 2.0, float("nan")]).to(torch.float8_e4m3fn)
    torch.testing.assert_close(x, x.clone(), equal_nan=True)
    with pytest.raises(AssertionError) as raised:
        torch.testing.assert_close(x, torch.ones(3).to(torch.float8_e4m3fn))
    assert str(raised.value) == (
        "Tensor-likes are not 'equal'!\n\nMismatched elements: 2 / 3 (66.7%)\n"
        "The first mismatched element is at index (1,).")
    with pytest.raises(AssertionError, match="bitwise comparison of low dimensional floats"):
        torch.testing.assert_close(x, x, rtol=1, atol=1)
    with pytest.raises(AssertionError, match="Expected 2.0 but got 1.0"):
        torch.testing.assert_close(x[0], x[1])
