"""Steps of optimizers over twenty tensors, as PyTorch takes them when nothing is chosen."""

import torch
from timing import report, seconds_per_call, use_two_threads

use_two_threads()
torch.manual_seed(0)
result = {}
for name in ("Adam", "SGD", "AdamW", "RMSprop", "Adagrad", "NAdam"):
    parameters = [torch.randn(200_000, requires_grad=True) for _ in range(20)]
    for parameter in parameters:
        parameter.grad = torch.randn_like(parameter)
    optimizer = getattr(torch.optim, name)(parameters, lr=1e-4)
    result[name] = seconds_per_call("step()", {"step": optimizer.step}, batch_seconds=0.05)
report(result)
