#!/usr/bin/env bash
# All benchmarks, as `./dev bench` runs them. Writes bench/report/. Takes more than an hour on 2 cores, by the sum of its parts.
set -euo pipefail
cd "$(dirname "$0")/.."
python=.venv/bin/python
build=build/bench
mkdir -p bench/report
photos=build/demo/photos/train
previous=
for word in "$@"; do
  [ "$previous" != --data ] || photos=$word
  previous=$word
done
HEADRACE_BENCH_PHOTOS=$(realpath "$photos")
export HEADRACE_BENCH_PHOTOS

find "$build" -name '*_bench' -type f -executable | sort | while read -r program; do
  name=$(basename "$program")
  echo "== $name"
  "$program" --benchmark_repetitions=5 --benchmark_report_aggregates_only=true \
    --benchmark_enable_random_interleaving=true \
    --benchmark_out="bench/report/$name.json" --benchmark_out_format=json
  sed -i '/"host_name"/d' "bench/report/$name.json"
  if grep -q '"error_occurred": true' "bench/report/$name.json"; then
    echo "bench: $name has failed, see above" >&2
    exit 1
  fi
done
for script in throughput trainer_cost lifecycle resume fallback lazy code capture_cost library_functions native_rows stage_pipelines stage_start stall_cost comparison wire; do
  echo "== $script"
  "$python" "bench/e2e/$script.py" "$@"
done
"$python" bench/e2e/restart.py
for script in estimator_grid two_jobs ramp single_job; do
  echo "== elastic/$script"
  "$python" "bench/elastic/$script.py" --data "$photos"
done
for script in elastic silod; do
  echo "== simulate/$script"
  "$python" "bench/simulate/$script.py" --program .venv/bin/headrace
done
