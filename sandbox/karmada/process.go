package karmada

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
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
