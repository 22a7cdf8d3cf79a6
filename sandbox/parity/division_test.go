package parity

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	clusterv1alpha1 "github.com/karmada-io/karmada/pkg/apis/cluster/v1alpha1"
	policyv1alpha1 "github.com/karmada-io/karmada/pkg/apis/policy/v1alpha1"
	workv1alpha2 "github.com/karmada-io/karmada/pkg/apis/work/v1alpha2"
	"github.com/karmada-io/karmada/pkg/resourceinterpreter/default/native"
	"github.com/karmada-io/karmada/pkg/scheduler/core"
	"github.com/karmada-io/karmada/pkg/scheduler/core/spreadconstraint"
	"github.com/karmada-io/karmada/pkg/util/helper"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/karmada-target/karmada-mirror/render"
	"github.com/karmada-target/karmada-mirror/simulation/model"
)

// TestDivision compares with what Karmada's scheduler assigns by static weights.
func TestDivision(t *testing.T) {
	random := rand.New(rand.NewPCG(10, 11))
	var zeros, ties, others int
	for range manyDivisions {
		c := newDivision(random)
		got := render.Divide(int64(c.total), c.weights, render.TiesOf(c.uid))
		if diff := cmp.Diff(c.assign(t), withoutZeros(got)); diff != "" {
			t.Fatalf("%d over %v by %q: -Karmada's +ours:\n%s", c.total, c.weights, c.uid, diff)
		}
		if len(got) != len(c.weights) {
			t.Fatalf("%d over %v: a target has no share: %v", c.total, c.weights, got)
		}
		switch {
		case len(withoutZeros(c.weights)) < len(c.weights):
			zeros++
		case !maps.Equal(got, render.Divide(int64(c.total), c.weights, false)):
			ties++
		default:
			others++
		}
	}
	t.Logf("%d divisions: %d with a weight 0; of the rest, %d in which the UID breaks a tie", manyDivisions, zeros, ties)
	if min(zeros, ties, others) < manyDivisions/10 {
		t.Errorf("too few to compare: %d with a weight 0; of the rest, the UID breaks a tie in %d and in %d not", zeros, ties, others)
	}
}

// TestLargeDivision compares with up to two billion replicas, which Karmada would take minutes
// to assign one by one: it starts from our shares of somewhat less and assigns the rest. Shares
// stay below 2^30, where Karmada's int32 overflows.
func TestLargeDivision(t *testing.T) {
	random := rand.New(rand.NewPCG(12, 13))
	for range manyDivisions / 20 {
		c := newDivision(random)
		for cluster, weight := range c.weights { // no share is more than a quarter
			c.weights[cluster] = weight%render.MaxWeight + 1
		}
		for i := range 4 {
			c.weights[fmt.Sprint("large", i)] = render.MaxWeight
		}
		total := 1<<26 + random.Int64N(1<<31-1<<26)
		rest := 1 + random.Int64N(200)
		var before []workv1alpha2.TargetCluster
		for cluster, share := range render.Divide(total-rest, c.weights, render.TiesOf(c.uid)) {
			before = append(before, workv1alpha2.TargetCluster{Name: cluster, Replicas: int32(share)})
		}
		if diff := cmp.Diff(dispense(int32(rest), before, c.weights, c.uid), render.Divide(total, c.weights, render.TiesOf(c.uid))); diff != "" {
			t.Fatalf("%d over %v by %q: -Karmada's +ours:\n%s", total, c.weights, c.uid, diff)
		}
	}
}

// TestModelDivides compares the naive division of the reference model, by which the end-to-end
// tests judge the daemon.
func TestModelDivides(t *testing.T) {
	random := rand.New(rand.NewPCG(5, 6))
	web := model.Key{Kind: "Deployment", Namespace: "shop", Name: "web"}
	for range manyDivisions / 50 {
		c := newDivision(random)
		c.total = min(c.total, 60) // the model counts one by one
		w := &model.World{Clusters: map[string]*model.Object{}, Configuration: &model.Configuration{Namespaces: []string{"*"}}}
		var terms []string
		for name, weight := range c.weights {
			w.Clusters[name] = &model.Object{}
			terms = append(terms, fmt.Sprintf("%s=%d", name, weight))
		}
		w.Objects = map[model.Key]*model.Object{web: {
			UID: string(c.uid), Annotations: map[string]string{"karmada.target/clusters": "*", "karmada.target/replicas": strings.Join(terms, ",")},
			Content: &model.Content{Payload: map[string]any{"spec": map[string]any{"replicas": int64(c.total)}}},
		}}
		want := c.assign(t)
		for name := range w.Clusters {
			_, like := w.Of(web, name)
			if got := like.Content.Payload["spec"].(map[string]any)["replicas"]; got != want[name] {
				t.Fatalf("%d replicas over %q, of %s: the model gives %s %v, Karmada %v", c.total, terms, c.uid, name, got, want)
			}
		}
	}
}

// TestScale compares with the numbers that Karmada's interpreter and its binding controller
// read from built-in workloads and write for a cluster.
func TestScale(t *testing.T) {
	interpreter := native.NewDefaultInterpreter()
	random := rand.New(rand.NewPCG(14, 15))
	for range manyDivisions / 20 {
		source := newWorkload(random)
		paths, ok := render.ScalePathsOf(source.GroupVersionKind().GroupKind(), "")
		if !ok {
			t.Fatalf("%v is not scaled", source)
		}
		scale, err := paths.Read(source.Object)
		if err != nil {
			t.Fatal(err)
		}
		replicas, _, err := interpreter.GetReplicas(source)
		if err != nil {
			t.Fatal(err)
		}
		if int64(replicas) != scale.Replicas {
			t.Fatalf("%v: Karmada reads %d replicas, we read %d", source, replicas, scale.Replicas)
		}
		if replicas == 0 { // Karmada then divides nothing
			continue
		}
		c := newDivision(random)
		c.total = replicas
		shares := scale.Divide(c.weights, render.TiesOf(c.uid))
		for cluster, want := range c.karmadaWorkloads(t, interpreter, source) {
			got := source.DeepCopy()
			if err := paths.Set(got.Object, shares[cluster]); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want.Object, got.Object); diff != "" {
				t.Fatalf("%v over %v by %q: -Karmada's +ours:\n%s", source, c.weights, c.uid, diff)
			}
		}
	}
}

// division is something to divide.
type division struct {
	total   int32
	weights map[string]int64
	uid     types.UID
}

// newDivision makes a division, most of them with ties. At least one weight is not 0: if all
// are, Karmada gives each cluster the weight 1, and we give none anything.
func newDivision(random *rand.Rand) division {
	uid := fmt.Sprintf("%08x-%04x-4%03x-8%03x-%012x", random.Uint32(), random.IntN(1<<16), random.IntN(1<<12), random.IntN(1<<12), random.Int64N(1<<48))
	if random.IntN(20) == 0 {
		uid = text(random, 0, 36)
	}
	c := division{weights: map[string]int64{}, uid: types.UID(uid)}
	top := pick[int64](random, 1, 2, 3, 10, 100, 1000, render.MaxWeight)
	factor := render.MaxWeight / top
	if random.IntN(2) == 0 {
		factor = 1
	}
	least := pick[int64](random, 0, 1, 1)
	for i := range random.IntN(50) {
		c.weights[fmt.Sprint(pick(random, "member", "m-", "prod-eu-"), i)] = (least + random.Int64N(top+1-least)) * factor
	}
	c.weights["core"] = factor
	most := pick[int32](random, 10, 60, 60, 150, 500)
	switch random.IntN(2000) {
	case 0:
		most = 300_000
	case 1, 2, 3, 4:
		most = 20_000
	}
	c.total = 1 + random.Int32N(most)
	return c
}

// assign returns what Karmada's scheduler assigns, which omits clusters with no replicas.
func (c division) assign(t *testing.T) map[string]int64 {
	t.Helper()
	preference := &policyv1alpha1.ClusterPreferences{}
	var candidates []spreadconstraint.ClusterDetailInfo
	for name, weight := range c.weights {
		cluster := &clusterv1alpha1.Cluster{}
		cluster.Name = name
		candidates = append(candidates, spreadconstraint.ClusterDetailInfo{Name: name, Cluster: cluster})
		preference.StaticWeightList = append(preference.StaticWeightList, policyv1alpha1.StaticClusterWeight{
			TargetCluster: policyv1alpha1.ClusterAffinity{ClusterNames: []string{name}}, Weight: weight,
		})
	}
	assigned, err := core.AssignReplicas(candidates, &workv1alpha2.ResourceBindingSpec{
		Resource: workv1alpha2.ObjectReference{UID: c.uid},
		Replicas: c.total,
		Placement: &policyv1alpha1.Placement{ReplicaScheduling: &policyv1alpha1.ReplicaSchedulingStrategy{
			ReplicaSchedulingType:     policyv1alpha1.ReplicaSchedulingTypeDivided,
			ReplicaDivisionPreference: policyv1alpha1.ReplicaDivisionPreferenceWeighted,
			WeightPreference:          preference,
		}},
	}, &workv1alpha2.ResourceBindingStatus{})
	if err != nil {
		t.Fatal(err)
	}
	return sharesOf(assigned)
}

// dispense returns what Karmada assigns on top of what clusters have.
func dispense(replicas int32, before []workv1alpha2.TargetCluster, weights map[string]int64, uid types.UID) map[string]int64 {
	var list helper.ClusterWeightInfoList
	for cluster, weight := range weights {
		list = append(list, helper.ClusterWeightInfo{ClusterName: cluster, Weight: weight})
	}
	dispenser := helper.NewDispenser(replicas, before, uid)
	dispenser.AllocateByWeight(list)
	return sharesOf(dispenser.Result)
}

// karmadaWorkloads returns what Karmada writes to each cluster that it assigns replicas.
func (c division) karmadaWorkloads(t *testing.T, interpreter *native.DefaultInterpreter, source *unstructured.Unstructured) map[string]*unstructured.Unstructured {
	t.Helper()
	var targets []workv1alpha2.TargetCluster
	workloads := map[string]*unstructured.Unstructured{}
	for cluster, share := range c.assign(t) {
		targets = append(targets, workv1alpha2.TargetCluster{Name: cluster, Replicas: int32(share)})
		workload, err := interpreter.ReviseReplica(source.DeepCopy(), share)
		if err != nil {
			t.Fatal(err)
		}
		workloads[cluster] = workload
	}
	// What follows is divideReplicasByJobCompletions and applyJobCompletions, which
	// pkg/controllers/binding/common.go does not export.
	completions, found, err := unstructured.NestedInt64(source.Object, "spec", "completions")
	if err != nil {
		t.Fatal(err)
	}
	if !found {
		return workloads
	}
	for _, target := range helper.SpreadReplicasByTargetClusters(int32(completions), targets, nil, c.uid) {
		if err := helper.ApplyReplica(workloads[target.Name], int64(target.Replicas), "completions"); err != nil {
			t.Fatal(err)
		}
	}
	return workloads
}

// newWorkload makes a workload as the API server would return it.
func newWorkload(random *rand.Rand) *unstructured.Unstructured {
	number := func(random *rand.Rand) any { return random.Int64N(80) }
	completions := func(random *rand.Rand) any { return random.Int64N(pick[int64](random, 20, 80, 1000)) }
	replicated := fields{"apiVersion": "apps/v1", "kind": oneOf{"Deployment", "StatefulSet", "ReplicaSet"}, "spec": fields{"replicas": number}}
	job := fields{"apiVersion": "batch/v1", "kind": "Job", "spec": fields{"parallelism": number, "completions": once{3, nothing{}, completions}}}
	shape := merged{oneOf{replicated, replicated, replicated, job, job}, fields{"metadata": fields{"name": "web"}}}
	return &unstructured.Unstructured{Object: draw(random, shape).(map[string]any)}
}

func sharesOf(targets []workv1alpha2.TargetCluster) map[string]int64 {
	shares := map[string]int64{}
	for _, target := range targets {
		shares[target.Name] = int64(target.Replicas)
	}
	return shares
}

func withoutZeros(shares map[string]int64) map[string]int64 {
	shares = maps.Clone(shares)
	maps.DeleteFunc(shares, func(_ string, share int64) bool { return share == 0 })
	return shares
}
