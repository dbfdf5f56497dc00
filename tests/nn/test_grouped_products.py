"""Products of groups: each combination of ranks against products one by one; refusals."""

import pytest

import yesca as torch
from yesca.nn.functional import grouped_mm


def ends(*values):
    return torch.tensor(values, dtype=torch.int32)


def numbers(*shape):
    return torch.linspace(-1, 1, int(torch.tensor(shape).prod())).reshape(shape).sin()


def test_groups_of_rows():
    a, b = numbers(8, 4).requires_grad_(), numbers(2, 4, 8).requires_grad_()
    made = grouped_mm(a, b, offs=ends(3, 6))
    expected = torch.cat([a[:3] @ b[0], a[3:6] @ b[1], torch.zeros(2, 8)])
    assert torch.equal(made, expected)
    made.sum().backward()
    assert torch.allclose(a.grad[0], b[0].sum(1)) and a.grad[7].eq(0).all()


def test_groups_of_columns_and_of_sums():
    a, b = numbers(2, 4, 8), numbers(8, 12)
    made = grouped_mm(a, b, offs=ends(4, 12))
    assert torch.equal(made, torch.cat([a[0] @ b[:, :4], a[1] @ b[:, 4:]], 1))
    a, b = numbers(4, 8), numbers(8, 12)
    made = grouped_mm(a, b, offs=ends(4, 8))
    assert torch.equal(made, torch.stack([a[:, :4] @ b[:4], a[:, 4:] @ b[4:]]))
    a, b = numbers(2, 4, 8), numbers(2, 8, 8).bfloat16()
    assert torch.equal(grouped_mm(a.bfloat16(), b), a.bfloat16() @ b)


@pytest.mark.parametrize(("call", "text"), [
    (lambda a, b: grouped_mm(a.double(), b.double()), "Float32, BFloat16 or Float16 matrix, got D"),
    (lambda a, b: grouped_mm(a, b), "Have to provide offsets if there is a 2d matrix"),
    (lambda a, b: grouped_mm(b, b, offs=ends(1, 2)), "or no offset if both matrices are 3d"),
    (lambda a, b: grouped_mm(a, b, offs=ends(1, 2).long()), "Offsets have to be int32"),
    (lambda a, b: grouped_mm(a, b, offs=ends(1, 2)[None]), "offs has to be 1D"),
    (lambda a, b: grouped_mm(a, b, offs=ends(1, 2, 3)), "matrix batch sizes have to match"),
    (lambda a, b: grouped_mm(b, b[:1]), "batched dimension has to match"),
    (lambda a, b: grouped_mm(a, b, offs=ends(1, 2), bias=a), "Bias not supported yet"),
    (lambda a, b: grouped_mm(a, b, offs=ends(1, 2), out_dtype=torch.float16),
     "output dtype must match `mat_a` dtype"),
    (lambda a, b: grouped_mm(a[0], b), "mat_a has to be 2 or 3d"),
    (lambda a, b: grouped_mm(a, b.half(), offs=ends(1, 2)), "got: float != c10::Half"),
    (lambda a, b: grouped_mm(a[:, :4], b, offs=ends(1, 2)), "contraction dimension of mat_a and"),
    (lambda a, b: grouped_mm(torch.ones(4, 6), b[:, :6], offs=ends(1, 2)), "multiple of 16 bytes"),
    (lambda a, b: grouped_mm(torch.ones(8, 16)[:, ::2], b, offs=ends(1, 2)),
     "Invalid strides/sizes, got"),
])
def test_refusals(call, text):
    with pytest.raises(RuntimeError, match=text):
        call(torch.ones(8, 8), torch.ones(2, 8, 8))
