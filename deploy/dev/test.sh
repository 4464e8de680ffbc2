# ./dev test and fuzz. Sourced.

RESULTS=()
FAILURES=0

# check NAME COMMAND...: runs one part of the test. A failure is kept for the summary; the rest goes on.
check() {
  local start=$SECONDS verdict=ok
  run_logged "$@" || {
    verdict=FAILED
    FAILURES=$((FAILURES + 1))
  }
  RESULTS+=("$(printf '  %-7s %-18s %s' "$verdict" "$1" "$(elapsed $((SECONDS - start)))")")
}

run_ctest() { # PRESET [ctest arguments]
  local preset=$1
  shift
  ctest --test-dir "build/$preset" --output-on-failure --no-tests=error -j "$JOBS" "$@" && return
  # Said once more at the end: the summary shows the last lines alone.
  grep -h -A 8 -E ': Failure$|ERROR: .*Sanitizer|runtime error:|WARNING: ThreadSanitizer' \
    "build/$preset/Testing/Temporary/LastTest.log" | tail -n 40
  return 1
}

# Programs that start the service as processes of their own run in the release build.
OF_MANY_PROCESSES='integration_test|cpp_trainer_example|schemas_conform'
# What decides, by values that others have parsed and checked. To build it costs a fifth of the time;
# ./dev test --sanitizers has it too. A program that is not named here is always sanitized.
DECIDERS='coordinator_step_test|coordinator_split_test|estimator_test|scaling_test|policy_test|placement_test|pool_test|simulate_test|simulate_what_if_test|simulate_eviction_test|ring_hits_test|cli_test'

# Its build folder has the compiler in its name: CMake drops all settings, the sanitizers too, where the
# compiler of a folder changes.
address_sanitized() { # [all]
  local left_out="^($OF_MANY_PROCESSES|$DECIDERS)\$" programs
  [ "${1:-}" = all ] && left_out="^($OF_MANY_PROCESSES)\$"
  cmake --preset asan-clang || return
  mapfile -t programs < <(ctest --test-dir build/asan-clang -N -E "$left_out" | sed -n 's/^ *Test *#[0-9]*: //p')
  build_preset asan-clang --target "${programs[@]}" && run_ctest asan-clang -E "$left_out"
}

# The thread sanitizer looks at the programs that have threads; the others would only cost time.
THREADED=(net_test client_test dataworker_test dataworker_cache_test dataworker_exec_test
  coordinator_test coordinator_state_test fault_network_test web_test)

thread_sanitized() {
  local names
  names=$(IFS='|' && echo "${THREADED[*]}")
  build_preset tsan --target "${THREADED[@]}" && run_ctest tsan -R "^($names)\$"
}

run_pytest() { # EXTENT: brief or full (tests/support/extent.py)
  # One file more at a time than there are cores: pools, servers and lost hosts are waited for, and a third
  # of the time no core would work. In the order of the folders: by the number of tests, as xdist has it
  # else, the longest of few tests would come last.
  local limit=480 # seconds a test; in the full extent the first case of a theme runs all of them
  [ "$1" = full ] && limit=1800
  HEADRACE_TEST_EXTENT=$1 HEADRACE_TEST_PILLOW_OLD=$PWD/build/pillow-old \
    HEADRACE_TEST_RAY=$PWD/build/ray/bin/python PATH="$PWD/.venv/bin:$PATH" "$PYTHON" -m pytest \
    -n $((JOBS + 1)) --dist loadfile --no-loadscope-reorder --timeout "$limit" --durations 30
}

short_demo() {
  "$PYTHON" examples/make_photos.py --per-class 15 build/demo/packages build/demo/photos-short &&
    "$PYTHON" deploy/dev/demo.py --photos build/demo/photos-short --out build/demo/short --short
}

summary() { # ends ./dev test: exit code 1 if any part failed
  echo
  printf '%s\n' "${RESULTS[@]}"
  if [ "$FAILURES" -gt 0 ]; then
    echo "TEST FAILED: $FAILURES of ${#RESULTS[@]} parts, $(elapsed $SECONDS)"
    exit 1
  fi
  echo "TEST PASSED: ${#RESULTS[@]} parts, $(elapsed $SECONDS)"
}

cmd_test() {
  case ${1:-} in
    "") STEPS=$((SETUP_STEPS + 7)) ;;
    --quick) STEPS=$((SETUP_STEPS + 3)) ;;
    --threads) STEPS=$((SETUP_STEPS + 1)) ;;
    --sanitizers) STEPS=$((SETUP_STEPS + 1)) ;;
    --full) STEPS=$((SETUP_STEPS + 2)) ;;
    *) die "test knows only --quick, --sanitizers, --threads and --full" ;;
  esac
  case ${1:-} in
    "" | --sanitizers) setup_and_build test sanitize ;;
    --full) setup_and_build test servers browser ;;
    *) setup_and_build test ;;
  esac
  if [ "${1:-}" = --sanitizers ]; then
    heading "all C++ tests with the address and undefined-behaviour sanitizers (about 20 min)"
    check asan-ubsan address_sanitized all
    summary
    return
  fi
  if [ "${1:-}" = --threads ]; then
    heading "C++ tests with the thread sanitizer (about 6 min)"
    check tsan thread_sanitized
    summary
    return
  fi
  build_the_rest
  if [ "${1:-}" = --full ]; then
    heading "Python tests, and programs of process settings and state (about an hour)"
    need_old_pillow
    need_ray
    need_frameworks
    check pytest run_pytest full
    summary
    return
  fi
  heading "C++ tests and wire conformance"
  check ctest run_ctest release
  if [ -z "${1:-}" ]; then
    heading "C++ tests with the address and undefined-behaviour sanitizers (about 20 min)"
    check asan-ubsan address_sanitized
  fi
  heading "Python and architecture tests (about 35 min on a slow machine)"
  need_old_pillow
  need_ray
  need_frameworks
  check pytest run_pytest brief
  if [ -z "${1:-}" ]; then
    need_photos
    heading "short demo"
    check demo short_demo
    heading "the site of docs/ (1 min the first time)"
    check docs build_site
  fi
  summary
}

# Every fuzz target of build/fuzz for some seconds, each with its own corpus folder. The first inputs
# are small images for image_fuzz, the frozen frames for stage_frames_fuzz, tars for tar_scan_fuzz, zips
# for zip_scan_fuzz, random pickles for pickle_names_fuzz, tests/fuzz/seeds/NAME where it is there, and the frozen messages for the others;
# and tests/fuzz/found/NAME, which has what ended a target once.
cmd_fuzz() {
  local seconds=${1:-60} target name seeds words more
  [[ $seconds =~ ^[1-9][0-9]*$ ]] || die "fuzz takes a number of seconds, not '$seconds'"
  STEPS=4
  heading "Debian packages (1 min if they are missing)"
  need_debian build fuzz
  heading "Python packages in .venv (3 min the first time)"
  need_python
  heading "building the fuzz targets"
  run_logged build-fuzz build_preset fuzz
  heading "fuzzing, $seconds s each"
  "$PYTHON" tests/fuzz/image_seeds.py build/fuzz-corpus/seeds-image_fuzz
  "$PYTHON" tests/fuzz/frame_seeds.py build/fuzz-corpus/seeds-stage_frames_fuzz
  "$PYTHON" tests/fuzz/shard_seeds.py build/fuzz-corpus
  "$PYTHON" tests/fuzz/pickles.py --seeds build/fuzz-corpus/seeds-pickle_names_fuzz
  while read -r target; do
    name=$(basename "$target")
    seeds=build/fuzz-corpus/seeds-$name
    [ -d "$seeds" ] || seeds=tests/fuzz/seeds/$name
    [ -d "$seeds" ] || seeds=schemas/golden/v1/messages
    words=()
    if [ -f "$seeds.dict" ]; then words=(-dict="$seeds.dict"); fi
    more=()
    if [ -d "tests/fuzz/found/$name" ]; then more=("tests/fuzz/found/$name"); fi
    mkdir -p "build/fuzz-corpus/$name"
    check "$name" "$target" -max_total_time="$seconds" -timeout=10 -rss_limit_mb=2048 "${words[@]}" \
      -artifact_prefix="build/fuzz-corpus/$name-" "build/fuzz-corpus/$name" "$seeds" "${more[@]}"
  done < <(find build/fuzz -type f -executable -name '*_fuzz' | sort)
  [ ${#RESULTS[@]} -gt 0 ] || die "no fuzz target was built"
  printf '%s\n' "${RESULTS[@]}"
  [ "$FAILURES" -eq 0 ] || die "$FAILURES fuzz targets failed; inputs are in build/fuzz-corpus"
}
