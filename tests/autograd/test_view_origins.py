"""Views that the tape cannot follow: what is said of a write to them, or to what they show."""

import contextlib

import pytest

import yesca as torch

MODES = {"no_grad": torch.no_grad, "inference": torch.inference_mode}
MOVING = ("You can clarify your code by moving both the view and the inplace either both inside "
          "the {0} block (if you don't want the inplace to be tracked) or both outside (if you "
          "want the inplace to be tracked).")
SEVERAL = ("This view is the output of a function that returns multiple views. Such functions do "
           "not allow the output views to be modified inplace. You should replace the inplace "
           "operation by an out-of-place one.")
CUSTOM = ("This view was created inside a custom Function (or because an input was returned as-is) "
          "and the autograd logic to handle view+inplace would override the custom backward "
          "associated with the custom Function, leading to incorrect gradients. This behavior is "
          "forbidden. You can fix this by cloning the output of the custom Function.")
VIEWS = {
    "view": lambda x: x.view(1, 3), "select": lambda x: x[0], "expand": lambda x: x.expand(3),
    "split": lambda x: x.split(1)[0], "unbind": lambda x: x.unbind()[1],
    "view of a view": lambda x: x.view(1, 3)[0],
}


def sources():
    leaf = torch.arange(3.0, requires_grad=True)
    return {"leaf": leaf, "result": leaf * 1, "off the tape": torch.arange(3.0)}


def refusal(function):
    with pytest.raises(RuntimeError) as caught:
        function()
    return str(caught.value)


def write(view):
    return view.mul_(torch.tensor(2.0, requires_grad=True))


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("source", ["leaf", "result", "off the tape"])
@pytest.mark.parametrize("kind", VIEWS)
def test_mode(kind, source, mode):
    x = sources()[source]
    with MODES[mode]():
        view = VIEWS[kind](x)
    where, named = ("in normal mode", "inference_mode") if mode == "inference" \
        else ("with grad mode enabled", "no_grad")
    text = refusal(lambda: write(view))
    start = f"A view was created in {mode} mode and "
    assert text.startswith(f"{start}is being modified inplace {where}. Given that this use case")
    assert text.endswith(MOVING.format(named))
    if source == "off the tape":
        return
    with torch.no_grad():
        view.zero_()
    text = refusal(lambda: view.grad_fn)
    assert text.startswith(
        f"{start}its base or another view of its base has been modified inplace {where}. Given")
    assert refusal(lambda: view * 2) == text
    assert refusal(lambda: view.grad_fn) == text


def test_a_base_written_since():
    x = torch.ones(3, requires_grad=True) * 1
    with torch.no_grad():
        view = x.view(3)
    assert view.grad_fn is None and view.requires_grad
    x.mul_(2)
    assert refusal(lambda: view.grad_fn).startswith("A view was created in no_grad mode and its "
                                                    "base or another view of its base has been")
    y = torch.ones(3)
    with torch.no_grad():
        view = y.view(3)
    y.mul_(torch.ones(3, requires_grad=True))
    assert refusal(lambda: view.grad_fn).startswith("A view was created in no_grad mode and its")


def test_written_where_it_was_made():
    x = torch.ones(3, requires_grad=True)
    with torch.no_grad():
        view = x.view(1, 3)
        view.mul_(2)
        x.split(1)[0].mul_(2)
    assert x.tolist() == [4.0, 2.0, 2.0]
    with torch.no_grad():
        view = torch.ones(2).view(2)
    assert view.mul_(2).tolist() == [2.0, 2.0]


@pytest.mark.parametrize("name, pieces", [
    ("Split", lambda x: x.split(1)), ("Split", lambda x: x.split(3)),
    ("SplitWithSizes", lambda x: x.split([2, 1])), ("Split", lambda x: x.chunk(3)),
    ("Unbind", lambda x: x.unbind()), ("Unbind", lambda x: tuple(x)),
])
def test_several(name, pieces):
    x = torch.arange(3.0, requires_grad=True)
    for source in (x, x * 1):
        last = len(pieces(source)) - 1
        view = pieces(source)[last]
        text = refusal(lambda view=view: view.mul_(2))
        assert text == (
            f"Output {last} of {name} is a view and is being modified inplace. {SEVERAL}")
        part = view.view(-1)
        assert refusal(lambda part=part: part.mul_(2)) == (
            f"Output 0 of View is a view and is being modified inplace. {SEVERAL}")
        with torch.no_grad():
            source.add_(0)
        assert refusal(lambda view=view: view.grad_fn) == (
            f"Output {last} of {name} is a view and its base or another view of its base has been "
            f"modified inplace. {SEVERAL}")
    view = pieces(torch.arange(3.0))[0]
    assert refusal(lambda: write(view)) == ("A view was created in no_grad mode and is being "
                                            f"modified inplace with grad mode enabled. {SEVERAL}")
    assert pieces(torch.arange(3.0))[0].mul_(2).sum() >= 0


@pytest.mark.parametrize("name", ["tensor_split", "hsplit"])
def test_slices_one_by_one(name):
    x = torch.arange(4.0, requires_grad=True)
    y = x * 1
    first, second = getattr(y, name)(2)
    assert first.grad_fn.name() == second.grad_fn.name() == "SliceBackward0"
    second.mul_(3)
    y.sum().backward()
    assert x.grad.tolist() == [1.0, 1.0, 3.0, 3.0]
    parts = torch.arange(7.0).tensor_split(3)
    assert [p.tolist() for p in parts] == [[0.0, 1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]


def functions():
    class Seen(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x.view(3)

        @staticmethod
        def backward(ctx, grad):
            return grad

    class Same(Seen):
        @staticmethod
        def forward(ctx, x):
            return x

    class Halves(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x[:1], x[1:]

        @staticmethod
        def backward(ctx, a, b):
            return torch.cat([a, b])

    return {"Seen": (Seen.apply, CUSTOM), "Same": (Same.apply, CUSTOM),
            "Halves": (lambda x: Halves.apply(x)[0], SEVERAL)}


@pytest.mark.parametrize("name", ["Seen", "Same", "Halves"])
def test_custom_function(name):
    function, advice = functions()[name]
    view = function(torch.ones(3, requires_grad=True) * 1)
    assert refusal(lambda: view.mul_(2)) == (
        f"Output 0 of {name} is a view and is being modified inplace. {advice}")
    part = view.view(1, -1)
    assert refusal(lambda: part.mul_(2)) == (
        f"Output 0 of View is a view and is being modified inplace. {advice}")
    source = torch.ones(3, requires_grad=True) * 1
    view = function(source)
    source.mul_(2)
    assert refusal(lambda: view.grad_fn) == (
        f"Output 0 of {name} is a view and its base or another view of its base has been modified "
        f"inplace. {advice}")


def test_both_paths_agree():
    """The first call of a kind is made in Python, later ones by the builtin."""
    x = torch.ones(4, requires_grad=True) * 1
    texts = []
    for _ in range(3):
        with torch.no_grad():
            view = x.view(2, 2)[0]
        texts.append((refusal(lambda view=view: view.mul_(2)),
                      refusal(lambda: x.view(2, 2).unbind(1)[1].mul_(2))))
    assert len(set(texts)) == 1
    with contextlib.ExitStack() as stack:
        stack.enter_context(torch.no_grad())
        stack.enter_context(torch.enable_grad())
        x.view(2, 2)[0].mul_(2)
