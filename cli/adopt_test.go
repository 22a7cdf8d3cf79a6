package cli

import (
	"strings"
	"testing"

	policyv1alpha1 "github.com/karmada-io/api/policy/v1alpha1"
	workv1alpha2 "github.com/karmada-io/api/work/v1alpha2"
	"sigs.k8s.io/yaml"
)

// TestEquivalent translates policies as docs/how-to/move-from-propagationpolicy.md says.
func TestEquivalent(t *testing.T) {
	for name, c := range map[string]struct {
		policy string
		// want are the annotations without the domain, by key=value; or without is what has no equivalent.
		want    string
		without string
	}{
		"Names":         {`placement: {clusterAffinity: {clusterNames: [member1, member3]}}`, "clusters=member1,member3", ""},
		"Everywhere":    {`placement: {}`, "clusters=*", ""},
		"Excluded":      {`placement: {clusterAffinity: {exclude: [member3]}}`, "clusters=*,!member3", ""},
		"NamesExcluded": {`placement: {clusterAffinity: {clusterNames: [a, b], exclude: [b]}}`, "clusters=a,b,!b", ""},
		"Labels":        {`placement: {clusterAffinity: {labelSelector: {matchLabels: {tier: edge}, matchExpressions: [{key: drained, operator: DoesNotExist}]}}}`, "cluster-selector=!drained,tier=edge", ""},
		"Fields":        {`placement: {clusterAffinity: {fieldSelector: {matchExpressions: [{key: region, operator: In, values: [eu, us]}, {key: provider, operator: NotIn, values: [x]}]}}}`, "cluster-selector=cluster.karmada.io/provider notin (x),topology.kubernetes.io/region in (eu,us)", ""},
		"OtherField":    {`placement: {clusterAffinity: {fieldSelector: {matchExpressions: [{key: rack, operator: In, values: [a]}]}}}`, "", "fieldSelector rack"},
		"Globs":         {`placement: {clusterAffinity: {clusterNames: ["a*"]}}`, "", "no names"},
		"Both":          {`placement: {clusterAffinity: {clusterNames: [a], labelSelector: {matchLabels: {b: c}}}}`, "", "either here"},
		"LabelsExclude": {`placement: {clusterAffinity: {exclude: [a], labelSelector: {matchLabels: {b: c}}}}`, "", "exclude by label"},
		"Groups":        {`placement: {clusterAffinities: [{affinityName: a, clusterNames: [a]}]}`, "", "second choices"},
		"DefaultSpread": {`placement: {spreadConstraints: [{spreadByField: cluster, minGroups: 1}]}`, "clusters=*", ""},
		"Spread":        {`placement: {spreadConstraints: [{spreadByField: cluster, minGroups: 1, maxGroups: 2}]}`, "", "spreadConstraints"},
		"SpreadRegions": {`placement: {spreadConstraints: [{spreadByField: region, minGroups: 1}]}`, "", "spreadConstraints"},
		"Tolerations":   {`placement: {clusterTolerations: [{key: cluster.karmada.io/not-ready, operator: Exists, effect: NoExecute, tolerationSeconds: 300}, {key: cluster.karmada.io/unreachable, operator: Exists, effect: NoExecute}]}`, "clusters=*", ""},
		"Tolerates":     {`placement: {clusterTolerations: [{key: gpu, operator: Exists}]}`, "", "clusterTolerations"},
		"ToleratesAll":  {`placement: {clusterTolerations: [{operator: Exists}]}`, "", "clusterTolerations"},
		"Duplicated":    {`placement: {replicaScheduling: {replicaSchedulingType: Duplicated}}`, "clusters=*", ""},
		"Evenly":        {`placement: {replicaScheduling: {replicaSchedulingType: Divided, replicaDivisionPreference: Weighted}}`, "clusters=* replicas=divide", ""},
		"Weights":       {`placement: {replicaScheduling: {replicaSchedulingType: Divided, replicaDivisionPreference: Weighted, weightPreference: {staticWeightList: [{targetCluster: {clusterNames: [a, b]}, weight: 2}, {targetCluster: {clusterNames: [c]}, weight: 1}]}}}`, "clusters=* replicas=a=2,b=2,c=1", ""},
		"LabelWeights":  {`placement: {replicaScheduling: {replicaSchedulingType: Divided, replicaDivisionPreference: Weighted, weightPreference: {staticWeightList: [{targetCluster: {labelSelector: {matchLabels: {a: b}}}, weight: 2}]}}}`, "", "weights for labels"},
		"Dynamic":       {`placement: {replicaScheduling: {replicaSchedulingType: Divided, replicaDivisionPreference: Weighted, weightPreference: {dynamicWeight: AvailableReplicas}}}`, "", "free capacity"},
		"Aggregated":    {`placement: {replicaScheduling: {replicaSchedulingType: Divided, replicaDivisionPreference: Aggregated}}`, "", "free capacity"},
		"Suspended":     {`suspension: {dispatching: true}`, "", "suspension"},
		"SuspendedOn":   {`suspension: {dispatchingOnClusters: {clusterNames: [a, b]}}`, "", "suspension"},
		"NotSuspended":  {`suspension: {dispatching: false}`, "clusters=*", ""},
		"Preserved":     {`preserveResourcesOnDeletion: true`, "clusters=* preserve-on-deletion=true", ""},
		"Lazy":          {`activationPreference: Lazy`, "", "Lazy"},
		"Failover":      {`failover: {cluster: {}}`, "", "failover"},
		"Overrides":     {`dependentOverrides: [a]`, "", "dependentOverrides"},
		"Scheduler":     {`schedulerName: mine`, "", "schedulerName"},
		"OwnScheduler":  {`schedulerName: default-scheduler`, "clusters=*", ""},
		"Priority":      {"priority: 3\npreemption: Always\npropagateDeps: true", "clusters=*", ""},
	} {
		t.Run(name, func(t *testing.T) {
			var p policyv1alpha1.PropagationSpec
			if err := yaml.UnmarshalStrict([]byte(c.policy), &p); err != nil {
				t.Fatal(err)
			}
			e := equivalentOf(p)
			if c.without != "" {
				if len(e.without) != 1 || !strings.Contains(e.without[0], c.without) {
					t.Errorf("it has an equivalent, or does not say why not: %q", e.without)
				}
				return
			}
			line := adopted{Resource: workv1alpha2.ObjectReference{Kind: "Page", Name: "x"}, Annotations: e.annotations}.line()
			_, said, _ := strings.Cut(strings.ReplaceAll(line, "karmada.target/", ""), ": ")
			if said != c.want || len(e.without) > 0 {
				t.Errorf("it becomes %q, without %q, want %q", said, e.without, c.want)
			}
		})
	}
}
