package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/karmada-target/karmada-mirror/mirror/judge"
	"github.com/karmada-target/karmada-mirror/mirror/state"
)

// statusCommand lists what is mirrored where.
type statusCommand struct {
	*selection
	watch, attention, summary bool
	members                   []string
	output                    string
	errOut                    io.Writer

	states  workStates
	told    printedLines // with watch only
	printer statusPrinter
	// sources is how many have been looked at, and clusters are where they are mirrored.
	sources  int
	clusters sets.Set[string]
}

func newStatus(transport http.RoundTripper) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "status " + someUsage,
		Short: "List what is mirrored where, and whether Karmada has applied it",
		Long: "status decides as the daemon does, from its own reads, and prints a line for each object and cluster: for some\n" +
			"objects, a resource, or all resources in the configuration.\n" + someHelp + "\n\n" +
			"In a terminal, lines are fitted to its width: SOURCE is as kubectl takes it, without a namespace that is the same in all, WORK is\n" +
			"omitted, and MESSAGE is cut. -o wide, a file and a pipe get everything. APPLIED is Suspended or Later where the present content\n" +
			"is not to be applied now. With --summary, an object has one line; -o matrix has a row for it, and a column for each cluster.\n\n" +
			"READY is what kubectl prints in the member: how many of the wanted Pods are ready, for a Job how many have completed,\n" +
			"and for a Pod how many of its containers are ready. It is - for other kinds, and until Karmada has reported; 2/? says that an\n" +
			"autoscaler in the member decides how many Pods there are to be, and some are missing.\n\n" +
			"If an object has several lines, the first sums up the others. Its CLUSTER is 2/3 if Karmada has applied two of three.\n" +
			"READY is the sum, if it is known for each Work. APPLIED and HEALTH are the worst, and Unknown if only some Works report\n" +
			"them. AGE is that of the oldest Work. With --member or --needs-attention, or if you may not read a Work, there is no such line.\n" +
			"While a change reaches the clusters in waves, its MESSAGE is about the first wave that has not come through.\n" +
			"In JSON and YAML, it has clusters (total, applied, healthy, ready, wanted, wave, creationTimestamp) instead of cluster,\n" +
			"decision, operation and work. The numbers of READY are ready and wanted, in work and in clusters.\n\n" +
			"With --watch, it then prints each line that changes, even if only the object has changed, and says when a Work is\n" +
			"deleted. A change of a Namespace, a cluster or a policy shows when it changes Works. It needs the right to watch Works,\n" +
			"and the objects.\n\n" +
			"It needs the right to read them, Clusters, Works and the daemon's ConfigMap (the ClusterRole karmada-mirror-viewer\n" +
			"covers all but the objects), and writes nothing. Anything that depends on what you may not read is not shown.",
		Args:    someObjects,
		Example: "  karmada-mirror status -A\n  karmada-mirror status -A --needs-attention\n  karmada-mirror status deploy -n shop -l team=web\n  karmada-mirror status deploy/cart -n shop -w",
	}
	s := &statusCommand{selection: newSelection(cmd, transport), states: workStates{}, told: printedLines{}, clusters: sets.New[string]()}
	cmd.Flags().BoolVarP(&s.watch, "watch", "w", false, "after the list, print each line that changes, until interrupted")
	cmd.Flags().StringVarP(&s.labels, "selector", "l", "", "only objects with these labels, as in kubectl get -l")
	cmd.Flags().StringSliceVar(&s.members, "member", nil, "only these member clusters")
	const attention = "only what needs your attention: refused, held, overdue, not healthy or not applied for a minute, or failed to apply"
	cmd.Flags().BoolVar(&s.attention, "needs-attention", false, attention)
	cmd.Flags().BoolVar(&s.attention, "failed", false, "the same as --needs-attention")
	cmd.Flags().BoolVar(&s.summary, "summary", false, "one line for each object")
	cmd.Flags().StringVarP(&s.output, "output", "o", "", "wide, matrix (a column for each cluster), name, json or yaml")
	completeWords(cmd, "output", "wide", "matrix", "name", "json", "yaml")
	completeFlag(cmd, "member", s.completeMember)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		s.errOut = plain{cmd.ErrOrStderr()}
		err := mustNotBeEmpty(cmd, "member", "selector")
		if err != nil {
			return err
		}
		if s.watch && s.labels != "" {
			return misuse("cannot use --watch with --selector: Works do not have the labels of their objects")
		}
		if _, err := labels.Parse(s.labels); err != nil {
			return misuse("cannot use --selector: %w", err)
		}
		if s.summary && (s.watch || s.output == "matrix" || s.attention || len(s.members) > 0) {
			return misuse("cannot use --summary with --watch, -o matrix, --needs-attention or --member: they are about lines of clusters")
		}
		if s.printer, err = newStatusPrinter(s.output, s.watch, s.allNamespaces, plain{cmd.OutOrStdout()}); err != nil {
			return err
		}
		if table, ok := s.printer.(*statusTable); ok {
			table.isAnywhere = slices.ContainsFunc(args, func(arg string) bool { return strings.Count(arg, "/") > 1 })
		}
		return withHint(s.run(cmd.Context(), args))
	}
	return cmd
}

func (s *statusCommand) run(ctx context.Context, args []string) error {
	few := args
	if s.watch { // all Works are followed
		few = nil
	}
	if err := s.read(ctx, s.errOut, few, s.states.note); err != nil {
		return err
	}
	for _, member := range s.members {
		if s.survey.Cluster(member) == nil && !s.survey.HidesClusters() {
			return fmt.Errorf("there is no cluster %q (kubectl get clusters)", member)
		}
	}
	err := errors.Join(s.each(ctx, args, s.print), s.printer.flush())
	tellHidden(s.errOut, s.survey.Reader)
	if err == nil && s.watch {
		err = s.follow(ctx, args)
	}
	if s.printer.printed() == 0 && err == nil && !s.watch {
		fmt.Fprintln(s.errOut, s.nothing(ctx, args))
	}
	return err
}

// nothing returns the message for an empty list.
func (s *statusCommand) nothing(ctx context.Context, args []string) string {
	if s.namespace != "" && s.isNamespaced(args) {
		if _, err := s.client.Resource(state.NamespacesResource).Get(ctx, s.namespace, metav1.GetOptions{}); apierrors.IsNotFound(err) {
			return fmt.Sprintf("There is no namespace %q.", s.namespace)
		}
	}
	if unlisted := s.unlisted(args); unlisted != "" && s.sources == 0 {
		return unlisted + " is not among the resources of the daemon's configuration: nothing of it is mirrored."
	}
	if refs, _, err := s.named(args); err == nil && len(refs) > 0 && s.sources == 0 && !s.attention {
		return "Nothing of it is mirrored, or asks to be: karmada-mirror explain says why."
	}
	which := "Nothing"
	if len(s.survey.Hidden()) > 0 {
		which = "Nothing that you may read"
	}
	if s.attention {
		return fmt.Sprintf("%s needs your attention; objects: %d, clusters: %d.", which, s.sources, len(s.clusters))
	}
	if which != "Nothing" {
		return which + " is mirrored here, or asks to be."
	}
	if len(s.members) > 0 || s.labels != "" {
		return "Nothing that you selected is mirrored here, or asks to be."
	}
	if len(args) == 0 && s.configuration != nil {
		return fmt.Sprintf("Nothing of the %d resources in the daemon's configuration is mirrored here, and nothing asks to be.", len(s.configuration.Resources))
	}
	return "Nothing is mirrored here, and nothing asks to be."
}

// isNamespaced reports whether the arguments name only kinds of objects with a namespace, and no object.
func (s *statusCommand) isNamespaced(args []string) bool {
	refs, kinds, err := s.named(args)
	return err == nil && len(refs) == 0 && !slices.ContainsFunc(kinds, func(kind *meta.RESTMapping) bool { return kind.Scope.Name() != meta.RESTScopeNameNamespace })
}

// unlisted returns the resource of the arguments if it is not in the configuration; empty otherwise.
func (s *statusCommand) unlisted(args []string) string {
	_, kinds, err := s.named(args)
	if err != nil || s.configuration == nil {
		return ""
	}
	for _, kind := range kinds {
		if _, isListed := s.configuration.Resource(kind.Resource.GroupResource()); !isListed {
			return kind.Resource.GroupResource().String()
		}
	}
	return ""
}

// count counts what is looked at.
func (s *statusCommand) count(lines []mirrorStatus) {
	before := len(lines)
	lines = slices.DeleteFunc(slices.Clone(lines), func(line mirrorStatus) bool {
		return line.Cluster == "" || len(s.members) > 0 && !slices.Contains(s.members, line.Cluster)
	})
	if len(lines) > 0 || before > 0 && len(s.members) == 0 {
		s.sources++
	}
	for _, line := range lines {
		s.clusters.Insert(line.Cluster)
	}
}

func (s *statusCommand) print(f judge.Facts) error {
	lines := s.linesOf(f)
	s.count(lines)
	if s.summary {
		lines = oneOf(lines)
	}
	if s.watch {
		lines = s.told.news(f.ID, lines)
	}
	for _, line := range lines {
		if !s.chooses(line) {
			continue
		}
		if err := s.printer.print(line); err != nil {
			return err
		}
	}
	return nil
}

// oneOf returns the line that sums up the others, or the last: one that refuses the source follows that of its only cluster.
func oneOf(lines []mirrorStatus) []mirrorStatus {
	switch {
	case len(lines) < 2:
		return lines
	case lines[0].Clusters != nil:
		return lines[:1]
	case slices.ContainsFunc(lines, func(line mirrorStatus) bool { return line.isHidden }):
		line := mirrorStatus{TypeMeta: lines[0].TypeMeta, Source: lines[0].Source, Message: "you may not read all of its Works"}
		return []mirrorStatus{line}
	}
	return lines[len(lines)-1:]
}

// linesOf returns the lines of a source. The first sums up the others if there are several: unless
// only some of them are selected, or the user may not read all of its Works.
func (s *statusCommand) linesOf(f judge.Facts) []mirrorStatus {
	j := judge.On(f)
	lines := statusesOf(j, s.states, s.survey.HidesWorks)
	isHidden := slices.ContainsFunc(lines, func(line mirrorStatus) bool { return s.survey.HidesWorks(line.Cluster) })
	if len(lines) < 2 || isHidden || s.attention || len(s.members) > 0 {
		if unknown := judge.UnknownNames(f); unknown != nil && (len(lines) == 0 || lines[len(lines)-1].Message != refusalText(*unknown)) {
			lines = append(lines, refusedLine(f.ID, *unknown))
		}
		return lines
	}
	return slices.Insert(lines, 0, sumOf(f.ID, lines, j.Verdict))
}

// chooses reports whether the flags select a line.
func (s *statusCommand) chooses(line mirrorStatus) bool {
	return (len(s.members) == 0 || slices.Contains(s.members, line.Cluster)) && (!s.attention || line.needsAttention())
}
