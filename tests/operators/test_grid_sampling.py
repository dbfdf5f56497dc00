"""grid_sample and affine_grid: known values, paddings, errors."""

import pytest

import yesca as torch
from yesca.nn import functional

IMAGE = torch.arange(12.0).reshape(1, 1, 3, 4)


@pytest.mark.parametrize("corners", [True, False])
@pytest.mark.parametrize("mode", ["bilinear", "nearest", "bicubic"])
def test_the_identity_gives_the_image(mode, corners):
    theta = torch.tensor([[[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]])
    grid = functional.affine_grid(theta, (1, 1, 3, 4), align_corners=corners)
    made = functional.grid_sample(IMAGE, grid, mode=mode, align_corners=corners)
    assert torch.allclose(made, IMAGE, atol=1e-5)


def test_flipped_by_its_map():
    theta = torch.tensor([[[-1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]])
    grid = functional.affine_grid(theta, (1, 1, 3, 4), align_corners=False)
    made = functional.grid_sample(IMAGE, grid, align_corners=False)
    assert torch.allclose(made, IMAGE.flip(3), atol=1e-5)


def test_paddings():
    grid = torch.tensor([[[[2.0, 0.0], [-1.0, -3.0]]]])
    wanted = {"zeros": [0.0, 0.0], "border": [7.0, 0.0], "reflection": [5.5, 8.0]}
    for padding, values in wanted.items():
        made = functional.grid_sample(IMAGE, grid, padding_mode=padding, align_corners=True)
        assert made.flatten().tolist() == pytest.approx(values)


def test_volumes():
    volume = torch.arange(8.0).reshape(1, 1, 2, 2, 2)
    made = functional.grid_sample(volume, torch.zeros(1, 1, 1, 1, 3), align_corners=False)
    assert made.item() == 3.5


def test_errors():
    with pytest.raises(ValueError, match="expected mode to be"):
        functional.grid_sample(IMAGE, torch.zeros(1, 2, 2, 2), mode="cubic")
    with pytest.raises(RuntimeError, match="same batch size"):
        functional.grid_sample(IMAGE, torch.zeros(2, 2, 2, 2), align_corners=True)
    with pytest.raises(ValueError, match="batch of 2D affine matrices"):
        functional.affine_grid(torch.ones(1, 3, 3), (1, 1, 2, 2), align_corners=True)
    with pytest.warns(UserWarning, match="align_corners=False since 1.3.0"):
        functional.grid_sample(IMAGE, torch.zeros(1, 1, 1, 2))
