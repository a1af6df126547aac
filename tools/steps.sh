# Sourced by tools/test and tools/demo: steps with a heading and their time.

# step HEADING COMMAND...: runs the command in a subshell that stops at its first error; returns its exit code. 3 means that
# it could not be made, and has said why.
# $step_seconds is how long it took.
step() {
  local heading=$1 start=$EPOCHREALTIME status errexit=$-
  shift
  printf '\n== %s\n' "$heading"
  set +e
  (
    set -e
    "$@"
  )
  status=$?
  [[ $errexit != *e* ]] || set -e
  step_seconds=$(seconds_since "$start")
  local -A endings=([0]=done [3]=SKIPPED)
  printf '== %s: %s, %s s\n' "$heading" "${endings[$status]:-FAILED (exit $status)}" "$step_seconds"
  return "$status"
}

# seconds_since T: now minus T (of EPOCHREALTIME), as "12.3".
seconds_since() { awk -v from="$1" -v to="$EPOCHREALTIME" 'BEGIN { printf "%.1f", to - from }'; }

# waiting_for COMMAND...: runs a command that says nothing while it works; on a terminal, counts the seconds meanwhile.
waiting_for() {
  if [[ ! -t 2 ]]; then
    "$@"
    return
  fi
  local start=$EPOCHREALTIME status=0
  "$@" &
  local pid=$!
  # Ctrl-C ends the command too: it is in our process group.
  while kill -0 "$pid" 2> /dev/null; do
    printf '\r   %s s ' "$(seconds_since "$start")" >&2
    sleep 0.2
  done
  wait "$pid" || status=$?
  printf '\r            \r' >&2
  return "$status"
}
