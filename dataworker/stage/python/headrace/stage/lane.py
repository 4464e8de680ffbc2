"""The process of a lane that is a worker of the trainer's own loader, on the trainer's own host.

It comes about as the stock loader's worker does (headrace/serve/lanes.py): forked, spawned or by a fork server, at the
same moment, and what it runs is torch's own worker loop. Only the loop's two queues and its event are ours, a LanePort:
it takes requests from data workers of this host, and writes the batches where they say. So whatever a stock worker
inherits, keeps and promises is there because this is one.
Why so: docs/adr/0025-lanes.md.
"""

import queue
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

from ..process import fork_hooks, own_imports, sockets
from ..process.output import flush
from ..records import dataclass
from . import ahead, bad_samples, declared_here, doubts, functions, leaves, memory, wire
from .checkpoint import Checkpoint, Handed, Received
from .fresh_pictures import LEAST
from .kept_batches import KeptBatches, Made
from .lane_images import keep_pictures, native_images, opened_pictures
from .lane_requests import Again, Asked, Requests, turn_of, unmade
from .lane_voice import Voice
from .lessons import Lessons
from .pickling import collating, keeps_nothing, pickle_error
from .randomness import get_state, set_state
from .redo import Redo, know
from .seeded_keys import seeded
from .wire import Request, numbers

# How often a lane makes its batches again, at the most and on average, to go on after damaged pictures.
_MOST_AGAIN = 2
_NOTHING: tuple[bytes, list[int], list[int]] = (b"", [], [])


@dataclass
class LaneSettings:
    """What a lane is told beside the arguments of its worker loop."""

    auto_collation: bool
    iterable: bool
    batch_size: int  # of the loader, or 1: samples in a full batch of an iterable data set
    persistent: bool
    by_pil: tuple[str, ...]  # steps of pictures that stay PIL's (images.py)
    # Answers carry the states of the random generators: the lane may move, or they are saved.
    tells_state: bool
    # Its code may run on other hosts, too: it is watched for state (watch.py), and may begin again.
    # None: it may not; True: filling in is proved to be no state.
    watched: bool | None
    trainer: int  # pid
    leaves: bool = False  # a worker may keep what is read and decoded (leaves.py)
    first: bool = True  # of a loader, and of its data set
    keeps: bool = True  # another one may come
    again: bool = False  # that is likely
    gives: bool = False  # results of functions in place of calls, where it may begin again
    ahead: int = 0  # as KeptBatches'
    ahead_bytes: int = 0


def lane_main(loop: Callable[..., Any], arguments: dict[str, Any], port: "LanePort") -> None:
    """What the process runs. `loop`: torch's, with these arguments."""
    defers = "PIL.Image" in sys.modules
    if (defers or port.gives) and (fork_hooks.around_forks() or fork_hooks.in_children()):
        defers = port.gives = False
    if port.lessons is not None and not port.lessons.defers_pictures:
        defers = False  # of few that may be damaged; these are PIL's
    point, handed, redone = None, None, 0
    while defers or port.may_begin_again:
        point = Checkpoint.make()
        if point.handed is None:
            break  # the lane; the fork sleeps
        handed, point = point.handed, None
        if handed.anew:
            port.gives, port.is_first_life = False, False  # what was given may be the reason
        else:
            know(handed.damaged)
            redone += handed.batches
            defers = redone <= _MOST_AGAIN * handed.batches  # else pictures are PIL's from now on
    port.may_defer = defers
    try:
        loop(**port.open(arguments, handed))
    except Redo as redo:
        assert point is not None
        point.hand_over(port.leave(redo))
    except Again as again:
        assert point is not None
        flush()  # what was printed is not printed again
        point.hand_over(Handed.anew(again.workers, port.life, port.heard))


class LanePort:
    """Replaces a worker's index queue, result queue and event. Made in the trainer, used in the
    lane's process alone, by one thread."""

    may_defer = False  # there is a process that may go on in the place of this one
    is_first_life = True

    def __init__(
        self, control: sockets.Socket, settings: LaneSettings, lessons: Lessons | None = None
    ) -> None:
        """`lessons`: of the lanes before; it does not pickle, and only forks have it."""
        self._control, self._settings = control, settings
        self.lessons = lessons
        self.gives = settings.gives
        self._doubts = doubts.here  # which a process that is spawned receives with this

    def open(self, arguments: dict[str, Any], handed: Received | None) -> dict[str, Any]:
        """Called once, first. Returns the worker loop's arguments. `handed`: from the process before this one."""
        life = 0 if handed is None else handed.life
        self._requests = Requests(self._control, self._settings.trainer, life)
        self._collate = arguments["collate_fn"]
        self._watch: Any = None  # of watch.py
        self._into_slot = self._settings.auto_collation and keeps_nothing(self._collate)
        self._roots = {"dataset": arguments["dataset"], "collate_fn": self._collate}
        self._now: Asked | None = None
        self._kept = KeptBatches(self._settings.ahead, self._settings.ahead_bytes)
        self._newest: list[int] = []  # the name of the latest batch that was asked for
        self._samples: Any = None  # of the batch that is being made
        self._next: Any = None  # what get() gives after the loop has begun an iteration
        self._iteration: int | None = None
        self._over = False  # the data set's iterator has ended in this iteration
        self._told = b""
        self._began = b""  # the state before all batches; only where states are told
        self._lane = arguments.get("worker_id", -1)
        # Code of the program's runs before the first sample.
        self._ran_before = self._settings.iterable or arguments.get("init_fn") is not None
        self._images: Any = None
        self._kit: Any = None
        self._ahead: ahead.Ahead | None = None
        self._opened: Callable[[], bool] = lambda: False
        self._defers = self._opened  # whether pictures are deferred, or would be in a lane that may
        self._natives, self._noted = False, (-1, False, False)
        self._buffers = memory.Buffers()
        self._deferring = ExitStack()
        self._past: list[bytes] = []  # requests, where another process may have to make them again
        self._replay: Iterator[Asked] = iter(())
        self._voice = Voice(handed)
        if handed is not None:
            self._replay = handed.resume(self._requests)
        return {
            **arguments,
            "collate_fn": self._stack,
            "index_queue": self,
            "data_queue": self,
            "done_event": self,
        }

    def leave(self, redo: Redo) -> Handed:
        """What another process needs to go on in the place of this one."""
        assert self._now is not None
        return Handed(self._past, self._now, self._requests, redo.mark, self._voice.heard)

    @property
    def may_begin_again(self) -> bool:
        return self._settings.watched is not None or self.gives

    @property
    def heard(self) -> list[int]:
        """The name of the latest batch whose output was seen."""
        return max(self._newest, self._voice.heard)

    @property
    def life(self) -> int:
        return self._requests.life

    # What the worker loop does with its queues and its event.

    def get(self, timeout: float | None = None) -> Any:
        """The next (number, index); None when the lane is to end. Raises queue.Empty."""
        item, self._next = self._next, None
        while item is None:
            asked = next(self._replay, None)
            if asked is None:
                asked = self._requests.next(timeout)
            elif asked.worker is not None:  # the one that could not be made before
                self._voice.answers()
                self._take_counts()  # they were counted where they were made first
            if asked is None:
                if self._requests.ended:
                    self._voice.end()
                    return None if leaves.here is None else leaves.here.end()
                raise queue.Empty
            item = self._take(asked)
        if bad_samples.here is not None:
            bad_samples.here.silent = (
                not self._voice.is_heard
            )  # they were told where they were made first
        return item

    def put(self, item: tuple[Any, Any]) -> None:
        """(number, batch); of no interest: the loop's word that it begins another iteration."""
        asked = self._now
        if asked is None or item[0] != asked.request.name[1]:
            return
        made = self._made(asked, item[1])
        if self._watch is not None:
            made.change = self._watch.after()
        self._answer(asked, made)  # which may be the first to look at a picture
        ahead.look(self._ahead)
        self._now = None
        self._kept.add(made)
        self._note(made.count)
        self._deferring.close()

    def _note(self, samples: int) -> None:
        """Writes down what this lane has found out."""
        if self.lessons is None:
            return
        if not declared_here.finds():
            self.lessons.items.made(self._lane, samples)
        fresh = LEAST * self._opened() if self._kit is None else self._kit.maker.fresh  # or many
        self.lessons.fresh.note(self._lane, fresh)
        news = functions.news() + (self._kit.news if self._kit is not None else 0)
        noted = news, self._opened(), self._defers()
        if noted != self._noted:
            self._noted = noted
            self.lessons.note(self._lane, self._opened(), self._defers(), self._kit)

    def is_set(self) -> bool:
        return self._requests.ended

    def cancel_join_thread(self) -> None:
        pass

    def close(self) -> None:
        pass

    # Requests.

    def _take(self, asked: Asked) -> Any:
        """What the loop is to do, or None: it is answered."""
        request = asked.request
        self._voice.begins(request.name)
        if (last := self._kept.find(asked)) is not None:
            # The slot was too small, or the answer went lost: user code does not run again.
            last.stack_again(asked.slot, self._collate)
            self._answer(asked, last)
            return None
        turn = turn_of(request, self._newest)
        if turn == wire.EARLY or (turn == wire.PASSED and self._settings.watched is None):
            self._requests.answer(asked, *unmade(asked, turn))
            return None
        self._newest = request.name
        self._kept.make_room(asked, self._collate)
        again = self._iteration is not None and self._iteration != request.name[0]
        if self._iteration is None and request.state and self._settings.iterable:
            again = True  # a saved place: __iter__, too, is to draw from where it says
        self._iteration = request.name[0]
        self._over = self._over and not again
        if self._over:
            ended = Made(request.name, request.state, ended=True)
            self._kept.add(ended)
            self._answer(asked, ended)
            return None
        self._begin_natives()
        if leaves.here is not None:
            functions.look_again()
            leaves.here.begin(again)
        self._now = asked
        if self._watch is not None:
            self._watch.before()
        if (
            self._images is not None and not self._voice.silent
        ):  # what was made is made by PIL alone
            self._deferring.enter_context(self._images.deferring())
        item = request.name[1], self._index(request)
        if again and self._settings.persistent:
            from torch.utils.data._utils.worker import _ResumeIteration

            self._next = item
            return _ResumeIteration()
        return item

    def _index(self, request: Request) -> Any:
        """What the loop's fetcher is asked for."""
        state = request.state
        if self._settings.tells_state:
            # Asked for again from its beginning: another process made what came after it.
            state = state or self._began
            self._began = self._began or get_state(self._roots)
        moved = bool(state) and state != self._told
        if moved:
            set_state(state, self._roots)
        if self.may_defer:
            flush()  # the batches before are made again unseen, and this one is heard again
            self._past.append(request.packed(with_state=moved))
        by_item = self._settings.auto_collation
        index = seeded(request.asked(by_item), request.seeds, self._roots, by_item)
        if self._ahead is not None and not request.index and self._ahead.watches():
            return ahead.KeysAhead(index, self._ahead, request.lane)
        return index

    def _begin_natives(self) -> None:
        """After worker_init_fn, before the first sample."""
        if self._natives:
            return
        self._natives, lessons, settings = True, self.lessons, self._settings
        if settings.leaves:
            leaves.here = leaves.Leaves(settings.first, settings.keeps, again=settings.again)
            leaves.possible = True
            if self.is_first_life:
                declared_here.serve(self._lane, self.gives)
        if "PIL.Image" in sys.modules:
            made = None if lessons is None else lessons.kit
            self._opened = self._defers = opened_pictures()
            if self.may_defer or made is not None:
                intact = lessons is not None and lessons.intact and not self._ran_before
                self._images, kit = native_images(settings.by_pil, made, intact, self.may_defer)
                self._kit, self._defers = kit, lambda: kit is not None and kit.maker.met_file
            if settings.leaves:
                keep_pictures()
        functions.enable(by_value=False, as_prepared=not self._ran_before)
        by_item = self._settings.auto_collation and not self._settings.iterable
        self._ahead = ahead.of(self._roots["dataset"]) if by_item else None
        if lessons is not None:
            lessons.know_functions()
        if settings.watched is not None:
            with own_imports.as_they_were():
                from .watch import Watch

            self._watch = Watch(self._roots, settings.watched)

    # Answers.

    def _stack(self, samples: Any) -> Any:
        """collate_fn. The loader's own default_collate stacks into the slot."""
        if not self._into_slot or self._now is None or self._voice.silent:
            with collating(None):
                return self._collate(samples)
        self._samples = samples
        with collating(self._now.slot):
            return self._collate(samples)

    def _made(self, asked: Asked, data: Any) -> Made:
        from torch._utils import ExceptionWrapper
        from torch.utils.data._utils.worker import _IterableDatasetStopIteration

        made = Made(asked.request.name, asked.request.state, count=len(asked.request.keys))
        samples, self._samples = self._samples, None
        if isinstance(data, _IterableDatasetStopIteration):
            made.ended, made.count, self._over = True, 0, True
        elif isinstance(data, ExceptionWrapper):
            made.error = pickle_error(declared_here.as_without(data))
        else:
            made.value, made.samples = data, samples
            if self._settings.iterable:
                made.count = self._settings.batch_size if samples is None else len(samples)
        if self._settings.tells_state:
            made.state = self._told = get_state(self._roots)
        return made

    def _answer(self, asked: Asked, made: Made) -> None:
        if self._voice.silent:
            return
        outcome, pickled = wire.MADE, _NOTHING
        if made.ended:
            outcome = wire.LANE_ENDED
        elif made.error:
            outcome = wire.RAISED
        else:
            try:
                pickled = made.put(asked.slot, copies=self._kept.are_asked_ahead(asked))
                self._buffers.see(sum(pickled[2]))
            except MemoryError:
                outcome = wire.TOO_SMALL
            except Exception:
                made.error, outcome = self._raised(), wire.RAISED
        body, offsets, sizes = pickled
        self._requests.answer(
            asked,
            numbers(outcome),
            numbers(asked.slot.needed),
            body,
            numbers(*offsets),
            numbers(*sizes),
            made.state,
            made.error,
            b"",  # what user code prints goes where a stock worker prints it
            b"",
            numbers(*self._take_counts()),
            numbers(made.count),
            numbers(asked.cpu_used(is_last=made.ended)),
            made.change.encode(),
        )

    def _take_counts(self) -> list[int]:
        """Since the last call: pictures that were made natively, leaves that were found, and those that were not."""
        pictures = functions.take_count() + (self._images.take_count() if self._images else 0)
        found = [0, 0] if leaves.here is None else leaves.here.take_lookups()
        return [pictures, *found] if self._voice.is_heard else [0, 0, 0]  # they were counted before

    def _raised(self) -> bytes:
        """The exception that is being handled, as the worker loop would send it."""
        from torch._utils import ExceptionWrapper
        from torch.utils.data import get_worker_info

        info: Any = get_worker_info()
        return pickle_error(ExceptionWrapper(where=f"in DataLoader worker process {info.id}"))
