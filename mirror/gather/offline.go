package gather

import (
	"github.com/karmada-target/karmada-mirror/mirror/judge"
	"github.com/karmada-target/karmada-mirror/mirror/state"
	"github.com/karmada-target/karmada-mirror/render"
)

// Offline returns the facts about a source that is to be mirrored to clusters which have joined
// and have no Works of it yet, with the override policies that there are, without an API server.
func Offline(s *judge.Source, clusters []*state.Cluster, policies []*state.Policy) judge.Facts {
	f := judge.Facts{ID: s.ID, Source: s, Live: true, Policies: policies, PoliciesLive: true, AllAtOnce: true, Clusters: map[string]judge.ClusterFacts{}}
	for _, c := range clusters {
		f.Clusters[c.Name] = clusterFactsOf(c)
	}
	if isDivided(s) {
		f.Scale = scaleOf(s, "", (*render.Manifest).Scale)
	}
	return f
}
