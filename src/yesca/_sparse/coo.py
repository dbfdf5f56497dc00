"""The sparse tensor: places and values, and what all files of this room need of them.

A sparse tensor of shape (S1, ..., Ss, D1, ..., Dd) has `places`, int64 of shape (s, nnz), and
`entries` of shape (nnz, D1, ..., Dd). Places may come twice: the value there is the sum.

It is of a class below Tensor, so that functions which are not known here are refused, as PyTorch
refuses them, at no cost for other tensors. The slots of the tensor itself tell shape and dtype
only; they lie on the meta device, where nothing can be read. The tape knows the entries: whatever
is computed here is computed of them with the operators of dense tensors, and so are gradients. The
gradient of a sparse tensor is sparse, with its places.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from .._tensor import Tensor
from ..autograd import calls
from ..base.errors import refusal
from ..core import layouts
from ..core.devices import META, Device
from ..core.dtypes import SCALAR_NAMES, bool_, int64
from ..core.spec import spec
from ..core.views import wrap_dim
from ..dispatch.call import OPERATORS as ops
from ..dispatch.call import make_meta


class SparseTensor(Tensor):
    """A tensor of layout `torch.sparse_coo`. Made by `torch.sparse_coo_tensor` and `to_sparse`.

    _places   int64 (sparse dimensions, nnz)
    _entries  (nnz, *dense dimensions): where the tape knows this tensor
    _unique   whether the places are sorted, and each is there once
    """

    __slots__ = ("_places", "_entries", "_unique")
    _places: Any
    _entries: Any
    _unique: bool
    is_sparse = True
    is_meta = False

    @classmethod
    def __torch_function__(cls, func: Callable[..., Any], types: Any, args: tuple[Any, ...] = (),
                           kwargs: dict[str, Any] | None = None) -> Any:
        from .calls import handle

        return handle(func, args, kwargs or {})

    @property
    def layout(self) -> Any:
        return layouts.sparse_coo

    @property
    def device(self) -> Device:
        return self._entries.device  # type: ignore[no-any-return]

    @property
    def is_cpu(self) -> bool:
        return bool(self._entries.is_cpu)

    @property
    def nbytes(self) -> int:
        raise RuntimeError(
            "nbytes is not defined for sparse tensors.  If you want the size of the constituent "
            "tensors, add the nbytes of the indices and values.  If you want the size of the  "
            "equivalent dense tensor, multiply numel() by element_size()")

    # ---- the tape: that of the entries -------------------------------------------------------

    @property
    def requires_grad(self) -> bool:
        return bool(self._entries.requires_grad)

    @requires_grad.setter
    def requires_grad(self, value: bool) -> None:
        self.requires_grad_(value)

    def requires_grad_(self, requires_grad: bool = True) -> SparseTensor:
        """Make this leaf collect gradients (or stop it)."""
        if requires_grad is not self._entries.requires_grad:
            entries = self._entries
            if entries.is_leaf:  # another sparse tensor may have the same ones
                entries = entries.detach()
            self._entries = entries.requires_grad_(requires_grad)
        return self

    @property
    def is_leaf(self) -> bool:
        return bool(self._entries.is_leaf)

    @property
    def grad_fn(self) -> Any:
        return self._entries.grad_fn

    @property
    def grad(self) -> Any:
        return self._with(self._entries.grad)

    @grad.setter
    def grad(self, value: Any) -> None:
        self._entries.grad = None if value is None else self._of_entries(value)

    @grad.deleter
    def grad(self) -> None:
        self._entries.grad = None

    @property
    def retains_grad(self) -> bool:
        return bool(self._entries.retains_grad)

    def retain_grad(self) -> None:
        """Keep the gradient of this non-leaf in `.grad`."""
        self._entries.retain_grad()

    def register_hook(self, hook: Callable[[Any], Any]) -> Any:
        """Call `hook(grad)` when the gradient is known, a sparse tensor; it may replace it."""
        def called(grad: Any) -> Any:
            changed = hook(self._with(grad))
            return None if changed is None else self._of_entries(changed)

        return self._entries.register_hook(called)

    def backward(self, gradient: Any = None, retain_graph: bool | None = None,
                 create_graph: bool = False, inputs: Any = None) -> None:
        """Accumulate gradients into the leaves that this tensor was computed from."""
        calls.backward(self, gradient, retain_graph, create_graph, inputs=inputs)

    def _of_entries(self, grad: Any) -> Any:
        """Of a gradient of this tensor, that of its entries."""
        from .moving import sparse_mask

        if isinstance(grad, SparseTensor) and grad._places is self._places:
            return grad._entries
        return sparse_mask(grad, self)._entries

    def _with(self, grad: Any) -> Any:
        """The gradient of the entries as that of this tensor."""
        return None if grad is None else like(self, grad)

    @property
    def data(self) -> SparseTensor:
        return like(self, self._entries.data)

    @data.setter
    def data(self, value: Any) -> None:
        if not isinstance(value, SparseTensor):
            raise RuntimeError("Attempted to call `variable.set_data(tensor)`, but `variable` and "
                               "`tensor` have incompatible tensor type.")
        self._entries.data = value._entries
        place(self, value._places, self._entries, tuple(value._spec.shape), value._unique)

    def detach(self) -> SparseTensor:
        """The same memory, off the tape."""
        return like(self, self._entries.detach())

    def detach_(self) -> SparseTensor:
        self._entries = self._entries.detach()
        return self

    # ---- Python --------------------------------------------------------------------------

    def __radd__(self, other: Any) -> Any:
        return ops.add(other, self)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        raise TypeError("can't convert Sparse layout tensor to numpy. Use Tensor.to_dense() first.")

    def __reduce_ex__(self, protocol: Any) -> Any:
        from .._rebuild import _rebuild_sparse_tensor

        data = self._places, self._entries.detach(), self._spec.shape, self._unique
        return _rebuild_sparse_tensor, (layouts.sparse_coo, data)

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        if id(self) not in memo:
            from .._access import deep_copy

            copied = [deep_copy(part, memo) for part in (self._places, self._entries)]
            memo[id(self)] = make(copied[0], copied[1], tuple(self._spec.shape), self._unique)
        return memo[id(self)]

    def __repr__(self, *, tensor_contents: str | None = None) -> str:
        from .._printing import sparse_repr

        text = sparse_repr(self, self._places, self._entries.detach())
        return f"Parameter containing:\n{text}" if self._is_param else text


# ---- making and changing -----------------------------------------------------------------------

def make(places: Any, entries: Any, size: Iterable[int], unique: bool) -> SparseTensor:
    """A sparse tensor of its parts, which are not checked; fewer than two places are sorted."""
    shape = spec(entries._spec.dtype, tuple(size), None, META)
    made: SparseTensor = Tensor._make_subclass(SparseTensor, make_meta(shape))
    made._places, made._entries = places, entries
    made._unique = unique or nnz(made) < 2
    return made


def like(x: SparseTensor, entries: Any) -> SparseTensor:
    """Other values at the same places."""
    return make(x._places, entries, x._spec.shape, x._unique)


def place(x: SparseTensor, places: Any, entries: Any, size: Iterable[int], unique: bool
          ) -> SparseTensor:
    """Let a sparse tensor have other parts, in place."""
    if x.is_leaf and x.requires_grad and not entries.requires_grad:  # it stays one
        entries = entries.detach().requires_grad_()
    x._spec = spec(entries._spec.dtype, tuple(size), None, META)
    x._places, x._entries = places, entries
    x._unique = unique or nnz(x) < 2
    if x._counter is not None:
        x._counter.value += 1
    return x


def empty(size: Iterable[int], sparse: int, like_entries: Any) -> SparseTensor:
    """No places at all: zeros. like_entries: a tensor of the dtype and device."""
    shape = tuple(size)
    kind = {"dtype": like_entries.dtype, "device": like_entries.device}
    return make(ops.zeros((sparse, 0), dtype=int64, device=kind["device"]),
                ops.zeros((0, *shape[sparse:]), **kind), shape, True)


def sibling(x: SparseTensor, places: Any, size: Iterable[int], unique: bool) -> SparseTensor:
    """The same values at other places, as a result of its own on the tape."""
    entries = x._entries
    return make(places, ops.alias(entries) if entries.requires_grad else entries, size, unique)


# ---- asking ------------------------------------------------------------------------------------

def nnz(x: SparseTensor) -> int:
    """How many places there are."""
    return int(x._places._spec.shape[1])


def sparse_dim(x: SparseTensor) -> int:
    """How many dimensions, the first ones, are sparse."""
    return int(x._places._spec.shape[0])


def dim_of(x: SparseTensor, dim: Any) -> int:
    """A dimension counted from the front."""
    return wrap_dim(dim, x._spec.ndim)


def parameters(x: SparseTensor) -> tuple[int, ...]:
    """The sizes of the sparse dimensions."""
    return tuple(x._spec.shape[:sparse_dim(x)])


def refused(name: str, repair: str = "to_dense() gives a tensor that every function takes."
            ) -> NotImplementedError:
    """The error for a function that sparse tensors have not got."""
    return refusal(name, "SparseCPU", repair)


def type_of(x: SparseTensor) -> str:
    """What `x.type()` gives."""
    return f"torch.sparse.{SCALAR_NAMES[x._spec.dtype]}Tensor"


# ---- places as numbers -------------------------------------------------------------------------

def numbered(places: Any, sizes: tuple[int, ...]) -> Any:
    """The number of each place, row by row: (nnz,)."""
    if not sizes:
        return ops.zeros((places._spec.shape[1],), dtype=int64, device=places.device)
    made = ops.select(places, 0, 0)
    for k, size in enumerate(sizes[1:], start=1):
        made = ops.add(ops.mul(made, size), ops.select(places, 0, k))
    return made


def located(numbers: Any, sizes: tuple[int, ...]) -> Any:
    """`numbered` undone: (dimensions, nnz)."""
    if len(sizes) == 1:
        return ops.unsqueeze(numbers, 0)
    rows = []
    for size in reversed(sizes):
        rows.append(ops.remainder(numbers, max(size, 1)))
        numbers = ops.div(numbers, max(size, 1), rounding_mode="floor")
    return ops.stack(rows[::-1]) if rows else ops.zeros((0, numbers._spec.shape[0]), dtype=int64,
                                                        device=numbers.device)


def cast(x: Any, dtype: Any) -> Any:
    """The numbers in another dtype; the tensor itself where it is the same."""
    return x if x._spec.dtype is dtype else ops.to_dtype(x, dtype)


def summed(entries: Any, groups: Any, count: int) -> Any:
    """The sum of the rows of each group: (count, ...)."""
    dtype = entries.dtype
    if dtype is bool_:
        wide = summed(cast(entries, int64), groups, count)
        return ops.ne(wide, 0)
    zeros = ops.zeros((count, *entries.shape[1:]), dtype=dtype, device=entries.device)
    return ops.index_add(zeros, 0, groups, entries)


def labelled(made: Any, name: str) -> Any:
    """A result just computed, whose node shows PyTorch's name of this operator."""
    if made._node is not None:
        made._node.extra.label = name
    return made


def coalesced(x: SparseTensor) -> SparseTensor:
    """Places sorted, each of them once, with the sums of their values."""
    if x._unique:
        return x
    sizes = parameters(x)
    if not sizes:
        total = ops.unsqueeze(ops.sum(x._entries, (0,), dtype=x.dtype), 0)
        return make(ops.narrow(x._places, 1, 0, 1), total, x._spec.shape, True)
    numbers, groups = ops.unique(numbered(x._places, sizes), return_inverse=True)
    entries = labelled(summed(x._entries, groups, numbers._spec.shape[0]), "CoalesceBackward0")
    return make(located(numbers, sizes), entries, x._spec.shape, True)


def dense(x: SparseTensor) -> Any:
    """All elements, as a dense tensor."""
    sizes = parameters(x)
    count = 1
    for size in sizes:
        count *= size
    made = summed(x._entries, numbered(x._places, sizes), count)
    return labelled(ops.reshape(made, tuple(x._spec.shape)), "ToDenseBackward0")


def found(wanted: Any, numbers: Any) -> tuple[Any, Any]:
    """Where each wanted number stands among sorted ones, and whether it is there."""
    count = numbers._spec.shape[0]
    if not count:
        return ops.zeros_like(wanted), ops.zeros_like(wanted, dtype=bool_)
    at = ops.clamp(ops.searchsorted(numbers, wanted), max=count - 1)
    return at, ops.eq(ops.index_select(numbers, 0, at), wanted)


def gathered(x: Any, places: Any) -> Any:
    """The elements of a dense tensor at the places: (nnz, *other dimensions)."""
    count = places._spec.shape[0]
    if count == 1:
        return ops.index_select(x, 0, ops.select(places, 0, 0))
    if not count:
        return x.expand(places._spec.shape[1], *x.shape)
    return x[ops.unbind(places, 0)]


def ranges(first: Any, counts: Any) -> tuple[Any, Any]:
    """Ranges laid end to end: the number of each element's range, and the element.

    first, counts: (n,), where each range begins and how long it is.
    """
    owner = ops.repeat_interleave(ops.arange(counts.shape[0], device=counts.device), counts)
    before = ops.sub(ops.cumsum(counts, 0), counts)
    inside = ops.sub(ops.arange(owner.shape[0], device=counts.device),
                     ops.index_select(before, 0, owner))
    return owner, ops.add(ops.index_select(first, 0, owner), inside)
