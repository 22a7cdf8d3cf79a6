package command

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"
)

// step is a command line that a user would type.
type step struct {
	line string
	// isRefused means that the API server rejects it, and the demo shows how.
	isRefused bool
}

// walk moves a Deployment to another cluster, makes a mistake, and asks why
// the Deployment is where it is.
var walk = []step{
	{line: "kubectl -n hello annotate deployment nginx karmada.target/clusters=member2 --overwrite"},
	{line: "karmada-mirror wait deployment/nginx -n hello --for=healthy"},
	{line: "kubectl --kubeconfig member2.kubeconfig -n hello get deployment nginx"},
	{line: "karmada-mirror status -n hello"},
	{line: "kubectl -n hello annotate deployment nginx karmada.target/cluster=member1", isRefused: true},
	{line: "karmada-mirror explain deployment nginx -n hello"},
}

// takeWalk runs the steps in the folder of the demo, with a pause before each,
// and prints each with its output.
func (d *demo) takeWalk(ctx context.Context, hyperkarmada, program string, pause time.Duration) error {
	bin := filepath.Join(d.dir, "bin")
	if err := errors.Join(
		os.Mkdir(bin, 0o755),
		os.Symlink(hyperkarmada, filepath.Join(bin, "kubectl")),
		os.Symlink(program, filepath.Join(bin, "karmada-mirror")),
	); err != nil {
		return fmt.Errorf("cannot create a folder of programs: %w", err)
	}
	for _, s := range walk {
		if err := d.take(ctx, s, bin, pause); err != nil {
			return err
		}
	}
	return nil
}

func (d *demo) take(ctx context.Context, s step, bin string, pause time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(pause):
	}
	fmt.Fprintln(d.out, "\n$ "+s.line)
	shell := exec.CommandContext(ctx, "sh", "-c", s.line)
	shell.Dir = d.dir
	shell.Env = append(os.Environ(), "KUBECONFIG="+d.Kubeconfig(), "PATH="+bin+string(os.PathListSeparator)+os.Getenv("PATH"))
	shell.Stdout, shell.Stderr = d.out, d.out
	err := shell.Run()
	if s.isRefused && err == nil {
		return fmt.Errorf("%q was not refused", s.line)
	}
	if !s.isRefused && err != nil {
		return fmt.Errorf("%q failed: %w", s.line, err)
	}
	return nil
}
