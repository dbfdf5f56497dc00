"""Tables of measurements look as PyTorch's do."""

import pytest

from yesca.utils.benchmark import Compare, Measurement, TaskSpec

PLAIN = """\
[------------ add ------------]
               |  new   |  old\x20
1 threads: --------------------
      size 1   |   1.0  |   2.0
      size 20  |  20.0  |  40.0
2 threads: --------------------
      size 1   |   1.0  |   2.0
      size 20  |  20.0  |  40.0

Times are in microseconds (us).
"""
TRIMMED = """\
[----------- add -----------]
               |  new  |  old
1 threads: ------------------
      size 1   |    1  |    2
      size 20  |   20  |   40
2 threads: ------------------
      size 1   |    1  |    2
      size 20  |   20  |   40

Times are in microseconds (us).
"""
ENVIRONMENTS = """\
[-------------------------------- first ---------------------------------]
                                |  a   |  much longer description  |   c  
1 threads: ---------------------------------------------------------------
  (base)            (1)         |  12  |             25            |      
                    (100, 100)  |  12  |             25            |  37.0
  (changed branch)  (1)         |  13  |             26            |      
                    (100, 100)  |  13  |             26            |  38.9

Times are in microseconds (us).
"""  # noqa: W291 - as PyTorch prints it


def measured(times, **options):
    return Measurement(1, times, TaskSpec("x", "pass", **options))


def additions():
    return [measured([1e-6 * size * (1 + place)] * 6, label="add", sub_label=f"size {size}",
                     description=name, num_threads=threads)
            for size in (1, 20) for place, name in enumerate(("new", "old")) for threads in (1, 2)]


def test_plain(capsys):
    table = Compare(additions())
    assert str(table) == PLAIN
    table.print()
    assert capsys.readouterr().out == PLAIN + "\n"


def test_digits():
    table = Compare(additions())
    table.trim_significant_figures()
    assert str(table) == TRIMMED


def test_environments_and_missing_cells():
    names = ("a", "much longer description", "c")
    table = Compare([
        measured([1.2345e-5 * (place + 1) * factor] * 5, label="first", env=env, sub_label=sub,
                 description=name)
        for env, factor in (("base", 1), ("changed branch", 1.05))
        for sub in ("(1)", "(100, 100)") for place, name in enumerate(names)
        if (sub, name) != ("(1)", "c")])
    table.trim_significant_figures()
    assert str(table) == ENVIRONMENTS


def row(rowwise, factors, scale):
    table = Compare([measured([scale * f], label="l", description=str(f)) for f in factors])
    table.colorize(rowwise)
    return str(table).splitlines()[3].split("  |  ")[1:]


def test_colours():
    best, good, bad, worst = "\033[92m\033[1m", "\033[34m\033[1m", "\033[2m\033[91m", \
        "\033[31m\033[1m"
    cells = row(True, (1, 1.005, 1.05, 1.5, 2, 5), 1e-3)
    starts = [cell[:cell.index("m", 5) + 1] if cell[0] == "\033" else "" for cell in cells]
    assert starts == [best, best, good, "", bad, worst]
    assert cells[0] == f"{best}1.0\033[0m\033[0m"
    # Differences of less than a tenth of a microsecond count for nothing.
    assert row(True, (1, 1.05), 1e-6)[1].startswith(best)
    # Each is the only one of its column.
    assert all(cell.startswith(best) for cell in row(False, (1, 5), 1e-3))


def test_warnings():
    table = Compare([measured([1e-6, 5e-6, 9e-6, 2e-6], sub_label="x", description="q"),
                     measured([4e-5], sub_label="y", description="q")])
    table.highlight_warnings()
    lines = str(table).splitlines()
    assert lines[3:5] == ["      x  |   3.5 (! 121%)", "      y  |  40.0         "]
    assert lines[-1] == ("(! XX%) Measurement has high variance, where XX is the IQR / median * "
                         "100.")
    calm = Compare([measured([4e-5], description="q")])
    calm.highlight_warnings()
    assert "variance" not in str(calm)


def test_more_results():
    table = Compare([measured([1e-3, 2e-3], label="l", description="q")])
    table.extend_results([measured([4e-3], label="l", description="q"),
                          measured([1.0], label="other")])
    first, second = str(table).split("\n\n[")
    assert first.splitlines()[3] == "      x  |  2.0" and " other " in second
    assert str(Compare([])) == ""
    with pytest.raises(ValueError, match="Expected an instance of `Measurement`, got <class"):
        table.extend_results([3])
