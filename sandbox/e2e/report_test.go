package e2e

import (
	"bytes"
	"cmp"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
	"time"
)

// pageVariable names the page that the run's figures are written into. It is no
// flag, for packages without that flag are tested by the same command.
const pageVariable = "KARMADA_MIRROR_RELIABILITY_PAGE"

const (
	tableBegin = "<!-- The table is written by `make reliability`. -->\n"
	tableEnd   = "<!-- End of the table. -->\n"
)

// write puts the rows between the two marks of a page.
func (r *rows) write(path string) error {
	page, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	head, rest, ok := bytes.Cut(page, []byte(tableBegin))
	_, tail, ended := bytes.Cut(rest, []byte(tableEnd))
	if !ok || !ended {
		return fmt.Errorf("cannot find the marks of the table in %q", path)
	}
	return os.WriteFile(path, slices.Concat(head, []byte(tableBegin), []byte(r.table()), []byte(tableEnd), tail), 0o644)
}

func (r *rows) table() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	slices.SortFunc(r.all, func(a, b row) int { return cmp.Compare(a.Fault, b.Fault) })
	var b strings.Builder
	fmt.Fprintf(&b, "\nMeasured with %s on %d cores, the daemon under the race detector.\n\n", runtime.Version(), runtime.NumCPU())
	b.WriteString("| fault | Works lost | wrong deletions | in sync after | remarks |\n|---|---|---|---|---|\n")
	for _, one := range r.all {
		fmt.Fprintf(&b, "| %s | %d | %d | %s | %s |\n", one.Fault, one.Lost, one.WrongDeletes, one.Converged.Round(10*time.Millisecond), one.Note)
	}
	b.WriteByte('\n')
	return b.String()
}
