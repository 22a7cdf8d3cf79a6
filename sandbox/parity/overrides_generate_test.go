package parity

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	clusterv1alpha1 "github.com/karmada-io/karmada/pkg/apis/cluster/v1alpha1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// The shapes have few names, labels and paths, and the policies mostly fit the object, so that
// much changes and not all of it fails. One in wild shapes likely does not fit.
const wild = 40

var (
	labelKey   = oneOf{"app", "tier", "example.com/app", "example.com/tier"}
	labelValue = oneOf{"web", "db", "1", ""}
	keys       = oneOf{nothing{}, entries{1, 2, labelKey, labelValue}, entries{1, 2, labelKey, labelValue}}

	hex64 = strings.Repeat("0123456789abcdef", 4)
	long  = "x" + strings.Repeat("/abcdefghi", 24)
	tag   = ":" + strings.Repeat("t", 127)
	image = joined{
		once{100, oneOf{"", "NGINX", "a//b", "/a", "a/", "-a", "a..b", "a___b", "a b", "é", "a/B", "a\n"}, oneOf{
			"nginx", "library/nginx", "docker.io/library/nginx", "localhost/a/b", "localhost:5000/a", "r.example.com:10443/a__b/c-d", "10.0.0.1/x", "[::1]:5000/x",
			"a_b.c/d", "a.b", "a/b/c", "Host/x", "HOST.example.com/x", "a--b", oneOf{long, long + "/abcdefghi", long + "/abcdefghi/abcdefghi"},
		}},
		once{50, oneOf{"@sha256:" + hex64[:63], "@md5:" + hex64[:32], "@SHA256:" + hex64, "@sha256:" + strings.ToUpper(hex64), ":", "@", "::1", ":-x", "@sha512:" + hex64}, oneOf{
			"", "", ":v1", ":1.2.3", ":V_1-x.y", oneOf{tag, tag + "t", tag + "tt"}, "@sha256:" + hex64, ":v1@sha256:" + hex64, "@sha512:" + hex64 + hex64, "@sha384:" + hex64 + hex64[:32],
		}},
	}

	words    = some{0, 3, oneOf{"a", "b", "--flag=1"}}
	runs     = some{1, 3, fields{"name": oneOf{"main", "side"}, "image": once{100, nothing{}, image}, "command": maybe(2, words), "args": maybe(2, words)}}
	pods     = fields{"containers": runs, "initContainers": maybe(3, runs)}
	workload = fields{"spec": fields{"template": fields{"spec": pods}}}
	scaled   = fields{"spec": fields{"replicas": oneOf{1, 3}, "template": fields{"spec": pods}}}

	jsonText = oneOf{`{"z":1,"a":{"b":[1,2.50,{"c":null}],"<":"&"}}`, "{\n \"b\" : 9007199254740993, \"a\":[ ]\n}", `[1,{"a":2}]`, `"text"`, `5`, `null`, ``, `{"a":`, `{"a":{"b":1},"a":{"b":2}}`, `{}`}
	yamlText = oneOf{"z: 1\na:\n  b: [1, 2.50, {c: null}] # comment\n", "a:\n  b:\n  - x: on\n  - 0x10\n", "- 1\n- a: 2\n", "text", "5", "", "a: [", "a: &x {b: 1}\nz: *x\n", "1: a\n", "a: 9007199254740993\n", "a: 2026-01-01\n"}
)

// overriddenKinds are the kinds of the objects, with the shape of their content.
var overriddenKinds = []struct {
	apiVersion, kind string
	content          fields
}{
	{"apps/v1", "Deployment", scaled},
	{"apps/v1", "StatefulSet", scaled},
	{"apps/v1", "DaemonSet", workload},
	{"apps/v1", "ReplicaSet", scaled},
	{"batch/v1", "Job", workload},
	{"batch/v1", "CronJob", fields{"spec": fields{"jobTemplate": workload}}},
	{"v1", "Pod", fields{"spec": pods}},
	{"v1", "ConfigMap", fields{"data": fields{"text": "plain", "empty": "", "c.json": jsonText, "c.yaml": yamlText}}},
	{"v1", "Service", fields{"spec": fields{"ports": each{fields{"port": 80}, fields{"port": 443}}, "type": "ClusterIP"}}},
	{"v1", "Namespace", fields{}},
	{"example.com/v1", "Widget", fields{"spec": merged{pods, fields{"size": oneOf{9007199254740993, 1.5, 1e30, true, nil, "x", each{}, fields{"a/b": "c", "m~n": 1}}}}}},
	{"example.com/v1", "Deployment", scaled},
}

// newOverrideCase makes the next case: an object, a cluster, and some policies of both kinds, in
// any order, and of any namespace.
func newOverrideCase(t *testing.T, random *rand.Rand) overrideCase {
	t.Helper()
	k := pick(random, overriddenKinds...)
	metadata := fields{"name": oneOf{"web", "db"}, "namespace": oneOf{"shop", "shop", "bank"}, "labels": keys, "annotations": keys}
	if k.kind == "Namespace" {
		delete(metadata, "namespace")
	}
	drawn := func(shape any) *unstructured.Unstructured {
		return &unstructured.Unstructured{Object: draw(random, shape).(map[string]any)}
	}
	object := drawn(merged{k.content, fields{"apiVersion": k.apiVersion, "kind": k.kind, "metadata": metadata}})
	cluster := decodeAs[clusterv1alpha1.Cluster](t, drawn(fields{
		"metadata": fields{"name": oneOf{"member1", "member2", "member3"}, "labels": keys},
		"spec":     fields{"provider": oneOf{"", "p1", "p2"}, "region": oneOf{"", "r1", "r2"}, "zones": some{0, 3, oneOf{"z1", "z2", "z3"}}},
	}))
	c := overrideCase{object: object, cluster: &cluster}
	for _, i := range random.Perm(random.IntN(5) + 1) {
		c.policies = append(c.policies, drawn(policyFor(object, cluster.Name, i)))
	}
	return c
}

// policyFor is the shape of a policy. Names are short, so that a ClusterOverridePolicy and an
// OverridePolicy may share one.
func policyFor(object *unstructured.Unstructured, cluster string, i int) any {
	name, namespace := joined{oneOf{"a", "b"}, i}, any(oneOf{"shop", "bank"})
	if own := object.GetNamespace(); own != "" {
		namespace = once{4, namespace, own}
	}
	overriders, affinity := overridersFor(object), affinityOf(cluster)
	return merged{
		oneOf{
			fields{"kind": "ClusterOverridePolicy", "metadata": fields{"name": name}},
			fields{"kind": "OverridePolicy", "metadata": fields{"name": name, "namespace": namespace}},
		},
		fields{"apiVersion": "policy.karmada.io/v1alpha1", "spec": merged{
			fields{"resourceSelectors": some{0, 2, selectorFor(object)}},
			once{5, fields{"overriders": overriders, "targetCluster": maybe(2, affinity)}, fields{}},
			once{6, fields{}, fields{"overrideRules": some{1, 3, fields{"overriders": overriders, "targetCluster": once{3, nothing{}, affinity}}}}},
		}},
	}
}

func selectorFor(object *unstructured.Unstructured) any {
	var others oneOf
	for _, k := range overriddenKinds {
		others = append(others, fields{"apiVersion": k.apiVersion, "kind": k.kind})
	}
	return merged{once{8, others, fields{"apiVersion": object.GetAPIVersion(), "kind": object.GetKind()}}, fields{
		"name": maybe(3, oneOf{"web", "db", object.GetName()}), "namespace": maybe(4, oneOf{"shop", "bank", object.GetNamespace()}), "labelSelector": maybe(2, labelSelector),
	}}
}

var labelSelector = once{8, fields{}, once{3, fields{"matchLabels": fields{"app": "web"}}, oneOf{
	fields{"matchLabels": entries{1, 1, labelKey, labelValue}},
	fields{"matchExpressions": each{oneOf{
		fields{"key": labelKey, "operator": oneOf{"In", "NotIn", "Near"}, "values": each{labelValue, labelValue}},
		fields{"key": labelKey, "operator": oneOf{"Exists", "Exists", "DoesNotExist"}},
	}}},
}}}

func affinityOf(cluster string) any {
	field := oneOf{"provider", "region", "zone", "zone", "other"}
	return fields{
		"clusterNames":  maybe(3, some{0, 3, oneOf{"member1", "member2", cluster}}),
		"exclude":       maybe(5, some{0, 3, oneOf{"member2", "member3"}}),
		"labelSelector": maybe(6, labelSelector),
		"fieldSelector": maybe(4, fields{"matchExpressions": some{0, 2, oneOf{
			fields{"key": field, "operator": oneOf{"In", "NotIn"}, "values": some{1, 4, oneOf{"p1", "r1", "z1", "z2"}}},
			fields{"key": field, "operator": oneOf{"Exists", "DoesNotExist", "Near"}},
		}}}),
	}
}

// overridersFor are few, so that one that fails does not hide all.
func overridersFor(object *unstructured.Unstructured) any {
	fieldOverriders := 25
	if object.GetKind() == "ConfigMap" {
		fieldOverriders = 2
	}
	command := fields{"containerName": oneOf{"main", "side", "none"}, "operator": oneOf{"add", "remove"}, "value": some{0, 3, oneOf{"a", "--new", "b"}}}
	changes := fields{"operator": oneOf{"add", "add", "remove", "replace"}, "value": merged{
		entries{0, 2, labelKey, labelValue}, once{2, fields{"app": oneOf{"web", "db"}}, fields{}},
	}}
	return fields{
		"imageOverrider":   maybe(3, some{1, 2, imageOverriderFor(object)}),
		"commandOverrider": maybe(6, some{1, 2, command}), "argsOverrider": maybe(6, some{1, 2, command}),
		"labelsOverrider": maybe(3, some{1, 2, changes}), "annotationsOverrider": maybe(6, some{1, 2, changes}),
		"fieldOverrider": maybe(fieldOverriders, some{1, 2, fieldOverrider}),
		"plaintext":      maybe(3, some{1, 2, plaintextFor(object)}),
	}
}

func imageOverriderFor(object *unstructured.Unstructured) any {
	value := oneOf{"r.example.com", ".local:5000", "/more", "-alpine", "v2", "@sha256:" + hex64, "sha256:" + hex64, "a b", "", "é<\u2028", "md5:" + hex64[:32]}
	path := oneOf{
		"/spec/containers/0/image", "/spec/template/spec/containers/0/image", "/spec/template/spec/containers/1/image", "/spec/jobTemplate/spec/template/spec/containers/0/image",
		"/spec/template/spec/initContainers/0/image", "/spec/size", "/data/text", "/metadata/name", "/metadata/labels/app", "/metadata/labels/example.com~1app",
		"/spec/containers/-1/image", "/spec/containers/x/image", "/spec/containers/0/image/", "//spec/containers/0/image", "spec/containers/0/image", "", "/",
		"/spec/containers/9/image", "/spec/template/spec/containers/00/image", "/spec/template/spec/containers/0/command/0",
	}
	return merged{
		fields{"component": oneOf{"Registry", "Repository", "Tag"}, "predicate": once{wild, fields{"path": path}, maybe(4, fields{"path": fitting(object, "image")})}},
		once{3, fields{"operator": "remove", "value": maybe(4, value)}, fields{"operator": oneOf{"add", "replace"}, "value": value}},
	}
}

var (
	operations     = some{1, 2, operation("subPath", oneOf{"/a", "/a", "/z", "/a/b", "/a/b/0", "/a/b/-", "/a/b/-1", "/new", "/new", "/new", "/new/x", "", "/0", "/1/a", "/", "a", "/a/b/2/c", "/a/<"})}
	fieldOverrider = once{wild / 2, fields{"json": maybe(2, operations), "yaml": operations, "fieldPath": oneOf{
		"/data/c.json", "/data/c.yaml", "/data/text", "/data/empty", "/metadata/labels/app", "/data/missing", "/spec/ports/0/port", "", "data/c.json",
		"/spec/template/spec/containers/0/command/0", "/spec/template/spec/containers/-1/image", "/spec/size/a~1b", "/metadata/annotations/example.com~1app", "/kind",
	}}, oneOf{fields{"fieldPath": "/data/c.json", "json": operations}, fields{"fieldPath": "/data/c.yaml", "yaml": operations}}}
)

func plaintextFor(object *unstructured.Unstructured) any {
	added := fields{"operator": "add", "value": labelValue, "path": oneOf{"/metadata/labels/new", "/metadata/labels/app", "/metadata/annotations/example.com~1app", "/metadata/labels/tier", "/new"}}
	return once{wild, operation("path", oneOf{
		"/spec/template/spec/containers/0", "/spec/template/spec/containers/-", "/spec/template/spec/containers/-1", "/spec/template/spec/containers/7",
		"/spec/ports/1", "/spec/ports/+1/port", "/spec/size/a~1b", "/spec/size/m~0n", "/metadata/labels", "/metadata/annotations", "/spec/containers/0/name", "/a/b/c", "/",
		"//metadata/labels/app", "x/metadata/labels/app", "spec", "/metadata/labels/", "/items", "/metadata", "",
	}), once{wild, fields{"operator": "replace", "path": oneOf{"/kind", "/apiVersion", "/metadata/name", "/metadata/namespace"}, "value": oneOf{"web", "db", "shop", "v1"}}, oneOf{
		added, added, once{2, operation("path", fitting(object, "")), fields{"operator": oneOf{"replace", "add"}, "path": fitting(object, "image"), "value": image}},
	}}}
}

func operation(field string, path any) any {
	value := oneOf{"web", "web", "db", "1", 5, 9007199254740993, 2.5, true, nil, each{1}, fields{"b": 2, "a": "<"}, fields{}, "shop"}
	return merged{fields{field: path}, once{6, fields{"operator": "remove", "value": maybe(9, value)}, fields{"operator": oneOf{"add", "add", "add", "replace", "replace"}, "value": value}}}
}

// fitting are the paths of the object's fields with this name, or, without a name, of all that
// we do not refuse on purpose: another identity, and commands of anything but strings.
func fitting(object *unstructured.Unstructured, name string) any {
	var paths oneOf
	var walk func(value any, path string)
	walk = func(value any, path string) {
		isRefused := strings.Count(path, "/") < 2 || path == "/metadata/name" || path == "/metadata/namespace" || strings.Contains(path, "/command") || strings.Contains(path, "/args")
		if name != "" && strings.HasSuffix(path, "/"+name) || name == "" && !isRefused {
			paths = append(paths, path)
		}
		switch v := value.(type) {
		case map[string]any:
			for _, key := range slices.Sorted(maps.Keys(v)) {
				walk(v[key], path+"/"+strings.NewReplacer("~", "~0", "/", "~1").Replace(key))
			}
		case []any:
			for i, item := range v {
				walk(item, fmt.Sprint(path, "/", i))
			}
		}
	}
	walk(object.Object, "")
	if len(paths) == 0 {
		return "/metadata/labels/app"
	}
	return paths
}
