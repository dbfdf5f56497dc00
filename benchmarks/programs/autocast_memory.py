"""The bytes that the GPT's forward pass keeps for its backward pass, under autocast and without it.

What is counted is what a second pass in one region adds: the casts of the weights are there by
then, and serve both. Of yesca it is told by its allocator; of PyTorch by what its tape saves.
"""

import torch
from compiling import SIDE
from step_programs import gpt
from timing import report, use_two_threads


def allocated_by(forward):
    before = torch.memory_stats()["allocated_bytes"]
    kept = forward()
    return torch.memory_stats()["allocated_bytes"] - before, kept


def saved_by(forward):
    saved, kept = {}, []

    def pack(tensor):
        storage = tensor.untyped_storage()
        saved[storage.data_ptr()] = storage.nbytes()
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
        kept.append(forward())
        first = set(saved)
        kept.append(forward())
    return sum(size for place, size in saved.items() if place not in first)


use_two_threads()
forward = gpt(lower=None if "float32" in SIDE else torch.bfloat16).forward
forward().backward()
with torch.autocast("cpu", dtype=torch.bfloat16, enabled="float32" not in SIDE):
    if hasattr(torch, "memory_stats"):
        kept = forward()
        held, _ = allocated_by(forward)
    else:
        held = saved_by(forward)
report({"GPT": held})
