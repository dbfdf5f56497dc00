"""A recurrent layer on a batch of sequences: forward, and a whole step with SGD."""

import torch
from timing import report, seconds_per_call, use_two_threads

use_two_threads()
torch.manual_seed(0)
model = torch.nn.LSTM(128, 256, 2)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
sequences, goal = torch.randn(50, 32, 128), torch.randn(50, 32, 256)  # (times, batch, features)


def step():
    optimizer.zero_grad()
    output, _ = model(sequences)
    ((output - goal) ** 2).mean().backward()
    optimizer.step()


names = {"step": step, "model": model, "sequences": sequences}
report({
    "LSTM step": seconds_per_call("step()", names, batch_seconds=0.1),
    "LSTM forward": seconds_per_call("model(sequences)", names, batch_seconds=0.1),
})
