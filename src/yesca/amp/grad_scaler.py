"""`GradScaler`: loss scaling, so that small float16 gradients do not vanish.

The loss is multiplied by a scale before backward; the gradients are divided by it before the
optimizer sees them. A step whose gradients are not finite is left out and the scale shrinks;
after `growth_interval` good steps in a row it grows (Micikevicius et al., Mixed Precision
Training, 2018).
"""

from __future__ import annotations

import inspect
from collections import defaultdict
from collections.abc import Iterable
from enum import Enum
from typing import Any

from ..base.frames import warn
from .. import functional as ops
from .._tensor import Tensor
from ..autograd.modes import no_grad
from ..base.naming import lives_in
from ..core.dtypes import DType, float16, float32, int32

__all__ = ["OptState", "GradScaler"]


@lives_in("torch.amp.grad_scaler")
class OptState(Enum):
    """How far an optimizer is within one iteration."""

    READY = 0
    UNSCALED = 1
    STEPPED = 2


def _refresh_per_optimizer_state() -> dict[str, Any]:
    return {"stage": OptState.READY, "found_inf_per_device": {}}


@lives_in("torch.amp.grad_scaler")
class GradScaler:
    """Scales losses, unscales gradients, skips steps that overflowed.

    Args:
        device: `"cpu"`; with `"cuda"` and no CUDA there the scaler is disabled, with a warning.
        init_scale: the first scale.
        growth_factor: what the scale is multiplied by after `growth_interval` good steps.
        backoff_factor: what it is multiplied by after a step with infinite gradients.
        growth_interval: good steps in a row before the scale grows.
        enabled: a disabled scaler passes everything through.

    >>> import yesca as torch
    >>> weight = torch.ones(2, requires_grad=True)
    >>> optimizer = torch.optim.SGD([weight], lr=0.5)
    >>> scaler = torch.amp.GradScaler("cpu", init_scale=1024.0)
    >>> scaler.scale(weight.sum()).backward()
    >>> weight.grad
    tensor([1024., 1024.])
    >>> scaler.step(optimizer)
    >>> scaler.update()
    >>> weight.detach(), scaler.get_scale()
    (tensor([0.5000, 0.5000]), 1024.0)
    """

    def __init__(self, device: str = "cuda", init_scale: float = 2.0**16,
                 growth_factor: float = 2.0, backoff_factor: float = 0.5,
                 growth_interval: int = 2000, enabled: bool = True) -> None:
        self._device = device
        self._enabled = enabled
        if device == "cuda" and enabled:
            warn("torch.cuda.amp.GradScaler is enabled, but CUDA is not available.  "
                 "Disabling.")
            self._enabled = False
        if not self._enabled:
            return
        if growth_factor <= 1.0:
            raise AssertionError("The growth factor must be > 1.0.")
        if backoff_factor >= 1.0:
            raise AssertionError("The backoff factor must be < 1.0.")
        self._init_scale = init_scale
        self._scale: Any = None  # float32, made by the first scale()
        self._growth_factor = growth_factor
        self._backoff_factor = backoff_factor
        self._growth_interval = growth_interval
        self._init_growth_tracker = 0
        self._growth_tracker: Any = None  # int32: good steps since the scale changed
        self._per_optimizer_states: dict[int, dict[str, Any]] = defaultdict(
            _refresh_per_optimizer_state)

    def _check_scale_growth_tracker(self, funcname: str) -> tuple[Any, Any]:
        for name in ("_scale", "_growth_tracker"):
            if getattr(self, name) is None:
                raise AssertionError(
                    f"Attempted {funcname} but {name} is None.  This may indicate your script did "
                    "not use scaler.scale(loss or outputs) earlier in the iteration.")
        return self._scale, self._growth_tracker

    def _lazy_init_scale_growth_tracker(self, dev: Any) -> None:
        if self._growth_tracker is not None:
            raise AssertionError("_growth_tracker initialized before _scale")
        self._scale = ops.full((), self._init_scale, dtype=float32, device=dev)
        self._growth_tracker = ops.full((), self._init_growth_tracker, dtype=int32, device=dev)

    # ---- the loss ------------------------------------------------------------------------

    def scale(self, outputs: Any) -> Any:
        """`outputs` (a tensor, or an iterable of them, nested) times the scale.

        Raises:
            ValueError: something among them is no tensor.
        """
        if not self._enabled:
            return outputs
        if isinstance(outputs, Tensor):
            if self._scale is None:
                self._lazy_init_scale_growth_tracker(outputs.device)
            return outputs * self._scale
        if isinstance(outputs, Iterable):
            made = map(self.scale, outputs)
            return type(outputs)(made) if isinstance(outputs, (list, tuple)) else made
        raise ValueError("outputs must be a Tensor or an iterable of Tensors")

    # ---- the gradients -------------------------------------------------------------------

    def _unscale_grads_(self, optimizer: Any, inv_scale: Any, found_inf: Any,
                        allow_fp16: bool) -> dict[Any, Any]:
        """Multiply the gradients by inv_scale, in one launch a dtype; {device: found_inf}."""
        groups: dict[DType, list[Any]] = defaultdict(list)
        with no_grad():
            for group in optimizer.param_groups:
                for param in group["params"]:
                    if not isinstance(param, Tensor):
                        raise AssertionError("expected param to be torch.Tensor, got "
                                             f"{type(param).__name__}")
                    grad = param.grad
                    if grad is None:
                        continue
                    if not allow_fp16 and grad.dtype is float16:
                        raise ValueError("Attempting to unscale FP16 gradients.")
                    groups[grad.dtype].append(grad)
            for grads in groups.values():
                ops._amp_foreach_non_finite_check_and_unscale_(grads, found_inf, inv_scale)
        return {found_inf.device: found_inf} if groups else {}

    def unscale_(self, optimizer: Any) -> None:
        """Divide the gradients of an optimizer by the scale, before clipping for instance.

        Raises:
            RuntimeError: called twice between updates, or after `step`.
            ValueError: gradients in float16.
        """
        if not self._enabled:
            return
        self._check_scale_growth_tracker("unscale_")
        state = self._per_optimizer_states[id(optimizer)]
        if state["stage"] is OptState.UNSCALED:
            raise RuntimeError("unscale_() has already been called on this optimizer since the "
                               "last update().")
        if state["stage"] is OptState.STEPPED:
            raise RuntimeError("unscale_() is being called after step().")
        inv_scale = self._scale.double().reciprocal().float()
        found_inf = ops.full((), 0.0, dtype=float32, device=self._scale.device)
        state["found_inf_per_device"] = self._unscale_grads_(optimizer, inv_scale, found_inf,
                                                             False)
        state["stage"] = OptState.UNSCALED

    def _check_inf_per_device(self, optimizer: Any) -> dict[Any, Any]:
        """Look for infinities in an optimizer's gradients, and change nothing."""
        scale, _ = self._check_scale_growth_tracker("_check_inf_per_device")
        one = ops.full((), 1.0, dtype=float32, device=scale.device)
        found_inf = ops.full((), 0.0, dtype=float32, device=scale.device)
        state = self._per_optimizer_states[id(optimizer)]
        state["found_inf_per_device"] = self._unscale_grads_(optimizer, one, found_inf, True)
        return state["found_inf_per_device"]  # type: ignore[no-any-return]

    def _found_inf_per_device(self, optimizer: Any) -> dict[Any, Any]:
        found = self._per_optimizer_states[id(optimizer)]["found_inf_per_device"]
        return found  # type: ignore[no-any-return]

    # ---- the step ------------------------------------------------------------------------

    def _maybe_opt_step(self, optimizer: Any, optimizer_state: dict[str, Any], *args: Any,
                        **kwargs: Any) -> Any:
        if any(v.item() for v in optimizer_state["found_inf_per_device"].values()):
            return None
        return optimizer.step(*args, **kwargs)

    def step(self, optimizer: Any, *args: Any, **kwargs: Any) -> Any:
        """`optimizer.step(*args, **kwargs)` on unscaled gradients, if all of them are finite.

        Returns what the optimizer's step returns, or None where it was left out.

        Raises:
            RuntimeError: a closure was passed, or `step` was called since the last update.
        """
        if not self._enabled:
            return optimizer.step(*args, **kwargs)
        if "closure" in kwargs:
            raise RuntimeError("Closure use is not currently supported if GradScaler is enabled.")
        self._check_scale_growth_tracker("step")
        state = self._per_optimizer_states[id(optimizer)]
        if state["stage"] is OptState.STEPPED:
            raise RuntimeError("step() has already been called since the last update().")
        if getattr(optimizer, "_step_supports_amp_scaling", False):
            made = self._step_with_scale(optimizer, state, args, kwargs)
            state["stage"] = OptState.STEPPED
            return made
        if state["stage"] is OptState.READY:
            self.unscale_(optimizer)
        if not state["found_inf_per_device"]:
            raise AssertionError("No inf checks were recorded for this optimizer.")
        made = self._maybe_opt_step(optimizer, state, *args, **kwargs)
        state["stage"] = OptState.STEPPED
        return made

    def _step_with_scale(self, optimizer: Any, state: dict[str, Any], args: tuple[Any, ...],
                         kwargs: dict[str, Any]) -> Any:
        """The step of an optimizer that reads `grad_scale` and `found_inf` itself."""
        if "grad_scaler" in inspect.signature(optimizer.step).parameters:
            warn(
                "GradScaler is going to stop passing itself as a keyword argument to the passed "
                "optimizer. In the near future GradScaler registers `grad_scale: Tensor` and "
                "`found_inf: Tensor` to the passed optimizer and let the optimizer use them "
                "directly.", FutureWarning)
            return optimizer.step(*args, **kwargs, grad_scaler=self)
        if state["stage"] is OptState.READY:
            self._check_inf_per_device(optimizer)
        given = getattr(optimizer, "grad_scale", None)
        if state["stage"] is not OptState.UNSCALED:
            given = self._scale if given is None else self._scale * given
        optimizer.grad_scale = given
        optimizer.found_inf = sum(state["found_inf_per_device"].values())
        try:
            return optimizer.step(*args, **kwargs)
        finally:
            del optimizer.grad_scale
            del optimizer.found_inf

    def update(self, new_scale: Any = None) -> None:
        """Adjust the scale at the end of an iteration, or set it to `new_scale`.

        Raises:
            AssertionError: no optimizer was stepped, or `new_scale` is no float and no tensor
                of one element on the scaler's device.
        """
        if not self._enabled:
            return
        scale, tracker = self._check_scale_growth_tracker("update")
        if new_scale is None:
            found = [value for state in self._per_optimizer_states.values()
                     for value in state["found_inf_per_device"].values()]
            if not found:
                raise AssertionError("No inf checks were recorded prior to update.")
            ops._amp_update_scale_(scale, tracker, sum(found[1:], found[0]), self._growth_factor,
                                   self._backoff_factor, self._growth_interval)
        elif isinstance(new_scale, float):
            scale.fill_(new_scale)
        else:
            if (new_scale.device.type != self._device or new_scale.numel() != 1
                    or new_scale.requires_grad):
                raise AssertionError(
                    "new_scale should be a float or a 1-element torch.cuda.FloatTensor or "
                    "torch.FloatTensor with requires_grad=False.")
            scale.copy_(new_scale.reshape(()))
        self._per_optimizer_states = defaultdict(_refresh_per_optimizer_state)

    # ---- state ---------------------------------------------------------------------------

    def _get_scale_async(self) -> Any:
        return self._scale

    def get_scale(self) -> float:
        """The current scale; 1.0 for a disabled scaler."""
        if not self._enabled:
            return 1.0
        return self._init_scale if self._scale is None else float(self._scale.item())

    def get_growth_factor(self) -> float:
        """What the scale is multiplied by when it grows."""
        return self._growth_factor

    def set_growth_factor(self, new_factor: float) -> None:
        """Choose what the scale is multiplied by when it grows."""
        self._growth_factor = new_factor

    def get_backoff_factor(self) -> float:
        """What the scale is multiplied by when it shrinks."""
        return self._backoff_factor

    def set_backoff_factor(self, new_factor: float) -> None:
        """Choose what the scale is multiplied by when it shrinks."""
        self._backoff_factor = new_factor

    def get_growth_interval(self) -> int:
        """How many good steps make the scale grow."""
        return self._growth_interval

    def set_growth_interval(self, new_interval: int) -> None:
        """Choose how many good steps make the scale grow."""
        self._growth_interval = new_interval

    def _get_growth_tracker(self) -> int:
        if not self._enabled:
            return 0
        tracker = self._growth_tracker
        return self._init_growth_tracker if tracker is None else int(tracker.item())

    def is_enabled(self) -> bool:
        """Whether the scaler does anything."""
        return self._enabled

    def state_dict(self) -> dict[str, Any]:
        """Scale, factors, interval and good steps so far; empty for a disabled scaler."""
        if not self._enabled:
            return {}
        return {"scale": self.get_scale(), "growth_factor": self._growth_factor,
                "backoff_factor": self._backoff_factor,
                "growth_interval": self._growth_interval,
                "_growth_tracker": self._get_growth_tracker()}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take over what `state_dict` gave.

        Raises:
            RuntimeError: it is the empty one of a disabled scaler.
        """
        if not self._enabled:
            return
        if not state_dict:
            raise RuntimeError("The source state dict is empty, possibly because it was saved "
                               "from a disabled instance of GradScaler.")
        self._init_scale = state_dict["scale"]
        self._growth_factor = state_dict["growth_factor"]
        self._backoff_factor = state_dict["backoff_factor"]
        self._growth_interval = state_dict["growth_interval"]
        self._init_growth_tracker = state_dict["_growth_tracker"]
        if self._scale is not None:
            self._scale.fill_(self._init_scale)
            self._growth_tracker.fill_(self._init_growth_tracker)

    def __getstate__(self) -> dict[str, Any]:
        state = self.__dict__.copy()
        if self._enabled:
            if self._per_optimizer_states:
                raise AssertionError(
                    "A GradScaler instance may only be pickled at the beginning of an iteration, "
                    "or at the end after scaler.update().")
            state.update(_init_scale=self.get_scale(), _scale=None, _growth_tracker=None,
                         _init_growth_tracker=self._get_growth_tracker())
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
