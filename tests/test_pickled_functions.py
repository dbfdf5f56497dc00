"""Functions and methods are pickled by the name they are found under, as PyTorch's are."""

import copy
import pickle

import pytest

import yesca
from yesca.nn import functional, init

FUNCTIONS = [
    yesca.Tensor.add, yesca.Tensor.__add__, yesca.Tensor.relu_, yesca.Tensor.view,
    yesca.Tensor.to, yesca.Tensor.float, yesca.Tensor.cpu, yesca.Tensor.type_as,
    yesca.Tensor.new_tensor, yesca.Tensor.new_zeros, yesca.Tensor.new_full, yesca.Tensor.normal_,
    yesca.Tensor.backward, yesca.Tensor.split, yesca.Tensor.item, yesca.add, yesca.zeros,
    yesca.einsum, yesca.where, yesca.special.erf, yesca.linalg.det, yesca.fft.fft,
    functional.relu, functional.cross_entropy, init.xavier_uniform_, yesca.func.vmap]


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.__qualname__)
def test_by_reference(function):
    for protocol in range(2, pickle.HIGHEST_PROTOCOL + 1):
        assert pickle.loads(pickle.dumps(function, protocol)) is function
    assert copy.deepcopy(function) is function


def test_the_class_of_tensors():
    assert pickle.loads(pickle.dumps(yesca.Tensor)) is yesca.Tensor


def test_a_bound_method_takes_its_tensor_along():
    add = pickle.loads(pickle.dumps(yesca.tensor([1.0, 2.0]).add))
    assert add(1).tolist() == [2.0, 3.0]


def test_methods_under_the_name_torch(run_program, tmp_path):
    program = tmp_path / "program.py"
    program.write_text(
        "import pickle, torch\n"
        "print(torch.Tensor)\n"
        "for f in (torch.Tensor, torch.Tensor.add, torch.Tensor.to):\n"
        "    assert pickle.loads(pickle.dumps(f)) is f\n"
        "    assert b'torch' in pickle.dumps(f) and b'yesca' not in pickle.dumps(f)\n")
    assert run_program(program) == "<class 'torch.Tensor'>\n"
