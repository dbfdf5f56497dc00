"""Interpolation to another size."""

from __future__ import annotations


from ...base.frames import warn
from ... import functional as ops
from ..._tensor import Tensor
from ...operators.argument_types import is_whole
from ...operators.resampling import scaled_size
from . import pooling

# mode: {rank of the input: operator}; the flag says whether it takes `align_corners`.
_KERNELS = {
    "nearest": (False, {3: "upsample_nearest1d", 4: "upsample_nearest2d", 5: "upsample_nearest3d"}),
    "nearest-exact": (
        False,
        {
            3: "_upsample_nearest_exact1d",
            4: "_upsample_nearest_exact2d",
            5: "_upsample_nearest_exact3d",
        },
    ),
    "linear": (True, {3: "upsample_linear1d"}),
    "bilinear": (True, {4: "upsample_bilinear2d"}),
    "bicubic": (True, {4: "upsample_bicubic2d"}),
    "lanczos": (True, {4: "upsample_lanczos2d"}),
    "trilinear": (True, {5: "upsample_trilinear3d"}),
    "area": (False, {3: "", 4: "", 5: ""}),
}


def interpolate(
    input: Tensor,
    size=None,
    scale_factor=None,
    mode: str = "nearest",
    align_corners: bool | None = None,
    recompute_scale_factor: bool | None = None,
    antialias: bool = False,
) -> Tensor:
    """(N, C, ...) resampled to `size`, or by `scale_factor`, in its spatial dimensions.

    Args:
        mode: `nearest`, `nearest-exact`, `area` (1 to 3 spatial dimensions), `linear` (1),
            `bilinear`, `bicubic`, `lanczos` (2), `trilinear` (3).
        align_corners: for the linear and cubic modes, whether the corner pixels stay in place.
        recompute_scale_factor: work with the ratio of the rounded sizes.
        antialias: for `bilinear`, `bicubic` and `lanczos`, smooth when making smaller.
    """
    if mode not in _KERNELS:
        raise NotImplementedError(_rank_error(input, mode))
    takes_corners, kernels = _KERNELS[mode]
    if not takes_corners and align_corners is not None:
        raise ValueError(
            "align_corners option can only be set with the interpolating modes: linear | bilinear "
            "| bicubic | trilinear"
        )
    output_size, factors = _target(input, size, scale_factor)
    if recompute_scale_factor and size is not None:
        raise ValueError("recompute_scale_factor is not meaningful with an explicit size.")
    if factors is not None and (recompute_scale_factor or mode == "area"):
        output_size = [scaled_size(s, f) for s, f in zip(input.shape[2:], factors, strict=True)]
        factors = None
    rank = input.dim()
    if antialias and not (mode in ("bilinear", "bicubic", "lanczos") and rank == 4):
        raise ValueError(
            "Anti-alias option is restricted to bilinear, bicubic, and lanczos modes and requires "
            "a 4-D tensor as input"
        )
    if mode == "lanczos" and not antialias:
        raise ValueError("Lanczos mode requires antialias=True")
    if mode == "lanczos" and align_corners:
        raise ValueError("Lanczos mode does not support align_corners=True")
    if rank not in kernels:
        raise NotImplementedError(_rank_error(input, mode))
    if mode == "area":
        return getattr(pooling, f"adaptive_avg_pool{rank - 2}d")(input, output_size)
    name = f"_{kernels[rank]}_aa" if antialias else kernels[rank]
    if takes_corners:
        return getattr(ops, name)(input, output_size, bool(align_corners), factors)
    return getattr(ops, name)(input, output_size, factors)


def _rank_error(input: Tensor, mode: str) -> str:
    needed = {"linear": 3, "bilinear": 4, "trilinear": 5}.get(mode)
    if needed is not None and input.dim() in (3, 4, 5):
        return f"Got {input.dim()}D input, but {mode} mode needs {needed}D input"
    return (
        "Input Error: Only 3D, 4D and 5D input Tensors supported "
        f"(got {input.dim()}D) for the modes: nearest | linear | bilinear | bicubic | trilinear | "
        f"area | nearest-exact (got {mode})"
    )


def _target(input: Tensor, size, scale_factor) -> tuple[list | None, list | None]:
    """(output size, None) or (None, scale factors), one number for each spatial dimension."""
    if size is not None and scale_factor is not None:
        raise ValueError("only one of size or scale_factor should be defined")
    if size is None and scale_factor is None:
        raise ValueError("either size or scale_factor should be defined")
    rank = input.dim() - 2
    given = scale_factor if size is None else size
    values = list(given) if isinstance(given, (list, tuple)) else [given] * rank
    if len(values) != rank:
        what = "scale_factor" if size is None else "output size"
        raise ValueError(
            "Input and output must have the same number of spatial dimensions, but got input with "
            f"spatial dimensions of {list(input.shape[2:])} and {what} of {given}. Please provide "
            "input tensor in (N, C, d1, d2, ...,dK) format and output size in (o1, o2, ...,oK) "
            "format."
        )
    if size is None:
        return None, values
    if not all(map(is_whole, values)):
        raise TypeError(
            "expected size to be one of int or Tuple[int] or Tuple[int, int] or Tuple[int, int, "
            f"int], but got size with types {[type(value) for value in values]}"
        )
    return values, None


def upsample(input, size=None, scale_factor=None, mode="nearest", align_corners=None) -> Tensor:
    """Deprecated name of `interpolate`."""
    warn(
        "`nn.functional.upsample` is deprecated. Use `nn.functional.interpolate` instead.",
    )
    return interpolate(input, size, scale_factor, mode, align_corners)


def upsample_nearest(input: Tensor, size=None, scale_factor=None) -> Tensor:
    """Deprecated form of `interpolate(mode="nearest")`."""
    warn(
        "`nn.functional.upsample_nearest` is deprecated. Use `nn.functional.interpolate` instead.",
    )
    return interpolate(input, size, scale_factor, mode="nearest")


def upsample_bilinear(input: Tensor, size=None, scale_factor=None) -> Tensor:
    """Deprecated form of `interpolate(mode="bilinear", align_corners=True)`."""
    warn(
        "`nn.functional.upsample_bilinear` is deprecated. Use `nn.functional.interpolate` instead.",
    )
    return interpolate(input, size, scale_factor, mode="bilinear", align_corners=True)
