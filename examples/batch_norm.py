"""Batch normalisation or not: in how many epochs does the digit classifier reach 98 %?

    python examples/batch_norm.py                 # with PyTorch
    python -m yesca examples/batch_norm.py        # with yesca, the same file

The network of `mnist.py` is trained twice from the same seed: as it is (dropout only), and with
`nn.BatchNorm1d` after each hidden linear layer, before the activation. An epoch with batch
normalisation costs more time; there are fewer of them until the target. The curves are written to
`batch_norm.svg`.
"""

import comparing
import mnist
import torch
from torch import nn


class NormalisedClassifier(nn.Module):
    """`mnist.DigitClassifier` with batch normalisation before each activation."""

    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(
            nn.Linear(784, 256, bias=False),  # the norm that follows has a bias of its own
            nn.BatchNorm1d(256),
            nn.ReLU(),
            nn.Dropout(0.2),
            nn.Linear(256, 128, bias=False),
            nn.BatchNorm1d(128),
            nn.ReLU(),
            nn.Dropout(0.2),
            nn.Linear(128, 10),
        )

    def forward(self, images):
        return self.layers(images)  # (B, 784) -> (B, 10)


def with_adam(make_model):
    def make(device):
        model = make_model().to(device)
        return model, torch.optim.Adam(model.parameters(), lr=1e-3), None

    return make


def main(arguments=None):
    chosen = comparing.parse_arguments(
        "Compare a classifier with and without batch normalisation.",
        plot="batch_norm.svg", epochs=10, arguments=arguments,
    )
    setups = {
        "dropout only": with_adam(mnist.DigitClassifier),
        "batch norm": with_adam(NormalisedClassifier),
    }
    histories = comparing.run(setups, chosen)
    comparing.print_summary(histories, chosen.target)
    comparing.save_plot(chosen.plot, histories)
    return histories


if __name__ == "__main__":
    main()
