"""Sizes, lengths, dtypes and factors that no result can be made of are refused, by name."""

import pytest

import yesca as torch
from yesca.nn import functional as F

HUGE = 2**62
TRUTHS = torch.tensor([True, False, True])
WORDS = torch.tensor([3, 1, 2], dtype=torch.uint16)
FRAMES = torch.zeros(5, 2, 4).log_softmax(2)
LABELS = torch.ones(2, 3, dtype=torch.int64)
LINE = torch.ones(1, 1, 4)


def ctc(lengths=(5, 5), counts=(3, 3), targets=LABELS):
    return F.ctc_loss(FRAMES, targets, lengths, counts)


@pytest.mark.parametrize(("call", "kind", "message"), [
    (lambda: torch.empty_strided((2,), (-1,)), RuntimeError,
     "Storage size calculation overflowed with sizes=[2] and strides=[-1]"),
    (lambda: torch.empty_strided((-2,), (1,)), RuntimeError, "negative dimension -2: [-2]"),
    (lambda: torch.empty_strided(2, (1,)), TypeError,
     "empty_strided(): argument 'size' (position 1) must be tuple of ints, not int"),
    (lambda: torch.empty_strided((2,), (1.5,)), TypeError, "found element of type float at pos 0"),
    (lambda: torch.empty_strided((2,), (HUGE,)), RuntimeError, "Storage size calculation overflow"),
    (lambda: torch.zeros(HUGE), RuntimeError, "Storage size calculation overflowed with sizes="),
    (lambda: torch.eye(2**31), RuntimeError, "Storage size calculation overflowed"),
    (lambda: torch.ones(1).expand(HUGE) + 1, RuntimeError, "Storage size calculation overflowed"),
    (lambda: torch.ones(1).expand(HUGE).clone(), RuntimeError, "Storage size calculation"),
    (lambda: torch.ones(1).repeat(HUGE), RuntimeError, "Storage size calculation overflowed"),
    (lambda: torch.ones(1).resize_(HUGE), RuntimeError, "Storage size calculation overflowed"),
    (lambda: torch.ones(1).resize_("a"), TypeError, "resize_(): argument 'size' (position 1)"),
    (lambda: torch.full(2, 1), TypeError, "full(): argument 'size' (position 1) must be tuple of"),
    (lambda: torch.full((2,), torch.tensor([3])), TypeError,
     "full(): argument 'fill_value' (position 2) must be Number, not Tensor"),
    (lambda: WORDS + torch.ones(3, dtype=torch.complex64), RuntimeError,
     "Promotion for uint16, uint32, uint64 types is not supported"),
    (lambda: torch.promote_types("a", torch.float32), TypeError, "'type1' (position 1) must be"),
    (lambda: torch.result_type("a", 2), TypeError, "result_type() received an invalid combination"),
    (lambda: torch.iinfo(bool), TypeError, "torch.bool is not supported by torch.iinfo"),
    (lambda: torch.finfo(int), TypeError, "torch.finfo() requires a floating point input type"),
    (lambda: TRUTHS.kthvalue(1), NotImplementedError, "\"kthvalue_cpu\" not implemented"),
    (lambda: TRUTHS.topk(1), RuntimeError, "topk does not support bool dtypes on CPU"),
    (lambda: TRUTHS.median(), NotImplementedError, "\"median_cpu\" not implemented for 'Bool'"),
    (lambda: TRUTHS.median(0), NotImplementedError, "\"median_out\" not implemented for 'Bool'"),
    (lambda: TRUTHS.histc(), NotImplementedError, "not implemented for 'Bool'"),
    (lambda: TRUTHS.bincount(), NotImplementedError, "\"bincount_cpu\" not implemented for 'Bool'"),
    (lambda: torch.ones(3).bincount(), NotImplementedError, "not implemented for 'Float'"),
    (lambda: WORDS.cummax(0), NotImplementedError, "\"cummax_cpu\" not implemented for 'UInt16'"),
    (lambda: WORDS.max(0), NotImplementedError, "\"max_cpu\" not implemented for 'UInt16'"),
    (lambda: torch.quantile(torch.ones(2**24 + 1), 0.5), RuntimeError, "input tensor is too large"),
    (lambda: F.interpolate(LINE, scale_factor=float("nan")), RuntimeError,
     "value cannot be converted to type int64_t without overflow"),
    (lambda: F.interpolate(LINE, scale_factor=float("inf")), RuntimeError, "int64_t without overf"),
    (lambda: ctc(lengths=(-1, 5)), RuntimeError, "Expected input_lengths to have value at least 0"),
    (lambda: ctc(counts=(3, -1)), RuntimeError, "Expected target_lengths to have value at least 0"),
    (lambda: ctc(counts=(4, 3)), RuntimeError, "size at least 4 at dimension 1, but got size 3"),
    (lambda: ctc(targets=LABELS.reshape(-1)[:5]), RuntimeError, "size 6 at dimension 0, but got s"),
    (lambda: ctc(targets=LABELS[None]), RuntimeError, "Expected 1 to 2 dimensions, but got 3"),
    (lambda: ctc(targets=LABELS[:1]), RuntimeError, "size 2 at dimension 0, but got size 1"),
    (lambda: ctc(lengths=torch.tensor([5.0, 5.0])), RuntimeError, "input_lengths must be integral"),
    (lambda: F.ctc_loss(FRAMES[:0], LABELS, (0, 0), (0, 0)), RuntimeError, "must not be empty"),
])
def test_refused(call, kind, message):
    for _ in range(2):
        with pytest.raises(kind) as caught:
            call()
        assert message in str(caught.value)


@pytest.mark.parametrize(("call", "message"), [
    (lambda: torch.ones(2).ldexp_(torch.ones(2, dtype=torch.complex64)), "ComplexFloat can't be"),
    (lambda: torch.ones(2, dtype=torch.int32).ldexp_(torch.ones(2)), "Float can't be cast to the"),
    (lambda: torch.ones(2, dtype=torch.int32).polygamma_(1), "Float can't be cast to the desired"),
    (lambda: torch.ones(2).float_power_(2), "can't be cast to|requires dtype"),
    (lambda: torch.ones(2).cumprod_(0, dtype=torch.float16), "Bad in-place call: input tensor"),
    (lambda: torch.cross(torch.ones(3), torch.ones(3).long(), dim=0), "type Float but found Long"),
])
def test_results_that_would_lose_something(call, message):
    with pytest.raises(RuntimeError, match=message):
        call()


def test_diagonals_far_outside():
    x = torch.ones(2, 3)
    for far in (2**40, 2**62):
        assert torch.equal(x.tril(far), x) and torch.equal(x.triu(-far), x)
        assert not x.tril(-far).any() and not x.triu(far).any()
        assert torch.tril_indices(2, 3, far).shape == (2, 6)
    with pytest.raises(TypeError, match="argument 'col' .position 2. must be int, not float"):
        torch.triu_indices(2, 1.5)


def test_types_of_python_count_as_dtypes():
    assert torch.promote_types(float, int) is torch.float64
    assert torch.promote_types(torch.float16, bool) is torch.float16
    assert torch.finfo(float).max == torch.finfo(torch.float64).max
    assert torch.iinfo(int).max == 2**63 - 1
    assert (WORDS + 1j).dtype is torch.complex64


def test_bytes_seen_as_another_dtype_are_no_view():
    x = torch.ones(4, requires_grad=True)
    for dtype in (torch.int32, torch.float32):
        seen = x.view(dtype)
        assert seen._base is None and not seen._is_view() and not seen.requires_grad
        assert seen.data_ptr() == x.data_ptr()
    seen = x.detach().view(torch.int32)
    seen.zero_()
    assert x.tolist() == [0.0] * 4 and x._version == 1
