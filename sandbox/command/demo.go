package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/karmada-target/karmada-mirror/sandbox/karmada"
	"github.com/karmada-target/karmada-mirror/sandbox/process"
)

func newDemo() *cobra.Command {
	d := &demo{}
	var exit bool
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "Show karmada-mirror at work on a real Karmada, until Ctrl-C",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			d.out = cmd.OutOrStdout()
			return d.run(cmd.Context(), exit)
		},
	}
	cmd.Flags().BoolVar(&exit, "exit", false, "exit once everything has been shown")
	cmd.Flags().DurationVar(&d.pause, "pause", time.Second, "how long to wait before each command, so that you can follow")
	return cmd
}

// demo is a sandbox with karmada-mirror in it.
type demo struct {
	*karmada.Karmada
	dir   string
	out   io.Writer
	pause time.Duration // before each command
}

// step is a command line that a user would type.
type step struct {
	line string
	// isRefused means that the API server rejects it, and the demo shows how.
	isRefused bool
}

var (
	// addMachines adds a custom resource to the mirrored ones: its definition on the control
	// plane and in a member, the right to read it, and a part of the configuration.
	addMachines = []step{
		{line: "kubectl apply -f examples/virtualmachine/crd.yaml"},
		{line: "kubectl --kubeconfig member1.kubeconfig apply -f examples/virtualmachine/crd.yaml"},
		{line: "kubectl apply -f examples/virtualmachine/clusterrole.yaml"},
		{line: "kubectl -n karmada-system patch configmap karmada-mirror --type=merge --patch-file examples/virtualmachine/configuration.yaml"},
	}
	// walk mirrors the examples, moves a Deployment to another cluster, makes a mistake, and asks
	// why the Deployment is where it is.
	walk = []step{
		{line: "kubectl apply -k examples/deployment"},
		{line: "kubectl apply -f examples/virtualmachine/virtualmachine.yaml"},
		{line: "karmada-mirror wait deployment/nginx -n hello --for=healthy"},
		{line: "kubectl --kubeconfig member1.kubeconfig -n machines wait virtualmachine builder --for=create --timeout=60s"},
		{line: "kubectl get works -A -l app.kubernetes.io/managed-by=karmada-mirror"},
		{line: "kubectl -n hello annotate deployment nginx karmada.target/clusters=member2 --overwrite"},
		{line: "karmada-mirror wait deployment/nginx -n hello --for=healthy"},
		{line: "kubectl --kubeconfig member2.kubeconfig -n hello get deployment nginx"},
		{line: "karmada-mirror status -n hello"},
		{line: "kubectl -n hello annotate deployment nginx karmada.target/cluster=member1", isRefused: true},
		{line: "karmada-mirror explain deployment nginx -n hello"},
	}
)

func (d *demo) run(ctx context.Context, exit bool) (err error) {
	builder, built, err := Programs(ctx, d.out)
	if err != nil {
		return err
	}
	program, err := builder.Daemon(ctx)
	if err != nil {
		return err
	}
	if d.dir, err = os.MkdirTemp("", "karmada-mirror-demo-"); err != nil {
		return fmt.Errorf("cannot create a folder: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(d.dir)) }()
	for name, target := range map[string]string{
		"kubectl": built.Hyperkarmada, "karmada-mirror": program,
		"manifests": filepath.Join(builder.Repository(), "manifests"), "examples": filepath.Join(builder.Repository(), "examples"),
	} {
		if err := os.Symlink(target, filepath.Join(d.dir, name)); err != nil {
			return fmt.Errorf("cannot create a link: %w", err)
		}
	}

	fmt.Fprintln(d.out, "\nstarting Karmada: member1 and member2 (push), member3 (pull)")
	d.Karmada, err = karmada.Start(ctx, karmada.Options{Dir: d.dir, Programs: built, Members: Members(), Progress: d.out})
	if err != nil {
		return err
	}
	defer func() {
		fmt.Fprintln(d.out, "\nstopping")
		err = errors.Join(err, d.Stop())
	}()
	mirror, err := d.install(ctx, program)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, mirror.Stop()) }()
	if err := d.take(ctx, walk); err != nil || exit {
		return err
	}
	d.invite()
	select {
	case <-ctx.Done():
		return nil
	case <-mirror.Ended():
		return fmt.Errorf("karmada-mirror ended: see %s", d.log())
	}
}

// install follows the README's instructions for administrators.
func (d *demo) install(ctx context.Context, program string) (*process.Daemon, error) {
	const namespace, account = "karmada-system", "karmada-mirror"
	fmt.Fprintln(d.out, "\ninstalling karmada-mirror: manifests/karmada")
	if err := karmada.ApplyKustomization(ctx, d.Config(), filepath.Join(d.dir, "manifests", "karmada")); err != nil {
		return nil, err
	}
	if err := d.take(ctx, addMachines); err != nil {
		return nil, err
	}
	kubeconfig, err := d.ServiceAccountKubeconfig(ctx, namespace, account)
	if err != nil {
		return nil, err
	}
	mirror, err := process.StartDaemon(process.DaemonOptions{
		Program: []string{program}, Kubeconfig: kubeconfig, Flags: []string{"--log-format", "console"}, LogFile: d.log(),
	})
	if err != nil {
		return nil, err
	}
	fmt.Fprintf(d.out, "\nrunning karmada-mirror as the ServiceAccount %s/%s\n", namespace, account)
	return mirror, nil
}

// log is the path of karmada-mirror's log.
func (d *demo) log() string { return filepath.Join(d.dir, "karmada-mirror.log") }

// take runs steps in the folder of the demo, with a pause before each, and prints each with its output.
func (d *demo) take(ctx context.Context, steps []step) error {
	for _, s := range steps {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(d.pause):
		}
		fmt.Fprintln(d.out, "\n$ "+s.line)
		shell := exec.CommandContext(ctx, "sh", "-c", s.line)
		shell.Dir, shell.Stdout, shell.Stderr = d.dir, d.out, d.out
		shell.Env = append(os.Environ(), "KUBECONFIG="+d.Kubeconfig(), "PATH="+d.dir+string(os.PathListSeparator)+os.Getenv("PATH"))
		if err := shell.Run(); (err != nil) != s.isRefused {
			return fmt.Errorf("%q should have been refused: %t, and it ended with %v", s.line, s.isRefused, err)
		}
	}
	return nil
}

func (d *demo) invite() {
	fmt.Fprintf(d.out, `
Try it yourself until you press Ctrl-C. In another terminal:

  export KUBECONFIG=%s PATH="%s:$PATH" # with kubectl and karmada-mirror
  kubectl -n hello annotate configmap page karmada.target/clusters=member2 --overwrite
  kubectl get works -A -l app.kubernetes.io/managed-by=karmada-mirror
  kubectl --kubeconfig %s -n hello get configmaps

karmada-mirror's log: %s
`, d.Kubeconfig(), d.dir, d.MemberKubeconfig("member2"), d.log())
}
