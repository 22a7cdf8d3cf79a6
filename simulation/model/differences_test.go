package model

import (
	"reflect"
	"testing"
)

func TestExpand(t *testing.T) {
	cluster := &Object{
		Labels: map[string]string{"tier": "edge", "empty": ""}, Annotations: map[string]string{"example.com/gateway": "10.0.0.1", "tricky": "$(cluster.name)"},
		Region: "eu", Zones: []string{"eu-1"}, Provider: "acme",
	}
	const unknown = "unknown"
	for text, want := range map[string]string{
		"":                                               "",
		"no variable":                                    "no variable",
		"$(cluster.name)":                                "west",
		"a-$(cluster.name)-$(cluster.region)":            "a-west-eu",
		"$(cluster.zone) $(cluster.provider)":            "eu-1 acme",
		"$(cluster.label:tier)":                          "edge",
		"$(cluster.label:empty)":                         "",
		"$(cluster.label:empty:-core)":                   "",
		"$(cluster.label:none)":                          unknown,
		"$(cluster.label:none:-core)":                    "core",
		"$(cluster.label:none:-)":                        "",
		"$(cluster.label:none:-a:-b:c)":                  "a:-b:c",
		"$(cluster.label:topology.kubernetes.io/region)": "eu",
		"$(cluster.annotation:example.com/gateway)":      "10.0.0.1",
		"$(cluster.annotation:none)":                     unknown,
		"$(cluster.annotation:none:-x)":                  "x",
		"$(cluster.annotation:tricky)":                   "$(cluster.name)", // not expanded again
		"$(cluster.label:none:-$(cluster.name))":         "$(cluster.name)", // a default is not either, and ends at the first parenthesis
		"$(HOME) $(cluster) $cluster.name ${cluster.x}":  "$(HOME) $(cluster) $cluster.name ${cluster.x}",
		"$$(HOME)":              "$$(HOME)",
		"$$(cluster.name)":      "$(cluster.name)",
		"$$$(cluster.name)":     "$$(cluster.name)",
		"$$(cluster.bogus":      "$(cluster.bogus",
		"$(cluster.bogus)":      unknown,
		"$(cluster.bogus:-x)":   unknown,
		"$(cluster.name:x)":     unknown,
		"$(cluster.name:-x)":    "west",
		"$(cluster.label:)":     unknown,
		"$(cluster.label)":      unknown,
		"$(cluster.name":        unknown,
		"$(cluster.)":           unknown,
		"$(CLUSTER.name)":       "$(CLUSTER.name)",
		"$(cluster. name)":      unknown,
		"x$(cluster.name)y$(x)": "xwesty$(x)",
	} {
		got, isKnown := expand(text, "west", cluster)
		if isKnown != (want != unknown) || isKnown && got != want {
			t.Errorf("%q: %q, %t", text, got, isKnown)
		}
	}
	for text, want := range map[string]string{"$(cluster.region)": unknown, "$(cluster.zone)": unknown, "$(cluster.zone:-none)": "none", "$(cluster.provider:-none)": "none"} {
		if got, isKnown := expand(text, "west", &Object{Zones: []string{"eu-1", "eu-2"}}); isKnown != (want != unknown) || isKnown && got != want {
			t.Errorf("%q, of a cluster that says little: %q, %t", text, got, isKnown)
		}
	}
}

func TestOfExpands(t *testing.T) {
	const name = "$(cluster.name)"
	content := func(text string) *Content {
		return &Content{
			Identity:    "v1 ConfigMap " + name,
			Payload:     map[string]any{"data": map[string]any{name: text}, "items": []any{text, int64(1), map[string]any{"key": text}}, "text": text},
			Annotations: map[string]string{name: text}, Labels: map[string]string{name: text},
		}
	}
	secret := content("west")
	secret.Payload["data"] = map[string]any{name: name}
	for _, c := range []struct {
		reason, kind, expand, text string
		namespace                  map[string]string
		want                       State
		like                       *Content
	}{
		{reason: "nothing asks for it", kind: "ConfigMap", expand: "false", text: name, want: Present, like: content(name)},
		{reason: "every string value", kind: "ConfigMap", expand: "true", text: name, want: Present, like: content("west")},
		{reason: "but no data of a Secret", kind: "Secret", expand: "true", text: name, want: Present, like: secret},
		{reason: "its Namespace asks for it, and it does not want it", kind: "ConfigMap", expand: "false", namespace: map[string]string{expandKey: "true"}, text: name, want: Present, like: content(name)},
		{reason: "a label that the cluster does not have", kind: "ConfigMap", expand: "true", text: "$(cluster.label:none)", want: Stays},
		{reason: "the same, and nothing asks for it", kind: "ConfigMap", expand: "false", text: "$(cluster.label:none)", want: Present, like: content("$(cluster.label:none)")},
	} {
		k := Key{Kind: c.kind, Namespace: "shop", Name: "page"}
		source := content(c.text)
		w := &World{
			Objects:       map[Key]*Object{k: {Content: source, Annotations: map[string]string{clustersKey: "west", expandKey: c.expand}}},
			Namespaces:    map[string]*Object{"shop": {Annotations: c.namespace}},
			Clusters:      map[string]*Object{"west": {}},
			Configuration: &Configuration{Namespaces: []string{"*"}},
		}
		if got, like := w.Of(k, "west"); got != c.want || !reflect.DeepEqual(like.Content, c.like) {
			t.Errorf("%s: it is %d, %+v", c.reason, got, like.Content)
		}
		if !reflect.DeepEqual(source, content(c.text)) {
			t.Errorf("%s: the object itself has become %v", c.reason, source)
		}
	}
}

func TestReplicas(t *testing.T) {
	web := Key{Kind: "Deployment", Namespace: "shop", Name: "web"}
	for _, c := range []struct {
		asks    map[string]string
		joined  []string
		want    int64
		isKnown bool
	}{
		{map[string]string{clustersKey: "east,west"}, []string{"east", "west"}, 6, true},
		{map[string]string{clustersKey: "east"}, []string{"east", "west"}, 3, true},
		{map[string]string{clustersKey: "*", replicasKey: "divide"}, []string{"east", "west"}, 3, true},
		{map[string]string{clustersKey: "east,west"}, []string{"east"}, 0, false},
		{map[string]string{clustersKey: "*", suspendKey: "west"}, []string{"east", "west"}, 0, false},
		{map[string]string{clustersKey: "*", suspendKey: "yes"}, []string{"east", "west"}, 0, false},
		{nil, []string{"east", "west"}, 0, false},
	} {
		w := &World{
			Objects:  map[Key]*Object{web: {Annotations: c.asks, Content: &Content{Payload: map[string]any{"spec": map[string]any{"replicas": int64(3)}}}}},
			Clusters: map[string]*Object{}, Configuration: &Configuration{Namespaces: []string{"*"}},
		}
		for _, name := range c.joined {
			w.Clusters[name] = &Object{}
		}
		if got, isKnown := w.Replicas(web, []string{"east", "west"}); got != c.want || isKnown != c.isKnown {
			t.Errorf("%v with %v: %d, %t", c.asks, c.joined, got, isKnown)
		}
	}
}
