"""The guides in docs are true: each program prints what the page says, what they link to exists."""

import re
from pathlib import Path

import pages
import pytest

DOCS = Path(__file__).parents[1] / "docs"
GUIDES = ["finding_what_is_wrong.md", "kernels.md", "large_data.md", "training_patterns.md"]
guides = pytest.mark.parametrize("page", [DOCS / name for name in GUIDES], ids=GUIDES)


@guides
def test_programs_print_what_the_page_says(page, run_program):
    count = page.read_text(encoding="utf-8").count("```python\n")
    assert count >= 10
    assert run_program(pages.__file__, page) == f"{count} programs, 0 with another output\n"


def anchors(path):
    """The names that headings of a page have as targets of links."""
    titles = re.findall(r"^#+ (.*)$", path.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", title.lower()).replace(" ", "-") for title in titles}


@guides
def test_links_lead_somewhere(page):
    prose = pages.BLOCK.sub("", page.read_text(encoding="utf-8"))
    links = re.findall(r"\]\(([^)#]*)#?([^)]*)\)", prose)
    assert links
    for target, anchor in links:
        path = page.parent / target if target else page
        assert path.is_file(), target
        assert not anchor or anchor in anchors(path), anchor


def test_another_output_is_told(tmp_path, run_program):
    page = tmp_path / "page.md"
    page.write_text("```python\nprint(1 + 1)\n```\n\n```\n3\n```\n")
    assert run_program(pages.__file__, page) == (
        "page.md:1: expected\n3\ngot\n2\n\n1 programs, 1 with another output\n")
    run_program(pages.__file__, page, "--write")
    assert page.read_text() == "```python\nprint(1 + 1)\n```\n\n```\n2\n```\n"
