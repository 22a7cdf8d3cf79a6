#!/usr/bin/env bash
# Lets gremlins change one operator after the other in a pure package, and lists the changes that its
# tests miss:
#
#   tools/mutants/gremlins.sh ./mirror/judge
#   tools/mutants/gremlins.sh --diff main ./mirror/judge    only what has changed since
set -euo pipefail
cd "$(dirname "$0")/../.."
config=$PWD/tools/mutants/gremlins.yaml gremlins=$PWD/.cache/bin/gremlins
go -C tools/mutants build -o "$gremlins" github.com/go-gremlins/gremlins/cmd/gremlins

# gremlins copies the whole module for each worker: here, without .cache and what no unit test reads.
tree=$(mktemp -d)
trap 'git worktree remove --force "$tree"' EXIT
changes=$(git stash create) # uncommitted ones count
git worktree add --quiet --detach "$tree" "${changes:-HEAD}"
cd "$tree"
rm -rf sandbox simulation tools
# With -count=1, the tests take as long as they do, and not as long as reading the test cache. What go vet
# finds is not found by a test.
GOFLAGS='-count=1 -vet=off -ldflags=-w' "$gremlins" unleash --config "$config" "$@"
