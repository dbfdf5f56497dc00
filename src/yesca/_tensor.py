"""The tensor: methods on the slots of `core.tensor_base`. The operators come from the records."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterator
from functools import partial
from typing import TYPE_CHECKING, Any

from . import _access, _indexing
from ._tensor_meta import TensorMeta, promise
from .autograd import calls, tape  # noqa: F401 - `tape` records operator calls
from .autograd.handle import GradFn, grad_fn_of
from .autograd.inplace import gradient_edge
from .autograd.node import Node
from .base.naming import public_module
from .core import registry
from .core.devices import CPU, Device
from .core.dtypes import FLOATING, DType
from .core.spec import Size, Spec
from .core.storage import UntypedStorage
from .core.tensor_base import MOVED, Extra, TensorBase, Version
from .core.views import wrap_dim
from .dispatch import functions, protocol
from .dispatch.call import OPERATORS
from .dispatch.inplace import check_captured, settle
from .dispatch.shortcuts import note_read
from .dispatch.state import STATE, refuse_in_transforms
from .operators import families, record
from .operators.argument_types import whole


class Tensor(TensorBase, metaclass=TensorMeta):
    """An n-dimensional array of one dtype that remembers how it was computed.

    >>> import yesca as torch
    >>> torch.tensor([[1, 2], [3, 4]]).sum(dim=0)
    tensor([4, 6])
    """

    _storage: UntypedStorage
    _spec: Spec
    _offset: int
    _counter: Version | None
    _requires_grad: bool
    _node: Node | None
    _output_nr: int
    _grad: Tensor | None
    _extra: Extra | None

    def __new__(cls, *args: Any, device: Any = None) -> Tensor:
        return _access.construct(cls, args, device)

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        pass

    if TYPE_CHECKING:
        def __getattr__(self, name: str) -> Any:
            """Methods of the records, which the class promises."""

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        protocol.adopt(cls, Tensor)

    @classmethod
    def __torch_function__(cls, func: Callable[..., Any], types: Any, args: tuple[Any, ...] = (),
                           kwargs: dict[str, Any] | None = None) -> Any:
        return protocol.default(cls, func, types, args, kwargs)

    def as_subclass(self, cls: type) -> Any:
        """The same tensor as an instance of a subclass of Tensor: memory and tape are shared."""
        return _access.as_subclass(self, cls)

    @classmethod
    def _make_subclass(cls, class_: type, data: Tensor, require_grad: bool = False) -> Any:
        made = _bare(class_)
        made._storage, made._spec, made._offset = data._storage, data._spec, data._offset
        made._counter = None if data._counter is None else Version(STATE.birth)
        made._requires_grad = False
        if require_grad:
            if not (made.dtype.is_floating_point or made.dtype.is_complex):
                raise RuntimeError(
                    "Only Tensors of floating point and complex dtype can require gradients")
            _access.require_gradient(made, True)  # not a function called on the subclass
        return made

    # ---- what it is ----------------------------------------------------------------------

    @property
    def shape(self) -> Size:
        return self._spec.shape

    @property
    def dtype(self) -> DType:
        return self._spec.dtype

    @property
    def device(self) -> Device:
        return self._spec.device

    @property
    def layout(self) -> Any:
        return _access.strided

    @property
    def ndim(self) -> int:
        return self._spec.ndim

    @property
    def itemsize(self) -> int:
        return self._spec.dtype.itemsize

    @property
    def nbytes(self) -> int:
        return self._spec.numel * self._spec.dtype.itemsize

    def dim(self) -> int:
        return self._spec.ndim

    ndimension = dim

    def size(self, dim: int | None = None) -> Any:
        shape = self._spec.shape
        return shape if dim is None else shape[wrap_dim(whole("size", "dim", 1, dim), len(shape))]

    def stride(self, dim: int | None = None) -> Any:
        strides = self._spec.strides
        if dim is None:
            return strides
        return strides[wrap_dim(whole("stride", "dim", 1, dim), len(strides))]

    def numel(self) -> int:
        return self._spec.numel

    nelement = numel

    def storage_offset(self) -> int:
        note_read()  # not in the key of a plan
        return self._offset

    def element_size(self) -> int:
        return self._spec.dtype.itemsize

    def is_contiguous(self, memory_format: Any = None) -> bool:
        return _access.is_contiguous(self._spec, memory_format)

    def is_floating_point(self) -> bool:
        return self._spec.dtype.is_floating_point

    def is_complex(self) -> bool:
        return self._spec.dtype.is_complex

    def is_conj(self) -> bool:
        """Whether this is a conjugated view."""
        return self._spec.conj

    def is_neg(self) -> bool:
        """Whether this is a negated view."""
        return self._spec.neg

    def is_signed(self) -> bool:
        return self._spec.dtype.is_signed

    def is_inference(self) -> bool:
        return self._counter is None

    def is_shared(self) -> bool:
        return self._storage.is_shared()

    def is_pinned(self, device: Any = None) -> bool:
        return False

    def is_set_to(self, tensor: Tensor) -> bool:
        mine, other = self._spec, tensor._spec
        return (self._storage is tensor._storage and self._offset == tensor._offset
                and (mine.dtype, mine.shape, mine.strides)
                == (other.dtype, other.shape, other.strides))

    is_sparse = is_quantized = is_cuda = is_mps = is_xpu = is_mkldnn = is_sparse_csr = False
    is_nested = _is_param = False

    @property
    def is_cpu(self) -> bool:
        return self._spec.device is CPU

    @property
    def is_meta(self) -> bool:
        return self._spec.device is not CPU

    def get_device(self) -> int:
        return -1

    @property
    def name(self) -> str | None:
        return self._extra.name if self._extra is not None else None

    # ---- memory --------------------------------------------------------------------------

    def untyped_storage(self) -> UntypedStorage:
        note_read()
        return self._storage

    def storage(self) -> Any:
        from .typed_storages import storage_of

        return storage_of(self)

    def data_ptr(self) -> int:
        note_read()
        if not self._spec.numel:
            return 0
        return self._storage.data_ptr() + self._offset * self._spec.dtype.itemsize

    def __reduce_ex__(self, protocol: Any) -> Any:
        from ._rebuild import reduce_tensor

        return reduce_tensor(self, protocol)

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        return _access.deep_copy(self, memo)

    # ---- the tape ------------------------------------------------------------------------

    @property
    def requires_grad(self) -> bool:
        if self._extra is not None:
            settle(self)
        return self._requires_grad

    @requires_grad.setter
    def requires_grad(self, value: bool) -> None:
        if not isinstance(value, bool):
            raise RuntimeError("requires_grad must be a bool")
        _access.require_gradient(self, value, "floating point and complex")

    def requires_grad_(self, requires_grad: bool = True) -> Tensor:
        """Make this leaf collect gradients (or stop it)."""
        if not isinstance(requires_grad, bool):
            raise TypeError("requires_grad_(): argument 'requires_grad' (position 1) must be "
                            f"bool, not {type(requires_grad).__name__}")
        refuse_in_transforms("requires_grad_",
                             " (or perhaps using torch.autograd.functional.* APIs)")
        _access.require_gradient(self, requires_grad)
        return self

    @property
    def is_leaf(self) -> bool:
        note_read()
        return not self.requires_grad or gradient_edge(self) is self

    @property
    def _version(self) -> int:
        note_read()
        if self._counter is None:
            raise RuntimeError("Inference tensors do not track version counter.")
        return self._counter.value % MOVED

    @property
    def grad_fn(self) -> GradFn | None:
        return grad_fn_of(self)

    @property
    def output_nr(self) -> int:
        return self._output_nr

    @property
    def grad(self) -> Tensor | None:
        if self._grad is None and self._node is not None and not self.retains_grad:
            from .base.frames import warn

            warn(
                "The .grad attribute of a Tensor that is not a leaf Tensor is being accessed. Its "
                ".grad attribute won't be populated during autograd.backward(). If you indeed "
                "want the .grad field to be populated for a non-leaf Tensor, use .retain_grad() "
                "on the non-leaf Tensor.")
        return self._grad

    @grad.setter
    def grad(self, value: Tensor | None) -> None:
        if value is not None:
            _access.check_grad(self, value)
        self._grad = value

    @grad.deleter
    def grad(self) -> None:
        self._grad = None

    def backward(self, gradient: Any = None, retain_graph: bool | None = None,
                 create_graph: bool = False, inputs: Any = None) -> None:
        """Accumulate gradients into the leaves that this tensor was computed from."""
        calls.backward(self, gradient, retain_graph, create_graph, inputs=inputs)

    def retain_grad(self) -> None:
        """Keep the gradient of this non-leaf in `.grad`."""
        if not self.requires_grad:
            raise RuntimeError("can't retain_grad on Tensor that has requires_grad=False")
        refuse_in_transforms("retain_grad")
        if self.is_leaf or self.retains_grad:
            return
        self._more().retain = True
        extra = self._node.extra  # type: ignore[union-attr]
        if extra.retained is None:
            extra.retained = {}
        extra.retained[self._output_nr] = weakref.ref(self)

    @property
    def retains_grad(self) -> bool:
        return self._extra is not None and bool(self._extra.retain)

    def _more(self) -> Extra:
        if self._extra is None:
            self._extra = Extra()
        return self._extra

    def register_hook(self, hook: Callable[[Any], Any]) -> Any:
        """Call `hook(grad)` when the gradient of this tensor is known; it may replace it."""
        return _access.register_hook(self, hook)

    def register_post_accumulate_grad_hook(self, hook: Callable[[Any], Any]) -> Any:
        """Call `hook(self)` after a gradient was accumulated into this leaf."""
        return _access.register_after(self, hook)

    @property
    def data(self) -> Tensor:
        return _access.data(self)

    @data.setter
    def data(self, value: Tensor) -> None:
        _access.set_data(self, value)

    def detach(self) -> Tensor:
        """The same memory, off the tape."""
        return _access.detach(self)

    def detach_(self) -> Tensor:
        check_captured(self, "detach_")
        if self._is_view():
            raise RuntimeError(
                "Can't detach views in-place. Use detach() instead. If you are using "
                "DistributedDataParallel (DDP) for training, and gradient_as_bucket_view is set "
                "as True, gradients are views of DDP buckets, and hence detach_() cannot be called "
                "on these gradients. To fix this error, please refer to the "
                "Optimizer.zero_grad() function in torch/optim/optimizer.py as the solution.")
        if self._node is not None:
            _access.leave_tape(self)
        self._node, self._output_nr, self._requires_grad = None, 0, False
        return self

    def _is_view(self) -> bool:
        return self._extra is not None and self._extra.base is not None

    @property
    def _base(self) -> Tensor | None:
        return self._extra.base if self._extra is not None else None

    # ---- Python --------------------------------------------------------------------------

    def item(self) -> Any:
        """The value of a one-element tensor as a Python number."""
        if self._spec.numel != 1:
            raise RuntimeError(f"a Tensor with {self._spec.numel} elements cannot be converted "
                               "to Scalar")
        return _access.read_one(self)

    def tolist(self) -> Any:
        return _access.to_list(self)

    def numpy(self, *, force: bool = False) -> Any:
        return _access.to_numpy(self, force)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        return _access.as_array(self, dtype, copy)

    __array_priority__ = 1000

    def __array_wrap__(self, array: Any, context: Any = None, return_scalar: bool = False) -> Any:
        """What a NumPy function computed of this tensor, as a tensor."""
        return _access.of_array(array)

    def __dlpack__(self, **kwargs: Any) -> Any:
        from .dispatch.dlpack import exported

        return exported(self, **kwargs)

    def __dlpack_device__(self) -> tuple[Any, int]:
        from .dispatch.dlpack import device_of

        return device_of(self)

    def __repr__(self, *, tensor_contents: str | None = None) -> str:
        from ._printing import tensor_repr

        if STATE.derivative is not None and tensor_contents is None:
            return STATE.derivative.shown(self)  # type: ignore[no-any-return]
        tangent = STATE.forward.tangent(self) if STATE.forward is not None else None
        return tensor_repr(self, tensor_contents=tensor_contents, tangent=tangent)

    def __format__(self, spec: str) -> str:
        from ._printing import format_tensor

        return format_tensor(self, spec)

    def __bool__(self) -> bool:
        if self._spec.numel == 0:
            raise RuntimeError("Boolean value of Tensor with no values is ambiguous")
        if self._spec.numel > 1:
            raise RuntimeError("Boolean value of Tensor with more than one value is ambiguous")
        return bool(_access.read_one(self))

    def __float__(self) -> float:
        return float(_access.real_number(_access.single(self), "double"))

    def __int__(self) -> int:
        return int(_access.real_number(_access.single(self), "int64_t"))

    def __complex__(self) -> complex:
        return complex(_access.single(self))

    def __index__(self) -> int:
        if self._spec.dtype.category >= FLOATING or self._spec.numel != 1:
            raise TypeError("only integer tensors of a single element can be converted to an "
                            "index")
        return int(self.item())

    def __len__(self) -> int:
        if self._spec.ndim == 0:
            raise TypeError("len() of a 0-d tensor")
        return self._spec.shape[0]

    def __iter__(self) -> Iterator[Tensor]:
        if self._spec.ndim == 0:
            raise TypeError("iteration over a 0-d tensor")
        return iter(OPERATORS.unbind(self, 0))

    def __reversed__(self) -> Tensor:
        """The tensor with its first dimension in reversed order."""
        return self.flip(0) if self.dim() else self

    def __contains__(self, element: Any) -> bool:
        if isinstance(element, (TensorBase, int, float, complex)):
            return bool(OPERATORS.any(OPERATORS.eq(self, element)))
        raise RuntimeError(f"Tensor.__contains__ only supports Tensor or scalar, but you passed "
                           f"in a {type(element)}.")

    def __hash__(self) -> int:
        return id(self)

    def __dir__(self) -> list[str]:
        return sorted({*getattr(self, "__dict__", ()), *dir(type(self))})

    def __getitem__(self, index: Any) -> Any:
        return _indexing.get(self, index)

    def __delitem__(self, index: Any) -> None:
        raise TypeError("Tensor does not support deleting items")

    def __setitem__(self, index: Any, value: Any) -> None:
        _indexing.put(self, index, value)


Tensor.__module__ = public_module("torch")
_new = object.__new__


def _bare(class_: type) -> Any:
    made = _new(class_)
    made._requires_grad = False
    made._node = made._grad = made._extra = None
    made._output_nr = 0
    return made


def wrap(storage: UntypedStorage, spec: Spec, offset: int) -> Tensor:
    """A tensor from its parts, off the tape, with a version counter of its own."""
    made = _new(Tensor)
    made._storage = storage
    made._spec = spec
    made._offset = offset
    made._counter = None if STATE.inference else Version(STATE.birth)
    made._requires_grad = False
    made._node = made._grad = made._extra = None
    made._output_nr = 0
    return made


registry.wrap = wrap


from . import _tensor_methods  # noqa: E402 - adds methods to the class above

_tensor_methods.install(Tensor)
_tensor_methods.install_builtins(Tensor, Node)
promise(Tensor, (*families.known_names(), *functions.METHODS))
record.followers.append(partial(promise, Tensor))  # of families that are not in the package
