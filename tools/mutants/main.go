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
// unit tests of render, config, watch, mirror and the packages beneath it run, without
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
	atOnce := flag.Int("p", 2, "how many mutants to try at once")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := check(ctx, os.Stdout, *root, *run, *atOnce); err != nil {
		fmt.Fprintln(os.Stderr, "mutants:", err)
		os.Exit(1)
	}
}

// packages are those whose tests must notice.
var packages = []string{
	"render", "config", "watch", "mirror/state", "mirror/judge", "mirror/queue", "mirror/gather", "mirror/write", "mirror/purge", "mirror",
}

func check(ctx context.Context, out io.Writer, root, run string, atOnce int) error {
	pattern, err := regexp.Compile(run)
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
	mutants := slices.DeleteFunc(all(), func(m mutant) bool { return !pattern.MatchString(m.name) })
	if len(mutants) == 0 {
		return fmt.Errorf("no mutant's name matches %q", run)
	}
	return lab{root: root, folder: folder, packages: packages, atOnce: atOnce, out: out, now: time.Now}.try(ctx, mutants)
}

// all returns the list.
func all() []mutant { return slices.Concat(ofRender, ofConfig, ofWatch, ofMirror) }
