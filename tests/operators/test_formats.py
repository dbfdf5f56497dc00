"""Results lie in memory as those that PyTorch was recorded with, whatever order operands lie in."""

import json
import warnings
from pathlib import Path

import format_cases
import pytest

import yesca
import yesca as torch

RECORDED = json.loads((Path(__file__).parents[1] / "fixtures" / "formats.json").read_text())
#: Layouts and shapes of cases whose strides differ, and why that is right.
OTHER = {
    # PyTorch takes the sum over one channel for a product, whose strides follow the operands'.
    "einsum": ("transposed", "reversed"),
    # PyTorch's view refuses what a copy does.
    "local_response": ("x2x4x4",),
}
LAYOUTS = [f"{layout} {'x'.join(map(str, shape))}"
           for layout in format_cases.LAYOUTS for shape in format_cases.SHAPES]


@pytest.mark.parametrize("kind, results, labels", (
    ("images", format_cases.image_results, LAYOUTS),
    ("matrices", format_cases.matrix_results, format_cases.MATRICES)))
def test_places(kind, results, labels):
    """Strides and offsets of results, for operands in every layout."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = results(yesca)
    for name, number in RECORDED["kinds"][kind].items():
        wanted = RECORDED["patterns"][number].split(";")
        for label, got, want in zip(labels, found[name], wanted, strict=True):
            if not any(part in label for part in OTHER.get(name, ())):
                assert got == want, (name, label)


F = torch.nn.functional
LAST = {4: torch.channels_last, 5: torch.channels_last_3d}
#: Calls of an input and weights whose gradients lie in the input's memory format.
GRADIENTS = {
    "max_pool2d": (lambda x: F.max_pool2d(x, 3, 2, 1), (2, 4, 9, 8)),
    "avg_pool2d": (lambda x: F.avg_pool2d(x, 3, 2, 1), (2, 4, 9, 8)),
    "adaptive_avg_pool2d": (lambda x: F.adaptive_avg_pool2d(x, 3), (2, 4, 9, 8)),
    "adaptive_max_pool2d": (lambda x: F.adaptive_max_pool2d(x, 3), (2, 4, 9, 8)),
    "max_pool3d": (lambda x: F.max_pool3d(x, 2), (2, 4, 5, 6, 7)),
    "group_norm": (lambda x: F.group_norm(x, 2), (2, 4, 9, 8)),
    "group_norm3d": (lambda x: F.group_norm(x, 2), (2, 4, 5, 6, 7)),
    "conv2d": (F.conv2d, (2, 4, 9, 8), (5, 4, 3, 3)),
    "conv2d of groups": (lambda x, w: F.conv2d(x, w, groups=2), (2, 4, 9, 8), (6, 2, 3, 3)),
    "conv_transpose2d": (F.conv_transpose2d, (2, 4, 5, 5), (4, 5, 3, 3)),
    "conv3d": (F.conv3d, (2, 4, 5, 6, 7), (5, 4, 3, 3, 3)),
}


@pytest.mark.parametrize("name", GRADIENTS)
@pytest.mark.parametrize("upstream", ["plain", "last"])
def test_gradients_lie_as_their_operands(name, upstream):
    call, *shapes = GRADIENTS[name]
    dtype = torch.float32 if name == "conv3d" else torch.float64  # float64 volumes lie in rows
    plain = [torch.rand(shape, dtype=dtype) for shape in shapes]
    kept = [p.contiguous(memory_format=LAST[p.dim()]) for p in plain]
    found = []
    for operands in (plain, kept):
        leaves = [p.clone().requires_grad_() for p in operands]
        made = call(*leaves)
        grad = torch.arange(made.numel(), dtype=dtype).reshape(made.shape)
        if upstream == "last":
            grad = grad.contiguous(memory_format=LAST[made.dim()])
        found.append(torch.autograd.grad(made, leaves, grad))
    for row_major, last in zip(*found, strict=True):
        torch.testing.assert_close(last, row_major)
        assert row_major.is_contiguous()
        assert last.is_contiguous(memory_format=LAST[last.dim()]) and not last.is_contiguous()


@pytest.mark.parametrize("call", [lambda x: F.avg_pool3d(x, 2),
                                  lambda x: F.adaptive_avg_pool3d(x, 2)])
def test_gradients_of_averages_of_volumes_are_row_major(call):
    x = torch.rand(2, 4, 5, 6, 7).contiguous(memory_format=LAST[5]).requires_grad_()
    assert torch.autograd.grad(call(x).sum(), x)[0].is_contiguous()
