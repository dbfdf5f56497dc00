"""Pictures of programs: every launch has its box, every memory its line; no script, two themes."""

import re
from xml.etree import ElementTree

import pytest

import yesca as torch
from yesca.graph import drawing

SVG = "{http://www.w3.org/2000/svg}"


def branching(x, w):
    hidden = torch.relu((x @ w) * 2)
    if hidden.mean() > 0:
        return (hidden @ w).tanh() + 1
    return hidden


@pytest.fixture
def explained():
    torch.manual_seed(0)
    return torch.compiler.explain(branching)(torch.randn(64, 64), torch.randn(64, 64))


def texts(picture):
    return [node.text or "" for node in picture.iter(f"{SVG}text")]


def test_every_launch_has_a_box(explained, tmp_path):
    explained.draw(tmp_path / "programs.svg")
    picture = ElementTree.parse(tmp_path / "programs.svg").getroot()
    boxes = [node for node in picture.iter(f"{SVG}rect") if node.get("class") == "box"]
    assert len(boxes) == explained.launch_count
    said = texts(picture)
    assert said[0].startswith(f"program 1: {len(explained.graphs[0].ops)} calls in ")
    assert sum(text.startswith("program ") for text in said) == 2
    assert any(re.fullmatch(r"[\d.]+[num]s · [\d.]+ [KM]?B · [\d.]+ GB/s", t) for t in said)
    assert any(text.startswith("kernel_") for text in said)
    breaks = [text for text in said if "graph break" in text]
    assert len(breaks) == 1
    assert "__bool__ needs the value of a tensor (" in breaks[0]
    assert "test_drawing.py:" in breaks[0]


def test_lines_are_memories_with_sizes(explained, tmp_path):
    explained.draw(str(tmp_path / "programs.svg"))
    picture = ElementTree.parse(tmp_path / "programs.svg").getroot()
    lines = [node for node in picture.iter(f"{SVG}path") if node.get("class") == "edge"]
    assert len(lines) >= 2
    said = texts(picture)
    assert "16.00 KB" in said and "4 B" in said
    assert "in: 2 tensors, 32.00 KB" in said
    assert "out: 16.00 KB" in said


def test_boxes_do_not_meet_and_lie_within_the_page(explained, tmp_path):
    explained.draw(tmp_path / "programs.svg")
    picture = ElementTree.parse(tmp_path / "programs.svg").getroot()
    width, height = float(picture.get("width")), float(picture.get("height"))
    corners = [(float(n.get("x")), float(n.get("y"))) for n in picture.iter(f"{SVG}rect")
               if n.get("class") == "box"]
    for k, (x, y) in enumerate(corners):
        assert 0 <= x <= width - drawing.WIDTH
        assert 0 <= y <= height - drawing.HEIGHT
        assert not any(abs(x - u) < drawing.WIDTH and abs(y - v) < drawing.HEIGHT
                       for u, v in corners[k + 1:])


def test_it_needs_nothing_and_serves_light_and_dark(explained, tmp_path):
    for name in ("programs.svg", "programs.html"):
        explained.draw(tmp_path / name)
        text = (tmp_path / name).read_text(encoding="utf-8")
        assert "<script" not in text
        assert "@media (prefers-color-scheme: dark)" in text
        assert set(re.findall(r"https?://[^\"]+", text)) == {"http://www.w3.org/2000/svg"}
        colours = text[text.index("<style"):text.rindex("</style>")]
        for kind in set(re.findall(r'<(?:rect|path|text) class="(\w+)', text)):
            assert f".{kind} {{" in colours


def test_a_page_has_the_loops_too(explained, tmp_path):
    explained.draw(tmp_path / "programs.html")
    text = (tmp_path / "programs.html").read_text(encoding="utf-8")
    assert text.startswith("<!doctype html>")
    assert text.count("<details>") == explained.launch_count
    assert "rows stage" in text or "flat stage" in text


def test_many_lines_into_one_box_have_one_label(tmp_path):
    parts = [torch.randn(8, 8) for _ in range(6)]
    found = torch.compiler.explain(lambda: torch.cat([p @ p for p in parts]) @ parts[0])()
    found.draw(tmp_path / "programs.svg")
    ElementTree.parse(tmp_path / "programs.svg")


def test_names_are_escaped():
    assert "&lt;a &amp; b&gt;" in drawing._text(0, 0, "<a & b>", "")
    assert drawing.shortened("x" * 40) == "x" * (drawing.LETTERS - 3) + "..."


def test_other_kinds_of_files_are_refused(explained, tmp_path):
    with pytest.raises(ValueError, match=r"ends in \.svg or \.html, got .*programs\.png"):
        explained.draw(tmp_path / "programs.png")
    assert not list(tmp_path.iterdir())
