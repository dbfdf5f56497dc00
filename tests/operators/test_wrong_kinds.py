"""Arguments of a wrong kind: the error names the argument and what it should be."""

import numpy as np
import pytest

import yesca as torch
from yesca.nn import functional as F

A = torch.tensor([[0.5, 0.25, 1.0], [2.0, 3.0, -1.0]])
IMAGE = torch.arange(32.0).reshape(1, 2, 4, 4)
PLACES = torch.tensor([0, 1])


@pytest.mark.parametrize(("call", "kind", "message"), [
    (lambda: torch.can_cast(2, torch.float32), TypeError, "can_cast(): argument 'from_' (position"),
    (lambda: torch.can_cast(torch.int32, "a"), TypeError, "argument 'to' (position 2) must be tor"),
    (lambda: torch.block_diag(A, 1.5), TypeError, "expected Tensor as element 1 in argument 0"),
    (lambda: torch.chain_matmul(A, [0]), TypeError, "expected Tensor as element 1 in argument 0"),
    (lambda: torch.einsum(1.5, A, A), TypeError, "einsum(): argument 'equation' (position 1) must"),
    (lambda: torch.randperm(True), TypeError, "randperm(): argument 'n' (position 1) must be int"),
    (lambda: torch.multinomial(A.abs(), 1, 1), TypeError, "argument 'replacement' (position 3) mu"),
    (lambda: torch.multinomial(A.abs(), A), TypeError, "argument 'num_samples' (position 2) must"),
    (lambda: torch.cdist(A, A, float("nan")), RuntimeError, "only supports non-negative p values"),
    (lambda: torch.index_copy(A, 0, PLACES, torch.ones(5)), IndexError, "Source dimensionality (1"),
    (lambda: torch.broadcast_shapes((2, 1), A), RuntimeError, "Input shapes should be of type int"),
    (lambda: torch.broadcast_shapes((2, -1)), ValueError, "a dimension with negative length"),
    (lambda: torch.meshgrid(indexing="ij"), RuntimeError, "meshgrid expects a non-empty TensorLis"),
    (lambda: torch.meshgrid(PLACES, A[0], indexing="ij"), RuntimeError, "to have the same dtype"),
    (lambda: F.one_hot(PLACES, A), TypeError, "one_hot(): argument 'num_classes' (position 2) mus"),
    (lambda: F.interpolate(IMAGE, A), TypeError, "expected size to be one of int or Tuple[int]"),
    (lambda: F.max_pool2d(IMAGE, 2, True), TypeError, "argument 'stride' must be tuple of ints"),
    (lambda: F.avg_pool2d(IMAGE, [1.5]), TypeError, "found element of type float at pos 0"),
    (lambda: F.max_unpool2d(IMAGE, 5, 2), TypeError, "max_unpool2d(): argument 'indices' (positio"),
    (lambda: F.pairwise_distance(A, 3), TypeError, "pairwise_distance(): argument 'x2' (position "),
    (lambda: F.multi_margin_loss(2, PLACES), TypeError, "argument 'input' (position 1) must be Te"),
    (lambda: F.triplet_margin_loss(A, A, 1), TypeError, "argument 'negative' (position 3) must be"),
    (lambda: F.hinge_embedding_loss(1, A), TypeError, "argument 'input' (position 1) must be Tens"),
])
def test_refused(call, kind, message):
    for _ in range(2):
        with pytest.raises(kind) as caught:
            call()
        assert message in str(caught.value)


def test_numbers_of_numpy_are_numbers():
    one = np.int64(1)
    assert torch.movedim(A, one, 0).tolist() == A.t().tolist()
    weight = torch.ones(2, 2, 3, 3)
    assert torch.equal(F.conv2d(IMAGE, weight, None, 1, one), F.conv2d(IMAGE, weight, None, 1, 1))
    assert torch.equal(F.max_pool2d(IMAGE, np.int32(2)), F.max_pool2d(IMAGE, 2))


def test_angles_between_dtypes():
    made = F.cosine_similarity(torch.tensor([[3, 4]]), torch.tensor([[4.0, 3.0]]))
    assert made.tolist() == pytest.approx([0.96])
