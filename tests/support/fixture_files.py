"""How recorded facts are written down: numbers with few digits, rows without spaces."""

import json


def rounded(value):
    """Numbers with the digits that a float32 has."""
    if isinstance(value, float):
        return float(f"{value:.9g}")
    if isinstance(value, dict):
        return {name: rounded(each) for name, each in value.items()}
    return [rounded(each) for each in value] if isinstance(value, list) else value


def compact(value):
    """JSON without spaces."""
    return json.dumps(value, separators=(",", ":"))


def write_patterns(path, patterns, recorded):
    """A file of patterns, and of their numbers by operator."""
    operators = [f"{json.dumps(name)}: {compact(facts)}"
                 for name, facts in sorted(recorded.items())]
    path.write_text(
        '{"patterns": [\n' + ",\n".join(patterns) + '\n],\n"operators": {\n'
        + ",\n".join(operators) + "\n}}\n")
