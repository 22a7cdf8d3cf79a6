package parity

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"

	clusterv1alpha1 "github.com/karmada-io/karmada/pkg/apis/cluster/v1alpha1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// overrideGenerator makes objects, clusters and policies of few names, labels and paths, and
// mostly policies that fit the object, so that much changes and not all of it fails.
type overrideGenerator struct {
	random *rand.Rand
	// object and cluster are those that the policies should fit.
	object  *unstructured.Unstructured
	cluster *clusterv1alpha1.Cluster
}

// newOverrideCase makes the next case.
func newOverrideCase(random *rand.Rand) overrideCase {
	g := overrideGenerator{random: random}
	g.object, g.cluster = g.newObject(), g.newCluster()
	return overrideCase{object: g.object, cluster: g.cluster, policies: g.policies()}
}

// isWild reports true where something is to be made that likely does not fit.
func (g *overrideGenerator) isWild() bool { return g.chance(40) }

// chance reports true once in n times.
func (g *overrideGenerator) chance(n int) bool { return g.random.IntN(n) == 0 }

// some returns up to three of the choices.
func (g *overrideGenerator) some(choices ...string) []any {
	list := []any{}
	for range g.random.IntN(4) {
		list = append(list, pick(g.random, choices...))
	}
	return list
}

// kinds are the kinds of the objects, with the path of their Pods.
var kinds = []struct{ apiVersion, kind, pods string }{
	{"apps/v1", "Deployment", "spec.template.spec"},
	{"apps/v1", "StatefulSet", "spec.template.spec"},
	{"apps/v1", "DaemonSet", "spec.template.spec"},
	{"apps/v1", "ReplicaSet", "spec.template.spec"},
	{"batch/v1", "Job", "spec.template.spec"},
	{"batch/v1", "CronJob", "spec.jobTemplate.spec.template.spec"},
	{"v1", "Pod", "spec"},
	{"v1", "ConfigMap", ""},
	{"v1", "Service", ""},
	{"v1", "Namespace", ""},
	{"example.com/v1", "Widget", "spec"},
	{"example.com/v1", "Deployment", "spec.template.spec"},
}

func (g *overrideGenerator) newObject() *unstructured.Unstructured {
	k := kinds[g.random.IntN(len(kinds))]
	metadata := map[string]any{"name": pick(g.random, "web", "db")}
	if k.kind != "Namespace" {
		metadata["namespace"] = pick(g.random, "shop", "shop", "bank")
	}
	for _, field := range []string{"labels", "annotations"} {
		if keys := g.keys(); len(keys) > 0 {
			metadata[field] = keys
		}
	}
	obj := map[string]any{"apiVersion": k.apiVersion, "kind": k.kind, "metadata": metadata}
	if k.pods != "" {
		pods := map[string]any{"containers": g.containers()}
		if g.chance(3) {
			pods["initContainers"] = g.containers()
		}
		_ = unstructured.SetNestedField(obj, pods, strings.Split(k.pods, ".")...)
	}
	switch k.kind {
	case "ConfigMap":
		obj["data"] = map[string]any{"text": "plain", "empty": "", "c.json": g.jsonText(), "c.yaml": g.yamlText()}
	case "Deployment", "StatefulSet", "ReplicaSet":
		obj["spec"].(map[string]any)["replicas"] = pick(g.random, int64(1), int64(3))
	case "Service":
		obj["spec"] = map[string]any{"ports": []any{map[string]any{"port": int64(80)}, map[string]any{"port": int64(443)}}, "type": "ClusterIP"}
	case "Widget":
		obj["spec"].(map[string]any)["size"] = pick[any](g.random, int64(9007199254740993), 1.5, 1e30, true, nil, "x", []any{}, map[string]any{"a/b": "c", "m~n": int64(1)})
	}
	return &unstructured.Unstructured{Object: obj}
}

func (g *overrideGenerator) keys() map[string]any {
	keys := map[string]any{}
	for range g.random.IntN(3) {
		keys[g.labelKey()] = g.labelValue()
	}
	return keys
}

func (g *overrideGenerator) labelKey() string {
	return pick(g.random, "app", "tier", "example.com/app", "example.com/tier")
}

func (g *overrideGenerator) labelValue() string { return pick(g.random, "web", "db", "1", "") }

func (g *overrideGenerator) containers() []any {
	containers := []any{}
	for range g.random.IntN(3) + 1 {
		container := map[string]any{"name": pick(g.random, "main", "side"), "image": g.image()}
		for _, field := range []string{"command", "args"} {
			if g.chance(2) {
				container[field] = g.some("a", "b", "--flag=1")
			}
		}
		if g.chance(100) {
			delete(container, "image")
		}
		containers = append(containers, container)
	}
	return containers
}

var hex64 = strings.Repeat("0123456789abcdef", 4)

func (g *overrideGenerator) image() string {
	name := pick(g.random, "nginx", "library/nginx", "docker.io/library/nginx", "localhost/a/b", "localhost:5000/a", "r.example.com:10443/a__b/c-d", "10.0.0.1/x",
		"[::1]:5000/x", "a_b.c/d", "a.b", "a/b/c", "Host/x", "HOST.example.com/x", "a--b", "x"+strings.Repeat("/abcdefghi", 24+g.random.IntN(3)))
	version := pick(g.random, "", "", ":v1", ":1.2.3", ":V_1-x.y", ":"+strings.Repeat("t", 127+g.random.IntN(3)), "@sha256:"+hex64, ":v1@sha256:"+hex64, "@sha512:"+hex64+hex64, "@sha384:"+hex64+hex64[:32])
	if g.chance(50) {
		version = pick(g.random, "@sha256:"+hex64[:63], "@md5:"+hex64[:32], "@SHA256:"+hex64, "@sha256:"+strings.ToUpper(hex64), ":", "@", "::1", ":-x", "@sha512:"+hex64)
	}
	if g.chance(100) {
		name = pick(g.random, "", "NGINX", "a//b", "/a", "a/", "-a", "a..b", "a___b", "a b", "é", "a/B", "a\n")
	}
	return name + version
}

func (g *overrideGenerator) jsonText() string {
	return pick(g.random, `{"z":1,"a":{"b":[1,2.50,{"c":null}],"<":"&"}}`, "{\n \"b\" : 9007199254740993, \"a\":[ ]\n}", `[1,{"a":2}]`, `"text"`, `5`, `null`, ``, `{"a":`, `{"a":{"b":1},"a":{"b":2}}`, `{}`)
}

func (g *overrideGenerator) yamlText() string {
	return pick(g.random, "z: 1\na:\n  b: [1, 2.50, {c: null}] # comment\n", "a:\n  b:\n  - x: on\n  - 0x10\n", "- 1\n- a: 2\n", "text", "5", "", "a: [", "a: &x {b: 1}\nz: *x\n", "1: a\n", "a: 9007199254740993\n", "a: 2026-01-01\n")
}

func (g *overrideGenerator) newCluster() *clusterv1alpha1.Cluster {
	c := &clusterv1alpha1.Cluster{}
	c.Name = g.clusterName()
	for range g.random.IntN(3) {
		if c.Labels == nil {
			c.Labels = map[string]string{}
		}
		c.Labels[g.labelKey()] = g.labelValue()
	}
	c.Spec.Provider, c.Spec.Region = pick(g.random, "", "p1", "p2"), pick(g.random, "", "r1", "r2")
	for _, zone := range g.some("z1", "z2", "z3") {
		c.Spec.Zones = append(c.Spec.Zones, zone.(string))
	}
	return c
}

func (g *overrideGenerator) clusterName() string {
	return pick(g.random, "member1", "member2", "member3")
}

// policies returns some of both kinds, in any order, and of any namespace. Names are short,
// so that a ClusterOverridePolicy and an OverridePolicy may share one.
func (g *overrideGenerator) policies() []*unstructured.Unstructured {
	var policies []*unstructured.Unstructured
	for _, i := range g.random.Perm(g.random.IntN(5) + 1) {
		metadata := map[string]any{"name": fmt.Sprint(pick(g.random, "a", "b"), i)}
		kind := "ClusterOverridePolicy"
		if g.chance(2) {
			kind, metadata["namespace"] = "OverridePolicy", pick(g.random, "shop", "bank")
			if of := g.object.GetNamespace(); of != "" && !g.chance(4) {
				metadata["namespace"] = of
			}
		}
		policies = append(policies, &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "policy.karmada.io/v1alpha1", "kind": kind, "metadata": metadata, "spec": g.spec(),
		}})
	}
	return policies
}

func (g *overrideGenerator) spec() map[string]any {
	spec := map[string]any{}
	for range g.random.IntN(3) {
		selectors, _ := spec["resourceSelectors"].([]any)
		spec["resourceSelectors"] = append(selectors, g.resourceSelector())
	}
	if g.chance(5) {
		spec["overriders"] = g.overriders()
		if g.chance(2) {
			spec["targetCluster"] = g.affinity()
		}
	}
	if g.chance(6) {
		return spec
	}
	rules := []any{}
	for range g.random.IntN(3) + 1 {
		rule := map[string]any{"overriders": g.overriders()}
		if !g.chance(3) {
			rule["targetCluster"] = g.affinity()
		}
		rules = append(rules, rule)
	}
	spec["overrideRules"] = rules
	return spec
}

func (g *overrideGenerator) resourceSelector() map[string]any {
	selector := map[string]any{"apiVersion": g.object.GetAPIVersion(), "kind": g.object.GetKind()}
	if g.chance(8) {
		k := kinds[g.random.IntN(len(kinds))]
		selector["apiVersion"], selector["kind"] = k.apiVersion, k.kind
	}
	if g.chance(3) {
		selector["name"] = pick(g.random, "web", "db", g.object.GetName())
	}
	if g.chance(4) {
		selector["namespace"] = pick(g.random, "shop", "bank", g.object.GetNamespace())
	}
	if g.chance(2) {
		selector["labelSelector"] = g.labelSelector()
	}
	return selector
}

func (g *overrideGenerator) labelSelector() map[string]any {
	if g.chance(8) {
		return map[string]any{}
	}
	if g.chance(3) {
		return map[string]any{"matchLabels": map[string]any{"app": "web"}}
	}
	if g.chance(2) {
		return map[string]any{"matchLabels": map[string]any{g.labelKey(): g.labelValue()}}
	}
	values := []any{g.labelValue(), g.labelValue()}
	operator := pick(g.random, "In", "NotIn", "Exists", "DoesNotExist", "Exists", "Near")
	if strings.HasSuffix(operator, "st") || strings.HasSuffix(operator, "sts") {
		values = nil
	}
	return map[string]any{"matchExpressions": []any{map[string]any{"key": g.labelKey(), "operator": operator, "values": values}}}
}

func (g *overrideGenerator) affinity() map[string]any {
	affinity := map[string]any{}
	if g.chance(3) {
		affinity["clusterNames"] = g.some("member1", "member2", g.cluster.Name)
	}
	if g.chance(5) {
		affinity["exclude"] = g.some("member2", "member3")
	}
	if g.chance(6) {
		affinity["labelSelector"] = g.labelSelector()
	}
	if g.chance(4) {
		expressions := []any{}
		for range g.random.IntN(3) {
			expressions = append(expressions, g.fieldExpression())
		}
		affinity["fieldSelector"] = map[string]any{"matchExpressions": expressions}
	}
	return affinity
}

func (g *overrideGenerator) fieldExpression() map[string]any {
	key := pick(g.random, "provider", "region", "zone", "zone", "other")
	operator := pick(g.random, "In", "NotIn", "In", "NotIn", "Exists", "DoesNotExist", "Near")
	expression := map[string]any{"key": key, "operator": operator}
	if strings.HasSuffix(operator, "n") { // In and NotIn
		expression["values"] = append(g.some("p1", "r1", "z1", "z2"), pick(g.random, "p1", "r1", "z1"))
	}
	return expression
}

// overriders returns overriders of few fields, so that one that fails does not hide all.
func (g *overrideGenerator) overriders() map[string]any {
	makers := map[string]func() any{
		"imageOverrider": g.imageOverrider, "commandOverrider": g.commandOverrider, "argsOverrider": g.commandOverrider,
		"labelsOverrider": g.keysOverrider, "annotationsOverrider": g.keysOverrider, "fieldOverrider": g.fieldOverrider, "plaintext": g.plaintext,
	}
	overriders := map[string]any{}
	for range g.random.IntN(4) {
		field := pick(g.random, "labelsOverrider", "labelsOverrider", "annotationsOverrider", "plaintext", "plaintext", "imageOverrider", "imageOverrider", "commandOverrider", "argsOverrider")
		if isData := g.object.GetKind() == "ConfigMap"; isData && g.chance(2) || g.chance(40) {
			field = "fieldOverrider"
		}
		list, _ := overriders[field].([]any)
		for range g.random.IntN(2) + 1 {
			list = append(list, makers[field]())
		}
		overriders[field] = list
	}
	return overriders
}

func (g *overrideGenerator) operator() string { return pick(g.random, "add", "remove", "replace") }

func (g *overrideGenerator) imageOverrider() any {
	o := map[string]any{"component": pick(g.random, "Registry", "Repository", "Tag"), "operator": g.operator()}
	if o["operator"] != "remove" || g.chance(4) {
		o["value"] = pick(g.random, "r.example.com", ".local:5000", "/more", "-alpine", "v2", "@sha256:"+hex64, "sha256:"+hex64, "a b", "", "é<\u2028", "md5:"+hex64[:32])
	}
	if g.chance(4) {
		o["predicate"] = map[string]any{"path": g.fitting("image")}
	}
	if g.isWild() {
		o["predicate"] = map[string]any{"path": pick(g.random, "/spec/containers/0/image", "/spec/template/spec/containers/0/image", "/spec/template/spec/containers/1/image",
			"/spec/jobTemplate/spec/template/spec/containers/0/image", "/spec/template/spec/initContainers/0/image", "/spec/size", "/data/text", "/metadata/name",
			"/metadata/labels/app", "/metadata/labels/example.com~1app", "/spec/containers/-1/image", "/spec/containers/x/image", "/spec/containers/0/image/", "//spec/containers/0/image",
			"spec/containers/0/image", "", "/", "/spec/containers/9/image", "/spec/template/spec/containers/00/image", "/spec/template/spec/containers/0/command/0")}
	}
	return o
}

func (g *overrideGenerator) commandOverrider() any {
	return map[string]any{"containerName": pick(g.random, "main", "side", "none"), "operator": pick(g.random, "add", "remove"), "value": g.some("a", "--new", "b")}
}

func (g *overrideGenerator) keysOverrider() any {
	values := map[string]any{}
	for range g.random.IntN(3) {
		values[g.labelKey()] = g.labelValue()
	}
	if g.chance(2) {
		values["app"] = pick(g.random, "web", "db")
	}
	return map[string]any{"operator": pick(g.random, "add", "add", "remove", "replace"), "value": values}
}

func (g *overrideGenerator) fieldOverrider() any {
	var operations []any
	for range g.random.IntN(2) + 1 {
		operations = append(operations, g.operation("subPath", pick(g.random, "/a", "/a", "/z", "/a/b", "/a/b/0", "/a/b/-", "/a/b/-1", "/new", "/new", "/new", "/new/x", "", "/0", "/1/a", "/", "a", "/a/b/2/c", "/a/<")))
	}
	o := map[string]any{"fieldPath": pick(g.random, "/data/c.json", "/data/c.yaml")}
	if g.isWild() {
		o["fieldPath"] = pick(g.random, "/data/text", "/data/empty", "/metadata/labels/app", "/data/missing", "/spec/ports/0/port", "", "data/c.json",
			"/spec/template/spec/containers/0/command/0", "/spec/template/spec/containers/-1/image", "/spec/size/a~1b", "/metadata/annotations/example.com~1app", "/kind")
	}
	switch {
	case g.isWild():
		o["json"], o["yaml"] = operations, operations
	case o["fieldPath"] == "/data/c.json" && !g.isWild():
		o["json"] = operations
	default:
		o["yaml"] = operations
	}
	return o
}

func (g *overrideGenerator) plaintext() any {
	if g.isWild() {
		return g.operation("path", pick(g.random, "/spec/template/spec/containers/0", "/spec/template/spec/containers/-", "/spec/template/spec/containers/-1", "/spec/template/spec/containers/7",
			"/spec/ports/1", "/spec/ports/+1/port", "/spec/size/a~1b", "/spec/size/m~0n", "/metadata/labels", "/metadata/annotations", "/spec/containers/0/name", "/a/b/c", "/",
			"//metadata/labels/app", "x/metadata/labels/app", "spec", "/metadata/labels/", "/items", "/metadata", ""))
	}
	if g.isWild() {
		return map[string]any{"operator": "replace", "path": pick(g.random, "/kind", "/apiVersion", "/metadata/name", "/metadata/namespace"), "value": pick(g.random, "web", "db", "shop", "v1")}
	}
	if !g.chance(3) {
		path := pick(g.random, "/metadata/labels/new", "/metadata/labels/app", "/metadata/annotations/example.com~1app", "/metadata/labels/tier", "/new")
		return map[string]any{"operator": "add", "path": path, "value": g.labelValue()}
	}
	if path := g.fitting(""); g.chance(4) || strings.HasPrefix(path, "/metadata/labels/") {
		return g.operation("path", path)
	}
	return map[string]any{"operator": pick(g.random, "replace", "add"), "path": g.fitting("image"), "value": g.image()}
}

// fitting returns the path of some field of the object, or of one with this name.
func (g *overrideGenerator) fitting(name string) string {
	var paths []string
	var walk func(value any, path string)
	walk = func(value any, path string) {
		if fits := strings.HasSuffix(path, "/"+name); name != "" && fits || name == "" && g.mayChange(path) {
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
	walk(g.object.Object, "")
	if len(paths) == 0 {
		return "/metadata/labels/app"
	}
	return pick(g.random, paths...)
}

// mayChange excludes what we refuse on purpose: another identity, and commands of anything
// but strings.
func (g *overrideGenerator) mayChange(path string) bool {
	return strings.Count(path, "/") > 1 && path != "/metadata/name" && path != "/metadata/namespace" &&
		!strings.Contains(path, "/command") && !strings.Contains(path, "/args")
}

func (g *overrideGenerator) operation(field, path string) map[string]any {
	o := map[string]any{field: path, "operator": pick(g.random, "add", "add", "add", "replace", "replace", "remove")}
	if o["operator"] != "remove" || g.chance(9) {
		o["value"] = pick[any](g.random, "web", "web", "db", "1", int64(5), int64(9007199254740993), 2.5, true, nil, []any{int64(1)}, map[string]any{"b": int64(2), "a": "<"}, map[string]any{}, "shop")
	}
	return o
}
