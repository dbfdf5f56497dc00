"""What a recurrent layer takes: its weights as a list, the input, the first states."""

from __future__ import annotations

from ..._tensor import Tensor
from ...dispatch.state import STATE


class Inputs:
    """The part of `RNNBase` that checks what it is called with."""

    @property
    def _flat_weights_names(self) -> list[str]:
        return [name for names in self._all_weights for name in names]

    @property
    def _flat_weights(self) -> list[Tensor]:
        """The weights in the order in which `torch.lstm` and its like take them."""
        return [getattr(self, name) for name in self._flat_weights_names]

    @_flat_weights.setter
    def _flat_weights(self, weights: list[Tensor]) -> None:
        for name, weight in zip(self._flat_weights_names, weights, strict=True):
            if getattr(self, name, None) is not weight:
                setattr(self, name, weight)

    def __getstate__(self) -> dict:
        # PyTorch's layers have their weights a second time, in a list, and read it from a file.
        names = self._flat_weights_names
        return {**super().__getstate__(), "_flat_weights_names": names,
                "_flat_weights": [getattr(self, name, None) for name in names]}

    def __setstate__(self, state: dict) -> None:
        derived = ("_flat_weights_names", "_flat_weights")
        super().__setstate__({k: v for k, v in state.items() if k not in derived})

    def _check_dtype(self, input: Tensor) -> None:
        weight = getattr(self, self._all_weights[0][0])
        if input.dtype is not weight.dtype and STATE.autocast is None:
            raise ValueError(
                f"RNN input dtype ({input.dtype}) does not match weight dtype "
                f"({weight.dtype}). Convert input: input.to({weight.dtype}), or convert model: "
                f"model.to({input.dtype})"
            )

    def _check_input(self, sequence: Tensor) -> None:
        if sequence.size(-1) != self.input_size:
            raise RuntimeError(
                "input.size(-1) must be equal to input_size. Expected "
                f"{self.input_size}, got {sequence.size(-1)}"
            )
        if sequence.size(0) == 0:
            raise RuntimeError("Expected sequence length to be larger than 0 in RNN")

    def _initial_states(
        self, sequence: Tensor, batch: int, states, batched: bool
    ) -> tuple[Tensor, ...]:
        """The given states (layers * directions, N, H), checked, or zeros."""
        sizes = [self.proj_size or self.hidden_size]
        if self.mode == "LSTM":
            sizes.append(self.hidden_size)
        shapes = [(self.num_layers * self._directions, batch, size) for size in sizes]
        if states is None:
            return tuple(sequence.new_zeros(shape) for shape in shapes)
        rank = 3 if batched else 2
        names = ("hidden[0]", "hidden[1]") if self.mode == "LSTM" else ("hidden",)
        checked = []
        for name, state, shape in zip(names, states, shapes, strict=True):
            if state.dim() != rank:
                kind = "batched" if batched else "unbatched"
                raise RuntimeError(
                    f"For {kind} {rank}-D input, hx should also be {rank}-D but got "
                    f"{state.dim()}-D tensor"
                )
            state = state if batched else state.unsqueeze(1)
            if state.shape != shape:
                raise RuntimeError(
                    f"Expected {name} size {shape}, got {list(state.size())}"
                )
            checked.append(state)
        return tuple(checked)
