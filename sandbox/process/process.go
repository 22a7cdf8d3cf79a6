// Package process runs programs beside a sandbox, above all karmada-mirror, and reads their
// logs, metrics and probes. It knows nothing about Karmada or what karmada-mirror mirrors.
package process

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"syscall"
	"time"
)

// stopPatience is how long a program may take to shut down cleanly: the grace period of a Pod. The
// daemon gives the writes in flight up to 24 s.
const stopPatience = 30 * time.Second

// Process is a program that is running or has ended.
type Process struct {
	command *exec.Cmd
	ended   chan struct{}
	err     error // exit error of the process, set before ended is closed
}

// Start starts a program that, unless its attributes say otherwise, dies with this process. It gets a
// process group of its own, so that Ctrl-C in a terminal does not reach it. say reads its standard error
// to the end; if say is nil, the command's own standard error is used.
func Start(command *exec.Cmd, say func(io.Reader)) (*Process, error) {
	if command.SysProcAttr == nil {
		command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	}
	var stderr io.Reader
	if say != nil {
		var err error
		if stderr, err = command.StderrPipe(); err != nil {
			return nil, fmt.Errorf("cannot read what %s says: %w", filepath.Base(command.Path), err)
		}
	}
	p, started := &Process{command: command, ended: make(chan struct{})}, make(chan error)
	go func() {
		// Linux ties the parent-death signal to the thread that forked, not to the process: that thread
		// must live as long as the child.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := command.Start()
		started <- err
		if err != nil {
			return
		}
		defer close(p.ended)
		if say != nil {
			say(stderr) // to the end, before Wait closes the pipe
		}
		p.err = command.Wait()
	}()
	if err := <-started; err != nil {
		return nil, fmt.Errorf("cannot start %s: %w", filepath.Base(command.Path), err)
	}
	return p, nil
}

// PID returns its process ID.
func (p *Process) PID() int { return p.command.Process.Pid }

// Ended returns a channel that is closed when the process has ended.
func (p *Process) Ended() <-chan struct{} { return p.ended }

// HasEnded reports whether the process has ended.
func (p *Process) HasEnded() bool {
	select {
	case <-p.ended:
		return true
	default:
		return false
	}
}

// Err returns how the process ended: nil while it runs and after exit status 0.
func (p *Process) Err() error {
	if !p.HasEnded() {
		return nil
	}
	return p.err
}

// Signal sends a signal to the process. It does nothing if the process has ended.
func (p *Process) Signal(signal os.Signal) error {
	if err := p.command.Process.Signal(signal); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("cannot send %s to %s: %w", signal, filepath.Base(p.command.Path), err)
	}
	return nil
}

// Stop asks the process to shut down cleanly and waits until it has. It returns an error if
// the process fails or does not end.
func (p *Process) Stop() error {
	if err := p.Signal(syscall.SIGTERM); err != nil {
		return err
	}
	select {
	case <-p.ended:
	case <-time.After(stopPatience):
		return errors.Join(fmt.Errorf("%s did not end within %s of SIGTERM", filepath.Base(p.command.Path), stopPatience), p.abort())
	}
	if p.err != nil {
		return fmt.Errorf("%s failed: %w", filepath.Base(p.command.Path), p.err)
	}
	return nil
}

// abort ends a process that hangs; one written in Go says in its log what it hangs in.
func (p *Process) abort() error {
	if err := p.Signal(syscall.SIGQUIT); err != nil {
		return err
	}
	select {
	case <-p.ended:
		return nil
	case <-time.After(time.Second):
		return p.Kill()
	}
}

// Kill ends the process as a power cut would.
func (p *Process) Kill() error {
	err := p.Signal(syscall.SIGKILL)
	if err == nil {
		<-p.ended
	}
	return err
}
