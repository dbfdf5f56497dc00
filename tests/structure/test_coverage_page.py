"""docs/coverage.md is written from results: what the page says of a small one."""

import coverage_page


def operator(name, **checks):
    return {"name": name, "family": "torch.*", "checks": checks}


RESULT = {
    "settings": {"dtypes": "float32,int64", "max_samples": 6, "fraction": 1.0, "seed": 0},
    "totals": {"samples": [3, 4], "grads": [1, 2], "variants": [0, 0], "errors": [1, 1]},
    "excluded": {"sparse.mm": "needs sparse tensors", "slice": "measured by __getitem__"},
    "ops": {
        "add": operator("add", samples={"float32#0": "", "float32#1": ""}, errors={"0": ""}),
        "mul": operator("mul", samples={"float32#0": "", "float32#1": "got 1|2\nsecond line"},
                        grads={"float32#0": "", "float32#1": "got 1|2"}),
    },
}


def test_the_page_counts_and_names_what_does_not_pass():
    lines = coverage_page.page(RESULT).splitlines()
    cells = [[cell.strip() for cell in line.strip("|").split(" | ")] for line in lines]
    assert ["operators without a fault", "1 of 2 (50.0 %)"] in cells
    assert ["samples", "3 of 4 (75.0 %)"] in cells and ["variants", "-"] in cells
    assert ["torch.*", "2", "1", "3 of 4 (75.0 %)", "1 of 2 (50.0 %)", "-",
            "1 of 1 (100.0 %)"] in cells
    assert ["`mul`", "1 sample, 1 gradient", "got 1\\|2"] in cells
    assert "- needs sparse tensors: `sparse.mm`" in lines
    assert "- measured by `__getitem__`: `slice`" in lines
    assert "second line" not in coverage_page.page(RESULT) and "`add`" not in "".join(lines)
    assert "random" not in coverage_page.page(RESULT)


def test_columns_line_up_and_a_part_is_said():
    some = dict(RESULT, settings=dict(RESULT["settings"], fraction=0.4, seed=3))
    page = coverage_page.page(some)
    assert "A random 40 % of the operators (seed 3)." in page
    tables = [block for block in page.split("\n\n") if block.startswith("|")]
    assert len(tables) == 4
    assert all(len({len(line) for line in block.strip().splitlines()}) == 1 for block in tables)


def test_reasons_are_said_in_words():
    some = dict(RESULT, ops={
        "chalf": operator("chalf", samples={"a": "AttributeError", "b": "TypeError", "c": ""}),
        "new": operator("new", samples={"a": "no yesca.new"}, errors={"0": "no yesca.new"})})
    page = coverage_page.page(some)
    assert coverage_page.NOTES["chalf"] in page and "AttributeError" not in page
    assert "2 samples" in page
    assert "1 sample, 1 error" in page and "there is no such operator" in page


def test_what_lacks_does_and_something_is_there_instead():
    for module, name in coverage_page.OUTSIDE.values():
        assert len(coverage_page.instead(module, name)) > 20, name
