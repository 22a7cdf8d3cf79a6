package cli

import (
	"bytes"
	"context"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// exitCode is a row of the table in docs/reference/commands.md, with a command that ends so.
type exitCode struct {
	Code           int
	Commands, When string
	command        string
	paths          func(*testing.T) map[string]any
	// after is when it is interrupted; 0 for never.
	after time.Duration
}

func noPaths(*testing.T) map[string]any { return server() }

// exitCodes are all that there are.
var exitCodes = []exitCode{
	{0, "all", "it has done what it is for", "version", noPaths, 0},
	{1, "all but `diff`", "it failed, or the command line is wrong", "status --nonsense", noPaths, 0},
	{0, "`status`, `explain`, `deletions list`", "also if something has failed, is held, or needs your attention", "status -A --needs-attention", fleet, 0},
	{1, "`status`, `explain`", "an object that you name does not exist", "explain configmaps/absent -n shop", fleet, 0},
	{1, "`wait`", "the time is over", "wait deployments/web -n shop --for=healthy --timeout=0s", rollout, 0},
	{0, "`diff`", "nothing differs", "diff configmaps/claimed -n shop", fleet, 0},
	{1, "`diff`", "something differs", "diff -A", fleet, 0},
	{2, "`diff`", "it failed, or the command line is wrong", "diff configmaps/absent -n shop", fleet, 0},
	{2, "`diff`", "with `-f` or `-k`, one of the objects is refused on some cluster", "diff -f " + filepath.Join("testdata", "claimed.yaml"), fleet, 0},
	{1, "`check`", "something must be fixed (✗); not for a warning (!)", "check", noPaths, 0},
	{1, "`validate`, `render`", "there is a mistake in a file", "validate -f " + filepath.Join("..", "examples", "deployment", "kustomization.yaml"), noPaths, 0},
	{1, "`deletions approve`", "nothing is held", "deletions approve --yes", fleet, 0},
	{1, "`deletions approve`, `purge`, `adopt`", "there is no terminal to ask on, and no `--yes`; nothing was done", "deletions approve", func(*testing.T) map[string]any { return held() }, 0},
	{1, "`run`", "an invalid flag, no API server, the Lease was lost, a sync hangs, what it needs can neither be listed nor watched, or etcd was restored: start it again", "run --lease-duration=-1s", noPaths, 0},
	{0, "`run`, `status --watch`", "Ctrl-C or SIGTERM", "run", noPaths, time.Second},
	{interrupted, "all others", "Ctrl-C or SIGTERM before it is done", "wait deployments/web -n shop --for=healthy", rollout, time.Second},
}

// TestExitCodes ends commands in each way of the table.
func TestExitCodes(t *testing.T) {
	for _, c := range exitCodes {
		t.Run(c.command, func(t *testing.T) {
			arguments := strings.Fields(c.command)
			if arguments[0] != "validate" && arguments[0] != "version" {
				t.Setenv("KUBECONFIG", serve(t, c.paths(t), nil))
				t.Setenv("KUBECACHEDIR", t.TempDir())
			}
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			if c.after > 0 {
				time.AfterFunc(c.after, cancel)
			}
			code, told := 0, bytes.Buffer{}
			output, err := executeUntil(ctx, arguments...)
			if err != nil {
				code = report(&told, err, ctx.Err() != nil)
			}
			if code != c.Code {
				t.Errorf("%s: %s: exit code %d, not %d\n%s%s", c.Commands, c.When, code, c.Code, output, told.String())
			}
		})
	}
}
