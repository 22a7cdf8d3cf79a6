#!/usr/bin/env bash
# Puts one fault after the other into a copy of this repository, and says whether a test finds it.
#
#   tools/mutants/faults.sh [PATTERN]                  by unit tests
#   BY=simulation tools/mutants/faults.sh [PATTERN]     by random worlds, for at most two minutes each
#   COMMAND='go test ./cli' tools/mutants/faults.sh    by anything that fails
#
# A fault is a patch in faults/. What precedes its diff says the harm, and by what it must be found. It
# fails if a fault no longer applies or compiles, or is not found. LIMIT is how long the search may take.
set -euo pipefail
cd "$(dirname "$0")/../.."
faults=$PWD/tools/mutants/faults
limit=${LIMIT:-5m}
by='unit tests'
if [[ -n ${COMMAND:-} ]]; then
  by=''
elif [[ ${BY:-} == simulation ]]; then
  by=simulation
fi

tree=$(mktemp -d)
trap 'git worktree remove --force "$tree"; rm -f "$tree.log"' EXIT
changes=$(git stash create) # uncommitted ones count
git worktree add --quiet --detach "$tree" "${changes:-HEAD}"
cd "$tree"

# search runs the tests; the packages with the fault come first.
search() {
  case $by in
  '') eval "$COMMAND" ;;
  simulation) cd simulation && SIMULATION=2m go test ./machine -count=1 -run TestRandom -parallel 99 -timeout 4m -rapid.shrinktime=1s -rapid.nofailfile ;;
  *) go test -p 1 -vet=off -failfast -timeout 2m -skip '^TestCost' "$@" && go test -p 1 -vet=off -failfast -timeout 2m -skip '^TestCost' ./config ./render/... ./watch ./mirror/... ;;
  esac
}
export -f search
export by COMMAND

# complaint is what a random world was wrong in and when that was found, or the test that has failed.
complaint() {
  { grep -m1 -oP 'the first failure, after \K.*' "$tree.log" || grep -m1 -oP -- '--- FAIL: \K\S+' "$tree.log" || tail -1 "$tree.log"; } | cut -c1-160
}

wrong=0
report() { # WORD FAULT BY
  printf '%-16s %-40s %4ds  %s\n' "$1" "$2" "$SECONDS" "${3:-}"
  [[ $1 == found ]] || wrong=$((wrong + 1))
}

for patch in "$faults"/${1:-}*.patch; do
  fault=$(basename "$patch" .patch)
  grep -q "^Found by:.*$by" "$patch" || continue
  SECONDS=0
  if ! git apply --3way --quiet "$patch"; then
    report 'does not apply' "$fault"
  else
    mapfile -t touched < <(git diff HEAD --name-only | xargs dirname | sort -u | sed 's,^,./,')
    if ! go vet "${touched[@]}" &>"$tree.log"; then
      report 'does not compile' "$fault" "$(tail -1 "$tree.log")"
    elif SECONDS=0; timeout "$limit" bash -c 'search "$@"' search "${touched[@]}" &>"$tree.log"; then
      report 'not found' "$fault" "$(sed -n 1p "$patch")"
    elif [[ $? == 124 ]] || grep -q 'panic: test timed out' "$tree.log"; then
      report 'timed out' "$fault"
    else
      report found "$fault" "$(complaint)"
    fi
  fi
  git reset --quiet --hard
done
((wrong == 0)) || { echo "$wrong faults are not as they should be"; exit 1; }
