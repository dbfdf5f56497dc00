"""The MNIST program up to the end of its first optimizer step, from the start of the process."""

import os
import time

import torch
from mnist_setup import DATA
from timing import report, use_two_threads

import mnist  # isort: skip  (mnist_setup says where it is)

use_two_threads()
torch.manual_seed(0)
loader, _ = mnist.make_loaders(DATA)
model = mnist.DigitClassifier()
criterion = torch.nn.CrossEntropyLoss()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
model.train()
for images, labels in loader:
    loss, _ = mnist.train_step(model, images, labels, criterion, optimizer)
    loss.item()
    break
seconds = time.time() - float(os.environ["BENCHMARK_STARTED"])
report({"first step, warm": seconds, "first step, cold": seconds})
