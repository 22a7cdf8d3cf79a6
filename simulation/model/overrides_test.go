package model

import (
	"fmt"
	"reflect"
	"testing"
)

func TestOfOverrides(t *testing.T) {
	own := func(name string) Key { return Key{Kind: "OverridePolicy", Namespace: "shop", Name: name} }
	wide := func(name string) Key { return Key{Kind: "ClusterOverridePolicy", Name: name} }
	value := func(value string, clusters ...string) *Policy {
		return &Policy{Kind: "ConfigMap", Value: value, Clusters: clusters}
	}
	label := func(key, value string) *Policy {
		return &Policy{Kind: "ConfigMap", Labels: map[string]string{key: value}}
	}
	type policies = map[Key]*Policy
	for _, c := range []struct {
		reason   string
		policies policies
		change   func(*World)
		want     State
		key      string // the value of "key" in the data
		labels   map[string]string
		by       string
	}{
		{reason: "there are no policies", want: Present, key: "one"},
		{reason: "a value is replaced", policies: policies{own("a"): value("two")}, want: Present, key: "two", by: "OverridePolicy/a"},
		{
			reason: "the configuration ignores policies", policies: policies{own("a"): value("two"), wide("a"): label("tier", "edge")}, want: Present, key: "one",
			change: func(w *World) { w.Configuration.Overrides = false },
		},
		{reason: "a label is added", policies: policies{own("a"): label("tier", "edge")}, want: Present, key: "one", labels: map[string]string{"tier": "edge"}, by: "OverridePolicy/a"},
		{reason: "a label is replaced", policies: policies{own("a"): label("app", "other")}, want: Present, key: "one", labels: map[string]string{"app": "other"}, by: "OverridePolicy/a"},
		{reason: "it is for this cluster", policies: policies{own("a"): value("two", "east", "west")}, want: Present, key: "two", by: "OverridePolicy/a"},
		{reason: "it is for another cluster", policies: policies{own("a"): value("two", "east")}, want: Present, key: "one"},
		{reason: "names are no globs", policies: policies{own("a"): value("two", "w*")}, want: Present, key: "one"},
		{reason: "it is in another namespace", policies: policies{{Kind: "OverridePolicy", Namespace: "other", Name: "a"}: value("two")}, want: Present, key: "one"},
		{reason: "it is for another kind", policies: policies{own("a"): {Kind: "Secret", Value: "two"}}, want: Present, key: "one"},
		{reason: "later names win", policies: policies{own("b"): value("two"), own("a"): value("three")}, want: Present, key: "two", by: "OverridePolicy/a,OverridePolicy/b"},
		{reason: "those of the namespace win", policies: policies{own("a"): value("two"), wide("b"): value("three")}, want: Present, key: "two", by: "ClusterOverridePolicy/b,OverridePolicy/a"},
		{
			reason: "all of them count", policies: policies{wide("b"): label("app", "other"), wide("a"): value("two"), own("c"): label("tier", "edge"), own("d"): value("three", "east")},
			want: Present, key: "two", labels: map[string]string{"app": "other", "tier": "edge"}, by: "ClusterOverridePolicy/a,ClusterOverridePolicy/b,OverridePolicy/c",
		},
		{
			reason: "variables are expanded before, and not what a policy writes", policies: policies{own("a"): value("$(cluster.name)")}, want: Present, key: "$(cluster.name)", by: "OverridePolicy/a",
			change: func(w *World) { w.Namespaces["shop"].Annotations = map[string]string{expandKey: "true"} },
		},
		{
			reason: "there is nothing to replace", policies: policies{own("a"): value("two"), own("b"): label("tier", "edge")}, want: Stays,
			change: func(w *World) {
				w.Objects[Key{Kind: "ConfigMap", Namespace: "shop", Name: "page"}].Content.Payload["data"] = map[string]any{"text": "one"}
			},
		},
		{
			reason: "there is no data", policies: policies{own("a"): value("two")}, want: Stays,
			change: func(w *World) {
				w.Objects[Key{Kind: "ConfigMap", Namespace: "shop", Name: "page"}].Content.Payload = nil
			},
		},
		{
			reason: "it is not asked for", policies: policies{own("a"): value("two")}, want: Absent,
			change: func(w *World) {
				w.Objects[Key{Kind: "ConfigMap", Namespace: "shop", Name: "page"}].Annotations = nil
			},
		},
	} {
		page := Key{Kind: "ConfigMap", Namespace: "shop", Name: "page"}
		source := &Content{Payload: map[string]any{"data": map[string]any{"key": "one"}}, Labels: map[string]string{"app": "web"}}
		w := &World{
			Objects:    map[Key]*Object{page: {Annotations: map[string]string{clustersKey: "*"}, Content: source}},
			Namespaces: map[string]*Object{"shop": {}},
			Clusters:   map[string]*Object{"west": {}, "east": {}},
			Policies:   c.policies, Configuration: &Configuration{Namespaces: []string{"*"}, Overrides: true},
		}
		if c.change != nil {
			c.change(w)
		}
		before := fmt.Sprint(source)
		state, like := w.Of(page, "west")
		if state != c.want || like.OverriddenBy != c.by {
			t.Errorf("%s: it is %d, overridden by %q", c.reason, state, like.OverriddenBy)
		}
		if after := fmt.Sprint(source); after != before {
			t.Errorf("%s: the object itself has become %s", c.reason, after)
		}
		if state != Present {
			continue
		}
		labels := map[string]string{"app": "web"}
		for key, value := range c.labels {
			labels[key] = value
		}
		if got := like.Content.Payload["data"]; !reflect.DeepEqual(got, map[string]any{"key": c.key}) || !reflect.DeepEqual(like.Content.Labels, labels) {
			t.Errorf("%s: its data is %v, and its labels %v", c.reason, got, like.Content.Labels)
		}
	}
}

// TestOfDividesAndOverrides: a policy changes what is left of the replicas.
func TestOfDividesAndOverrides(t *testing.T) {
	web := Key{Kind: "Deployment", Namespace: "shop", Name: "web"}
	w := &World{
		Objects: map[Key]*Object{web: {
			Annotations: map[string]string{clustersKey: "*", replicasKey: "divide"},
			Content:     &Content{Payload: map[string]any{"spec": map[string]any{"replicas": int64(5)}}},
		}},
		Clusters:      map[string]*Object{"a": {}, "b": {}},
		Policies:      map[Key]*Policy{{Kind: "OverridePolicy", Namespace: "shop", Name: "b-only"}: {Kind: "Deployment", Clusters: []string{"b"}, Labels: map[string]string{"tier": "edge"}}},
		Configuration: &Configuration{Namespaces: []string{"*"}, Overrides: true},
	}
	for cluster, want := range map[string]string{"a": "map[replicas:3] map[] ", "b": "map[replicas:2] map[tier:edge] OverridePolicy/b-only"} {
		_, like := w.Of(web, cluster)
		if got := fmt.Sprint(like.Content.Payload["spec"], like.Content.Labels, " ", like.OverriddenBy); got != want {
			t.Errorf("on %s, it is %q", cluster, got)
		}
	}
}
