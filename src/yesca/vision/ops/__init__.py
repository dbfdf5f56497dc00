"""`torchvision.ops`: boxes, regions of interest, and the blocks that models are made of.

>>> from yesca.vision import ops
>>> boxes = torch.tensor([[0.0, 0.0, 10.0, 10.0], [0.0, 0.0, 10.0, 9.0], [20.0, 20.0, 30.0, 30.0]])
>>> ops.nms(boxes, torch.tensor([0.8, 0.9, 0.7]), 0.5)
tensor([1, 2])
"""

from __future__ import annotations

from ..._lazy import lazily

#: Module -> the public names it provides; loaded on first use.
_HOMES = {
    "boxes": (
        "batched_nms box_area box_convert box_iou clip_boxes_to_image complete_box_iou "
        "distance_box_iou generalized_box_iou masks_to_boxes nms remove_small_boxes"
    ),
    "ciou_loss": "complete_box_iou_loss", "deform_conv": "deform_conv2d DeformConv2d",
    "diou_loss": "distance_box_iou_loss",
    "drop_block": "drop_block2d drop_block3d DropBlock2d DropBlock3d",
    "feature_pyramid_network": "FeaturePyramidNetwork", "focal_loss": "sigmoid_focal_loss",
    "giou_loss": "generalized_box_iou_loss",
    "misc": (
        "Conv2dNormActivation Conv3dNormActivation FrozenBatchNorm2d MLP Permute SqueezeExcitation"
    ),
    "poolers": "MultiScaleRoIAlign", "ps_roi_align": "PSRoIAlign", "ps_roi_pool": "PSRoIPool",
    "roi_align": "RoIAlign", "roi_pool": "RoIPool", "stochastic_depth": "StochasticDepth",
}
__getattr__, __dir__, __all__ = lazily(__name__, _HOMES)

# Functions with the name of their module: whoever loads the module would find it in their place,
# so that they are put there now.
from .ps_roi_align import ps_roi_align  # noqa: E402
from .ps_roi_pool import ps_roi_pool  # noqa: E402
from .roi_align import roi_align  # noqa: E402
from .roi_pool import roi_pool  # noqa: E402
from .stochastic_depth import stochastic_depth  # noqa: E402

__all__ += ["ps_roi_align", "ps_roi_pool", "roi_align", "roi_pool", "stochastic_depth"]
