package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	kjson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/utils/exec"
	"sigs.k8s.io/yaml"

	"github.com/karmada-target/karmada-mirror/mirror/judge"
	"github.com/karmada-target/karmada-mirror/render"
)

// The exit codes of diff, the same as those of diff(1) and kubectl diff.
const (
	exitDiffers = 1
	exitTrouble = 2
)

// differ compares the existing Works of sources with the planned ones.
type differ struct {
	*selection
	manifests
	out, errOut plain
	// live and planned are the folders to compare.
	live, planned string
	// unseen is true if the user may not read some of the Works.
	unseen bool
	// changes counts the Works that would change, and later those whose turn it is not yet.
	changes, later int
	refused        sets.Set[render.Identity]
}

func newDiff(transport http.RoundTripper) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "diff [TYPE [NAME...] | TYPE/NAME... | -f FILE]",
		Short: "Show what the daemon would create, change or delete",
		Long: "diff decides as the daemon does, and compares the Works as they are with what they would become: for some objects, a\n" +
			"resource, or all resources in the configuration.\n" + someHelp + "\n\n" +
			"With -f or -k it shows what would happen if you applied these manifests, like kubectl diff: it asks the API server for\n" +
			"a dry run, so you need the right to apply them. A Namespace among them affects all objects in it, and an\n" +
			"OverridePolicy those among them that it selects; what follows one of them and is not among them is not shown. It fails if one\n" +
			"of them is refused on some cluster.\n\n" +
			"If the object has waves, it shows what would be written now, and names the Works whose turn comes later.\n\n" +
			"With --config it shows what another configuration would change, and says how many Works that are.\n\n" +
			"It runs `diff -u -N`, or $KUBECTL_EXTERNAL_DIFF. It exits with 0 if there is no difference, 1 if there is one, and 2 if\n" +
			"it fails. It masks the values of Secrets.",
		Example: "  karmada-mirror diff deploy/web -n shop\n  karmada-mirror diff -A\n  karmada-mirror diff -f manifests/\n  karmada-mirror diff -A --config config.yaml",
	}
	d := &differ{selection: newSelection(cmd, transport), refused: sets.New[render.Identity]()}
	cmd.Flags().StringVarP(&d.labels, "selector", "l", "", "only objects with these labels, as in kubectl get -l")
	cmd.Flags().StringSliceVar(&d.configFiles, "config", nil, "files with a configuration to use instead of the daemon's, as for validate")
	d.manifests.register(cmd)
	cmd.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error { return &usageError{cmd, &exitError{exitTrouble, err}} })
	cmd.Args = func(cmd *cobra.Command, args []string) error {
		if err := d.check(cmd, args); err != nil {
			return &exitError{exitTrouble, err}
		}
		return nil
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		d.out, d.errOut = plain{cmd.OutOrStdout()}, plain{cmd.ErrOrStderr()}
		differs, err := d.run(cmd.Context(), args)
		switch {
		case err != nil:
			return &exitError{exitTrouble, withHint(err)}
		case differs:
			return &exitError{exitDiffers, nil}
		}
		return nil
	}
	return cmd
}

// check checks the arguments and flags.
func (d *differ) check(cmd *cobra.Command, args []string) error {
	if err := mustNotBeEmpty(cmd, "filename", "kustomize", "selector", "config"); err != nil {
		return err
	}
	if d.manifests.given() && (len(args) > 0 || d.allNamespaces || d.labels != "") {
		return errors.New("give either objects or manifests (-f, -k), and with manifests neither -A nor -l")
	}
	return someObjects(cmd, args)
}

func (d *differ) run(ctx context.Context, args []string) (differs bool, err error) {
	dir, err := os.MkdirTemp("", "karmada-mirror-diff-")
	if err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	d.live, d.planned = filepath.Join(dir, "LIVE"), filepath.Join(dir, "PLANNED")
	if err := errors.Join(os.Mkdir(d.live, 0o700), os.Mkdir(d.planned, 0o700)); err != nil {
		return false, err
	}
	if err := d.read(ctx, d.errOut, args, func(*unstructured.Unstructured) {}); err != nil {
		return false, err
	}
	write := func(f judge.Facts) error { return d.write(ctx, f) }
	if d.manifests.given() {
		err = d.assumed(ctx, write)
	} else {
		err = d.each(ctx, args, write)
	}
	tellHidden(d.errOut, d.survey.Reader)
	if err != nil { // what else differs is shown all the same
		_, compareErr := d.compare()
		return false, errors.Join(err, compareErr)
	}
	if len(d.configFiles) > 0 {
		d.tell("Works that the daemon would write or delete with this configuration: %d", d.changes+d.later)
	}
	differs, err = d.compare()
	differs = differs || d.later > 0
	if err == nil && !differs && d.isUnknown {
		return false, errors.New("cannot tell whether anything differs: the daemon's configuration has a mistake")
	}
	if err == nil && !differs && d.unseen {
		return false, errors.New("cannot tell whether anything differs: you may not read some of the Works")
	}
	return differs, err
}

// tell prints to errOut what the difference does not show.
func (d *differ) tell(format string, args ...any) {
	fmt.Fprintln(d.errOut, oneLine(fmt.Sprintf(format, args...)))
}

// write puts the Works of a source that would change into the two folders, as they are and
// as they would become.
func (d *differ) write(ctx context.Context, f judge.Facts) error {
	f.SharesAtOnce = true // which of them is written first does not matter here
	if f.Unwatched && f.Source != nil && f.Source.Asks {
		d.tell("%s: not mirrored: %s", f.ID, f.Unknown)
	}
	v := judge.Decide(f)
	if len(v.Refusals) > 0 {
		d.refused.Insert(f.ID)
	}
	for _, refusal := range v.Refusals {
		d.tell("%s: %s: %s", f.ID, refusal.Reason, refusal.Message)
	}
	for _, cluster := range slices.Sorted(maps.Keys(v.Targets)) {
		switch target := v.Targets[cluster]; {
		case target.Waits && f.Works[cluster] == nil && d.survey.HidesWorks(cluster):
			d.unseen = true
		case target.Waits:
			d.later++
			d.tell("later: the Work of %s for cluster %q: %s", f.ID, cluster, target.Because)
		}
	}
	for _, op := range v.Plan() {
		if op.Work == nil && d.survey.HidesWorks(op.Cluster) {
			d.unseen = true
			continue
		}
		if err := d.writeWork(ctx, v, op); err != nil {
			return err
		}
	}
	return nil
}

func (d *differ) writeWork(ctx context.Context, v judge.Verdict, op judge.Operation) error {
	namespace, name := render.ExecutionNamespace(op.Cluster), op.WorkName(v)
	if op.IsHeld() {
		d.tell("the deletion of Work %s/%s is held: %s", namespace, name, judge.DeletionHeld.Hint())
		return nil
	}
	if op.Replaces {
		d.tell("Work %s/%s: %s", namespace, name, op.Because)
	}
	file := namespace + "." + name
	var before []byte
	if op.Work != nil {
		u, err := d.client.Resource(render.WorksResource).Namespace(namespace).Get(ctx, name, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			d.tell("Work %s/%s is gone meanwhile", namespace, name)
			return nil
		}
		if err != nil {
			return fmt.Errorf("cannot read Work %s/%s: %w", namespace, name, err)
		}
		if before, err = u.MarshalJSON(); err != nil {
			return err
		}
	}
	d.changes++
	after, err := d.planFor(ctx, op, v, before)
	if err != nil {
		return fmt.Errorf("cannot plan Work %s/%s: %w", namespace, name, err)
	}
	return writeWorks(filepath.Join(d.live, file), filepath.Join(d.planned, file), before, after)
}

// planFor returns what an operation would make of a Work; nil if it deletes it.
func (d *differ) planFor(ctx context.Context, op judge.Operation, v judge.Verdict, before []byte) ([]byte, error) {
	var like map[string]any
	if op.From != nil {
		u, err := d.client.Resource(render.WorksResource).Namespace(op.From.Namespace).Get(ctx, op.From.Name, metav1.GetOptions{})
		if err != nil {
			return nil, err
		}
		like = u.Object
	}
	body, err := op.BodyLike(v, like)
	if err != nil || op.Kind == judge.Create || op.Kind.Deletes() {
		return body, err
	}
	work := map[string]any{}
	if err := errors.Join(kjson.Unmarshal(before, &work), render.Merge(work, body)); err != nil {
		return nil, err
	}
	return json.Marshal(work)
}

// writeWorks writes what is worth comparing of a Work, before and after, and nothing for a Work
// that does not exist.
func writeWorks(liveFile, plannedFile string, before, after []byte) error {
	live, err := readable(before)
	if err != nil {
		return err
	}
	planned, err := readable(after)
	if err != nil {
		return err
	}
	dropPermanentID(live)
	dropPermanentID(planned)
	maskSecrets(live, planned)
	return errors.Join(writeYAML(liveFile, live), writeYAML(plannedFile, planned))
}

// readable returns a Work without the fields that the API server fills in; nil for nil.
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
	encoded, err := json.Marshal(object)
	if err != nil {
		return err
	}
	text, err := yaml.JSONToYAML(escapeControl(encoded))
	if err != nil {
		return err
	}
	return os.WriteFile(file, text, 0o600)
}

// compare runs diff(1), or the user's own, which may colour what it shows.
func (d *differ) compare() (differs bool, err error) {
	var shown bytes.Buffer
	program, args, out := "diff", []string{"-u", "-N"}, io.Writer(&shown)
	if external := os.Getenv("KUBECTL_EXTERNAL_DIFF"); external != "" {
		program, args, out = external, nil, d.out.Writer
	}
	command := exec.New().Command(program, append(args, d.live, d.planned)...)
	command.SetStdout(out)
	command.SetStderr(d.errOut)
	err = command.Run()
	if _, err := d.out.Write(shown.Bytes()); err != nil {
		return false, err
	}
	if exit, ok := err.(exec.ExitError); ok && exit.ExitStatus() == exitDiffers {
		return true, nil
	}
	if err != nil {
		return false, fmt.Errorf("cannot run %s: %w", program, err)
	}
	return false, nil
}

// exitError ends the process with its own exit code; without an err, silently.
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
