"""The slots of a tensor. Machine code reads them at fixed offsets; methods are added above."""

from __future__ import annotations

import weakref
from typing import Any


#: Added to a counter when its tensor left its memory (`x.data = y`) or the tape (`detach_`): what
#: the tape has kept must then be looked at again. The number below it is what users see.
MOVED = 1 << 40
#: Above these are the bits that tell in which derivative of `func` the first tensor was made.
BIRTH = MOVED << 10


class Version:
    """A version counter, shared by a tensor, its views and its `detach()`.

    moved  set once one of them has left its memory (`x.data = y`): which memory it looks at now,
           and what it looked at before, held weakly
    """

    __slots__ = ("value", "moved")

    def __init__(self, value: int = 0) -> None:
        self.value = value

    def move(self) -> None:
        """Make what the tape has kept of the tensor be looked at again."""
        inside = self.value % BIRTH
        self.value += (inside + MOVED) % BIRTH - inside


class Moved:
    """Where a tensor is that has left its memory, for what has kept it.

    place   storage, spec and offset
    before  the same of earlier places; storages are held weakly
    origin  its place on the tape, as `place_on_tape` tells it
    """

    __slots__ = ("place", "before", "origin")

    def __init__(self, origin: Any) -> None:
        self.origin, self.before, self.place = origin, [], None  # type: ignore[var-annotated]

    def leave(self, storage: Any, made: Any, offset: int) -> None:
        """Note a place that the tensor is about to leave."""
        self.before = [one for one in self.before if one[0]() is not None]
        self.before.append((weakref.ref(storage), made, offset))

    def was_at(self, storage: Any, made: Any, offset: int) -> bool:
        """Whether the tensor once was at this place."""
        return any(one[0]() is storage and one[1] is made and one[2] == offset
                   for one in self.before)


def place_on_tape(edge: Any, port: int) -> tuple[int, int]:
    """What tells the tensors apart that share a counter."""
    return (0, 0) if edge is None else (id(edge), port)


class TensorBase:
    """Storage + spec + offset, a version counter, and the tape's slots.

    _storage       UntypedStorage, shared by views
    _spec          interned Spec: dtype, shape, strides
    _offset        elements from the storage's start
    _counter       Version, or None for inference tensors
    _requires_grad the leaf's own flag, or that of a result on the tape
    _node          tape node that computed it, None for a leaf
    _output_nr     which result of that node it is
    _grad          accumulated gradient, or None
    _extra         None, or the rare rest: base and replay of a view, hooks, retain_grad, name
    """

    __slots__ = (
        "_storage", "_spec", "_offset", "_counter", "_requires_grad", "_node", "_output_nr",
        "_grad", "_extra",
    )

    def _all_examples(self) -> Any:
        """What stands behind one example of a batch (`func/_batched.py`), else the tensor itself:
        for checks that look at numbers of all."""
        return self


def address_of(tensor: Any) -> int:
    """Where a tensor's first element lies.

    Raises RuntimeError if its storage has been shrunk and no longer holds all elements.
    """
    storage, made = tensor._storage, tensor._spec
    start: int = tensor._offset * made.dtype.itemsize
    if made.numel and start + made.nbytes > storage._nbytes:
        raise RuntimeError(
            "The tensor has a non-zero number of elements, but its data is not allocated yet. Its "
            f"storage has been shrunk to {storage._nbytes} bytes, of which it needs "
            f"{start + made.nbytes}; tensor.untyped_storage().resize_(...) gives them back")
    return int(storage._address) + start


class Extra:
    """What few tensors have. For a view, the subclass says how it came about.

    base      for a view: the tensor that it is a view of (never itself a view)
    seen      for a view: the version at which its place in the tape was last settled
    hooks     gradient hooks of this tensor, by handle number
    retain    whether a non-leaf keeps its gradient
    name      what `Tensor.name` says
    after     hooks that run once a leaf's gradient has been accumulated
    takes     dtypes of a leaf's gradient: (dtype,), (None,) for any, None for the leaf's own
    """

    __slots__ = ("base", "seen", "hooks", "retain", "name", "after", "takes")

    def __init__(self) -> None:
        self.base = self.seen = self.hooks = self.retain = self.name = self.after = None
        self.takes = None


_AMBIGUOUS = (
    "Given that this use case is ambiguous and error-prone, it is forbidden. You can clarify your "
    "code by moving both the view and the inplace either both inside the {0} block (if you don't "
    "want the inplace to be tracked) or both outside (if you want the inplace to be tracked).")


class BarredView(Extra):
    """Of a view for which the tape could not follow a write.

    advice  what a refusal says of it
    mode    the mode in which it was made, if that is the reason
    """

    __slots__ = ()
    advice = mode = ""


class NoGradView(BarredView):
    """Of a view made while nothing was recorded."""

    __slots__ = ()
    advice, mode = _AMBIGUOUS.format("no_grad"), "no_grad"


class InferenceView(BarredView):
    """Of a view of a normal tensor made in inference mode."""

    __slots__ = ()
    advice, mode = _AMBIGUOUS.format("inference_mode"), "inference"


class OneOfSeveral(BarredView):
    """Of one of the views that a single call has made."""

    __slots__ = ()
    advice = ("This view is the output of a function that returns multiple views. Such functions "
              "do not allow the output views to be modified inplace. You should replace the "
              "inplace operation by an out-of-place one.")


class CustomView(BarredView):
    """Of a view that a custom Function has given."""

    __slots__ = ()
    advice = ("This view was created inside a custom Function (or because an input was returned "
              "as-is) and the autograd logic to handle view+inplace would override the custom "
              "backward associated with the custom Function, leading to incorrect gradients. This "
              "behavior is forbidden. You can fix this by cloning the output of the custom "
              "Function.")
