package docs

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// retryInterval is the time between two attempts of a step that may succeed later.
const retryInterval = 300 * time.Millisecond

// Shell is one bash that runs the blocks of a page.
type Shell struct {
	command  *exec.Cmd
	stdin    io.WriteCloser
	statuses *bufio.Reader
	files    string // folder of scripts and outputs
}

// NewShell starts a shell in a folder. Close ends what the shell leaves running.
func NewShell(ctx context.Context, dir, files string, environment []string) (*Shell, error) {
	statuses, write, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("cannot create a pipe: %w", err)
	}
	defer write.Close()
	s := &Shell{command: exec.CommandContext(ctx, "bash", "--noprofile", "--norc", "-euo", "pipefail"), statuses: bufio.NewReader(statuses), files: files}
	s.command.Dir, s.command.Env, s.command.ExtraFiles = dir, environment, []*os.File{write}
	s.command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	s.command.Cancel = s.kill
	if s.stdin, err = s.command.StdinPipe(); err != nil {
		return nil, fmt.Errorf("cannot create a pipe: %w", err)
	}
	if err := s.command.Start(); err != nil {
		return nil, fmt.Errorf("cannot start a shell: %w", err)
	}
	return s, nil
}

// Close ends the shell and everything that it started.
func (s *Shell) Close() error {
	err := s.kill()
	_ = s.command.Wait() // it was killed
	return err
}

func (s *Shell) kill() error {
	err := syscall.Kill(-s.command.Process.Pid, syscall.SIGKILL)
	if errors.Is(err, syscall.ESRCH) {
		return nil
	}
	return err
}

// Run runs a step as its page says; the error says how it differs.
func (s *Shell) Run(ctx context.Context, step *Step) error {
	for {
		output, status, err := s.execute(step)
		if err != nil {
			return err
		}
		difference := step.differs(output, status)
		if difference == nil || !step.Eventually {
			return difference
		}
		select {
		case <-ctx.Done():
			return difference
		case <-time.After(retryInterval):
		}
	}
}

// execute runs a step once. A step that may fail or is retried runs in a subshell, so
// that this shell survives.
func (s *Shell) execute(step *Step) (output string, status int, err error) {
	script, printed := filepath.Join(s.files, "script"), filepath.Join(s.files, "output")
	if err := os.WriteFile(script, []byte(step.Text), 0o600); err != nil {
		return "", 0, err
	}
	run := fmt.Sprintf("source %q", script)
	if step.Eventually || step.Status != 0 {
		run = "set +e; (set -e; " + run + ")"
	}
	if _, err := fmt.Fprintf(s.stdin, "{ %s; } >%q 2>&1 </dev/null 3>&-\necho $? >&3; set -e\n", run, printed); err != nil {
		return "", 0, fmt.Errorf("the shell has ended: %w", err)
	}
	answer, ended := s.statuses.ReadString('\n')
	text, err := os.ReadFile(printed)
	if err != nil {
		return "", 0, err
	}
	if ended != nil {
		return "", 0, fmt.Errorf("it failed and printed\n%s", text)
	}
	status, err = strconv.Atoi(strings.TrimSpace(answer))
	return string(text), status, err
}

func (s *Step) differs(output string, status int) error {
	if status != s.Status {
		return fmt.Errorf("it exited with status %d instead of %d and printed\n%s", status, s.Status, output)
	}
	if s.Expected != nil && !s.Expected.Matches(output) {
		return fmt.Errorf("it printed\n%sinstead of\n%s", output, s.Expected)
	}
	return nil
}
