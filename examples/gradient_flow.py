"""Watch a network while it trains: where gradients vanish or explode, and which units are dead.

    python examples/gradient_flow.py                # with PyTorch
    python -m yesca examples/gradient_flow.py       # with yesca, the same file

It answers what print statements are used for. In a program of your own:

    from gradient_flow import GradientFlow

    with GradientFlow(model) as flow:
        criterion(model(images), labels).backward()
    print(flow)

As a program it shows the report of four networks on a batch of MNIST, three of them ill, and draws
how large the gradients are, layer by layer, in `gradient_flow.svg`.
"""

import argparse
import math
from pathlib import Path
from typing import NamedTuple

import charts
import mnist
import torch
from torch import nn

EXPLODING = 1.0  # the ratio of a gradient larger than the weight it belongs to
VANISHING = 1e-3  # times the largest ratio of the network
DEAD = 0.5  # of the units of a layer


class Layer(NamedTuple):
    """What was seen of one layer. None: there was nothing to see (no weight, no backward pass)."""

    name: str
    kind: str
    mean: float  # of the outputs of the last forward pass
    std: float
    dead: float  # share of units that gave 0 for every sample
    weight: float | None  # norm of all parameters
    gradient: float | None  # norm of their gradients in the last backward pass

    @property
    def ratio(self):
        return None if self.gradient is None or not self.weight else self.gradient / self.weight


class GradientFlow:
    """Hooks on the layers of a model until `close()`; `print(flow)` shows the table.

    Layers are modules without children, and those with parameters of their own. One that is never
    called has no row; of several outputs the first one is looked at. A unit is one number of the
    output for one sample (the first dimension counts samples); it is dead if it was 0 in all
    forward passes since the hooks were set, or since the output got another shape.
    """

    def __init__(self, model):
        self.names = {
            module: name for name, module in model.named_modules()
            if not list(module.children()) or list(module.parameters(recurse=False))
        }
        self.moments = {}  # module -> (mean, std) of its last output
        self.silent = {}  # module -> which units have always been 0
        self.gradients = {}  # parameter -> norm of its last gradient
        self.handles = [module.register_forward_hook(self._see) for module in self.names]
        for parameter in model.parameters():
            if parameter.requires_grad:
                self.handles.append(parameter.register_hook(self._keeper(parameter)))

    def _see(self, module, inputs, output):
        if isinstance(output, tuple):  # a recurrent layer, or attention with its weights
            output = output[0]
        seen = output.detach().float()
        silent = (seen == 0).all(dim=0)
        before = self.silent.get(module, silent)
        self.silent[module] = silent & before if before.shape == silent.shape else silent
        self.moments[module] = (seen.mean().item(), seen.std(correction=0).item())

    def _keeper(self, parameter):
        def keep(gradient):
            self.gradients[parameter] = gradient.norm().item()

        return keep

    def layers(self):
        """A `Layer` for each layer that has run, in the order of the first calls."""
        return [self._layer(module) for module in self.moments]

    def _layer(self, module):
        parameters = list(module.parameters(recurse=False))
        dead = self.silent[module].float().mean().item()
        weights = [parameter.detach().norm().item() for parameter in parameters]
        gradients = [self.gradients[p] for p in parameters if p in self.gradients]
        return Layer(
            self.names[module], type(module).__name__, *self.moments[module], dead,
            math.hypot(*weights) if weights else None,
            math.hypot(*gradients) if gradients else None,
        )

    def close(self):
        """Take the hooks off the model; what was seen stays."""
        for handle in self.handles:
            handle.remove()

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        self.close()

    def __str__(self):
        return table(self.layers())


# --- what to think of it --------------------------------------------------------------------------


def flags(layers):
    """For each layer what is wrong with it: "exploding", "vanishing", "dead", or ""."""
    ratios = [one.ratio for one in layers if one.ratio is not None]
    largest = max(filter(math.isfinite, ratios), default=0.0)
    return [", ".join(_complaints(one, largest)) for one in layers]


def _complaints(layer, largest):
    ratio = 0.0 if layer.ratio is None else layer.ratio
    if not (math.isfinite(layer.std) and math.isfinite(ratio)) or ratio > EXPLODING:
        yield "exploding"
    if layer.ratio is not None and ratio < VANISHING * largest:
        yield "vanishing"
    if layer.dead > DEAD:
        yield "dead"


def table(layers):
    """The report, lined up in columns; "-" where there is nothing to see."""
    head = ("layer", "kind", "mean", "std", "dead", "|weight|", "|grad|", "ratio", "")
    rows = [head]
    for one, flag in zip(layers, flags(layers)):
        figures = [f"{one.mean:.3g}", f"{one.std:.3g}", f"{one.dead:.0%}"]
        for figure, form in ((one.weight, ".3g"), (one.gradient, ".2e"), (one.ratio, ".1e")):
            figures.append("-" if figure is None else format(figure, form))
        rows.append((one.name, one.kind, *figures, flag))
    widths = [max(len(row[k]) for row in rows) for k in range(len(head))]
    lines = []
    for row in rows:
        left = [row[k].ljust(widths[k]) for k in (0, 1)]
        right = [row[k].rjust(widths[k]) for k in range(2, len(head) - 1)]
        lines.append("  ".join([*left, *right, row[-1]]).rstrip())
    return "\n".join(lines)


def bar_chart(title, layers):
    """How large the gradient of each layer is beside its weights, coloured by what is wrong."""
    bars = [
        charts.Bar(one.name, one.ratio, flag or "in order")
        for one, flag in zip(layers, flags(layers)) if one.ratio is not None
    ]
    kinds = ("in order", "vanishing", "exploding", "dead")
    return charts.bar_chart(title, bars, "|gradient| / |weight|", log_y=True, groups=kinds)


# --- four networks --------------------------------------------------------------------------------


def network(activation, depth=8, width=64):
    """784 pixels to 10 logits through `depth` hidden layers."""
    layers = [nn.Linear(784, width), activation()]
    for _ in range(depth - 1):
        layers += [nn.Linear(width, width), activation()]
    return nn.Sequential(*layers, nn.Linear(width, 10))


def healthy():
    """Weights as large as ReLU needs them: outputs keep their size from layer to layer."""
    model = network(nn.ReLU)
    for layer in model[::2]:
        nn.init.kaiming_normal_(layer.weight, nonlinearity="relu")
        nn.init.zeros_(layer.bias)
    return model


def vanishing():
    """A sigmoid's slope is at most 1/4, so that each layer passes on a fraction."""
    return network(nn.Sigmoid)


def exploding():
    """Weights three times too large: each layer makes its input larger."""
    model = healthy()
    for layer in model[::2]:
        layer.weight.data.mul_(3.0)
    return model


def dead():
    """Biases of one layer so low that most of its units give 0 for every image, and stay so."""
    model = healthy()
    with torch.no_grad():
        model[6].bias[:48] = -3.0
    return model


NETWORKS = {"healthy": healthy, "vanishing": vanishing, "exploding": exploding, "dead": dead}


def examine(model, images, labels):
    """The layers of a model after one forward and one backward pass."""
    with GradientFlow(model) as flow:
        nn.CrossEntropyLoss()(model(images), labels).backward()
    return flow.layers()


def main(arguments=None):
    parser = argparse.ArgumentParser(description="Report the gradients of four networks.")
    data = Path(__file__).resolve().parent / "data" / "mnist"
    parser.add_argument("--data", type=Path, default=data, metavar="DIR")
    parser.add_argument("--plot", type=Path, default=Path("gradient_flow.svg"), metavar="FILE")
    chosen = parser.parse_args(arguments)
    images, labels = mnist.load_split(chosen.data, "t10k", samples=256).tensors
    drawn, reports = [], {}
    for name, make in NETWORKS.items():
        torch.manual_seed(0)
        model = make()
        reports[name] = examine(model, images, labels)
        print(f"{name}: {make.__doc__}\n\n{table(reports[name])}\n")
        drawn.append(bar_chart(f"{name}: gradients beside weights", reports[name]))
    charts.save(chosen.plot, *drawn)
    print(f"gradients by layer in {chosen.plot}")
    return reports


if __name__ == "__main__":
    main()
