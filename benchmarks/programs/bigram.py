"""The training step of a bigram model: four sequences of five moves, fourteen tokens in all."""

import torch
from timing import report, seconds_per_call, use_two_threads
from torch import nn
from torch.nn import functional as F

use_two_threads()
torch.manual_seed(0)
vocab = 14
x, y = torch.randint(vocab, (4, 5)), torch.randint(vocab, (4, 5))
model = nn.Embedding(vocab, vocab)
optimizer = torch.optim.AdamW(model.parameters(), lr=0.1)


def step():
    logits = model(x)  # (4, 5, vocab)
    loss = F.cross_entropy(logits.view(-1, vocab), y.view(-1))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()


report({"training step": seconds_per_call("step()", {"step": step}, batch_seconds=0.02)})
