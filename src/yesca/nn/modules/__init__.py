"""The modules by family; each name is loaded on first use."""

from __future__ import annotations

from importlib import import_module

from ...base import absent

# family (a file of this folder): the public names it defines
_FAMILIES = {
    "activation": (
        "Threshold ReLU RReLU Hardtanh ReLU6 Sigmoid Hardsigmoid Tanh SiLU Mish Hardswish ELU "
        "CELU SELU GLU GELU Hardshrink LeakyReLU LogSigmoid Softplus Softshrink "
        "MultiheadAttention PReLU Softsign Tanhshrink Softmin Softmax Softmax2d LogSoftmax"
    ),
    "adaptive": "AdaptiveLogSoftmaxWithLoss",
    "batchnorm": (
        "BatchNorm1d BatchNorm2d BatchNorm3d LazyBatchNorm1d LazyBatchNorm2d LazyBatchNorm3d "
        "SyncBatchNorm"
    ),
    "channelshuffle": "ChannelShuffle",
    "container": "Container Sequential ModuleList ModuleDict ParameterList ParameterDict",
    "conv": (
        "Conv1d Conv2d Conv3d ConvTranspose1d ConvTranspose2d ConvTranspose3d LazyConv1d "
        "LazyConv2d LazyConv3d LazyConvTranspose1d LazyConvTranspose2d LazyConvTranspose3d"
    ),
    "distance": "PairwiseDistance CosineSimilarity",
    "dropout": "Dropout Dropout1d Dropout2d Dropout3d AlphaDropout FeatureAlphaDropout",
    "flatten": "Flatten Unflatten",
    "fold": "Fold Unfold",
    "instancenorm": (
        "InstanceNorm1d InstanceNorm2d InstanceNorm3d LazyInstanceNorm1d LazyInstanceNorm2d "
        "LazyInstanceNorm3d"
    ),
    "lazy": "",
    "linear": "Bilinear Identity LazyLinear Linear",
    "loss": (
        "L1Loss NLLLoss NLLLoss2d PoissonNLLLoss GaussianNLLLoss KLDivLoss MSELoss "
        "BCELoss BCEWithLogitsLoss HingeEmbeddingLoss MultiLabelMarginLoss SmoothL1Loss HuberLoss "
        "SoftMarginLoss CrossEntropyLoss MultiLabelSoftMarginLoss CosineEmbeddingLoss "
        "MarginRankingLoss MultiMarginLoss TripletMarginLoss TripletMarginWithDistanceLoss CTCLoss "
        "LinearCrossEntropyLoss"
    ),
    "linear_cross_entropy": "",
    "linear_cross_entropy_options": "LinearCrossEntropyOptions",
    "module": "Module",
    "normalization": "LocalResponseNorm CrossMapLRN2d LayerNorm GroupNorm RMSNorm",
    "padding": (
        "CircularPad1d CircularPad2d CircularPad3d ConstantPad1d ConstantPad2d ConstantPad3d "
        "ReflectionPad1d ReflectionPad2d ReflectionPad3d ReplicationPad1d ReplicationPad2d "
        "ReplicationPad3d ZeroPad1d ZeroPad2d ZeroPad3d"
    ),
    "pixelshuffle": "PixelShuffle PixelUnshuffle",
    "pooling": (
        "MaxPool1d MaxPool2d MaxPool3d MaxUnpool1d MaxUnpool2d MaxUnpool3d AvgPool1d AvgPool2d "
        "AvgPool3d LPPool1d LPPool2d LPPool3d AdaptiveMaxPool1d AdaptiveMaxPool2d "
        "AdaptiveMaxPool3d AdaptiveAvgPool1d AdaptiveAvgPool2d AdaptiveAvgPool3d "
        "FractionalMaxPool2d FractionalMaxPool3d"
    ),
    "rnn": "RNNBase RNN LSTM GRU RNNCellBase RNNCell LSTMCell GRUCell",
    "sparse": "Embedding EmbeddingBag",
    "transformer": (
        "Transformer TransformerEncoder TransformerDecoder TransformerEncoderLayer "
        "TransformerDecoderLayer"
    ),
    "upsampling": "Upsample UpsamplingNearest2d UpsamplingBilinear2d",
    "utils": "",
}
_FAMILY_OF = {name: family for family, names in _FAMILIES.items() for name in names.split()}

__all__ = sorted(_FAMILY_OF)


def __getattr__(name: str):
    if name in _FAMILY_OF:
        value = getattr(import_module(f".{_FAMILY_OF[name]}", __package__), name)
    elif name in _FAMILIES:
        value = import_module(f".{name}", __package__)
    else:
        raise absent.error(__name__, name)
    globals()[name] = value  # the next look-up does not come here
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
