"""The deciders of num_workers=0: when a batch is made ahead, and which side makes it."""

import random
import statistics

from headrace.serve.foresight import Foresight, Pace, Recapture, median


def test_after_three_failures_in_a_row_nothing_is_foreseen_for_a_while():
    foresight = Foresight()
    for failures in range(3):
        assert foresight.wanted(), failures
        foresight.failed()
    assert not foresight.wanted()
    for _ in range(32):
        assert not foresight.wanted()
        foresight.made_without()
    assert foresight.wanted()


def test_a_prediction_that_holds_forgets_the_failures_before():
    foresight = Foresight()
    for _ in range(20):
        foresight.failed()
        foresight.failed()
        foresight.held()
    assert foresight.wanted()


def pause(foresight: Foresight) -> int:
    batches = 0
    while not foresight.wanted():
        foresight.made_without()
        batches += 1
    return batches


def test_each_further_failure_pauses_for_twice_as_long_up_to_a_bound():
    foresight = Foresight()
    foresight.failed()
    foresight.failed()
    pauses = []
    for _ in range(8):
        foresight.failed()
        pauses.append(pause(foresight))
    assert pauses == [32, 64, 128, 256, 512, 1024, 1024, 1024]
    foresight.held()
    for _ in range(3):
        foresight.failed()
    assert pause(foresight) == 32


def run(pace: Pace, batches: int, served: float, here: float) -> int:
    """How many of them were made here."""
    made_here = 0
    for _ in range(batches):
        if pace.stock_is_next():
            pace.made_here(here)
            made_here += 1
        else:
            pace.served(served)
    return made_here


def test_the_stock_way_is_timed_seldom_where_the_service_is_faster():
    assert run(Pace(), 24, served=1.0, here=3.0) == 0
    assert run(Pace(), 2000, served=1.0, here=3.0) == 3


def test_the_stock_way_is_taken_where_it_is_faster_and_the_service_tried_again():
    pace = Pace()
    assert run(pace, 24 + 8 + 256, served=3e-4, here=1e-4) == 264
    assert run(pace, 24, served=3e-4, here=1e-4) == 0
    assert run(pace, 8 + 1024, served=3e-4, here=1e-4) == 1032
    assert run(pace, 24 + 8 + 100, served=3e-4, here=5e-4) == 8
    assert run(pace, 24 * 8 - 100 - 24, served=1e-4, here=1e-4) == 0


def test_a_slow_first_batch_does_not_decide():
    pace = Pace()
    run(pace, 24, served=3e-4, here=1e-4)
    pace.made_here(5e-3)
    assert run(pace, 7 + 256, served=3e-4, here=1e-4) == 263


def test_a_trial_of_large_batches_is_short():
    pace = Pace()
    assert run(pace, 24 + 100, served=0.01, here=0.03) == 1


def test_batches_that_the_service_refuses_are_soon_not_asked_for():
    pace = Pace()
    for _ in range(2):
        pace.refused()
    pace.served(1.0)  # not in a row
    for _ in range(2):
        pace.refused()
    assert not pace.stock_is_next()
    pace.refused()
    assert run(pace, 300, served=1.0, here=1.0) == 256 + (300 - 256 > 24)


def test_a_data_set_that_goes_on_changing_is_captured_ever_more_seldom():
    recapture = Recapture()
    rests = []
    for _ in range(6):
        recapture.changed()
        batches = 0
        while not recapture.due():
            batches += 1
        rests.append(batches)
    assert rests == [2, 8, 32, 128, 512, 512]


def test_a_median_is_the_standard_librarys():
    for count in range(1, 8):
        values = [random.random() for _ in range(count)]
        before = list(values)
        assert median(values) == statistics.median(values) and values == before
