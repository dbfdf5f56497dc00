"""`save` and `load`: checkpoints that PyTorch and yesca read from each other.

The parts are in `_checkpoint/`; this module has the public functions.
"""

from __future__ import annotations

import io
import os
import pickle
import struct
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import Any

from .base import absent
from .base.frames import warn
from ._checkpoint import allowed_globals, restricted
from ._checkpoint.crew import Crew
from ._checkpoint.legacy import load_legacy
from ._checkpoint.loading import load_archive
from ._checkpoint.locations import (
    default_restore_location, location_tag, register_package, validate_cuda_device,
    validate_hpu_device,
)
from ._checkpoint.messages import UNSAFE as UNSAFE_MESSAGE
from ._checkpoint.messages import weights_only_failed
from ._checkpoint.options import LoadEndianness, config, modes
from ._checkpoint.output import replaced
from ._checkpoint.saving import MAGIC_NUMBER as MAGIC_NUMBER
from ._checkpoint.saving import PROTOCOL_VERSION as PROTOCOL_VERSION
from ._checkpoint.saving import archive_name, check_parent, save_legacy, save_zip
from ._checkpoint.storage_types import StorageType
from ._checkpoint.tar import is_tar, load_tar
from ._checkpoint.versions import (
    check_dill, check_module_version_greater_or_equal, mkdtemp, normalize_storage_type,
    storage_to_tensor_type,
)
from ._checkpoint.zip_reader import ZipReader
from .base import settings

__all__ = [
    "LoadEndianness",
    "SourceChangeWarning",
    "StorageType",
    "add_safe_globals",
    "check_module_version_greater_or_equal",
    "clear_safe_globals",
    "default_restore_location",
    "get_crc32_options",
    "get_default_load_endianness",
    "get_default_mmap_options",
    "get_safe_globals",
    "get_unsafe_globals_in_checkpoint",
    "load",
    "location_tag",
    "mkdtemp",
    "normalize_storage_type",
    "register_package",
    "safe_globals",
    "save",
    "set_crc32_options",
    "set_default_load_endianness",
    "set_default_mmap_options",
    "skip_data",
    "storage_to_tensor_type",
    "validate_cuda_device",
    "validate_hpu_device",
]

DEFAULT_PROTOCOL = 2
LONG_SIZE, INT_SIZE, SHORT_SIZE = (struct.calcsize(f"={code}") for code in "lih")
FileLike = str | os.PathLike[str] | Any
_ZIP_START = b"PK\x03\x04"


class SourceChangeWarning(Warning):
    """Kept for programs that filter it; the source of classes is not stored in files."""


def save(obj: object, f: FileLike, pickle_module: Any = pickle,
         pickle_protocol: int = DEFAULT_PROTOCOL, _use_new_zipfile_serialization: bool = True,
         _disable_byteorder_record: bool = False) -> None:
    """Write an object to a file: tensors, containers of them, state dicts, modules.

    Storages are written whole and once, so tensors that share one share it after `load`; save
    `x.clone()` to store only the part of a large storage that a view shows. A file at the path
    stays as it was until the new one is whole, also if the process dies meanwhile; with
    `YESCA_SAVE_SYNC=1`, also if the machine does.

    Args:
        obj: what to save.
        f: a path, or an object with `write`.
        pickle_module: module whose `Pickler` and `dump` are used.
        pickle_protocol: `load` with `weights_only=True` reads protocol 2, the default.

    Raises:
        AttributeError: `f` is neither a path nor has `write`.
        RuntimeError: the folder does not exist, or one storage is used with two dtypes.
        OSError: the file cannot be written; the old one is left.

    Example::

        >>> import io
        >>> import yesca as torch
        >>> file = io.BytesIO()
        >>> torch.save({"weight": torch.arange(3)}, file)
        >>> _ = file.seek(0)
        >>> torch.load(file)
        {'weight': tensor([0, 1, 2])}
    """
    check_dill(pickle_module)
    path = os.fspath(f) if _is_path(f) else None
    if path is None and not hasattr(f, "write"):
        raise AttributeError("expected 'f' to be string, path, or a file-like object with a "
                             f"'write' attribute, got {type(f).__name__}")
    if modes.skip_data and not _use_new_zipfile_serialization:
        raise RuntimeError(
            "Cannot use skip_data=True with _use_new_zipfile_serialization=False"
        )
    with _opened(f, "wb") as file:
        if _use_new_zipfile_serialization:
            archive = "archive" if path is None else archive_name(path)
            save_zip(obj, file, archive, pickle_module, pickle_protocol,
                     not _disable_byteorder_record)
        else:
            save_legacy(obj, file, pickle_module, pickle_protocol)


def load(f: FileLike, map_location: Any = None, pickle_module: Any = None, *,
         weights_only: bool | None = None, mmap: bool | None = None,
         **pickle_load_args: Any) -> Any:
    """Read what `save` wrote, here or in PyTorch.

    Args:
        f: a path, or a seekable object with `read` and `readline`.
        map_location: where storages go: None (where they were), a device or its name, a dict
            from names to names, or a function of (storage, name).
        pickle_module: for `weights_only=False`, the module whose `Unpickler` is used.
        weights_only: build only tensors, plain containers and what `add_safe_globals` allows.
            True unless a `pickle_module` is given. False runs whatever code the file names.
        mmap: map the file instead of reading it; storages are read when they are touched, and
            writes to them stay in memory. Needs a path.
        pickle_load_args: passed on to the unpickler.

    Raises:
        pickle.UnpicklingError: with `weights_only`, the file asks for more than is allowed.
        RuntimeError: the file is damaged, or names a device that is not there.
    """
    weights_only = _settled(weights_only, pickle_module)
    if weights_only and pickle_module is not None:
        raise RuntimeError("Can not safely load weights when explicit pickle_module is specified")
    if weights_only and pickle_load_args:
        warn("pickle_load_args only works if `weights_only=False`.")
    check_dill(pickle_module)
    reader = restricted if weights_only else (pickle_module or pickle)
    options = {"encoding": "utf-8", **pickle_load_args}
    mapping = config.load.mmap if mmap is None else mmap
    if mapping and not _is_path(f):
        raise ValueError("f must be a file path in order to use the mmap argument")
    if _is_path(f) and os.fspath(f).endswith(".safetensors"):
        from ._checkpoint.safetensors import load_safetensors

        return load_safetensors(os.fspath(f), map_location)
    with _opened(f, "rb") as file:
        try:
            return _load(file, f, map_location, reader, mapping, options)
        except pickle.UnpicklingError as error:
            if not weights_only:
                raise
            raise pickle.UnpicklingError(weights_only_failed(str(error))) from None


def _settled(weights_only: bool | None, pickle_module: Any) -> bool:
    """What `weights_only` means, with the two environment variables that override it."""
    force, forbid = settings.FORCE_WEIGHTS_ONLY.get(), settings.FORCE_NO_WEIGHTS_ONLY.get()
    if force and forbid:
        raise RuntimeError("Only one of `TORCH_FORCE_WEIGHTS_ONLY_LOAD` or "
                           "`TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD` should be set, but both were set.")
    if force:
        return True
    if weights_only is None and forbid:
        warn("Environment variable TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD detected, since the "
             "`weights_only` argument was not explicitly passed to `torch.load`, forcing "
             "weights_only=False.", UserWarning)
        return False
    return pickle_module is None if weights_only is None else weights_only


def _load(file: Any, source: FileLike, map_location: Any, reader: Any, mapping: bool,
          options: dict[str, Any]) -> Any:
    start = file.tell()
    mark = file.read(len(_ZIP_START))
    file.seek(start)
    if mark == _ZIP_START:
        with Crew() as crew:
            return _load_zip(ZipReader(file, crew), source, map_location, reader, mapping, options)
    if mapping:
        raise RuntimeError("mmap can only be used with files saved with `torch.save("
                           f"{source}, _use_new_zipfile_serialization=True), please torch.save "
                           "your checkpoint with this option in order to use mmap.")
    if is_tar(file):
        return load_tar(file, map_location, reader, options)
    return load_legacy(file, map_location, reader, options)


def _load_zip(archive: ZipReader, source: FileLike, map_location: Any, reader: Any, mapping: bool,
              options: dict[str, Any]) -> Any:
    if archive.has("constants.pkl"):
        if reader is restricted:
            raise RuntimeError("Cannot use ``weights_only=True`` with TorchScript archives passed "
                               f"to ``torch.load``. {UNSAFE_MESSAGE}")
        raise RuntimeError("this is a TorchScript archive, which holds compiled code; only files "
                           "written by torch.save can be loaded")
    mapped = _map(os.fspath(source)) if mapping else None
    return load_archive(archive, map_location, reader, mapped, options)


def _is_path(f: object) -> bool:
    return isinstance(f, (str, os.PathLike))


@contextmanager
def _opened(f: Any, mode: str) -> Iterator[Any]:
    if _is_path(f):
        if "w" in mode:
            path = os.fspath(f)
            check_parent(path)
            with replaced(path) as file:
                yield file
        else:
            with open(f, mode) as file:
                yield file
        return
    if "r" in mode:
        yield _Seekable.check(f)
        return
    yield f
    if hasattr(f, "flush"):
        f.flush()


class _Seekable:
    """A reader of somebody else's file-like object, with a `readinto`."""

    def __init__(self, file: Any) -> None:
        self._file = file
        self.read, self.seek, self.tell = file.read, file.seek, file.tell
        self.readline = file.readline

    def readinto(self, target: memoryview) -> int:
        """Fill from `read`."""
        data = self.read(len(target))
        target[: len(data)] = data
        return len(data)

    @staticmethod
    def check(file: Any) -> Any:
        """`file` itself if it can do everything; its errors say what it lacks."""
        try:
            file.seek(file.tell())
        except (io.UnsupportedOperation, AttributeError) as error:
            raise type(error)(
                f"{error}. You can only torch.load from a file that is seekable. Please pre-load "
                "the data into a buffer like io.BytesIO and try to load from it instead."
            ) from None
        return file if hasattr(file, "readinto") else _Seekable(file)


def _map(path: str) -> memoryview:
    import mmap

    with open(path, "rb") as file:
        if config.load.mmap_flags == getattr(mmap, "MAP_SHARED", -1):
            with open(path, "r+b") as writable:
                return memoryview(mmap.mmap(writable.fileno(), 0, access=mmap.ACCESS_WRITE))
        return memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_COPY))


# --- what weights_only allows ----------------------------------------------------------------


def add_safe_globals(safe_globals: list[Callable[..., Any] | tuple[Callable[..., Any], str]],
                     ) -> None:
    """Let `load` with `weights_only=True` use these classes and functions.

    An item is the class or function, or a tuple of it and the dotted name that the file gives it.
    """
    allowed_globals.add(safe_globals)


def get_safe_globals() -> list[Callable[..., Any] | tuple[Callable[..., Any], str]]:
    """What `add_safe_globals` has added."""
    return allowed_globals.added()


def clear_safe_globals() -> None:
    """Forget what `add_safe_globals` has added."""
    allowed_globals.clear()


class safe_globals:  # noqa: N801
    """Context manager: `add_safe_globals` for the time of a `with` block."""

    def __init__(self, safe_globals: list[Any]) -> None:
        self.safe_globals = safe_globals

    def __enter__(self) -> None:
        allowed_globals.add(self.safe_globals)

    def __exit__(self, *exc: object) -> None:
        allowed_globals.remove(self.safe_globals)


def get_unsafe_globals_in_checkpoint(f: FileLike) -> list[str]:
    """Names in a checkpoint that `load` with `weights_only=True` would refuse now.

    The pickle is read, not run.
    """
    with _opened(f, "rb") as file:
        start = file.tell()
        mark = file.read(len(_ZIP_START))
        file.seek(start)
        if mark != _ZIP_START:
            raise ValueError("Expected input to be a checkpoint returned by torch.save")
        names = restricted.globals_in(io.BytesIO(ZipReader(file).read("data.pkl")))
    return [name for name in sorted(names - allowed_globals.default_names())
            if allowed_globals.user_global(*name.rsplit(".", 1)) is None]


class skip_data:  # noqa: N801
    """Context manager: `save` leaves space for the storages' bytes, `load` leaves them out."""

    def __init__(self, materialize_fake_tensors: bool = False) -> None:
        self.materialize_fake_tensors = materialize_fake_tensors

    def __enter__(self) -> None:
        self._before = modes.skip_data
        modes.skip_data = True

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None,
                 traceback: TracebackType | None) -> None:
        modes.skip_data = self._before


# --- settings --------------------------------------------------------------------------------


def get_default_load_endianness() -> LoadEndianness | None:
    """Byte order assumed for files without a mark; None means little."""
    return config.load.endianness


def set_default_load_endianness(endianness: LoadEndianness | None) -> None:
    """Set the byte order assumed for files without a mark."""
    if endianness is not None and not isinstance(endianness, LoadEndianness):
        raise TypeError("Invalid argument type in function set_default_load_endianness")
    config.load.endianness = endianness


def get_crc32_options() -> bool:
    """Whether `save` computes CRCs."""
    return config.save.compute_crc32


def set_crc32_options(compute_crc32: bool) -> None:
    """Set whether `save` computes CRCs; without them other zip programs complain."""
    config.save.compute_crc32 = compute_crc32


def get_default_mmap_options() -> int | None:
    """Flags that `load(mmap=True)` maps with."""
    return config.load.mmap_flags


class set_default_mmap_options:  # noqa: N801
    """Function or context manager: map with `mmap.MAP_PRIVATE` or `mmap.MAP_SHARED`."""

    def __init__(self, flags: int) -> None:
        import mmap

        if flags not in (mmap.MAP_PRIVATE, mmap.MAP_SHARED):
            raise ValueError("Invalid argument in function set_default_mmap_options, expected "
                             f"mmap.MAP_PRIVATE or mmap.MAP_SHARED, but got {flags}")
        self.prev = config.load.mmap_flags
        config.load.mmap_flags = flags

    def __enter__(self) -> None:
        pass

    def __exit__(self, *exc: object) -> None:
        config.load.mmap_flags = self.prev


# --- what pickles name -----------------------------------------------------------------------


def _load_from_bytes(data: bytes) -> Any:
    """What plain pickles of PyTorch's storages call."""
    return load(io.BytesIO(data), weights_only=False)


def _get_layout(name: str) -> Any:
    """The layout that prints as `name` (`torch.strided`)."""
    from .core import layouts

    found = vars(layouts).get(name.removeprefix("torch."))
    if not isinstance(found, layouts.Layout):
        raise KeyError(name)
    return found


__getattr__ = absent.names_of(__name__)
