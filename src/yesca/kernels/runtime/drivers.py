"""What a program may ask about the machine that its kernels run on: `triton.runtime.driver`."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any

from ...core.devices import CPU


@dataclass(frozen=True)
class GPUTarget:
    """The machine that kernels are compiled for, by the name that Triton gives the class."""

    backend: str
    arch: str
    warp_size: int


class Utilities:
    """`driver.active.utils`."""

    def get_device_properties(self, device: Any = None) -> dict[str, int]:
        """Sizes of the machine, under the names that programs for GPUs read.

        A processor is a "multiprocessor"; there are no registers and no shared memory to count,
        so these are large enough to bound nothing.
        """
        return {"multiprocessor_count": os.cpu_count() or 1, "max_shared_mem": 1 << 30,
                "max_num_regs": 1 << 30, "warpSize": 1, "sm_clock_rate": 0, "mem_clock_rate": 0,
                "mem_bus_width": 0}


class Driver:
    """`driver.active`: the CPU."""

    utils = Utilities()

    def get_active_torch_device(self) -> Any:
        """The device to make tensors on.

        >>> from yesca.kernels.runtime import driver
        >>> driver.active.get_active_torch_device()
        device(type='cpu')
        """
        return CPU

    def get_current_device(self) -> int:
        """The number of the device."""
        return 0

    def get_current_target(self) -> GPUTarget:
        """What kernels are compiled for."""
        from ...runtime import machine

        return GPUTarget("cpu", machine.target()[0], 1)

    def get_device_interface(self) -> Any:
        """The module of the device, with `synchronize` and its like."""
        from ... import cpu

        return cpu


class Drivers:
    """`triton.runtime.driver`; there is one."""

    active = default = Driver()


driver = Drivers()
