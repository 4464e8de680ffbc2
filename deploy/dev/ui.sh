# Progress and failure output of ./dev. Sourced.

LOGS=build/logs
STEP=0
STEPS=0 # how many steps the command has; each command sets it

die() {
  echo "dev: $*" >&2
  exit 1
}

elapsed() { # seconds -> "1 min 05 s"
  if [ "$1" -ge 60 ]; then printf '%d min %02d s' $(($1 / 60)) $(($1 % 60)); else printf '%d s' "$1"; fi
}

# heading TEXT: announces the next step.
heading() {
  STEP=$((STEP + 1))
  echo "[$STEP/$STEPS] $*"
}

# run_logged NAME COMMAND...: runs a command with its output in build/logs/NAME.log, shows that it
# lives, and on failure shows the end of the log. Returns the command's status.
run_logged() {
  local name=$1 log=$LOGS/$1.log start=$SECONDS status=0 shown=0 interval=30 line
  shift
  mkdir -p "$LOGS"
  [ -t 1 ] && interval=1
  "$@" >"$log" 2>&1 </dev/null &
  local pid=$!
  # Ctrl-C reaches the command too (same process group); wait for it so that nothing is left behind.
  trap 'kill "$pid" 2>/dev/null; wait "$pid"; exit 130' INT TERM
  while kill -0 "$pid" 2>/dev/null; do
    sleep 0.2 || true # a signal that ends it ends nothing else
    if [ $((SECONDS - start - shown)) -ge $interval ]; then
      shown=$((SECONDS - start))
      line=$(tail -c 400 "$log" | tr '\r' '\n' | tr -d '\033' | grep -v '^ *$' | tail -n 1 | cut -c1-90 || true)
      if [ -t 1 ]; then
        printf '\r\033[K      %s  %s' "$(elapsed $shown)" "$line"
      else
        printf '      %s  %s\n' "$(elapsed $shown)" "$line"
      fi
    fi
  done
  wait "$pid" || status=$?
  trap - INT TERM
  [ -t 1 ] && printf '\r\033[K'
  if [ $status -eq 0 ]; then
    echo "      done: $name, $(elapsed $((SECONDS - start)))"
  else
    tail -n 60 "$log" | sed 's/^/      | /'
    echo "      FAILED: $name (exit $status) after $(elapsed $((SECONDS - start))); full output in $log"
  fi
  return $status
}

# stamped NAME DIGEST: true when NAME was last finished for the same inputs. stamp NAME DIGEST records it.
stamped() { [ "$(cat "$1" 2>/dev/null)" = "$2" ]; }
stamp() {
  mkdir -p "$(dirname "$1")"
  echo "$2" >"$1"
}
