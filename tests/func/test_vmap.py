"""`vmap`: each rule against a loop over the examples; structure, randomness, errors."""

import pytest

import yesca as torch
from yesca.func import vmap

X = torch.arange(24.0).reshape(2, 3, 4) * 0.25 - 2
V = torch.tensor([0.5, -1.0, 2.0, 0.25])
M = torch.arange(12.0).reshape(4, 3) * 0.5
I = torch.tensor([2, 0])  # noqa: E741

CASES = {
    "add": lambda a: a + V, "number": lambda a: a * 2 - 1, "unary": lambda a: a.exp().tanh(),
    "scalar": lambda a: a * a[0, 0], "promotion": lambda a: (a > 0) + torch.tensor(1),
    "where": lambda a: torch.where(a > 0, a, 0.0), "clamp": lambda a: a.clamp(-1, 1),
    "sum": lambda a: a.sum(), "sum 0": lambda a: a.sum(0), "mean": lambda a: a.mean(-1, True),
    "amax": lambda a: a.amax((0, 1)), "max": lambda a: a.max(), "max 1": lambda a: a.max(1)[0],
    "argmax": lambda a: a.argmax(), "argmin": lambda a: a.argmin(0), "var": lambda a: a.var(1),
    "prod": lambda a: a.prod(), "any": lambda a: (a > 1).any(), "norm": lambda a: a.norm(),
    "logsumexp": lambda a: a.logsumexp(0), "softmax": lambda a: a.softmax(-1),
    "log_softmax": lambda a: a.log_softmax(0), "cumsum": lambda a: a.cumsum(1),
    "sort": lambda a: a.sort(1, descending=True)[0], "topk": lambda a: a.topk(2, 1)[1],
    "view": lambda a: a.view(4, -1), "reshape": lambda a: a.t().reshape(-1),
    "transpose": lambda a: a.transpose(0, -1), "permute": lambda a: a.permute(1, 0),
    "unsqueeze": lambda a: a.unsqueeze(-1).squeeze(-1), "expand": lambda a: a[0].expand(5, 4),
    "select": lambda a: a.select(1, 2), "narrow": lambda a: a.narrow(1, 1, 2),
    "index": lambda a: a[1, None, ::2], "list": lambda a: a[[0, 2]], "tensor": lambda a: a[:, I],
    "diagonal": lambda a: a.diagonal(1), "unfold": lambda a: a.unfold(1, 2, 1),
    "unbind": lambda a: a.unbind(1)[2], "split": lambda a: a.split(2, 1)[1],
    "chunk": lambda a: a.chunk(2, 1)[0], "flip": lambda a: a.flip(0),
    "roll": lambda a: a.roll(1, 1),
    "cat": lambda a: torch.cat([a, a * 2]), "cat plain": lambda a: torch.cat([a, M.t()], 1),
    "stack": lambda a: torch.stack([a, a], -1), "gather": lambda a: a.gather(1, I.expand(3, 2)),
    "index_select": lambda a: a.index_select(0, I), "tril": lambda a: a.tril(),
    "matmul": lambda a: a @ M, "mm": lambda a: torch.mm(a, a.t()), "mv": lambda a: a @ V,
    "left": lambda a: M @ a, "vector": lambda a: V @ a.t(), "dot": lambda a: torch.dot(a[0], a[1]),
    "addmm": lambda a: torch.addmm(torch.ones(3, 3), a, M, beta=2, alpha=3),
    "linear": lambda a: torch.nn.functional.linear(a, M.t(), torch.ones(3)),
    "linear weight": lambda a: torch.nn.functional.linear(V, a, a[:, 0]),
    "layer_norm": lambda a: torch.nn.functional.layer_norm(a, (4,)),
    "gelu": lambda a: torch.nn.functional.gelu(a), "clone": lambda a: a.clone(),
    "dtype": lambda a: a.double(), "detach": lambda a: a.detach(),
    "zeros_like": lambda a: torch.zeros_like(a) + 1, "einsum": lambda a: torch.einsum(
        "ij,kj->ik", a, a), "mse": lambda a: torch.nn.functional.mse_loss(a, a * 2),
    "in place": lambda a: (a * 1).mul_(V).add_(1), "write": lambda a: written(a),
}


def written(a):
    b = a.clone()
    b[0] = a[1]
    b[:, 1] = 7
    return b


@pytest.mark.parametrize("name", CASES)
def test_rules(name):
    function = CASES[name]
    expected = torch.stack([function(x) for x in X])
    made = vmap(function)(X)
    assert made.dtype is expected.dtype
    assert made.shape == expected.shape
    assert torch.allclose(made.double(), expected.double(), atol=1e-6)
    last = vmap(function, in_dims=-1, out_dims=-1)(X.permute(1, 2, 0))
    assert torch.allclose(last.double(), expected.movedim(0, -1).double(), atol=1e-6)


@pytest.mark.parametrize("name", ["unary", "sum 0", "softmax", "matmul", "index", "cat"])
def test_nested(name):
    function = CASES[name]
    batch = torch.stack([X, X + 1, X * 2])
    expected = torch.stack([torch.stack([function(x) for x in row]) for row in batch])
    assert torch.allclose(vmap(vmap(function))(batch), expected, atol=1e-6)


def test_structures():
    made = vmap(lambda d, k: {"a": d["x"] * k, "b": (d["y"],)},
                in_dims=({"x": 0, "y": None}, None))({"x": X, "y": V}, 3)
    assert made["a"].tolist() == (X * 3).tolist()
    assert made["b"][0].shape == (2, 4)
    outer = vmap(vmap(torch.mul, in_dims=(0, None)), in_dims=(None, 0))(V, V)
    assert outer.tolist() == torch.outer(V, V).tolist()
    assert vmap(lambda a: (a, 3), out_dims=(0, None))(V)[1] == 3


def test_chunks():
    sizes = []
    made = vmap(lambda a: (sizes.append(1), a * 2)[1], chunk_size=3)(V)
    assert (made.tolist(), len(sizes)) == ((V * 2).tolist(), 2)


def test_random_numbers():
    with pytest.raises(RuntimeError, match="randomness error mode"):
        vmap(lambda a: a + torch.rand(1))(V)
    same = vmap(lambda a: torch.rand(3), randomness="same")(V)
    assert torch.equal(same[0], same[3])
    apart = vmap(lambda a: torch.rand(3), randomness="different")(V)
    assert apart.shape == (4, 3)
    assert not torch.equal(apart[0], apart[1])
    kept = vmap(lambda a: torch.nn.functional.dropout(a, 0.5), randomness="different")(
        torch.ones(4, 50))
    assert len({tuple(row) for row in kept.tolist()}) == 4


def test_custom_functions():
    class Square(torch.autograd.Function):
        generate_vmap_rule = True

        @staticmethod
        def forward(x):
            return x**2

        @staticmethod
        def setup_context(ctx, inputs, output):
            ctx.save_for_backward(inputs[0])

        @staticmethod
        def backward(ctx, g):
            return g * 2 * ctx.saved_tensors[0]

    class Own(Square):
        generate_vmap_rule = False

        @staticmethod
        def vmap(info, in_dims, x):
            assert (info.batch_size, in_dims) == (2, (0,))
            return Square.apply(x), 0

    class Without(Square):
        generate_vmap_rule = False

    for function in (Square, Own):
        assert vmap(function.apply)(X).tolist() == (X**2).tolist()
        slopes = vmap(torch.func.grad(lambda a, f=function: f.apply(a).sum()))(X)
        assert slopes.tolist() == (2 * X).tolist()
    with pytest.raises(RuntimeError, match="does not have vmap support"):
        vmap(Without.apply)(X)


@pytest.mark.parametrize(("run", "error", "message"), [
    (lambda: vmap(lambda a: a, in_dims=(0, 0))(X), ValueError, "in_dims is not compatible"),
    (lambda: vmap(lambda a, b: a)(X, torch.ones(3)), ValueError, r"got sizes \[2, 3\]"),
    (lambda: vmap(lambda a: 3)(X), ValueError, "must only return Tensors, got type"),
    (lambda: vmap(lambda a: a)(3), ValueError, "cannot vmap over non-Tensor arguments"),
    (lambda: vmap(lambda a: a, in_dims=5)(V), ValueError, "expected in_dim to satisfy -1 <= in_d"),
    (lambda: vmap(lambda a: a, in_dims=None)(X), ValueError, "expected `in_dims` to be int or"),
    (lambda: vmap(lambda a: a, out_dims=5)(X), IndexError, "Dimension out of range"),
    (lambda: vmap(lambda: 3)(), ValueError, "got no inputs"),
    (lambda: vmap(lambda a: a.sum().item())(X), RuntimeError, "calling .item\\(\\) on a Tensor"),
    (lambda: vmap(lambda a: a if a.sum() > 3 else -a)(X), RuntimeError, "data-dependent control"),
    (lambda: vmap(lambda a: V.add_(a))(torch.ones(2, 4)), RuntimeError, "inplace arithmetic"),
])
def test_refusals(run, error, message):
    with pytest.raises(error, match=message):
        run()


def test_new_tensors_of_an_example_are_examples():
    for name in ("new_zeros", "new_empty", "new_ones"):
        made = vmap(lambda a, n=name: getattr(a, n)(3, dtype=torch.float64).copy_(a[0, :3]))(X)
        assert made.tolist() == X[:, 0, :3].tolist() and made.dtype is torch.float64
    assert vmap(lambda a: a.new_full((4,), 2.0).add_(a[0]))(X).tolist() == (X[:, 0] + 2).tolist()
    inner = vmap(lambda a: vmap(lambda b: a.new_zeros(4).add_(a[0]) + b)(a))
    assert inner(X).tolist() == (X[:, :1] + X).tolist()
    with pytest.raises(RuntimeError, match="inplace arithmetic"):
        vmap(lambda a: torch.zeros(4).add_(a[0]))(X)


@pytest.mark.parametrize("view", [
    lambda a: a.t_(), lambda a: a.unsqueeze_(1), lambda a: a.transpose_(0, 1),
    lambda a: a.unsqueeze_(0).squeeze_(0)], ids=["t_", "unsqueeze_", "transpose_", "squeeze_"])
def test_in_place_views(view):
    made = vmap(lambda a: view(a.clone()).mul_(2))(X)
    assert made.tolist() == [view(a.clone()).mul_(2).tolist() for a in X]


def test_named_results():
    made = vmap(lambda a: a.sort(1))(X)
    assert type(made) is torch.return_types.sort and made.values.shape == (2, 3, 4)
    value, tangent = torch.func.jvp(lambda a: a.max(0), (X,), (X,))
    assert type(value) is type(tangent) is torch.return_types.max
    assert tangent.values.tolist() == X[1].tolist()


def test_layers_that_look_at_numbers():
    pad, one_hot = torch.nn.functional.pad, torch.nn.functional.one_hot
    assert vmap(lambda a: pad(a, (1, 2), value=3.0))(X).tolist() == pad(X, (1, 2),
                                                                        value=3.0).tolist()
    classes = torch.tensor([[0, 2], [1, 0]])
    assert vmap(lambda c: one_hot(c, 3))(classes).tolist() == one_hot(classes, 3).tolist()
    with pytest.raises(RuntimeError, match="please provide an explicit positive num_classes"):
        vmap(one_hot)(classes)
    with pytest.raises(RuntimeError, match="smaller than num_classes"):
        vmap(lambda c: one_hot(c, 2))(classes)
    both = torch.stack([torch.eye(3), torch.zeros(3, 3)])
    with pytest.raises(torch.linalg.LinAlgError, match=r"\(Batch element 1\): The diagonal"):
        vmap(torch.linalg.inv)(both)


def test_masks():
    with pytest.raises(RuntimeError, match="Attempting to batch over indexing with a boolean mask"):
        vmap(lambda a: a[a > 0])(X)
    with pytest.raises(RuntimeError, match="aten::nonzero_numpy. We could not generate"):
        vmap(lambda a: a.nonzero(as_tuple=True))(X)
    assert vmap(lambda a: a[torch.tensor([True, False, True])])(X).tolist() == X[:, ::2].tolist()


def test_a_batch_of_none():
    assert vmap(lambda a: torch.linalg.inv(a[:, :3]).sort()[0])(X[:0]).shape == (0, 3, 3)
    with pytest.raises(RuntimeError, match="aten::histc. The fallback path does not support vmap"):
        vmap(torch.histc)(X[:0])


def test_functions_that_vmap_refuses():
    class Old(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

    class Both(torch.autograd.Function):
        generate_vmap_rule = True

        @staticmethod
        def forward(x):
            return x * 2

        @staticmethod
        def setup_context(ctx, inputs, output):
            pass

        @staticmethod
        def vmap(info, in_dims, x):
            return x * 2, 0

    with pytest.raises(RuntimeError, match="it must override the setup_context staticmethod"):
        torch.vmap(Old.apply)(torch.ones(2))
    with pytest.raises(RuntimeError, match="has both generate_vmap_rule=True and an overridden"):
        torch.vmap(Both.apply)(torch.ones(2))


def test_examples_as_indices():
    table, rows = torch.arange(12.0).reshape(3, 4), torch.tensor([2, 0])
    columns = torch.tensor([1, 3])
    assert torch.vmap(lambda r, c: table[r, c])(rows, columns).tolist() == [9.0, 3.0]
    assert torch.vmap(lambda r, c: table[r][c])(rows, columns).tolist() == [9.0, 3.0]
    assert torch.vmap(lambda r: table[r, 1:3])(rows).tolist() == [[9.0, 10.0], [1.0, 2.0]]
