"""One training step on a batch of 64, and one epoch with its loader."""

import time

import torch
from mnist_setup import DATA
from timing import report, seconds_per_call, use_two_threads

import mnist  # isort: skip  (mnist_setup says where it is)

use_two_threads()
torch.manual_seed(0)
loader, _ = mnist.make_loaders(DATA)
model = mnist.DigitClassifier()
criterion = torch.nn.CrossEntropyLoss()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
images, labels = next(iter(loader))


def step():
    mnist.train_step(model, images, labels, criterion, optimizer)


result = {"training step": seconds_per_call("step()", {"step": step}, batch_seconds=0.1)}
start = time.perf_counter()
bar = mnist.ProgressBar("epoch", len(loader))
mnist.train_one_epoch(model, loader, criterion, optimizer, torch.device("cpu"), bar)
result["whole epoch"] = time.perf_counter() - start
report(result)
