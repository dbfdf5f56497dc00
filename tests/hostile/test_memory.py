"""Views, sizes and values that lie outside of what there is."""

import copy

import pytest

import yesca as torch


@pytest.mark.parametrize("size, stride, offset", [
    ((3, 3), (1, 1), None), ((5,), (1,), 0), ((1,), (1,), 4), ((2,), (3,), 1), ((1,), (1,), -1),
    ((2,), (-1,), 3), ((-2,), (1,), 0), ((2**62,), (1,), 0), ((2, 2), (1,), 0),
    ((2**40, 2**40), (0, 0), 0)])
def test_as_strided_stays_inside_its_storage(size, stride, offset):
    x = torch.arange(8.0)[2:6].clone()
    with pytest.raises(RuntimeError):
        x.as_strided(size, stride, offset)
    assert x.as_strided((0,), (1,), 100).numel() == 0
    assert x.as_strided((4, 4), (1, 0)).sum().item() == 4 * (2 + 3 + 4 + 5)


@pytest.mark.parametrize("sizes", [(2**63,), (2**40, 2**40), (2**62, 2), (2**61,)])
@pytest.mark.parametrize("device", ["cpu", "meta"])
def test_sizes_that_no_machine_can_count(sizes, device):
    with pytest.raises(RuntimeError, match="overflowed|allocate"):
        torch.empty(sizes, device=device)


def test_memory_that_cannot_be_had():
    for make in (lambda: torch.empty(10**15), lambda: torch.ones(1).expand(10**14) + 1,
                 lambda: torch.ones(10**7, 1) @ torch.ones(1, 10**7)):
        with pytest.raises(RuntimeError, match="DefaultCPUAllocator: can't allocate memory"):
            make()
    assert (torch.ones(3) + 1).tolist() == [2, 2, 2]


def test_a_tensor_on_another_storage_grows_it():
    x, y = torch.zeros(4), torch.ones(6)
    x.set_(y.untyped_storage(), 1, (20, 2), (2, 1))
    assert tuple(x.shape) == (20, 2) and y.tolist() == [1] * 6
    assert y.untyped_storage().nbytes() == 41 * 4
    with pytest.raises(RuntimeError, match="long int"):
        x.set_(torch.ones(2, dtype=torch.int64))


@pytest.mark.parametrize("write", [
    lambda x, v: x.fill_(v), lambda x, v: x.__setitem__(0, v),
    lambda x, v: torch.full((2,), v, dtype=x.dtype), lambda x, v: torch.full_like(x, v)],
    ids=["fill_", "setitem", "full", "full_like"])
def test_numbers_that_a_dtype_cannot_hold(write):
    for dtype, value in ((torch.uint8, 300), (torch.uint8, -256), (torch.int8, 128),
                         (torch.int16, -2**15 - 1), (torch.int32, 2**31),
                         (torch.int64, float("nan")), (torch.int32, float("inf")),
                         (torch.int8, 128.5)):
        with pytest.raises(RuntimeError, match="cannot be converted to type"):
            write(torch.zeros(2, dtype=dtype), value)
    for dtype, value, held in ((torch.uint8, 255, 255), (torch.uint8, -1, 255),
                               (torch.int8, -128, -128), (torch.int64, 2.7, 2),
                               (torch.int32, True, 1), (torch.bool, 5, True)):
        x = torch.zeros(2, dtype=dtype)
        with pytest.raises((OverflowError, ValueError), match="too big to convert|when unpacking"):
            write(x, 2**70)
        made = write(x, value)
        assert (x if made is None else made)[0].item() == held


def test_nothing_to_iterate_over():
    assert list(torch.zeros(0, 3)) == []
    assert torch.zeros(2, 0).unbind(1) == ()


def test_ends_of_linspace():
    assert torch.linspace(0, 1, 1).tolist() == [0]
    assert torch.linspace(2, 5, 4).tolist() == [2, 3, 4, 5]


def test_out_must_be_a_tensor():
    for out in ([1], 5, (torch.empty(1), None)):
        with pytest.raises(TypeError, match="out"):
            torch.add(torch.ones(1), 1, out=out)


def test_buffers_that_are_none():
    numpy = pytest.importorskip("numpy")
    with pytest.raises(ValueError, match="buffer protocol"):
        torch.frombuffer(5, dtype=torch.float32)
    with pytest.raises(ValueError, match="byte order"):
        torch.from_numpy(numpy.arange(3.0).astype(">f8"))


def test_sequences_that_lie():
    loop = []
    loop.append(loop)

    class Liar:
        def __len__(self):
            return 3

        def __getitem__(self, index):
            raise KeyError(index)

    for data in (loop, Liar(), [[1, 2], [3]], {1: 2}, [None], ["a"], [1, [2]]):
        with pytest.raises((ValueError, TypeError, RuntimeError)):
            torch.tensor(data)
    with pytest.raises(TypeError, match="dtype"):
        torch.tensor([1], dtype="float32")


def test_values_of_a_storage_that_was_shrunk():
    x = torch.ones(30000)
    x.untyped_storage().resize_(0)
    with pytest.raises(RuntimeError, match="storage"):
        x.tolist()
    x.untyped_storage().resize_(120000)
    assert x.fill_(2).sum().item() == 60000


SHRUNK = {
    "+": lambda x: x + 1, "grad": lambda x: (x * torch.ones(300, requires_grad=True)).sum(),
    "fill_": lambda x: x.fill_(2), "sum": lambda x: x.sum(), "relu_": lambda x: x.relu_(),
    "@": lambda x: x.view(10, 30) @ x.view(30, 10), "view": lambda x: x.view(10, 30).t().exp(),
    "sort": lambda x: x.sort(), "cat": lambda x: torch.cat([x, x]), "index": lambda x: x[x > 0],
    "setitem": lambda x: x.__setitem__(slice(1, None), 1), "copy_": lambda x: x.clone().copy_(x),
    "fft": lambda x: torch.fft.fft(x), "inv": lambda x: torch.linalg.inv(x[200:].view(10, 10)),
    "uniform_": lambda x: x.uniform_(), "normal": lambda x: torch.normal(x, x),
    "bernoulli": lambda x: x.bernoulli(), "poisson": lambda x: torch.poisson(x),
    "multinomial": lambda x: x.multinomial(2), "rrelu": lambda x: torch.rrelu(x, training=True),
    "dlpack": lambda x: x.__dlpack__(), "foreach": lambda x: torch._foreach_add([x, x], 1),
    "compiled": torch.compile(lambda x: x * 2 + 1), "deepcopy": lambda x: copy.deepcopy(x) + 1,
    "parameter": lambda x: torch.nn.Parameter(x).sum(), "detach": lambda x: x.detach() + 1,
}


@pytest.mark.parametrize("size", [0, 4, 1196])
@pytest.mark.parametrize("name", SHRUNK)
def test_kernels_on_a_storage_that_was_shrunk(name, size):
    """PyTorch reads and writes beyond the end, or ends the process."""
    function = SHRUNK[name]
    x = torch.full((300,), 0.25) + torch.eye(10).flatten().repeat(3) / 2
    for _ in range(2):  # the builtin path knows the plan
        function(x.clone())
    x.untyped_storage().resize_(size)
    with pytest.raises(RuntimeError, match="data is not allocated yet") as error:
        function(x)
    if name == "+":
        assert f"shrunk to {size} bytes" in str(error.value) and "1200" in str(error.value)
    x.untyped_storage().resize_(1200)
    assert type(x.untyped_storage()) is torch.UntypedStorage
    x.fill_(0.5)
    assert (x + 1).sum().item() == 450
    if size == 4:
        x.untyped_storage().resize_(8)
        assert (x[:2] + 1).tolist() == [1.5, 1.5]  # what is left can be used


def test_arrays_over_a_storage_that_was_shrunk():
    pytest.importorskip("numpy")
    x = torch.ones(300)
    x.untyped_storage().resize_(0)
    with pytest.raises(RuntimeError, match="data is not allocated yet"):
        x.numpy()


def test_a_storage_shrunk_while_it_is_recorded():
    x = torch.ones(300)

    @torch.compile
    def shrinking():
        y = x * 2
        x.untyped_storage().resize_(4)
        return y

    assert shrinking().sum().item() == 600
    with pytest.raises(RuntimeError, match="data is not allocated yet"):
        shrinking()


def test_data_of_another_device():
    with pytest.raises(RuntimeError, match="incompatible tensor type"):
        torch.ones(2).data = torch.ones(2, device="meta")


def test_relu_keeps_the_sign_of_zero_and_nan():
    made = torch.relu(torch.tensor([-0.0, 0.0, -1.0, float("nan")]))
    assert made.signbit().tolist()[:3] == [True, False, False] and made.isnan()[3]
