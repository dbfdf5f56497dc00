"""The longer error texts of loading, in the phrases that people search for."""

from __future__ import annotations

import re

from ..base.short_values import shown as shown

UNSAFE = (
    "In PyTorch 2.6, we changed the default value of the `weights_only` argument in `torch.load` "
    "from `False` to `True`. Re-running `torch.load` with `weights_only` set to `False` will "
    "likely succeed, but it can result in arbitrary code execution. Do it only if you got the "
    "file from a trusted source."
)
_DOCUMENTATION = (
    "\n\nCheck the documentation of torch.load to learn more about types accepted by default "
    "with weights_only https://pytorch.org/docs/stable/generated/torch.load.html."
)
CORRUPT = (
    " If you are seeing this error, there is a high likelihood that your checkpoint file is "
    "corrupted: it was not saved or transferred completely, or was changed afterwards. Save or "
    "copy it again."
)


def weights_only_failed(reason: str) -> str:
    """The whole message for a pickle that the restricted unpickler refused."""
    if re.search(r"GLOBAL (\S+) was not an allowed global by default\.", reason):
        return (
            "Weights only load failed. This file can still be loaded, to do so you have two "
            "options, \033[1mdo those steps only if you trust the source of the checkpoint\033[0m."
            f" \n\t(1) {UNSAFE}\n\t(2) Alternatively, to load with `weights_only=True` please "
            "check the recommended steps in the following error message.\n\tWeightsUnpickler "
            f"error: {reason}{_DOCUMENTATION}"
        )
    head = f"Weights only load failed. {UNSAFE}\n"
    if not re.search(r"whose module (\S+) is blocked", reason):
        head += "WeightsUnpickler error: "
    return f"{head}\n\n{reason}{_DOCUMENTATION}"


def unsupported_global(path: str) -> str:
    """For a global that no list allows; `path` is its dotted name."""
    shown = path.removeprefix("builtins.")
    return (
        f"Unsupported global: GLOBAL {shown} was not an allowed global by default. Please use "
        f"`torch.serialization.add_safe_globals([{shown}])` or the "
        f"`torch.serialization.safe_globals([{shown}])` context manager to allowlist this global "
        "if you trust this class/function."
    )
