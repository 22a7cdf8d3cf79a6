package cli

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	workv1alpha1 "github.com/karmada-io/api/work/v1alpha1"
	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/karmada-target/karmada-mirror/mirror/gather"
	"github.com/karmada-target/karmada-mirror/mirror/judge"
	"github.com/karmada-target/karmada-mirror/mirror/state"
	"github.com/karmada-target/karmada-mirror/render"
)

// waitPeriod is the interval at which wait polls.
const waitPeriod = 500 * time.Millisecond

// The states to wait for.
const (
	untilApplied = "applied"
	untilHealthy = "healthy"
	untilGone    = "gone"
)

// waitCommand waits until objects reach a state.
type waitCommand struct {
	*sources
	until   string
	timeout time.Duration
	out     io.Writer
	// shared is what the polls share, as in follower, and renewed is when it was read.
	shared  *gather.Reader
	renewed time.Time
}

func newWait(transport http.RoundTripper) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "wait " + oneUsage + " --for=applied|healthy|gone",
		Short: "Wait until an object is applied, healthy or gone in all its clusters",
		Long: "wait is for pipelines. It exits with 0 as soon as the state is reached:\n\n" +
			"  applied  every cluster that the object asks for has an up-to-date Work, and Karmada reports that it has applied it\n" +
			"           (what is still to be deleted in other clusters does not count)\n" +
			"  healthy  and Karmada reports the object as healthy there, after the last change, and its status does not say otherwise\n" +
			"  gone     the object no longer asks to be mirrored, and has no Works left: the clusters have accepted its deletion,\n" +
			"           or keep the object, if its Works said so\n\n" +
			"It exits with 1 on timeout, and says what is missing for each cluster. If a Work was applied before, Karmada keeps\n" +
			"reporting that until it has applied the new content: usually for a moment, and for up to five minutes after a cluster is\n" +
			"back that was away several times. Until then, \"applied\" may mean the old one. So may \"healthy\" for objects whose reported\n" +
			"status does not say which generation of them it is about, such as Jobs. Deployments, StatefulSets, DaemonSets and\n" +
			"ReplicaSets say it, but their generation stays what it is when an override policy, a weight or what a variable stands for\n" +
			"changes, and begins again with a new object of that name.\n" +
			"In a cluster that is not ready, nothing is healthy, and a Work that was written since, or shortly before, is not applied.\n" +
			"A Job that has failed is not healthy; one that still runs is. A workload is not before all its Pods are new and available,\n" +
			"nor a custom resource whose condition Ready is not True, or Stalled is.\n" +
			"It makes no difference whether the configuration has aggregateStatus for the resource.\n\n" + someHelp,
		Example: "  karmada-mirror wait deploy/web -n shop --for=applied --timeout=2m\n  karmada-mirror wait deploy/web -n shop --for=gone",
		Args:    objects,
	}
	w := &waitCommand{sources: newSources(cmd, transport)}
	cmd.Flags().StringVar(&w.until, "for", untilApplied, "applied, healthy or gone")
	cmd.Flags().DurationVar(&w.timeout, "timeout", 2*time.Minute, "how long to wait; 0 looks once")
	completeWords(cmd, "for", untilApplied, untilHealthy, untilGone)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		switch w.until {
		case untilApplied, untilHealthy, untilGone:
		default:
			return misuse("cannot wait for %q: want applied, healthy or gone", w.until)
		}
		w.out = plain{cmd.OutOrStdout()}
		refs, _, err := w.named(args)
		if err != nil {
			return withHint(err)
		}
		return withHint(w.all(cmd.Context(), refs))
	}
	return cmd
}

// all waits for each of them. They share one timeout.
func (w *waitCommand) all(ctx context.Context, refs []gather.SourceRef) error {
	if w.timeout > 0 { // otherwise it looks once
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, w.timeout)
		defer cancel()
	}
	for _, ref := range refs {
		if err := w.one(ctx, ref); err != nil {
			return err
		}
		fmt.Fprintf(w.out, "%s: %s\n", ref.Identity(), w.until)
	}
	return nil
}

func (w *waitCommand) one(ctx context.Context, ref gather.SourceRef) error {
	var missing []string
	err := wait.PollUntilContextCancel(ctx, waitPeriod, true, func(ctx context.Context) (done bool, err error) {
		now, err := w.missing(ctx, ref)
		switch {
		case isTransient(err) && w.timeout > 0 && ctx.Err() == nil:
			missing = []string{err.Error()}
			return false, nil
		case err != nil: // after a timeout, missing still has the last answer
			return false, err
		}
		if missing = now; w.timeout <= 0 && len(missing) > 0 {
			return false, context.DeadlineExceeded
		}
		return len(missing) == 0, nil
	})
	if errors.Is(err, context.DeadlineExceeded) || err != nil && errors.Is(ctx.Err(), context.DeadlineExceeded) {
		if len(missing) == 0 {
			missing = []string{"the API server has not answered: " + err.Error()}
		}
		return fmt.Errorf("timed out after %s waiting for %s to be %s:\n  %s", w.timeout, ref.Identity(), w.until, strings.Join(missing, "\n  "))
	}
	if err != nil && ctx.Err() != nil && len(missing) > 0 {
		return fmt.Errorf("interrupted while waiting for %s to be %s:\n  %s", ref.Identity(), w.until, strings.Join(missing, "\n  "))
	}
	return err
}

// missing returns what is still to wait for.
func (w *waitCommand) missing(ctx context.Context, ref gather.SourceRef) ([]string, error) {
	if time.Since(w.renewed) >= readerPeriod {
		shared, err := w.reader(ctx)
		if err != nil {
			return nil, err
		}
		w.warnOfWatches([]gather.SourceRef{ref}, nil)
		shared.Renews(w.shared)
		w.shared, w.renewed = shared, time.Now()
	}
	reader, seen := w.shared, seenWorks{workStates{}, map[types.NamespacedName]*state.Report{}}
	reader.Seen = seen.note
	facts, err := reader.Facts(ctx, ref, nil)
	if err != nil {
		return nil, err
	}
	if w.until == untilGone { // a Work may be left for any cluster
		return left(facts), cannotTell(reader.Hidden())
	}
	if err := cmp.Or(mustExist(ref, facts, reader), cannotTell(reader.HiddenOf(facts))); err != nil {
		return nil, err
	}
	return w.behind(judge.On(facts), seen)
}

// seenWorks is what the Works that were read report.
type seenWorks struct {
	states  workStates
	reports map[types.NamespacedName]*state.Report
}

func (s seenWorks) note(obj *unstructured.Unstructured) {
	s.states.note(obj)
	s.reports[nameOfWork(obj)] = state.NewReport(obj)
}

// by returns what a Work reports; nil for none.
func (s seenWorks) by(w *state.Work) *state.Report {
	if w == nil {
		return nil
	}
	return s.reports[types.NamespacedName{Namespace: w.Namespace, Name: w.Name}]
}

// cannotTell returns an error that names what the user may not read; nil for nothing.
func cannotTell(hidden []string) error {
	if len(hidden) == 0 {
		return nil
	}
	return fmt.Errorf("cannot tell: you may not read %s\n  An administrator can bind you to the ClusterRole karmada-mirror-viewer, which shows the Works of all tenants, or in the namespace karmada-es-CLUSTER if the cluster is yours alone. "+
		"Otherwise the status of the object tells, where its resource has aggregateStatus: kubectl rollout status", strings.Join(hidden, "; "))
}

// left returns what is left of an object that should be gone.
func left(f judge.Facts) (works []string) {
	if f.Source != nil && f.Source.Asks {
		works = append(works, "it asks to be mirrored")
	}
	for _, work := range f.Works {
		if work.Source == f.ID {
			what := fmt.Sprintf("%s: Work %s/%s still exists", work.Cluster, work.Namespace, work.Name)
			if work.Held.Holds() {
				what += ": its deletion is held (karmada-mirror deletions list)"
			}
			works = append(works, what)
		}
	}
	return works
}

// behind returns the clusters that have not reached the state; what is not asked for is not waited for. An object that
// does not ask to be mirrored is an error.
func (w *waitCommand) behind(j judge.Judgement, seen seenWorks) (missing []string, err error) {
	f := j.Facts
	if f.Source == nil || !f.Source.Asks {
		return nil, fmt.Errorf("%s does not ask to be mirrored: karmada-mirror explain %s", f.ID, f.ID)
	}
	lines := statusesOf(j, seen.states, func(string) bool { return false })
	lines = slices.DeleteFunc(lines, func(line mirrorStatus) bool {
		return line.Decision == judge.Unwanted.String() && !j.Verdict.Targets[line.Cluster].Replaces || f.Clusters[line.Cluster].Owner != render.Identity{}
	})
	if len(lines) == 0 {
		missing = append(missing, "no cluster matches yet")
	}
	for _, line := range lines {
		applied := line.Work != nil && line.Work.State == state.WorkApplied.String() && line.Work.Applied == string(metav1.ConditionTrue)
		upToDate := line.Decision == judge.Wanted.String() && line.Operation == ""
		message := line.Message
		if upToDate && applied {
			message = w.unhealthy(j, line, seen.by(f.Works[line.Cluster]))
		}
		if message != "" || !upToDate || !applied {
			missing = append(missing, strings.TrimPrefix(line.Cluster+": "+message, ": "))
		}
	}
	return missing, nil
}

// unhealthy returns what is missing for an applied Work to be healthy; empty for nothing, or if that
// is not waited for.
func (w *waitCommand) unhealthy(j judge.Judgement, line mirrorStatus, report *state.Report) string {
	switch {
	case w.until == untilApplied:
		return ""
	case j.Facts.IsAway(line.Cluster):
		return judge.NoteAway
	case line.Work.Health != string(workv1alpha1.ResourceHealthy):
		return "health is " + cmp.Or(line.Work.Health, string(workv1alpha1.ResourceUnknown))
	case !j.IsUpToDate(line.Cluster, report):
		return "what Karmada reports is from before the last change"
	}
	return ""
}

// isTransient reports whether an error is transient: no answer is, unless it is the certificate that is refused.
func isTransient(err error) bool {
	var unanswered *url.Error
	var refused *tls.CertificateVerificationError
	return apierrors.IsServiceUnavailable(err) || apierrors.IsServerTimeout(err) || apierrors.IsTimeout(err) || apierrors.IsTooManyRequests(err) || apierrors.IsInternalError(err) ||
		utilnet.IsProbableEOF(err) || errors.As(err, &unanswered) && !errors.As(err, &refused)
}
