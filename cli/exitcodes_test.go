package cli

import (
	"bytes"
	"path/filepath"
	"strings"
	"testing"
)

// exitCode is a row of the table in docs/reference/commands.md, with a command that ends so.
type exitCode struct {
	Code           int
	Commands, When string
	command        string
	paths          func(*testing.T) map[string]any
}

func noPaths(*testing.T) map[string]any { return server() }

// exitCodes are all that there are.
var exitCodes = []exitCode{
	{0, "all", "it has done what it is for", "version", noPaths},
	{1, "all but `diff`", "it failed, or the command line is wrong", "status --nonsense", noPaths},
	{0, "`status`, `explain`, `deletions list`", "also if something has failed, is held, or needs your attention", "status -A --needs-attention", fleet},
	{1, "`status`, `explain`", "an object that you name does not exist", "explain configmaps/absent -n shop", fleet},
	{1, "`wait`", "the time is over, or Ctrl-C", "wait deployments/web -n shop --for=healthy --timeout=0s", rollout},
	{0, "`diff`", "nothing differs", "diff configmaps/claimed -n shop", fleet},
	{1, "`diff`", "something differs", "diff -A", fleet},
	{2, "`diff`", "it failed, or the command line is wrong", "diff configmaps/absent -n shop", fleet},
	{1, "`check`", "something must be fixed (✗); not for a warning (!)", "check", noPaths},
	{1, "`validate`, `render`", "there is a mistake in a file", "validate -f " + filepath.Join("..", "examples", "deployment", "kustomization.yaml"), noPaths},
	{1, "`deletions approve`", "nothing is held", "deletions approve --yes", fleet},
	{1, "`deletions approve`, `purge`, `adopt`", "there is no terminal to ask on, and no `--yes`; nothing was done", "deletions approve", func(*testing.T) map[string]any { return held() }},
}

// TestExitCodes ends commands in each way of the table.
func TestExitCodes(t *testing.T) {
	for _, c := range exitCodes {
		t.Run(c.command, func(t *testing.T) {
			arguments := strings.Fields(c.command)
			if arguments[0] != "validate" && arguments[0] != "version" {
				arguments = append(arguments, "--kubeconfig", serve(t, c.paths(t), nil), "--cache-dir", t.TempDir())
			}
			code, told := 0, bytes.Buffer{}
			output, err := execute(arguments...)
			if err != nil {
				code = report(&told, err)
			}
			if code != c.Code {
				t.Errorf("%s: %s: exit code %d, not %d\n%s%s", c.Commands, c.When, code, c.Code, output, told.String())
			}
		})
	}
}
