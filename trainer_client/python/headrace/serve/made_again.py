"""What comes of a result that lanes have given in place of a call and that turns out to be wrong: batches that wait for
the program are made again (docs/adr/0106-made-again.md)."""

from typing import TYPE_CHECKING, Any

from ..stage import call_board, doubts

if TYPE_CHECKING:  # spawned processes import this file
    from ..service.report import LoaderReport


# Lanes that are spawned do not know what others have found out. So after a difference none of them gives results.
_ended_elsewhere = False


class Doubted:
    """The lanes of an iterator, which may begin again. One thread, the program's."""

    def __init__(self, gives: bool, shares: bool) -> None:
        """Before the lanes are started. `gives`: they may give results in place of calls; `shares`: what they find out
        is on the board of this process."""
        self.gives, self._shares = gives and (shares or not _ended_elsewhere), shares
        self._known: set[int] = set()
        self.doubts: doubts.Doubts | None = None
        if self.gives:
            self.doubts = doubts.prepare()
            self._known = call_board.prepare().ended()

    @property
    def number(self) -> memoryview | None:
        """What Session.begin wants."""
        return self.doubts.number if self.doubts is not None else None

    def told(self, session: Any, lanes: list[int], report: "LoaderReport", name: str) -> bool:
        """Something was found out since the lanes began. Whether batches are made again by these lanes, which have not
        ended; the next batch may take long then."""
        if not self.gives:
            return False  # they have begun again, and gave nothing since
        board = call_board.prepare()
        new = board.ended() - self._known
        self._known |= new
        doubted = sorted(number for number in new if board.is_believed(number))
        if self._shares and not doubted:
            return False  # all that was found of them was compared
        if not self._shares:
            global _ended_elsewhere
            _ended_elsewhere = True
            if not doubts.prepare().any_believed:
                return False
        from ..service import service

        waited = service.call(session.make_again, lanes)
        if waited < 0:
            self._say(
                name,
                "batches that wait for the program may have been made from a wrong result, and what its lanes keep, too: "
                "they have made more since they began than can be made again",
            )
            return False
        self.gives = False
        for number in doubted[:1]:
            board.made_again[number] = board.made_again.get(number, 0) + waited
        report.batches_made_again += waited
        batches = "1 batch" if waited == 1 else f"{waited} batches"
        self._say(
            name,
            f"its lanes begin again, since a result was wrong: {batches} that waited for the program "
            f"{'is' if waited == 1 else 'are'} made again",
        )
        return True

    @staticmethod
    def _say(name: str, text: str) -> None:
        from ..service.report import print_line

        print_line(f"headrace: DataLoader({name}): {text}")
