# ./dev format and lint. Sourced.

our_files() { # PATTERN...: files of the project, tracked or new, that git does not ignore
  git ls-files --cached --others --exclude-standard -- "$@" | while read -r file; do
    [ -f "$file" ] && echo "$file"
  done
}

cmd_format() {
  local check='' status=0
  case ${1:-} in
    "") ;;
    --check) check=1 ;;
    *) die "format knows only --check" ;;
  esac
  STEPS=3
  heading "Debian packages and Python packages"
  need_debian build format
  need_python
  heading "clang-format"
  our_files '*.cc' '*.h' | xargs -r clang-format ${check:+--dry-run --Werror} -i || status=1
  heading "ruff"
  "$PYTHON" -m ruff format ${check:+--check} . || status=1
  return $status
}

check_types() { # of the package as it is installed, which has two folders of source
  local whole=build/types/headrace
  rm -rf build/types
  mkdir -p $whole
  ln -s "$PWD"/trainer_client/python/headrace/* "$PWD"/dataworker/stage/python/headrace/stage $whole
  MYPYPATH=build/types "$PYTHON" -m mypy --cache-dir build/mypy
}

cmd_lint() {
  local base=main
  case ${1:-} in
    "") ;;
    --all) base='' ;;
    *) die "lint knows only --all" ;;
  esac
  STEPS=$((SETUP_STEPS + 5))
  setup_and_build lint
  if [ -n "$base" ] && ! git rev-parse -q --verify "$base" >/dev/null; then base=''; fi

  heading "architecture tests"
  check architecture "$PYTHON" -m pytest -q tests/arch
  heading "each header compiles alone"
  check headers "$PYTHON" deploy/dev/tidy.py --headers --build build/release --jobs "$JOBS" ${base:+--since "$base"}
  heading "clang-tidy"
  check clang-tidy "$PYTHON" deploy/dev/tidy.py --build build/release --jobs "$JOBS" ${base:+--since "$base"}
  heading "ruff"
  check ruff "$PYTHON" -m ruff check .
  heading "mypy"
  check mypy check_types
  echo
  printf '%s\n' "${RESULTS[@]}"
  [ "$FAILURES" -eq 0 ] || die "lint failed: $FAILURES of ${#RESULTS[@]} parts"
}
