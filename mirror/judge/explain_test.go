package judge

import (
	"testing"

	"github.com/karmada-target/karmada-mirror/mirror/internal/sample"
	"github.com/karmada-target/karmada-mirror/mirror/state"
	"github.com/karmada-target/karmada-mirror/render"
)

func TestExplainNotes(t *testing.T) {
	source := NewSource(sample.Object(sample.Annotations{render.ClustersAnnotation: "m1"}), render.Wishes{})
	for name, c := range map[string]struct {
		reason string
		change []sample.Change
		want   string
	}{
		"Short": {"Karmada finds the Work by its name", nil, ""},
		"Long":  {"Karmada does not", []sample.Change{sample.Long}, noteLong},
	} {
		t.Run(name, func(t *testing.T) {
			e := Explain(Facts{
				ID: sample.Page, Source: source, Clusters: joinedClusters("m1"),
				Works: map[string]*state.Work{"m1": pageWork(source, "m1", c.change...)},
			})
			if len(e.Clusters) != 1 || e.Clusters[0].Note != c.want {
				t.Errorf("%s: %+v", c.reason, e.Clusters)
			}
		})
	}
}
