// Command reliability writes the table of docs/reliability.md from the rows that the
// end-to-end tests measured; run it by make reliability.
package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/karmada-target/karmada-mirror/sandbox/e2e"
	"github.com/karmada-target/karmada-mirror/sandbox/written"
)

const (
	begin = "<!-- The table is written by `make reliability`. -->\n"
	end   = "<!-- End of the table. -->\n"
)

func main() {
	folder := flag.String("rows", "", "folder in which the tests have written rows")
	page := flag.String("page", "", "page to write the table into")
	flag.Parse()
	if err := run(*folder, *page); err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
}

func run(folder, path string) error {
	rows, err := read(folder)
	if err != nil {
		return err
	}
	now, err := written.Now(context.Background(), filepath.Dir(path))
	if err != nil {
		return err
	}
	return written.Between(path, begin, end, table(now, rows))
}

// numbers occur in the names of rows, because the long tests do more of the same.
var numbers = regexp.MustCompile(`[0-9]+`)

// read collects the rows of all packages of tests. Of a row that was measured by both the
// short and the long test, it takes the long one, which is in the later file.
func read(folder string) ([]e2e.Row, error) {
	files, err := filepath.Glob(filepath.Join(folder, "*.json"))
	if err != nil {
		return nil, err
	}
	if len(files) == 0 {
		return nil, errors.New("cannot find any rows: run the tests first")
	}
	slices.SortFunc(files, func(a, b string) int { return cmp.Compare(modified(a), modified(b)) })
	byFault := map[string]e2e.Row{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		var rows []e2e.Row
		if err := json.Unmarshal(text, &rows); err != nil {
			return nil, fmt.Errorf("cannot decode %s: %w", filepath.Base(file), err)
		}
		for _, row := range rows {
			byFault[numbers.ReplaceAllString(row.Fault, "")] = row
		}
	}
	all := make([]e2e.Row, 0, len(byFault))
	for _, row := range byFault {
		all = append(all, row)
	}
	slices.SortFunc(all, func(a, b e2e.Row) int { return cmp.Compare(a.Fault, b.Fault) })
	return all, nil
}

func modified(file string) int64 {
	info, err := os.Stat(file)
	if err != nil {
		return 0 // reading it will report the error
	}
	return info.ModTime().UnixNano()
}

func table(of written.Revision, rows []e2e.Row) string {
	lost, wrong := 0, 0
	for _, row := range rows {
		lost, wrong = lost+row.Lost, wrong+row.WrongDeletes
	}
	w := &strings.Builder{}
	fmt.Fprintf(w, "\n%d tests, %d Works lost, %d wrong deletions. Measured %s, with %s on %d cores and the daemon under the race detector.\n\n",
		len(rows), lost, wrong, of, runtime.Version(), runtime.NumCPU())
	fmt.Fprint(w, "| fault | Works lost | wrong deletions | in sync after | notes |\n|---|---|---|---|---|\n")
	for _, row := range rows {
		fmt.Fprintf(w, "| %s | %d | %d | %s | %s |\n", row.Fault, row.Lost, row.WrongDeletes, row.Converged.Round(10*time.Millisecond), row.Note)
	}
	fmt.Fprintln(w)
	return w.String()
}
