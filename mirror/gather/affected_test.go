package gather

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/tools/cache"

	"github.com/karmada-target/karmada-mirror/mirror/internal/sample"
	"github.com/karmada-target/karmada-mirror/mirror/state"
	"github.com/karmada-target/karmada-mirror/render"
)

// indexed is a cache of sources by their terms, like that of a watch.
type indexed struct{ cache.Indexer }

func (i indexed) IndexKeys(index string) []string { return i.ListIndexFuncValues(index) }

func (i indexed) ByIndex(index, value string) []any {
	objs, err := i.Indexer.ByIndex(index, value)
	if err != nil {
		panic(err) // a mistake in the test
	}
	return objs
}

func newIndexed() indexed {
	return indexed{cache.NewIndexer(cache.MetaNamespaceKeyFunc, objectIndexers())}
}

func (i indexed) add(tb testing.TB, name string, wishes sample.Annotations) {
	tb.Helper()
	u := sample.Object(wishes)
	u.SetName(name)
	if err := i.Add(state.NewObject(u)); err != nil {
		tb.Fatal(err)
	}
}

// addCrowd adds n sources, most of which name, glob or select other clusters.
func (i indexed) addCrowd(tb testing.TB, n int) {
	tb.Helper()
	for k := range n {
		i.add(tb, fmt.Sprintf("crowd-%05d", k), []sample.Annotations{
			{render.ClustersAnnotation: fmt.Sprintf("other-%d,m1", k%50)},
			{render.ClustersAnnotation: fmt.Sprintf("other-%d*", k%50)},
			{render.ClusterSelectorAnnotation: fmt.Sprintf("zone=%d", k%50)},
			nil,
		}[k%4])
	}
}

func TestClusterChangeConcerns(t *testing.T) {
	all := map[string]sample.Annotations{
		"named":    {render.ClustersAnnotation: "m1"},
		"globbed":  {render.ClustersAnnotation: "m*"},
		"everyone": {render.ClustersAnnotation: "*"},
		"excluded": {render.ClustersAnnotation: "*,!m1"},
		"edge":     {render.ClusterSelectorAnnotation: "tier=edge"},
		"core":     {render.ClusterSelectorAnnotation: "tier in (core)"},
		"tierless": {render.ClusterSelectorAnnotation: "!tier"},
		"both":     {render.ClusterSelectorAnnotation: "tier=edge", render.ClustersAnnotation: "m1"},
		"optsOut":  {render.ClusterSelectorAnnotation: "tier=edge", render.ClustersAnnotation: ""},
		"butNot":   {render.ClusterSelectorAnnotation: "tier=edge", render.ClustersAnnotation: "!m1"},
		"held":     {render.ClusterSelectorAnnotation: "tier=edge", render.SuspendAnnotation: "m1"},
		"staged":   {render.ClusterSelectorAnnotation: "tier=edge", render.WavesAnnotation: "m1; *"},
		"weighted": {render.ClusterSelectorAnnotation: "tier=edge", render.ReplicasAnnotation: "m1=2"},
		"broken":   {render.ClustersAnnotation: "M1"},
		"plain":    nil,
	}
	sources := newIndexed()
	for name, wishes := range all {
		sources.add(t, name, wishes)
	}
	cluster := func(tier string, changes ...func(*state.Cluster)) *state.Cluster {
		c := &state.Cluster{Meta: state.Meta{Name: "m1", UID: "1"}}
		if tier != "" {
			c.Labels = labels.Set{"tier": tier}
		}
		for _, change := range changes {
			change(c)
		}
		return c
	}
	going := func(c *state.Cluster) { c.Terminating = true }
	another := func(c *state.Cluster) { c.UID = "2" }
	ready := func(c *state.Cluster) { c.IsReady = true }
	unlabelled := []string{"everyone", "globbed", "named", "both", "tierless", "held", "staged", "weighted"} // the last three name it elsewhere
	cases := map[string]struct {
		reason string
		change clusterChange
		want   []string
	}{
		"Joins":         {"a cluster that joins concerns those that choose it", clusterChange{nil, cluster("")}, unlabelled},
		"JoinsLabelled": {"also by its labels", clusterChange{nil, cluster("edge")}, []string{"everyone", "globbed", "named", "both", "edge", "optsOut", "held", "staged", "weighted"}},
		"Leaves":        {"one that is deleted concerns those that chose it", clusterChange{cluster("core"), nil}, []string{"everyone", "globbed", "named", "both", "core", "held", "staged", "weighted"}},
		"Terminates":    {"and so does one that is being deleted", clusterChange{cluster(""), cluster("", going)}, unlabelled},
		"MadeAgain":     {"or that was replaced unnoticed", clusterChange{cluster(""), cluster("", another)}, unlabelled},
		"Labelled":      {"a label concerns those for which it matters", clusterChange{cluster(""), cluster("edge")}, []string{"edge", "optsOut", "tierless", "held", "staged", "weighted"}},
		"Relabelled":    {"before or after", clusterChange{cluster("edge"), cluster("core")}, []string{"edge", "optsOut", "core", "held", "staged", "weighted"}},
		"Unlabelled":    {"or when the label is removed", clusterChange{cluster("core"), cluster("")}, []string{"core", "tierless"}},
		"Ready":         {"its status concerns only those that have Works there", clusterChange{cluster("edge"), cluster("edge", ready)}, nil},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(slices.Sorted(slices.Values(tc.want)), concerned(tc.change, sources)); diff != "" {
				t.Errorf("%s, -want +got:\n%s", tc.reason, diff)
			}
		})
	}
}

// TestClusterChangeConcernsNamespaces: an object may have replaced those of its Namespace's
// targets for which the change does not matter.
func TestClusterChangeConcernsNamespaces(t *testing.T) {
	namespaces := newIndexed()
	for name, wishes := range map[string]sample.Annotations{
		"edge":     {render.ClusterSelectorAnnotation: "tier=edge"},
		"named":    {render.ClusterSelectorAnnotation: "tier=edge", render.ClustersAnnotation: "m1"},
		"everyone": {render.ClusterSelectorAnnotation: "tier=edge", render.ClustersAnnotation: "*"},
		"excluded": {render.ClusterSelectorAnnotation: "tier=edge", render.ClustersAnnotation: "m3,!m1"},
		"empty":    {render.ClusterSelectorAnnotation: "tier=edge", render.ClustersAnnotation: ""},
		"broken":   {render.ClusterSelectorAnnotation: "tier=edge", render.ClustersAnnotation: "M1"},
		"mistaken": {render.ClusterSelectorAnnotation: "tier=edge", render.SuspendAnnotation: "perhaps"},
		"core":     {render.ClusterSelectorAnnotation: "tier=core"},
		"plain":    nil,
	} {
		u := sample.Object(wishes)
		u.SetName(name)
		u.SetNamespace("")
		if err := namespaces.Add(state.NewNamespace(u)); err != nil {
			t.Fatal(err)
		}
	}
	m1 := &state.Cluster{Meta: state.Meta{Name: "m1", UID: "1"}}
	labelled := new(*m1)
	labelled.Labels = labels.Set{"tier": "edge"}
	concerned := map[string]bool{}
	for _, n := range (clusterChange{m1, labelled}).namespaces(namespaces) {
		concerned[n.Name] = true
	}
	want := []string{"broken", "edge", "empty", "everyone", "excluded", "mistaken", "named"}
	if diff := cmp.Diff(want, slices.Sorted(maps.Keys(concerned))); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func concerned(c clusterChange, sources indexed) []string {
	names := map[string]bool{}
	for _, o := range c.objects(sources) {
		names[o.ID.Name] = true
	}
	return slices.Sorted(maps.Keys(names))
}

// relabelling returns a change that concerns ten sources, in a crowd of others.
func relabelling(tb testing.TB, crowd int) (clusterChange, indexed) {
	sources := newIndexed()
	sources.addCrowd(tb, crowd)
	for i := range 10 {
		sources.add(tb, fmt.Sprintf("edge-%d", i), sample.Annotations{render.ClusterSelectorAnnotation: "tier=edge"})
	}
	of := func(tier string) *state.Cluster {
		return &state.Cluster{Meta: state.Meta{Name: "m1", UID: "1"}, Labels: labels.Set{"tier": tier}}
	}
	return clusterChange{of("core"), of("edge")}, sources
}

// TestRelabelling relabels a cluster among many sources, a quarter of which name it.
func TestRelabelling(t *testing.T) {
	change, sources := relabelling(t, 1000)
	got := concerned(change, sources)
	if len(got) != 10 || got[0] != "edge-0" || got[9] != "edge-9" {
		t.Errorf("it concerns %q", got)
	}
}

// BenchmarkRelabelling shows that the cost does not grow with the number of sources.
func BenchmarkRelabelling(b *testing.B) {
	for _, crowd := range []int{1000, 50_000} {
		b.Run(fmt.Sprint(crowd), func(b *testing.B) {
			change, sources := relabelling(b, crowd)
			for b.Loop() {
				if n := len(change.objects(sources)); n != 10 {
					b.Fatal(n)
				}
			}
		})
	}
}

// TestUsing: a change of what a cluster says concerns exactly the sources that use it, and finds
// them among many.
func TestUsing(t *testing.T) {
	const n, users = 1000, 10
	sources := newIndexed()
	for i := range n {
		text := "plain"
		switch {
		case i < users:
			text = "$(cluster.label:tier)"
		case i < 2*users:
			text = "$(cluster.label:other) $(cluster.name)"
		}
		u := sample.Object(sample.Annotations{render.ClustersAnnotation: "m1", render.ExpandAnnotation: "true"})
		u.SetName(fmt.Sprint("page-", i))
		u.Object["data"] = map[string]any{"key": text}
		if err := sources.Add(state.NewObject(u)); err != nil {
			t.Fatal(err)
		}
	}
	cluster := func(tier, color string) *state.Cluster {
		u := &unstructured.Unstructured{Object: map[string]any{}}
		u.SetName("m1")
		u.SetLabels(map[string]string{"tier": tier, "color": color})
		return state.NewCluster(u)
	}
	for name, tc := range map[string]struct {
		reason        string
		before, after *state.Cluster
		want          int
	}{
		"Changed":   {"a label that some use", cluster("a", "red"), cluster("b", "red"), users},
		"Unused":    {"a label that none uses", cluster("a", "red"), cluster("a", "blue"), 0},
		"Unchanged": {"nothing", cluster("a", "red"), cluster("a", "red"), 0},
	} {
		t.Run(name, func(t *testing.T) {
			if got := len(clusterChange{tc.before, tc.after}.using(sources)); got != tc.want {
				t.Errorf("%s: %d sources, want %d", tc.reason, got, tc.want)
			}
		})
	}
}
