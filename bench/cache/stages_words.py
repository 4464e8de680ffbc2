"""What stands above and below the figures of stages.py."""

NOTE = """\
What [pool_cache](pool_cache.md), [leaves in policies](leaves_in_policies.md), [evaluation](../../docs/evaluation.md) and
the tests beside them measured with native plans, with programs whose data code runs as Python stages
([program](../cache/stages_program.py)). Coordinator, workers and programs are processes. One run of each row, on two
cores that other work of several processes wanted too: so lookups, entries, bytes and CPU count, and no time. Parts were
run in several calls.

- *Kept* is entries over all leaves; *hits* are of eight epochs after five. CPU is that of the job by the coordinator's
  totals. *By the terms at 0.5*: what the estimator's terms, as measured with half of the leaves, say of the other rows.
- *Decodes* are lookups that missed, of four epochs of 256 photographs. A photograph is kept from the second epoch on, so
  one job alone decodes each twice.
- *Photos* and *Texts* keep leaves, *Declared* results of a function under `headrace.cached`, *Found* of one that Headrace
  finds. Texts are 96 files of 16,000 numbers for `np.loadtxt`.
- Under the policies, the photographs have all of the cache before the texts come. A byte of the texts saves many times
  as much.
- Eviction: texts end first, then photographs, then a third program wants 67 of the 172 MB.

What it says:

- *Hit share.* On one worker what is kept is hit, within 1 point. On several it is divided by their number: each worker
  kept the leaves of its own lanes when this was measured, and a batch goes to any of them. So did two jobs at once, and
  the next job on four workers, decode again. Two jobs that begin at once decode nearly all twice on one worker as well.
- *Estimator.* Its terms at half of the leaves are 8% too low to 7% too high up to three quarters, and 16 to 26% too high
  where nearly all is hit. A likely cause, not measured: a hit saves the read of the file too, which is not in what an
  entry took to make.
- *Declared and found functions* are counted as leaves are, in lists, hits and terms.
- *Policies* give the dear texts all that they can use and the photographs the rest, under all four. Quotas add up to more
  than the cache for a moment, while one shrinks as the other fills; use does not.
- *A tenant's quota* was 31.5 and 8.5 MB for two jobs before it was mended. (They read the same files there, so the two
  rows can't be compared closely.)
- *Eviction.* Before it was mended, 0.10 to 0.13 of the third program's results were kept, in any order, since lanes were
  told of free room alone.
- *Speeds.* Quotas follow 20 s after each change, upwards at once and downwards by the controller's memory of 20 periods.
  Before it was mended, a lane that stayed never kept again what had been given up, and the last row was 51 and 32 MB.
- *Advice* said a wait of 76% with all leaves in the cache; then it was 78%, and 71% was foretold for later.
- *Restart.* 0.77 of the leaves come back: what was in memory is lost.

Not repeated: who owns an entry, replicas, and caches over hosts, since leaves stay with their host; `warm` and fills,
which stages have not; forms and compression, of which leaves have one; T9, T10 and the live run beside the simulator,
whose figures are times of an idle machine. Stale and damaged entries, a killed worker and a full disk are tests
(`tests/python/test_leaf*.py`, `dataworker/cache/disk/*_test.cc`)."""
