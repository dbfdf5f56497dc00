"""What PyTorch's names for stations say of tensors and operators: values of PyTorch 2.13."""

import pytest

import yesca as torch

C = torch._C


def test_keys_of_tensors():
    keys = C._dispatch_keys
    plain = "DispatchKeySet(CPU, ADInplaceOrView, AutogradCPU, AutocastCPU)"
    assert repr(keys(torch.ones(2))) == plain
    assert repr(keys(torch.ones(2, requires_grad=True))) == plain
    assert repr(keys(torch.ones(2, device="meta"))) == \
        "DispatchKeySet(Meta, ADInplaceOrView, AutogradMeta)"
    assert repr(keys(torch.ones(2, dtype=torch.complex64).conj())) == \
        "DispatchKeySet(CPU, Conjugate, ADInplaceOrView, AutogradCPU, AutocastCPU)"
    with torch.inference_mode():
        assert repr(keys(torch.ones(2))) == "DispatchKeySet(CPU, AutocastCPU)"
    assert keys(torch.ones(2)).has(C.DispatchKey.CPU)
    assert str(keys(torch.ones(2)).highestPriorityTypeId()) == "DispatchKey.AutocastCPU"
    with pytest.raises(TypeError, match="must be Tensor"):
        keys(1)


def test_keys_of_a_subclass():
    class Handled(torch.Tensor):
        @classmethod
        def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
            raise AssertionError

    made = torch.Tensor._make_wrapper_subclass(Handled, (2,))
    assert repr(C._dispatch_keys(made)) == (
        "DispatchKeySet(CPU, Python, ADInplaceOrView, AutogradCPU, AutocastCPU, "
        "PythonTLSSnapshot)")


def test_kernels_of_operators():
    has = C._dispatch_has_kernel_for_dispatch_key
    assert C._dispatch_has_kernel("aten::mm")
    assert not C._dispatch_has_kernel("aten::nope")
    assert has("aten::mm", "CPU") and has("aten::mm", "Meta") and has("aten::mm", "Autograd")
    assert has("aten::linear", "CompositeImplicitAutograd") and not has("aten::linear", "CPU")
    with pytest.raises(RuntimeError, match="operator aten::nope does not exist"):
        has("aten::nope", "CPU")
    with pytest.raises(RuntimeError, match="could not parse dispatch key: Foo"):
        has("aten::mm", "Foo")
    assert "aten::add.Tensor" in C._dispatch_get_all_op_names()
