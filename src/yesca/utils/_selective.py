"""Selective checkpoints: which operators' results are kept rather than computed again.

Two dispatch modes, for the two runs of a checkpoint. The first asks the policy about each operator
and keeps what it says; the second gives the kept results back, in the order of the calls.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from enum import Enum
from typing import Any

from .._ops import OpOverload, ops
from .._tensor import Tensor
from ..base.naming import lives_in
from ..core.dtypes import COMPLEX, FLOATING
from ._python_dispatch import TorchDispatchMode
from ._pytree import tree_map

_HOME = "torch.utils.checkpoint"


@lives_in(_HOME)
class CheckpointPolicy(Enum):
    """What happens to an operator's result: kept, computed again, or kept on the CPU (where all of
    yesca's tensors are, so that this is to keep it). `MUST_` binds other parts of a system too."""

    MUST_SAVE = 0
    PREFER_SAVE = 1
    MUST_RECOMPUTE = 2
    PREFER_RECOMPUTE = 3
    MUST_CPU_OFFLOAD = 4
    PREFER_CPU_OFFLOAD = 5


_RECOMPUTED = (CheckpointPolicy.MUST_RECOMPUTE, CheckpointPolicy.PREFER_RECOMPUTE)


@lives_in(_HOME)
class SelectiveCheckpointContext:
    """What a policy is told besides the operator and its arguments.

    is_recompute: always False, as policies are asked in the first run only.
    op_output: what the operator gave.
    """

    def __init__(self, *, is_recompute: bool, op_output: Any = None) -> None:
        self.is_recompute = is_recompute
        self.op_output = op_output


#: Operators that no policy is asked about.
SAC_IGNORED_OPS = {ops.aten.detach.default}


class _Kept:
    """A result as it was when it was kept."""

    def __init__(self, value: Any, off_tape: bool) -> None:
        tensor = isinstance(value, Tensor)
        if tensor and (off_tape or value.dtype.category in (FLOATING, COMPLEX)):
            value = value.detach()
        self.value = value
        self.version = value._version if tensor else None

    def get(self, mutable: bool) -> Any:
        """The value; RuntimeError where it was written since."""
        if self.version is not None and self.value._version != self.version and not mutable:
            raise RuntimeError("Tensor cached during selective activation checkpoint has been "
                               f"mutated: it was kept at version {self.version} and is at "
                               f"{self.value._version} now. Clone it before it is written, or "
                               "pass allow_cache_entry_mutation=True")
        return self.value


class _First(TorchDispatchMode):
    """Runs operators, and keeps the results that the policy wants: by operator, then by number."""

    def __init__(self, policy: Callable[..., Any]) -> None:
        super().__init__()
        self.policy = policy
        self.kept: dict[Any, dict[int, Any]] = {}
        self.counts: dict[Any, int] = {}

    def __torch_dispatch__(self, func: Any, types: tuple[type, ...], args: tuple[Any, ...] = (),
                           kwargs: dict[str, Any] | None = None) -> Any:
        kwargs = kwargs or {}
        made = func(*args, **kwargs)
        if func in SAC_IGNORED_OPS:
            return made
        number = self.counts[func] = self.counts.get(func, -1) + 1
        context = SelectiveCheckpointContext(is_recompute=False, op_output=made)
        if _keeps(self.policy(context, func, *args, **kwargs)):
            aliases = getattr(func, "is_view", False)
            self.kept.setdefault(func, {})[number] = tree_map(lambda v: _Kept(v, aliases), made)
        return made


class _Second(TorchDispatchMode):
    """Runs the operators whose results were not kept, and gives the others'."""

    def __init__(self, first: _First, mutable: bool) -> None:
        super().__init__()
        self.kept, self.mutable = first.kept, mutable
        self.counts: dict[Any, int] = {}

    def __enter__(self) -> Any:
        self.counts = {}
        return super().__enter__()

    def __torch_dispatch__(self, func: Any, types: tuple[type, ...], args: tuple[Any, ...] = (),
                           kwargs: dict[str, Any] | None = None) -> Any:
        if func in SAC_IGNORED_OPS:
            return func(*args, **(kwargs or {}))
        number = self.counts[func] = self.counts.get(func, -1) + 1
        kept = self.kept.get(func, {})
        if number not in kept:
            return func(*args, **(kwargs or {}))
        made, kept[number] = kept[number], None
        if made is None:
            raise RuntimeError("Trying to backward an extra time. You are only allowed to backward "
                               "once on any region computed under selective activation checkpoint.")
        return tree_map(lambda v: v.get(self.mutable), made)


def _keeps(policy: Any) -> bool:
    """Whether a policy's answer is to keep the result; True and False are answers too."""
    if isinstance(policy, bool):
        return policy
    return policy not in _RECOMPUTED


@lives_in(_HOME)
def create_selective_checkpoint_contexts(
        policy_fn_or_list: Callable[..., Any] | Sequence[Any],
        allow_cache_entry_mutation: bool = False) -> tuple[Any, Any]:
    """The two contexts of a checkpoint that keeps the results of some operators.

    Args:
        policy_fn_or_list: the operators whose results are kept, or a function of a
            SelectiveCheckpointContext, the operator and its arguments that gives a
            CheckpointPolicy.
        allow_cache_entry_mutation: whether kept results may be written before they are used.

    Raises TypeError for what is neither, ValueError for a list of other things than overloads of
    operators. Source: https://docs.pytorch.org/docs/stable/checkpoint.html

    >>> import functools
    >>> import yesca as torch
    >>> from yesca.utils.checkpoint import checkpoint, create_selective_checkpoint_contexts
    >>> x = torch.ones(2, 2, requires_grad=True)
    >>> contexts = functools.partial(create_selective_checkpoint_contexts,
    ...                              [torch.ops.aten.mm.default])
    >>> made = checkpoint(lambda x: (x @ x).exp(), x, use_reentrant=False, context_fn=contexts)
    >>> made.sum().backward()
    >>> x.grad
    tensor([[29.5562, 29.5562],
            [29.5562, 29.5562]])
    """
    policy: Any = policy_fn_or_list
    if isinstance(policy_fn_or_list, (list, tuple)):
        for one in policy_fn_or_list:
            if not isinstance(one, OpOverload):
                hint = " Name an overload: torch.ops.aten.mm.default, not torch.ops.aten.mm"
                raise ValueError("Expected op in `op_list` to be an OpOverload but got: "
                                 f"{one} of type {type(one)}.{hint}")
        listed = frozenset(policy_fn_or_list)

        def policy(context: Any, op: Any, *args: Any, **kwargs: Any) -> CheckpointPolicy:
            return CheckpointPolicy.MUST_SAVE if op in listed else \
                CheckpointPolicy.PREFER_RECOMPUTE
    elif not callable(policy_fn_or_list):
        raise TypeError("policy_fn_or_list must be either a function or a list of ops.")
    first = _First(policy)
    return first, _Second(first, allow_cache_entry_mutation)
