"""Calls whose results' places in memory are compared between packages: see record_formats.py.

A case is a function of one tensor, called with tensors of several shapes in several layouts.
"""

import itertools

#: name: how a row-major image gets that layout
LAYOUTS = {
    "row_major": lambda m, x: x,
    "channels_last": lambda m, x: x.contiguous(memory_format=last(m, x.dim())),
    "transposed": lambda m, x: x.transpose(-1, -2).contiguous().transpose(-1, -2),
    "sliced": lambda m, x: m.cat([x, x], 1)[:, ::2],
    "expanded": lambda m, x: x[:1].expand(x.shape),
    "reversed": lambda m, x: x.permute(tuple(reversed(range(x.dim())))).contiguous().permute(
        *reversed(range(x.dim()))),
    "narrowed_last": lambda m, x: m.cat([x, x], 1).contiguous(
        memory_format=last(m, x.dim()))[:, :x.shape[1]],
}
SHAPES = ((2, 4, 4, 6), (1, 4, 4, 4), (2, 1, 4, 6), (2, 4, 1, 1), (2, 4, 4, 1), (1, 1, 4, 4),
          (2, 4, 2, 4, 4), (2, 1, 2, 4, 4), (1, 4, 2, 1, 1))


def last(m, ndim):
    """The channels-last format of this number of dimensions."""
    return m.channels_last if ndim == 4 else m.channels_last_3d


def image(m, layout, shape):
    """A tensor of these sizes, laid out."""
    count = 1
    for n in shape:
        count *= n
    return LAYOUTS[layout](m, m.arange(count, dtype=m.float32).reshape(shape) / count)


def dims(x):
    """The number of an image's dimensions in space."""
    return x.dim() - 2


def pool(m, kind):
    return lambda x: getattr(m.nn.functional, f"{kind}{dims(x)}d")(x, 1)


def norm(m, training):
    def normed(x):
        count = x.shape[1]
        return m.nn.functional.batch_norm(x, m.zeros(count), m.ones(count), m.ones(count),
                                          m.ones(count), training=training)
    return normed


def conv(m, kernel, out=2, kind="conv", last_weight=False, groups=False, **options):
    """A convolution; `groups`: one a channel."""
    def convolved(x):
        count = x.shape[1] if groups else 1
        sizes = (out * count, x.shape[1] // count) if kind == "conv" else (x.shape[1], out)
        weight = m.ones(*sizes, *(kernel,) * dims(x))
        if last_weight:
            weight = weight.contiguous(memory_format=last(m, x.dim()))
        return getattr(m.nn.functional, f"{kind}{dims(x)}d")(x, weight, groups=count, **options)
    return convolved


def resized(m, mode):
    return lambda x: m.nn.functional.interpolate(x, scale_factor=2, mode=mode[dims(x)])


def channels(m, x):
    """A number for each channel."""
    return m.arange(x.shape[1], dtype=m.float32).reshape(1, -1, *(1,) * dims(x))


def gradient(m, x):
    """The gradient of a leaf in the layout."""
    x = x.detach().requires_grad_()
    (x * m.ones(x.shape)).sum().backward()
    return x.grad


def of_elements(m):
    F = m.nn.functional
    return {
        "neg": m.neg, "exp": m.exp, "relu": F.relu, "clone": lambda x: x.clone(),
        "add number": lambda x: x + 1, "mul itself": lambda x: x * x,
        "add channels": lambda x: x + channels(m, x), "channels add": lambda x: channels(m, x) + x,
        "add vector": lambda x: x + m.ones(x.shape[-1]),
        "add row_major": lambda x: x + x.contiguous(),
        "row_major add": lambda x: x.contiguous() + x,
        "add last": lambda x: x + x.contiguous(memory_format=last(m, x.dim())),
        "compare": lambda x: x > 0.5, "where": lambda x: m.where(x > 0.5, x, 0.0),
        "where both": lambda x: m.where(x > 0.5, x, x.contiguous()),
        "lerp": lambda x: m.lerp(x, x, 0.5), "addcmul": lambda x: m.addcmul(x, x, x),
        "clamp": lambda x: m.clamp(x, 0.2, 0.8), "pow": lambda x: x ** 2,
        "masked_fill": lambda x: x.masked_fill(x > 0.5, 0.0), "double": lambda x: x.double(),
        "gelu": F.gelu, "leaky_relu": F.leaky_relu, "prelu": lambda x: F.prelu(x, m.ones(1)),
        "hardswish": F.hardswish, "softplus": F.softplus, "dropout": lambda x: F.dropout(x, 0.5),
        "nan_to_num": lambda x: x.nan_to_num(), "heaviside": lambda x: m.heaviside(x, x),
        "bitwise_not": lambda x: ~(x > 0), "bernoulli": lambda x: m.bernoulli(x),
        "zero_": lambda x: x.clone().zero_(), "gradient": lambda x: gradient(m, x),
        "copy_": lambda x: m.empty(x.shape).copy_(x),
        "empty copy": lambda x: m.empty_like(x).copy_(x), "half": lambda x: x.half(),
        "type": lambda x: x.type(m.float64), "detach": lambda x: x.detach(),
    }


def of_dimensions(m):
    """Reductions, scans, and what joins or rearranges."""
    F = m.nn.functional
    return {
        "softmax": lambda x: F.softmax(x, 1), "log_softmax": lambda x: F.log_softmax(x, -1),
        "cumsum": lambda x: m.cumsum(x, 1), "glu": lambda x: F.glu(m.cat([x, x], 1), 1),
        "sum": lambda x: x.sum(1), "sum keepdim": lambda x: x.sum((2, 3), True),
        "mean": lambda x: x.mean((0, 1)), "amax": lambda x: x.amax(1, True),
        "max": lambda x: x.max(1), "argmax": lambda x: x.argmax(1), "std": lambda x: x.std(1),
        "norm": lambda x: x.norm(dim=1), "logsumexp": lambda x: x.logsumexp(1),
        "all": lambda x: (x > 0).all(1), "prod": lambda x: x.prod(1),
        "var_mean": lambda x: m.var_mean(x, 1), "median": lambda x: x.median(1),
        "cat": lambda x: m.cat([x, x], 1), "cat row_major": lambda x: m.cat([x, x.contiguous()], 1),
        "row_major cat": lambda x: m.cat([x.contiguous(), x], 1),
        "cat last": lambda x: m.cat([x, x], -1), "cat one": lambda x: m.cat([x]),
        "stack": lambda x: m.stack([x, x], 0), "stack last": lambda x: m.stack([x, x], -1),
        "flip": lambda x: x.flip(1), "roll": lambda x: x.roll(1, 1), "rot90": lambda x: x.rot90(),
        "chunk": lambda x: x.chunk(2, 1), "unbind": lambda x: x.unbind(1)[0],
        "index_select": lambda x: x.index_select(1, m.tensor([0, 0])),
        "index": lambda x: x[:, m.tensor([0, 0])],
        "index last": lambda x: x[..., m.tensor([[0], [0]])],
        "gather": lambda x: x.gather(1, m.zeros(x.shape, dtype=m.int64)),
        "sort": lambda x: x.sort(1), "topk": lambda x: x.topk(1, 1),
        "repeat": lambda x: x.repeat((1,) * x.dim()), "tril": lambda x: x.tril(),
        "squeeze": lambda x: x.squeeze(), "flatten": lambda x: x.flatten(1),
        "reshape": lambda x: x.reshape(x.shape[0], -1), "movedim": lambda x: x.movedim(1, -1),
        "matmul": lambda x: x @ x.transpose(-1, -2), "cdist": lambda x: m.cdist(x, x),
        "linear": lambda x: F.linear(x, m.ones(3, x.shape[-1])),
        "einsum": lambda x: m.einsum("nc...,nc...->n...", x, x), "histc": lambda x: m.histc(x),
    }


def of_images(m):
    F = m.nn.functional
    return {
        "pad": lambda x: F.pad(x, (1, 1)),
        **{mode: lambda x, mode=mode: F.pad(x, (1, 1) * dims(x), mode=mode)
           for mode in ("reflect", "replicate", "circular")},
        "conv 1": conv(m, 1), "conv 3": conv(m, 3, padding=1), "conv stride": conv(m, 1, stride=2),
        "conv bias": conv(m, 1, bias=m.ones(2)), "conv groups": conv(m, 1, groups=True),
        "conv weight last": conv(m, 1, last_weight=True),
        "conv 3 weight last": conv(m, 3, padding=1, last_weight=True),
        "conv_transpose": conv(m, 2, kind="conv_transpose"),
        "max_pool": pool(m, "max_pool"), "avg_pool": pool(m, "avg_pool"),
        "max_pool indices": lambda x: getattr(F, f"max_pool{dims(x)}d")(
            x, 1, return_indices=True),
        "adaptive_avg": lambda x: getattr(F, f"adaptive_avg_pool{dims(x)}d")(x, 2),
        "adaptive_avg one": pool(m, "adaptive_avg_pool"),
        "adaptive_max": pool(m, "adaptive_max_pool"),
        "lp_pool": lambda x: getattr(F, f"lp_pool{dims(x)}d")(x, 2.0, 1),
        "batch_norm": norm(m, True), "batch_norm eval": norm(m, False),
        "instance_norm": F.instance_norm, "group_norm": lambda x: F.group_norm(x, 1),
        "layer_norm": lambda x: F.layer_norm(x, x.shape[-1:]), "normalize": F.normalize,
        "local_response": lambda x: F.local_response_norm(x, 2),
        **{f"interpolate {mode}": resized(m, (mode,) * 4)
           for mode in ("nearest", "nearest-exact", "bicubic", "area")},
        "interpolate linear": resized(m, ("", "linear", "bilinear", "trilinear")),
        "pixel_shuffle": lambda x: F.pixel_shuffle(m.cat([x] * 4, 1), 2),
        "pixel_unshuffle": lambda x: F.pixel_unshuffle(x, 2),
        "channel_shuffle": lambda x: F.channel_shuffle(x, 2),
        "grid_sample": lambda x: F.grid_sample(
            x, m.zeros(x.shape[0], *(2,) * dims(x), dims(x)), align_corners=False),
        "fold": lambda x: F.fold(F.unfold(x, 2), x.shape[2:], 2),
    }


def of_formats(m):
    """What takes a memory format."""
    makers = {"empty_like": m.empty_like, "zeros_like": m.zeros_like, "rand_like": m.rand_like,
              "full_like": lambda x, **options: m.full_like(x, 1, **options),
              "clone": m.clone, "contiguous": lambda x, **options: x.contiguous(**options),
              "to": lambda x, **options: x.to(**options),
              "to double": lambda x, **options: x.to(m.float64, **options),
              "float": lambda x, **options: x.float(**options),
              "empty": lambda x, **options: m.empty(x.shape, **options),
              "resize_": lambda x, **options: x.clone().resize_(x.shape, **options)}
    cases = {f"{name} {label}": lambda x, maker=maker, chosen=chosen: maker(
                 x, memory_format=chosen(m, x.dim()))
             for name, maker in makers.items() for label, chosen in FORMATS.items()}
    return cases | {
        "is": lambda x: [x.is_contiguous(memory_format=f) for f in (
            m.contiguous_format, m.channels_last, m.channels_last_3d)],
        "to copy": lambda x: x.to(m.float32, copy=True),
        "new_empty": lambda x: x.new_empty(x.shape), "new_zeros": lambda x: x.new_zeros(x.shape),
    }


#: A memory format for a number of dimensions, by name.
FORMATS = {"row_major": lambda m, ndim: m.contiguous_format, "last": last,
           "preserve": lambda m, ndim: m.preserve_format,
           "other": lambda m, ndim: last(m, 9 - ndim)}


def of_matrices(m):
    """name: function of a batch of matrices of 3 rows and 3 columns, positive-definite."""
    L = m.linalg

    def right(x):
        return x[..., :2]

    def tall(x):
        return x[..., :2]

    cases = {
        "qr": L.qr, "qr tall": lambda x: L.qr(tall(x)), "qr r": lambda x: L.qr(x, "r"),
        "qr complete": lambda x: L.qr(tall(x), "complete"), "svd": L.svd,
        "svd reduced": lambda x: L.svd(tall(x), False), "svd former": m.svd,
        "svd values": lambda x: m.svd(x, True, False), "svdvals": L.svdvals, "eigh": L.eigh,
        "eig": L.eig, "eigvals": L.eigvals, "cholesky": L.cholesky, "geqrf": m.geqrf,
        "cholesky upper": lambda x: L.cholesky(x, upper=True), "cholesky_ex": L.cholesky_ex,
        "lu": L.lu, "lu_factor": L.lu_factor, "lu_factor_ex": L.lu_factor_ex,
        "lu_unpack": lambda x: m.lu_unpack(*L.lu_factor(x)),
        "lu_solve": lambda x: L.lu_solve(*L.lu_factor(x), right(x)),
        "lu_solve right": lambda x: L.lu_solve(*L.lu_factor(x), right(x).mT, left=False),
        "lu_solve adjoint": lambda x: L.lu_solve(*L.lu_factor(x), right(x), adjoint=True),
        "inv": L.inv, "inv_ex": L.inv_ex, "pinv": lambda x: L.pinv(tall(x)),
        "solve": lambda x: L.solve(x, right(x)), "solve vector": lambda x: L.solve(x, x[..., 0]),
        "solve right": lambda x: L.solve(x, right(x).mT, left=False),
        "solve_ex": lambda x: L.solve_ex(x, right(x)),
        "triangular": lambda x: L.solve_triangular(x, right(x), upper=True),
        "triangular right": lambda x: L.solve_triangular(x, right(x).mT, upper=False, left=False),
        "triangular former": lambda x: m.triangular_solve(right(x), x),
        "lstsq": lambda x: L.lstsq(tall(x), right(x)), "det": L.det, "slogdet": L.slogdet,
        "lstsq wide": lambda x: L.lstsq(tall(x).mT, x[..., :2, :1]),
        "matrix_exp": m.matrix_exp, "power": lambda x: L.matrix_power(x, 3),
        "power 1": lambda x: L.matrix_power(x, 1), "power 0": lambda x: L.matrix_power(x, 0),
        "power -1": lambda x: L.matrix_power(x, -1), "power -2": lambda x: L.matrix_power(x, -2),
        "householder": lambda x: L.householder_product(x, x[..., 0]),
        "ormqr": lambda x: m.ormqr(x, x[..., 0], right(x)),
        "ormqr right": lambda x: m.ormqr(x, x[..., 0], right(x).mT, left=False),
        "cholesky_solve": lambda x: m.cholesky_solve(right(x), x),
        "cholesky_inverse": m.cholesky_inverse, "cross": lambda x: L.cross(x, x),
        "vecdot": lambda x: L.vecdot(x, x), "norm": L.matrix_norm, "diagonal": L.diagonal,
        "matmul": lambda x: x @ x, "tril": m.tril, "mT": lambda x: x.mT, "trace of": lambda x:
        m.einsum("...ii->...", x), "matrix_rank": L.matrix_rank, "cond": L.cond,
    }
    return cases


def matrix(m, layout):
    """Positive-definite matrices, laid out."""
    x = m.tensor([[4.0, 1.0, 0.5], [1.0, 5.0, 2.0], [0.5, 2.0, 6.0]], dtype=m.float64)
    x = x.expand(2, 3, 3).contiguous() if "batch" in layout else x
    return x.mT.contiguous().mT if "columns" in layout else x


MATRICES = ("rows", "columns", "batch of rows", "batch of columns")


def image_results(m):
    """{case: where its results lie, for each layout and shape}."""
    every = of_elements(m) | of_dimensions(m) | of_images(m) | of_formats(m)
    return {name: [attempt(m, function, image(m, layout, shape))
                   for layout, shape in itertools.product(LAYOUTS, SHAPES)]
            for name, function in every.items()}


def matrix_results(m):
    """{case: where its results lie, for each layout}."""
    return {name: [attempt(m, function, matrix(m, layout)) for layout in MATRICES]
            for name, function in of_matrices(m).items()}


def attempt(m, function, *arguments):
    """Where the results lie, or the error's class."""
    try:
        made = function(*arguments)
    except Exception as error:  # the class is what is compared
        return "!" + type(error).__name__
    if isinstance(made, list):
        return " ".join(map(str, made))
    return " ".join(place(t) for t in (made if isinstance(made, tuple) else (made,)))


def place(tensor):
    """Strides and offset; shapes follow from the case."""
    start = tensor.storage_offset()
    return ",".join(map(str, tensor.stride())) + (f"@{start}" if start else "")
