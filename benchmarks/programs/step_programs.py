"""Whole training steps of four models, each a function that sets one up and gives its step.

A function takes `wrap`, which gets the new model and gives what the step calls: the model itself,
or `torch.compile(model)`.
"""

from contextlib import nullcontext

import torch
from mnist_setup import DATA
from torch import nn
from torch.nn import functional as F

import mnist as mnist_example  # isort: skip  (mnist_setup says where it is)


def as_it_is(model):
    return model


# --- MNIST ----------------------------------------------------------------------------------------


def mnist(wrap=as_it_is):
    """The example's classifier on one batch of 64, with Adam."""
    torch.manual_seed(0)
    loader, _ = mnist_example.make_loaders(DATA)
    model = wrap(mnist_example.DigitClassifier())
    criterion = nn.CrossEntropyLoss()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    images, labels = next(iter(loader))

    def step():
        return mnist_example.train_step(model, images, labels, criterion, optimizer)[0]

    return step


# --- bigram ---------------------------------------------------------------------------------------


def bigram(wrap=as_it_is, vocab=14):
    """A table of logits: four sequences of five moves, fourteen tokens in all."""
    torch.manual_seed(0)
    x, y = torch.randint(vocab, (4, 5)), torch.randint(vocab, (4, 5))
    model = wrap(nn.Embedding(vocab, vocab))
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.1)

    def step():
        logits = model(x)  # (4, 5, vocab)
        loss = F.cross_entropy(logits.view(-1, vocab), y.view(-1))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss

    return step


# --- GPT ------------------------------------------------------------------------------------------


class Block(nn.Module):
    """Attention and a network of two layers, both on normalised rows and added to the stream."""

    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.before_attention = nn.LayerNorm(width)
        self.queries_keys_values = nn.Linear(width, 3 * width)
        self.mix = nn.Linear(width, width)
        self.before_network = nn.LayerNorm(width)
        self.network = nn.Sequential(
            nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width)
        )

    def attend(self, x):
        batch, time, width = x.shape
        parts = self.queries_keys_values(x).split(width, dim=2)
        q, k, v = (
            part.view(batch, time, self.heads, width // self.heads).transpose(1, 2)
            for part in parts
        )  # (B, H, T, D)
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.mix(y.transpose(1, 2).reshape(batch, time, width))

    def forward(self, x):
        x = x + self.attend(self.before_attention(x))
        return x + self.network(self.before_network(x))


class GPT(nn.Module):
    """A decoder: tokens and places to logits of the next token."""

    def __init__(self, vocab, context, width, heads, layers):
        super().__init__()
        self.tokens = nn.Embedding(vocab, width)
        self.places = nn.Embedding(context, width)
        self.blocks = nn.ModuleList(Block(width, heads) for _ in range(layers))
        self.norm = nn.LayerNorm(width)
        self.head = nn.Linear(width, vocab, bias=False)

    def forward(self, tokens):
        x = self.tokens(tokens) + self.places(torch.arange(tokens.shape[1]))  # (B, T, C)
        for block in self.blocks:
            x = block(x)
        return self.head(self.norm(x))


GPT_SIZES = {"vocab": 2030, "context": 200, "width": 256, "heads": 4, "layers": 4}
GPT_BATCH = 8


def gpt(wrap=as_it_is, lower=None):
    """lower: the dtype of products under autocast; None for none."""
    torch.manual_seed(0)
    vocab, context = GPT_SIZES["vocab"], GPT_SIZES["context"]
    model = wrap(GPT(**GPT_SIZES))
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-4)
    moves = torch.randint(vocab, (GPT_BATCH, context + 1))
    x, y = moves[:, :-1].contiguous(), moves[:, 1:].contiguous()

    def step():
        optimizer.zero_grad()
        loss = forward()
        loss.backward()
        optimizer.step()
        return loss

    def forward():
        with torch.autocast("cpu", dtype=lower) if lower else nullcontext():
            logits = model(x)  # (B, T, vocab)
            return F.cross_entropy(logits.view(-1, vocab), y.view(-1))

    step.forward = forward
    step.clear = optimizer.zero_grad  # for those who measure what one step allocates
    return step


# --- ResNet ---------------------------------------------------------------------------------------


class Residual(nn.Module):
    """Two convolutions added to the input, or to a 1x1 convolution of it where shapes change."""

    def __init__(self, inputs, outputs, stride):
        super().__init__()
        self.body = nn.Sequential(
            nn.Conv2d(inputs, outputs, 3, stride=stride, padding=1, bias=False),
            nn.BatchNorm2d(outputs),
            nn.ReLU(),
            nn.Conv2d(outputs, outputs, 3, padding=1, bias=False),
            nn.BatchNorm2d(outputs),
        )
        self.short = nn.Identity()
        if (inputs, stride) != (outputs, 1):
            self.short = nn.Sequential(
                nn.Conv2d(inputs, outputs, 1, stride=stride, bias=False), nn.BatchNorm2d(outputs)
            )

    def forward(self, x):
        return F.relu(self.body(x) + self.short(x))


def resnet(wrap=as_it_is):
    """32 pictures of 3x32x32, channels 32 and 64 in two residual blocks."""
    torch.manual_seed(0)
    model = wrap(
        nn.Sequential(
            nn.Conv2d(3, 32, 3, padding=1, bias=False),
            nn.BatchNorm2d(32),
            nn.ReLU(),
            Residual(32, 32, stride=1),
            Residual(32, 64, stride=2),
            nn.AdaptiveAvgPool2d(1),
            nn.Flatten(),
            nn.Linear(64, 10),
        )
    )
    criterion = nn.CrossEntropyLoss()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
    images, labels = torch.randn(32, 3, 32, 32), torch.randint(10, (32,))

    def step():
        loss = criterion(model(images), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss

    return step


STEPS = {"MNIST": mnist, "bigram": bigram, "GPT": gpt, "ResNet": resnet}
