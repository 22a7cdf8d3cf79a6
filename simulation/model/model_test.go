package model

import (
	"strings"
	"testing"
)

func TestOf(t *testing.T) {
	page := Key{Kind: "ConfigMap", Namespace: "shop", Name: "page"}
	type annotations = map[string]string
	cases := []struct {
		reason            string
		object, namespace annotations // nil: the object does not exist
		change            func(*World)
		want              State
		like              Copy
	}{
		{reason: "nothing asks", object: annotations{}, want: Absent},
		{reason: "the object does not exist", want: Absent},
		{reason: "its name", object: annotations{clustersKey: "west, east"}, want: Present},
		{reason: "a glob", object: annotations{clustersKey: "w*"}, want: Present},
		{reason: "another's name", object: annotations{clustersKey: "east"}, want: Absent},
		{reason: "an exclusion wins", object: annotations{clustersKey: "!west,*"}, want: Absent},
		{reason: "its label", object: annotations{selectorKey: "tier=edge"}, want: Present},
		{reason: "an exclusion wins over a label", object: annotations{clustersKey: "!west", selectorKey: "tier=edge"}, want: Absent},
		{reason: "exclusions alone", object: annotations{clustersKey: "!east"}, want: Stays},
		{reason: "another label", object: annotations{selectorKey: "tier=core"}, want: Absent},
		{reason: "its Namespace asks", object: annotations{}, namespace: annotations{clustersKey: "west"}, want: Present},
		{reason: "it asks for another", object: annotations{clustersKey: "east"}, namespace: annotations{clustersKey: "west"}, want: Absent},
		{reason: "it opts out", object: annotations{clustersKey: ""}, namespace: annotations{selectorKey: "tier=edge"}, want: Absent},
		{reason: "it opts out, and asks by a label", object: annotations{clustersKey: "", selectorKey: "tier=edge"}, want: Present},
		{reason: "there is nothing to opt out of", object: annotations{clustersKey: ""}, want: Stays},
		{reason: "its Namespace excludes what it names", object: annotations{clustersKey: "west"}, namespace: annotations{clustersKey: "*,!w*"}, want: Absent},
		{reason: "its Namespace excludes what its label fits", object: annotations{clustersKey: "", selectorKey: "tier=edge"}, namespace: annotations{clustersKey: "east,!west"}, want: Absent},
		{reason: "an option that cannot be read", object: annotations{clustersKey: "west", suspendKey: "!west"}, want: Stays},
		{reason: "an option that cannot be read, and nothing asks", object: annotations{suspendKey: "!west"}, want: Stays},
		{reason: "an option of the Namespace that cannot be read", object: annotations{clustersKey: "west"}, namespace: annotations{preserveKey: "yes"}, want: Stays},
		{
			reason: "options", object: annotations{clustersKey: "west", suspendKey: "true", conflictKey: "overwrite"}, namespace: annotations{preserveKey: "true", suspendKey: "false"},
			want: Present, like: Copy{Suspended: true, Preserved: true, Overwrites: true},
		},
		{reason: "it is suspended here, and not elsewhere", object: annotations{clustersKey: "*", suspendKey: "w*, !east"}, want: Present, like: Copy{Suspended: true}},
		{reason: "it is suspended elsewhere", object: annotations{clustersKey: "*", suspendKey: "*,!west,"}, want: Present},
		{reason: "its own list replaces its Namespace's", object: annotations{clustersKey: "*", suspendKey: "east"}, namespace: annotations{suspendKey: "*"}, want: Present},
		{reason: "its Namespace's exclusions from suspension are replaced too", object: annotations{clustersKey: "*", suspendKey: "*"}, namespace: annotations{suspendKey: "*,!west"}, want: Present, like: Copy{Suspended: true}},
		{reason: "its Namespace suspends it here", object: annotations{clustersKey: "*"}, namespace: annotations{suspendKey: "west"}, want: Present, like: Copy{Suspended: true}},
		{reason: "a word that is not meant as a cluster", object: annotations{clustersKey: "west", suspendKey: "yes"}, want: Stays},
		{reason: "a list of no suspended cluster", object: annotations{clustersKey: "west", suspendKey: " , "}, want: Stays},
		{reason: "weights that cannot be read", object: annotations{clustersKey: "west", replicasKey: "west=2,west=3"}, want: Stays},
		{reason: "weights with an empty term", object: annotations{clustersKey: "west", replicasKey: "west=2,,east=1"}, want: Stays},
		{reason: "an empty term", object: annotations{clustersKey: "west,\u00a0,west"}, want: Stays},
		{reason: "an empty term at the end", object: annotations{clustersKey: "west,\u00a0"}, want: Present},
		{reason: "too many terms", object: annotations{clustersKey: "west", suspendKey: strings.Repeat("west,", 1025)}, want: Stays},
		{reason: "as many terms as there may be", object: annotations{clustersKey: strings.Repeat("west,", 1024)}, want: Present},
		{reason: "a choice that cannot be read", object: annotations{clustersKey: "west", expandKey: "yes"}, want: Stays},
		{reason: "its region", object: annotations{selectorKey: "topology.kubernetes.io/region=eu"}, want: Present},
		{reason: "its only zone", object: annotations{selectorKey: "topology.kubernetes.io/zone=eu-1"}, want: Present},
		{
			reason: "one of its zones", object: annotations{selectorKey: "topology.kubernetes.io/zone"}, want: Absent,
			change: func(w *World) { w.Clusters["west"].Zones = []string{"eu-1", "eu-2"} },
		},
		{reason: "its provider", object: annotations{selectorKey: "cluster.karmada.io/provider in (acme)"}, want: Present},
		{
			reason: "its label, which goes before its region", object: annotations{selectorKey: "topology.kubernetes.io/region=eu"}, want: Absent,
			change: func(w *World) { w.Clusters["west"].Labels["topology.kubernetes.io/region"] = "us" },
		},
		{reason: "replicas by hand", object: annotations{clustersKey: "west", replicasKey: "retain"}, want: Present, like: Copy{Retains: true}},
		{
			reason: "an autoscaler in the same cluster", object: annotations{clustersKey: "*"}, want: Present, like: Copy{Retains: true},
			change: func(w *World) { scaleBy(w, page, "west") },
		},
		{
			reason: "an autoscaler in another", object: annotations{clustersKey: "*"}, want: Present,
			change: func(w *World) { scaleBy(w, page, "east") },
		},
		{
			reason: "an autoscaler that stays, because its annotations cannot be read", object: annotations{clustersKey: "*"}, want: Present, like: Copy{Retains: true},
			change: func(w *World) {
				scaler := scaleBy(w, page, "west")
				w.Objects[scaler].Annotations[suspendKey] = "!west"
				w.Lingering = map[Place]Key{{scaler, "west"}: page}
			},
		},
		{
			reason: "an autoscaler that is being removed", object: annotations{clustersKey: "*"}, want: Present,
			change: func(w *World) {
				scaler := scaleBy(w, page, "east")
				w.Lingering = map[Place]Key{{scaler, "west"}: page}
			},
		},
		{
			reason: "it is preserved where it is absent", object: annotations{clustersKey: "east", preserveKey: "true"},
			want: Absent, like: Copy{Preserved: true},
		},
		{
			reason: "a policy claims it", object: annotations{clustersKey: "west"}, want: Stays,
			change: func(w *World) { w.Objects[page].Labels = map[string]string{policyLabel: "x"} },
		},
		{
			reason: "the cluster has not joined", object: annotations{clustersKey: "west"}, want: Stays,
			change: func(w *World) { delete(w.Clusters, "west") },
		},
		{
			reason: "the cluster is gone, and nothing names it", object: annotations{clustersKey: "east"}, want: Absent,
			change: func(w *World) { delete(w.Clusters, "west") },
		},
		{
			reason: "the cluster is gone, and its label selected it", object: annotations{selectorKey: "tier=edge"}, want: Stays,
			change: func(w *World) { delete(w.Clusters, "west") },
		},
		{
			reason: "another daemon's namespace", want: Stays,
			change: func(w *World) { w.Configuration = &Configuration{Namespaces: []string{"other"}} },
		},
		{
			reason: "no rule allows it", object: annotations{clustersKey: "west"}, want: Stays,
			change: func(w *World) {
				w.Configuration = &Configuration{Namespaces: []string{"*"}, Authorization: []Rule{{Clusters: []string{"east"}}, {NamespaceLabels: map[string]string{"tier": "gold"}}}}
			},
		},
	}
	for _, c := range cases {
		t.Run(c.reason, func(t *testing.T) {
			w := &World{
				Objects: map[Key]*Object{}, Autoscalers: map[Key]Key{},
				Namespaces:    map[string]*Object{"shop": {Annotations: c.namespace}},
				Clusters:      map[string]*Object{"west": {Labels: map[string]string{"tier": "edge"}, Region: "eu", Zones: []string{"eu-1"}, Provider: "acme"}},
				Configuration: &Configuration{Namespaces: []string{"sh*"}},
			}
			if c.object != nil {
				w.Objects[page] = &Object{Annotations: c.object}
			}
			if c.change != nil {
				c.change(w)
			}
			if got, like := w.Of(page, "west"); got != c.want || like != c.like {
				t.Errorf("it is %d, %+v", got, like)
			}
		})
	}
}

func scaleBy(w *World, k Key, cluster string) (autoscaler Key) {
	autoscaler = Key{Kind: "HorizontalPodAutoscaler", Namespace: k.Namespace, Name: "scaler"}
	w.Objects[autoscaler] = &Object{Annotations: map[string]string{clustersKey: cluster}}
	w.Autoscalers[autoscaler] = k
	return autoscaler
}
