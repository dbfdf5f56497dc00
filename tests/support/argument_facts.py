"""What an operator says to a value of each kind in the place of each of its arguments."""

import re
import warnings

import operator_facts

#: Kind of value -> one of it.
VALUES = {
    "None": lambda package: None,
    "text": lambda package: "x",
    "float": lambda package: 1.5,
    "truth": lambda package: True,
    "int": lambda package: 1,
    "ints": lambda package: [1],
    "floats": lambda package: [1.5],
    "texts": lambda package: ["a"],
    "tensor": lambda package: package.ones(2, 2),
    "0-dim tensor": lambda package: package.tensor(1.5),
    "dict": lambda package: {},
    "complex": lambda package: 1j,
    "dtype": lambda package: package.float32,
    "tensors": lambda package: [package.ones(2, 2)],
    "Nones": lambda package: [None],
}
_HOMES = (lambda package: package, lambda package: package.Tensor,
          lambda package: package.nn.functional, lambda package: package.special,
          lambda package: package.linalg)
LENGTH = 90  # of the words of an error that are compared


def function_of(package, name, home):
    """The function of an operator, in the same place (a number of `_HOMES`) in both packages."""
    if home is None:
        return operator_facts.public(package, name)
    return getattr(_HOMES[home](package), name)


def home_of(package, name):
    """Where a package has an operator's function: a number of `_HOMES`, None for a submodule's."""
    if name.partition("_")[0] in ("linalg", "fft", "special"):
        return None
    return next((k for k, home in enumerate(_HOMES) if hasattr(home(package), name)), None)


def facts(package, one, home):
    """Argument -> {outcome: kinds of values}, or None where the plain call is refused."""
    function = function_of(package, one.name, home)
    if function is None or outcome(function, one, *arguments(package, one, None, None)) != "ok":
        return None
    found = {}
    for place, parameter in enumerate(one.schema.parameters):
        by_outcome = {}
        for kind, make in VALUES.items():
            args, kwargs = arguments(package, one, place, make(package))
            by_outcome.setdefault(outcome(function, one, args, kwargs, place, home == 1),
                                  []).append(kind)
        found[parameter.name] = {words: " | ".join(kinds) for words, kinds in by_outcome.items()}
    return found


def arguments(package, one, place, value):
    """The arguments of an operator's first case, with a value in one place."""
    case = operator_facts.cases(one, package)[0]
    parameters = one.schema.parameters
    args, kwargs = [], {}
    for k, parameter in enumerate(parameters):
        if k == place:
            given = value
        elif k < len(case):
            given = case[k]
        elif place is not None and k < place and not parameters[place].keyword_only \
                and not parameter.keyword_only:
            given = parameter.default
        else:
            continue
        if parameter.keyword_only:
            kwargs[parameter.name] = given
        else:
            args.append(given)
    return args, kwargs


def outcome(function, one, args, kwargs, place=0, method=False):
    """ "ok", or class and first words of the error; names and places as such."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            function(*args, **kwargs)
    except Exception as error:  # what is raised is what is looked at
        parameter = one.schema.parameters[place]
        shown = "input" if parameter.name == "self" else parameter.name
        words = str(error).partition("\n")[0].replace(f"{one.name}()", "F()")
        words = words.replace(f"argument '{shown}'", "argument A")
        words = words.replace(f"(position {place + 1 - method})", "(position P)")
        words = re.sub(r"(combination of arguments) - .*", r"\1", words)
        words = re.sub(r"^(descriptor '\w+') for .* doesn't", r"\1", words)
        return f"{type(error).__name__}: {words[:LENGTH].strip()}"
    return "ok"
