"""Images: datasets, transforms, models, files. It answers `import torchvision` too."""

from .._lazy import lazily

_HOMES = {
    "backends": "disable_beta_transforms_warning get_image_backend get_video_backend "
                "set_image_backend set_video_backend",
    "version": "__version__",
}
_SUBMODULES = ("datasets", "io", "models", "ops", "transforms", "tv_tensors", "utils")

__getattr__, __dir__, __all__ = lazily(__name__, _HOMES, _SUBMODULES)
__all__ += _SUBMODULES
