package state

import (
	"maps"
	"slices"
	"strings"
	"time"

	clusterv1alpha1 "github.com/karmada-io/api/cluster/v1alpha1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/karmada-target/karmada-mirror/render"
)

// ClustersResource is the resource of member clusters.
var ClustersResource = schema.GroupVersionResource{
	Group: clusterv1alpha1.GroupName, Version: clusterv1alpha1.GroupVersion.Version, Resource: clusterv1alpha1.ResourcePluralCluster,
}

// Cluster is what the cache keeps of a member cluster.
type Cluster struct {
	Meta
	// Member is what the Works may depend on, and Labels are what selectors see of it.
	Member *render.Member
	Labels labels.Set
	// Joined is when it was created: it may have left, and joined again.
	Joined time.Time
	// IsReady: Karmada can reach it; ReadySince is when IsReady last changed.
	IsReady    bool
	ReadySince time.Time
	// Kinds are those that its API server serves. Most clusters share them.
	Kinds Kinds
}

// NewCluster reduces a Cluster to what the cache keeps of it.
func NewCluster(obj *unstructured.Unstructured) *Cluster {
	member := newMember(obj)
	cluster := &Cluster{Meta: keepMeta(obj), Member: member, Labels: member.SelectorLabels(), Joined: obj.GetCreationTimestamp().Time}
	cluster.IsReady, cluster.ReadySince = readiness(obj)
	cluster.Kinds = Kinds(shared(servedKinds(obj)))
	return cluster
}

func newMember(obj *unstructured.Unstructured) *render.Member {
	text := func(field string) string {
		value, _, _ := unstructured.NestedString(obj.Object, "spec", field)
		return value
	}
	zones, _, _ := unstructured.NestedStringSlice(obj.Object, "spec", "zones")
	if zone := text("zone"); len(zones) == 0 && zone != "" { // deprecated
		zones = []string{zone}
	}
	return &render.Member{
		Name: obj.GetName(), Region: text("region"), Provider: text("provider"), Zones: zones,
		Labels: obj.GetLabels(), Annotations: obj.GetAnnotations(),
	}
}

// SameMeaning reports whether c and d agree on everything that a judgement looks at: a
// Cluster reports every few seconds. Readiness matters only to the Works that wait for
// the cluster.
func (c *Cluster) SameMeaning(d *Cluster) bool {
	return c.IsSameButMember(d) && c.Member.Equal(d.Member)
}

// IsSameButMember reports whether c and d agree on everything that a judgement looks at,
// except perhaps on what the cluster says about itself.
func (c *Cluster) IsSameButMember(d *Cluster) bool {
	return c.UID == d.UID && c.Terminating == d.Terminating && c.Kinds == d.Kinds
}

// servedKinds returns the kinds that Karmada has collected; empty if they may be incomplete.
func servedKinds(obj *unstructured.Unstructured) string {
	var status clusterv1alpha1.ClusterStatus
	fields, _, _ := unstructured.NestedMap(obj.Object, "status")
	if runtime.DefaultUnstructuredConverter.FromUnstructured(fields, &status) != nil ||
		!meta.IsStatusConditionTrue(status.Conditions, clusterv1alpha1.ClusterConditionCompleteAPIEnablements) {
		return ""
	}
	versions := map[string]string{}
	for _, enablement := range status.APIEnablements {
		gv, err := schema.ParseGroupVersion(enablement.GroupVersion)
		if err != nil {
			continue
		}
		for _, resource := range enablement.Resources {
			kind := gv.WithKind(resource.Kind).GroupKind().String()
			if !slices.Contains(strings.Fields(versions[kind]), gv.Version) {
				versions[kind] += " " + gv.Version
			}
		}
	}
	var kinds strings.Builder
	for _, kind := range slices.Sorted(maps.Keys(versions)) {
		kinds.WriteString("\n" + kind + versions[kind])
	}
	return kinds.String() + "\n"
}

// IsOtherwiseReady reports whether a cluster has gone or come back.
func (c *Cluster) IsOtherwiseReady(before *Cluster) bool {
	return before.IsReady != c.IsReady || !before.ReadySince.Equal(c.ReadySince)
}

// HasReturned reports whether the cluster has become ready since it was as before, though it may have
// been so then: an outage may fall between two lists.
func (c *Cluster) HasReturned(before *Cluster) bool {
	return c.IsReady && (!before.IsReady || !c.ReadySince.Equal(before.ReadySince))
}

// readiness returns whether a cluster is ready, and when that last changed: its creation if
// Karmada has not checked it yet.
func readiness(obj *unstructured.Unstructured) (isReady bool, since time.Time) {
	list, _, _ := unstructured.NestedSlice(obj.Object, "status", "conditions")
	condition := meta.FindStatusCondition(toConditions(list), clusterv1alpha1.ClusterConditionReady)
	if condition == nil {
		return false, obj.GetCreationTimestamp().Time
	}
	return condition.Status == metav1.ConditionTrue, condition.LastTransitionTime.Time
}

// Kinds are those that the API server of a cluster serves, according to Karmada, and their versions, a kind per
// line; empty if Karmada does not know all of them.
type Kinds string

// Of returns in which versions a kind is served; none if it certainly is not. isKnown is false if nothing is known.
func (k Kinds) Of(kind schema.GroupKind) (versions []string, isKnown bool) {
	_, after, _ := strings.Cut(string(k), "\n"+kind.String()+" ")
	line, _, _ := strings.Cut(after, "\n")
	return strings.Fields(line), k != ""
}

// Lack reports whether a cluster is known not to serve a kind in any version.
func (k Kinds) Lack(kind schema.GroupKind) bool {
	versions, isKnown := k.Of(kind)
	return isKnown && len(versions) == 0
}
