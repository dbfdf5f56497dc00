"""Adam, SGD with momentum, and the same SGD with a cosine schedule: who is ahead after ten epochs?

    python examples/optimizers.py                 # with PyTorch
    python -m yesca examples/optimizers.py        # with yesca, the same file

The network of `mnist.py` is trained three times, from the same weights and on the same batches.
`CosineAnnealingLR` takes the learning rate from 0.01 down to 0 along half a cosine, once an epoch.
The curves are written to `optimizers.svg`.
"""

import comparing
import mnist
import torch
from torch.optim.lr_scheduler import CosineAnnealingLR


def adam(device):
    model = mnist.DigitClassifier().to(device)
    return model, torch.optim.Adam(model.parameters(), lr=1e-3), None


def sgd(device):
    model = mnist.DigitClassifier().to(device)
    return model, torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9), None


def annealed_sgd(epochs):
    def make(device):
        model, optimizer, _ = sgd(device)
        return model, optimizer, CosineAnnealingLR(optimizer, T_max=epochs)

    return make


def main(arguments=None):
    chosen = comparing.parse_arguments(
        "Compare Adam with SGD and momentum, with and without a cosine schedule.",
        plot="optimizers.svg", epochs=10, arguments=arguments,
    )
    setups = {"Adam": adam, "SGD": sgd, "SGD, cosine": annealed_sgd(chosen.epochs)}
    histories = comparing.run(setups, chosen)
    comparing.print_summary(histories, chosen.target)
    comparing.save_plot(chosen.plot, histories)
    return histories


if __name__ == "__main__":
    main()
