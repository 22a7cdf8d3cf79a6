package cli

import (
	"cmp"
	"fmt"
	"io"
	"strings"

	workv1alpha1 "github.com/karmada-io/api/work/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/karmada-target/karmada-mirror/mirror/judge"
	"github.com/karmada-target/karmada-mirror/mirror/state"
	"github.com/karmada-target/karmada-mirror/render"
)

// explanation says what happens to a source, step by step and for each cluster.
type explanation struct {
	metav1.TypeMeta `json:",inline"`
	Source          sourceName `json:"source"`
	// Steps hold for every cluster. The last one may be the one that failed.
	Steps []explainedStep `json:"steps"`
	// Notices are what keeps Karmada from doing what is wanted.
	Notices  []explainedNotice  `json:"notices,omitempty"`
	Clusters []explainedCluster `json:"clusters,omitempty"`
	// ClustersHidden is true if the user may not list the clusters.
	ClustersHidden bool `json:"clustersHidden,omitempty"`
}

type explainedStep struct {
	Passed bool `json:"passed"`
	// Idle: it is about something that has no effect now, and may be a mistake.
	Idle bool   `json:"idle,omitempty"`
	What string `json:"what"`
	// Hint is what to do if it failed.
	Hint string `json:"hint,omitempty"`
}

type explainedNotice struct {
	Reason  string `json:"reason"`
	Message string `json:"message"`
	Hint    string `json:"hint,omitempty"`
}

type explainedCluster struct {
	Cluster string `json:"cluster"`
	// Waits is true if it is not the turn of the cluster: Work is then about what it had before.
	Waits bool `json:"waits,omitempty"`
	// Decision is Wanted, Unwanted, Unknown, Released or Unneeded.
	Decision string `json:"decision"`
	Because  string `json:"because"`
	// Operations are what the daemon would do now.
	Operations []string    `json:"operations,omitempty"`
	Work       *workStatus `json:"work,omitempty"`
	// Note is how the Work differs from others; empty for not at all.
	Note string `json:"note,omitempty"`
	// Repairs are those of the object in the member; nil if they are few.
	Repairs *explainedRepairs `json:"repairs,omitempty"`
	// Differs are what differs from other clusters in the object.
	Differs []explainedEffect `json:"differs,omitempty"`
	// Hidden is true if the user may not read the Work.
	Hidden bool `json:"workHidden,omitempty"`
	// Hint is what to do; empty for nothing.
	Hint string `json:"hint,omitempty"`
}

// explainedRepairs are how often Karmada has applied a Work that did not change.
type explainedRepairs struct {
	Count int64       `json:"count"`
	Since metav1.Time `json:"since"`
}

// explainedEffect is what a policy, an annotation or the configuration changes for a cluster.
type explainedEffect struct {
	By    string   `json:"by"`
	Paths []string `json:"paths"`
}

func explanationOf(f judge.Facts, states workStates, hidden func(cluster string) bool) *explanation {
	from := judge.Explain(f)
	e := &explanation{
		TypeMeta: metav1.TypeMeta{APIVersion: statusVersion, Kind: "MirrorExplanation"},
		Source:   nameOf(f.ID), Steps: []explainedStep{},
	}
	for _, step := range from.Steps {
		e.Steps = append(e.Steps, explainedStep{Passed: step.Passed, What: oneLine(step.What), Hint: step.Hint})
	}
	for _, notice := range from.Notices {
		e.Notices = append(e.Notices, explainedNotice{string(notice.Reason), oneLine(notice.Message), notice.Reason.Hint()})
	}
	for _, c := range from.Clusters {
		e.Clusters = append(e.Clusters, explainCluster(f.ID, c, states, hidden(c.Cluster)))
	}
	return e
}

func explainCluster(id render.Identity, c judge.ClusterExplanation, states workStates, hidden bool) explainedCluster {
	explained := explainedCluster{Cluster: c.Cluster, Waits: c.Waits, Decision: c.Decision.String(), Because: oneLine(c.Because), Note: c.Note, Hint: c.Hint}
	if c.Work != nil {
		explained.Work = states.of(c.Work)
	}
	for _, effect := range c.Differs {
		explained.Differs = append(explained.Differs, explainedEffect(effect))
	}
	switch explained.Hidden = hidden && c.Work == nil; {
	case explained.Hidden:
		explained.Note = "" // which is about a Work that is missing
	case c.Operation.Kind != "":
		explained.Operations = append(explained.Operations, string(c.Operation.Kind))
		explained.Hint = cmp.Or(explained.Hint, "if this stays so, an Event of the object or the daemon's log says why")
	}
	if w := explained.Work; w != nil && w.State == state.WorkFailed.String() && explained.Hint == "" {
		explained.Hint = advice(w.Reason)
	} else if w != nil && w.Health == string(workv1alpha1.ResourceUnhealthy) && explained.Hint == "" {
		explained.Hint = fmt.Sprintf("see why in the member, for example with karmadactl describe %s --operation-scope=members -C %s", id.Arguments(), c.Cluster)
	}
	return explained
}

// explanationPrinter prints explanations one after another.
type explanationPrinter func(*explanation) error

func newExplanationPrinter(output string, out io.Writer) (explanationPrinter, error) {
	if output == "" {
		between := ""
		return func(e *explanation) error {
			text := between + e.text()
			between = "\n"
			_, err := io.WriteString(out, text)
			return err
		}, nil
	}
	printer, err := objectPrinter(output, "json or yaml")
	if err != nil {
		return nil, err
	}
	return func(e *explanation) error {
		fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(e)
		if err != nil {
			return err
		}
		return printer.PrintObj(&unstructured.Unstructured{Object: fields}, out)
	}, nil
}

// text returns the explanation for a terminal: anything that may be long gets its own line.
func (e *explanation) text() string {
	var b strings.Builder
	fmt.Fprintln(&b, e.Source)
	for _, step := range e.Steps {
		mark := tick(step.Passed)
		if step.Idle {
			mark = "!"
		}
		fmt.Fprintf(&b, "  %s %s\n", mark, step.What)
		if step.Hint != "" {
			fmt.Fprintf(&b, "      %s\n", step.Hint)
		}
	}
	for _, notice := range e.Notices {
		fmt.Fprintf(&b, "  ! %s: %s\n      %s\n", notice.Reason, notice.Message, notice.Hint)
	}
	switch {
	case len(e.Clusters) > 0:
	case e.ClustersHidden:
		b.WriteString("\nYou may not list clusters, so the ones that it asks for are not shown.\n")
	default:
		b.WriteString("\nIt has no target clusters and no Works.\n")
	}
	for _, c := range e.Clusters {
		b.WriteString(c.text())
	}
	return b.String()
}

func (c explainedCluster) text() string {
	var b strings.Builder
	decision, state := c.Decision, ""
	if c.Waits {
		decision, state = laterCell, ", with the content that it had before"
	}
	fmt.Fprintf(&b, "\n%s: %s\n", c.Cluster, decision)
	line := func(name, value string) {
		if value != "" {
			fmt.Fprintf(&b, "  %-9s %s\n", name+":", value)
		}
	}
	line("Because", c.Because)
	if c.Hidden {
		line("Work", "you may not read it")
	}
	if w := c.Work; w != nil {
		line("Work", w.Namespace+"/"+w.Name)
		line("State", w.State+state)
		line("Health", w.Health)
		line("Message", cmp.Or(w.Reason, w.Ailment))
	}
	if r := c.Repairs; r != nil {
		line("Repairs", fmt.Sprintf("%d since %s: something in the member edits it, and Karmada writes it back", r.Count, stamp(r.Since)))
	}
	for _, effect := range c.Differs {
		line("Differs", effect.text())
	}
	line("Note", c.Note)
	line("Next", strings.Join(c.Operations, ", "))
	line("To do", c.Hint)
	return b.String()
}

// shownPaths is how many fields a line names.
const shownPaths = 4

func (e explainedEffect) text() string {
	if len(e.Paths) == 0 {
		return e.By + " selects it, and changes nothing"
	}
	shown, more := e.Paths[:min(len(e.Paths), shownPaths)], ""
	if n := len(e.Paths) - len(shown); n > 0 {
		more = fmt.Sprintf(" and %d more", n)
	}
	return e.By + " changes " + oneLine(strings.Join(shown, ", ")) + more
}

func tick(passed bool) string {
	if passed {
		return "✓"
	}
	return "✗"
}
