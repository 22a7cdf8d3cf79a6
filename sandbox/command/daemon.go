package command

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"time"
)

// stopPatience is how long karmada-mirror may take to end in good order.
const stopPatience = 15 * time.Second

// daemon is a running karmada-mirror.
type daemon struct {
	command *exec.Cmd
	log     string // path
	ended   chan struct{}
	err     error // once ended
}

func startDaemon(program, kubeconfig, log string) (*daemon, error) {
	file, err := os.Create(log)
	if err != nil {
		return nil, fmt.Errorf("cannot make the log of karmada-mirror: %w", err)
	}
	defer file.Close() // the process has its own handle
	d := &daemon{
		command: exec.Command(program, "run", "--kubeconfig", kubeconfig, "--log-format", "console",
			"--metrics-bind-address", "127.0.0.1:0", "--health-probe-bind-address", "127.0.0.1:0"),
		log:   log,
		ended: make(chan struct{}),
	}
	d.command.Stderr = file
	// Ctrl-C is for the demo, which ends its parts in order.
	d.command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := d.command.Start(); err != nil {
		return nil, fmt.Errorf("cannot start karmada-mirror: %w", err)
	}
	go func() {
		defer close(d.ended)
		d.err = d.command.Wait()
	}()
	return d, nil
}

func (d *daemon) stop() error {
	if err := d.command.Process.Signal(syscall.SIGTERM); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("cannot stop karmada-mirror: %w", err)
	}
	select {
	case <-d.ended:
	case <-time.After(stopPatience):
		_ = d.command.Process.Kill()
		<-d.ended
	}
	if d.err != nil {
		return fmt.Errorf("karmada-mirror ended badly: %w", d.err)
	}
	return nil
}
