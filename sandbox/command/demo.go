package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"

	"github.com/karmada-target/karmada-mirror/sandbox/build"
	"github.com/karmada-target/karmada-mirror/sandbox/karmada"
	"github.com/karmada-target/karmada-mirror/sandbox/process"
)

const (
	demoNamespace = "karmada-system"
	demoName      = "karmada-mirror"
	// demoPatience is how long the demo waits for its objects.
	demoPatience = 2 * time.Minute
)

func newDemo() *cobra.Command {
	var exit bool
	var pause time.Duration
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "Show karmada-mirror at work on a real Karmada, until Ctrl-C",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return runDemo(cmd.Context(), cmd.OutOrStdout(), exit, pause)
		},
	}
	cmd.Flags().BoolVar(&exit, "exit", false, "exit once everything has been shown")
	cmd.Flags().DurationVar(&pause, "pause", time.Second, "how long to wait before each command, so that you can follow")
	return cmd
}

// demo is a sandbox with karmada-mirror in it.
type demo struct {
	*karmada.Karmada
	builder *build.Builder
	dir     string
	out     io.Writer
}

func runDemo(ctx context.Context, out io.Writer, exit bool, pause time.Duration) (err error) {
	builder, built, err := programs(ctx, out)
	if err != nil {
		return err
	}
	program, err := builder.Daemon(ctx)
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "karmada-mirror-demo-")
	if err != nil {
		return fmt.Errorf("cannot create a folder: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()

	fmt.Fprintln(out, "\nstarting Karmada: member1 and member2 (push), member3 (pull)")
	k, err := karmada.Start(ctx, karmada.Options{Dir: dir, Programs: built, Members: members(), Progress: out})
	if err != nil {
		return err
	}
	defer func() {
		fmt.Fprintln(out, "\nstopping")
		err = errors.Join(err, k.Stop())
	}()
	d := &demo{Karmada: k, builder: builder, dir: dir, out: out}
	mirror, err := d.install(ctx, program)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, mirror.Stop()) }()
	if err := d.show(ctx); err != nil {
		return err
	}
	if err := d.takeWalk(ctx, built.Hyperkarmada, program, pause); err != nil {
		return err
	}
	if !exit {
		d.invite()
		select {
		case <-ctx.Done():
		case <-mirror.Ended():
			return fmt.Errorf("karmada-mirror ended: see %s", d.log())
		}
	}
	return nil
}

// install follows the README's instructions for administrators.
func (d *demo) install(ctx context.Context, program string) (*process.Daemon, error) {
	fmt.Fprintln(d.out, "\ninstalling karmada-mirror: manifests/karmada")
	if err := karmada.ApplyKustomization(ctx, d.Config(), d.path("manifests", "karmada")); err != nil {
		return nil, err
	}
	if err := d.watchMachines(ctx); err != nil {
		return nil, err
	}
	kubeconfig, err := d.ServiceAccountKubeconfig(ctx, demoNamespace, demoName)
	if err != nil {
		return nil, err
	}
	mirror, err := process.StartDaemon(process.DaemonOptions{
		Program: []string{program}, Kubeconfig: kubeconfig, Flags: []string{"--log-format", "console"}, LogFile: d.log(),
	})
	if err != nil {
		return nil, err
	}
	fmt.Fprintf(d.out, "running karmada-mirror as the ServiceAccount %s/%s\n", demoNamespace, demoName)
	return mirror, nil
}

// log is the path of karmada-mirror's log.
func (d *demo) log() string { return filepath.Join(d.dir, "karmada-mirror.log") }

func (d *demo) path(elements ...string) string {
	return filepath.Join(append([]string{d.builder.Repository()}, elements...)...)
}

// watchMachines adds a custom resource to the mirrored ones: its definition on
// the control plane and in a member, the right to read it, and a line in the
// configuration.
func (d *demo) watchMachines(ctx context.Context) error {
	for _, config := range []*rest.Config{d.Config(), d.MemberConfig("member1")} {
		if err := d.applyFile(ctx, config, "examples", "virtualmachine", "crd.yaml"); err != nil {
			return err
		}
	}
	if err := d.applyFile(ctx, d.Config(), "examples", "virtualmachine", "clusterrole.yaml"); err != nil {
		return err
	}
	client, err := typedcorev1.NewForConfig(d.Config())
	if err != nil {
		return fmt.Errorf("cannot create a client: %w", err)
	}
	configMaps := client.ConfigMaps(demoNamespace)
	configMap, err := configMaps.Get(ctx, demoName, metav1.GetOptions{})
	if err != nil {
		return fmt.Errorf("cannot read the configuration: %w", err)
	}
	configMap.Data["config.yaml"] += "- {group: cloudnative.czs, resource: virtualmachines}\n"
	if _, err := configMaps.Update(ctx, configMap, metav1.UpdateOptions{}); err != nil {
		return fmt.Errorf("cannot change the configuration: %w", err)
	}
	return nil
}

func (d *demo) applyFile(ctx context.Context, config *rest.Config, elements ...string) error {
	manifests, err := os.ReadFile(d.path(elements...))
	if err != nil {
		return fmt.Errorf("cannot read an example: %w", err)
	}
	return karmada.Apply(ctx, config, manifests)
}

// show applies the examples and prints how they reach the members.
func (d *demo) show(ctx context.Context) error {
	fmt.Fprintln(d.out, "\napplying examples/deployment and examples/virtualmachine")
	begun := time.Now()
	if err := karmada.ApplyKustomization(ctx, d.Config(), d.path("examples", "deployment")); err != nil {
		return err
	}
	if err := d.applyFile(ctx, d.Config(), "examples", "virtualmachine", "virtualmachine.yaml"); err != nil {
		return err
	}
	journey, err := newJourney(d.Karmada)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, demoPatience)
	defer cancel()
	return d.Wait(ctx, "the examples in the members", func(ctx context.Context) error {
		return journey.follow(ctx, func(line string) {
			fmt.Fprintf(d.out, "  %6s  %s\n", time.Since(begun).Round(10*time.Millisecond), line)
		})
	})
}

func (d *demo) invite() {
	fmt.Fprintf(d.out, `
Try it yourself until you press Ctrl-C. In another terminal:

  export KUBECONFIG=%s
  kubectl -n hello annotate configmap page karmada.target/clusters=member2 --overwrite
  kubectl get works -A -l app.kubernetes.io/managed-by=karmada-mirror
  kubectl --kubeconfig %s -n hello get configmaps

karmada-mirror's log: %s
`, d.Kubeconfig(), d.MemberKubeconfig("member2"), d.log())
}
