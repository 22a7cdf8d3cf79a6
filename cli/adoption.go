package cli

import (
	"fmt"
	"slices"
	"strings"

	clusterv1alpha1 "github.com/karmada-io/api/cluster/v1alpha1"
	policyv1alpha1 "github.com/karmada-io/api/policy/v1alpha1"
	workv1alpha2 "github.com/karmada-io/api/work/v1alpha2"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/karmada-target/karmada-mirror/render"
)

// adoption is what adopt does about one policy. It is stored before anything changes, so that another run can complete it.
type adoption struct {
	// Policy is its kind and namespace/name.
	Policy string    `json:"policy"`
	UID    types.UID `json:"uid"`
	// Label is the label of what it claims, and ID the value.
	Label string `json:"label"`
	ID    string `json:"id"`
	// Overwrites and Preserves are what the policy said before adopt changed it.
	Overwrites bool `json:"overwrites,omitempty"`
	Preserves  bool `json:"preserves,omitempty"`
	// Objects are what it propagates.
	Objects []adopted `json:"objects"`
}

// adopted is an object that a policy propagates, and its binding.
type adopted struct {
	Resource    workv1alpha2.ObjectReference `json:"resource"`
	Binding     string                       `json:"binding"`
	UID         types.UID                    `json:"uid"`
	PermanentID string                       `json:"permanentID"`
	// Annotations are what it gets. All say to overwrite until it is moved.
	Annotations map[string]string `json:"annotations"`
	// Clusters are where it is now, and Notes what will be different.
	Clusters []string `json:"clusters"`
	Notes    []string `json:"notes,omitempty"`
}

func (a adopted) String() string {
	return render.Identity{Group: a.kind().Group, Kind: a.Resource.Kind, Namespace: a.Resource.Namespace, Name: a.Resource.Name}.String()
}

func (a adopted) kind() schema.GroupVersionKind {
	return schema.FromAPIVersionAndKind(a.Resource.APIVersion, a.Resource.Kind)
}

// bindings is the resource of its binding.
func (a adopted) bindings() schema.GroupVersionResource {
	if a.Resource.Namespace == "" {
		return schema.GroupVersion(workv1alpha2.GroupVersion).WithResource(workv1alpha2.ResourcePluralClusterResourceBinding)
	}
	return schema.GroupVersion(workv1alpha2.GroupVersion).WithResource(workv1alpha2.ResourcePluralResourceBinding)
}

// works selects the Works of its binding.
func (a adopted) works() metav1.ListOptions {
	label := workv1alpha2.ResourceBindingPermanentIDLabel
	if a.Resource.Namespace == "" {
		label = workv1alpha2.ClusterResourceBindingPermanentIDLabel
	}
	return metav1.ListOptions{LabelSelector: label + "=" + a.PermanentID}
}

// equivalent is the annotations for what a policy says, and why some of it has none.
type equivalent struct {
	annotations map[string]string
	without     []string
}

// equivalentOf translates a policy: docs/how-to/move-from-propagationpolicy.md has the table.
func equivalentOf(p policyv1alpha1.PropagationSpec) equivalent {
	e := equivalent{annotations: map[string]string{}}
	e.place(p.Placement)
	e.divide(p.Placement.ReplicaScheduling)
	if p.PreserveResourcesOnDeletion != nil && *p.PreserveResourcesOnDeletion {
		e.annotations[render.PreserveOnDeletionAnnotation] = "true"
	}
	e.refuse(p.ActivationPreference == policyv1alpha1.LazyActivation, "activationPreference Lazy: what it propagates may not be what the policy says; remove it from the policy first")
	e.refuse(isSuspended(p.Suspension), "suspension: what is kept back would be applied; move it before or after")
	e.refuse(p.Failover != nil, "failover: nothing moves to another cluster here")
	e.refuse(len(p.DependentOverrides) > 0, "dependentOverrides: an object does not wait for its override policies here")
	e.refuse(p.SchedulerName != "" && p.SchedulerName != "default-scheduler", "schedulerName: another scheduler chooses the clusters")
	return e
}

func (e *equivalent) refuse(applies bool, why string) {
	if applies {
		e.without = append(e.without, why)
	}
}

// place says which clusters.
func (e *equivalent) place(p policyv1alpha1.Placement) {
	e.refuse(len(p.ClusterAffinities) > 0, "clusterAffinities: there are no second choices here")
	e.refuse(slices.ContainsFunc(p.SpreadConstraints, choosesSome), "spreadConstraints: the clusters are named or labelled here, and not a number of them")
	e.refuse(slices.ContainsFunc(p.ClusterTolerations, toleratesMore), "clusterTolerations: taints of clusters have no effect here; choose the clusters by names or labels")
	e.refuse(p.WorkloadAffinity != nil, "workloadAffinity: objects do not follow each other here")
	a := p.ClusterAffinity
	if a == nil {
		a = &policyv1alpha1.ClusterAffinity{}
	}
	selector := e.selectorOf(a)
	names := slices.Clone(a.ClusterNames)
	e.refuse(strings.ContainsAny(strings.Join(append(names, a.ExcludeClusters...), ""), "*?!,= "), "clusterNames: some are no names of clusters")
	names = slices.Clone(a.ClusterNames)
	e.refuse(len(names) > 0 && selector != "", "clusterNames with a selector: both apply there, and either here")
	excluded := make([]string, 0, len(a.ExcludeClusters))
	for _, name := range a.ExcludeClusters {
		excluded = append(excluded, "!"+name)
	}
	switch {
	case selector != "":
		e.annotations[render.ClusterSelectorAnnotation] = selector
		e.refuse(len(excluded) > 0, "exclude with a selector: exclude by label")
		return
	case len(names) == 0:
		names = []string{"*"}
	}
	e.annotations[render.ClustersAnnotation] = strings.Join(append(names, excluded...), ",")
}

// choosesSome reports whether a constraint chooses a part of the clusters: by default, Karmada adds one that does not.
func choosesSome(c policyv1alpha1.SpreadConstraint) bool {
	return c.SpreadByField != policyv1alpha1.SpreadByFieldCluster || c.SpreadByLabel != "" || c.MaxGroups != 0 || c.MinGroups > 1
}

// toleratesMore reports whether a toleration is not one of those that earlier versions of Karmada added to every policy.
func toleratesMore(t corev1.Toleration) bool {
	return t.Key != clusterv1alpha1.TaintClusterNotReady && t.Key != clusterv1alpha1.TaintClusterUnreachable
}

// selectorOf is the selector for what an affinity says of labels and fields; empty for nothing.
func (e *equivalent) selectorOf(a *policyv1alpha1.ClusterAffinity) string {
	var all metav1.LabelSelector
	if a.LabelSelector != nil {
		all = *a.LabelSelector.DeepCopy()
	}
	if a.FieldSelector != nil {
		for _, x := range a.FieldSelector.MatchExpressions {
			key, isKnown := map[string]string{"provider": "cluster.karmada.io/provider", "region": corev1.LabelTopologyRegion, "zone": corev1.LabelTopologyZone}[x.Key]
			e.refuse(!isKnown || x.Operator != corev1.NodeSelectorOpIn && x.Operator != corev1.NodeSelectorOpNotIn, "fieldSelector "+x.Key+": only provider, region and zone, with In and NotIn, are labels here")
			all.MatchExpressions = append(all.MatchExpressions, metav1.LabelSelectorRequirement{Key: key, Operator: metav1.LabelSelectorOperator(x.Operator), Values: x.Values})
		}
	}
	if len(all.MatchLabels)+len(all.MatchExpressions) == 0 || len(e.without) > 0 {
		return ""
	}
	selector, err := metav1.LabelSelectorAsSelector(&all)
	if err != nil {
		e.refuse(true, "labelSelector: "+err.Error())
		return ""
	}
	return selector.String()
}

// divide says how replicas are divided.
func (e *equivalent) divide(s *policyv1alpha1.ReplicaSchedulingStrategy) {
	if s == nil || s.ReplicaSchedulingType != policyv1alpha1.ReplicaSchedulingTypeDivided {
		return
	}
	if s.ReplicaDivisionPreference != policyv1alpha1.ReplicaDivisionPreferenceWeighted || s.WeightPreference != nil && s.WeightPreference.DynamicWeight != "" {
		e.refuse(true, "replicaScheduling by free capacity: write weights, or keep the policy")
		return
	}
	if s.WeightPreference == nil || len(s.WeightPreference.StaticWeightList) == 0 {
		e.annotations[render.ReplicasAnnotation] = "divide"
		return
	}
	var weights []string
	for _, w := range s.WeightPreference.StaticWeightList {
		t := w.TargetCluster
		e.refuse(t.LabelSelector != nil || t.FieldSelector != nil || len(t.ExcludeClusters) > 0, "weights for labels: they are for names and globs here")
		for _, name := range t.ClusterNames {
			weights = append(weights, fmt.Sprintf("%s=%d", name, w.Weight))
		}
	}
	e.annotations[render.ReplicasAnnotation] = strings.Join(weights, ",")
}

// isSuspended reports whether a policy does not apply everything everywhere.
func isSuspended(s *policyv1alpha1.Suspension) bool {
	return s != nil && (s.Dispatching != nil && *s.Dispatching || s.DispatchingOnClusters != nil && len(s.DispatchingOnClusters.ClusterNames) > 0)
}
