package karmada

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync/atomic"
	"syscall"
	"time"
)

// grace is how long a component may take to end after SIGTERM before SIGKILL.
// The data is thrown away sooner or later, so more patience gains nothing.
const grace = 5 * time.Second

// process is one run of a component, as our child.
type process struct {
	command *exec.Cmd
	// birth is what the function birth returned.
	birth string
	// expected is true once we have asked it to end.
	expected atomic.Bool
	// ended is closed after err, which is how it ended, is set.
	ended chan struct{}
	err   error
}

// launch starts a command. onDeath is called if it ends unexpectedly.
func launch(command *exec.Cmd, onDeath func(error)) (*process, error) {
	p := &process{command: command, ended: make(chan struct{})}
	started := make(chan error)
	go func() {
		// Linux ties the parent-death signal to the thread that forked, not to
		// the process: that thread must live as long as the child.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := command.Start()
		started <- err
		if err != nil {
			return
		}
		p.err = command.Wait()
		close(p.ended)
		if !p.expected.Load() {
			onDeath(p.end())
		}
	}()
	if err := <-started; err != nil {
		return nil, fmt.Errorf("cannot start %s: %w", command.Path, err)
	}
	born, err := birth(command.Process.Pid)
	if err != nil {
		return nil, errors.Join(err, p.kill())
	}
	p.birth = born
	return p, nil
}

// end says how the process ended. Call it only after that.
func (p *process) end() error {
	if p.err != nil {
		return p.err
	}
	return errors.New("exit status 0")
}

func (p *process) alive() bool {
	select {
	case <-p.ended:
		return false
	default:
		return true
	}
}

// stop asks the process to end, kills it if it does not, and waits.
func (p *process) stop() error {
	p.expected.Store(true)
	if err := p.signal(syscall.SIGTERM); err != nil {
		return err
	}
	timer := time.NewTimer(grace)
	defer timer.Stop()
	select {
	case <-p.ended:
		return nil
	case <-timer.C:
		return p.kill()
	}
}

func (p *process) kill() error {
	p.expected.Store(true)
	if err := p.signal(os.Kill); err != nil {
		return err
	}
	<-p.ended
	return nil
}

// signal returns no error if the process has ended.
func (p *process) signal(s os.Signal) error {
	err := p.command.Process.Signal(s)
	if err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("cannot send %s to process %d: %w", s, p.command.Process.Pid, err)
	}
	return nil
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
