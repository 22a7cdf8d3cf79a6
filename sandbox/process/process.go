// Package process runs programs beside a sandbox, karmada-mirror above all, and reads what
// they say: their log, their metrics, their probes. It knows nothing of Karmada, nor of
// what karmada-mirror mirrors.
package process

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"
)

// stopPatience is how long a program may take to end in good order.
const stopPatience = 20 * time.Second

// Process is a program that runs, or has run.
type Process struct {
	command *exec.Cmd
	ended   chan struct{}
	err     error // of the process, once ended
}

// Start starts a program. It is in a process group of its own, so that Ctrl-C in a terminal
// is for whoever has started it, and dies with this process. Its standard error is read to
// its end by say, or is that of the command if say is nil.
func Start(command *exec.Cmd, say func(io.Reader)) (*Process, error) {
	command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	var stderr io.Reader
	if say != nil {
		var err error
		if stderr, err = command.StderrPipe(); err != nil {
			return nil, fmt.Errorf("cannot read what %s says: %w", filepath.Base(command.Path), err)
		}
	}
	if err := command.Start(); err != nil {
		return nil, fmt.Errorf("cannot start %s: %w", filepath.Base(command.Path), err)
	}
	p := &Process{command: command, ended: make(chan struct{})}
	go func() {
		defer close(p.ended)
		if say != nil {
			say(stderr) // to its end, before Wait closes the pipe
		}
		p.err = command.Wait()
	}()
	return p, nil
}

// PID is its process id.
func (p *Process) PID() int { return p.command.Process.Pid }

// Ended is closed when it has ended.
func (p *Process) Ended() <-chan struct{} { return p.ended }

// HasEnded reports whether it has.
func (p *Process) HasEnded() bool {
	select {
	case <-p.ended:
		return true
	default:
		return false
	}
}

// Err is how it has ended: nil while it runs and after exit status 0.
func (p *Process) Err() error {
	if !p.HasEnded() {
		return nil
	}
	return p.err
}

// Signal sends it a signal. One that has ended needs none.
func (p *Process) Signal(signal os.Signal) error {
	if err := p.command.Process.Signal(signal); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("cannot send %s to %s: %w", signal, filepath.Base(p.command.Path), err)
	}
	return nil
}

// Stop asks it to end in good order and waits until it has. An end that is not good, or that
// does not come, is an error.
func (p *Process) Stop() error {
	if err := p.Signal(syscall.SIGTERM); err != nil {
		return err
	}
	select {
	case <-p.ended:
	case <-time.After(stopPatience):
		return errors.Join(fmt.Errorf("%s has not ended within %s of SIGTERM", filepath.Base(p.command.Path), stopPatience), p.Kill())
	}
	if p.err != nil {
		return fmt.Errorf("%s ended badly: %w", filepath.Base(p.command.Path), p.err)
	}
	return nil
}

// Kill ends it as a power cut would.
func (p *Process) Kill() error {
	err := p.Signal(syscall.SIGKILL)
	if err == nil {
		<-p.ended
	}
	return err
}

// FreeAddress is one on loopback that nobody listens on, for a program that cannot say
// which it has chosen.
func FreeAddress() (string, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", fmt.Errorf("cannot find a free address: %w", err)
	}
	return listener.Addr().String(), listener.Close()
}
