"""Calls of `torchvision.ops` whose results are recorded; they run under PyTorch and yesca alike."""


def boxes(torch, count, phase, dtype="float32"):
    """Boxes (x1, y1, x2, y2) in an image of about 20 x 20, by a formula."""
    n = torch.arange(count, dtype=torch.float64) + phase
    x, y = 8 + 6 * torch.sin(n * 1.7), 8 + 6 * torch.cos(n * 2.3)
    w, h = 3 + 2.5 * torch.sin(n * 0.9 + 1), 3 + 2.5 * torch.cos(n * 1.3)
    return torch.stack([x, y, x + w, y + h], 1).to(getattr(torch, dtype))


def pairs(torch):
    return boxes(torch, 6, 0.0).requires_grad_(), boxes(torch, 6, 0.35)


def with_gradient(torch, function):
    """The result, and the gradient of the first boxes."""
    first, second = pairs(torch)
    result = function(first, second)
    (result * torch.cos(torch.arange(result.numel()).reshape(result.shape) * 0.3)).sum().backward()
    return [result, first.grad]


def turned(torch):
    base = boxes(torch, 4, 0.2)
    return torch.cat([base, torch.tensor([[10.0], [-35.0], [90.0], [200.0]])], 1)


def seeded(torch, function):
    torch.manual_seed(5)
    return function()


def images(torch, *shape):
    count = 1
    for size in shape:
        count *= size
    return torch.sin(torch.arange(count, dtype=torch.float32) * 0.7).reshape(shape)


def pyramid(torch, ops, extra=None):
    torch.manual_seed(2)
    net = ops.FeaturePyramidNetwork([3, 4], 5, extra_blocks=extra and extra())
    given = {"a": images(torch, 1, 3, 8, 8), "b": images(torch, 1, 4, 4, 4)}
    result = net(given)
    assert list(result)[:2] == ["a", "b"]
    return list(result.values())


def frozen(torch, ops):
    norm = ops.FrozenBatchNorm2d(2, eps=1e-3)
    norm.load_state_dict({"weight": torch.tensor([0.5, 2.0]), "bias": torch.tensor([0.1, -1.0]),
                          "running_mean": torch.tensor([0.3, 0.2]),
                          "running_var": torch.tensor([0.7, 1.5]),
                          "num_batches_tracked": torch.tensor(3)})
    return norm(images(torch, 2, 2, 3, 3))


def convolved(torch, layer, *shape):
    torch.manual_seed(4)
    return layer()(images(torch, *shape))


FORMS = ("xyxy", "xywh", "cxcywh")
CASES = {
    **{f"{a} to {b}": lambda t, o, a=a, b=b: o.box_convert(boxes(t, 3, 0.1), a, b)
       for a in FORMS for b in FORMS},
    "xywhr to cxcywhr": lambda t, o: o.box_convert(turned(t), "xywhr", "cxcywhr"),
    "cxcywhr to xywhr": lambda t, o: o.box_convert(turned(t), "cxcywhr", "xywhr"),
    "cxcywhr to xyxyxyxy": lambda t, o: o.box_convert(turned(t), "cxcywhr", "xyxyxyxy"),
    "xyxyxyxy to cxcywhr": lambda t, o: o.box_convert(
        o.box_convert(turned(t), "xywhr", "xyxyxyxy"), "xyxyxyxy", "cxcywhr"),
    "xyxyxyxy to xywhr": lambda t, o: o.box_convert(
        o.box_convert(turned(t), "xywhr", "xyxyxyxy"), "xyxyxyxy", "xywhr"),
    "whole xywhr to xyxyxyxy": lambda t, o: o.box_convert(turned(t).int(), "xywhr", "xyxyxyxy"),
    "whole cxcywhr to xywhr": lambda t, o: o.box_convert(turned(t).int(), "cxcywhr", "xywhr"),
    "area": lambda t, o: o.box_area(boxes(t, 5, 0.5)),
    "area of whole boxes": lambda t, o: o.box_area(boxes(t, 5, 0.5, "int16"), "xywh"),
    "area of half boxes": lambda t, o: o.box_area(boxes(t, 5, 0.5, "float16")),
    **{f"iou {fmt}": lambda t, o, fmt=fmt: o.box_iou(boxes(t, 4, 0), boxes(t, 3, 0.4), fmt)
       for fmt in FORMS},
    "iou of batches": lambda t, o: o.box_iou(
        boxes(t, 8, 0).reshape(2, 4, 4), boxes(t, 6, 0.4).reshape(2, 3, 4)),
    "iou of whole boxes": lambda t, o: o.box_iou(
        boxes(t, 4, 0, "int64"), boxes(t, 3, 0.4, "int64")),
    "iou gradient": lambda t, o: with_gradient(t, o.box_iou),
    "generalized": lambda t, o: with_gradient(t, o.generalized_box_iou),
    "distance": lambda t, o: with_gradient(t, o.distance_box_iou),
    "complete": lambda t, o: with_gradient(t, o.complete_box_iou),
    "generalized loss": lambda t, o: with_gradient(t, o.generalized_box_iou_loss),
    "distance loss": lambda t, o: with_gradient(t, o.distance_box_iou_loss),
    "complete loss": lambda t, o: with_gradient(t, o.complete_box_iou_loss),
    "mean of losses": lambda t, o: [
        loss(*pairs(t), reduction=how) for how in ("mean", "sum") for loss in (
            o.generalized_box_iou_loss, o.distance_box_iou_loss, o.complete_box_iou_loss)],
    "mean of no losses": lambda t, o: [
        loss(t.zeros(0, 4), t.zeros(0, 4), reduction="mean") for loss in (
            o.generalized_box_iou_loss, o.distance_box_iou_loss, o.complete_box_iou_loss)],
    "loss of whole boxes": lambda t, o: o.generalized_box_iou_loss(
        boxes(t, 4, 0, "int32"), boxes(t, 4, 0.4, "int32")),
    "clip": lambda t, o: o.clip_boxes_to_image(boxes(t, 6, 0), (9, 12)),
    "clip a batch": lambda t, o: o.clip_boxes_to_image(boxes(t, 6, 0).reshape(2, 3, 4), (9, 12)),
    "small": lambda t, o: o.remove_small_boxes(boxes(t, 9, 0), 2.0),
    "masks": lambda t, o: o.masks_to_boxes(images(t, 5, 7, 9) > t.tensor(
        [0.999, 0.99, 2.0, -2.0, 0.9999]).reshape(5, 1, 1)),
    "no masks": lambda t, o: o.masks_to_boxes(t.zeros(0, 4, 4)),
    "focal": lambda t, o: [
        o.sigmoid_focal_loss(images(t, 3, 4) * 5, (images(t, 3, 4) > 0.2).float(), *rest)
        for rest in ((), (-1, 1.5), (0.7, 2, "mean"), (0.25, 3, "sum"))],
    "stochastic depth": lambda t, o: seeded(t, lambda: [
        o.stochastic_depth(images(t, 6, 2, 2), p, mode) for p in (0.0, 0.4, 1.0)
        for mode in ("row", "batch")]),
    "drop block": lambda t, o: seeded(t, lambda: [
        o.drop_block2d(images(t, 2, 2, 7, 6), 0.3, 3), o.drop_block2d(
            images(t, 1, 1, 5, 5), 0.5, 9, True), o.drop_block3d(images(t, 1, 2, 4, 5, 6), 0.2, 3),
        o.DropBlock3d(0.5, 3)(images(t, 1, 1, 5, 5, 5))]),
    "frozen norm": frozen,
    "conv 2d": lambda t, o: convolved(
        t, lambda: o.Conv2dNormActivation(2, 4, (3, 5), dilation=2, groups=2), 2, 2, 6, 7),
    "conv 3d": lambda t, o: convolved(t, lambda: o.Conv3dNormActivation(
        2, 4, 3, norm_layer=None, activation_layer=t.nn.GELU, inplace=None), 1, 2, 4, 5, 4),
    "squeeze": lambda t, o: convolved(t, lambda: o.SqueezeExcitation(4, 2), 2, 4, 3, 3),
    "mlp": lambda t, o: convolved(t, lambda: o.MLP(
        4, [6, 5, 3], norm_layer=t.nn.LayerNorm, inplace=True, dropout=0.3), 2, 4),
    "permute": lambda t, o: o.Permute([1, 2, 0])(images(t, 2, 3, 4)),
    "pyramid": pyramid,
    "pyramid and a pool": lambda t, o: pyramid(t, o, _home(o).LastLevelMaxPool),
    "pyramid and two more": lambda t, o: pyramid(t, o, lambda: _home(o).LastLevelP6P7(4, 5)),
    "deformable start": lambda t, o: seeded(t, lambda: list(
        o.DeformConv2d(4, 6, 3, groups=2).parameters())),
    "levels": lambda t, o: _poolers(o).LevelMapper(2, 5)(
        [boxes(t, 6, 0) * 4, boxes(t, 7, 0.3) * 20]),
}


def _home(ops):
    from importlib import import_module

    return import_module(f"{ops.__name__}.feature_pyramid_network")


def _poolers(ops):
    from importlib import import_module

    return import_module(f"{ops.__name__}.poolers")


def recorded(torch, ops, name):
    """dtype, shape and values of each result."""
    result = CASES[name](torch, ops)
    return [[str(x.dtype).rpartition(".")[2], list(x.shape),
             [float(f"{v:.8g}") for v in x.detach().double().flatten().tolist()]]
            for x in (result if isinstance(result, list) else [result])]
