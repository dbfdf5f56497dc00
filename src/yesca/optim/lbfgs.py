"""L-BFGS: a quasi-Newton method that remembers the last few changes of the gradient."""

from typing import Any

from .. import functional as ops
from .._tensor import Tensor
from ..autograd.modes import enable_grad, no_grad
from .checks import check_learning_rate
from .line_search import strong_wolfe
from .optimizer import Closure, Optimizer, ParamsT, _get_value


class LBFGS(Optimizer):
    """Minimise with an approximation of the inverse Hessian; `step` needs a closure.

    All parameters form one vector of real numbers, in one group. A step runs up to `max_iter`
    iterations, each of which calls the closure at least once.

    Args:
        params: parameters; no parameter groups.
        lr: length of a step along the direction; the first guess of the line search.
        max_iter: iterations in one step.
        max_eval: calls of the closure in one step; by default `max_iter * 5 // 4`.
        tolerance_grad: stop when no element of the gradient is larger.
        tolerance_change: stop when neither a parameter nor the loss changes more.
        history_size: how many changes to remember.
        line_search_fn: None or `"strong_wolfe"`.

    State, under the first parameter: `func_evals`, `n_iter`, `d` (direction), `t` (step size),
    `old_dirs`, `old_stps`, `ro`, `H_diag`, `al`, `prev_flat_grad`, `prev_loss`.
    """

    def __init__(
        self,
        params: ParamsT,
        lr: float | Tensor = 1,
        max_iter: int = 20,
        max_eval: int | None = None,
        tolerance_grad: float = 1e-7,
        tolerance_change: float = 1e-9,
        history_size: int = 100,
        line_search_fn: str | None = None,
    ) -> None:
        check_learning_rate(lr)
        defaults = {
            "lr": lr,
            "max_iter": max_iter,
            "max_eval": max_iter * 5 // 4 if max_eval is None else max_eval,
            "tolerance_grad": tolerance_grad,
            "tolerance_change": tolerance_change,
            "history_size": history_size,
            "line_search_fn": line_search_fn,
        }
        super().__init__(params, defaults)
        if len(self.param_groups) != 1:
            raise ValueError(
                "LBFGS doesn't support per-parameter options (parameter groups); "
                f"got {len(self.param_groups)} groups"
            )

    @property
    def _params(self) -> list[Tensor]:
        return self.param_groups[0]["params"]

    @no_grad()
    def step(self, closure: Closure) -> Any:
        """Minimise for up to `max_iter` iterations.

        Args:
            closure: computes the loss anew, calls `backward` and returns the loss.

        Returns:
            The loss before the step.
        """
        count = len(self.param_groups)
        assert count == 1, f"Expected exactly one param_group, but got {count}"
        closure = enable_grad()(closure)
        group = self.param_groups[0]
        state = self.state[self._params[0]]
        state.setdefault("func_evals", 0)
        state.setdefault("n_iter", 0)
        first_loss = closure()
        state["func_evals"] += 1
        grad = self._gather_flat_grad()
        if grad.abs().max() <= group["tolerance_grad"]:
            return first_loss
        self._iterate(closure, group, state, float(first_loss), grad)
        return first_loss

    def _iterate(
        self,
        closure: Closure,
        group: dict[str, Any],
        state: dict[str, Any],
        loss: float,
        grad: Tensor,
    ) -> None:
        evaluations, lr = 1, _get_value(group["lr"])
        for iteration in range(1, group["max_iter"] + 1):
            state["n_iter"] += 1
            first = state["n_iter"] == 1
            if first:
                state.update(d=grad.neg(), old_dirs=[], old_stps=[], ro=[], H_diag=1)
                step_size = min(1.0, (1.0 / grad.abs().sum()).item()) * lr
            else:
                _remember(state, grad, group["history_size"])
                state["d"] = _direction(state, grad, group["history_size"])
                step_size = lr
            state.update(prev_flat_grad=grad.clone(), prev_loss=loss, t=step_size)
            direction, previous_loss = state["d"], loss
            slope = grad.dot(direction)
            if slope > -group["tolerance_change"]:
                return
            last = iteration == group["max_iter"]
            loss, grad, calls = self._advance(
                closure, group, state, loss, grad, slope, group["max_eval"] - evaluations, last
            )
            evaluations += calls
            state["func_evals"] += calls
            change = direction.mul(state["t"]).abs().max()
            if (
                last
                or evaluations >= group["max_eval"]
                or grad.abs().max() <= group["tolerance_grad"]
                or change <= group["tolerance_change"]
                or abs(loss - previous_loss) < group["tolerance_change"]
            ):
                return

    def _advance(
        self,
        closure: Closure,
        group: dict[str, Any],
        state: dict[str, Any],
        loss: float,
        grad: Tensor,
        slope: Tensor,
        max_calls: int,
        last: bool,
    ) -> tuple[float, Tensor, int]:
        """Move along the direction; the loss and gradient there, and how often they were found."""
        direction = state["d"]
        if group["line_search_fn"] is not None:
            if group["line_search_fn"] != "strong_wolfe":
                raise RuntimeError(
                    f"only 'strong_wolfe' is supported, not {group['line_search_fn']!r}"
                )
            start = [param.clone() for param in self._params]

            def evaluate(step_size: float) -> tuple[float, Tensor]:
                self._add_update(step_size, direction)
                found = float(closure()), self._gather_flat_grad()
                for param, value in zip(self._params, start):
                    param.copy_(value)
                return found

            loss, grad, state["t"], calls = strong_wolfe(
                evaluate, state["t"], direction, loss, grad, slope, max_steps=max_calls
            )
            self._add_update(state["t"], direction)
            return loss, grad, calls
        self._add_update(state["t"], direction)
        if last:  # nobody would look at the new gradient
            return loss, grad, 0
        return float(closure()), self._gather_flat_grad(), 1

    def _gather_flat_grad(self) -> Tensor:
        """All gradients as one vector of real numbers, zeros where there is none."""
        pieces = []
        for param in self._params:
            grad = ops.zeros_like(param) if param.grad is None else param.grad
            grad = grad.to_dense() if grad.is_sparse else grad
            grad = ops.view_as_real(grad) if grad.is_complex() else grad
            pieces.append(grad.reshape(-1))
        return ops.cat(pieces, 0)

    def _add_update(self, step_size: float, update: Tensor) -> None:
        """Add `step_size * update`, a vector over all parameters."""
        offset = 0
        for param in self._params:
            param = ops.view_as_real(param) if param.is_complex() else param
            piece = update[offset : offset + param.numel()]
            param.add_(piece.view_as(param), alpha=step_size)
            offset += param.numel()


def _remember(state: dict[str, Any], grad: Tensor, history_size: int) -> None:
    """Append the last step and the change of the gradient, if the curvature is positive."""
    change = grad.sub(state["prev_flat_grad"])
    step = state["d"].mul(state["t"])
    curvature = change.dot(step)
    if curvature <= 1e-10:
        return
    if len(state["old_dirs"]) == history_size:
        for name in ("old_dirs", "old_stps", "ro"):
            state[name].pop(0)
    state["old_dirs"].append(change)
    state["old_stps"].append(step)
    state["ro"].append(1.0 / curvature)
    state["H_diag"] = curvature / change.dot(change)


def _direction(state: dict[str, Any], grad: Tensor, history_size: int) -> Tensor:
    """The approximate inverse Hessian times the negative gradient, by two loops over history."""
    changes, steps, inverse = state["old_dirs"], state["old_stps"], state["ro"]
    weights = state.setdefault("al", [None] * history_size)
    direction = grad.neg()
    for index in reversed(range(len(changes))):
        weights[index] = steps[index].dot(direction) * inverse[index]
        direction.add_(changes[index], alpha=-weights[index].item())
    direction = direction * state["H_diag"]
    for index in range(len(changes)):
        correction = changes[index].dot(direction) * inverse[index]
        direction.add_(steps[index], alpha=(weights[index] - correction).item())
    return direction
