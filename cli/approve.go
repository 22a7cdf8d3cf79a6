package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/util/retry"

	"github.com/karmada-target/karmada-mirror/config"
)

func (d *deletions) newApprove() *cobra.Command {
	approve := &cobra.Command{
		Use:   "approve",
		Short: "Approve the deletions that are held now, once",
		Long: "approve releases the deletions that are held now: all of them, or those that --resource, --namespace and --member\n" +
			"select. It writes the annotation " + config.ApprovalsAnnotation + " on the daemon's ConfigMap.\n" +
			"Deletions held later need another approval. On a terminal it asks first; elsewhere it needs --yes.",
		Example: "  karmada-mirror deletions approve --resource deployments.apps -n shop --dry-run\n  karmada-mirror deletions approve --resource deployments.apps -n shop",
		Args:    cobra.NoArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return d.approve(cmd.Context()) },
	}
	approve.Flags().BoolVar(&d.dryRun, "dry-run", false, "only print what would be approved")
	approve.Flags().BoolVarP(&d.yes, "yes", "y", false, "do not ask for confirmation")
	return approve
}

// approve approves what is held up to the newest mark that it has seen: clocks need only agree within
// what config.IsAhead allows.
func (d *deletions) approve(ctx context.Context) error {
	works, err := d.held(ctx)
	if apierrors.IsForbidden(err) {
		return fmt.Errorf("%w\n  to approve, you need this right, and that to patch ConfigMap %q", err, d.name)
	}
	if err != nil {
		return err
	}
	seen := sets.New[types.NamespacedName]()
	for _, w := range works {
		seen.Insert(w.work)
	}
	if works = d.unapproved(works); len(works) == 0 && (d.resource != "" || len(d.members) > 0 || *d.connection.Namespace != "") {
		return fmt.Errorf("%w of those that you selected: karmada-mirror deletions list", errNothingHeld)
	} else if len(works) == 0 {
		return errNothingHeld
	}
	if works = d.usable(works); len(works) == 0 {
		return errors.New("the marks of all held deletions are in the future by this machine's clock: correct it; if it is right, the daemon corrects the marks itself")
	}
	own, err := d.own(works)
	if err != nil {
		return err
	}
	of := d.byFlags
	if len(own) < len(works) { // the configuration may have the others later: an approval of all Namespaces would cover them then
		of = func(w heldWork) summary { s := d.byFlags(w); s.namespace = w.namespace; return s }
	}
	approvals := config.Approvals{}
	held := summarize(own, of)
	for _, s := range held {
		approvals[config.ApprovalOf(s.resource, s.namespace, s.cluster)] = s.last
	}
	done := "approved: "
	if d.dryRun {
		done = "would be approved: "
	} else if err := d.confirm(ctx, held); err != nil {
		return err
	} else if err := d.mustBeSeen(ctx, seen, approvals); err != nil {
		return err
	} else if err := d.write(ctx, approvals); err != nil {
		return err
	}
	for _, s := range held {
		fmt.Fprintf(d.out, "%s%s\n", done, s)
	}
	return nil
}

// mustBeSeen returns an error if approvals cover what became held after the user looked: the clock of a daemon may be behind.
func (d *deletions) mustBeSeen(ctx context.Context, seen sets.Set[types.NamespacedName], approvals config.Approvals) error {
	works, err := d.held(ctx)
	for _, w := range works {
		if !w.Approved && !seen.Has(w.work) && approvals.Covers(w.Since, w.Resource, w.namespace, w.cluster) {
			return errors.New("nothing was approved: more deletions have become held meanwhile; look at them and approve again")
		}
	}
	return err
}

// usable returns the Works whose marks the daemon accepts an approval of. It corrects the others itself.
func (d *deletions) usable(works []heldWork) []heldWork {
	return slices.DeleteFunc(works, func(w heldWork) bool {
		isAhead := config.IsAhead(w.Since, time.Now())
		if isAhead {
			fmt.Fprintf(d.out, "not approved: the mark on Work %s says %s, which is in the future by this machine's clock\n", w.work, w.Since.Format(time.RFC3339))
		}
		return isAhead
	})
}

// own returns the Works that the daemon of the ConfigMap holds: an approval there reaches no other
// daemon. If the configuration cannot be parsed, the last good one is in force, which may have all.
func (d *deletions) own(works []heldWork) ([]heldWork, error) {
	if status := apierrors.APIStatus(nil); errors.As(d.unread, &status) {
		return nil, withHint(d.unread)
	} else if d.unread != nil {
		return works, nil
	}
	own := slices.DeleteFunc(slices.Clone(works), func(w heldWork) bool {
		return !d.configuration.Includes(schema.ParseGroupResource(w.Resource), w.namespace)
	})
	if others := len(works) - len(own); others > 0 {
		text := fmt.Sprintf("%d deletions are held by another daemon: they are not in the configuration of ConfigMap %q. "+
			"To approve them, give --config-map NAMESPACE/NAME, as the Event DeletionHeld on the ConfigMap of that daemon says. If they are in no configuration any more, use purge", others, d.configMap)
		if len(own) == 0 {
			return nil, errors.New(text)
		}
		fmt.Fprintln(d.out, text)
	}
	return own, nil
}

// confirm asks on a terminal; elsewhere it needs --yes.
func (d *deletions) confirm(ctx context.Context, held []*summary) error {
	if d.yes {
		return nil
	}
	var what []string
	for _, s := range held {
		what = append(what, s.String())
	}
	return confirm(ctx, d.in, d.out, "This approves "+strings.Join(what, "; ")+".", "nothing was approved")
}

// write adds approvals to those on the ConfigMap for other resources.
func (d *deletions) write(ctx context.Context, approvals config.Approvals) error {
	connection, err := connect(d.connection)
	if err != nil {
		return err
	}
	client, err := metadata.NewForConfig(connection)
	if err != nil {
		return fmt.Errorf("cannot make a client: %w", err)
	}
	configMaps := client.Resource(corev1.SchemeGroupVersion.WithResource("configmaps")).Namespace(d.name.Namespace)
	var dropped error
	err = retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		present, err := configMaps.Get(ctx, d.name.Name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		all, unusable := approvalsOn(present) // what is wrong must not come into force by being written again
		dropped = unusable
		maps.Copy(all, approvals)
		patch, err := json.Marshal(map[string]any{"metadata": map[string]any{
			"resourceVersion": present.ResourceVersion,
			"annotations":     map[string]string{config.ApprovalsAnnotation: all.String()},
		}})
		if err != nil {
			return err
		}
		_, err = configMaps.Patch(ctx, d.name.Name, types.MergePatchType, patch, metav1.PatchOptions{})
		return err
	})
	if err != nil {
		return fmt.Errorf("cannot write the approval on ConfigMap %q: %w", d.name, err)
	}
	if dropped != nil {
		fmt.Fprintf(d.out, "removed from ConfigMap %q: %v\n", d.name, dropped)
	}
	return nil
}
