package cli

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/karmada-target/karmada-mirror/mirror/judge"
	"github.com/karmada-target/karmada-mirror/render"
)

func TestIdle(t *testing.T) {
	for name, tc := range map[string]struct {
		reason, clusters, waves string
		want                    []string
	}{
		"None":       {"there are no waves", "m*", "", nil},
		"Canary":     {"each wave has some", "m*", "m1; *", nil},
		"NoCanary":   {"none of its clusters goes first", "m2,m3", "m1; *", []string{"wave 1 (m1) has none of its clusters now", "wave 2 (*) has all its clusters: a change reaches them at once; a semicolon begins another wave"}},
		"Comma":      {"a comma instead of a semicolon", "m*", "m1, m*", []string{"wave 1 (m1, m*) has all its clusters: a change reaches them at once; a semicolon begins another wave"}},
		"AtOnce":     {"as many as there are", "m*", "*(5)", []string{"wave 1 (*(5)) has all its clusters: a change reaches them at once; a semicolon begins another wave"}},
		"GlobOfNone": {"a name is no cluster that a glob chooses", "m1,m9*", "m9; m1", []string{"m9* chooses no cluster now", "wave 1 (m9) has none of its clusters now"}},
		"ByNumber":   {"it goes by number", "m*", "*(1)", nil},
		"OneCluster": {"there is no other", "m1", "*", nil},
		"Glob":       {"it may match some later", "m1,x*", "", []string{"x* chooses no cluster now"}},
		"Misspelt":   {"a name is reported by itself", "*", "m9; m1; *", []string{"wave 1 (m9) has none of its clusters now"}},
	} {
		t.Run(name, func(t *testing.T) {
			asks := map[string]string{render.ClustersAnnotation: tc.clusters}
			if tc.waves != "" {
				asks[render.WavesAnnotation] = tc.waves
			}
			f := judge.Facts{Source: judge.NewSource(configMapOf("shop", "page", asks, nil), render.Wishes{}), Clusters: map[string]judge.ClusterFacts{"m9": {}}}
			for cluster := range strings.FieldsSeq("m1 m2 m3") {
				f.Clusters[cluster] = judge.ClusterFacts{State: judge.ClusterJoined}
			}
			if diff := cmp.Diff(tc.want, idleIn(f)); diff != "" {
				t.Errorf("%s: -want +got:\n%s", tc.reason, diff)
			}
		})
	}
}
