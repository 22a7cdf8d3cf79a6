package override

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestApply(t *testing.T) {
	pod := func(container string) string {
		return "{apiVersion: v1, kind: Pod, metadata: {name: a, namespace: shop}, spec: {containers: [" + container + "], initContainers: [" + container + "]}}"
	}
	podWith := func(container, initContainer string) string {
		return "{apiVersion: v1, kind: Pod, metadata: {name: a, namespace: shop}, spec: {containers: [" + container + "], initContainers: [" + initContainer + "]}}"
	}
	configMap := func(rest string) string {
		return "{apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: shop}, " + rest + "}"
	}
	metadata := func(rest string) string {
		return "{apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: shop" + rest + "}}"
	}
	cases := map[string]struct {
		reason               string
		overriders, in, want string
	}{
		"InitContainers": {
			reason:     "Images of init containers stay, as in Karmada.",
			overriders: "imageOverrider: [{component: Registry, operator: replace, value: r.example.com}]",
			in:         pod("{name: a, image: nginx}"), want: podWith("{name: a, image: r.example.com/nginx}", "{name: a, image: nginx}"),
		},
		"Predicate": {
			reason:     "A predicate's path leads anywhere.",
			overriders: "imageOverrider: [{component: Tag, operator: replace, value: v2, predicate: {path: /spec/initContainers/0/image}}]",
			in:         pod("{name: a, image: 'nginx:v1'}"), want: podWith("{name: a, image: 'nginx:v1'}", "{name: a, image: 'nginx:v2'}"),
		},
		"PredicateOfAnyKind": {
			reason:     "Without containers, it is the only way.",
			overriders: "imageOverrider: [{component: Repository, operator: add, value: -slim, predicate: {path: /data/image}}, {component: Tag, operator: remove}]",
			in:         configMap("data: {image: 'a/b:v1'}"), want: configMap("data: {image: 'a/b-slim:v1'}"),
		},
		"CustomKind": {
			reason:     "Images are found by the kind alone.",
			overriders: "imageOverrider: [{component: Tag, operator: remove}]",
			in:         "{apiVersion: example.com/v1, kind: Job, metadata: {name: a}, spec: {template: {spec: {containers: [{image: 'a:b'}]}}}}",
			want:       "{apiVersion: example.com/v1, kind: Job, metadata: {name: a}, spec: {template: {spec: {containers: [{image: a}]}}}}",
		},
		"CronJob": {
			reason:     "Karmada does not override those of CronJobs.",
			overriders: "imageOverrider: [{component: Tag, operator: remove}], commandOverrider: [{containerName: a, operator: add, value: [x]}]",
			in:         "{apiVersion: batch/v1, kind: CronJob, metadata: {name: a}, spec: {jobTemplate: {spec: {template: {spec: {containers: [{name: a, image: 'a:b'}]}}}}}}",
			want:       "{apiVersion: batch/v1, kind: CronJob, metadata: {name: a}, spec: {jobTemplate: {spec: {template: {spec: {containers: [{name: a, image: 'a:b'}]}}}}}}",
		},
		"Command": {
			reason:     "Items are appended, and every equal one is removed.",
			overriders: "commandOverrider: [{containerName: a, operator: add, value: [x, w]}, {containerName: a, operator: remove, value: [b, x]}], argsOverrider: [{containerName: other, operator: add, value: [x]}]",
			in:         podWith("{name: a, command: [b, c, b]}", "{name: a, command: [b]}"), want: podWith("{name: a, command: [c, w]}", "{name: a, command: [b]}"),
		},
		"NoCommand": {
			reason:     "A missing list is made, even to remove from it.",
			overriders: "commandOverrider: [{containerName: a, operator: remove, value: [b]}], argsOverrider: [{containerName: a, operator: add, value: [b]}]",
			in:         podWith("{name: a}", ""), want: podWith("{name: a, command: [], args: [b]}", ""),
		},
		"Keys": {
			reason:     "What is missing is added, but neither removed nor replaced.",
			overriders: "labelsOverrider: [{operator: remove, value: {a: x, z: x}}, {operator: replace, value: {b/c: new, z: x}}, {operator: add, value: {d/e: '1'}}]",
			in:         metadata(", labels: {a: '1', b/c: '2'}"), want: metadata(", labels: {b/c: new, d/e: '1'}"),
		},
		"AddToNothing": {
			reason:     "Karmada's templates have labels and annotations.",
			overriders: "plaintext: [{path: /metadata/labels/a, operator: add, value: b}, {path: /metadata/annotations/a~1b, operator: add, value: c}]",
			in:         metadata(""), want: metadata(", labels: {a: b}, annotations: {a/b: c}"),
		},
		"NothingLeft": {
			reason:     "Empty labels are not written.",
			overriders: "labelsOverrider: [{operator: remove, value: {a: ''}}]",
			in:         metadata(", labels: {a: b}"), want: metadata(""),
		},
		"Field": {
			reason:     "The fields of a JSON document keep their order, and numbers their digits.",
			overriders: "fieldOverrider: [{fieldPath: /data/a, json: [{subPath: /y, operator: add, value: 9007199254740993}, {subPath: /b, operator: remove}]}]",
			in:         configMap(`data: {a: '{"z": 1.50, "b": 2, "a": 3}'}`), want: configMap(`data: {a: '{"z":1.50,"a":3,"y":9007199254740993}'}`),
		},
		"FieldYAML": {
			reason:     "Those of a YAML document are sorted.",
			overriders: "fieldOverrider: [{fieldPath: /data/a, yaml: [{subPath: /b/0, operator: replace, value: {x: true}}]}]",
			in:         configMap(`data: {a: "z: 1\nb: [1]\n"}`), want: configMap(`data: {a: "b:\n- x: true\nz: 1\n"}`),
		},
		"FieldBoth": {
			reason:     "With both, only yaml is applied, as in Karmada.",
			overriders: "fieldOverrider: [{fieldPath: /data/a, json: [{subPath: /x, operator: add, value: 1}], yaml: [{subPath: /w, operator: add, value: 1}]}]",
			in:         configMap(`data: {a: "{}"}`), want: configMap(`data: {a: "w: 1\n"}`),
		},
		"FieldInList": {
			reason:     "A path may lead through a list and have escapes.",
			overriders: "fieldOverrider: [{fieldPath: /spec/a~1b~0c/0, json: [{subPath: '', operator: replace, value: [1]}]}]",
			in:         configMap(`spec: {a/b~c: ['{}', x]}`), want: configMap(`spec: {a/b~c: ['[1]', x]}`),
		},
		"Plaintext": {
			reason:     "Operations build on each other, and on the other overriders.",
			overriders: "plaintext: [{path: /data, operator: add, value: {}}, {path: /data/a, operator: add, value: x}, {path: /metadata/labels/by, operator: replace, value: plaintext}], labelsOverrider: [{operator: add, value: {by: labels}}]",
			in:         configMap(""), want: "{apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: shop, labels: {by: plaintext}}, data: {a: x}}",
		},
		"Numbers": {
			reason:     "No digit of an integer is lost.",
			overriders: "plaintext: [{path: /spec/b, operator: add, value: 9223372036854775807}, {path: /spec/c, operator: add, value: 0.5}]",
			in:         configMap("spec: {a: 9007199254740993}"), want: configMap("spec: {a: 9007199254740993, b: 9223372036854775807, c: 0.5}"),
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			p := mustPolicy(t, "shop", "p", overridersOf(tc.overriders))
			got := decode(t, tc.in)
			if err := For([]*Policy{p}, web, member1).Apply(got); err != nil {
				t.Fatalf("%s\n%v", tc.reason, err)
			}
			if diff := cmp.Diff(decode(t, tc.want), got); diff != "" {
				t.Errorf("%s\n-want +got:\n%s", tc.reason, diff)
			}
		})
	}
}

// TestApplyOddShapes: Karmada panics on some of them.
func TestApplyOddShapes(t *testing.T) {
	cases := map[string]struct{ reason, overriders, in string }{
		"NoMetadata":      {"There is nothing to name.", "labelsOverrider: []", "{kind: Pod}"},
		"NullContainer":   {"An item of a list may be null.", "commandOverrider: [{containerName: a, operator: add}]", "{kind: Pod, metadata: {}, spec: {containers: [null]}}"},
		"NullContainers":  {"Only images may be overridden there.", "commandOverrider: [{containerName: a, operator: add}]", "{kind: Pod, metadata: {}, spec: {containers: null}}"},
		"ContainersType":  {"A map is not a list.", "commandOverrider: [{containerName: a, operator: add}]", "{kind: Pod, metadata: {}, spec: {containers: {}}}"},
		"SpecType":        {"A list has no fields.", "commandOverrider: [{containerName: a, operator: add}]", "{kind: Pod, metadata: {}, spec: [1]}"},
		"CommandType":     {"A string is not a list.", "commandOverrider: [{containerName: a, operator: add}]", "{kind: Pod, metadata: {}, spec: {containers: [{name: a, command: x}]}}"},
		"CommandItemType": {"Karmada would write %!s(int64=5).", "argsOverrider: [{containerName: a, operator: add}]", "{kind: Pod, metadata: {}, spec: {containers: [{name: a, args: [5]}]}}"},
		"NoImage":         {"A missing image is not a reference.", "imageOverrider: [{component: Tag, operator: remove}]", "{kind: Pod, metadata: {}, spec: {containers: [{name: a}]}}"},
		"NullImage":       {"A null in the list is not an image.", "imageOverrider: [{component: Tag, operator: remove}]", "{kind: Pod, metadata: {}, spec: {containers: [null]}}"},
		"CustomShape":     {"Karmada decodes the whole object as the built-in kind.", "imageOverrider: [{component: Tag, operator: remove}]", "{kind: Job, metadata: {}, spec: {parallelism: x}}"},
		"PredicateItem":   {"The path may not end in a list.", "imageOverrider: [{component: Tag, operator: remove, predicate: {path: /spec/list/0}}]", "{kind: Job, metadata: {}, spec: {list: [a]}}"},
		"PredicateEscape": {"Karmada reads the path without escapes, and writes it with them.", "imageOverrider: [{component: Tag, operator: remove, predicate: {path: /spec/a~1b}}]", "{kind: Job, metadata: {}, spec: {a~1b: x, c: y}}"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			p := mustPolicy(t, "shop", "p", overridersOf(tc.overriders))
			if err := For([]*Policy{p}, web, member1).Apply(decode(t, tc.in)); err == nil {
				t.Errorf("%s\nno error", tc.reason)
			}
		})
	}
}

func TestReference(t *testing.T) {
	sha := "sha256:" + strings.Repeat("a", 64)
	cases := map[string]struct {
		reason string
		image  string
		want   reference
	}{
		"Name":        {"A name alone.", "nginx", reference{repository: "nginx"}},
		"Hub":         {"The first part has no dot: it is no registry.", "library/nginx:v1", reference{repository: "library/nginx", tag: "v1"}},
		"Localhost":   {"This one is.", "localhost/a", reference{registry: "localhost", repository: "a"}},
		"Port":        {"So is one with a port.", "r:5000/a/b", reference{registry: "r:5000", repository: "a/b"}},
		"IPv6":        {"And an address.", "[::1]:5000/a", reference{registry: "[::1]:5000", repository: "a"}},
		"NameOrPort":  {"Without a slash it is a tag.", "r:5000", reference{repository: "r", tag: "5000"}},
		"Digest":      {"A digest.", "a@" + sha, reference{repository: "a", digest: sha}},
		"TagDigest":   {"Of both, Karmada drops the digest.", "a:v1@" + sha, reference{repository: "a", tag: "v1"}},
		"NotADomain":  {"What is no domain may count as a registry.", "a_b.c/d", reference{registry: "a_b.c", repository: "d"}},
		"Longest":     {"The limit is allowed.", strings.Repeat("a", 255), reference{repository: strings.Repeat("a", 255)}},
		"LongestHost": {"The registry does not count.", "r.io/" + strings.Repeat("a", 255), reference{registry: "r.io", repository: strings.Repeat("a", 255)}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got, ok := parseReference(tc.image)
			if diff := cmp.Diff(tc.want, got, cmp.AllowUnexported(reference{})); diff != "" || !ok {
				t.Errorf("%s\n%v -want +got:\n%s", tc.reason, ok, diff)
			}
		})
	}
	for _, image := range []string{
		"", ":v1", "NGINX", "a//b", "/a", "a/", "a b", "a\n", "a:", "a@", "a:-x", "é", "a@md5:" + strings.Repeat("a", 32), "a@sha256:" + strings.Repeat("a", 63),
		"a@sha256:" + strings.Repeat("A", 64), "a:" + strings.Repeat("t", 129), strings.Repeat("a", 256),
	} {
		if got, ok := parseReference(image); ok {
			t.Errorf("parseReference(%q) is %v", image, got)
		}
	}
}
