package karmada

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strings"
	"syscall"
)

// attributes puts a component into a process group of its own, so that Ctrl-C in a
// terminal reaches only us and components are stopped in order. Unless it is
// detached, the kernel kills it if we die without stopping it.
func attributes(detached bool) *syscall.SysProcAttr {
	if detached {
		return &syscall.SysProcAttr{Setsid: true}
	}
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}

// birth distinguishes two processes that had the same pid one after the other, even
// across reboots. It is empty if no such process runs; a zombie, which only waits
// to be reaped by its parent, does not run.
func birth(pid int) (string, error) {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if errors.Is(err, os.ErrNotExist) || errors.Is(err, syscall.ESRCH) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("cannot read the start time of process %d: %w", pid, err)
	}
	boot, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return "", fmt.Errorf("cannot read the boot id: %w", err)
	}
	// The command name, the second field, may contain blanks and parentheses; field
	// 3, the state, follows its last parenthesis. See proc_pid_stat(5).
	fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
	const state, startTime = 0, 22 - 3
	if len(fields) <= startTime {
		return "", fmt.Errorf("cannot read the start time of process %d: %d fields", pid, len(fields))
	}
	if fields[state] == "Z" || fields[state] == "X" {
		return "", nil
	}
	return strings.TrimSpace(string(boot)) + "/" + fields[startTime], nil
}
