"""Print the losses of the first steps of examples/mnist.py, seed 0, as one JSON list."""

import json
import sys

import torch

steps = int(sys.argv[1])
sys.path.insert(0, sys.argv[2])

import mnist  # noqa: E402

torch.manual_seed(0)
loader, _ = mnist.make_loaders(mnist.Path(sys.argv[2]) / "data" / "mnist")
model = mnist.DigitClassifier()
criterion = torch.nn.CrossEntropyLoss()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
losses = []
for images, labels in loader:
    loss, _ = mnist.train_step(model, images, labels, criterion, optimizer)
    losses.append(loss.item())
    if len(losses) == steps:
        break
print(json.dumps(losses))
