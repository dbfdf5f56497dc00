"""Sparse tensors, the same in PyTorch and here: what record_sparse.py records, tests compute."""

import warnings

SETUP = """
C = torch.sparse_coo_tensor
i = torch.tensor([[0, 1, 1], [2, 0, 2]]); v = torch.tensor([3., 4., 5.], dtype=torch.float64)
s = C(i, v, (2, 3)); sc = s.coalesce()
u = C([[1, 0, 1]], [1., 2., 3.], (2,), dtype=torch.float64)
e = C([[2, 0, 2]], [[1.], [2.], [3.]], (4, 1)); f = C([[0, 0, 3]], [[4.], [5.], [6.]], (4, 1))
n = C(i, [1, 2, 3], (2, 3)); z = C((2, 3))
d = torch.arange(6, dtype=torch.float64).reshape(3, 2); D = torch.ones(2, 2, dtype=torch.float64)
x = torch.arange(6, dtype=torch.float64).reshape(2, 3)
b = C([[0, 1, 1], [0, 1, 0], [0, 0, 1]], [1., 2., 3.], (2, 2, 2), dtype=torch.float64)
"""
#: Expressions, which give tensors, numbers, texts or tuples of these, or raise.
CASES = """
C(i, v) | C(i, v, (2, 3), dtype=torch.float32) | C((2, 3)) | C(size=(2, 3), dtype=torch.float64)
C([[0]], 1., (2,)) | C(torch.zeros(0, 1, dtype=torch.long), torch.ones(1), ()) | C([2, 3])
C([[0, 5], [0, 0]], [1., 2.], (2, 3), check_invariants=True) | C([[0, -1]], [1., 2.]) | C()
C([[0, -1], [0, 0]], [1., 2.], (2, 3), check_invariants=True) | C([0, 1], [1., 2.], (2,))
C([[0, 1]], [1., 2., 3.], (2,)) | C([[0, 1]], [1., 2.], (2, 2))
C([[0, 1]], [[1.], [2.]], (2, 2)) | C(i, [1, 2, 3], (2, 3), requires_grad=True)
C(i, v, (2, 3), is_coalesced=True).is_coalesced()
C([[1, 0]], [1., 2.], (2,), is_coalesced=True, check_invariants=True)
C(torch.zeros(2, 0).long(), torch.zeros(0)) | u.coalesce() | u.indices() | u.values()
v.indices() | v.values() | v.coalesce() | sc.indices() | sc.values() | s._indices() | s._values()
s._nnz() | s.sparse_dim() | s.dense_dim() | e.sparse_dim() | e.dense_dim() | v.sparse_dim()
v.dense_dim() | u.to_dense() | v.is_coalesced() | u.to_dense(torch.float32) | x.to_sparse()
x.to_sparse(1) | x.to_sparse(0) | x.to_sparse(3) | x.to_sparse_coo() | u.to_sparse()
u.to_sparse(2) | torch.tensor(2.).to_sparse() | torch.tensor([True, False]).to_sparse() | u + u
e + f | torch.add(e, f, alpha=2) | e - f | sc + sc | e.clone().add_(f) | torch.ones(4, 1).add_(f)
e + torch.ones(4, 1) | e + C([[0]], [[1.]], (3, 1)) | torch.ones(3, 1) + e | torch.ones(1) + e
torch.ones(4, 1) + e | torch.ones(4, 1) - e | e + C([[0], [0]], [1.], (4, 1)) | e + f.double()
torch.ones(4, 1, dtype=torch.int) + e | torch.ones(2, 3).add_(s, alpha=-.5)
torch.ones(2, 3).sub_(s) | e * f | u * u | s * sc | s * torch.tensor([1., 2., 3.])
s * torch.tensor([[1.], [2.]]) | e * torch.ones(4, 1) * 2 | 2 * s | s.clone().mul_(2.)
s.clone().mul_(s) | sc.clone().mul_(x) | x.clone().mul_(s) | n * 2.5 | n / 2
s * torch.tensor(2.) | x * s | s / 2 | s / x | x / s | s / s | s // 2 | s + 1 | s - 1 | 2 - s
2 / s | sc.clone().div_(2) | torch.div(sc, 2, rounding_mode="floor") | s % 2 | s ** 2 | s ** 0
s ** .5 | s ** -1 | s ** s | 2 ** s | u ** 2 | u.sqrt() | u.abs() | u.neg() | -u
u.clone().sqrt_() | abs(-u) | sc.clone().sqrt_() | u.clone().neg_() | n.sqrt() | s.sin() | s.tan()
s.asinh() | s.sign() | s.relu() | s.signbit() | s.erf() | s.expm1() | s.log1p() | s.square()
s.isnan() | s.nan_to_num() | s.conj() | s.exp() | s.cos() | s.sigmoid() | s.clamp(min=0) | s.max()
s.mean() | s.prod() | s > 0 | s == s | torch.equal(s, s) | torch.allclose(s, s)
torch.where(s, x, x) | s.clone().zero_() | s.fill_(0) | torch.zeros(2, 3, layout=torch.sparse_coo)
torch.empty(2, 3, layout=torch.sparse_coo) | torch.ones(2, 3, layout=torch.sparse_coo)
torch.zeros_like(s) | torch.empty_like(s) | torch.ones_like(s)
torch.ones_like(s, layout=torch.strided) | s.new_zeros(2, 2) | s.new_ones(2)
torch.zeros_like(s, layout=torch.strided) | torch.zeros_like(x, layout=torch.sparse_coo)
torch.sparse.sum(s, 0) | torch.sparse.sum(s, 1) | torch.sparse.sum(s, (0, 1))
torch.sparse.sum(s) | s.sum(0) | s.sum(0, keepdim=True) | torch.sparse.sum(s, dtype=torch.float32)
n.sum() | z.sum() | torch.sparse.sum(e, 1) | torch.sparse.sum(e, 0) | torch.sparse.sum(e, -1)
torch.sparse.sum(u, 0) | torch.sparse.sum(s, (0, 0)) | torch.sparse.sum(x, 0)
torch.sparse.sum(s, 5) | s.norm() | s.norm(1) | s.norm(float("inf")) | s.norm(2, 0) | u.norm()
s.norm(0) | s.any() | z.any() | s.any(0) | torch.sparse.softmax(s, 1) | torch.sparse.softmax(s, 0)
torch.sparse.log_softmax(s, -1) | torch.sparse.softmax(s, 1, dtype=torch.float32)
torch.sparse.softmax(e, 0) | torch.softmax(s, 1) | torch.sparse.softmax(e, 1)
torch.sparse.softmax(x, 1) | torch.sparse.softmax(b, 1) | torch.sparse.mm(s, d)
torch.sparse.mm(s, sc.t()) | torch.sparse.mm(D, D) | torch.mm(D, s) | s @ d
torch.sparse.mm(s, D.t()[:1]) | torch.mm(s, d[:, 0]) | torch.mm(s, d.float()) | D @ s
s @ d[:, 0] | torch.spmm(s, d) | torch.dsmm(s, d) | torch.matmul(s, d) | D[0] @ s | s.mv(d[:, 0])
torch.smm(s, d) | torch.smm(s, sc.t()) | torch.hspmm(s, d) | torch.hspmm(s, d[:, 0])
torch.smm(s, d[:1]) | torch.hsmm(s, d)
torch.sspaddmm(C([[0], [0]], [1.], (2, 2), dtype=torch.float64), s, d) | z @ d.float()
torch.sparse.addmm(D, s, d, beta=2, alpha=3) | torch.addmm(D, s, d) | D.clone().addmm_(s, d)
torch.addmm(D, d.t(), s.t()) | torch.bmm(b, torch.ones(2, 2, 2, dtype=torch.float64)) | e @ e.t()
torch.nn.functional.linear(d.t(), s) | torch.nn.functional.linear(s, x) | s.transpose(0, 1)
sc.t() | s.T | s.mT | s.clone().transpose_(0, 1) | s.clone().t_() | s.permute(1, 0)
sc.permute(0, 1) | e.transpose(0, 1) | b.t() | s.index_select(1, torch.tensor([2, 0, 2]))
b.permute(2, 0, 1) | s.index_select(0, torch.tensor([1]))
e.index_select(1, torch.tensor([0, 0])) | s.select(0, 1) | s.index_select(0, torch.tensor([5]))
u.index_select(0, torch.tensor([1, 1])) | s[0] | s[1, 2] | s[:, 1] | s[0:1] | u[1]
s[torch.tensor([1])] | s[None] | s[..., 0] | e[2] | e[:, 0] | s[5] | s[0, 0, 0] | s.unsqueeze(0)
s.unsqueeze(-1) | e.unsqueeze(2) | s.view(6) | s.reshape(6) | s.flatten() | s.flip(0)
s.expand(2, 2, 3) | torch.cat([s, s]) | torch.cat([s, s], 1) | torch.stack([s, s]) | s.unbind()
torch.cat([s, x]) | torch.cat([e, e], 1) | tuple(s) | len(s) | x.sparse_mask(sc)
x[0, :2].sparse_mask(u) | C([[0], [2]], [9.], (2, 3)).sparse_mask(sc)
torch.ones(3, 3).sparse_mask(sc) | x.sparse_mask(x) | s.to(torch.float32) | s.float() | sc.int()
s.to("cpu") is s | s.contiguous() | s.is_contiguous() | s.stride() | s.untyped_storage()
s.data_ptr() | s.nbytes | s.itemsize | s.type() | s.bool() | s.layout | s.is_sparse | x.is_sparse
s.device | s.shape | s.dim() | s.size(1) | s.numel() | s.is_leaf | bool(s)
float(C([[0]], [2.], (1,))) | C([[0]], [2.], (1,)).item() | s.item() | s.numpy() | s.tolist()
z.clone().copy_(s) | z.copy_(x) | x.copy_(s) | s.is_same_size(sc) | s.clone() | s.detach()
C((2, 3)).sparse_resize_((4, 4), 2, 0) | s.clone().sparse_resize_((4, 4), 2, 0)
s.clone().sparse_resize_((1, 1), 2, 0) | s.clone().sparse_resize_and_clear_((4, 4), 1, 1)
C((5, 5)).resize_as_sparse_(s) | torch.sparse.FloatTensor(i, v.float(), torch.Size([2, 3]))
torch.sparse.DoubleTensor(i, v) | torch.sparse.FloatTensor(2, 3) | torch.sparse.FloatTensor()
isinstance(s, torch.sparse.DoubleTensor) | isinstance(s, torch.DoubleTensor)
torch.sparse.spdiags(torch.arange(9.).reshape(3, 3), torch.tensor([0, -1, 2]), (3, 3))
torch.sparse.spdiags(torch.ones(2, 3), torch.tensor([1, 1]), (3, 3)) | repr(s) | repr(z) | repr(e)
repr(C([[0, 1]], [[1, 2], [3, 4]], (2, 2))) | repr(C(i, v, (2, 3), requires_grad=True))
repr(C(i, v.clone().requires_grad_(), (2, 3))) | repr(torch.nn.Parameter(z)) | s.backward()
repr(C(torch.arange(3000)[None], torch.arange(3000.), (3000,)))
"""
#: Scalars of a sparse tensor `a` (of s), one `w` of its values, and dense `y`: gradients follow.
GRADIENTS = """
torch.sparse.mm(a, y).pow(2).sum() | (a @ y).sum() | (y.t() @ a.t()).pow(2).sum()
(a.to_dense() * x).sum() | (a.coalesce().values() * v).sum() | torch.sparse.sum(a)
(torch.sparse.sum(a, 0).to_dense() * x[0]).sum() | (a * x).to_dense().pow(2).sum() | (x + a).sum()
torch.sparse.softmax(a, 1).to_dense()[:, 0].sum() | (a * 2 / 3).to_dense().sum()
torch.sparse.mm(a, a.t()).to_dense().pow(2).sum() | torch.sparse.addmm(D, a, y, alpha=3).sum()
a.t().to_dense()[0].pow(2).sum() | (a ** 2).sum()
torch.sparse.log_softmax(a, 0).to_dense().pow(2).sum() | a.clone().to_dense().sum()
a.sum(1).sum()
"""
#: Optimizer -> options: runs of 50 steps on a table whose rows are looked up.
RUNS = {
    "SparseAdam": ["lr=0.1", "lr=0.05, betas=(0.5, 0.9), eps=1e-3", "lr=0.1, maximize=True"],
    "SGD": ["lr=0.1", "lr=0.01, momentum=0.9", "lr=0.01, momentum=0.9, nesterov=True",
            "lr=0.001, momentum=0.5, dampening=0.3, maximize=True"],
    "Adagrad": ["lr=0.5", "lr=0.5, lr_decay=0.1, initial_accumulator_value=0.2, eps=1e-4"],
}
STEPS = 50


def split(text):
    return text.strip().replace("\n", " | ").split(" | ")


def cases():
    return split(CASES)


def scope(torch):
    names = {"torch": torch}
    exec(SETUP, names)
    return names


#: The same of what PyTorch has no derivatives of: with a dense tensor in the place of `a`.
BEYOND = """
a.norm() | a.index_select(1, torch.tensor([2, 0])).to_dense().pow(2).sum()
a[1].to_dense().pow(2).sum() | torch.cat([a, a]).to_dense().pow(3).sum()
a.unsqueeze(0).to_dense().pow(2).sum() | a.permute(1, 0).to_dense().pow(2).sum() | (a + a).norm(3)
"""


def described(torch, value):
    """A result without the order of places that are there more than once."""
    if isinstance(value, torch.Tensor):
        if value.is_sparse:
            value = value.detach()
            full = value.to_dense()
            return ["sparse", str(value.dtype), value.sparse_dim(), list(full.shape),
                    full.tolist()]
        return ["dense", str(value.dtype), list(value.shape), value.detach().tolist()]
    if isinstance(value, tuple) and type(value) is tuple:
        return [described(torch, one) for one in value]
    return value if isinstance(value, (bool, int, float, str)) else str(value)


def result(torch, case):
    try:
        return described(torch, eval(case, scope(torch)))
    except Exception as error:
        text = str(error).partition(" This could be because")[0]
        return ["raises", type(error).__name__, text]


def gradients(torch, case):
    """Of a leaf's places, of values, and of a dense operand."""
    made = []
    for leaf in (True, False):
        names = scope(torch)
        names["w"] = names["v"].clone().requires_grad_(not leaf)
        names["a"] = names["C"](names["i"], names["w"], (2, 3))
        if leaf:
            names["a"].requires_grad_()
        names["y"] = names["d"].clone().requires_grad_()
        eval(case, names).backward()
        found = names["a"].grad.to_dense() if leaf else names["w"].grad
        dense = names["y"].grad
        made += [found.tolist(), None if dense is None else dense.tolist()]
    return made


def looked_up(torch, kind, dtype):
    """A loss over rows of a table: with duplicates, a padded row, and bags."""
    nn = torch.nn
    torch.manual_seed(3)
    table = nn.Embedding(12, 3, padding_idx=2 if kind == "padded" else None, sparse=True,
                         dtype=dtype)
    if kind in ("sum", "mean"):
        table = nn.EmbeddingBag(12, 3, mode=kind, sparse=True, dtype=dtype)

    def loss(k):
        index = torch.tensor([[k % 12, 2, (3 * k) % 7], [k % 5, k % 5, (k * k) % 12]])
        out = table(index)
        return (out * (torch.arange(out.numel(), dtype=dtype).reshape(out.shape) - 4)).sum() \
            + out.pow(2).sum()

    return table, loss


def curve(torch, optimizer, options, kind, dtype):
    """The table after 1, 7 and 50 steps."""
    dtype = getattr(torch, dtype)
    table, loss = looked_up(torch, kind, dtype)
    made = eval(f"O(table.parameters(), {options})",
                {"O": getattr(torch.optim, optimizer), "table": table})
    seen = []
    for k in range(STEPS):
        made.zero_grad()
        loss(k).backward()
        made.step()
        if k + 1 in (1, 7, STEPS):
            seen.append(table.weight.detach().tolist())
    return seen


def curves():
    """(optimizer, options, kind, dtype) of each run."""
    kinds = ("plain", "padded", "sum", "mean")
    return [(name, options, kinds[(j + k) % 4], dtype)
            for j, (name, rows) in enumerate(RUNS.items()) for k, options in enumerate(rows)
            for dtype in ("float64", "float32")]


def silent():
    warnings.simplefilter("ignore")
