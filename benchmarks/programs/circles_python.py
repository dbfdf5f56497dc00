"""The same network as circles.py, one sample and one weight at a time in Python loops."""

import json
import math
import random
import time

from circles_data import BATCH, LAYERS, RATE, circles


class Layer:
    """A linear layer that adds up its own gradients."""

    def __init__(self, inputs, outputs, draw):
        bound = 1.0 / math.sqrt(inputs)
        self.weight = [[draw.uniform(-bound, bound) for _ in range(inputs)] for _ in range(outputs)]
        self.bias = [draw.uniform(-bound, bound) for _ in range(outputs)]
        self.zero()

    def zero(self):
        self.weight_gradient = [[0.0] * len(row) for row in self.weight]
        self.bias_gradient = [0.0] * len(self.bias)

    def forward(self, x):
        self.x = x
        pairs = zip(self.weight, self.bias)
        return [sum(w * value for w, value in zip(row, x)) + bias for row, bias in pairs]

    def backward(self, gradient):
        below = [0.0] * len(self.x)
        for index, (row, slope) in enumerate(zip(self.weight, gradient)):
            self.bias_gradient[index] += slope
            sums = self.weight_gradient[index]
            for column, value in enumerate(self.x):
                sums[column] += slope * value
                below[column] += slope * row[column]
        return below

    def step(self, rate):
        for row, sums in zip(self.weight, self.weight_gradient):
            for column, gradient in enumerate(sums):
                row[column] -= rate * gradient
        for index, gradient in enumerate(self.bias_gradient):
            self.bias[index] -= rate * gradient


def train_sample(layers, point, label, scale):
    x = point
    for layer in layers[:-1]:
        x = [max(0.0, value) for value in layer.forward(x)]
    logits = layers[-1].forward(x)
    powers = [math.exp(value - max(logits)) for value in logits]
    gradient = [scale * power / sum(powers) for power in powers]
    gradient[label] -= scale
    for layer in reversed(layers):
        gradient = layer.backward(gradient)
        # What came in through a ReLU is positive exactly where the ReLU let it pass.
        gradient = [slope if value > 0.0 else 0.0 for slope, value in zip(gradient, layer.x)]


def epoch(layers, points, labels):
    for start in range(0, len(points), BATCH):
        batch = range(start, min(start + BATCH, len(points)))
        for layer in layers:
            layer.zero()
        for index in batch:
            train_sample(layers, points[index], labels[index], 1.0 / len(batch))
        for layer in layers:
            layer.step(RATE)


draw = random.Random(0)
network = [Layer(inputs, outputs, draw) for inputs, outputs in zip(LAYERS, LAYERS[1:])]
data = circles()
best = math.inf
for _ in range(3):
    begin = time.perf_counter()
    epoch(network, *data)
    best = min(best, time.perf_counter() - begin)
print(json.dumps({"epoch": best}))
