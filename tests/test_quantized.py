"""Quantized tensors: what they hold, print and keep; golden values are PyTorch's."""

import copy
import io
import json
import pickle
import warnings
from pathlib import Path

import pytest
import quantized_cases as cases

import yesca as torch

FIXTURES = Path(__file__).parent / "fixtures"
GOLDEN = json.loads((FIXTURES / "quantized.json").read_text(encoding="utf-8"))
X = torch.tensor([[-1.0, 0.5, 2.0], [3.0, 0.04, -0.06]])


@pytest.fixture(autouse=True)
def told():
    """The deprecation has been told of, as it is once a process."""
    from yesca.base.frames import told

    told.add(TEXT)


TEXT = ("torch.quantize_per_tensor, torch.quantize_per_channel and other quantized tensor creation "
        "functions that produce tensors with dtype torch.quint8, torch.qint8, and torch.qint32 are "
        "deprecated and will be removed in a future PyTorch release. Please see "
        "https://github.com/pytorch/pytorch/issues/184982 for more information.")


def per_tensor(dtype=torch.quint8):
    return torch.quantize_per_tensor(X, 0.1, 10, dtype)


def per_channel():
    return torch.quantize_per_channel(X, torch.tensor([0.1, 0.05]), torch.tensor([0, 0]), 0,
                                      torch.qint8)


def test_a_warning_once():
    from yesca.base import frames

    frames.told.discard(TEXT)
    with pytest.warns(UserWarning, match="are deprecated and will be removed"):
        per_tensor()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        per_tensor()


def test_values_and_questions():
    q, c = per_tensor(), per_channel()
    assert q.int_repr().tolist() == [[0, 15, 30], [40, 10, 9]]
    assert q.int_repr().dtype is torch.uint8 and c.int_repr().dtype is torch.int8
    assert (q.q_scale(), q.q_zero_point(), q.qscheme()) == (0.1, 10, torch.per_tensor_affine)
    assert c.qscheme() is torch.per_channel_affine and c.q_per_channel_axis() == 0
    assert c.q_per_channel_scales().dtype is torch.float64
    assert c.q_per_channel_zero_points().tolist() == [0, 0]
    assert q.is_quantized and not X.is_quantized and q.dtype is torch.quint8
    assert q.type() == "torch.quantized.QUInt8Tensor" and q.element_size() == 1
    expected = torch.tensor([[-1.0, 0.5, 2.0], [3.0, 0.0, -0.1]])
    torch.testing.assert_close(q.dequantize(), expected)
    torch.testing.assert_close(torch.dequantize([q, X])[0], expected)
    assert torch.dequantize(X) is not None and q[0, 0].item() == -1.0 and len(q) == 2


def test_as_pytorch_prints_them():
    assert repr(per_tensor()) == """\
tensor([[-1.0000,  0.5000,  2.0000],
        [ 3.0000,  0.0000, -0.1000]], size=(2, 3), dtype=torch.quint8,
       quantization_scheme=torch.per_tensor_affine, scale=0.1, zero_point=10)"""
    assert repr(per_channel()) == """\
tensor([[-1.0000,  0.5000,  2.0000],
        [ 3.0000,  0.0500, -0.0500]], size=(2, 3), dtype=torch.qint8,
       quantization_scheme=torch.per_channel_affine,
       scale=tensor([0.1000, 0.0500], dtype=torch.float64),
       zero_point=tensor([0, 0]), axis=0)"""
    empty = torch.quantize_per_tensor(torch.empty(0, 3), 0.1, 0, torch.qint8)
    assert repr(empty).startswith("tensor([], size=(0, 3), dtype=torch.qint8,")


def test_rounding_is_pytorchs():
    assert cases.rounded(torch) == GOLDEN["rounded"]


@pytest.mark.parametrize("case", cases.LAYERS, ids=lambda case: case[0])
def test_dynamic_ranges_are_pytorchs(case):
    assert cases.dynamic(torch, cases.layer(torch, case)[1]) == GOLDEN["layers"][case[0]]["dynamic"]


def test_dynamic_refusals():
    with pytest.raises(RuntimeError, match="dtype QInt32not supported"):
        torch.quantize_per_tensor_dynamic(X, torch.qint32, False)
    with pytest.raises(RuntimeError, match="numel"):
        torch.quantize_per_tensor_dynamic(torch.empty(0), torch.quint8, True)
    with pytest.raises(RuntimeError, match="min should be less than or equal to max"):
        torch.quantize_per_tensor_dynamic(torch.tensor([1.0, float("nan")]), torch.quint8, True)
    assert torch.quantize_per_tensor_dynamic(X, torch.float16, False).dtype is torch.float16


@pytest.mark.parametrize("call, kind, words", [
    (lambda: torch.quantize_per_tensor(X, 0.1, 10, torch.int8), RuntimeError, "Char"),
    (lambda: torch.quantize_per_tensor(X.double(), 0.1, 1, torch.qint8), RuntimeError, "Double"),
    (lambda: torch.quantize_per_tensor(1.0, 0.1, 1, torch.qint8), TypeError, "not float"),
    (lambda: torch.quantize_per_tensor(X, 0.1, 300, torch.quint8), RuntimeError, "above upper"),
    (lambda: torch.quantize_per_tensor(X, 0.1, -1, torch.quint8), RuntimeError, "below lower"),
    (lambda: torch.quantize_per_channel(X, torch.ones(1), torch.zeros(1).long(), 0, torch.qint8),
     RuntimeError, "expected 2 got, 1"),
    (lambda: torch.quantize_per_channel(X, torch.ones(2), torch.zeros(2).long(), 5, torch.qint8),
     RuntimeError, "axis out of range"),
    (lambda: X.q_scale(), NotImplementedError, "'aten::q_scale' with arguments from the 'CPU'"),
    (lambda: X.int_repr(), NotImplementedError, "aten::int_repr"),
    (lambda: per_channel().q_scale(), RuntimeError, "kPerTensorAffine"),
    (lambda: per_tensor().q_per_channel_scales(), RuntimeError, "kPerChannelAffine"),
])
def test_refusals(call, kind, words):
    with pytest.raises(kind, match=words):
        call()


def kept(value, way):
    if way == "pickle":
        return pickle.loads(pickle.dumps(value))
    if way == "deepcopy":
        return copy.deepcopy(value)
    file = io.BytesIO()
    torch.save(value, file)
    file.seek(0)
    return torch.load(file)


@pytest.mark.parametrize("way", ["pickle", "deepcopy", "save"])
def test_they_are_kept(way):
    for q in (per_tensor(), per_channel(), per_tensor().t(), per_tensor(torch.qint32)[:, 1:]):
        made = kept(q, way)
        assert torch.equal(made, q) and made.stride() == q.stride() and made is not q
        assert made.dtype is q.dtype and repr(made) == repr(q)


def test_views_keep_sharing_memory_in_a_copy():
    q = per_tensor()
    first, second = copy.deepcopy([q, q.view(-1)])
    first[0, 0] = 1.0
    assert second[0].item() == pytest.approx(1.0) and q[0, 0].item() == -1.0


def test_pytorchs_files():
    held = torch.load(FIXTURES / "quantized.pt", weights_only=False)
    q = torch.quantize_per_tensor(held["input"], 0.1, 10, torch.quint8)
    assert torch.equal(held["tensor"], q) and torch.equal(held["view"], q.t())
    assert held["view"].untyped_storage() is held["tensor"].untyped_storage()


@pytest.mark.parametrize("settings", [
    (torch.per_tensor_affine, "x", 0), (torch.per_tensor_affine, 1.0), (torch.per_tensor_affine,),
    (torch.per_channel_affine, torch.ones(3), torch.zeros(3), 0), (torch.strided, 1.0, 0),
    (torch.per_channel_affine, torch.ones(2), torch.zeros(2), 2)])
def test_corrupt_files(settings):
    from yesca._quantized import _rebuild_qtensor

    _, (storage, offset, size, stride, _, *rest) = per_tensor().__reduce_ex__(2)
    with pytest.raises(RuntimeError, match="corrupt|deserialize"):
        _rebuild_qtensor(storage, offset, size, stride, settings, *rest)
    with pytest.raises(RuntimeError, match="out of bounds"):
        _rebuild_qtensor(storage, 5, size, stride, (torch.per_tensor_affine, 0.1, 0), *rest)


@pytest.mark.parametrize("wrong", [1.5, True, None, "1"])
def test_zero_points_are_whole(wrong):
    with pytest.raises(TypeError, match="'zero_point'.*must be int, not"):
        torch.quantize_per_tensor(torch.ones(2), 0.5, wrong, torch.qint8)


def test_what_shares_memory_stays_quantized():
    q = torch.quantize_per_tensor(torch.ones(2), 0.5, 3, torch.qint8)
    assert q.share_memory_() is q and q.is_shared()
    with pytest.raises(NotImplementedError, match="int_repr"):
        q.view(torch.int8)


def test_where_the_integers_lie():
    x = torch.randn(2, 3, 4, 5).to(memory_format=torch.channels_last)
    made = [torch.quantize_per_tensor(one, 0.1, 0, torch.quint8)
            for one in (x, x[:, :, ::2], x.permute(1, 0, 2, 3), x[0, 0].t())]
    assert [one.stride() for one in made] == [
        (60, 1, 15, 3), (30, 1, 15, 3), (40, 20, 5, 1), (4, 1)]
    by_channel = torch.quantize_per_channel(x, torch.ones(3), torch.zeros(3), 1, torch.quint8)
    assert by_channel.stride() == (60, 20, 5, 1)
    assert by_channel.int_repr().equal(x.round().clamp(0, 255).to(torch.uint8))
