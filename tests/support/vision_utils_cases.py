"""Calls of `torchvision.utils` on small images, for the package and for torchvision."""

import zlib


def values(torch, *shape, scale=1.0, dtype=None):
    """Numbers by a formula, in [0, scale)."""
    count = 1
    for size in shape:
        count *= size
    made = (torch.arange(count) * 37 % 101).reshape(shape) / 101 * scale
    return made if dtype is None else made.to(dtype)


def cases(torch):
    """name -> (function, positional arguments, keyword arguments)."""
    batch = values(torch, 5, 3, 4, 6)
    image = values(torch, 3, 24, 30, scale=256, dtype=torch.uint8)
    floats = values(torch, 3, 24, 30)
    boxes = torch.tensor([[2, 3, 12, 14], [8, 5, 25, 20], [0, 0, 29, 23]])
    turned = torch.tensor([[4, 4, 20, 6, 18, 18, 3, 14], [10, 2, 26, 2, 26, 12, 10, 12]])
    masks = torch.stack([torch.arange(24)[:, None] + torch.arange(30) < 20,
                         torch.arange(24)[:, None] * torch.arange(30) > 100])
    points = torch.tensor([[[5, 6], [20.7, 8.2], [12, 18]], [[3, 20], [28, 22], [15, 2]]])
    shown = torch.tensor([[1, 1, 0], [1, 1, 1]])
    flow = values(torch, 2, 6, 7, scale=4) - 2
    return {
        "grid": ("make_grid", [batch], {}),
        "grid of two columns": ("make_grid", [batch], {"nrow": 2, "padding": 1}),
        "grid of a list": ("make_grid", [[batch[0], batch[1]]], {"padding": 0}),
        "grid of gray": ("make_grid", [batch[:, :1]], {"pad_value": 0.5, "nrow": 3}),
        "grid of one": ("make_grid", [batch[:1]], {}),
        "grid of an image": ("make_grid", [batch[0, :1]], {}),
        "grid of rows": ("make_grid", [batch[0, 0]], {}),
        "grid stretched": ("make_grid", [batch * 3 - 1], {"normalize": True}),
        "grid stretched each": ("make_grid", [batch * 3], {"normalize": True, "scale_each": True}),
        "grid in a range": ("make_grid", [batch], {"normalize": True, "value_range": (0.2, 0.7)}),
        "grid of bytes": ("make_grid", [image.view(4, 3, 12, 15)], {"pad_value": 9}),
        "boxes": ("draw_bounding_boxes", [image, boxes], {}),
        "boxes with colours": ("draw_bounding_boxes", [image, boxes.float()], {
            "colors": ["red", "#00ff80", (1, 2, 3)], "width": 2}),
        "boxes filled": ("draw_bounding_boxes", [image, boxes], {"colors": "blue", "fill": True}),
        "boxes on floats": ("draw_bounding_boxes", [floats, boxes], {"fill": True}),
        "boxes on gray": ("draw_bounding_boxes", [image[:1], boxes], {"colors": (9, 200, 30)}),
        "boxes turned": ("draw_bounding_boxes", [image, turned], {"width": 2}),
        "boxes turned, filled": ("draw_bounding_boxes", [image, turned], {
            "fill": True, "colors": ["red", "green"]}),
        "masks": ("draw_segmentation_masks", [image, masks], {}),
        "mask": ("draw_segmentation_masks", [image, masks[0]], {"alpha": 0.3, "colors": "red"}),
        "masks with colours": ("draw_segmentation_masks", [image, masks], {
            "colors": ["#102030", (250, 0, 77)], "alpha": 0.5}),
        "masks on floats": ("draw_segmentation_masks", [floats, masks], {"alpha": 0.6}),
        "points": ("draw_keypoints", [image, points], {}),
        "points joined": ("draw_keypoints", [image, points], {
            "connectivity": [(0, 1), (1, 2)], "colors": "yellow", "radius": 3, "width": 2}),
        "points seen": ("draw_keypoints", [image, points], {
            "connectivity": [(0, 1), (1, 2)], "colors": (9, 8, 250), "visibility": shown}),
        "points seen, three dimensions": ("draw_keypoints", [floats, points], {
            "visibility": shown[..., None], "colors": "red"}),
        "flow": ("flow_to_image", [flow], {}),
        "flows": ("flow_to_image", [torch.stack([flow, flow.flip(1) * 0.3])], {}),
    }


def refused(torch):
    """Calls that are refused: name -> (function, positional arguments, keyword arguments)."""
    image = torch.zeros(3, 8, 8, dtype=torch.uint8)
    boxes, mask = torch.tensor([[1, 1, 4, 4]]), torch.zeros(8, 8, dtype=torch.bool)
    points = torch.zeros(1, 2, 2)
    draw, paint, dot = "draw_bounding_boxes", "draw_segmentation_masks", "draw_keypoints"
    return {
        "grid of text": ("make_grid", ["x"], {}),
        "grid of texts": ("make_grid", [["x"]], {}),
        "grid range": ("make_grid", [torch.zeros(2, 3, 4, 4)], {
            "normalize": True, "value_range": [0, 1]}),
        "boxes on text": (draw, ["x", boxes], {}),
        "boxes on whole numbers": (draw, [image.int(), boxes], {}),
        "boxes on a batch": (draw, [image[None], boxes], {}),
        "boxes on four": (draw, [torch.zeros(4, 8, 8), boxes], {}),
        "boxes the wrong way": (draw, [image, boxes.flip(1)], {}),
        "too many labels": (draw, [image, boxes, ["a", "b"]], {}),
        "too few colours": (draw, [image, boxes.repeat(2, 1)], {"colors": ["red"]}),
        "two numbers": (draw, [image, boxes], {"colors": (1, 2)}),
        "a number": (draw, [image, boxes], {"colors": 3}),
        "masks on text": (paint, ["x", mask], {}),
        "masks on gray": (paint, [image[:1], mask], {}),
        "masks of numbers": (paint, [image, mask.int()], {}),
        "masks of four": (paint, [image, mask[None, None]], {}),
        "small masks": (paint, [image, mask[:4]], {}),
        "points on text": (dot, ["x", points], {}),
        "points of two": (dot, [image, points[0]], {}),
        "seen of one": (dot, [image, points], {"visibility": torch.ones(2)}),
        "seen of others": (dot, [image, points], {"visibility": torch.ones(1, 3)}),
        "flow of doubles": ("flow_to_image", [torch.zeros(2, 4, 4, dtype=torch.float64)], {}),
        "flow of three": ("flow_to_image", [torch.zeros(3, 4, 4)], {}),
    }


def called(utils, case):
    """What a call gives, as JSON has it: of floats every seventh."""
    function, arguments, options = case
    made = getattr(utils, function)(*arguments, **options).contiguous()
    if made.is_floating_point():
        return [list(made.shape), [round(value, 5) for value in made.flatten().tolist()[::7]]]
    return [list(made.shape), zlib.crc32(made.numpy().tobytes())]


def error_of(utils, case):
    """Class and first words of what a call raises."""
    function, arguments, options = case
    try:
        getattr(utils, function)(*arguments, **options)
    except Exception as error:
        return [type(error).__name__, str(error)]
    return None
