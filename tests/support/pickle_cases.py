"""Objects that programs save, made with either library, and what is said of a loaded one."""

from __future__ import annotations

import datetime
import decimal
import pathlib
import re
from collections import Counter, OrderedDict, defaultdict, deque
from typing import Any

DTYPES = ("float64 float32 float16 bfloat16 int8 uint8 int16 int32 int64 bool uint16 uint32 uint64 "
          "complex64 complex128").split()
OPTIMIZERS = "SGD Adam AdamW Adagrad RMSprop NAdam RAdam Adamax ASGD Rprop".split()


def _stepped(torch: Any, name: str) -> Any:
    model = torch.nn.Linear(2, 1)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.fill_(0.5)
    optimizer = getattr(torch.optim, name)(model.parameters(), lr=0.125)
    model(torch.ones(1, 2)).sum().backward()
    optimizer.step()
    return optimizer


def _modules(torch: Any) -> dict[str, Any]:
    nn = torch.nn
    lstm = nn.LSTM(2, 3, num_layers=2, bidirectional=True)
    model = nn.Sequential(
        nn.Conv2d(1, 2, 3), nn.BatchNorm2d(2), nn.GELU(), nn.Flatten(), nn.Dropout(0.25),
        nn.ModuleDict({"a": nn.Embedding(3, 2)}), nn.ModuleList([nn.GroupNorm(1, 2)]),
        nn.ParameterList([nn.Parameter(torch.ones(2))]), nn.Upsample(scale_factor=2),
    )
    layer = nn.TransformerEncoderLayer(4, 2, 8)
    made = {"lstm": lstm, "gru": nn.GRU(2, 3), "convolution": model, "encoder": layer,
            "attention": nn.MultiheadAttention(4, 2), "bilinear": nn.Bilinear(2, 2, 1)}
    for module in made.values():
        with torch.no_grad():
            for parameter in module.parameters():
                parameter.fill_(0.25)
    return made | {"lazy": nn.LazyLinear(3)}


def _views(torch: Any) -> list[Any]:
    base = torch.arange(12.0).reshape(3, 4)
    return [base[1:], base.t(), base[:, ::2], torch.ones(1).expand(3, 4), torch.zeros(0, 3)]


def _noted(torch: Any) -> list[Any]:
    made = [torch.ones(2), torch.nn.Parameter(torch.ones(2)), torch.ones(2, requires_grad=True)]
    for tensor in made:
        tensor.note = "kept"
    return made


def cases(torch: Any) -> dict[str, Any]:
    """The objects by name."""
    schedulers = torch.optim.lr_scheduler
    made = {f"dtype {name}": torch.tensor([0, 1, 1]).to(getattr(torch, name)) for name in DTYPES}
    made |= {f"module {name}": module for name, module in _modules(torch).items()}
    made |= {f"optimizer {name}": _stepped(torch, name).state_dict() for name in OPTIMIZERS}
    generator = torch.Generator().manual_seed(3)
    return made | {
        "views": _views(torch),
        "conjugate": torch.tensor([1 + 2j]).conj(),
        "negative": torch.tensor([1 + 2j]).conj().imag,
        "attributes": _noted(torch),
        "buffer": torch.nn.Buffer(torch.ones(2)),
        "without data": torch.ones(2, device="meta"),
        "channels last": torch.ones(1, 2, 3, 3).to(memory_format=torch.channels_last),
        "size": torch.Size([2, 3]),
        "dtypes": [torch.float32, torch.uint16, torch.float8_e4m3fn, torch.complex32,
                   torch.quint8, torch.int4],
        "devices": [torch.device("cpu"), torch.device("cuda:1"), torch.device("meta")],
        "layouts": [torch.strided, torch.sparse_coo],
        "typed storage": torch.arange(3.0).storage(),
        "generator": [generator.get_state(), torch.get_rng_state().dtype],
        "optimizer": _stepped(torch, "Adam"),
        "scheduler": schedulers.StepLR(_stepped(torch, "SGD"), 2).state_dict(),
        "cosine": schedulers.CosineAnnealingLR(_stepped(torch, "SGD"), 5).state_dict(),
        "plateau": schedulers.ReduceLROnPlateau(_stepped(torch, "SGD")).state_dict(),
        "scheduler itself": schedulers.StepLR(_stepped(torch, "SGD"), 2),
        "scaler": torch.amp.GradScaler("cpu").state_dict(),
        "named result": torch.max(torch.arange(4.0).reshape(2, 2), 0),
        "functions": [torch.nn.functional.softmax, torch.nn.init.zeros_, torch.is_tensor],
        "builtin functions": [torch.tanh, torch.add, torch.nn.functional.gelu, torch.linalg.norm],
        "classes": [torch.nn.Linear, torch.optim.Adam, torch.Tensor, torch.nn.Parameter],
        "distribution": torch.distributions.Normal(torch.zeros(1), torch.ones(1)),
        "data set": torch.utils.data.TensorDataset(torch.arange(3)),
        "average": torch.optim.swa_utils.AveragedModel(_modules(torch)["bilinear"]),
        "packed": torch.nn.utils.rnn.pack_sequence([torch.ones(3), torch.ones(2)]),
        "plain": (1, -5, 70000, 2**40, 10**30, 2.5, None, True, "é", b"\xff", bytearray(b"a"),
                  {1, 2}, frozenset({1}), 1 + 2j, slice(1, 2), range(3), "x" * 300, ...),
        "containers": [OrderedDict(a=1), defaultdict(list, a=[1]), Counter("aab"), deque([1])],
        "standard library": [pathlib.PurePosixPath("a"), datetime.date(2000, 1, 1),
                             decimal.Decimal(1)],
    }


def told(torch: Any, value: Any) -> Any:
    """A loaded object as JSON."""
    if isinstance(value, torch.Tensor):
        return _told_tensor(torch, value)
    if isinstance(value, torch.nn.Module):
        lazy = any(isinstance(p, torch.nn.UninitializedParameter) for p in value.parameters())
        state = {} if lazy else dict(value.state_dict())
        return [type(value).__name__, str(value), told(torch, state)]
    if isinstance(value, dict):
        return [type(value).__name__, [[str(key), told(torch, v)] for key, v in value.items()]]
    if isinstance(value, (list, tuple)):
        return [type(value).__name__, *(told(torch, item) for item in value)]
    if hasattr(value, "state_dict") and not isinstance(value, type):
        return [type(value).__name__, told(torch, value.state_dict())]
    shown = re.sub(r"0x[0-9a-f]+", "", repr(value)).replace("yesca", "torch")
    return re.sub(r"<(?:built-in )?(?:function|method) (?:linalg_)?([\w.]+)[^<>]*>", r"<\1>", shown)


def _told_tensor(torch: Any, tensor: Any) -> list[Any]:
    plain = tensor.detach().resolve_conj().resolve_neg() if tensor.device.type != "meta" else None
    return [type(tensor).__name__, str(tensor.dtype), list(tensor.shape), list(tensor.stride()),
            tensor.storage_offset(), tensor.requires_grad, tensor.is_conj(), tensor.is_neg(),
            None if plain is None else re.sub("nan", "?", repr(plain.tolist())),
            sorted(getattr(tensor, "__dict__", ()))]
