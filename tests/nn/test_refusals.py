"""Arguments that pools and losses refuse, in PyTorch's words."""

import pytest

import yesca as torch
import yesca.nn.functional as F


@pytest.mark.parametrize("rank", [1, 2, 3])
def test_negative_sizes(rank: int) -> None:
    x = torch.zeros(1, 1, *(4,) * rank)
    size = (-1,) + (0,) * (rank - 1)
    with pytest.raises(RuntimeError, match="greater than or equal to 0 but received"):
        getattr(F, f"adaptive_avg_pool{rank}d")(x, size)
    with pytest.raises(RuntimeError, match="create tensor with negative dimension -1"):
        getattr(F, f"adaptive_max_pool{rank}d")(x, size)


@pytest.mark.parametrize("rank", [1, 2, 3])
def test_unpool_wants_a_place_for_each_maximum(rank: int) -> None:
    x = torch.ones(2, *(4,) * rank)
    places = torch.zeros(2, *(4,) * rank, dtype=torch.int64)
    unpool = getattr(F, f"max_unpool{rank}d")
    with pytest.raises(RuntimeError, match="Expected shape of indices to be same as that"):
        unpool(x, places[..., :3], 2)
    with pytest.raises(RuntimeError, match="should be type int64 but got: Int"):
        unpool(x, places.int(), 2)
    with pytest.raises(RuntimeError, match="non-zero size for non-batch dimensions"):
        unpool(x[..., :0], places[..., :0], 2)
    with pytest.raises(RuntimeError, match=f"Input to max_unpooling{max(rank, 2)}d should be a"):
        unpool(x[0], places[0], 2)
    with pytest.raises(NotImplementedError, match="not implemented for 'Long'"):
        unpool(x.long(), places, 2)
    assert unpool(x, places, 2).shape == (2, *(8,) * rank)


def test_multi_margin_loss() -> None:
    x, target = torch.zeros(5, 4), torch.tensor([0, 1, 2, 3, 0])
    with pytest.raises(ValueError, match="abc is not a valid value for reduction"):
        F.multi_margin_loss(x, target.float(), reduction="abc")
    with pytest.raises(RuntimeError, match="expected scalar type Long but found Int"):
        F.multi_margin_loss(x, target.int())
    with pytest.raises(RuntimeError, match=r"target size \[5\], but got \[3\]. Input has"):
        F.multi_margin_loss(x, target[:3])
    with pytest.raises(RuntimeError, match=r"target size \[5\], but got \[\]"):
        F.multi_margin_loss(x, target[0])
    with pytest.raises(RuntimeError, match=r"inconsistent weight size, expected 4 but got \[3\]"):
        F.multi_margin_loss(x, target, weight=torch.ones(3))
    with pytest.raises(RuntimeError, match="Expected non-empty vector or matrix"):
        F.multi_margin_loss(x[:, :0], target)
    assert F.multi_margin_loss(x[0], target[0]).item() == 0.75


def test_local_response_of_integers_rounds_the_means_down() -> None:
    x = torch.tensor([[[3], [4], [6]]])
    made = F.local_response_norm(x, 2, alpha=1.0, beta=1.0)
    assert torch.allclose(made.flatten(), torch.tensor([3 / 5, 4 / 13, 6 / 27]))
