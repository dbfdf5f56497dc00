"""Calls of the functions of `torch.nn.utils`, for yesca and for the recorder alike.

`python tests/fixtures/record_utils.py`, with PyTorch installed, records what each gives, changes,
warns of and refuses, in `utils.json` there.
"""

import warnings

CLIPPING = [
    *(f"utils.clip_grad_norm_(p, 1.5, {order}), g(p)"
      for order in ("2", "1.0", "0.5", "3", "0", "float('inf')", "-float('inf')", "'fro'")),
    "utils.clip_grad_norm_(p, 100.0), g(p)",
    "utils.clip_grad_norm_(p, 0.0), g(p)",
    "utils.clip_grad_norm_(p, float('inf')), g(p)",
    "utils.clip_grad_norm_(p, -1.0), g(p)",
    "utils.clip_grad_norm_(p, 0.7, foreach=False), g(p)",
    "utils.clip_grad_norm_(p, 0.7, foreach=True), g(p)",
    "utils.clip_grad_norm_(p[0], 0.7), g(p)",
    "utils.clip_grad_norm_((each for each in p), 0.7), g(p)",
    "utils.clip_grad_norm_((each for each in []), 0.7)",
    "utils.clip_grad_norm_([p[3]], 0.7), g(p)",
    "utils.clip_grad_norm_(q, 0.7), g(q)",
    "utils.clip_grad_norm_(q, 0.7, 1), g(q)",
    "utils.clip_grad_norm_(n, 0.7), g(n)",
    "utils.clip_grad_norm_(n, 0.7, error_if_nonfinite=True)",
    "utils.clip_grad_norm_(n, 0.7, float('inf')), g(n)",
    "utils.clip_grad_norm_(p, 'a')",
    "utils.clip_grad_norm_(3, 1.0)",
    "utils.clip_grad_norm(p, 1.0), g(p)",
    "utils.clip_grad_value_(p, 0.4), g(p)",
    "utils.clip_grad_value_(p, 0.4, foreach=True), g(p)",
    "utils.clip_grad_value_(p, 0.4, foreach=False), g(p)",
    "utils.clip_grad_value_(p[1], 0), g(p)",
    "utils.clip_grad_value_(q, 0.25), g(q)",
    "utils.clip_grad_value_(n, 0.25), g(n)",
    "utils.clip_grad_value_((each for each in p), 0.4), g(p)",
    *(f"utils.get_total_norm(g(p)[:3], {order})"
      for order in ("2.0", "1", "3.5", "0", "float('inf')")),
    "utils.get_total_norm([])",
    "utils.get_total_norm([], 1, True)",
    "utils.get_total_norm(g(q))",
    "utils.get_total_norm(g(n))",
    "utils.get_total_norm(g(n), error_if_nonfinite=True)",
    "utils.get_total_norm(p[0].grad, foreach=False)",
    "utils.get_total_norm([torch.tensor([3 + 4j, 12j])])",
    "utils.get_total_norm([torch.tensor([3, 4])])",
    "utils.get_total_norm([torch.zeros(0), torch.tensor(2.0)])",
    "utils.clip_grads_with_norm_(p, 1.0, torch.tensor(4.0)), g(p)",
    "utils.clip_grads_with_norm_(p, 5.0, torch.tensor(4.0)), g(p)",
    "utils.clip_grads_with_norm_(q, 1.0, torch.tensor(4.0), foreach=False), g(q)",
    "utils.clip_grads_with_norm_(p[0], 0.5, utils.get_total_norm(g(p)[:1])), g(p)",
    "utils.clip_grads_with_norm_([], 1.0, torch.tensor(4.0))",
    "utils.clip_grads_with_norm_(p, 1.0, torch.tensor(0.0)), g(p)",
]

VECTORS = [
    "utils.parameters_to_vector(p)",
    "utils.parameters_to_vector(each for each in p)",
    "utils.parameters_to_vector(q)",
    "utils.parameters_to_vector([x(2, 3).t(), x(4)])",
    "utils.parameters_to_vector([])",
    "utils.parameters_to_vector(p).requires_grad",
    "torch.autograd.grad(utils.parameters_to_vector(p).square().sum(), p)",
    "utils.vector_to_parameters(x(13), p), p",
    "utils.vector_to_parameters(x(20), p), p",
    "utils.vector_to_parameters(x(13).double(), p), p",
    "utils.vector_to_parameters(x(3), p)",
    "utils.vector_to_parameters(x(13, 1), p), p",
    "utils.vector_to_parameters([1.0] * 13, p)",
    "utils.vector_to_parameters(3, p)",
    "utils.vector_to_parameters(utils.parameters_to_vector(p) * 2, iter(p)), p",
]

SEQUENCES = [
    "rnn.pack_padded_sequence(x(4, 3, 2), [4, 3, 1])",
    "rnn.pack_padded_sequence(x(4, 3, 2), torch.tensor([4, 2, 2]))",
    "rnn.pack_padded_sequence(x(3, 4), [4, 4, 2], batch_first=True)",
    "rnn.pack_padded_sequence(x(4, 3, 2), [1, 4, 3], enforce_sorted=False)",
    "rnn.pack_padded_sequence(x(3, 4, 2), torch.tensor([2, 2, 4]), True, False)",
    "rnn.pack_padded_sequence(x(4, 3, 2), torch.tensor([4, 3, 1], dtype=torch.int32))",
    "rnn.pack_padded_sequence(x(4, 3, 2), [1, 4, 3])",
    "rnn.pack_padded_sequence(x(4, 3, 2), [4, 3, 0])",
    "rnn.pack_padded_sequence(x(4, 3, 2), [4.0, 3.5, 1])",
    "rnn.pack_padded_sequence(x(0, 3, 2), [1, 1, 1])",
    "rnn.pack_padded_sequence(x(4, 3, 2), 3)",
    "rnn.pack_padded_sequence(x(4, 3, 2), [4, 3])",
    "rnn.pack_padded_sequence(x(4, 3, 2), torch.tensor([[4, 3, 1]]))",
    "rnn.pack_padded_sequence(x(4, 3, 2), torch.tensor([4.0, 3.0, 1.0]))",
    "rnn.pack_padded_sequence(x(0, 0, 2), [])",
    "rnn.pack_padded_sequence(x(4), [4])",
    "rnn.pad_packed_sequence(rnn.pack_padded_sequence(x(4, 3, 2), [3, 2, 1]))",
    "rnn.pad_packed_sequence(rnn.pack_padded_sequence(x(4, 3, 2), [3, 2, 1]), True)",
    "rnn.pad_packed_sequence(rnn.pack_padded_sequence(x(4, 3), [3, 2, 1]), False, -7.5)",
    "rnn.pad_packed_sequence(rnn.pack_padded_sequence(x(4, 3), [3, 2, 1]), total_length=6)",
    "rnn.pad_packed_sequence(rnn.pack_padded_sequence(x(4, 3), [3, 2, 1]), total_length=2)",
    "rnn.pad_packed_sequence(rnn.pack_padded_sequence(x(4, 3), [1, 3, 2], False, False), True, 9)",
    "rnn.pad_packed_sequence(rnn.pack_padded_sequence(i(9, 4, 3), [3, 2, 1]), True, 2)",
    "rnn.pad_packed_sequence(x(3, 2))",
    "backwards(lambda a: rnn.pack_padded_sequence(a, [2, 4, 1], enforce_sorted=False).data,"
    " x(4, 3, 2))",
    "backwards(lambda a: rnn.pad_packed_sequence(rnn.pack_padded_sequence(a, [4, 2, 1]))[0],"
    " x(4, 3, 2))",
    "rnn.pack_sequence([x(3, 2), x(2, 2), x(1, 2)])",
    "rnn.pack_sequence([x(1), x(3), x(2)], enforce_sorted=False)",
    "rnn.pack_sequence([x(1), x(3)])",
    "rnn.pack_sequence([])",
    "rnn.unpack_sequence(rnn.pack_sequence([x(1, 2), x(3, 2), x(2, 2)], enforce_sorted=False))",
    "rnn.unpack_sequence(rnn.pack_sequence([i(9, 3), i(9, 2)]))",
    "rnn.pad_sequence([x(2), x(4), x(3)])",
    "rnn.pad_sequence([x(2, 3), x(4, 3)], batch_first=True)",
    "rnn.pad_sequence([x(2, 3), x(4, 3)], True, -1.0, 'left')",
    "rnn.pad_sequence((i(9, 2), i(9, 1)), padding_value=5)",
    "rnn.pad_sequence([x(2).double(), x(4).double()])",
    "rnn.pad_sequence(x(3, 2))",
    "rnn.pad_sequence([x(2, 3), x(4, 3).double()])",
    "rnn.pad_sequence([x(2, 3), x(4, 1)])",
    "rnn.pad_sequence([])",
    "rnn.pad_sequence([x(2)], padding_side='up')",
    "rnn.pad_sequence(3)",
    "backwards(lambda a: rnn.pad_sequence([a[0], a[1, :2]], padding_value=3.0), x(2, 3))",
    "rnn.unpad_sequence(x(4, 3, 2), torch.tensor([4, 1, 2]))",
    "rnn.unpad_sequence(x(3, 4), torch.tensor([4, 1, 2]), batch_first=True)",
    "rnn.invert_permutation(torch.tensor([2, 0, 3, 1]))",
    "rnn.invert_permutation(None)",
    "rnn.PackedSequence(x(5, 2), torch.tensor([3, 2]))",
    "rnn.PackedSequence(x(5), torch.tensor([3, 2]), torch.tensor([2, 0, 1]))",
    "rnn.PackedSequence((x(5), torch.tensor([3, 2])))",
    "rnn.PackedSequence([x(5), torch.tensor([3, 2])])",
    "rnn.PackedSequence(x(5))",
    "rnn.PackedSequence((x(5), torch.tensor([3, 2])), torch.tensor([1, 0]))",
    *(f"packed().{method}" for method in (
        "double()", "half()", "bfloat16()", "float()", "int()", "long()", "short()", "byte()",
        "char()", "cpu()", "to(torch.float64)", "to('cpu', torch.float16)", "is_cuda",
        "is_pinned()", "_fields")),
    "len(packed()), packed()[1], packed()._replace(data=x(6)).data",
    "rnn.pad_packed_sequence(seeded(lambda: nn.GRU(2, 3, bidirectional=True))"
    "(rnn.pack_padded_sequence(x(4, 3, 2), [2, 4, 1], enforce_sorted=False))[0])",
]

FUSION = [
    *(f"state(utils.fuse_conv_bn_eval(made({layer}), made({norm}){rest}))"
      for layer, norm, rest in (
          ("nn.Conv1d(2, 3, 2)", "nn.BatchNorm1d(3)", ""),
          ("nn.Conv2d(2, 4, 2, groups=2)", "nn.BatchNorm2d(4, eps=0.1)", ""),
          ("nn.Conv2d(2, 3, 1, bias=False)", "nn.BatchNorm2d(3, affine=False)", ""),
          ("nn.Conv3d(1, 2, 1)", "nn.BatchNorm3d(2)", ""),
          ("nn.ConvTranspose2d(2, 3, 2)", "nn.BatchNorm2d(3)", ", transpose=True"),
          ("nn.ConvTranspose1d(2, 3, 2)", "nn.BatchNorm1d(3)", ", True"))),
    "utils.fuse_conv_bn_eval(nn.Conv2d(2, 3, 1), made(nn.BatchNorm2d(3)))",
    "utils.fuse_conv_bn_eval(made(nn.Conv2d(2, 3, 1)), nn.BatchNorm2d(3))",
    "utils.fuse_conv_bn_eval(made(nn.Conv2d(2, 3, 1)), made(nn.BatchNorm2d(2)))",
    "utils.fuse_conv_bn_eval(made(nn.Conv2d(2, 3, 1)),"
    " made(nn.BatchNorm2d(3, track_running_stats=False)))",
    "state(utils.fuse_linear_bn_eval(made(nn.Linear(2, 3)), made(nn.BatchNorm1d(3))))",
    "state(utils.fuse_linear_bn_eval(made(nn.Linear(2, 3, bias=False)), made(nn.BatchNorm1d(1))))",
    "utils.fuse_linear_bn_eval(made(nn.Linear(2, 3)), made(nn.BatchNorm1d(2)))",
    "utils.fuse_linear_bn_eval(nn.Linear(2, 3), made(nn.BatchNorm1d(3)))",
    "utils.fuse_conv_bn_weights(x(3, 2, 1, 1), x(3), x(3), u(3), 1e-3, x(3), x(3))",
    "utils.fuse_conv_bn_weights(x(3, 2, 1), None, x(3), u(3), 1e-5, None, None)",
    "utils.fuse_conv_bn_weights(x(2, 3, 1), x(3), x(3), u(3), 1e-5, x(3), None, transpose=True)",
    "utils.fuse_linear_bn_weights(x(3, 2), x(3), x(3), u(3), 1e-3, x(3), x(3))",
    "utils.fuse_linear_bn_weights(x(3, 2), None, x(3), u(3), 1e-3, x(3), x(3))",
    "type(utils.fuse_linear_bn_weights(x(3, 2), x(3), x(3), u(3), 1e-3, x(3), x(3))[0]).__name__",
    "utils.fuse_linear_bn_weights(nn.Parameter(x(3, 2), False), x(3), x(3), u(3), 1e-3, x(3), x(3))"
    "[0].requires_grad",
]

REST = [
    "[(name, each.shape) for name, each in utils.skip_init(nn.Linear, 3, 2).named_parameters()]",
    "utils.skip_init(nn.Linear, 3, 2, dtype=torch.float64, device='cpu').weight.dtype",
    "utils.skip_init(nn.BatchNorm1d, 3).training",
    "utils.skip_init(nn.ReLU)",
    "utils.skip_init(torch.zeros, 3)",
    *(f"state(utils.{function}(made({layer}), torch.{order})), "
      f"[each.stride() for each in utils.{function}(made({layer}), torch.{order}).parameters()]"
      for function, layer, order in (
          ("convert_conv2d_weight_memory_format", "nn.Conv2d(3, 4, 2)", "channels_last"),
          ("convert_conv2d_weight_memory_format",
           "nn.Sequential(nn.ConvTranspose2d(3, 2, 2), nn.Linear(2, 2))", "channels_last"),
          ("convert_conv3d_weight_memory_format", "nn.Conv3d(2, 3, 2)", "channels_last_3d"))),
    "utils.stateless.functional_call(made(nn.Linear(2, 1)), {'weight': x(1, 2)}, x(3, 2))",
    "utils.stateless.functional_call(made(nn.Linear(2, 1)), {'weigh': x(1, 2)}, x(3, 2),"
    " strict=True)",
]

CASES = [*CLIPPING, *VECTORS, *SEQUENCES, *FUSION, *REST]


class Inputs:
    """What the cases take, from the library's own generator: both must draw the same numbers."""

    def __init__(self, torch):
        self.torch, self.nn = torch, torch.nn
        self.utils, self.rnn = torch.nn.utils, torch.nn.utils.rnn

    def x(self, *shape):
        return self.torch.randn(shape)

    def u(self, *shape):
        return self.torch.rand(shape) + 0.5

    def i(self, high, *shape):
        return self.torch.randint(high, shape)

    def parameter(self, *shape, dtype=None, gradient=True):
        made = self.nn.Parameter(self.x(*shape).to(dtype or self.torch.float32))
        made.grad = self.x(*shape).to(made.dtype) if gradient else None
        return made

    def g(self, parameters):
        """Gradients."""
        return [each.grad for each in parameters]

    def packed(self):
        return self.rnn.pack_padded_sequence(self.x(3, 3) * 4, [1, 3, 2], enforce_sorted=False)

    def seeded(self, build):
        self.torch.manual_seed(1)
        return build()

    def made(self, module):
        """In evaluation, with numbers of every size in its state."""
        for value in module.state_dict().values():
            if value.is_floating_point():
                value.copy_(self.u(*value.shape))
        return module.eval()

    def state(self, module):
        return [type(module).__name__, *module.state_dict().items()]

    def backwards(self, function, given):
        """The gradient of the sum of squares."""
        function(given.requires_grad_()).square().sum().backward()
        return given.grad

    def names(self):
        torch = self.torch
        p = [self.parameter(2, 3), self.parameter(4), self.parameter(2, 1),
             self.parameter(1, gradient=False)]
        q = [self.parameter(3, dtype=torch.float64), self.parameter(2, 2, dtype=torch.bfloat16),
             self.parameter(3)]
        n = [self.parameter(2), self.parameter(3)]
        n[0].grad[1] = float("nan")
        n[1].grad[0] = float("inf")
        methods = {name: getattr(self, name) for name in dir(self) if not name.startswith("_")}
        return {**methods, "p": p, "q": q, "n": n}


def described(value):
    """A value as JSON has it: tensors as their dtype, shape and numbers."""
    if hasattr(value, "detach"):
        numbers = value.detach().flatten()
        if numbers.is_complex():
            numbers = value.new_tensor([]).real if not numbers.numel() else numbers.abs()
        return [str(value.dtype).split(".")[-1], list(value.shape), numbers.double().tolist()]
    if isinstance(value, (list, tuple)):
        return [described(each) for each in value]
    return value if isinstance(value, (int, float, str, bool, type(None))) else repr(value)


def called(torch, text):
    """What the call gives or raises, and what it warns of."""
    torch.manual_seed(3)
    names = Inputs(torch).names()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            found = {"gives": described(eval(text, names))}
        except Exception as error:
            found = {"raises": type(error).__name__, "saying": str(error).split("\n")[0]}
    warned = [[each.category.__name__, str(each.message)] for each in caught]
    return {**found, "warns": warned} if warned else found
