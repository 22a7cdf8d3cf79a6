package command

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/karmada-target/karmada-mirror/sandbox/build"
	"github.com/karmada-target/karmada-mirror/sandbox/karmada"
)

// newWithDir returns up or down, with the flag that tells them which sandbox to use.
func newWithDir(use, short string, run func(cmd *cobra.Command, dir string) error) *cobra.Command {
	var dir string
	cmd := &cobra.Command{
		Use:   use,
		Short: short,
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) (err error) {
			if dir == "" {
				builder, err := build.New(cmd.Context(), cmd.OutOrStdout())
				if err != nil {
					return err
				}
				dir = filepath.Join(builder.Cache(), "sandbox")
			}
			if dir, err = filepath.Abs(dir); err != nil { // people copy the paths in it
				return fmt.Errorf("cannot resolve folder %q: %w", dir, err)
			}
			return run(cmd, dir)
		},
	}
	cmd.Flags().StringVar(&dir, "dir", os.Getenv("KARMADA_MIRROR_SANDBOX"), "folder of the sandbox (default: $KARMADA_MIRROR_SANDBOX, else .cache/sandbox in the repository)")
	return cmd
}

func down(cmd *cobra.Command, dir string) error {
	running, err := karmada.Running(dir)
	if err != nil {
		return err
	}
	fmt.Fprintf(cmd.OutOrStdout(), "stopping %d components\n", running)
	if err := karmada.Down(dir); err != nil {
		return err
	}
	return clean(dir)
}

func up(cmd *cobra.Command, dir string) error {
	out := cmd.OutOrStdout()
	_, built, err := Programs(cmd.Context(), out)
	if err != nil {
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
	fmt.Fprintf(out, "starting Karmada with %d members in %s\n", len(Members()), dir)
	begun := time.Now()
	_, err = karmada.Start(cmd.Context(), karmada.Options{
		Dir:      dir,
		Programs: built,
		Members:  Members(),
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
	fmt.Fprintf(out, "\ntry:  kubectl --kubeconfig %s get clusters\nlogs: %s\nstop: KARMADA_MIRROR_SANDBOX=%s make sandbox-down\n",
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
