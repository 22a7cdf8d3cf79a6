package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"
	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/resource"
	"k8s.io/utils/exec"
	"sigs.k8s.io/yaml"

	"github.com/karmada-target/karmada-mirror/mirror/gather"
	"github.com/karmada-target/karmada-mirror/mirror/judge"
	"github.com/karmada-target/karmada-mirror/render"
)

// The exit codes of diff, as those of diff(1) and of kubectl diff.
const (
	exitDiffers = 1
	exitTrouble = 2
)

func newDiff() *cobra.Command {
	var files []string
	cmd := &cobra.Command{
		Use:   "diff [RESOURCE NAME | -f FILE]",
		Short: "Show what the daemon would create, change or delete now",
		Long: "diff decides as the daemon does and compares the Works that there are with those that there would be.\n" +
			"With -f it takes the objects from a file, as if they had been applied. It runs `diff -u -N`, or what\n$KUBECTL_EXTERNAL_DIFF says. It exits with 0 if there is no difference, 1 if there is one, 2 if it fails.\n" +
			"The values of Secrets are masked.",
		Args: func(_ *cobra.Command, args []string) error {
			if named := len(args) == 2; len(args) > 0 != named || named == (len(files) > 0) {
				return &exitError{exitTrouble, errors.New("give either RESOURCE NAME or -f FILE")}
			}
			return nil
		},
	}
	cmd.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return &exitError{exitTrouble, err} })
	s := newSources(cmd)
	cmd.Flags().StringSliceVarP(&files, "filename", "f", nil, "files, folders or URLs with manifests; - for standard input")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		d := &differ{sources: s, out: cmd.OutOrStdout(), errOut: cmd.ErrOrStderr()}
		differs, err := d.run(cmd, args, files)
		switch {
		case err != nil:
			return &exitError{exitTrouble, err}
		case differs:
			return &exitError{exitDiffers, nil}
		}
		return nil
	}
	return cmd
}

// differ compares the Works of some sources.
type differ struct {
	*sources
	reader      *gather.Reader
	out, errOut io.Writer
}

func (d *differ) run(cmd *cobra.Command, args, files []string) (differs bool, err error) {
	ctx := cmd.Context()
	if d.reader, err = d.sources.reader(ctx); err != nil {
		return false, err
	}
	dir, err := os.MkdirTemp("", "karmada-mirror-diff-")
	if err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	live, planned := filepath.Join(dir, "LIVE"), filepath.Join(dir, "PLANNED")
	if err := errors.Join(os.Mkdir(live, 0o700), os.Mkdir(planned, 0o700)); err != nil {
		return false, err
	}
	err = d.each(cmd, args, files, func(ref gather.SourceRef, obj *unstructured.Unstructured) error {
		return d.write(ctx, ref, obj, live, planned)
	})
	if err != nil {
		return false, err
	}
	return d.compare(live, planned)
}

// each calls do for the object that the arguments name, or for those of the files.
func (d *differ) each(cmd *cobra.Command, args, files []string, do func(gather.SourceRef, *unstructured.Unstructured) error) error {
	if len(files) == 0 {
		ref, err := d.find(args[0], args[1])
		if err != nil {
			return err
		}
		return do(ref, nil)
	}
	namespace, enforce, err := d.flags.ToRawKubeConfigLoader().Namespace()
	if err != nil {
		return err
	}
	return resource.NewBuilder(genericclioptions.RESTClientGetter(d.flags)).Unstructured().
		NamespaceParam(namespace).DefaultNamespace().FilenameParam(enforce, &resource.FilenameOptions{Filenames: files}).Flatten().Do().
		Visit(func(info *resource.Info, err error) error {
			if err != nil {
				return err
			}
			ref, err := d.refer(info.Mapping, info.Namespace, info.Name)
			if err != nil {
				return err
			}
			return do(ref, info.Object.(*unstructured.Unstructured))
		})
}

// write puts the Works of a source that would change into two folders, as they are and
// as they would be.
func (d *differ) write(ctx context.Context, ref gather.SourceRef, obj *unstructured.Unstructured, live, planned string) error {
	facts, err := d.reader.Facts(ctx, ref, obj)
	if err != nil {
		return err
	}
	v := judge.Decide(facts)
	for _, op := range judge.Plan(v, facts.Works) {
		namespace, name := render.ExecutionNamespace(op.Cluster), facts.ID.WorkName()
		if op.IsHeld() {
			fmt.Fprintf(d.errOut, "the deletion of Work %s/%s is held: %s\n", namespace, name, judge.DeletionHeld.Hint())
			continue
		}
		file := namespace + "." + name
		var before, after []byte
		if op.Work != nil {
			u, err := d.client.Resource(render.WorksResource).Namespace(namespace).Get(ctx, name, metav1.GetOptions{})
			if err != nil {
				return fmt.Errorf("cannot read Work %s/%s: %w", namespace, name, err)
			}
			if before, err = u.MarshalJSON(); err != nil {
				return err
			}
		}
		if after, err = planFor(op, v, before); err != nil {
			return fmt.Errorf("cannot tell what becomes of Work %s/%s: %w", namespace, name, err)
		}
		if err := writeWorks(filepath.Join(live, file), filepath.Join(planned, file), before, after); err != nil {
			return err
		}
	}
	return nil
}

// planFor is what an operation would make of a Work; nil if that goes.
func planFor(op judge.Operation, v judge.Verdict, before []byte) ([]byte, error) {
	switch op.Kind {
	case judge.Create:
		return op.Body(v), nil
	case judge.Delete:
		return nil, nil
	default:
		return jsonpatch.MergePatch(before, op.Body(v))
	}
}

// writeWorks writes what somebody would want to compare of a Work, before and after;
// nothing of one that is not there.
func writeWorks(liveFile, plannedFile string, before, after []byte) error {
	live, err := readable(before)
	if err != nil {
		return err
	}
	planned, err := readable(after)
	if err != nil {
		return err
	}
	maskSecrets(live, planned)
	return errors.Join(writeYAML(liveFile, live), writeYAML(plannedFile, planned))
}

// readable is a Work without what the API server says of it; nil for nil.
func readable(work []byte) (map[string]any, error) {
	if work == nil {
		return nil, nil
	}
	u := &unstructured.Unstructured{}
	if err := u.UnmarshalJSON(work); err != nil {
		return nil, err
	}
	for _, field := range []string{"managedFields", "resourceVersion", "uid", "generation", "creationTimestamp"} {
		unstructured.RemoveNestedField(u.Object, "metadata", field)
	}
	unstructured.RemoveNestedField(u.Object, "status")
	return u.Object, nil
}

func writeYAML(file string, object map[string]any) error {
	if object == nil {
		return nil
	}
	text, err := yaml.Marshal(object)
	if err != nil {
		return err
	}
	return os.WriteFile(file, text, 0o600)
}

// compare runs diff(1).
func (d *differ) compare(live, planned string) (differs bool, err error) {
	program, args := "diff", []string{"-u", "-N"}
	if external := os.Getenv("KUBECTL_EXTERNAL_DIFF"); external != "" {
		program, args = external, nil
	}
	command := exec.New().Command(program, append(args, live, planned)...)
	command.SetStdout(d.out)
	command.SetStderr(d.errOut)
	err = command.Run()
	if exit, ok := err.(exec.ExitError); ok && exit.ExitStatus() == exitDiffers {
		return true, nil
	}
	if err != nil {
		return false, fmt.Errorf("cannot run %s: %w", program, err)
	}
	return false, nil
}

// exitError ends the process with a code of its own; without an error, silently.
type exitError struct {
	code int
	err  error
}

func (e *exitError) Error() string {
	if e.err == nil {
		return ""
	}
	return e.err.Error()
}

func (e *exitError) Unwrap() error { return e.err }
