"""When a cache that is filled has all that it will have."""

from headrace.serve.warm import Filling


def seen(entries: int, phase: str = "filling", rows: int = 100, name: str = "photos") -> dict:
    return {"name": name, "phase": phase, "rows": rows, "entries": entries, "bytes": 1}


def test_all_entries_are_full_at_once():
    filling = Filling(0)
    assert (
        filling.look(0.1, seen(0, name="", rows=0)) == "filling"
    )  # the coordinator knows none yet
    assert filling.look(0.2, seen(99)) == "filling"
    assert filling.look(0.3, seen(100)) == "full"


def test_steady_counts_when_nothing_comes_any_more():
    filling = Filling(0)
    assert filling.look(1, seen(40, "steady")) == "filling"
    assert filling.look(3.9, seen(41, "steady")) == "filling"
    assert filling.look(6.8, seen(41, "steady")) == "filling"
    assert filling.look(6.9, seen(41, "steady")) == "steady"


def test_without_any_entry_steady_is_no_end():
    filling = Filling(0)
    assert filling.look(0, seen(0, "steady")) == "filling"
    assert filling.look(59, seen(0, "steady")) == "filling"
    assert filling.look(60, seen(0, "steady")) == "stuck"


def test_what_grows_slowly_is_waited_for():
    filling = Filling(0)
    for second in range(0, 500, 50):
        assert filling.look(second, seen(second // 50)) == "filling"
    assert filling.look(450 + 60, seen(9)) == "stuck"
