"""Programs that change data while loaders run, and that use loaders in threads and forked processes."""

from support.same_lines import SameLines


class TestChanges(SameLines):
    themes = ("live_changes", "file_changes", "threads_and_forks", "draws_and_shared_things")
