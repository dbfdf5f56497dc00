"""Every public module of `torch.nn` with inputs, for yesca and for the recorder alike.

`python tests/fixtures/record_modules.py`, with PyTorch installed, records what each has in its
state, gives and sends back, in `modules.json` there.
"""

SEED = 5


class Inputs:
    """What the cases take, from the library's own generator: both must draw the same numbers."""

    def __init__(self, torch):
        self.torch = torch

    def x(self, *shape):
        """Normal numbers that ask for a gradient."""
        return self.torch.randn(shape).requires_grad_()

    def p(self, *shape):
        """Numbers between 0 and 1 that ask for a gradient."""
        return self.torch.rand(shape).mul(0.8).add(0.1).requires_grad_()

    def q(self, *shape):
        """Probabilities along the last dimension."""
        return self.torch.softmax(self.torch.randn(shape), -1)

    def i(self, high, *shape):
        """Integers from 0 up to `high`."""
        return self.torch.randint(high, shape)

    def s(self, *shape):
        """-1 and 1."""
        return self.torch.randint(2, shape).mul(2).sub(1).float()

    def m(self, *shape):
        """True and False, the first of each row False."""
        made = self.torch.rand(shape) > 0.6
        made[..., 0] = False
        return made


#: A module, and what it is called with; `;` separates the two.
MODULES = [
    "nn.Linear(6, 4); x(3, 6)",
    "nn.Linear(6, 4, bias=False); x(2, 3, 6)",
    "nn.Bilinear(3, 4, 5); x(2, 3), x(2, 4)",
    "nn.Identity(5, unused=1); x(2, 3)",
    "nn.Embedding(9, 4, padding_idx=2); i(9, 2, 5)",
    "nn.Embedding(9, 4, max_norm=1.0, scale_grad_by_freq=True); i(9, 2, 5)",
    "nn.EmbeddingBag(9, 4); i(9, 3, 5)",
    "nn.EmbeddingBag(9, 4, mode='sum', padding_idx=1); i(9, 7), torch.tensor([0, 2, 4])",
    "nn.EmbeddingBag(9, 4, mode='max'); i(9, 7), torch.tensor([0, 3, 3])",
    "nn.Conv1d(4, 6, 3); x(2, 4, 9)",
    "nn.Conv1d(4, 8, 3, padding='same', dilation=2, groups=4, padding_mode='reflect'); x(2, 4, 9)",
    "nn.Conv2d(3, 6, 3, padding=1); x(2, 3, 7, 8)",
    "nn.Conv2d(4, 6, (3, 2), stride=2, padding=1, dilation=(1, 2), groups=2, bias=False);"
    " x(2, 4, 7, 8)",
    "nn.Conv2d(3, 4, 3, padding=2, padding_mode='circular'); x(2, 3, 7, 8)",
    "nn.Conv2d(3, 4, 3, padding=1, padding_mode='replicate'); x(2, 3, 5, 5)",
    "nn.Conv3d(2, 3, 2, stride=2); x(2, 2, 4, 5, 4)",
    "nn.ConvTranspose1d(4, 3, 4, stride=2, padding=1); x(2, 4, 5)",
    "nn.ConvTranspose2d(2, 4, 3, stride=2, output_padding=1, groups=2); x(2, 2, 4, 5)",
    "nn.ConvTranspose3d(2, 3, 2, dilation=2); x(1, 2, 3, 3, 3)",
    "nn.Unfold(2, stride=2, padding=1); x(2, 3, 5, 6)",
    "nn.Fold((5, 6), 2, stride=1); x(2, 12, 20)",
    "nn.MaxPool1d(3, 2, 1); x(2, 3, 9)",
    "nn.MaxPool2d((2, 3), stride=1, padding=1); x(2, 3, 6, 6)",
    "nn.MaxPool2d(2, return_indices=True); x(2, 3, 6, 6)",
    "nn.MaxPool3d(2, ceil_mode=True); x(1, 2, 5, 4, 3)",
    "nn.MaxUnpool1d(2); x(2, 3, 4), torch.tensor([0, 3, 4, 6]).expand(2, 3, 4)",
    "nn.MaxUnpool2d(2); x(1, 2, 1, 2), torch.tensor([0, 3]).expand(1, 2, 1, 2)",
    "nn.MaxUnpool3d(2); x(1, 1, 1, 1, 2), torch.tensor([0, 3]).expand(1, 1, 1, 1, 2)",
    "nn.AvgPool1d(3, 2, 1, count_include_pad=False); x(2, 3, 9)",
    "nn.AvgPool2d(2, ceil_mode=True, divisor_override=3); x(2, 3, 5, 6)",
    "nn.AvgPool3d(2); x(1, 2, 4, 4, 4)",
    "nn.FractionalMaxPool2d(2, output_ratio=0.6); x(2, 3, 7, 7)",
    "nn.FractionalMaxPool3d(2, output_size=(2, 3, 2)); x(1, 2, 5, 6, 5)",
    "nn.LPPool1d(2, 3); x(2, 3, 9)",
    "nn.LPPool2d(3, 2); p(2, 3, 6, 6)",
    "nn.LPPool3d(2, 2); x(1, 2, 4, 4, 4)",
    "nn.AdaptiveAvgPool1d(4); x(2, 3, 9)",
    "nn.AdaptiveAvgPool2d((1, None)); x(2, 3, 5, 6)",
    "nn.AdaptiveAvgPool3d(2); x(1, 2, 3, 4, 5)",
    "nn.AdaptiveMaxPool1d(4); x(2, 3, 9)",
    "nn.AdaptiveMaxPool2d((3, 2)); x(2, 3, 5, 6)",
    "nn.AdaptiveMaxPool3d(2); x(1, 2, 3, 4, 5)",
    "nn.ReflectionPad1d(2); x(2, 3, 5)",
    "nn.ReflectionPad2d((1, 2, 0, 1)); x(2, 3, 4, 5)",
    "nn.ReflectionPad3d(1); x(1, 2, 3, 3, 3)",
    "nn.ReplicationPad1d(2); x(2, 3, 5)",
    "nn.ReplicationPad2d((1, 2, 0, 1)); x(2, 3, 4, 5)",
    "nn.ReplicationPad3d(1); x(1, 2, 3, 3, 3)",
    "nn.ConstantPad1d(2, 3.5); x(2, 3, 5)",
    "nn.ConstantPad2d((1, -1, 0, 1), 2.0); x(2, 3, 4, 5)",
    "nn.ConstantPad3d(1, 0.5); x(1, 2, 3, 3, 3)",
    "nn.ZeroPad1d(2); x(2, 3, 5)",
    "nn.ZeroPad2d((1, 2, 0, 1)); x(2, 3, 4, 5)",
    "nn.ZeroPad3d(1); x(1, 2, 3, 3, 3)",
    "nn.CircularPad1d(2); x(2, 3, 5)",
    "nn.CircularPad2d((1, 2, 0, 1)); x(2, 3, 4, 5)",
    "nn.CircularPad3d(1); x(1, 2, 3, 3, 3)",
    "nn.ELU(0.7); x(4, 5)",
    "nn.Hardshrink(); x(4, 5)",
    "nn.Hardsigmoid(); x(4, 5)",
    "nn.Hardtanh(-0.5, 0.6); x(4, 5)",
    "nn.Hardswish(); x(4, 5)",
    "nn.LeakyReLU(0.2); x(4, 5)",
    "nn.LogSigmoid(); x(4, 5)",
    "nn.PReLU(3); x(4, 3, 5)",
    "nn.ReLU(); x(4, 5)",
    "nn.ReLU6(); x(4, 5)",
    "nn.RReLU(); x(4, 5)",
    "nn.SELU(); x(4, 5)",
    "nn.CELU(0.4); x(4, 5)",
    "nn.GELU(); x(4, 5)",
    "nn.GELU('tanh'); x(4, 5)",
    "nn.Sigmoid(); x(4, 5)",
    "nn.SiLU(); x(4, 5)",
    "nn.Mish(); x(4, 5)",
    "nn.Softplus(2.0, 0.5); x(4, 5)",
    "nn.Softshrink(0.3); x(4, 5)",
    "nn.Softsign(); x(4, 5)",
    "nn.Tanh(); x(4, 5)",
    "nn.Tanhshrink(); x(4, 5)",
    "nn.Threshold(0.1, 20.0); x(4, 5)",
    "nn.GLU(); x(4, 6)",
    "nn.Softmin(-1); x(4, 5)",
    "nn.Softmax(0); x(4, 5)",
    "nn.Softmax2d(); x(2, 3, 4, 5)",
    "nn.LogSoftmax(1); x(4, 5)",
    "nn.AdaptiveLogSoftmaxWithLoss(8, 12, [3, 7]); x(6, 8), i(12, 6)",
    "nn.MultiheadAttention(8, 2); x(5, 2, 8), x(4, 2, 8), x(4, 2, 8)",
    "nn.MultiheadAttention(8, 2, kdim=3, vdim=5, add_bias_kv=True, add_zero_attn=True,"
    " batch_first=True); x(2, 4, 8), x(2, 6, 3), x(2, 6, 5), m(2, 6)",
    "nn.BatchNorm1d(3); x(4, 3, 5)",
    "nn.BatchNorm1d(3, momentum=None, affine=False); x(4, 3)",
    "nn.BatchNorm2d(3); x(4, 3, 5, 2)",
    "nn.BatchNorm3d(3, track_running_stats=False); x(2, 3, 2, 3, 2)",
    "nn.LayerNorm((3, 4)); x(2, 3, 4)",
    "nn.LayerNorm(4, bias=False); x(2, 3, 4)",
    "nn.GroupNorm(2, 4); x(3, 4, 5)",
    "nn.InstanceNorm1d(3, affine=True); x(2, 3, 6)",
    "nn.InstanceNorm2d(3, affine=True, track_running_stats=True); x(2, 3, 4, 4)",
    "nn.InstanceNorm3d(2); x(2, 2, 3, 3, 2)",
    "nn.RMSNorm(4); x(2, 3, 4)",
    "nn.LocalResponseNorm(3, alpha=0.5); x(2, 6, 4, 4)",
    # PyTorch's gradient of this one is not the derivative of its forward (its gradcheck fails).
    "nn.CrossMapLRN2d(3, alpha=0.5, k=2); x(2, 6, 4, 4).detach()",
    "nn.SyncBatchNorm(3).eval(); x(4, 3, 5)",
    "nn.RNN(4, 3, num_layers=2); x(5, 2, 4)",
    "nn.RNN(4, 3, nonlinearity='relu', bidirectional=True, batch_first=True); x(2, 5, 4)",
    "nn.LSTM(4, 3, num_layers=2, bidirectional=True); x(5, 2, 4)",
    "nn.LSTM(4, 5, proj_size=2, batch_first=True, num_layers=2); x(2, 5, 4)",
    "nn.LSTM(4, 3, num_layers=3, dropout=0.4); x(5, 2, 4)",
    "nn.GRU(4, 3, num_layers=2, bidirectional=True, bias=False); x(5, 2, 4)",
    "nn.RNNCell(4, 3); x(2, 4)",
    "nn.LSTMCell(4, 3); x(2, 4), (x(2, 3), x(2, 3))",
    "nn.GRUCell(4, 3, bias=False); x(2, 4), x(2, 3)",
    "nn.Transformer(8, 2, 1, 2, 16, batch_first=True); x(2, 4, 8), x(2, 3, 8)",
    "nn.TransformerEncoder(nn.TransformerEncoderLayer(8, 2, 16), 2); x(4, 2, 8)",
    "nn.TransformerDecoder(nn.TransformerDecoderLayer(8, 2, 16), 2, nn.LayerNorm(8));"
    " x(4, 2, 8), x(3, 2, 8)",
    "nn.TransformerEncoderLayer(8, 2, 16, activation='gelu', norm_first=True); x(4, 2, 8)",
    "nn.TransformerEncoderLayer(8, 2, 16, batch_first=True).eval(); x(2, 4, 8)",
    "nn.TransformerDecoderLayer(8, 2, 16, dropout=0.0, bias=False); x(4, 2, 8), x(3, 2, 8)",
    "nn.Dropout(0.3); x(6, 7)",
    "nn.Dropout1d(0.3); x(6, 7, 2)",
    "nn.Dropout2d(0.3); x(3, 7, 2, 2)",
    "nn.Dropout3d(0.3); x(3, 7, 2, 1, 2)",
    "nn.AlphaDropout(0.3); x(6, 7)",
    "nn.FeatureAlphaDropout(0.3); x(6, 7, 2)",
    "nn.Flatten(); x(2, 3, 4)",
    "nn.Unflatten(1, (2, 3)); x(2, 6, 4)",
    "nn.PixelShuffle(2); x(2, 8, 3, 3)",
    "nn.PixelUnshuffle(2); x(2, 3, 4, 6)",
    "nn.ChannelShuffle(2); x(2, 6, 3)",
    "nn.Upsample(scale_factor=2); x(2, 3, 4)",
    "nn.Upsample((5, 7), mode='bilinear', align_corners=True); x(2, 3, 4, 4)",
    "nn.Upsample(scale_factor=1.7, mode='bicubic'); x(2, 3, 4, 4)",
    "nn.UpsamplingNearest2d(scale_factor=2); x(2, 3, 4, 4)",
    "nn.UpsamplingBilinear2d((7, 6)); x(2, 3, 4, 4)",
    "nn.CosineSimilarity(-1); x(3, 4), x(3, 4)",
    "nn.PairwiseDistance(3.0); x(3, 4), x(3, 4)",
    "nn.L1Loss(); x(3, 4), x(3, 4)",
    "nn.MSELoss(reduction='sum'); x(3, 4), x(3, 4)",
    "nn.CrossEntropyLoss(torch.ones(4), label_smoothing=0.1, ignore_index=2); x(6, 4), i(4, 6)",
    "nn.CrossEntropyLoss(); x(6, 4), q(6, 4)",
    "nn.CTCLoss(); torch.log_softmax(x(7, 2, 4), -1), i(3, 2, 2) + 1, torch.tensor([7, 5]),"
    " torch.tensor([2, 1])",
    "nn.NLLLoss(); torch.log_softmax(x(6, 4), -1), i(4, 6)",
    "nn.NLLLoss2d(); torch.log_softmax(x(2, 4, 3, 2), 1), i(4, 2, 3, 2)",
    "nn.LinearCrossEntropyLoss(5, 4, bias=True, label_smoothing=0.1); x(6, 5), i(4, 6)",
    "nn.PoissonNLLLoss(full=True); x(3, 4), p(3, 4) * 4",
    "nn.GaussianNLLLoss(); x(3, 4), x(3, 4), p(3, 1)",
    "nn.KLDivLoss(reduction='batchmean'); torch.log_softmax(x(3, 4), -1), q(3, 4)",
    "nn.BCELoss(); p(3, 4), p(3, 4).detach()",
    "nn.BCEWithLogitsLoss(pos_weight=torch.ones(4) * 2); x(3, 4), p(3, 4).detach()",
    "nn.MarginRankingLoss(0.3); x(5), x(5), s(5)",
    "nn.HingeEmbeddingLoss(0.5); x(3, 4), s(3, 4)",
    "nn.MultiLabelMarginLoss(); x(2, 4), torch.tensor([[3, 0, -1, 1], [1, -1, 2, 2]])",
    "nn.HuberLoss(delta=0.6); x(3, 4), x(3, 4)",
    "nn.SmoothL1Loss(beta=0.7); x(3, 4), x(3, 4)",
    "nn.SoftMarginLoss(); x(3, 4), s(3, 4)",
    "nn.MultiLabelSoftMarginLoss(); x(3, 4), i(2, 3, 4).float()",
    "nn.CosineEmbeddingLoss(0.2); x(3, 4), x(3, 4), s(3)",
    "nn.MultiMarginLoss(p=2); x(3, 4), i(4, 3)",
    "nn.TripletMarginLoss(swap=True); x(3, 4), x(3, 4), x(3, 4)",
    "nn.TripletMarginWithDistanceLoss(); x(3, 4), x(3, 4), x(3, 4)",
    "nn.Sequential(nn.Conv2d(1, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.Flatten(),"
    " nn.Dropout(0.2), nn.Linear(64, 5)); x(3, 1, 6, 6)",
]

#: Classes that no case can call: they hold others, or are for deriving from.
NO_LAYERS = {
    "Buffer", "Container", "DataParallel", "LinearCrossEntropyOptions", "Module", "ModuleDict",
    "ModuleList", "Parameter", "ParameterDict", "ParameterList", "RNNBase", "RNNCellBase",
    "UninitializedBuffer", "UninitializedParameter",
}  # fmt: skip


def build(torch, text):
    """A case's module from the seed, and what it is called with."""
    torch.manual_seed(SEED)
    module, arguments = text.split(";")
    make = Inputs(torch)
    names = {name: getattr(make, name) for name in "xpqism"}
    return (eval(module, {"torch": torch, "nn": torch.nn}),
            eval(f"[{arguments.strip()}]", {"torch": torch, **names}))


def called(torch, text):
    """What the module gives, and what it sends back: numbers by name."""
    module, arguments = build(torch, text)
    module_state = {name: numbers(torch, value) for name, value in module.state_dict().items()}
    results = flat(module(*arguments))
    goals = [r for r in results if r.requires_grad]
    leaves = [a for a in flat(arguments) if a.requires_grad]
    leaves += [p for p in module.parameters() if p.requires_grad]
    back = []
    if goals and leaves:
        loss = sum((r * weights(torch, r).to(r.dtype)).sum() for r in goals)
        back = torch.autograd.grad(loss, leaves, allow_unused=True)
    return {
        "state": module_state,
        "results": [numbers(torch, r) for r in results],
        "gradients": [None if g is None else numbers(torch, g) for g in back],
        "after": [numbers(torch, b) for b in module.buffers()],
    }


def flat(found):
    """The tensors in tuples, in order."""
    if isinstance(found, (tuple, list)):
        return [each for one in found for each in flat(one)]
    return [found] if hasattr(found, "requires_grad") else []


def weights(torch, tensor):
    """One number per element, no two alike."""
    line = torch.arange(1, tensor.numel() + 1, dtype=torch.float64)
    return line.cos().reshape(tensor.shape)


def numbers(torch, tensor):
    """The dtype and shape of a tensor, its weighted sum, and its norm."""
    values = tensor.detach().double()
    total = (values * weights(torch, values)).sum().item()
    return [str(tensor.dtype).split(".")[-1], list(tensor.shape), total, values.norm().item()]
