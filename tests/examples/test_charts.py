"""examples/charts.py: ticks are round, everything lies on the sheet, gaps stay gaps."""

import importlib.util
import math
import re
from pathlib import Path
from xml.etree import ElementTree

import pytest

SVG = "{http://www.w3.org/2000/svg}"


@pytest.fixture(scope="module")
def charts():
    path = Path(__file__).parents[2] / "examples" / "charts.py"
    spec = importlib.util.spec_from_file_location("charts_of_examples", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def drawn(charts, tmp_path):
    def draw(*made):
        charts.save(tmp_path / "chart.svg", *made)
        return ElementTree.parse(tmp_path / "chart.svg").getroot()

    return draw


def texts(root):
    return [element.text for element in root.iter(SVG + "text")]


def coordinates(root):
    """All (x, y) of curves, lines, bars and texts of the only chart of a sheet."""
    for element in root.iter():
        for x, y in (("x", "y"), ("x1", "y1"), ("x2", "y2"), ("cx", "cy")):
            if x in element.attrib:
                yield float(element.get(x)), float(element.get(y))
        for pair in re.findall(r"[ML]([-\d.]+) ([-\d.]+)", element.get("d", "")):
            yield tuple(map(float, pair))


@pytest.mark.parametrize("low, high, ticks", [
    (0, 10, [0, 2, 4, 6, 8, 10]), (0.91, 0.99, [0.92, 0.94, 0.96, 0.98]),
    (-3, 3, [-3, -2, -1, 0, 1, 2, 3]), (5, 5, [5]), (5.5, 5.5, [5.0, 5.2, 5.4, 5.6, 5.8, 6.0]),
])
def test_linear_ticks_are_round(charts, low, high, ticks):
    axis = charts.Axis([low, high], 0, 100)
    assert axis.ticks() == pytest.approx(ticks)
    assert all(-1e-6 <= axis.place(tick) <= 100 + 1e-6 for tick in axis.ticks())


@pytest.mark.parametrize("low, high, ticks", [
    (1e-7, 1.0, [1e-6, 1e-4, 1e-2, 1.0]), (0.03, 20, [0.1, 1.0, 10.0]),
])
def test_logarithmic_ticks_are_powers_of_ten(charts, low, high, ticks):
    axis = charts.Axis([low, high], 0, 100, log=True)
    assert axis.ticks() == pytest.approx(ticks)
    assert axis.place(math.sqrt(low * high)) == pytest.approx(50)


def test_line_chart(charts, drawn):
    lines = [charts.Line("a < b", [1, 2, 3], [1.0, 0.1, 0.01]),
             charts.Line("other", [1, 3], [0.5, 0.2])]
    root = drawn(charts.line_chart("A title", lines, "step", "loss", log_y=True, marks=[("m", 2)]))
    assert {"A title", "step", "loss", "a < b", "other", "m", "1e-02", "1e+00"} <= set(texts(root))
    assert all(0 <= x <= charts.WIDTH and 0 <= y <= charts.HEIGHT for x, y in coordinates(root))
    paths = [element.get("d") for element in root.iter(SVG + "path")]
    assert paths[0] == "M72.0 60.0L348.0 186.0L624.0 312.0"  # straight on the logarithmic axis
    assert len(list(root.iter(SVG + "circle"))) == 5


def test_values_without_a_place_are_gaps(charts, drawn):
    line = charts.Line("loss", [1, 2, 3, 4, 5], [1.0, math.nan, 2.0, 0.0, 3.0])
    root = drawn(charts.line_chart("t", [line], "x", "y", log_y=True))
    (path,) = root.iter(SVG + "path")
    assert re.sub(r"[^ML]", "", path.get("d")) == "MMM"


def test_bar_chart(charts, drawn):
    bars = [charts.Bar("first", 2.0, "fine"), charts.Bar("second", -1.0, "low"),
            charts.Bar("third", math.nan, "fine")]
    root = drawn(charts.bar_chart("Bars", bars, "height"))
    shown = [element for element in root.iter(SVG + "rect") if list(element)]
    heights = [float(element.get("height")) for element in shown]
    assert heights == pytest.approx([168.0, 84.0])
    assert shown[0].get("class") != shown[1].get("class")
    assert [element[0].text for element in shown] == ["first: 2 (fine)", "second: -1 (low)"]


def test_charts_stand_one_below_the_other(charts, drawn):
    line = charts.line_chart("one", [charts.Line("a", [0, 1], [0, 1])], "x", "y")
    root = drawn(line, charts.bar_chart("two", [charts.Bar("b", 1.0, "g")], "y", log_y=True))
    assert root.get("height") == str(2 * charts.HEIGHT)
    assert [g.get("transform") for g in root.findall(SVG + "g")] == [
        "translate(0 0)", f"translate(0 {charts.HEIGHT})"]
    assert {"one", "two"} <= set(texts(root))


def test_nothing_to_draw_is_an_empty_chart(charts, drawn):
    root = drawn(charts.line_chart("empty", [charts.Line("a", [], [])], "x", "y"),
                 charts.bar_chart("empty", [], "y"))
    assert texts(root).count("empty") == 2


def test_names_of_marks_do_not_meet(charts, drawn):
    line = charts.Line("a", [1, 2, 3], [1, 2, 3])
    root = drawn(charts.line_chart("t", [line], "x", "y", marks=[("one", 2.0), ("two", 2.01)]))
    heights = [float(e.get("y")) for e in root.iter(SVG + "text") if e.text in ("one", "two")]
    assert abs(heights[0] - heights[1]) > 10


def test_ticks_of_counts_are_whole_and_short_log_axes_have_some(charts):
    assert charts.Axis([1, 2, 3], 0, 100).ticks() == [1, 2, 3]
    assert charts.Axis([0.3, 4.0], 0, 100, log=True).ticks() == pytest.approx([0.5, 1, 2])
