package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// mutant is one change that makes the daemon worse.
type mutant struct {
	name string
	// file is the path from the root of the module.
	file string
	// old is in the file exactly once; new replaces it.
	old, new string
	// harm is what the daemon would do.
	harm string
	// equivalent is why no test can notice; empty if one must.
	equivalent string
}

// mutate returns the file's text with the change.
func (m mutant) mutate(text string) (string, error) {
	if n := strings.Count(text, m.old); n != 1 {
		return "", fmt.Errorf("the code of %s is in %s %d times, want once: update the mutant", m.name, m.file, n)
	}
	return strings.Replace(text, m.old, m.new, 1), nil
}

// lab is where mutants are tried.
type lab struct {
	// root is the folder of the module, and folder is where changed files go; both are
	// absolute.
	root, folder string
	packages     []string
	atOnce       int
	out          io.Writer
	now          func() time.Time
}

// measures are tests that measure memory or time: they take seconds themselves.
const measures = "^(TestCost|TestRelabellingIn50000)"

// patience is how long the tests of a package may take.
const patience = 2 * time.Minute

// verdict is the outcome of a mutant.
type verdict struct {
	word string
	// by is the test that noticed; empty if none did.
	by  string
	err error
}

// try prints the outcome of each mutant, and returns an error unless all are as they
// should be.
func (l lab) try(ctx context.Context, mutants []mutant) error {
	began := l.now()
	if err := l.prepare(mutants); err != nil {
		return err
	}
	if by, err := l.test(ctx, "", l.packages); err != nil || by != "" {
		return errors.Join(err, fmt.Errorf("without any change the tests fail: %q", by))
	}
	verdicts := make([]chan verdict, len(mutants))
	free := make(chan bool, max(1, l.atOnce))
	for i := range mutants {
		verdicts[i] = make(chan verdict, 1)
	}
	go func() {
		for i, m := range mutants {
			free <- true
			go func() {
				verdicts[i] <- l.judge(ctx, m)
				<-free
			}()
		}
	}()
	var errs []error
	for i, m := range mutants {
		v := <-verdicts[i]
		fmt.Fprintf(l.out, "%-10s %-44s %-21s %s\n", v.word, m.name, m.file, v.by)
		if v.err != nil {
			errs = append(errs, v.err)
		}
	}
	fmt.Fprintf(l.out, "%d mutants, %d of them not as they should be, in %s\n", len(mutants), len(errs), l.now().Sub(began).Round(time.Second))
	return errors.Join(errs...)
}

// prepare writes the changed files and an overlay for each. It returns everything that is
// out of date at once.
func (l lab) prepare(mutants []mutant) error {
	var errs []error
	seen := map[string]bool{}
	for _, m := range mutants {
		if seen[m.name] || m.harm == "" {
			errs = append(errs, fmt.Errorf("%s is listed twice, or does not say what harm it does", m.name))
		}
		seen[m.name] = true
		errs = append(errs, l.write(m))
	}
	return errors.Join(errs...)
}

func (l lab) write(m mutant) error {
	original := filepath.Join(l.root, filepath.FromSlash(m.file))
	text, err := os.ReadFile(original)
	if err != nil {
		return err
	}
	mutated, err := m.mutate(string(text))
	if err != nil {
		return err
	}
	changed := filepath.Join(l.folder, m.name+".go")
	if err := os.WriteFile(changed, []byte(mutated), 0o600); err != nil {
		return err
	}
	overlay, err := json.Marshal(map[string]any{"Replace": map[string]string{original: changed}})
	if err != nil {
		return err
	}
	return os.WriteFile(l.overlay(m), overlay, 0o600)
}

func (l lab) overlay(m mutant) string { return filepath.Join(l.folder, m.name+".json") }

// judge tries one mutant: first on the tests of its own package, which are the nearest,
// and then on the others.
func (l lab) judge(ctx context.Context, m mutant) verdict {
	own := path.Dir(m.file)
	tried := []string{own}
	by, err := l.test(ctx, l.overlay(m), tried)
	if others := slices.DeleteFunc(slices.Clone(l.packages), func(p string) bool { return p == own }); err == nil && by == "" && len(others) > 0 {
		tried = others
		by, err = l.test(ctx, l.overlay(m), tried)
	}
	if err == nil && by != "" {
		err = l.confirm(ctx, l.overlay(m), tried, by)
	}
	switch {
	case err != nil:
		return verdict{"?", "", fmt.Errorf("%s: %w", m.name, err)}
	case by != "" && m.equivalent != "":
		return verdict{"killed", by, fmt.Errorf("%s is noticed by %s: its explanation is out of date", m.name, by)}
	case by != "":
		return verdict{"killed", by, nil}
	case m.equivalent != "":
		return verdict{"equivalent", m.equivalent, nil}
	}
	return verdict{"survived", "", fmt.Errorf("no test notices %s: %s", m.name, m.harm)}
}

// event is one line of go test -json (go doc test2json; for builds, go help buildjson).
type event struct {
	Action, Test, Package, Output, FailedBuild string
}

// test runs the tests of packages, and returns the first that fails. It returns an error
// if the failure proves nothing.
func (l lab) test(ctx context.Context, overlay string, packages []string, more ...string) (failed string, err error) {
	args := []string{"test", "-json", "-failfast", "-vet=off", "-ldflags=-s -w", "-p=1", "-parallel=8", "-timeout=" + patience.String(), "-skip=" + measures, "-overlay=" + overlay}
	args = append(args, more...)
	for _, p := range packages {
		args = append(args, "./"+p)
	}
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir = l.root
	var complaints bytes.Buffer
	cmd.Stderr = &complaints
	output, err := cmd.Output()
	if err == nil {
		return "", nil
	}
	if ctx.Err() != nil {
		return "", ctx.Err()
	}
	failed, proof := firstFailure(output)
	if proof != nil {
		return "", proof
	}
	if failed == "" {
		return "", fmt.Errorf("go test: %w: %s", err, complaints.String())
	}
	return failed, nil
}

// confirm runs a failed test again: one that fails by chance proves nothing.
func (l lab) confirm(ctx context.Context, overlay string, packages []string, failed string) error {
	name, _, _ := strings.Cut(failed, "/")
	if !strings.HasPrefix(name, "Test") && !strings.HasPrefix(name, "Fuzz") && !strings.HasPrefix(name, "Example") {
		return nil // a whole package, as when its process ends
	}
	again, err := l.test(ctx, overlay, packages, "-run=^"+name+"$")
	if err == nil && again == "" {
		err = fmt.Errorf("%s failed and then passed, which proves nothing", failed)
	}
	return err
}

// firstFailure returns the test that failed first, or its package if nothing more is
// known.
func firstFailure(output []byte) (failed string, err error) {
	var said strings.Builder
	for line := range bytes.Lines(output) {
		var e event
		if json.Unmarshal(line, &e) != nil {
			continue
		}
		said.WriteString(e.Output)
		switch {
		case e.Action == "build-fail" || e.FailedBuild != "":
			return "", fmt.Errorf("it does not compile:\n%s", said.String())
		case strings.Contains(e.Output, "signal: killed"):
			return "", errors.New("its process was killed, which proves nothing")
		case strings.Contains(e.Output, "panic: test timed out"):
			return "", fmt.Errorf("%s timed out, which proves nothing: choose another change", e.Test)
		case e.Action == "fail" && failed == "" && e.Test != "":
			failed = e.Test
		case e.Action == "fail" && failed == "":
			failed = path.Base(e.Package) + ": " + lastLine(said.String())
		}
	}
	return failed, nil
}

func lastLine(s string) string {
	lines := strings.Split(strings.TrimSpace(s), "\n")
	return lines[len(lines)-1]
}
