"""layer_norm, rms_norm, batch_norm, group_norm, instance_norm against NumPy."""

import numpy as np
import pytest
from finite_differences import array, check_gradients, tensor, values
from interpreted import python_path

import yesca as torch
from yesca import functional as ops
from yesca.runtime import plan, threads


def normal(x, axes, eps=1e-5):
    return (x - x.mean(axes, keepdims=True)) / np.sqrt(x.var(axes, keepdims=True) + eps)


def batch_norm(x, weight=None, bias=None, mean=None, var=None, training=True):
    return ops.batch_norm(x, weight, bias, mean, var, training, 0.1, 1e-5, False)


def launches(function):
    before = plan.launches
    function()
    return plan.launches - before


@pytest.mark.parametrize(("shape", "count"), [((3, 5), 1), ((2, 3, 4), 2), ((7,), 1)])
def test_layer_norm(shape, count):
    x, own = values(shape), shape[len(shape) - count:]
    w, b = values(own, 1), values(own, 2)
    axes = tuple(range(len(shape) - count, len(shape)))
    made = ops.layer_norm(tensor(x), own, tensor(w), tensor(b))
    np.testing.assert_allclose(array(made), normal(x, axes) * w + b, rtol=1e-10, atol=1e-12)


def test_layer_norm_of_large_means_does_not_cancel():
    x = torch.tensor([[40000.0, 40001.0, 40002.0, 40003.0]])
    wanted = [-1.3416, -0.4472, 0.4472, 1.3416]
    assert ops.layer_norm(x, (4,)).tolist()[0] == pytest.approx(wanted, abs=1e-3)
    assert ops.layer_norm(torch.full((1, 256), 1234.0), (256,)).abs().max().item() == 0


def test_layer_norm_errors():
    x = torch.zeros(2, 3)
    with pytest.raises(RuntimeError, match="expected input with shape"):
        ops.layer_norm(x, (4,))
    with pytest.raises(RuntimeError, match="Expected weight to be of same shape"):
        ops.layer_norm(x, (3,), torch.zeros(4))
    with pytest.raises(TypeError, match="must be tuple of ints"):
        ops.layer_norm(x, 3)


def test_rms_norm():
    x, w = values((4, 6)), values((6,), 1)
    wanted = x / np.sqrt((x * x).mean(1, keepdims=True) + 1e-3) * w
    np.testing.assert_allclose(array(ops.rms_norm(tensor(x), (6,), tensor(w), 1e-3)), wanted,
                               rtol=1e-10)


@pytest.mark.parametrize("shape", [(6, 3), (4, 3, 5), (2, 3, 4, 5), (1200, 3), (2, 2, 40000)])
def test_batch_norm_and_running_statistics(shape):
    x, channels = values(shape) + 3, shape[1]
    axes = (0, *range(2, len(shape)))
    mean, var = (torch.zeros(channels, dtype=torch.float64) for _ in range(2))
    version = mean._version
    made = batch_norm(tensor(x), mean=mean, var=var)
    np.testing.assert_allclose(array(made), normal(x, axes), rtol=1e-8, atol=1e-8)
    np.testing.assert_allclose(array(mean), 0.1 * x.mean(axes), rtol=1e-10)
    np.testing.assert_allclose(array(var), 0.1 * x.var(axes, ddof=1), rtol=1e-10)
    assert mean._version == version + 1


def test_batch_norm_in_evaluation():
    x, mean, var = values((3, 2, 4)), values((2,), 1), np.array([0.5, 2.0])
    made = batch_norm(tensor(x), mean=tensor(mean), var=tensor(var), training=False)
    wanted = (x - mean[:, None]) / np.sqrt(var[:, None] + 1e-5)
    np.testing.assert_allclose(array(made), wanted, rtol=1e-10)
    with pytest.raises(RuntimeError, match="running_mean must be defined in evaluation mode"):
        batch_norm(tensor(x), training=False)
    with pytest.raises(RuntimeError, match="running_mean should contain 2 elements not 3"):
        batch_norm(tensor(x), mean=torch.zeros(3), var=torch.ones(3))


def test_group_and_instance_norm():
    x, w = values((2, 6, 5)), values((6,), 1)
    wanted = normal(x.reshape(2, 3, 10), (2,)).reshape(x.shape) * w[:, None]
    np.testing.assert_allclose(array(ops.group_norm(tensor(x), 3, tensor(w))), wanted, rtol=1e-9)
    made = ops.instance_norm(tensor(x), None, None, None, None, True, 0.1, 1e-5, False)
    np.testing.assert_allclose(array(made), normal(x, (2,)), rtol=1e-9)
    with pytest.raises(RuntimeError, match="divisible by num_groups"):
        ops.group_norm(tensor(x), 4)


@pytest.mark.parametrize(("function", "shapes"), [
    (lambda x, w, b: ops.layer_norm(x, (3,), w, b), [(2, 3), (3,), (3,)]),
    (lambda x: ops.layer_norm(x, (2, 3)), [(2, 2, 3)]),
    (lambda x, w: ops.rms_norm(x, (3,), w), [(2, 3), (3,)]),
    (batch_norm, [(3, 2, 2), (2,), (2,)]),
    (lambda x, w: ops.group_norm(x, 2, w), [(2, 4, 2), (4,)]),
])
def test_gradients(function, shapes):
    check_gradients(function, shapes)


def test_gradients_in_evaluation():
    mean, var = tensor(values((2,), 1)), tensor(np.array([0.5, 2.0]))
    check_gradients(lambda x, w, b: batch_norm(x, w, b, mean, var, False), [(3, 2), (2,), (2,)])


def test_each_direction_is_one_launch():
    """Of batch_norm at most two."""
    w, b = torch.ones(7, requires_grad=True), torch.zeros(7, requires_grad=True)
    for shape, function, most in (((23, 7), lambda x: ops.layer_norm(x, (7,), w, b), 1),
                                  ((23, 7, 3), lambda x: batch_norm(x, w, b), 2),
                                  ((23, 7, 2), lambda x: ops.group_norm(x, 7, w, b), 1)):
        x = tensor(values(shape), torch.float32).requires_grad_()
        made, grad = [], torch.ones(shape)
        with python_path():  # which counts every launch
            assert launches(lambda x=x, f=function, made=made: made.append(f(x))) == 1
            assert launches(lambda made=made, grad=grad, x=x: torch.autograd.grad(
                made[0], [x, w, b], grad)) <= most


def test_bits_do_not_depend_on_threads():
    x = tensor(values((700, 40)), torch.float32)
    w = tensor(values((40,)), torch.float32).requires_grad_()
    found = []
    before = threads.get_num_threads()
    try:
        for count in (1, 2, 3):
            threads.set_num_threads(count)
            w.grad = None
            total = ops.sum(ops.sin(ops.layer_norm(x, (40,), w, w)))
            total.backward()
            found.append((total.item(), w.grad.tolist()))
    finally:
        threads.set_num_threads(before)
    assert found[0] == found[1] == found[2]
