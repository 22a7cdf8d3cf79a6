package command

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/karmada-target/karmada-mirror/sandbox/karmada"
)

func newUp() *cobra.Command {
	var dir string
	cmd := &cobra.Command{
		Use:   "up",
		Short: "Start the sandbox, building it first, and leave it running",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return up(cmd, dir)
		},
	}
	dirFlag(cmd, &dir)
	return cmd
}

func up(cmd *cobra.Command, dir string) error {
	out := cmd.OutOrStdout()
	builder, built, err := programs(cmd.Context(), out)
	if err != nil {
		return err
	}
	if dir, err = dirOrDefault(dir, builder); err != nil {
		return err
	}
	running, err := karmada.Running(dir)
	if err != nil {
		return err
	}
	if running > 0 {
		fmt.Fprintf(out, "the sandbox is already running: %d components\n", running)
		return describe(out, dir)
	}
	// Leftovers of an earlier sandbox, such as one that a reboot ended, would
	// be in the way.
	if err := clean(dir); err != nil {
		return err
	}
	fmt.Fprintf(out, "starting Karmada with %d members in %s\n", len(members()), dir)
	begun := time.Now()
	_, err = karmada.Start(cmd.Context(), karmada.Options{
		Dir:      dir,
		Programs: built,
		Members:  members(),
		// For comparisons with Karmada's own policies.
		Scheduler: true,
		Detach:    true,
		Progress:  out,
	})
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "Karmada is ready after %s\n", time.Since(begun).Round(time.Second))
	return describe(out, dir)
}

// describe prints what to type next.
func describe(out io.Writer, dir string) error {
	kubeconfigs, err := filepath.Glob(filepath.Join(dir, "*.kubeconfig"))
	if err != nil {
		return fmt.Errorf("cannot list the kubeconfigs in %q: %w", dir, err)
	}
	fmt.Fprintln(out, "\nkubeconfigs:")
	for _, path := range kubeconfigs {
		fmt.Fprintln(out, " ", path)
	}
	fmt.Fprintf(out, "\ntry:  kubectl --kubeconfig %s get clusters\nlogs: %s\nstop: go run . down --dir %s\n",
		filepath.Join(dir, "karmada.kubeconfig"), filepath.Join(dir, "log"), dir)
	return nil
}

// clean removes the files of a stopped sandbox. It touches only what
// karmada.Start creates, in case dir is a user's own folder.
func clean(dir string) error {
	for _, name := range []string{"etc", "etcd", "log", "pki", "audit.log", "state.json", "*.kubeconfig"} {
		paths, err := filepath.Glob(filepath.Join(dir, name))
		if err != nil {
			return fmt.Errorf("cannot list the files of the sandbox: %w", err)
		}
		for _, path := range paths {
			if err := os.RemoveAll(path); err != nil {
				return fmt.Errorf("cannot remove the files of the sandbox: %w", err)
			}
		}
	}
	return nil
}
