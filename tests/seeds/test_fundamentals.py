"""What the series on fundamentals says of tensors, memory and gradients, episodes 2 to 5."""

import gc

import numpy as np
import pytest

import yesca as torch
from yesca import nn


@pytest.fixture
def no_collector():
    """The allocator's figures are of this test's tensors alone."""
    gc.collect()
    gc.disable()
    yield
    gc.enable()


def allocated():
    return torch.memory_stats()["allocated_bytes"]


def peak_of(work):
    """The most bytes that were alive at once, above what had been allocated before."""
    before = allocated()
    torch.reset_peak_memory_stats()
    work()
    return torch.memory_stats()["peak_allocated_bytes"] - before


def new_blocks(work):
    """How many blocks are alive because of what `work` gives."""
    before = torch.memory_stats()["live_blocks"]
    made = work()
    return torch.memory_stats()["live_blocks"] - before, made


# --- episode 2: tensors ---------------------------------------------------------------------------


def test_a_tensor_from_raw_data():
    assert torch.tensor([[1, 2], [3, 4]]).tolist() == [[1, 2], [3, 4]]
    assert torch.tensor([1, 2]).dtype == torch.int64
    assert torch.tensor([0.5, 2]).dtype == torch.float32
    assert torch.tensor([True]).dtype == torch.bool


@pytest.mark.parametrize(
    "make", [torch.ones_like, torch.zeros_like, torch.rand_like, torch.randn_like,
             torch.empty_like, lambda x, **options: torch.full_like(x, 3, **options)])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16])
def test_a_tensor_from_a_tensor_keeps_its_properties(make, dtype):
    x = torch.zeros(2, 3, dtype=dtype)
    like = make(x)
    assert (like.shape, like.dtype, like.device) == (x.shape, x.dtype, x.device)
    other = make(x, dtype=torch.float16)
    assert (other.shape, other.dtype) == (x.shape, torch.float16)  # unless overridden


def test_new_tensors_keep_dtype_and_device_and_are_others():
    x = torch.ones(2, 2, dtype=torch.float64)
    for made in (x.new_zeros(3), x.new_ones(3), x.new_full((3,), 2), x.new_tensor([1, 2, 3])):
        assert (made.dtype, made.device, made.shape) == (x.dtype, x.device, (3,))
    assert torch.zeros_like(x).data_ptr() != x.data_ptr()


@pytest.mark.parametrize("shape", [(2, 3), [2, 3], torch.Size([2, 3])])
def test_a_shape_gives_random_numbers_ones_and_zeros(shape):
    assert torch.ones(shape).equal(torch.tensor([[1.0] * 3] * 2))
    assert torch.zeros(shape).equal(torch.tensor([[0.0] * 3] * 2))
    random = torch.rand(shape)
    assert random.shape == (2, 3) and 0 <= random.min() <= random.max() < 1
    assert random.unique().numel() == 6


def test_three_attributes():
    x = torch.ones(2, 3)
    assert x.shape == (2, 3) and isinstance(x.shape, torch.Size) and tuple(x.shape) == (2, 3)
    assert (str(x.shape), str(x.dtype), str(x.device)) == ("torch.Size([2, 3])", "torch.float32",
                                                          "cpu")
    for name in ("shape", "dtype", "device"):
        with pytest.raises(AttributeError):
            setattr(x, name, None)


def test_tensors_must_be_on_one_device():
    with pytest.raises((RuntimeError, NotImplementedError), match="device|meta"):
        torch.ones(2) + torch.ones(2, device="meta")


@pytest.mark.parametrize("dtype", ["uint8", "int16", "int64", "float32", "float64", "complex64"])
def test_the_bridge_of_numpy_copies_nothing(dtype):
    image = np.zeros((4, 5, 3), dtype=dtype)
    x = torch.from_numpy(image)
    assert x.data_ptr() == image.ctypes.data and str(x.dtype) == f"torch.{dtype}"
    x[1, 2, 0] = 7
    assert image[1, 2, 0] == 7
    image[0] = 3
    assert x[0].eq(3).all()
    x.add_(1)
    assert image[0, 0, 0] == 4 and image[1, 2, 0] == 8
    np.multiply(image, 2, out=image)
    assert x[1, 2, 0].item() == 16


def test_the_bridge_keeps_strides_and_takes_no_memory(no_collector):
    image = np.arange(600_000.0).reshape(600, 1000)
    blocks, x = new_blocks(lambda: torch.from_numpy(image.T[::2, 1:]))
    assert blocks == 0
    assert x.shape == (500, 599) and x.stride() == (2, 1000)
    assert x[3, 4] == image[5, 6]


def test_back_to_numpy_shares_the_same_memory():
    x = torch.zeros(3, 4)
    shown = x.numpy()
    assert shown.ctypes.data == x.data_ptr() and shown.dtype == np.float32
    x[0, 0] = 5
    shown[1, 1] = 6
    assert (shown[0, 0], x[1, 1].item()) == (5, 6)
    there_and_back = torch.from_numpy(x.numpy())
    assert there_and_back.data_ptr() == x.data_ptr()


def test_the_memory_outlives_either_side():
    x = torch.arange(1000.0)
    shown = x.numpy()
    del x
    gc.collect()
    assert shown.sum() == 499500
    image = np.ones(1000)
    x = torch.from_numpy(image)
    del image
    gc.collect()
    assert x.sum() == 1000


def test_tensor_copies_where_from_numpy_shares():
    image = np.zeros(3)
    copied, shared = torch.tensor(image), torch.as_tensor(image)
    image[0] = 1
    assert (copied[0].item(), shared[0].item()) == (0, 1)


def test_a_tensor_that_asks_for_gradients_is_no_array():
    x = torch.ones(2, requires_grad=True)
    with pytest.raises(RuntimeError, match=r"Use tensor.detach\(\).numpy\(\) instead"):
        x.numpy()
    shown = x.detach().numpy()
    assert shown.ctypes.data == x.data_ptr()
    with pytest.raises(TypeError):
        torch.from_numpy([1, 2])


# --- episode 3: operations and memory -------------------------------------------------------------


def test_made_on_the_cpu_and_moved_by_to():
    x = torch.ones(2)
    assert x.device == torch.device("cpu")
    device = torch.device("cuda") if torch.cuda.is_available() else torch.device("cpu")
    assert x.to(device).device.type == device.type
    assert x.to("cpu") is x  # nothing to do
    away = x.to("meta")
    assert away is not x and away.device.type == "meta" and x.device.type == "cpu"
    if not torch.cuda.is_available():
        with pytest.raises((RuntimeError, AssertionError), match="(?i)cuda"):
            x.to("cuda")


def test_three_features_side_by_side():
    text, sound, image = torch.ones(4, 2), torch.ones(4, 3) * 2, torch.ones(4, 1) * 3
    together = torch.cat([text, sound, image], dim=1)
    assert together.shape == (4, 6)
    assert together[2].tolist() == [1, 1, 2, 2, 2, 3]
    assert torch.concatenate([text, sound, image], dim=1).equal(together)
    assert torch.cat([text, text], dim=0).shape == (8, 2)
    with pytest.raises(RuntimeError, match="Sizes of tensors must match except in dimension 0"):
        torch.cat([text, sound], dim=0)


def test_a_product_of_matrices_and_one_of_elements():
    features, weight = torch.arange(6.0).view(2, 3), torch.arange(12.0).view(3, 4)
    rows = [[sum(features[i, k].item() * weight[k, j].item() for k in range(3)) for j in range(4)]
            for i in range(2)]
    for product in (features @ weight, features.matmul(weight), torch.matmul(features, weight)):
        assert product.tolist() == rows
        assert product.data_ptr() not in (features.data_ptr(), weight.data_ptr())
    mask = torch.tensor([[1.0, 0.0, 1.0], [0.0, 1.0, 0.0]])
    masked = [[0.0, 0.0, 2.0], [0.0, 4.0, 0.0]]
    for product in (features * mask, features.mul(mask), torch.mul(features, mask)):
        assert product.tolist() == masked
    with pytest.raises(RuntimeError, match=r"mat1 and mat2 shapes cannot be multiplied|inner"):
        features @ features
    assert (features * features).shape == (2, 3)
    with pytest.raises(RuntimeError, match=r"size of tensor a \(3\) must match"):
        features * weight


SIZE = 1 << 20  # elements; 4 MiB of float32


def test_an_operation_takes_new_memory(no_collector):
    x, matrix = torch.ones(SIZE), torch.ones(256, 256)
    for work, cost in ((lambda: x.add(5), x.nbytes), (lambda: x * x, x.nbytes),
                       (lambda: matrix @ matrix, matrix.nbytes)):
        before = allocated()
        made = work()
        assert cost <= allocated() - before < 1.01 * cost + 1024
        del made
        assert allocated() == before


@pytest.mark.parametrize("name, arguments", [
    ("add_", (5,)), ("mul_", (2,)), ("sub_", (1,)), ("div_", (3,)), ("zero_", ()), ("fill_", (4,)),
    ("relu_", ()), ("exp_", ()), ("clamp_", (0, 1)), ("neg_", ()), ("copy_", (torch.ones(SIZE),)),
    ("normal_", ()), ("t_", ())])
def test_a_name_with_an_underscore_takes_none(no_collector, name, arguments):
    x = torch.ones(SIZE)
    operation, address = getattr(x, name), x.data_ptr()
    operation(*arguments)  # compiled at the first call
    results = []
    assert peak_of(lambda: results.append(operation(*arguments))) < 1024
    assert results[0] is x and x.data_ptr() == address


def test_there_are_more_than_a_hundred_operations():
    public = {name for name in dir(torch.Tensor) if not name.startswith("_")}
    in_place = {name for name in public if name.endswith("_")}
    assert len({name for name in public - in_place if callable(getattr(torch.Tensor, name))}) > 100
    assert {name[:-1] for name in in_place} >= {"add", "sub", "mul", "div", "pow", "exp", "clamp"}


def test_add_keeps_its_tensor_and_add_in_place_overwrites_it():
    x = torch.tensor([1.0, 2.0])
    assert x.add(5).tolist() == [6, 7] and x.tolist() == [1, 2]
    x.add_(5)
    assert x.tolist() == [6, 7]


@pytest.mark.parametrize("forward", [torch.exp, torch.sigmoid, torch.tanh, torch.sqrt])
def test_an_overwritten_result_that_backward_needs_is_refused(forward):
    w = torch.ones(3, requires_grad=True)
    out = forward(w)
    out.add_(1)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        out.sum().backward()
    assert w.grad is None


def test_an_overwritten_input_that_backward_needs_is_refused():
    w, x = torch.ones(3, requires_grad=True), torch.ones(3)
    out = (w * x).sum()
    x.zero_()
    with pytest.raises(RuntimeError, match=r"is at version 1; expected version 0 instead"):
        out.backward()
    with pytest.raises(RuntimeError, match="a leaf Variable that requires grad.* in-place"):
        w.add_(1)


def test_in_place_on_data_before_the_model_harms_nothing():
    x, w = torch.full((3,), 2.0), torch.ones(3, requires_grad=True)
    x.sub_(1).div_(4)
    (w * x).sum().backward()
    assert w.grad.tolist() == [0.25] * 3


# --- episode 4: autograd --------------------------------------------------------------------------


def linear_case():
    torch.manual_seed(0)
    x, y = torch.ones(5), torch.zeros(3)
    w = torch.randn(5, 3, requires_grad=True)
    b = torch.randn(3, requires_grad=True)
    return x, y, w, b


def test_gradients_of_weights_and_bias_and_none_of_data():
    x, y, w, b = linear_case()
    loss = nn.functional.binary_cross_entropy_with_logits(x @ w + b, y)
    loss.backward()
    by_hand = (torch.sigmoid(x @ w + b) - y) / 3
    torch.testing.assert_close(b.grad, by_hand.detach())
    torch.testing.assert_close(w.grad, torch.outer(x, by_hand).detach())
    assert x.grad is None and y.grad is None


def test_every_result_knows_what_made_it():
    x, y, w, b = linear_case()
    z = torch.matmul(x, w) + b
    assert w.grad_fn is None and w.is_leaf and not z.is_leaf and z.requires_grad
    assert z.grad_fn.name() == "AddBackward0"
    seen, todo = [], [z.sum().grad_fn]
    while todo:
        node = todo.pop()
        seen.append(node.name())
        todo += [below for below, _ in node.next_functions if below is not None]
    assert seen[:2] == ["SumBackward0", "AddBackward0"]
    assert seen.count("torch::autograd::AccumulateGrad") == 2  # the leaves: w and b


def test_the_graph_is_made_anew_each_time():
    _, _, w, b = linear_case()
    nodes = set()
    for step in range(3):
        loss = (w * step + b).sum()
        nodes.add(loss.grad_fn)
        loss.backward()
    assert len(nodes) == 3
    assert w.grad.eq(0 + 1 + 2).all() and b.grad.eq(3 * 5).all()
    with pytest.raises(RuntimeError, match="Trying to backward through the graph a second time"):
        loss.backward()


def test_the_graph_follows_ifs_and_loops():
    def path(w, repeats):
        out = w
        for _ in range(repeats):
            out = out * w
        return -out if out.item() > 10 else out.exp()

    for value, repeats in ((2.0, 1), (2.0, 4), (0.5, 0), (3.0, 2)):
        w = torch.tensor(value, requires_grad=True)
        path(w, repeats).backward()
        power = value ** (repeats + 1)
        outer = -1 if power > 10 else np.exp(power)
        assert w.grad.item() == pytest.approx(outer * (repeats + 1) * value**repeats, rel=1e-5)


def test_no_grad_builds_no_graph():
    x, _, w, b = linear_case()
    assert (x @ w + b).requires_grad
    with torch.no_grad():
        z = x @ w + b
        assert not torch.is_grad_enabled()
    assert torch.is_grad_enabled()
    assert not z.requires_grad and z.grad_fn is None and z.is_leaf
    with pytest.raises(RuntimeError, match="does not require grad"):
        z.sum().backward()


# --- episode 5: control of tracking ---------------------------------------------------------------


def classifier():
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 10))


def test_a_thousand_batches_without_grad_take_no_memory(no_collector):
    model, images = classifier(), torch.rand(32, 64)
    with torch.no_grad():
        kept = model(images)
        before = allocated()
        for _ in range(1000):
            kept = model(images)
        assert allocated() == before
    assert not kept.requires_grad


def test_outputs_kept_with_their_history_hoard_memory(no_collector):
    model, images, kept = classifier(), torch.rand(32, 64), []

    def growth(batches):
        before = allocated()
        kept.extend(model(images) for _ in range(batches))
        return allocated() - before

    growth(1)
    tracked = growth(50)
    with torch.no_grad():
        bare = growth(50)
    outputs = 50 * 32 * 10 * 4
    assert outputs <= bare < 1.2 * outputs
    assert tracked >= 50 * 32 * 64 * 4 + outputs  # the hidden layer of every batch lives on
    graphs = allocated()
    kept.clear()
    assert graphs - allocated() >= tracked + bare


def test_outputs_in_the_block_require_nothing_though_inputs_do():
    x = torch.ones(3, requires_grad=True)
    with torch.no_grad():
        doubled = x * 2
        made = torch.ones(3, requires_grad=True)  # what is asked for by hand is given
    assert x.requires_grad and not doubled.requires_grad and made.requires_grad

    @torch.no_grad()
    def predict(x):
        return x * 2

    assert not predict(x).requires_grad and (x * 2).requires_grad
    with torch.no_grad(), torch.enable_grad():
        assert (x * 2).requires_grad


def test_detach_shares_its_data_and_has_no_history(no_collector):
    w = torch.ones(1000, requires_grad=True)
    out = w * 2
    blocks, apart = new_blocks(out.detach)
    assert blocks == 0 and apart.data_ptr() == out.data_ptr()
    assert not apart.requires_grad and apart.grad_fn is None and apart.is_leaf
    assert out.requires_grad and out.grad_fn is not None
    apart[0] = 9
    assert out[0].item() == 9


def test_detach_takes_one_tensor_out_of_a_graph_in_use():
    w = torch.tensor(3.0, requires_grad=True)
    target = (w * w).detach()
    loss = w * target
    loss.backward()
    assert w.grad.item() == 9.0  # target counts as a number
    assert (w * 2).detach().numpy() == 6.0


def frozen():
    model = nn.Sequential(nn.Linear(256, 256), nn.ReLU(), nn.Linear(256, 256), nn.ReLU(),
                          nn.Linear(256, 4))
    for layer in list(model)[:-1]:
        for parameter in layer.parameters():
            parameter.requires_grad = False
    return model


def test_frozen_layers_get_no_gradients_and_stay():
    torch.manual_seed(0)
    model, x = frozen(), torch.randn(8, 256)
    before = {name: value.clone() for name, value in model.state_dict().items()}
    optimizer = torch.optim.Adam(model.parameters(), lr=0.1, weight_decay=0.1)
    for _ in range(3):
        optimizer.zero_grad()
        model(x).square().mean().backward()
        optimizer.step()
    for name, parameter in model.named_parameters():
        trained = name.startswith("4.")
        assert (parameter.grad is not None) == trained
        assert parameter.equal(before[name]) != trained


def test_frozen_layers_save_memory(no_collector):
    x = torch.randn(64, 256)

    def kept(model):
        """The bytes that wait for backward, and those that are there after it."""
        before = allocated()
        loss = model(x).square().mean()
        waiting = allocated() - before
        loss.backward()
        del loss
        return waiting, allocated() - before

    (whole_waiting, whole_after), (waiting, after) = (
        kept(frozen().requires_grad_(True)), kept(frozen()))
    hidden, gradients = 64 * 256 * 4, 2 * (256 * 256 + 256) * 4
    assert whole_waiting - waiting >= hidden  # what only the frozen layers would read
    assert whole_after - after >= gradients  # none for the frozen layers
