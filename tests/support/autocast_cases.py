"""Result dtypes of operators under autocast: for yesca, for PyTorch and for the recorder.

A fact is text: for each way of giving the arguments a letter, and the letters of the results after
it, "!" where the call is refused. The ways: all floating-point arguments in float32, bfloat16,
float16 or float64, or ("m") every second one in bfloat16 and the others in float32.
"""

import itertools
import warnings

import operator_cases
import operator_facts

LOWER = {"s": "bfloat16", "h": "float16"}
GIVEN = {"f": "float32", "s": "bfloat16", "h": "float16", "d": "float64"}


def floats(package, *shape, low=0.1, high=0.9):
    """Numbers between low and high, spread evenly."""
    count = max(package.Size(shape).numel(), 1)
    return package.linspace(low, high, count).reshape(shape)


def _losses():
    plain = ("binary_cross_entropy", "binary_cross_entropy_with_logits", "huber_loss", "kl_div",
             "l1_loss", "mse_loss", "poisson_nll_loss", "smooth_l1_loss", "soft_margin_loss",
             "hinge_embedding_loss")
    for name in plain:
        yield name, lambda t, F, x, name=name: getattr(F, name)(x(3, 4), x(3, 4))
    yield "cosine_embedding_loss", lambda t, F, x: F.cosine_embedding_loss(
        x(3, 4), x(3, 4), x(3))
    yield "margin_ranking_loss", lambda t, F, x: F.margin_ranking_loss(x(3), x(3), x(3))
    yield "triplet_margin_loss", lambda t, F, x: F.triplet_margin_loss(x(3, 4), x(3, 4), x(3, 4))
    yield "multi_margin_loss", lambda t, F, x: F.multi_margin_loss(
        x(2, 3), t.tensor([0, 2]))
    yield "multilabel_margin_loss", lambda t, F, x: F.multilabel_margin_loss(
        x(2, 3), t.tensor([[0, -1, 0], [2, 1, -1]]))
    yield "multilabel_soft_margin_loss", lambda t, F, x: F.multilabel_soft_margin_loss(
        x(2, 3), x(2, 3))
    yield "nll_loss", lambda t, F, x: F.nll_loss(x(2, 3), t.tensor([0, 2]))
    yield "nll_loss2d", lambda t, F, x: F.nll_loss(x(2, 3, 2, 2), t.zeros(2, 2, 2).long())
    yield "cross_entropy_loss", lambda t, F, x: F.cross_entropy(x(2, 3), t.tensor([0, 2]))
    yield "cross_entropy_of_probabilities", lambda t, F, x: F.cross_entropy(x(2, 3), x(2, 3))
    yield "gaussian_nll_loss", lambda t, F, x: F.gaussian_nll_loss(x(3), x(3), x(3))
    yield "ctc_loss", lambda t, F, x: F.ctc_loss(
        x(6, 2, 4), t.tensor([[1, 2], [3, 1]]), (6, 5), (2, 1))
    yield "ctc_loss of tensors", lambda t, F, x: F.ctc_loss(
        x(6, 2, 4), t.tensor([[1, 2], [3, 1]]), t.tensor([6, 5]), t.tensor([2, 1]))


def _pools():
    for rank in (1, 2, 3):
        shape = (1, 2, *[4] * rank)
        for kind in ("avg_pool", "max_pool", "adaptive_avg_pool", "adaptive_max_pool"):
            yield f"{kind}{rank}d", lambda t, F, x, name=f"{kind}{rank}d", shape=shape: getattr(
                F, name)(x(*shape), 2)
        yield f"lp_pool{rank}d", lambda t, F, x, name=f"lp_pool{rank}d", shape=shape: getattr(
            F, name)(x(*shape), 2.0, 2)
        yield f"max_unpool{rank}d", lambda t, F, x, rank=rank: getattr(F, f"max_unpool{rank}d")(
            x(1, 1, *[1] * rank), t.zeros(1, 1, *[1] * rank).long(), 2)
        for mode in ("constant", "reflect", "replicate", "circular"):
            yield f"pad {mode} {rank}d", lambda t, F, x, rank=rank, mode=mode, shape=shape: F.pad(
                x(*shape), (1, 1) * rank, mode)
        yield f"instance_norm {rank}d", lambda t, F, x, shape=shape: F.instance_norm(x(*shape))
    for rank in (2, 3):
        yield f"fractional_max_pool{rank}d", lambda t, F, x, rank=rank: getattr(
            F, f"fractional_max_pool{rank}d")(
                x(1, 1, *[4] * rank), 2, 2, _random_samples=x(1, 1, rank))
        yield f"grid_sampler {rank}d", lambda t, F, x, rank=rank: F.grid_sample(
            x(1, 1, *[3] * rank), x(1, *[2] * rank, rank), align_corners=False)


def _matrices():
    def definite(t, x):
        return x(3, 3) * 0.1 + t.eye(3)  # keeps the dtype of x

    for name in ("cholesky", "inverse", "pinverse", "qr", "geqrf", "svd", "trace",
                 "cholesky_inverse"):
        yield name, lambda t, F, x, name=name: getattr(t, name)(definite(t, x))
    yield "cholesky_solve", lambda t, F, x: t.cholesky_solve(x(3, 2), definite(t, x))
    yield "triangular_solve", lambda t, F, x: t.triangular_solve(x(3, 2), definite(t, x))
    yield "lu_solve", lambda t, F, x: t.lu_solve(
        x(3, 2), definite(t, x), t.tensor([1, 2, 3], dtype=t.int32))
    yield "orgqr", lambda t, F, x: t.orgqr(x(3, 2), x(2))
    yield "ormqr", lambda t, F, x: t.ormqr(x(3, 3), x(3), x(3, 2))
    yield "linalg_cond", lambda t, F, x: t.linalg.cond(definite(t, x))
    yield "linalg_cond nuc", lambda t, F, x: t.linalg.cond(definite(t, x), "nuc")
    yield "linalg_matrix_rank", lambda t, F, x: t.linalg.matrix_rank(definite(t, x))
    yield "linalg_vecdot", lambda t, F, x: t.linalg.vecdot(x(2, 3), x(2, 3))
    yield "einsum", lambda t, F, x: t.einsum("ij,jk->ik", x(2, 3), x(3, 2))
    yield "cdist", lambda t, F, x: t.cdist(x(3, 4), x(2, 4))
    yield "pairwise_distance", lambda t, F, x: F.pairwise_distance(x(3, 4), x(3, 4))
    yield "operator @", lambda t, F, x: x(2, 3) @ x(3, 2)
    yield "in-place addmm_", lambda t, F, x: x(2, 2).addmm_(x(2, 3), x(3, 2))
    yield "mm out", lambda t, F, x: t.mm(x(2, 3), x(3, 2), out=x(2, 2))
    yield "_addmm_activation", lambda t, F, x: t._addmm_activation(x(2), x(2, 3), x(3, 2))


def _others():
    yield "polar", lambda t, F, x: t.polar(x(3), x(3))
    yield "view_as_complex", lambda t, F, x: t.view_as_complex(x(3, 2))
    yield "prod", lambda t, F, x: x(3).prod()
    yield "prod dim", lambda t, F, x: x(3, 2).prod(1)
    yield "quantile", lambda t, F, x: t.quantile(x(3), x(1))
    yield "quantile number", lambda t, F, x: t.quantile(x(3), 0.5)
    yield "nanquantile", lambda t, F, x: t.nanquantile(x(3), x(1))
    yield "nanquantile number", lambda t, F, x: t.nanquantile(x(3), 0.5)
    yield "stft", lambda t, F, x: t.stft(x(16), 4, return_complex=True)
    yield "index_copy", lambda t, F, x: t.index_copy(x(3), 0, t.tensor([1]), x(1))
    yield "in-place index_copy_", lambda t, F, x: x(3).index_copy_(0, t.tensor([1]), x(1))
    yield "cat", lambda t, F, x: t.cat([x(3), x(2), x(1)])
    yield "hstack", lambda t, F, x: t.hstack([x(3), x(2)])
    yield "stack", lambda t, F, x: t.stack([x(3), x(3)])
    yield "conv_tbc", lambda t, F, x: t.conv_tbc(x(5, 1, 2), x(3, 2, 2), x(2))
    for rank in (1, 2, 3):
        yield f"conv{rank}d", lambda t, F, x, rank=rank: getattr(F, f"conv{rank}d")(
            x(1, 2, *[4] * rank), x(2, 2, *[2] * rank), x(2))
        yield f"conv{rank}d same", lambda t, F, x, rank=rank: getattr(F, f"conv{rank}d")(
            x(1, 2, *[4] * rank), x(2, 2, *[3] * rank), x(2), padding="same")
        yield f"conv_transpose{rank}d", lambda t, F, x, rank=rank: getattr(
            F, f"conv_transpose{rank}d")(x(1, 2, *[3] * rank), x(2, 2, *[2] * rank), x(2))
    yield "softmax", lambda t, F, x: F.softmax(x(3), 0)
    yield "log_softmax in a dtype", lambda t, F, x: F.log_softmax(x(3), 0, dtype=t.float32)
    yield "batch_norm", lambda t, F, x: F.batch_norm(x(3, 2), None, None, x(2), x(2), True)
    yield "layer_norm", lambda t, F, x: F.layer_norm(x(3, 2), (2,), x(2), x(2))
    yield "group_norm", lambda t, F, x: F.group_norm(x(3, 2), 2, x(2), x(2))
    yield "rms_norm", lambda t, F, x: F.rms_norm(x(3, 2), (2,), x(2))
    yield "interpolate", lambda t, F, x: F.interpolate(x(1, 1, 2, 2), scale_factor=2.0)
    yield "embedding", lambda t, F, x: F.embedding(t.tensor([0, 1]), x(2, 3))
    yield "embedding_bag", lambda t, F, x: F.embedding_bag(t.tensor([[0, 1]]), x(2, 3))
    yield "bilinear", lambda t, F, x: F.bilinear(x(2, 3), x(2, 3), x(1, 3, 3), x(1))
    yield "dropout", lambda t, F, x: F.dropout(x(3), 0.5)
    yield "prelu", lambda t, F, x: F.prelu(x(3), x(1))
    yield "fake_quantize_per_tensor_affine", lambda t, F, x: t.fake_quantize_per_tensor_affine(
        x(3), 0.1, 0, 0, 255)


#: Ways in which the two differ, and rightly: (name, ways) and why.
DIFFER = {
    "_addmm_activation": ("fshdm", "a name that PyTorch keeps to itself"),
    "affine_grid": ("sh", "refuses the other half type"),
    "affine_grid_generator": ("sh", "refuses the other half type"),
    "linalg_pinv": ("fm", "PyTorch's last step is a product in the lower precision"),
    "linalg_solve_triangular": ("m", "PyTorch takes operands of two dtypes"),
}


def check(name, got, wanted):
    """Facts are equal where PyTorch does not refuse the call."""
    left_out, _ = DIFFER.get(name, ("", ""))
    for key, facts in wanted.items():
        for ways in zip(*(fact.split() for fact in facts)):
            allowed = set(ways)
            if f"{ways[0][0]}!" not in allowed and ways[0][0] not in left_out:
                found = {way for fact in got[key] for way in fact.split() if way[0] == ways[0][0]}
                assert found == allowed, (key, found, allowed)


CALLS = dict(itertools.chain(_losses(), _pools(), _matrices(), _others()))


def _attempt(package, lower, function):
    package.manual_seed(0)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            with package.autocast("cpu", dtype=getattr(package, lower)):
                return operator_facts.code(package, function())
    except Exception:  # its class is told by the tests of the operators
        return "!"


def _ways(call):
    """The fact of one call; `call(way)` gives its letters."""
    return " ".join(f"{way}{call(way)}" for way in (*GIVEN, "m"))


def _mixing(package):
    """A function that makes every second floating-point tensor that it gets bfloat16."""
    count = itertools.count()

    def mixed(tensor):
        if tensor.dtype is package.float32 and next(count) % 2:
            return tensor.to(package.bfloat16)
        return tensor

    return mixed


def of_record(package, one, function):
    """{lower precision: the facts of all cases of a record, those that are equal once}."""
    def call(lower, case_number, way):
        case = operator_facts.cases(one, package, GIVEN.get(way, "float32"))[case_number]
        if way == "m":
            case = operator_cases.map_tensors(package, case, _mixing(package))
        return _attempt(package, lower, lambda: operator_cases.call(one, function, case))

    count = len(operator_facts.cases(one, package))
    return {key: list(dict.fromkeys(
        _ways(lambda way, n=n, lower=lower: call(lower, n, way)) for n in range(count)))
        for key, lower in LOWER.items()}


def of_call(package, name):
    """The same for one of `CALLS`."""
    def call(lower, way):
        mixed = _mixing(package)

        def make(*shape):
            made = floats(package, *shape).to(getattr(package, GIVEN.get(way, "float32")))
            return mixed(made) if way == "m" else made

        return _attempt(package, lower, lambda: CALLS[name](
            package, package.nn.functional, make))

    return {key: [_ways(lambda way, lower=lower: call(lower, way))]
            for key, lower in LOWER.items()}
