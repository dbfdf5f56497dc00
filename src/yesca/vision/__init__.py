"""Images: datasets, transforms, models, files. It answers `import torchvision` too."""

from .._lazy import lazily

_HOMES = {"version": "__version__"}
_SUBMODULES = ("datasets", "io", "models", "ops", "transforms", "tv_tensors", "utils")

__getattr__, __dir__, __all__ = lazily(__name__, _HOMES, _SUBMODULES)
__all__ += _SUBMODULES
