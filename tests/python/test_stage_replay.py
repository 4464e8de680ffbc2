"""Lanes that keep what cannot travel, in stage hosts."""

import functools
import random
import sys

import torch
from headrace.stage import wire
from support import stage_peer
from torch.utils.data import Dataset, IterableDataset

Stage = functools.partial(stage_peer.Stage, user_module=sys.modules[__name__])


class Talks(IterableDataset):
    def __init__(self):
        self.epoch = 0

    def __iter__(self):
        self.epoch += 1
        for number in range(5):
            print(f"epoch {self.epoch} item {number}")
            yield torch.rand(300) + number


def test_an_iterator_goes_on_elsewhere_without_saying_anything_twice():
    with Stage(dataset=Talks(), iterable=True, batch_size=2) as stage:
        host = stage.host()
        made = [host.ask([1, -1])]
        made.append(host.ask([1, -1], state=made[-1].state))
        values = [answer.value().clone() for answer in made[1:]]
        made.append(host.ask([1, -1], state=made[-1].state))
        values.append(made[-1].value().clone())
        assert [len(value) for value in values] == [2, 1]
        end = host.ask([1, -1], state=made[-1].state)
        assert (end.outcome, end.samples) == (wire.LANE_ENDED, 0)
        assert host.ask([1, -1], state=end.state).outcome == wire.LANE_ENDED
        second = host.ask([2, -1], state=end.state)  # persistent workers: the next epoch
        assert second.output == b"epoch 2 item 0\nepoch 2 item 1\n"
        following = host.ask([2, -1], state=second.state).value().clone()

        elsewhere = stage.host()
        again = elsewhere.ask([1, -1], state=made[0].state)
        assert torch.equal(again.value(), values[0])
        assert again.output == b"epoch 1 item 2\nepoch 1 item 3\n"
        assert again.state == made[1].state
        after = stage.host().ask([2, -1], state=second.state)
        assert torch.equal(after.value(), following)
        assert after.output == b"epoch 2 item 2\nepoch 2 item 3\n"


def test_a_batch_that_is_asked_for_again_is_not_made_again():
    with Stage(dataset=Talks(), iterable=True, batch_size=2) as stage:
        host = stage.host()
        small = host.ask([1, -1], size=100)
        assert small.outcome == wire.TOO_SMALL
        first = host.ask([1, -1])
        assert small.output == b"" and first.output.count(b"item") == 2
        value = first.value().clone()
        assert torch.equal(host.ask([1, -1]).value(), value)
        assert host.ask([1, -1], state=first.state).output.startswith(b"epoch 1 item 2")


class Remembers(Dataset):
    """Each sample holds all earlier ones."""

    def __init__(self):
        self.past = []

    def __getitem__(self, key):
        print(f"key {key}")
        if key == 7:
            raise ValueError(f"after {self.past}")
        self.past.append(key)
        return self.past + [random.random()]


LARGE = [2**31, -(2**40), 2**62]


def test_a_lane_with_state_goes_on_elsewhere_without_saying_anything_twice():
    with Stage(dataset=Remembers(), keeps_state=True, collate_fn=list, num_workers=2) as stage:
        host, state, answers = stage.host(), b"", []
        for keys in ([5, 1], [-3], [0, 7, 2], LARGE, [4]):
            answers.append(host.ask(keys, state=state))
            state = answers[-1].state
        assert answers[1].value()[0][:3] == [5, 1, -3]
        assert answers[2].outcome == wire.RAISED and b"after [5, 1, -3, 0]" in answers[2].error
        assert answers[4].value()[0][:-1] == [5, 1, -3, 0, *LARGE, 4]
        for k in (4, 3, 1):
            again = stage.host().ask(
                [[5, 1], [-3], [0, 7, 2], LARGE, [4]][k], state=answers[k - 1].state
            )
            assert again.value() == answers[k].value()
            assert (again.state, again.output) == (answers[k].state, answers[k].output)
        assert answers[1].output == b"key -3\n"


def test_a_batch_with_state_that_is_asked_for_again_is_not_made_again():
    with Stage(dataset=Remembers(), keeps_state=True, collate_fn=lengths) as stage:
        host = stage.host()
        assert host.ask([1, 2], size=100).outcome == wire.TOO_SMALL
        assert host.ask([1, 2]).value()[:, 0].tolist() == [2, 3]


def lengths(samples):
    return torch.tensor([[len(sample)] for sample in samples]).repeat(1, 1000)


def test_without_auto_collation_a_batch_is_one_key():
    with Stage(
        dataset=Remembers(), keeps_state=True, auto_collation=False, collate_fn=tuple
    ) as stage:
        host = stage.host()
        first = host.ask([3])
        assert first.value()[0] == 3
        assert stage.host().ask([4], state=first.state).value()[:2] == (3, 4)
