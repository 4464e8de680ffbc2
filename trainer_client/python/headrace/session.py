"""A native session with its numbers."""

import os
import weakref
from typing import Any

from . import binding, service
from .capture.plan import Plan
from .report import REPORT, LoaderReport


class SessionHandle:
    """One loader's session. One thread at a time; of no use in a forked child."""

    def __init__(self, plan: Plan, report: LoaderReport, window: int, in_order: bool) -> None:
        try:
            self.raw = service.client().open_session(
                plan.to_dict(), max_outstanding=window, in_order=in_order
            )
        except binding.UnsupportedError:
            raise
        except binding.HeadraceError as error:
            raise service.translate(error) from None
        self._pid = os.getpid()
        self._report = report
        self._reported: dict[str, Any] = {}
        for reason in self.raw.split_reasons:
            report.add_reason(reason)
        REPORT.watch(weakref.ref(self))

    def flush_report(self) -> None:
        """Adds what happened since the last call to the loader's report."""
        if self.raw is None or os.getpid() != self._pid:
            return
        try:
            now = self.raw.stats()
        except binding.HeadraceError:
            return  # the service has ended, and this was reported before
        self._report.session_ended(_since(self._reported, now))
        self._reported = now

    def close(self) -> None:
        """Frees leases and memory at once. Idempotent."""
        if self.raw is None or os.getpid() != self._pid:
            return
        self.flush_report()
        self.raw.close()
        self.raw = None

    def __del__(self) -> None:
        if getattr(self, "raw", None) is not None and os is not None:
            self.close()


def _since(before: dict[str, Any], now: dict[str, Any]) -> dict[str, Any]:
    change: dict[str, Any] = {}
    for name, value in now.items():
        if isinstance(value, dict):
            change[name] = _since(before.get(name, {}), value)
        elif str(name).startswith("arena"):
            change[name] = value
        else:
            change[name] = value - before.get(name, 0)
    return change
