package aggregate

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Member is what the Work of one target reports.
type Member struct {
	// Cluster is the name of the member cluster.
	Cluster string
	// Status is the JSON in status.manifestStatuses of the Work. It is empty if Karmada has
	// collected none yet.
	Status []byte
	// Generation is that of the source from which the Work's manifest was made: its annotation
	// resourcetemplate.karmada.io/generation.
	Generation int64
	// Settled means that the Work is as it should be, and that Karmada says it is applied.
	Settled bool
	// Idle: the Work carries a Job that IsIdle, and the member has no Pods of it either.
	Idle bool
	// Unhealthy: so Karmada calls the member's object.
	Unhealthy bool
	// ChoosesReplicas: the Work leaves the number of replicas to the member.
	ChoosesReplicas bool
	// Later: what it reports is, by its time, from after the Work got its content. Lacking: the member has refused the content, or
	// could not be reached when the Work got it.
	Later, Lacking bool
}

// rules are the kinds that Karmada sums up, except PersistentVolumes. Karmada's are for one
// version each; the fields that are set here are the same in all versions.
var rules = map[schema.GroupKind]func(*summary) error{
	{Group: "apps", Kind: "Deployment"}:                     deployment,
	{Group: "apps", Kind: "StatefulSet"}:                    statefulSet,
	{Group: "apps", Kind: "DaemonSet"}:                      daemonSet,
	{Group: "apps", Kind: "ReplicaSet"}:                     replicaSet,
	{Group: "batch", Kind: "Job"}:                           job,
	{Group: "batch", Kind: "CronJob"}:                       cronJob,
	{Kind: "Service"}:                                       service,
	{Kind: "Pod"}:                                           pod,
	{Kind: "PersistentVolumeClaim"}:                         claim,
	{Group: "networking.k8s.io", Kind: "Ingress"}:           ingress,
	{Group: "policy", Kind: "PodDisruptionBudget"}:          disruptionBudget,
	{Group: "autoscaling", Kind: "HorizontalPodAutoscaler"}: autoscaler,
}

// Status returns the status that a source should have. The source has its apiVersion, kind,
// metadata.generation, spec and current status, as decoded from JSON, and is not changed. now
// is the time of conditions that change.
//
// Fields and conditions that no rule sets stay as they are: other controllers or the API server
// may have written them. Hence a second call with the result as the current status returns the
// same, at any time. (Compare them with equality.Semantic: an object without a status has an
// empty one.)
//
// A kind without a rule gets the status of its only member, with the source's generations. If it has several members,
// or the only one has reported nothing, its status stays.
//
// A status that is not that of the kind, is too large, or has a negative count, which no API server would
// accept in the sum, is an error that names the cluster. Sums stop at math.MaxInt32.
func Status(source *unstructured.Unstructured, members []Member, now time.Time) (status map[string]any, err error) {
	current, err := currentStatus(source)
	if err != nil {
		return nil, err
	}
	s := &summary{source: source, status: current, now: now.UTC().Format(time.RFC3339)}
	s.members = slices.SortedStableFunc(slices.Values(members), func(a, b Member) int { return cmp.Compare(a.Cluster, b.Cluster) })
	rule, most := rules[source.GroupVersionKind().GroupKind()], maxSummed
	if rule == nil {
		rule, most = only, maxCopied
	}
	if err := checkSize(members, most); err != nil {
		return nil, err
	}
	if err := rule(s); err != nil {
		return nil, err
	}
	return s.status, nil
}

// summary is what a rule works on.
type summary struct {
	source *unstructured.Unstructured
	// members are sorted by cluster.
	members []Member
	// status is the current one, which the rule changes in place.
	status map[string]any
	now    string
}

// currentStatus returns a copy.
func currentStatus(source *unstructured.Unstructured) (map[string]any, error) {
	switch status := source.Object["status"].(type) {
	case nil:
		return map[string]any{}, nil
	case map[string]any:
		return runtime.DeepCopyJSON(status), nil
	default:
		return nil, errors.New("cannot read the status of the source: it is not an object")
	}
}

// set takes some fields from a status of k8s.io/api, and removes those that are omitted there as
// empty. A zero or null stays: the API server may show it, as in autoscaling/v1.
func (s *summary) set(typed any, fields ...string) error {
	encoded, err := runtime.DefaultUnstructuredConverter.ToUnstructured(typed)
	if err != nil {
		return fmt.Errorf("cannot encode the status: %w", err)
	}
	for _, field := range fields {
		if value, ok := encoded[field]; ok {
			s.status[field] = value
		} else if current := s.status[field]; current != int64(0) && current != nil {
			delete(s.status, field)
		}
	}
	return nil
}
