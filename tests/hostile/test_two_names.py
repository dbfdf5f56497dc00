"""The package under two names in one process: two engines side by side, never mixed."""

COPY = """
import importlib.util, sys
import yesca

spec = importlib.util.spec_from_file_location(
    "other", yesca.__file__, submodule_search_locations=list(yesca.__path__))
sys.modules["other"] = other = importlib.util.module_from_spec(spec)
spec.loader.exec_module(other)

def train(torch):
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(60, 90), torch.nn.Tanh(), torch.nn.Linear(90, 7))
    optimizer = torch.optim.Adam(model.parameters())
    data = torch.utils.data.TensorDataset(torch.randn(512, 60), torch.randint(0, 7, (512,)))
    loss_of = torch.compile(lambda x, y: torch.nn.functional.cross_entropy(model(x), y))
    for workers in (0, 2):
        for x, y in torch.utils.data.DataLoader(data, 256, shuffle=True, num_workers=workers):
            optimizer.zero_grad()
            loss = loss_of(x, y)
            loss.backward()
            optimizer.step()
    return loss.item(), torch.fft.fft(x).abs().sum().item(), x.sort()[0].sum().item()

yesca.ones(3) + 1
print(train(other) == train(yesca) == train(other))
yesca.set_num_threads(3)
other.set_num_threads(2)
print(train(yesca) == train(other), yesca.get_num_threads(), other.get_num_threads())
try:
    yesca.ones(3) + other.ones(3)
except TypeError as error:
    print(error)
"""


def test_a_copy_of_the_package_is_an_engine_of_its_own(run_python):
    done = run_python("-W", "ignore", "-c", COPY)
    assert done.stdout.splitlines() == [
        "True", "True 3 2", "unsupported operand type(s) for +: 'Tensor' and 'Tensor'",
    ], done.stderr


ALIAS = """
import sys
import yesca
sys.modules["torch"] = yesca
import torch
print((torch.ones(3) + 1).sum().item(), torch.nn.Linear(3, 2)(torch.ones(1, 3)).shape)
try:
    from torch.utils.data import DataLoader
    DataLoader
except ImportError as error:
    print(error)
"""


def test_a_second_name_for_the_same_package_loads_nothing_twice(run_python):
    """Dtypes of a second engine would reach the first one's kernels: a division by zero once."""
    done = run_python("-c", ALIAS)
    first, second = done.stdout.splitlines()
    assert first == "6.0 torch.Size([1, 2])", done.stderr
    assert "second engine" in second and "python -m yesca" in second
    assert done.returncode == 0, done.stderr
