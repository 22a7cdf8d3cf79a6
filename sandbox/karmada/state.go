package karmada

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"
)

// record is what other processes know about a component's process.
type record struct {
	Name  string `json:"name"`
	PID   int    `json:"pid"`
	Birth string `json:"birth"`
}

func statePath(dir string) string { return filepath.Join(dir, "state.json") }

// record keeps the state file current. It runs before the component is ready,
// so that Down never misses a process.
func (k *Karmada) record(c *Component, p *child) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.records[c.name] = record{Name: c.name, PID: p.PID(), Birth: p.birth}
	return k.writeStateLocked()
}

func (k *Karmada) writeStateLocked() error {
	records := make([]record, 0, len(k.records))
	for _, r := range k.records {
		records = append(records, r)
	}
	slices.SortFunc(records, func(a, b record) int { return a.PID - b.PID })
	encoded, err := json.MarshalIndent(records, "", "  ")
	if err != nil {
		return fmt.Errorf("cannot encode the state: %w", err)
	}
	path := statePath(k.options.Dir)
	if err := os.WriteFile(path+".new", encoded, 0o600); err != nil {
		return fmt.Errorf("cannot write the state: %w", err)
	}
	if err := os.Rename(path+".new", path); err != nil {
		return fmt.Errorf("cannot write the state: %w", err)
	}
	return nil
}

// Running counts the components that run in a folder given to Start, whichever
// process started them. In a folder that does not exist, nothing runs.
func Running(dir string) (int, error) {
	records, err := alive(dir)
	return len(records), err
}

// Down kills the components that run in a folder given to Start, whichever
// process started them, and waits until they are gone. A process that merely
// reuses the pid of an ended one is left alone.
func Down(dir string) error {
	records, err := alive(dir)
	for _, r := range records {
		err = errors.Join(err, r.stop())
	}
	return err
}

func alive(dir string) ([]record, error) {
	encoded, err := os.ReadFile(statePath(dir))
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("cannot read the state: %w", err)
	}
	var recorded, running []record
	if err := json.Unmarshal(encoded, &recorded); err != nil {
		return nil, fmt.Errorf("cannot decode the state in %q: %w", statePath(dir), err)
	}
	for _, r := range recorded {
		ours, err := r.runs()
		if err != nil {
			return nil, err
		}
		if ours {
			running = append(running, r)
		}
	}
	return running, nil
}

func (r record) runs() (bool, error) {
	born, err := birth(r.PID)
	return born != "" && born == r.Birth, err
}

// stop kills the process and waits for its end, which only polling can detect: it is not our child.
func (r record) stop() error {
	// Take the handle first and check the identity after: where handles are
	// more than numbers (Linux), the pid cannot change hands in between.
	handle, err := os.FindProcess(r.PID)
	if err != nil {
		return fmt.Errorf("cannot find process %d (%s): %w", r.PID, r.Name, err)
	}
	defer handle.Release() // the handle is not used any more
	ticker := time.NewTicker(20 * time.Millisecond)
	defer ticker.Stop()
	for deadline := time.Now().Add(grace); time.Now().Before(deadline); <-ticker.C {
		if runs, err := r.runs(); err != nil || !runs {
			return err
		}
		if err := handle.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
			return fmt.Errorf("cannot kill process %d (%s): %w", r.PID, r.Name, err)
		}
	}
	return fmt.Errorf("cannot stop process %d (%s): it survived SIGKILL", r.PID, r.Name)
}
