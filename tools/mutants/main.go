// Command mutants breaks the daemon in one place at a time, and says which unit test
// notices. A mutant is a change of one or two lines, chosen by hand: it stands for a
// harm that the daemon must not do, such as a deletion without a live read. Each package
// has one or more files of the list. The check fails if
//
//   - a mutant survives: no test notices it;
//   - a mutant is said to be equivalent, but a test notices it: the explanation is wrong;
//   - what a mutant changes is not in its file exactly once, or it does not compile: the
//     code has moved on, and the mutant must follow;
//   - a test takes so long that it proves nothing.
//
// The tree is never touched: go test gets the changed file through -overlay. Only the
// unit tests of render, config, watch, mirror and the packages beneath them run, without
// the race detector: code that decides about deletions must be tested where a test takes
// a second.
//
// To add a mutant, add it to the list, and run it alone: go run ./mutants -run NAME. Its
// name is the harm in short, and its text the harm in full.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"
	"slices"
	"time"
)

func main() {
	root := flag.String("root", "..", "folder of the daemon's module")
	run := flag.String("run", "", "regular expression for the names of the mutants to try (default all)")
	part := flag.String("part", "0/1", "try only one of several equal parts of the list: 2/3 is the last of three")
	atOnce := flag.Int("p", 4, "how many mutants to try at once: the tests of some packages mostly wait")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := check(ctx, os.Stdout, *root, *run, *part, *atOnce); err != nil {
		fmt.Fprintln(os.Stderr, "mutants:", err)
		os.Exit(1)
	}
}

// packages are those whose tests must notice.
var packages = []string{
	"render", "render/override", "render/aggregate", "config", "watch", "mirror/state", "mirror/judge", "mirror/queue", "mirror/gather", "mirror/write", "mirror/purge", "mirror",
}

func check(ctx context.Context, out io.Writer, root, run, part string, atOnce int) error {
	mutants, err := choose(all(), run, part)
	if err != nil {
		return err
	}
	root, err = filepath.Abs(root)
	if err != nil {
		return err
	}
	folder, err := os.MkdirTemp("", "mutants")
	if err != nil {
		return err
	}
	defer os.RemoveAll(folder)
	return lab{root: root, folder: folder, packages: packages, atOnce: atOnce, out: out, now: time.Now}.try(ctx, mutants)
}

// choose returns the mutants of one part, such as 2/3, whose names match run.
func choose(mutants []mutant, run, part string) (chosen []mutant, err error) {
	pattern, err := regexp.Compile(run)
	if err != nil {
		return nil, err
	}
	var which, parts int
	if n, err := fmt.Sscanf(part, "%d/%d", &which, &parts); n != 2 || err != nil || which < 0 || which >= parts {
		return nil, fmt.Errorf("there is no part %q: of three parts, the first is 0/3 and the last is 2/3", part)
	}
	for i, m := range mutants {
		if i%parts == which && pattern.MatchString(m.name) {
			chosen = append(chosen, m)
		}
	}
	if len(chosen) == 0 {
		return nil, fmt.Errorf("no mutant of part %s has a name that matches %q", part, run)
	}
	return chosen, nil
}

// all returns the list.
func all() []mutant {
	return slices.Concat(ofRender, ofEdits, ofOverride, ofAggregate, ofStatus, ofFinalizers, ofWaves, ofConfig, ofWatch, ofMirror)
}
