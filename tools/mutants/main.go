// Command mutants breaks the daemon at one place at a time, and says which unit test
// notices. A mutant is one change of one line or two, chosen by hand: it stands for a
// harm that the daemon must not do, such as a deletion without a live read. The list is
// in a file for each package, or several; the check fails if
//
//   - a mutant survives, that is to say no test notices it;
//   - a mutant is said to be equivalent, and a test notices it: the explanation is wrong;
//   - what a mutant changes is not in its file exactly once, or it does not compile: the
//     code has moved on, and the mutant has to follow;
//   - a test takes so long that it proves nothing.
//
// The tree is never touched: go test is given the changed file by -overlay. Only the
// unit tests of render, config, watch, mirror and the packages beneath it are run, and
// without the race detector: what decides about deletions has to be tested where a test
// takes a second.
//
// To add one, add to the list, and run it alone: go run ./mutants -run NAME. Of each
// mutant the name is the harm in short, and the text the harm in full.
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
	root := flag.String("root", "..", "the folder of the daemon's module")
	run := flag.String("run", "", "a regular expression of the names of the mutants to try; empty is all")
	atOnce := flag.Int("p", 2, "how many mutants are tried at once")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := check(ctx, os.Stdout, *root, *run, *atOnce); err != nil {
		fmt.Fprintln(os.Stderr, "mutants:", err)
		os.Exit(1)
	}
}

// packages are those whose tests have to notice.
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

// all is the list.
func all() []mutant { return slices.Concat(ofRender, ofConfig, ofWatch, ofMirror) }
