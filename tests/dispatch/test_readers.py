"""What builtins tell of tensors, beside their Python twins."""

import math

import pytest

import yesca as torch
from yesca.dispatch import fast

x = torch.arange(24.0).reshape(2, 3, 4)
TENSORS = {
    "plain": x, "scalar": torch.tensor(2.5), "empty": torch.zeros(2, 0, 3), "view": x[1, :, 1:],
    "turned": x.permute(2, 0, 1), "parameter": torch.nn.Parameter(torch.ones(3)),
    "result": torch.nn.Parameter(torch.ones(3)) * 2, "meta": torch.empty(2, device="meta"),
    "complex": torch.ones(2, dtype=torch.complex64).conj(),
}


class Marked(torch.Tensor):
    """A subclass, which takes the Python path."""


@pytest.mark.parametrize("name", TENSORS)
def test_sizes_and_flags(name):
    t = TENSORS[name]
    spec = t._spec
    assert t.size() == t.shape == spec.shape and type(t.size()) is torch.Size
    assert t.stride() == spec.strides and t.dim() == t.ndimension() == t.ndim == len(spec.shape)
    assert t.numel() == t.nelement() == math.prod(spec.shape)
    assert t.is_contiguous() is spec.contiguous
    assert t.dtype is spec.dtype and t.device is spec.device
    for d in range(-t.ndim, t.ndim):
        assert t.size(d) == t.size(dim=d) == spec.shape[d] and t.stride(d) == spec.strides[d]
    for wrong in (t.ndim + 1, -t.ndim - 2, 2**70):
        with pytest.raises((IndexError, RuntimeError, OverflowError)):
            t.size(wrong)
    with pytest.raises(TypeError):
        t.size(0, 1)
    with pytest.raises(TypeError):
        t.dim(1)


def test_a_flag_of_the_tape_is_settled():
    base = torch.zeros(4)
    part = base[:2]
    assert part.requires_grad is False
    base.mul_(torch.ones(4, requires_grad=True))
    assert part.requires_grad is True and base.requires_grad is True
    with pytest.raises(AttributeError):
        base.shape = (4,)
    base.detach().requires_grad = True


def test_subclasses_keep_their_class():
    t = x.as_subclass(Marked)
    assert t.size(1) == 3 and t.dim() == 3 and t.shape == (2, 3, 4) and t.tolist() == x.tolist()
    assert type(t.detach()) is Marked


def test_detached_tensors_share_the_version_and_data_does_not():
    leaf = torch.ones(3, requires_grad=True)
    result = leaf * 2
    for t in (leaf, result, result[1:]):
        for made in (t.detach(), t.data):
            assert not made.requires_grad and made.grad_fn is None and type(made) is torch.Tensor
            assert made.data_ptr() == t.data_ptr() and made.shape == t.shape
    apart, shared = result.data, result.detach()
    before = result._version
    apart.add_(1)
    assert result._version == before and apart._version == 1
    shared.add_(1)
    assert result._version == shared._version == before + 1
    with torch.inference_mode():
        assert torch.ones(2).data.is_inference() and torch.ones(2).detach().is_inference()
        assert leaf.data.is_inference() and not leaf.detach().is_inference()
    leaf.data = torch.zeros(3)
    assert leaf.tolist() == [0.0] * 3


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "bfloat16", "int64", "int32",
                                   "int16", "int8", "uint8", "uint16", "bool", "complex64"])
def test_lists(dtype):
    kind = {"bool": bool, "complex64": complex}.get(dtype, float if "float" in dtype else int)
    t = torch.tensor([[1, 0, 3], [4, 5, 6]]).to(getattr(torch, dtype))
    for made, expected in ((t, [[1, 0, 3], [4, 5, 6]]), (t.t(), [[1, 4], [0, 5], [3, 6]]),
                           (t[1], [4, 5, 6]), (t[:, 1:], [[0, 3], [5, 6]]), (t[1, 1], 5),
                           (t[:, :0], [[], []]), (t[:0], []), (t[:0, :0], []),
                           (t[:0].t(), [[], [], []]),
                           (torch.zeros(2, 0, 0).to(t.dtype), [[], []])):
        wanted = expected
        if kind is bool:
            wanted = torch.tensor(expected).bool().int().tolist() if expected else []
        found = made.tolist()
        assert found == wanted
        while type(found) is list and found:
            found = found[0]
        assert type(found) in (kind, list)
    if "int" in dtype and not dtype.startswith("u"):
        assert torch.tensor([-3], dtype=getattr(torch, dtype)).tolist() == [-3]


def test_lists_of_what_has_no_values():
    with pytest.raises(NotImplementedError, match="Cannot copy out of meta tensor"):
        torch.empty(2, device="meta").tolist()
    t = torch.ones(8)
    t.untyped_storage().resize_(8)
    with pytest.raises(RuntimeError):
        t.tolist()


def test_reading_values_is_noted_while_a_call_is_watched():
    def program(v):
        return v + 1 if v.tolist()[0] else v - 1

    split = torch.ones(4).split
    assert [len(split(2)) for _ in range(3)] == [2, 2, 2]
    assert [program(torch.tensor([float(k)])).item() for k in (0, 1, 0)] == [-1, 2, -1]


def test_equal():
    nan = torch.tensor([float("nan")])
    cases = [(x, x.clone(), True), (x, x + 1, False), (x, x.reshape(-1), False),
             (nan, nan, False), (torch.tensor([0.0]), torch.tensor([-0.0]), True),
             (torch.tensor([1]), torch.tensor([1.0]), True), (x.t(), x.t().contiguous(), True)
             if x.ndim == 2 else (x, x, True), (torch.zeros(0), torch.zeros(0), True),
             (torch.zeros(0), torch.zeros(0, 2), False), (x[0], x[0].t().t(), True),
             (torch.ones(3, dtype=torch.bool), torch.tensor([True, True, False]), False),
             (torch.tensor([1, 2]), torch.tensor([1, 2]), True)]
    for dtype in (torch.float16, torch.float64, torch.complex64, torch.int16):
        cases.append((x.to(dtype), x.to(dtype), True))
        cases.append((x.to(dtype), (x + 2).to(dtype), False))
    for a, b, wanted in cases:
        assert torch.equal(a, b) is wanted and a.equal(b) is wanted
    long = torch.zeros(200_000)
    for place in (0, 100_000, 199_999):
        other = long.clone()
        other[place] = 1
        assert torch.equal(long, other) is False and torch.equal(other, other.clone())
    for wrong in ((x, 1), (1, x), (x, [1])):
        with pytest.raises(TypeError, match=r"equal\(\): argument '\w+' .* must be Tensor, not"):
            torch.equal(*wrong)
    with pytest.raises(TypeError):
        torch.equal(x)


@pytest.mark.skipif(fast.FAST is None, reason="needs the builtin path")
def test_they_are_builtins():
    for name in ("size", "stride", "dim", "numel", "is_contiguous", "detach", "tolist", "item"):
        assert type(getattr(torch.Tensor, name)).__name__ == "method_descriptor"
    assert type(torch.equal).__name__ == "builtin_function_or_method"
