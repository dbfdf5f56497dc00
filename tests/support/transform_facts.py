"""What a transform does to images made by a formula, as JSON: for PyTorch and for yesca alike."""

import random
import warnings

import numpy as np
from PIL import Image

HEIGHT, WIDTH = 18, 14


def pixels():
    """(18, 14, 3) bytes: slopes, and a pattern that no resampling hides."""
    y, x, c = np.meshgrid(np.arange(HEIGHT), np.arange(WIDTH), np.arange(3), indexing="ij")
    return ((x * 13 + y * 7 + c * 50 + (x * y + c) % 5 * 9) % 256).astype(np.uint8)


def images(torch):
    """Kind -> image: PIL's, bytes (3, 18, 14), floats, and a batch of both flips."""
    raw = torch.from_numpy(pixels()).permute(2, 0, 1)
    return {
        "pil": Image.fromarray(pixels()),
        "bytes": raw.contiguous(),
        "floats": raw.float() / 255,
        "batch": torch.stack([raw.flip(-1), raw.flip(-2)]),
    }


def seed(torch, number):
    torch.manual_seed(number)
    random.seed(number)


def tensors(torch, value):
    """All images in a nest of tuples, lists and dictionaries, as tensors, in order."""
    if isinstance(value, Image.Image):
        array = np.array(value)
        return [torch.from_numpy(array.reshape(*array.shape[:2], -1)).permute(2, 0, 1)]
    if isinstance(value, torch.Tensor):
        return [value]
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, (tuple, list)):
        return [image for part in value for image in tensors(torch, part)]
    return []


def shown(tensor):
    """Kind, shape, dtype, sum, and up to 10 values spread over the whole."""
    flat = tensor.detach().double().flatten()
    step = max(1, flat.numel() // 10 | 1)
    return {
        "kind": type(tensor).__name__,
        "shape": list(tensor.shape),
        "dtype": str(tensor.dtype),
        "sum": float(flat.sum()),
        "values": [float(f"{v:.9g}") for v in flat[::step][:10].tolist()],
        "more": {name: str(getattr(tensor, name)) for name in ("format", "canvas_size")
                 if hasattr(tensor, name)},
    }


def outcome(torch, work, number):
    """What a call gives: images, and the next random number; or the class of its error."""
    seed(torch, number)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            made = work()
        except Exception as error:
            return {"error": type(error).__name__}
    return {"images": [shown(t) for t in tensors(torch, made)], "next": torch.rand(1).item()}


def transform_facts(torch, names, text, number):
    """repr of a transform (unless it holds a tensor), and what it gives for each kind of image."""
    transform = eval(text, {"torch": torch, **names})
    made = {"repr": "" if "Linear" in text or "Lambda" in text else repr(transform)}
    for kind, image in images(torch).items():
        made[kind] = outcome(torch, lambda image=image: transform(image), number)
    return made


def refusal(torch, names, text):
    """Class and text of the error of a call."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            eval(text, {"torch": torch, **names})
        except Exception as error:
            return [type(error).__name__, str(error)]
    return ["nothing", ""]


def agree(mine, theirs, tolerance):
    """The first difference of two outcomes, or "". Sums may differ by rounding only."""
    if set(mine) != set(theirs) or mine.get("error") != theirs.get("error"):
        return f"{mine.get('error', 'a result')} for {theirs.get('error', 'a result')}"
    if mine.get("next") != theirs.get("next"):
        return "other draws"
    if len(mine.get("images", ())) != len(theirs.get("images", ())):
        return f"{len(mine['images'])} images for {len(theirs['images'])}"
    for a, b in zip(mine.get("images", ()), theirs.get("images", ())):
        for key in ("kind", "shape", "dtype", "more"):
            if a[key] != b[key]:
                return f"{key} {a[key]} for {b[key]}"
        bound = tolerance if "int" in b["dtype"] else tolerance / 255
        count = len(b["values"])
        off = [i for i in range(count) if not abs(a["values"][i] - b["values"][i]) <= bound]
        if off:
            return f"value {off[0]}: {a['values'][off[0]]} for {b['values'][off[0]]}"
        scale = max(1.0, float(np.prod(b["shape"])))
        if abs(a["sum"] - b["sum"]) > bound * scale + 1e-9 * abs(b["sum"]):
            return f"sum {a['sum']} for {b['sum']}"
    return ""


def samples(torch, tv):
    """Kind -> sample for transforms of the second version: images alone, with what belongs to
    them, videos, and batches with labels."""
    canvas = {"canvas_size": (HEIGHT, WIDTH)}
    made = images(torch)
    raw = made["bytes"]
    boxes = torch.tensor([[1.0, 2.0, 6.0, 9.0], [4.5, 0.0, 13.0, 17.0], [9.0, 9.0, 11.0, 12.0]])
    turned = torch.tensor([[5.0, 6.0, 6.0, 4.0, 30.0], [8.0, 9.0, 5.0, 7.0, -75.0]])
    points = torch.tensor([[1.0, 2.0], [12.5, 3.25], [6.0, 16.0]])
    mask = (torch.arange(HEIGHT * WIDTH).view(1, HEIGHT, WIDTH) % 7 < 3).to(torch.uint8)
    made["boxes"] = {
        "image": tv.Image(raw), "boxes": tv.BoundingBoxes(boxes, format="XYXY", **canvas),
        "whole": tv.BoundingBoxes(boxes.int(), format="CXCYWH", **canvas),
        "labels": torch.tensor([3, 1, 2]), "mask": tv.Mask(mask), "name": "x",
    }
    made["turned"] = (
        tv.Image(made["floats"]), {"labels": torch.tensor([0, 1])},
        [tv.BoundingBoxes(turned, format="CXCYWHR", **canvas),
         tv.BoundingBoxes(turned, format="XYWHR", clamping_mode="hard", **canvas)],
        tv.KeyPoints(points, **canvas), tv.KeyPoints(points.view(1, 3, 2).int(), **canvas))
    made["marks"] = [
        made["pil"], tv.BoundingBoxes(boxes, format="XYWH", clamping_mode=None, **canvas),
        tv.Mask(mask[0])]
    made["video"] = tv.Video(torch.stack([raw, raw.flip(-1), raw.flip(-2)]))
    made["labelled"] = (tv.Image(made["batch"].float()), torch.tensor([1, 3]))
    return made


def sample_facts(torch, names, text, number):
    """Like `transform_facts`, for samples."""
    transform = eval(text, {"torch": torch, **names})
    shown = "" if "ambda" in text or "dtype" in text.lower() else repr(transform)
    made = {"repr": shown}
    for kind, sample in samples(torch, names["tv"]).items():
        made[kind] = outcome(torch, lambda sample=sample: transform(sample), number)
    return made
