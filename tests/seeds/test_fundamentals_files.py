"""What the series on fundamentals says of saving and loading models, episode 16."""

import io
import os
import pickle
import pickletools
import subprocess
import sys
import textwrap
import zipfile

import pytest

import yesca as torch
from yesca import nn

# --- episode 16: saving and loading models --------------------------------------------------------


def classifier(seed=0):
    torch.manual_seed(seed)
    return nn.Sequential(nn.Conv2d(1, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.Flatten(),
                         nn.Linear(4 * 6 * 6, 3))


def trained():
    model = classifier()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    x, y = torch.randn(16, 1, 8, 8), torch.randint(0, 3, (16,))
    for _ in range(5):
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(x), y).backward()
        optimizer.step()
    return model.eval(), x


def test_when_the_script_ends_all_it_learned_is_gone():
    program = """
        import yesca as torch
        model = torch.nn.Linear(2, 1)
        model.weight.data.fill_(7.0)
    """
    first, second = (program, program.replace("model.weight.data.fill_(7.0)",
                                              "print((model.weight == 7).any().item())"))
    for text, printed in ((first, ""), (second, "False\n")):
        found = subprocess.run([sys.executable, "-c", textwrap.dedent(text)],
                               capture_output=True, text=True)
        assert found.stdout == printed, found.stderr


def test_in_every_model_there_is_a_dictionary():
    """It maps each layer to its tensors of parameters, and has the numbers that were learned."""
    model, _ = trained()
    state = model.state_dict()
    assert isinstance(state, dict)
    assert list(state) == [
        "0.weight", "0.bias", "1.weight", "1.bias", "1.running_mean", "1.running_var",
        "1.num_batches_tracked", "4.weight", "4.bias"]
    for name, parameter in model.named_parameters():
        assert state[name].data_ptr() == parameter.data_ptr()
        assert torch.equal(state[name], parameter)
    before = classifier().state_dict()
    assert not torch.equal(before["4.weight"], state["4.weight"])


@pytest.mark.parametrize("of", [str, lambda path: path])
def test_save_takes_two_things_and_makes_one_file(tmp_path, of):
    model, _ = trained()
    path = tmp_path / "classifier.pth"
    assert torch.save(model.state_dict(), of(path)) is None
    assert os.listdir(tmp_path) == ["classifier.pth"]
    assert path.stat().st_size > sum(t.nbytes for t in model.state_dict().values())


def test_the_file_holds_data_and_no_code(tmp_path):
    """The bytes of each tensor as they are, and a pickle that names functions of tensors alone."""
    model, _ = trained()
    path = tmp_path / "classifier.pth"
    torch.save(model.state_dict(), path)
    with zipfile.ZipFile(path) as archive:
        names = {argument for code, argument, _ in
                 pickletools.genops(archive.read("classifier/data.pkl")) if code.name == "GLOBAL"}
        for number, tensor in enumerate(model.state_dict().values()):
            raw = archive.read(f"classifier/data/{number}")
            assert raw == tensor.contiguous().numpy().tobytes()
    assert names == {"collections OrderedDict", "torch._utils _rebuild_tensor_v2",
                     "torch FloatStorage", "torch LongStorage"}


PROJECT = """
from yesca import nn


class Classifier(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(2, 2)

    def forward(self, x):
        return self.layer(x)
"""


def in_project(folder, program):
    return subprocess.run([sys.executable, "-c", textwrap.dedent(program)], cwd=folder,
                          capture_output=True, text=True)


def test_a_whole_model_is_bound_to_its_module_and_a_state_dict_is_not(tmp_path):
    """After the file of the class has moved, only the dictionary can still be loaded."""
    (tmp_path / "models.py").write_text(PROJECT)
    made = in_project(tmp_path, """
        import yesca as torch
        from models import Classifier
        model = Classifier()
        torch.save(model, "whole.pth")
        torch.save(model.state_dict(), "state.pth")
        again = torch.load("whole.pth", weights_only=False)
        print(torch.equal(again.layer.weight, model.layer.weight))
    """)
    assert made.stdout == "True\n", made.stderr
    (tmp_path / "networks").mkdir()
    (tmp_path / "models.py").rename(tmp_path / "networks" / "classifier.py")
    moved = in_project(tmp_path, """
        import yesca as torch
        from networks.classifier import Classifier
        model = Classifier()
        print(model.load_state_dict(torch.load("state.pth", weights_only=True)))
        torch.load("whole.pth", weights_only=False)
    """)
    assert moved.stdout == "<All keys matched successfully>\n"
    assert "ModuleNotFoundError: No module named 'models'" in moved.stderr


def test_a_whole_model_is_refused_unless_code_is_allowed():
    file = io.BytesIO()
    torch.save(nn.Linear(1, 1), file)
    file.seek(0)
    with pytest.raises(pickle.UnpicklingError, match="torch.nn.modules.linear.Linear was not an"):
        torch.load(file)


class Script:
    """What a stranger puts into a file."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return open, (self.path, "w")


def test_a_pickle_can_run_code_and_weights_only_keeps_the_machine_safe(tmp_path):
    victim = tmp_path / "written by the file"
    path = tmp_path / "downloaded.pth"
    torch.save({"weight": torch.ones(1), "more": Script(str(victim))}, path)
    for options in ({"weights_only": True}, {}):  # true is what load takes by itself
        with pytest.raises(pickle.UnpicklingError, match="Weights only load failed"):
            torch.load(path, **options)
        assert not victim.exists()
    with torch.load(path, weights_only=False)["more"]:
        assert victim.exists()


def test_a_blank_model_becomes_the_trained_one(tmp_path):
    """The skeleton, then the dictionary, then `load_state_dict`: predictions are the same bits."""
    model, x = trained()
    torch.save(model.state_dict(), tmp_path / "classifier.pth")
    blank = classifier(seed=1).eval()
    assert not torch.equal(blank(x), model(x))
    state = torch.load(tmp_path / "classifier.pth", weights_only=True)
    assert all(type(value) is torch.Tensor for value in state.values())
    found = blank.load_state_dict(state)
    assert str(found) == "<All keys matched successfully>"
    assert torch.equal(blank(x), model(x))
    assert blank.state_dict().keys() == model.state_dict().keys()


def test_weights_are_mapped_to_the_layers_they_belong_to():
    model, _ = trained()
    state = model.state_dict()
    blank = classifier(seed=1)
    blank.load_state_dict(dict(reversed(state.items())))
    for name, parameter in blank.named_parameters():
        assert torch.equal(parameter, state[name])
        assert parameter.data_ptr() != state[name].data_ptr()


def test_a_skeleton_of_another_shape_is_refused():
    state = classifier().state_dict()
    other = nn.Sequential(nn.Conv2d(1, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.Flatten(),
                          nn.Linear(4 * 6 * 6, 5))
    with pytest.raises(RuntimeError, match="size mismatch for 4.weight"):
        other.load_state_dict(state)
    del state["4.bias"]
    with pytest.raises(RuntimeError, match=r'Missing key\(s\) in state_dict: "4.bias"'):
        classifier().load_state_dict(state)


def test_training_goes_on_where_it_stopped(tmp_path):
    """What the episode guards against: no step is lost, to the last bit."""
    def steps(model, optimizer, first, count):
        for k in range(first, first + count):
            torch.manual_seed(k)
            optimizer.zero_grad()
            model(torch.randn(4, 1, 8, 8)).square().mean().backward()
            optimizer.step()

    straight = classifier()
    optimizer = torch.optim.Adam(straight.parameters())
    steps(straight, optimizer, 0, 6)
    halted = classifier()
    optimizer = torch.optim.Adam(halted.parameters())
    steps(halted, optimizer, 0, 3)
    torch.save({"model": halted.state_dict(), "optimizer": optimizer.state_dict()},
               tmp_path / "half.pth")
    resumed = classifier(seed=5)
    optimizer = torch.optim.Adam(resumed.parameters())
    half = torch.load(tmp_path / "half.pth", weights_only=True)
    resumed.load_state_dict(half["model"])
    optimizer.load_state_dict(half["optimizer"])
    steps(resumed, optimizer, 3, 3)
    assert all(torch.equal(a, b) for a, b in zip(resumed.state_dict().values(),
                                                 straight.state_dict().values(), strict=True))
