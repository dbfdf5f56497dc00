"""Where storages were and where they shall go: location tags and `map_location`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .. import _storage_access as access

_TO_CPU = (
    "If you are running on a CPU-only machine, please use torch.load with "
    "map_location=torch.device('cpu') to map your storages to the CPU."
)
#: priority, tagger (storage -> tag or None), restorer (storage, tag -> storage or None)
_packages: list[tuple[int, Callable[[Any], Any], Callable[[Any, str], Any]]] = []


def register_package(priority: int, tagger: Callable[[Any], str | None],
                     deserializer: Callable[[Any, str], Any | None]) -> None:
    """Teach saving and loading another kind of device; lower priorities are asked first."""
    _packages.append((priority, tagger, deserializer))
    _packages.sort(key=lambda package: package[0])


def location_tag(storage: Any) -> str:
    """The tag that a file gives a storage's device (`cpu`)."""
    for _, tagger, _ in _packages:
        tag = tagger(storage)
        if tag:
            return str(tag)
    raise RuntimeError("don't know how to determine data location of "
                       f"{type(storage).__module__}.{type(storage).__name__}")


def default_restore_location(storage: Any, location: str) -> Any:
    """The storage moved to where `location` says."""
    for _, _, restorer in _packages:
        moved = restorer(storage, location)
        if moved is not None:
            return moved
    raise RuntimeError("don't know how to restore data location of "
                       f"{type(storage).__module__}.{type(storage).__name__} "
                       f"(tagged with {location})")


def restorer_of(map_location: Any) -> Callable[[Any, str], Any]:
    """`map_location` of any kind as a function of (storage, tag)."""
    if map_location is None:
        return default_restore_location
    if isinstance(map_location, dict):
        return lambda storage, location: default_restore_location(
            storage, str(map_location.get(location, location))
        )
    if isinstance(map_location, bytes):
        map_location = map_location.decode("ascii")
    if isinstance(map_location, (str, access.Device)):
        return lambda storage, location: default_restore_location(storage, str(map_location))
    if not callable(map_location):
        raise TypeError("map_location must be None, a device, a string, a dict or a function of "
                        f"(storage, location), got {type(map_location).__name__}")

    def restore(storage: Any, location: str) -> Any:
        moved = map_location(storage, location)
        if moved is None:
            return default_restore_location(storage, location)
        if not isinstance(moved, access.UntypedStorage):
            raise TypeError("the map_location function must return a torch.UntypedStorage or None, "
                            f"got {type(moved).__name__}")
        return moved

    return restore


def is_meta(map_location: Any) -> bool:
    """Whether everything goes to the meta device, so that no data need be read."""
    return isinstance(map_location, (str, access.Device)) and str(map_location) == "meta"


def _restore_cpu(storage: Any, location: str) -> Any:
    return storage if location == "cpu" else None


def _restore_meta(storage: Any, location: str) -> Any:
    return access.new_storage(storage.nbytes(), "meta") if location == "meta" else None


def validate_cuda_device(location: str) -> int:
    """The index of the CUDA device that a tag names; RuntimeError, as there is none."""
    return _validated("cuda", location)


def validate_hpu_device(location: str) -> int:
    """The same for HPU devices."""
    return _validated("hpu", location)


def _validated(kind: str, location: str) -> int:
    if str(location).partition(":")[0].rstrip("0123456789") == kind:
        _refuse_accelerator(None, location)
    raise ValueError(f"Expected a {kind} device, but got: {location}")


def _refuse_accelerator(storage: Any, location: str) -> None:
    kind = location.partition(":")[0].rstrip("0123456789")
    if kind in ("hpu", "privateuseone"):
        raise RuntimeError(f"The {kind.upper()} device module is not registered. {_TO_CPU}")
    if kind in ("cuda", "xpu", "mps", "mtia"):
        raise RuntimeError(
            f"Attempting to deserialize object on a {kind.upper()} device but "
            f"torch.{kind}.is_available() is False. {_TO_CPU}"
        )


def _tag(kind: str) -> Callable[[Any], str | None]:
    return lambda storage: kind if storage.device.type == kind else None


register_package(10, _tag("cpu"), _restore_cpu)
register_package(20, lambda storage: None, _refuse_accelerator)
register_package(22, _tag("meta"), _restore_meta)
