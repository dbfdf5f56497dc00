"""Devices: where a storage's bytes live. `cpu` computes; `meta` has shapes and no bytes."""

from __future__ import annotations

from ..base.naming import public_module

_KINDS = (
    "cpu", "cuda", "ipu", "xpu", "mkldnn", "opengl", "opencl", "ideep", "hip", "ve", "fpga",
    "maia", "xla", "lazy", "vulkan", "mps", "meta", "hpu", "mtia", "privateuseone",
)


class Device:
    """A device, as `torch.device`: a type and an optional index.

    >>> Device("cpu")
    device(type='cpu')
    """

    __slots__ = ("type", "index")

    def __new__(cls, type: object = None, index: int | None = None) -> Device:
        if isinstance(type, Device):
            return type
        if isinstance(type, int) and not isinstance(type, bool):
            raise RuntimeError(
                f"Cannot access accelerator device when none is available: device({type}) names "
                "an accelerator by index; use 'cpu' or 'meta'."
            )
        if not isinstance(type, str):
            raise TypeError(
                f"device(): argument 'type' must be str, not {type.__class__.__name__}"
            )
        kind, number = _parse(type, index)
        self = _made.get((kind, number))
        if self is None:
            self = object.__new__(cls)
            object.__setattr__(self, "type", kind)
            object.__setattr__(self, "index", number)
            self = _made.setdefault((kind, number), self)
        return self

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"attribute '{name}' of 'torch.device' objects is not writable")

    def __repr__(self) -> str:
        if self.index is None:
            return f"device(type='{self.type}')"
        return f"device(type='{self.type}', index={self.index})"

    def __str__(self) -> str:
        return self.type if self.index is None else f"{self.type}:{self.index}"

    def __lt__(self, other: object) -> bool:
        raise TypeError("comparison not implemented")

    __le__ = __gt__ = __ge__ = __lt__

    def __reduce__(self) -> tuple[object, ...]:
        args = (self.type,) if self.index is None else (self.type, self.index)
        return (Device, args)

    def __copy__(self) -> Device:
        return self

    def __deepcopy__(self, memo: object) -> Device:
        return self

    def __enter__(self) -> Device:
        _defaults.append(self)
        return self

    def __exit__(self, *exc: object) -> None:
        _defaults.pop()


def _parse(text: str, index: int | None) -> tuple[str, int | None]:
    kind, colon, number = text.partition(":")
    if not text:
        raise RuntimeError("Device string must not be empty")
    if not kind:
        raise RuntimeError(f"Invalid device string: '{text}'")
    if kind not in _KINDS:
        raise RuntimeError(
            f"Expected one of {', '.join(_KINDS)} device type at start of device string: {text}"
        )
    if not colon:
        if index is not None and index < 0:
            raise RuntimeError(f"Device index must not be negative: got {index}")
        return kind, index
    if index is not None:
        raise RuntimeError(f"type (string) must not include an index because index was passed "
                           f"explicitly: {text}")
    if not number.isdigit() or (len(number) > 1 and number[0] == "0"):
        raise RuntimeError(f"Invalid device string: '{text}'")
    return kind, int(number)


Device.__name__ = Device.__qualname__ = "device"
Device.__module__ = public_module("torch")
_made: dict[tuple[str, int | None], Device] = {}
CPU = Device("cpu")
META = Device("meta")
_defaults: list[Device] = [CPU]


def default_device() -> Device:
    """The device of new tensors: the innermost `with device:` or `set_default_device`."""
    return _defaults[-1]


def set_default_device(device: object) -> None:
    """Make `device` (None means cpu) the device of new tensors."""
    _defaults[0] = CPU if device is None else Device(device)


def resolve(device: object) -> Device:
    """The device that an argument means, refusing those that this build has not got."""
    made = _defaults[-1] if device is None else Device(device)
    if made is CPU or made is META:
        return made
    if made.type in ("cpu", "meta"):
        return META if made.type == "meta" else CPU
    if made.type in ("cuda", "xpu"):
        raise AssertionError(f"Torch not compiled with {made.type.upper()} enabled")
    if made.type == "mps":
        raise RuntimeError("PyTorch is not linked with support for mps devices: use 'cpu'")
    raise RuntimeError(
        f"Could not run on device '{made}': this build computes on 'cpu' (and 'meta' for shapes)"
    )
