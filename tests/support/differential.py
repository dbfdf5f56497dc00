"""Generated programs run twice, as they are and compiled, and everything that can be seen of them.

A kind of program is a function that draws one from a `random.Random` and gives a `Program`. What a
program may see and change besides its arguments is in a `World`, made anew for each of the runs.
"""

import random
import weakref
from dataclasses import dataclass, field

import yesca as torch

CALLS = 20
ROWS, COLUMNS = 4, 6
KINDS = {}  # name: the function that draws a program


@dataclass
class World:
    """What outlives a call.

    tensors: by name; log: whatever a program notes; kept: results that outlive their call;
    things: objects of other kinds (modules, arrays, optimizers); call: the number of the call.
    """

    tensors: dict = field(default_factory=dict)
    log: list = field(default_factory=list)
    kept: list = field(default_factory=list)
    things: dict = field(default_factory=dict)
    call: int = 0

    def note(self, *values):
        self.log.append(values)


@dataclass
class Program:
    """function(world, *inputs) is what is compiled; inputs(world) come from outside of it.

    prepare: fills a new world. after: runs outside, on (world, outputs). exact: all numbers are
    equal bit for bit. wrap: how the function is compiled, instead of `compile(function)`.
    """

    function: object
    inputs: object = None
    prepare: object = None
    after: object = None
    exact: bool = False
    wrap: object = None


def kind(function):
    """Enter a kind of program."""
    KINDS[function.__name__] = function
    return function


def numbers(rng, *shape, low=-2.0, high=2.0):
    """A tensor of numbers drawn when the program is."""
    count = 1
    for size in shape:
        count *= size
    values = [rng.uniform(low, high) for _ in range(count)]
    return lambda: torch.tensor(values).reshape(shape)


def usual(rng):
    """`prepare` and `inputs` of most programs: two states, weights, an index, two arguments."""
    made = {"a": numbers(rng, ROWS, COLUMNS), "b": numbers(rng, ROWS, COLUMNS),
            "weight": numbers(rng, COLUMNS, COLUMNS), "bias": numbers(rng, COLUMNS)}
    first, second = numbers(rng, ROWS, COLUMNS), numbers(rng, COLUMNS)

    def prepare(world):
        for name, make in made.items():
            world.tensors[name] = make().requires_grad_(name in ("weight", "bias"))
        world.tensors["index"] = torch.tensor([2, 0, 3])

    def inputs(world):
        return first() + world.call * 0.125, second() - world.call * 0.0625

    return prepare, inputs


# ---- what can be seen -------------------------------------------------------------------------


def tensors_of(value):
    """The tensors of nested results."""
    if isinstance(value, torch.Tensor):
        return [value]
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, (tuple, list)):
        return [t for one in value for t in tensors_of(one)]
    return []


def plain(value):
    """Nested results with None for each tensor."""
    if isinstance(value, torch.Tensor):
        return None
    if isinstance(value, (tuple, list)):
        return [plain(one) for one in value]
    if isinstance(value, dict):
        return {key: plain(one) for key, one in value.items()}
    return value if isinstance(value, (int, float, str, bool, type(None))) else str(type(value))


def facts(tensor):
    """All of one tensor but its numbers."""
    return (str(tensor.dtype), tuple(tensor.shape), tensor.stride(), tensor.storage_offset(),
            tensor.requires_grad, tensor.is_leaf, type(tensor).__name__,
            None if tensor.is_inference() else tensor._version,
            None if tensor.grad_fn is None else tensor.grad_fn.name())


def numbers_of(tensor):
    values = tensor.detach().resolve_conj().reshape(-1).tolist()
    if values and isinstance(values[0], complex):
        return [part for value in values for part in (value.real, value.imag)]
    return values


def seen(world, inputs, outputs, error):
    """What one call left: (everything that is equal exactly, numbers)."""
    found = [*tensors_of(outputs), *inputs, *world.tensors.values(), *tensors_of(world.kept)]
    for module in world.things.values():
        if isinstance(module, torch.nn.Module):
            found += [*module.parameters(), *module.buffers()]
    found = [t for t in found if isinstance(t, torch.Tensor)]
    found += [t.grad for t in found if t.is_leaf and t.grad is not None]
    objects, storages = {}, {}
    sharing = [(objects.setdefault(id(t), len(objects)),
                storages.setdefault(id(t._storage), len(storages))) for t in found]
    return ([plain(outputs), [facts(t) for t in found], sharing, error, plain(world.log)],
            [numbers_of(t) for t in found] + [numbers_of(t) for t in tensors_of(world.log)])


def observe(program, compiled, seed, calls=CALLS):
    """Run a program's calls; gives what was seen after each."""
    torch.manual_seed(seed)
    world = World()
    if program.prepare is not None:
        program.prepare(world)
    function = program.function
    if compiled:
        function = (program.wrap or torch.compile)(function)
    world.things["function"] = weakref.ref(function)
    for number in range(calls):
        world.call = number
        world.log = []
        inputs = () if program.inputs is None else program.inputs(world)
        outputs, error = None, None
        try:
            outputs = function(world, *inputs)
            if program.after is not None:
                program.after(world, outputs)
        except Exception as problem:  # all of it is compared
            error = type(problem).__name__, str(problem)
        yield seen(world, inputs, outputs, error)
    yield [torch.rand(1).item()], []  # where the generator stands


def equal(got, wanted, exact):
    """Whether numbers are equal: bit for bit (and any NaN another one), or nearly."""
    if repr(got) == repr(wanted):
        return True
    if exact or len(got) != len(wanted):
        return False
    for mine, other in zip(got, wanted, strict=True):
        if mine != other and not (mine != mine and other != other) \
                and not abs(mine - other) <= 2e-6 + 1e-5 * abs(other):
            return False
    return True


def check(name, seed):
    """Compare a program's runs; gives how many of its calls raised."""
    program = KINDS[name](random.Random(f"{name} {seed}"))
    raised = 0
    runs = zip(observe(program, True, seed), observe_whole(program, seed), strict=True)
    for number, (got, wanted) in enumerate(runs):
        where = f"{name}, seed {seed}, call {number}"
        assert got[0] == wanted[0], where
        assert len(got[1]) == len(wanted[1]), where
        for place, pair in enumerate(zip(got[1], wanted[1], strict=True)):
            assert equal(*pair, program.exact), (where, place, *pair)
        raised += len(wanted[0]) > 3 and wanted[0][3] is not None
    return raised


def observe_whole(program, seed):
    """All calls as they are, before the compiled ones: both draw from the same generator."""
    return list(observe(program, False, seed))
