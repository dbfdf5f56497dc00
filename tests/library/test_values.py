"""What passes for a value of a type, what a kernel may return, how defaults are read."""

import numpy as np
import pytest

import yesca as torch
from yesca import Tensor, library
from yesca.library._schemas import parse
from yesca.library._values import NOTHING, converted

_ONE = torch.tensor([2.5], requires_grad=True)


@pytest.mark.parametrize(("kind", "value", "wanted"), [
    ("int", torch.tensor(2), 2), ("int", _ONE, 2), ("int", True, 1), ("int", np.int64(3), 3),
    ("int", np.float32(2.5), 2), ("int", np.float64(2.5), NOTHING), ("int", 2.5, NOTHING),
    ("int", 1 << 63, NOTHING), ("SymInt?", 1 << 70, NOTHING), ("int", -1 << 63, -1 << 63),
    ("int", torch.tensor([2, 3]), NOTHING), ("int", torch.tensor(float("inf")), NOTHING),
    ("float", torch.tensor(True), 1.0), ("float", True, 1.0), ("float", np.float32(2.5), 2.5),
    ("float", 1j, NOTHING), ("float", "1", NOTHING),
    ("bool", 1, True), ("bool", None, False), ("bool", _ONE, True), ("bool", "a", NOTHING),
    ("Scalar", 1j, 1j), ("Scalar", (1 << 64) - 1, (1 << 64) - 1), ("Scalar", "a", NOTHING),
    ("ScalarType", 6, torch.float32), ("ScalarType", 99, NOTHING),
    ("ScalarType?", torch.int8, torch.int8),
    ("int[]", range(2), [0, 1]), ("int[]", 1, NOTHING), ("int[2]", 1, [1, 1]),
    ("int[2]", torch.tensor(1), NOTHING), ("bool[2]", True, NOTHING), ("Tensor[2]", _ONE, NOTHING),
    ("float[]", [1, torch.tensor(2)], [1.0, 2.0]), ("float[2]", 1, [1.0, 1.0]),
])
def test_arguments(kind, value, wanted):
    made = converted(kind, value)
    assert made is wanted or made == wanted and type(made) is type(wanted)


def test_a_number_of_too_many_bits():
    with pytest.raises(OverflowError, match="int too big to convert"):
        converted("Scalar", 1 << 64)


def test_generators_pass():
    own = torch.Generator()
    assert converted("Generator?", own) is own
    assert converted("Generator", None) is NOTHING


@pytest.fixture(params=["Library", "custom_op", "on the tape"])
def returning(request):
    """Calls an operator with some results whose kernel returns something."""
    held = []

    def call(results, made):
        x = torch.ones(2, requires_grad=request.param == "on the tape")
        if request.param == "Library":
            while held:
                held.pop()._destroy()
            held.append(library.Library("values", "DEF"))
            held[-1].define(f"foo(Tensor x) -> {results}")
            held[-1].impl("foo", lambda x: made(x), "CPU")
            return torch.ops.values.foo(x)
        own = library.custom_op("values::bar", lambda x: made(x), mutates_args=(),
                                schema=f"(Tensor x) -> {results}")
        return own(x)

    yield call
    for one in held:
        one._destroy()


@pytest.mark.parametrize(("results", "made", "error"), [
    ("Tensor", lambda x: 3, "Unable to cast 3 to Tensor"),
    ("Tensor", lambda x: (x + 1,), "Unable to cast .* to Tensor"),
    ("()", lambda x: x + 1, "to return None but it returned something else"),
    ("(Tensor, Tensor)", lambda x: torch.ones(2, 2), "'Tensor' is not an instance of 'sequence'"),
    ("(Tensor, Tensor)", lambda x: None, "'NoneType' is not an instance of 'sequence'"),
    ("(Tensor, Tensor)", lambda x: (x + 1,), "returned 1 results, its schema says 2"),
    ("(Tensor, int)", lambda x: (x + 1, x + 2), "Unable to cast .* to int"),
    ("Tensor[]", lambda x: x + 1, r"Unable to cast .* to Tensor\[\]"),
    ("Tensor[]", lambda x: [x + 1, None], r"Unable to cast .* to Tensor\[\]"),
    ("int", lambda x: 2.5, "Unable to cast 2.5 to int"),
])
def test_results_that_the_schema_does_not_say(returning, results, made, error):
    kind = TypeError if "sequence" in error else RuntimeError
    with pytest.raises(kind, match=error):
        returning(results, made)


def test_results_come_as_the_schema_says(returning):
    pair = returning("(Tensor, Tensor)", lambda x: [x + 1, x + 2])
    assert type(pair) is tuple and pair[1].tolist() == [3.0, 3.0]
    listed = returning("Tensor[]", lambda x: (x + n for n in range(1, 3)))
    assert type(listed) is list and listed[1].tolist() == [3.0, 3.0]
    assert returning("(Tensor)", lambda x: x + 1).tolist() == [2.0, 2.0]
    assert returning("float", lambda x: 3) == 3.0
    assert returning("Tensor?", lambda x: None) is None


CPU = torch.device("cpu")


def test_dtypes_and_devices_are_defaults():
    @library.custom_op("values::typed", mutates_args=())
    def typed(x: Tensor, d: torch.dtype = torch.float64, at: torch.device = CPU) -> Tensor:
        return x.to(at, d, copy=True)

    assert typed(torch.ones(1)).dtype is torch.float64
    assert typed(torch.ones(1), torch.int8).dtype is torch.int8
    assert library.infer_schema(typed._init_fn, mutates_args=()) \
        == '(Tensor x, ScalarType d=float64, Device at="cpu") -> Tensor'


@pytest.mark.parametrize(("text", "wanted"), [
    ("ScalarType d=long", torch.int64), ("ScalarType d=6", torch.float32), ("float f=1", 1.0),
    ("Layout l=strided", torch.strided), ("Device d=\"cpu\"", torch.device("cpu")),
    ("MemoryFormat m=channels_last", torch.channels_last), ("int[2] k=3", [3, 3]),
    (r'str s="a\"b, c"', 'a"b, c'), ("Tensor t=None", None), ("Generator? g=None", None),
    ("int[] k=[]", []), ("float f=-1e-3", -1e-3), ("int k=1.5", 1.5),
])
def test_defaults(text, wanted):
    schema = parse(f"a::foo({text}) -> Tensor")
    assert schema.arguments[0].default_value == wanted
    assert parse(str(schema)) == schema


@pytest.mark.parametrize("text", [
    "int k=abc", "float f=inf", "float f=1e400", "bool b=true", "str s=abc", "int[] k=1",
    "int[] k=[1, 2", "Tensor t=1", "int k=99999999999999999999", "Device d=cpu", "int k=1, int n",
    "int k,", 'str s="a', "ScalarType d=float33", "int k=0x10",
])
def test_schemas_that_are_none(text):
    with pytest.raises(RuntimeError, match="cannot read|Non-default positional argument"):
        parse(f"a::foo({text}) -> Tensor")
