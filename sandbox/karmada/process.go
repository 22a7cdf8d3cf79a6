package karmada

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/karmada-target/karmada-mirror/sandbox/process"
)

// grace is how long a component may take to end after SIGTERM before SIGKILL.
// The data is thrown away sooner or later, so more patience gains nothing.
const grace = 5 * time.Second

// child is one run of a component.
type child struct {
	*process.Process
	// birth is what the function birth returned.
	birth string
	// expected is true once we have asked it to end.
	expected atomic.Bool
}

// launch starts a command. onDeath is called if it ends unexpectedly.
func launch(command *exec.Cmd, onDeath func(error)) (*child, error) {
	started, err := process.Start(command, nil)
	if err != nil {
		return nil, err
	}
	c := &child{Process: started}
	go func() {
		<-c.Ended()
		if err := c.Err(); !c.expected.Load() {
			onDeath(cmp.Or(err, errors.New("exit status 0")))
		}
	}()
	if c.birth, err = birth(c.PID()); err != nil {
		c.expected.Store(true)
		return nil, errors.Join(err, c.Kill())
	}
	return c, nil
}

// stop asks the process to end, kills it if it does not, and waits.
func (c *child) stop() error {
	c.expected.Store(true)
	if err := c.Signal(syscall.SIGTERM); err != nil {
		return err
	}
	select {
	case <-c.Ended():
		return nil
	case <-time.After(grace):
		return c.Kill()
	}
}

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
