"""The training step and the epoch of mnist_steps.py in JAX: one jit function does a whole step.

    mnist_jax.py [PROGRAM]    the step alone, where PROGRAM is MNIST; the others are not written
"""

import gzip
import json
import math
import sys
import time
from pathlib import Path

if sys.argv[1:] not in ([], ["MNIST"]):
    print("{}")
    sys.exit()

import jax
import numpy as np
from jax import numpy as jnp

DATA = Path(__file__).resolve().parents[2] / "examples" / "data" / "mnist"
SIZES, BATCH, RATE, DROPOUT = (784, 256, 128, 10), 64, 1e-3, 0.2


def read(name, header):
    with gzip.open(DATA / name, "rb") as file:
        return np.frombuffer(file.read(), dtype=np.uint8, offset=header)


images = read("train-images-idx3-ubyte.gz", 16).reshape(-1, 784).astype(np.float32) / 255
labels = read("train-labels-idx1-ubyte.gz", 8).astype(np.int32)


def initial(key):
    layers = []
    for part, inputs, outputs in zip(jax.random.split(key, 3), SIZES, SIZES[1:]):
        bound = 1.0 / math.sqrt(inputs)
        weight = jax.random.uniform(part, (inputs, outputs), minval=-bound, maxval=bound)
        layers.append({"weight": weight, "bias": jnp.zeros(outputs)})
    return layers


def loss(layers, key, x, y):
    for layer, part in zip(layers[:-1], jax.random.split(key)):
        x = jax.nn.relu(x @ layer["weight"] + layer["bias"])
        x = jnp.where(jax.random.bernoulli(part, 1 - DROPOUT, x.shape), x / (1 - DROPOUT), 0.0)
    logits = jax.nn.log_softmax(x @ layers[-1]["weight"] + layers[-1]["bias"])
    return -jnp.take_along_axis(logits, y[:, None], axis=1).mean()


@jax.jit
def step(state, x, y):
    layers, first, second, count, key = state
    key, part = jax.random.split(key)
    value, slopes = jax.value_and_grad(loss)(layers, part, x, y)
    count = count + 1
    first = jax.tree.map(lambda m, g: 0.9 * m + 0.1 * g, first, slopes)
    second = jax.tree.map(lambda v, g: 0.999 * v + 0.001 * g * g, second, slopes)

    def updated(weight, m, v):
        m, v = m / (1 - 0.9**count), v / (1 - 0.999**count)
        return weight - RATE * m / (jnp.sqrt(v) + 1e-8)

    return (jax.tree.map(updated, layers, first, second), first, second, count, key), value


def main():
    key = jax.random.PRNGKey(0)
    layers = initial(key)
    zeros = jax.tree.map(jnp.zeros_like, layers)
    state = (layers, zeros, zeros, jnp.float32(0), key)
    x, y = jnp.asarray(images[:BATCH]), jnp.asarray(labels[:BATCH])
    best = math.inf
    for _ in range(12):
        begin = time.perf_counter()
        for _ in range(50):
            state, value = step(state, x, y)
        jax.block_until_ready(state)
        best = min(best, (time.perf_counter() - begin) / 50)
    if sys.argv[1:]:
        print(json.dumps({sys.argv[1]: best}))
        return
    begin = time.perf_counter()
    order = np.random.default_rng(0).permutation(len(images))
    for start in range(0, len(order), BATCH):
        chosen = order[start : start + BATCH]
        state, value = step(state, images[chosen], labels[chosen])
        float(value)
    epoch = time.perf_counter() - begin
    print(json.dumps({"training step": best, "whole epoch": epoch}))


main()
