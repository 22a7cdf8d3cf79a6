// Package written holds what generated pages have in common: the marks around the
// generated text, and the revision that the figures were measured at.
package written

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"
)

// Between replaces the text between two marks of a page.
func Between(path, begin, end, text string) error {
	page, err := os.ReadFile(path)
	if err != nil {
		return fmt.Errorf("cannot read the page: %w", err)
	}
	page, err = insert(page, begin, end, text)
	if err != nil {
		return fmt.Errorf("cannot write %q: %w", path, err)
	}
	return os.WriteFile(path, page, 0o644)
}

func insert(page []byte, begin, end, text string) ([]byte, error) {
	head, rest, begins := bytes.Cut(page, []byte(begin))
	_, tail, ends := bytes.Cut(rest, []byte(end))
	if !begins || !ends {
		return nil, fmt.Errorf("it lacks the marks %q and %q", strings.TrimSpace(begin), strings.TrimSpace(end))
	}
	return slices.Concat(head, []byte(begin), []byte(text), []byte(end), tail), nil
}

// Revision says when and at which revision a figure was measured, in words.
type Revision struct {
	Date time.Time
	// Commit is the abbreviated hash of HEAD; IsDirty means that there are uncommitted
	// changes.
	Commit  string
	IsDirty bool
}

// Now reads the current revision of a repository.
func Now(ctx context.Context, repository string) (Revision, error) {
	commit, err := git(ctx, repository, "rev-parse", "--short=12", "HEAD")
	if err != nil {
		return Revision{}, err
	}
	changes, err := git(ctx, repository, "status", "--porcelain")
	return Revision{time.Now(), commit, changes != ""}, err
}

func (r Revision) String() string {
	text := fmt.Sprintf("on %s at revision %s", r.Date.UTC().Format(time.DateOnly), r.Commit)
	if r.IsDirty {
		text += " with uncommitted changes"
	}
	return text
}

func git(ctx context.Context, dir string, arguments ...string) (string, error) {
	command := exec.CommandContext(ctx, "git", arguments...)
	command.Dir = dir
	out, err := command.Output()
	if err != nil {
		return "", fmt.Errorf("cannot run git %s: %w", arguments[0], err)
	}
	return strings.TrimSpace(string(out)), nil
}
