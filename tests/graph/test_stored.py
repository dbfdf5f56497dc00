"""Programs on disk: found again by other processes, made anew where something is missing."""

import json
import subprocess
import sys

import pytest

import yesca as torch
from yesca.base import settings
from yesca.graph import again, epilogues, groups, recorder, stored
from yesca.runtime import cache, kernels, machine


@pytest.fixture(autouse=True)
def empty_cache(tmp_path, monkeypatch):
    """A directory of its own for what is stored, joining of small launches."""
    monkeypatch.setattr(groups, "LEAST", 2)
    before = cache._current
    yield cache.use([tmp_path])
    cache._current = before


@pytest.fixture
def made(monkeypatch):
    """How many programs were made and not read."""
    counts = []
    build = stored.build

    def counted(*arguments):
        counts.append(len(arguments[0]))
        return build(*arguments)

    monkeypatch.setattr(stored, "build", counted)
    return counts


def long(x, y):
    """More calls than a program needs to be stored, some of which are joined."""
    for k in range(8):
        x = (x * y + float(k)).tanh()
        y = y - x.sum(1, keepdim=True)
    return x, y


def inputs():
    torch.manual_seed(1)
    return torch.randn(6, 16), torch.randn(6, 16)


def programs():
    return [node.latest for node in recorder.current().trie.nodes.values()
            if node.latest is not None]


def programs_on_disk(store):
    names = [path for path, _, _ in store.files()]
    found = [store.get(str(n).rsplit("/", 1)[-1].removesuffix(cache.SUFFIX)) for n in names]
    return [entry for entry in found if "program" in entry.meta]


def equal(got, wanted):
    return all(torch.equal(a, b) for a, b in zip(got, wanted, strict=True))


def test_a_stored_program_is_read_and_does_the_same(made, empty_cache):
    wanted = long(*inputs())
    assert equal(torch.compile(long)(*inputs()), wanted)
    assert len(made) == 1 and len(programs_on_disk(empty_cache)) == 1
    compiled = torch.compile(long)
    assert equal(compiled(*inputs()), wanted)
    assert len(made) == 1
    read, = programs()
    names, memories = [step.name for step in read.steps], read.memories  # made for those who ask
    assert len(made) == 2
    assert any("+" in name for name in names) and memories
    assert equal(compiled(*inputs()), wanted)


def test_products_that_nests_follow_are_found_again(made, empty_cache):
    def products(x, y):
        for k in range(8):
            x = torch.softmax((x @ y.t()) @ y + float(k), 1)
        return x

    wanted = products(*inputs())
    for _ in range(2):
        assert equal([torch.compile(products)(*inputs())], [wanted])
    assert len(made) == 1 and len(programs_on_disk(empty_cache)) == 1
    read, = programs()
    assert sum(bool(step.parts) for step in read.steps) == 8


def test_other_numbers_and_values_use_it_too(made):
    torch.compile(long)(*inputs())
    x, y = inputs()
    assert equal(torch.compile(long)(x * 2, y + 1), long(x * 2, y + 1))
    assert len(made) == 1


@pytest.mark.parametrize("change", ["shape", "held", "least", "bytes", "reach"])
def test_what_makes_another_program_has_another_name(made, monkeypatch, change):
    torch.compile(long)(*inputs())
    x, y = inputs()
    if change == "least":
        monkeypatch.setattr(groups, "LEAST", 3)
    if change == "bytes":
        monkeypatch.setattr(again, "LEAST_BYTES", 1)
    if change == "reach":
        monkeypatch.setattr(epilogues, "REACH", 1)
    if change == "shape":
        x, y = x[:5], y[:5]
    function = (lambda x, y: long(x, y)[0]) if change == "held" else long
    torch.compile(function)(x, y)
    assert len(made) == 2


def test_short_programs_are_not_stored(made, empty_cache):
    torch.compile(lambda x, y: x * y + x)(*inputs())
    assert len(made) == 1 and not programs_on_disk(empty_cache)


def test_errors_of_checks_belong_to_their_calls(made):
    def looked_up(x, index):
        y = x
        for _ in range(stored.LEAST_CALLS):
            y = y + 1.0
        return y.index_select(0, index), y

    x, _ = inputs()
    for _ in range(2):
        compiled = torch.compile(looked_up)
        assert equal(compiled(x, torch.tensor([5, 0])), looked_up(x, torch.tensor([5, 0])))
        with pytest.raises(IndexError, match="out of range"):
            compiled(x, torch.tensor([0, 6]))
    assert len(made) == 1


def test_a_missing_kernel_or_a_damaged_file_makes_it_anew(made, monkeypatch, empty_cache):
    wanted = long(*inputs())
    torch.compile(long)(*inputs())
    monkeypatch.setattr(kernels, "stored", lambda symbol: 0)
    assert equal(torch.compile(long)(*inputs()), wanted)
    assert len(made) == 2
    monkeypatch.undo()
    for path, _, _ in empty_cache.files():
        with open(path, "r+b") as file:
            file.seek(-4, 2)
            file.write(b"\xff\xff\xff\xff")
    assert equal(torch.compile(long)(*inputs()), wanted)


def test_whoever_debugs_kernels_sees_them_made(made):
    torch.compile(long)(*inputs())
    with settings.DEBUG.override(3):
        torch.compile(long)(*inputs())
    assert len(made) == 2


def test_an_entry_that_is_no_code_is_not_loaded_as_code(empty_cache):
    key = machine.hash_key("nothing of this kind")
    machine.keep(key, cache.Entry({"program": {}}, b""))
    assert machine.fetch(key) == cache.Entry({"program": {}}, b"")
    assert machine.stored(key) is None


PROGRAM = """
import json, sys
import yesca as torch
from yesca.graph import stored
made = []
build = stored.build
stored.build = lambda *a: (made.append(len(a[0])), build(*a))[1]
torch.manual_seed(0)
model = torch.nn.Sequential(torch.nn.Linear(64, 96), torch.nn.GELU(), torch.nn.LayerNorm(96),
                            torch.nn.Linear(96, 8))
optimizer = torch.optim.AdamW(model.parameters())
x, y = torch.randn(32, 64), torch.randint(8, (32,))

@torch.compile
def step():
    optimizer.zero_grad()
    loss = torch.nn.functional.cross_entropy(model(x), y)
    loss.backward()
    optimizer.step()
    return loss

losses = [step().item() for _ in range(4)]
json.dump([losses, [n for n in made if n >= stored.LEAST_CALLS]], sys.stdout)
"""


def test_another_process_finds_it(tmp_path, monkeypatch):
    monkeypatch.setenv("YESCA_CACHE_DIR", str(tmp_path))

    def run():
        done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True,
                              check=True)
        return json.loads(done.stdout)

    (losses, made), (again_losses, again_made) = run(), run()
    assert losses == again_losses and losses[-1] < losses[0]
    assert made and not again_made
