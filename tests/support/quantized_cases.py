"""Quantisation, the same in PyTorch and here: what record_quantized.py records, tests compute."""

import warnings

#: (name, batch, inputs, outputs, factor, shift, bias): the input is randn * factor + shift.
LAYERS = [
    ("plain", 3, 20, 7, 1.0, 0.0, True), ("one row", 1, 33, 18, 5.0, 0.0, True),
    ("positive", 4, 8, 3, 1.0, 9.0, False), ("negative", 2, 5, 2, 0.01, -1.0, True),
    ("symmetric", 4, 20, 7, 1.0, 0.0, True),
    ("tiny", 2, 6, 4, 1e-7, 0.0, True), ("large", 2, 6, 4, 1e6, 0.0, False),
]
#: (name, its layer, what it is quantized with, sizes of the input, lengths of packed sequences)
RECURRENT = [
    ("lstm", "LSTM(5, 6)", "qint8", (4, 3, 5), None),
    ("deep gru", "GRU(4, 5, 2, batch_first=True, bidirectional=True)", "rows", (2, 6, 4), None),
    ("packed lstm", "LSTM(3, 4, bidirectional=True)", "qint8", (3, 5, 3), [2, 5, 3]),
    ("half lstm", "LSTM(3, 4)", "float16", (5, 1, 3), None),
    ("lstm cell", "LSTMCell(7, 5)", "qint8", (3, 7), None),
    ("gru cell", "GRUCell(4, 9)", "rows", (2, 4), None),
    ("rnn cell", "RNNCell(4, 3, nonlinearity='relu')", "qint8", (2, 4), None),
    ("half rnn cell", "RNNCell(4, 3)", "float16", (2, 4), None),
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


def replaced(torch, layer, way):
    """A layer as `quantize_dynamic` replaces it."""
    quantization = torch.ao.quantization
    model = torch.nn.ModuleList([layer])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if way == "rows":
            spec = {type(layer): quantization.per_channel_dynamic_qconfig}
            return quantization.quantize_dynamic(model, spec)[0]
        return quantization.quantize_dynamic(model, dtype=getattr(torch, way))[0]


def recurrent(torch, case):
    """(quantized layer, its input, its states) of a case, drawn anew with one seed."""
    _, text, way, sizes, lengths = case
    torch.manual_seed(7)
    layer = replaced(torch, eval(f"torch.nn.{text}", {"torch": torch}), way)
    x = torch.randn(sizes)
    rows = 1
    if len(sizes) == 3:
        rows = layer.num_layers * (2 if layer.bidirectional else 1)
    batch = sizes[0] if len(sizes) == 2 or lengths or layer.batch_first else sizes[1]
    shape = (rows, batch, layer.hidden_size) if len(sizes) == 3 else (batch, layer.hidden_size)
    states = torch.randn(shape), torch.randn(shape)
    if lengths:
        x = torch.nn.utils.rnn.pack_padded_sequence(x, lengths, batch_first=True,
                                                    enforce_sorted=False)
    return layer, x, states if "LSTM" in text else states[0]


def flat(given):
    """The tensors among nested results, as lists."""
    if hasattr(given, "batch_sizes"):
        return flat(given.data)
    return [one for part in given for one in flat(part)] if isinstance(given, tuple) \
        else [given.tolist()]


def recurrent_results(torch, case):
    """What a recurrent layer is and gives, with states and without."""
    layer, x, states = recurrent(torch, case)
    weights = layer.get_weight()
    with torch.no_grad():
        found = flat(layer(x, states)), flat(layer(x))
    return {"repr": repr(layer), "state": list(layer.state_dict()), "results": found,
            "weights": {name: (weight.int_repr() if weight.is_quantized else weight).tolist()
                        for name, weight in weights.items()}}


def embeddings(torch):
    """(an embedding, bags) with bytes, drawn anew with one seed."""
    torch.manual_seed(3)
    return (replaced(torch, torch.nn.Embedding(6, 5), "quint8"),
            replaced(torch, torch.nn.EmbeddingBag(6, 5), "quint8"),
            replaced(torch, torch.nn.EmbeddingBag(6, 5, mode="sum", include_last_offset=True),
                     "quint8"))


def embedding_results(torch):
    """What embeddings are and give."""
    rows, bags, ended = layers = embeddings(torch)
    indices, offsets = torch.tensor([0, 5, 2, 2, 1]), torch.tensor([0, 2, 2])
    factors = torch.tensor([1.0, 0.5, -2.0, 3.0, 0.25])
    weights = [layer.weight() for layer in layers]
    with torch.no_grad():
        found = [rows(indices), rows(indices[:4].view(2, 2).int()), bags(indices, offsets),
                 bags(indices, offsets, factors), bags(indices[:4].view(2, 2)),
                 ended(indices, torch.tensor([0, 2, 5])), ended(indices, torch.tensor([1, 2, 2]))]
    return {"repr": [repr(layer) for layer in layers], "state": list(rows.state_dict()),
            "results": [one.tolist() for one in found],
            "weights": [[weight.int_repr().tolist(), weight.q_per_channel_scales().tolist(),
                         weight.q_per_channel_zero_points().tolist()] for weight in weights]}
