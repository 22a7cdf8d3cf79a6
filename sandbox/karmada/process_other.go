//go:build !linux

package karmada

import (
	"errors"
	"fmt"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
)

// attributes puts a component into a session of its own, so that Ctrl-C in a
// terminal reaches only us and components are stopped in order.
func attributes(bool) *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setsid: true}
}

// birth distinguishes two processes that had the same pid one after the other.
// It is empty if no such process runs; a zombie, which only waits to be reaped
// by its parent, does not run.
func birth(pid int) (string, error) {
	out, err := exec.Command("ps", "-o", "stat=,lstart=", "-p", strconv.Itoa(pid)).Output()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("cannot read the start time of process %d: %w", pid, err)
	}
	state, started, _ := strings.Cut(strings.TrimSpace(string(out)), " ")
	if strings.HasPrefix(state, "Z") {
		return "", nil
	}
	return strings.TrimSpace(started), nil
}
