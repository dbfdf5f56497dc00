"""What the tests of layers and functions build, for yesca and for the recorder alike.

`python tests/fixtures/record_nn.py`, with PyTorch installed, records them in `nn.json` there.
"""

#: Layers: how they print, what they save, and the weights that seed 3 gives.
LAYERS = [
    "nn.Linear(3, 4)",
    "nn.Linear(3, 4, bias=False, dtype=torch.float64)",
    "nn.Bilinear(3, 4, 5)",
    "nn.Identity(54, unused=1)",
    "nn.Embedding(7, 3, padding_idx=-2)",
    "nn.Embedding(4, 2, max_norm=1.0, norm_type=1.0, scale_grad_by_freq=True, sparse=True)",
    "nn.EmbeddingBag(5, 3, padding_idx=0)",
    "nn.PReLU(3)",
    "nn.LayerNorm((3, 4))",
    "nn.LayerNorm(4, bias=False)",
    "nn.LayerNorm(4, elementwise_affine=False)",
    "nn.RMSNorm(4)",
    "nn.GroupNorm(2, 4)",
    "nn.BatchNorm1d(3)",
    "nn.BatchNorm2d(3, affine=False)",
    "nn.BatchNorm3d(3, track_running_stats=False, momentum=None)",
    "nn.SyncBatchNorm(3, momentum=None)",
    "nn.CrossMapLRN2d(3, k=2)",
    "nn.LinearCrossEntropyLoss(3, 4, out_features=(2,), bias=True)",
    "nn.InstanceNorm2d(3, affine=True, track_running_stats=True)",
    "nn.MultiheadAttention(8, 2)",
    "nn.MultiheadAttention(8, 2, kdim=3, vdim=5, add_bias_kv=True, batch_first=True)",
    "nn.TransformerEncoderLayer(8, 2, 16)",
    "nn.TransformerDecoderLayer(8, 2, 16, norm_first=True)",
    "nn.Transformer(8, 2, 1, 2, 16, batch_first=True)",
    "nn.Conv1d(4, 6, 3)",
    "nn.Conv2d(4, 6, (3, 2), stride=2, padding=1, dilation=(1, 2), groups=2, bias=False)",
    "nn.Conv2d(4, 6, 3, padding='same', padding_mode='circular')",
    "nn.Conv3d(2, 3, 2)",
    "nn.ConvTranspose2d(2, 4, 3, stride=2, output_padding=1, groups=2)",
    "nn.LSTM(3, 4, num_layers=2, bidirectional=True, batch_first=True)",
    "nn.LSTM(3, 4, proj_size=2)",
    "nn.GRU(3, 4, bias=False)",
    "nn.RNN(3, 4, nonlinearity='relu')",
    "nn.LSTMCell(3, 4)",
    "nn.RNNCell(3, 4, nonlinearity='relu')",
    "nn.MaxPool2d((2, 3), stride=1, padding=1)",
    "nn.AvgPool1d(2)",
    "nn.AvgPool2d(2)",
    "nn.LPPool2d(2, 3)",
    "nn.AdaptiveAvgPool2d((1, None))",
    "nn.MaxUnpool2d(2)",
    "nn.Upsample(scale_factor=2)",
    "nn.Upsample((3, 4), mode='bilinear')",
    "nn.PixelShuffle(2)",
    "nn.ZeroPad2d(1)",
    "nn.ReflectionPad1d(2)",
    "nn.ConstantPad1d(2, 3.5)",
    "nn.Unfold(2)",
    "nn.ChannelShuffle(2)",
    "nn.Dropout(0.3)",
    "nn.Flatten()",
    "nn.Unflatten(1, (2, 2))",
    "nn.ReLU(inplace=True)",
    "nn.LeakyReLU()",
    "nn.ELU(inplace=True)",
    "nn.GELU('tanh')",
    "nn.Softmax(-1)",
    "nn.Softplus()",
    "nn.Hardtanh()",
    "nn.ReLU6()",
    "nn.Threshold(1, 2)",
    "nn.Softshrink()",
    "nn.CrossEntropyLoss(torch.ones(3))",
    "nn.MSELoss()",
]

#: Functions of x (2, 3, 4), p in (0, 1), t in {0, 1, 2} and s in {-1, 1}: results and gradients.
FUNCTIONS = [
    "F.cross_entropy(x, t)",
    "F.cross_entropy(x.flatten(0, 1)[:, :3], t.flatten()[:6], label_smoothing=0.2)",
    "F.cross_entropy(x, p / p.sum(1, keepdim=True), reduction='sum')",
    "F.linear_cross_entropy(x[0], p[1], t[0, :3], linear_bias=s[0, :, 0], label_smoothing=0.1)",
    "F.linear_cross_entropy(x[0], p, t[0, :3, None].expand(3, 3) % 2, reduction='sum')",
    "F.linear_cross_entropy(x[0], p[1], t[0, :3], weight=p[0, 0, :3], ignore_index=2, "
    "options=nn.LinearCrossEntropyOptions(batch_chunk_size=2))",
    "F.linear_cross_entropy(x[0], p[1], t[0, :3], reduction='none', linear_bias=s[0, :, 0], "
    "options=nn.LinearCrossEntropyOptions(batch_chunk_size=2))",
    "F.nll_loss(x.log_softmax(1), t, weight=p[0, :, 0])",
    "F.mse_loss(x, p)",
    "F.mse_loss(x, p, weight=p)",
    "F.l1_loss(x, p, reduction='sum')",
    "F.smooth_l1_loss(x, p, beta=0.7)",
    "F.huber_loss(x, p, delta=0.6, reduction='none')",
    "F.binary_cross_entropy(x.sigmoid(), p)",
    "F.binary_cross_entropy_with_logits(x * 20, p, pos_weight=p[0, 0])",
    "F.kl_div(x.log_softmax(-1), p, reduction='batchmean')",
    "F.poisson_nll_loss(x, p * 4, full=True)",
    "F.gaussian_nll_loss(x, p, p[..., :1], full=True)",
    "F.soft_margin_loss(x, s)",
    "F.hinge_embedding_loss(x, s, margin=0.5)",
    "F.multilabel_soft_margin_loss(x[0], p[0])",
    "F.margin_ranking_loss(x, p, s, margin=0.3)",
    "F.cosine_embedding_loss(x[0], p[0], s[0, :, 0])",
    "F.triplet_margin_loss(x[0], p[0], s[0], swap=True)",
    "F.multi_margin_loss(x[0, :, :3], t[0, :3], p=2)",
    "F.softmax(x, dim=1)",
    "F.softmin(x, dim=-1)",
    "F.log_softmax(x, dim=-1)",
    "F.relu(x)",
    "F.leaky_relu(x, 0.2)",
    "F.elu(x)",
    "F.selu(x)",
    "F.celu(x, 0.5)",
    "F.silu(x)",
    "F.mish(x)",
    "F.gelu(x)",
    "F.gelu(x, approximate='tanh')",
    "F.hardtanh(x, -0.5, 0.7)",
    "F.hardsigmoid(x)",
    "F.hardswish(x)",
    "F.softplus(x)",
    "F.logsigmoid(x)",
    "F.softsign(x)",
    "F.tanhshrink(x)",
    "F.glu(x, 2)",
    "F.threshold(x, 0.1, 20.0)",
    "F.layer_norm(x, (4,), p[0, 0])",
    "F.rms_norm(x, (4,))",
    "F.group_norm(x, 3)",
    "F.batch_norm(x, None, None, training=True)",
    "nn.CrossMapLRN2d(3, alpha=0.5)(x.detach()[None])",
    "F.local_response_norm(x, 2, alpha=0.5)",
    "F.normalize(x, dim=-1)",
    "F.normalize(x, p=1.0, dim=1)",
    "F.cosine_similarity(x, p, dim=-1)",
    "F.pairwise_distance(x, p, p=3.0)",
    "F.one_hot(t, 3)",
    "F.embedding(t, x[0], padding_idx=1)",
    "F.pad(x, (1, -2, 0, 1), value=3.0)",
    "F.pad(x, (2, 3), mode='reflect')",
    "F.pad(x, (5, 1), mode='replicate')",
    "F.pad(x, (-1, 2), mode='circular')",
    "F.scaled_dot_product_attention(x, p, s, is_causal=True)",
]

#: Recurrent layers with weights from 0 up, run over x (2, 3, 4): outputs and last states.
RECURRENT = [
    "nn.RNN(4, 2, num_layers=2)",
    "nn.GRU(4, 3, bidirectional=True)",
    "nn.LSTM(4, 3, num_layers=2, batch_first=True)",
    "nn.LSTM(4, 3, proj_size=2, bidirectional=True)",
    "nn.GRU(4, 3, bias=False)",
]

#: Starts of w, a fresh tensor, from seed 11.
STARTS = [
    "init.uniform_(torch.empty(3), -1.0, 2.0)",
    "init.normal_(torch.empty(3), 1.0, 2.0)",
    "init.trunc_normal_(torch.empty(20))",
    "init.trunc_normal_(torch.empty(20), std=2.0, a=3.0, b=4.0)",
    "init.trunc_normal_(torch.empty(30), std=5.0)",
    "init.constant_(torch.empty(2), 0.3)",
    "init.eye_(torch.empty(2, 3))",
    "init.dirac_(torch.empty(4, 2, 3), groups=2)",
    "init.xavier_uniform_(torch.empty(2, 3), 2.0)",
    "init.xavier_normal_(torch.empty(2, 3, 2))",
    "init.kaiming_uniform_(torch.empty(2, 3), mode='fan_out', nonlinearity='relu')",
    "init.kaiming_normal_(torch.empty(2, 3))",
    "init.sparse_(torch.empty(4, 3), 0.5)",
    "init.orthogonal_(torch.empty(2, 4))",
    "init.orthogonal_(torch.empty(4, 2, 1), gain=2.0)",
]


def describe_layer(layer):
    """Text, entries of the state (shape and rounded values) of one layer."""
    entries = {}
    for name, value in layer.state_dict().items():
        numbers = value.double().flatten().tolist()
        entries[name] = [list(value.shape), [round(each, 6) for each in numbers[:4]]]
    return {"text": repr(layer), "state": entries}


def inputs(torch):
    """The tensors that the functions take, the same for every library: no generator involved."""
    line = torch.arange(24, dtype=torch.float64)
    x = (line * 1.7 + 0.3).sin().mul(2).reshape(2, 3, 4).requires_grad_()
    p = ((line * 0.9).cos() * 0.45 + 0.5).reshape(2, 3, 4)
    t = torch.tensor([[0, 2, 1, 1], [2, 0, 0, 1]])
    s = torch.where((line * 2.3).sin() > 0, 1.0, -1.0).double().reshape(2, 3, 4)
    return {"x": x, "p": p, "t": t, "s": s}


def run_function(torch, functional, text):
    """Rounded result and gradient of x for one of FUNCTIONS."""
    names = inputs(torch)
    result = eval(text, {"F": functional, "nn": torch.nn, **names})
    gradient = None
    if result.requires_grad:
        weights = torch.arange(1, result.numel() + 1, dtype=torch.float64).cos()
        (result * weights.reshape(result.shape)).sum().backward()
        gradient = [round(each, 6) for each in names["x"].grad.flatten().tolist()]
    values = [round(float(each), 6) for each in result.detach().double().flatten().tolist()]
    return {"shape": list(result.shape), "values": values, "gradient": gradient}


def run_recurrent(torch, nn, text):
    """Rounded outputs, states and gradient of x for one of RECURRENT."""
    layer = eval(text, {"nn": nn}).double()
    with torch.no_grad():
        for position, weight in enumerate(layer.parameters()):
            line = torch.arange(weight.numel(), dtype=torch.float64).add(position).mul(1.3).sin()
            weight.copy_(line.reshape(weight.shape))
    x = inputs(torch)["x"]
    output, state = layer(x)
    states = state if isinstance(state, tuple) else (state,)
    output.cos().sum().backward()
    rounded = [
        [round(number, 6) for number in each.detach().flatten().tolist()]
        for each in (output, *states, x.grad)
    ]
    return {"shape": list(output.shape), "values": rounded}
