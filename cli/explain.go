package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/karmada-target/karmada-mirror/mirror/gather"
	"github.com/karmada-target/karmada-mirror/mirror/judge"
)

// explainCommand explains what happens to objects.
type explainCommand struct {
	*sources
	reader *gather.Reader
	states workStates
	print  explanationPrinter
}

func newExplain(transport http.RoundTripper) *cobra.Command {
	var output string
	cmd := &cobra.Command{
		Use:   "explain " + oneUsage,
		Short: "Explain why an object is or isn't mirrored to each cluster, and how to fix it",
		Long: "explain decides as the daemon does, from its own reads: it needs the right to read the object, its Namespace,\n" +
			"Clusters, Works and the daemon's ConfigMap, and writes nothing. Anything that depends on what you may not read is not\n" +
			"shown.\n" + someHelp,
		Example: "  karmada-mirror explain deploy/web -n shop\n  karmada-mirror explain Deployment.apps/shop/web -o json",
		Args:    objects,
	}
	e := &explainCommand{sources: newSources(cmd, transport), states: workStates{}}
	cmd.Flags().StringVarP(&output, "output", "o", "", "json or yaml")
	completeWords(cmd, "output", "json", "yaml")
	cmd.RunE = func(cmd *cobra.Command, args []string) (err error) {
		if e.print, err = newExplanationPrinter(output, plain{cmd.OutOrStdout()}); err != nil {
			return err
		}
		if e.reader, err = e.sources.reader(cmd.Context()); err != nil {
			return err
		}
		e.reader.Seen = e.states.note
		refs, _, err := e.named(args)
		e.warnOfWatches(refs, nil)
		for _, ref := range refs {
			err = errors.Join(err, e.one(cmd.Context(), ref))
		}
		tellHidden(plain{cmd.ErrOrStderr()}, e.reader)
		return withHint(err)
	}
	return cmd
}

// fewClusters bounds the clusters whose Events are read, a request for each.
const fewClusters = 10

// addRepairs says where Karmada writes an object back again and again.
func (e *explainCommand) addRepairs(ctx context.Context, explanation *explanation, f judge.Facts) error {
	for i, c := range explanation.Clusters {
		w := f.Works[c.Cluster]
		if w == nil || i >= fewClusters {
			continue
		}
		n, since, err := e.reader.Repairs(ctx, w, time.Now())
		if err != nil {
			return err
		}
		if n > 0 {
			explanation.Clusters[i].Repairs = &explainedRepairs{n, metav1.NewTime(since)}
			explanation.Clusters[i].Hint = cmp.Or(c.Hint, judge.MemberContested.Hint())
		}
	}
	return nil
}

// recentWarning is how old a warning may be to be the reason why something is not done.
const recentWarning = 15 * time.Minute

// addWarning says what the daemon last warned of, if there is something to do: what the API server refuses, only the daemon knows.
func (e *explainCommand) addWarning(ctx context.Context, explanation *explanation, f judge.Facts) error {
	isToDo := func(c explainedCluster) bool { return len(c.Operations) > 0 }
	if f.Source == nil || !slices.ContainsFunc(explanation.Clusters, isToDo) {
		return nil
	}
	warning, at, err := e.reader.LastWarning(ctx, f.Source)
	isSaid := func(n explainedNotice) bool { return n.Reason == string(warning.Reason) }
	if since := time.Since(at).Round(time.Second); since < recentWarning && !slices.ContainsFunc(explanation.Notices, isSaid) {
		message := fmt.Sprintf("%s (by an Event, %s ago)", oneLine(warning.Message), since)
		explanation.Notices = append(explanation.Notices, explainedNotice{string(warning.Reason), message, warning.Reason.Hint()})
	}
	return err
}

func (e *explainCommand) one(ctx context.Context, ref gather.SourceRef) error {
	facts, err := e.reader.Facts(ctx, ref, nil)
	if err != nil {
		return err
	}
	if err := mustExist(ref, facts, e.reader); err != nil {
		return err
	}
	explanation := explanationOf(facts, e.states, e.reader.HidesWorks)
	if e.configuration == nil && facts.Unknown == "" {
		explanation.Steps[0].What = "its resource may be in the configuration, which cannot be read"
	}
	if err := e.addRepairs(ctx, explanation, facts); err != nil {
		return err
	}
	if err := e.addWarning(ctx, explanation, facts); err != nil {
		return err
	}
	explanation.ClustersHidden = e.reader.HidesClusters()
	switch s := facts.Source; {
	case s == nil || s.Refusal != nil:
	case !s.Asks && s.Deleted.IsZero():
		explanation.Steps = append(explanation.Steps, e.misplaced(ctx, ref)...)
	case !explanation.ClustersHidden:
		for _, what := range idleIn(facts) {
			explanation.Steps = append(explanation.Steps, explainedStep{Passed: true, Idle: true, What: what})
		}
	}
	return e.print(explanation)
}
