package build

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// DaemonAt compiles karmada-mirror as it was at a revision of the repository, and returns its
// path. A shallow clone may lack the revision.
func (b *Builder) DaemonAt(ctx context.Context, revision string) (path string, err error) {
	output, err := b.git(ctx, "rev-parse", "--verify", "--short=12", revision+"^{commit}")
	if err != nil {
		return "", fmt.Errorf("cannot find revision %q (git fetch --unshallow --tags brings the whole history): %w", revision, err)
	}
	commit := strings.TrimSpace(output)
	dir, err := os.MkdirTemp("", "karmada-mirror-"+commit+"-")
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	archive, sources := filepath.Join(dir, "sources.tar"), filepath.Join(dir, "sources")
	if _, err := b.git(ctx, "archive", "--output", archive, commit); err != nil {
		return "", fmt.Errorf("cannot read revision %s: %w", commit, err)
	}
	if err := os.Mkdir(sources, 0o755); err != nil {
		return "", err
	}
	if output, err := exec.CommandContext(ctx, "tar", "-xf", archive, "-C", sources).CombinedOutput(); err != nil {
		return "", fmt.Errorf("cannot unpack revision %s: %w: %s", commit, err, output)
	}
	path = filepath.Join(b.Cache(), "bin", "karmada-mirror-"+commit)
	return path, b.compile(ctx, step{
		what: "karmada-mirror at " + commit,
		dir:  sources, output: path, targets: []string{"."},
	})
}

func (b *Builder) git(ctx context.Context, arguments ...string) (string, error) {
	output, err := exec.CommandContext(ctx, "git", append([]string{"-C", b.Repository()}, arguments...)...).Output()
	return string(output), withStderr(err)
}
