"""Quantisation, the same in PyTorch and here: what record_quantized.py records, tests compute."""

import warnings

#: (name, batch, inputs, outputs, factor, shift, bias): the input is randn * factor + shift.
LAYERS = [
    ("plain", 3, 20, 7, 1.0, 0.0, True), ("one row", 1, 33, 18, 5.0, 0.0, True),
    ("positive", 4, 8, 3, 1.0, 9.0, False), ("negative", 2, 5, 2, 0.01, -1.0, True),
    ("symmetric", 4, 20, 7, 1.0, 0.0, True),
    ("tiny", 2, 6, 4, 1e-7, 0.0, True), ("large", 2, 6, 4, 1e6, 0.0, False),
]
QCONFIGS = ("default_dynamic_qconfig", "per_channel_dynamic_qconfig", "float16_dynamic_qconfig")
OBSERVERS = {
    "affine": "MinMaxObserver()",
    "affine int8": "MinMaxObserver(dtype=torch.qint8)",
    "symmetric": "MinMaxObserver(dtype=torch.qint8, qscheme=torch.per_tensor_symmetric)",
    "symmetric bytes": "MinMaxObserver(qscheme=torch.per_tensor_symmetric)",
    "half": "MinMaxObserver(quant_min=0, quant_max=127)",
    "coarse": "MinMaxObserver(eps=0.5)",
    "average": "MovingAverageMinMaxObserver(averaging_constant=0.1)",
    "rows": "PerChannelMinMaxObserver(dtype=torch.qint8, qscheme=torch.per_channel_symmetric)",
    "columns": "PerChannelMinMaxObserver(ch_axis=1)",
    "float": "PerChannelMinMaxObserver(qscheme=torch.per_channel_affine_float_qparams)",
    "average rows": "MovingAveragePerChannelMinMaxObserver(averaging_constant=0.1)",
}


def layer(torch, case):
    """(float model of one layer, its input) of a case, drawn anew with one seed."""
    name, batch, inputs, outputs, factor, shift, bias = case
    torch.manual_seed(5)
    model = torch.nn.Sequential(torch.nn.Linear(inputs, outputs, bias=bias))
    x = torch.randn(batch, inputs) * factor + shift
    return model, torch.cat((x, -x)) if name == "symmetric" else x


def quantized(torch, model, qconfig, **options):
    """The model with its linear layers quantized."""
    quantization = torch.ao.quantization
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return quantization.quantize_dynamic(
            model, {torch.nn.Linear: getattr(quantization, qconfig)}, **options)


def dynamic(torch, x):
    """What `quantize_per_tensor_dynamic` makes of a tensor."""
    found = {}
    for dtype, reduced in ((torch.quint8, True), (torch.quint8, False), (torch.qint8, False)):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            q = torch.quantize_per_tensor_dynamic(x, dtype, reduced)
        found[f"{dtype}, {reduced}"] = [q.q_scale(), q.q_zero_point(), q.int_repr().tolist()]
    return found


def results(torch, case):
    """Weights, results and quantized input of a case, as lists."""
    model, x = layer(torch, case)
    found = {"dynamic": dynamic(torch, x)}
    for name in QCONFIGS:
        made = quantized(torch, model, name)
        found[name] = {"result": made(x).tolist()}
        if "float16" not in name:
            found[name]["weight"] = made[0].weight().int_repr().tolist()
    return found


def observed(torch, text):
    """(scale, zero point, dtypes) that an observer chooses for two inputs."""
    observer = eval(f"torch.ao.quantization.{text}", {"torch": torch})
    for values in ([[-1.0, 2.0, 0.5], [3.0, -4.0, 0.1]], [[0.5, 2.5, 0.0], [-1.0, 0.0, 0.2]]):
        observer(torch.tensor(values))
    scale, zero = observer.calculate_qparams()
    return [scale.tolist(), zero.tolist(), str(scale.dtype), str(zero.dtype)]


def rounded(torch):
    """Ties and numbers beyond the bounds, quantized in each way."""
    x = torch.tensor([[0.5, 1.5, 2.5, -0.5, 1e20, -1e20, float("-inf"), float("inf")]])
    found = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for dtype, zero in ((torch.quint8, 33), (torch.qint8, -3), (torch.qint32, 7)):
            q = torch.quantize_per_tensor(x, 1.0, zero, dtype)
            c = torch.quantize_per_channel(x, torch.tensor([1.0]), torch.tensor([zero]), 0, dtype)
            found[str(dtype)] = [q.int_repr().tolist(), c.int_repr().tolist()]
    return found
