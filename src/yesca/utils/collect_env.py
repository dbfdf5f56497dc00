"""What a report of a fault should say: `python -m yesca -m torch.utils.collect_env` prints it."""

from __future__ import annotations

import os
import platform
import sys
from importlib.metadata import PackageNotFoundError, distributions, version
from typing import Any, NamedTuple

from .. import backends
from ..version import __version__
from ..version import yesca as own_version

__all__ = ["SystemEnv", "get_env_info", "get_pretty_env_info", "main", "pretty_str"]

#: Parts of the names of installed packages that matter.
_RELEVANT = ("torch", "numpy", "llvmlite", "yesca", "mypy", "onnx", "triton")


class SystemEnv(NamedTuple):
    """What `get_env_info` found; None where there is nothing to find."""

    torch_version: str
    yesca_version: str
    os: str
    libc_version: str
    python_version: str
    python_platform: str
    is_cuda_available: bool
    cpu_info: str
    pip_packages: str


_FORM = """
PyTorch version: {torch_version} (yesca {yesca_version})
Is debug build: No
CUDA used to build PyTorch: None
ROCM used to build PyTorch: None

OS: {os}
Libc version: {libc_version}

Python version: {python_version}
Python platform: {python_platform}
Is CUDA available: {is_cuda_available}

CPU:
{cpu_info}

Versions of relevant libraries:
{pip_packages}
""".strip()


def get_env_info() -> SystemEnv:
    """The versions of everything that may matter."""
    bits = sys.maxsize.bit_length() + 1
    return SystemEnv(
        torch_version=__version__,
        yesca_version=own_version,
        os=_system(),
        libc_version="-".join(platform.libc_ver()) if sys.platform == "linux" else "N/A",
        python_version=f"{sys.version} ({bits}-bit runtime)".replace("\n", " "),
        python_platform=platform.platform(),
        is_cuda_available=False,
        cpu_info=_processor(),
        pip_packages=_packages(),
    )


def _system() -> str:
    """The system's name and version, and the machine."""
    try:
        name = platform.freedesktop_os_release()["PRETTY_NAME"]
    except (OSError, KeyError):
        name = f"{platform.system()} {platform.release()}"
    return f"{name} ({platform.machine()})"


def _processor() -> str:
    lines = [f"Architecture: {platform.machine()}", f"CPU(s): {os.cpu_count()}"]
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as file:
            model = next(line for line in file if line.startswith("model name"))
        lines.append(f"Model name: {model.partition(':')[2].strip()}")
    except (OSError, StopIteration):
        pass  # other systems tell it elsewhere, or not at all
    lines.append(f"CPU capability: {backends.cpu.get_cpu_capability()}")
    return "\n".join(lines)


def _packages() -> str:
    names = sorted({name.lower() for name in (d.metadata["Name"] for d in distributions()) if name})
    found = []
    for name in names:
        if any(part in name for part in _RELEVANT):
            try:
                found.append(f"{name}=={version(name)}")
            except PackageNotFoundError:
                continue  # going away while we look
    return "\n".join(found)


def pretty_str(envinfo: Any) -> str:
    """The report as people read it."""
    told = envinfo._asdict()
    told["is_cuda_available"] = "Yes" if told["is_cuda_available"] else "No"
    packages = told["pip_packages"] or "No relevant packages"
    told["pip_packages"] = "\n".join(f"[pip] {line}" for line in packages.split("\n"))
    return _FORM.format(**told)


def get_pretty_env_info() -> str:
    """The report as text.

    >>> get_pretty_env_info().split(":")[0]
    'PyTorch version'
    """
    return pretty_str(get_env_info())


def main() -> None:
    """Print the report."""
    print("Collecting environment information...")
    print(get_pretty_env_info())


if __name__ == "__main__":
    main()
