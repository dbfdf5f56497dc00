"""DistributedDataParallel: a module in several processes. There is one, and no group of them."""

from __future__ import annotations

from ...base import absent
from ...distributed import get_world_size
from ..modules.module import Module

__all__ = ["DistributedDataParallel"]


class DistributedDataParallel(Module):
    """A module whose gradients are averaged over the processes of a group.

    Programs test whether a model is one. None can be made: raises ValueError, as there is no
    process group.
    """

    def __init__(
        self,
        module,
        device_ids=None,
        output_device=None,
        dim=0,
        broadcast_buffers=None,
        init_sync=True,
        process_group=None,
        bucket_cap_mb=None,
        find_unused_parameters=False,
        check_reduction=False,
        gradient_as_bucket_view=False,
        static_graph=False,
        delay_all_reduce_named_params=None,
        param_to_hook_all_reduce=None,
        mixed_precision=None,
        device_mesh=None,
        skip_all_reduce_unused_params=False,
        bucket_cap_mb_list: list[int] | None = None,
        batched_grad_copy=False,
        forward_sync_buffers: bool | None = None,
    ) -> None:
        super().__init__()
        get_world_size(process_group)


__getattr__ = absent.names_of(__name__)
