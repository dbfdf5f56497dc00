"""A small network on circles: the epoch of a program with modules and an optimizer."""

import torch
from circles_data import BATCH, LAYERS, RATE, circles
from timing import report, seconds_per_call, use_two_threads
from torch import nn

use_two_threads()
torch.manual_seed(0)
points, labels = map(torch.tensor, circles())
layers = []
for inputs, outputs in zip(LAYERS, LAYERS[1:]):
    layers += [nn.Linear(inputs, outputs), nn.ReLU()]
model = nn.Sequential(*layers[:-1])
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.SGD(model.parameters(), lr=RATE)


def epoch():
    for start in range(0, len(points), BATCH):
        optimizer.zero_grad()
        loss = criterion(model(points[start : start + BATCH]), labels[start : start + BATCH])
        loss.backward()
        optimizer.step()


report({"epoch": seconds_per_call("epoch()", {"epoch": epoch}, batches=10)})
