"""Negated views: they share memory, every kernel sees their values, only views keep the flag."""

import copy
import io

import pytest

import yesca as torch

neg = torch._neg_view


def test_the_imaginary_part_of_a_conjugate():
    z = torch.tensor([1 + 2j, 3 - 4j])
    part = z.conj().imag
    assert part.is_neg() and part.data_ptr() == z.data_ptr() + 4 and part._base is z
    assert part.tolist() == [-2.0, 4.0] and part[1].item() == 4.0
    part.add_(1)
    assert part.tolist() == [-1.0, 5.0] and z.tolist() == [1 + 1j, 3 - 5j]
    part.copy_(torch.tensor([7.0, 8.0]))
    assert z.tolist() == [1 - 7j, 3 - 8j]
    assert not z.imag.is_neg() and not z.conj().real.is_neg()


def test_what_keeps_the_flag():
    x = neg(torch.arange(6.0).view(2, 3))
    for view in (x, x.view(3, 2), x[0], x.t(), x.detach(), x.data, x.expand(2, 2, 3), x.unbind()[0],
                 x.contiguous(), x.as_strided((2,), (1,)), *x.chunk(2)):
        assert view.is_neg() and torch.is_neg(view)
    for made in (x.clone(), x + 1, x.t().contiguous(), x.to(torch.float64), torch.empty_like(x),
                 torch.rand_like(x), -x, x.resolve_neg(), torch.resolve_neg(x), neg(x), x[x < -1]):
        assert not made.is_neg()
    plain = torch.ones(2)
    assert plain.resolve_neg() is plain
    z = neg(torch.tensor([1 + 2j]))
    assert z.conj().is_neg() and z.conj().is_conj() and z.conj().tolist() == [-1 + 2j]
    assert z.real.is_neg() and z.imag.is_neg() and not z.conj().imag.is_neg()
    assert torch.view_as_real(z).is_neg() and torch.view_as_real(z).tolist() == [[-1.0, -2.0]]
    assert torch.view_as_complex(neg(torch.ones(1, 2))).tolist() == [-1 - 1j]
    assert z.resolve_conj() is z and z.conj().resolve_conj().tolist() == [-1 + 2j]


def operands():
    return torch.tensor([[3.0, 1.0, 2.0], [5.0, 4.0, 6.0]]), torch.tensor([[2.0, 1.0, 3.0]] * 2)


CALLS = {
    "exp": lambda a, b: a.exp(), "add": torch.add, "matmul": lambda a, b: a @ b.t(),
    "sum": lambda a, b: a.sum(0), "sort": lambda a, b: a.sort(1), "topk": lambda a, b: a.topk(2),
    "cat": lambda a, b: torch.cat([a, b]), "cumsum": lambda a, b: a.cumsum(1),
    "where": lambda a, b: torch.where(b > 1, a, b), "index": lambda a, b: a[:, torch.tensor([1])],
    "lower": lambda a, b: a.tril(), "softmax": lambda a, b: a.softmax(1),
    "linear": torch.nn.functional.linear, "einsum": lambda a, b: torch.einsum("ij,kj->ik", a, b),
    "solve": lambda a, b: torch.linalg.lstsq(a, b).solution, "unique": lambda a, b: a.unique(),
    "fft": lambda a, b: torch.fft.fft(a), "int": lambda a, b: a.int(),
    "norm": lambda a, b: a.norm(),
    "half": lambda a, b: a.half(), "layer_norm":
        lambda a, b: torch.nn.functional.layer_norm(a, (3,), b[0]) + 0.0,
}


@pytest.mark.parametrize("name", CALLS)
def test_values(name):
    a, b = operands()
    wanted = CALLS[name](-a, b)
    for view in (neg(a), neg(a.t().contiguous()).t(), neg(torch.stack([a, a], -1))[..., 0]):
        found = CALLS[name](view, b)
        pairs = zip(found, wanted, strict=True) if isinstance(wanted, tuple) else [(found, wanted)]
        assert all(torch.allclose(f, w) for f, w in pairs)
    if name in ("add", "matmul", "cat", "where", "linear"):
        assert torch.equal(CALLS[name](b, neg(a)), CALLS[name](b, -a))


WRITES = {
    "add_": lambda x, b: x.add_(b), "exp_": lambda x, b: x.exp_(), "zero_": lambda x, b: x.zero_(),
    "copy_": lambda x, b: x.copy_(b), "clamp_": lambda x, b: x.clamp_(-2), "sub_ itself":
    lambda x, b: x.sub_(x), "cumsum_": lambda x, b: x.cumsum_(0),
    "index_add_": lambda x, b: x.index_add_(0, torch.tensor([1]), b[:1]),
    "scatter_": lambda x, b: x.scatter_(0, torch.tensor([[0, 1]]), b),
    "set": lambda x, b: x.__setitem__(0, 5.0), "masked": lambda x, b: x.masked_fill_(b > 1, 9.0),
    "addmm_": lambda x, b: x.addmm_(b, b), "out": lambda x, b: torch.add(b, 1, out=x),
    "sorted": lambda x, b: torch.sort(b, out=(x, torch.empty(2, 2, dtype=torch.int64))),
}


@pytest.mark.parametrize("name", WRITES)
def test_writes(name):
    b = torch.tensor([[2.0, 1.0], [1.0, 2.0]])
    wanted = torch.tensor([[-1.0, -2.0], [-3.0, -4.0]])
    WRITES[name](wanted, b)
    for _ in range(2):  # by either call path
        memory = torch.tensor([[1.0, 2.0], [3.0, 4.0]])
        view = neg(memory)
        WRITES[name](view, b)
        assert view.is_neg() and torch.equal(view, wanted) and torch.equal(memory, -wanted)
        assert memory._version == 1


def test_written_by_its_own_memory():
    memory = torch.tensor([1.0, 2.0])
    neg(memory).add_(memory)
    assert memory.tolist() == [0.0, 0.0]
    memory = torch.tensor([1.0, 2.0])
    memory.sub_(neg(memory))
    assert memory.tolist() == [2.0, 4.0]


def test_running_statistics():
    x = torch.arange(6.0).view(3, 2)
    mean, var = neg(torch.zeros(2)), neg(-torch.ones(2))
    torch.nn.functional.batch_norm(x, mean, var, training=True)
    wanted = torch.zeros(2), torch.ones(2)
    torch.nn.functional.batch_norm(x, *wanted, training=True)
    assert torch.equal(mean, wanted[0]) and torch.equal(var, wanted[1])


DRAWS = {
    "uniform_": lambda: neg(torch.zeros(3)).uniform_(),
    "normal_": lambda: neg(torch.zeros(2, 3, 2))[..., 0].normal_(),
    "multinomial": lambda: torch.multinomial(neg(-torch.arange(4.0)), 3),
    "repeated": lambda: torch.multinomial(neg(-torch.arange(4.0)), 3, True),
    "poisson": lambda: torch.poisson(neg(-torch.arange(4.0))),
    "bernoulli": lambda: torch.bernoulli(neg(-torch.arange(4.0) / 4)),
    "bernoulli_": lambda: torch.zeros(4).bernoulli_(neg(-torch.arange(4.0) / 4)),
}
PLAIN = {
    "uniform_": lambda: torch.zeros(3).uniform_(),
    "normal_": lambda: torch.zeros(2, 3, 2)[..., 0].normal_(),
    "multinomial": lambda: torch.multinomial(torch.arange(4.0), 3),
    "repeated": lambda: torch.multinomial(torch.arange(4.0), 3, True),
    "poisson": lambda: torch.poisson(torch.arange(4.0)),
    "bernoulli": lambda: torch.bernoulli(torch.arange(4.0) / 4),
    "bernoulli_": lambda: torch.zeros(4).bernoulli_(torch.arange(4.0) / 4),
}


@pytest.mark.parametrize("name", DRAWS)
def test_draws(name):
    torch.manual_seed(0)
    wanted = PLAIN[name]()
    torch.manual_seed(0)
    assert torch.equal(DRAWS[name](), wanted)


def test_edges():
    x = neg(torch.tensor([1.0, 2.0]))
    assert repr(x) == "tensor([-1., -2.])" and x.numpy(force=True).tolist() == [-1.0, -2.0]
    assert [neg(torch.tensor([5.0])).item() for _ in range(3)] == [-5.0] * 3
    assert float(neg(torch.tensor(1.5))) == -1.5 and int(neg(torch.tensor(2))) == -2
    with pytest.raises(RuntimeError) as caught:
        x.numpy()
    assert str(caught.value) == ("Can't call numpy() on Tensor that has negative bit set. Use "
                                 "tensor.resolve_neg().numpy() instead.")
    with pytest.raises(RuntimeError, match="not supported for tensors with negative bit set when"):
        x.view(torch.int32)
    with pytest.raises(RuntimeError, match="not supported for conjugate view tensors when"):
        torch.ones(2, dtype=torch.complex64).conj().view(torch.float32)
    with pytest.raises(BufferError, match="negative bit"):
        torch.utils.dlpack.to_dlpack(x)
    assert copy.deepcopy(x).tolist() == [-1.0, -2.0]
    place = io.BytesIO()
    torch.save(x, place)
    place.seek(0)
    loaded = torch.load(place)
    assert loaded.is_neg() and loaded.tolist() == [-1.0, -2.0]
    assert neg(torch.ones(2, device="meta")).add(1).shape == (2,)
    assert torch.vmap(lambda z: z.conj().imag * 2)(torch.tensor([1 + 2j, 3 - 1j])).tolist() \
        == [-4.0, 2.0]


def test_derivatives():
    x = torch.arange(1.0, 4.0, dtype=torch.float64, requires_grad=True)
    check, again = torch.autograd.gradcheck, torch.autograd.gradgradcheck
    assert check(lambda x: neg(x).sin() * neg(x.exp()), (x,), check_forward_ad=True)
    assert again(lambda x: neg(x).sin() * x, (x,))
    z = torch.tensor([1 + 2j, 3 - 1j], dtype=torch.complex128, requires_grad=True)
    assert check(lambda z: z.conj().imag.exp(), (z,), check_forward_ad=True)
    assert check(lambda z: torch.view_as_real(neg(z)).sin() * neg(z).real[:, None], (z,))
    assert neg(x).grad_fn.name() == "NegViewBackward0"
    names, node = [], z.conj().imag.grad_fn
    while hasattr(node, "next_functions") and node.next_functions:
        names.append(node.name())
        node = node.next_functions[0][0]
    assert names == ["SelectBackward0", "NegViewBackward0", "ConjBackward0", "ConjBackward0"]


def test_writes_on_the_tape():
    x = torch.ones(3, requires_grad=True)
    y = x * 2
    view = neg(y)
    view.mul_(3)
    assert y.tolist() == [6.0] * 3 and view.tolist() == [-6.0] * 3
    (y * view).sum().backward()
    assert x.grad.tolist() == [-72.0] * 3
    x = torch.arange(1.0, 4.0, requires_grad=True)
    y = x * 1
    view = neg(y)
    view[0] = x[1] * 3
    y.mul_(2)
    (view * y).sum().backward()
    assert x.grad.tolist() == [0.0, -160.0, -24.0]


def test_gradients_and_optimizers():
    x = torch.arange(3.0, requires_grad=True)
    x.register_hook(neg)
    for _ in range(2):
        (x * 2).sum().backward()
    assert x.grad.tolist() == [-4.0] * 3
    made = []
    for grad in (neg(torch.ones(3)), -torch.ones(3)):
        weight = torch.nn.Parameter(torch.ones(3))
        weight.grad = grad
        torch.optim.Adam([weight], lr=0.1).step()
        torch.optim.SGD([weight], lr=0.1, momentum=0.9).step()
        made.append(weight.detach())
    assert torch.equal(*made)


def test_compiled():
    @torch.compile
    def program(x):
        y = neg(x * 2)
        y.add_(1)
        return y.exp() + x

    x = torch.arange(4.0)
    for _ in range(3):
        assert torch.allclose(program(x), (-2 * x + 1).exp() + x)
