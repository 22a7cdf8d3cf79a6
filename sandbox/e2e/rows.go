package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"
)

// RowsVariable is the environment variable for the folder where each package of tests
// writes the rows that it has measured, for the command reliability to find. If it is
// empty, no rows are written.
const RowsVariable = "KARMADA_MIRROR_RELIABILITY"

// Row is one row of docs/reliability.md.
type Row struct {
	Fault        string
	Lost         int
	WrongDeletes int
	Converged    time.Duration
	Note         string
}

// rows collects the rows of one test run.
type rows struct {
	mu  sync.Mutex
	all []Row
}

// AddRow adds a row that a test has measured by itself.
func AddRow(one Row) { Env.rows.add(one) }

func (r *rows) add(one Row) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.all = append(r.all, one)
}

// note changes the remark of an existing row.
func (r *rows) note(fault, note string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for i := range r.all {
		if r.all[i].Fault == fault {
			r.all[i].Note = note
		}
	}
}

// save writes the rows to a file of this process, for the command reliability.
func (r *rows) save() error {
	dir := os.Getenv(RowsVariable)
	if dir == "" || len(r.all) == 0 {
		return nil
	}
	text, err := json.MarshalIndent(r.all, "", "  ")
	if err != nil {
		return err
	}
	file := filepath.Join(dir, fmt.Sprintf("%s-%d.json", filepath.Base(os.Args[0]), os.Getpid()))
	return os.WriteFile(file, text, 0o644)
}
