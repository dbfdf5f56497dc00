"""Which packages read images and videos."""

from __future__ import annotations

__all__ = [
    "disable_beta_transforms_warning", "get_image_backend", "get_video_backend",
    "set_image_backend", "set_video_backend",
]

_chosen = {"image": "PIL"}


def set_image_backend(backend: str) -> None:
    """Choose what `datasets.folder.default_loader` reads with: "PIL" or "accimage".

    Raises ValueError for any other name.
    """
    if backend not in ("PIL", "accimage"):
        raise ValueError(f"Invalid backend '{backend}'. Options are 'PIL' and 'accimage'")
    _chosen["image"] = backend


def get_image_backend() -> str:
    """
    >>> get_image_backend()
    'PIL'
    """
    return _chosen["image"]


def set_video_backend(backend: str) -> None:
    """Nothing: there is one, "pyav"."""


def get_video_backend() -> str:
    """
    >>> get_video_backend()
    'pyav'
    """
    return "pyav"


def disable_beta_transforms_warning() -> None:
    """Nothing: there is no such warning any more."""
