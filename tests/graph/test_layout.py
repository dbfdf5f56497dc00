"""Places of boxes: below what they wait for, one box a place, edges from writers to readers."""

from types import SimpleNamespace

from yesca.graph import layout
from yesca.graph.layout import Edge


def step(reads, writes, nest=True, parts=()):
    """As much of a step as matters here."""
    return SimpleNamespace(reads=frozenset(reads), writes=frozenset(writes), nest=nest, parts=parts)


def test_edges_lead_from_the_last_writer():
    steps = [step({0}, {1}), step({1}, {2}), step({0}, {1}), step({1, 2, 3}, {4})]
    found, before, last = layout.edges(steps)
    assert found == [Edge(0, 1, 1), Edge(2, 3, 1), Edge(1, 3, 2)]
    assert before == [{0}, set(), {0}, {3}]
    assert last == [set(), {2}, {1}, {4}]


def test_what_other_machine_code_writes_is_not_taken_for_read():
    found, before, _ = layout.edges([step({0, 1, 2}, {2}, nest=None), step({2}, {3})])
    assert (found, before[0]) == ([Edge(0, 1, 2)], {0, 1})


def test_a_chain_stands_in_one_column():
    made = layout.arranged(3, [Edge(0, 1, 1), Edge(1, 2, 2)])
    assert (made.places, made.columns, made.rows) == (((0, 0), (0, 1), (0, 2)), 1, 3)


def test_nothing_has_no_place():
    made = layout.arranged(0, [])
    assert (made.places, made.rows) == ((), 0)


def test_wide_rows_are_broken_and_no_two_boxes_meet():
    sources = 3 * layout.COLUMNS + 1
    made = layout.arranged(sources + 1, [Edge(k, sources, k) for k in range(sources)])
    assert made.columns == layout.COLUMNS
    assert made.rows == 5
    assert len(set(made.places)) == sources + 1
    assert made.places[-1][1] == 4


def test_a_box_stands_just_above_the_one_that_it_is_made_for():
    chain = [Edge(k, k + 1, k) for k in range(1, 5)]
    made = layout.arranged(6, [*chain, Edge(0, 5, 9)])
    assert made.places[0][1] == 3
    for edge in chain:
        assert made.places[edge.source][1] < made.places[edge.target][1]


def test_what_a_nest_in_a_product_reads_of_before():
    product, nest = step({0, 1}, {2}, None), step({2, 3}, {3})
    joined = step({0, 1, 2, 3}, {2, 3}, None, (product, nest))
    _, before, last = layout.edges([joined])
    assert before == [{0, 1, 3}] and last == [{2, 3}]
