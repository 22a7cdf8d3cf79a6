package helm

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"
	"sigs.k8s.io/yaml"
)

const manifests = "../../manifests"

var chart = filepath.Join(manifests, "chart")

// helm is the path of the helm command of this module.
var helm = sync.OnceValues(func() (string, error) {
	out, err := exec.Command("go", "tool", "-n", "helm").Output()
	if err != nil {
		return "", fmt.Errorf("cannot build helm: %w", err)
	}
	// The tool is in the build cache once it has run.
	if err := exec.Command("go", "tool", "helm", "version").Run(); err != nil {
		return "", fmt.Errorf("cannot run helm: %w", err)
	}
	return strings.TrimSpace(string(out)), nil
})

// runHelm returns helm's standard output; the error includes its standard error.
func runHelm(t *testing.T, arguments ...string) (string, error) {
	t.Helper()
	path, err := helm()
	if err != nil {
		t.Fatal(err)
	}
	var stdout, stderr bytes.Buffer
	command := exec.Command(path, arguments...)
	command.Stdout, command.Stderr = &stdout, &stderr
	home := t.TempDir() // not the user's own
	command.Env = append(os.Environ(), "HELM_CACHE_HOME="+home, "HELM_CONFIG_HOME="+home, "HELM_DATA_HOME="+home)
	if err := command.Run(); err != nil {
		return "", fmt.Errorf("%w: %s%s", err, stdout.String(), stderr.String())
	}
	return stdout.String(), nil
}

func render(t *testing.T, arguments ...string) string {
	t.Helper()
	out, err := runHelm(t, append([]string{"template", "karmada-mirror", chart, "--namespace", "karmada-system"}, arguments...)...)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func kustomize(t *testing.T, dir string) string {
	t.Helper()
	resources, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(filesys.MakeFsOnDisk(), filepath.Join(manifests, dir))
	if err != nil {
		t.Fatal(err)
	}
	out, err := resources.AsYaml()
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

// monitored is an overlay of these tests, with everything that monitors the Pods.
const monitored = "../tools/helm/testdata/monitored"

// ways are the installations that both kustomize and Helm can make.
var ways = map[string]struct {
	kustomization string
	values        []string
}{
	"Karmada":             {"karmada", []string{"--set=side=karmada"}},
	"KarmadaWithRotation": {"overlays/token-rotation/karmada", []string{"--set=side=karmada,tokenRotation.enabled=true"}},
	"Host":                {"host", []string{"--set=side=host"}},
	"Trial":               {"overlays/trial", []string{"--set=side=host", "--values=" + filepath.Join(chart, "values-trial.yaml")}},
	"Production":          {"overlays/production", []string{"--set=side=host", "--values=" + filepath.Join(chart, "values-production.yaml")}},
	"Monitored": {monitored, []string{
		"--set=side=host,metrics.secure=true,serviceMonitor.enabled=true,prometheusRule.enabled=true,dashboard.enabled=true",
	}},
	"ProductionWithRotation": {"overlays/token-rotation/host", []string{"--set=side=host,tokenRotation.enabled=true", "--values=" + filepath.Join(chart, "values-production.yaml")}},
}

func TestSameObjects(t *testing.T) {
	for name, way := range ways {
		t.Run(name, func(t *testing.T) {
			byKustomize, byHelm := parse(t, kustomize(t, way.kustomization)), parse(t, render(t, way.values...))
			// Helm keeps its release in the namespace: a chart cannot create that
			// namespace, and must not delete it.
			delete(byKustomize, "Namespace karmada-system")
			if diff := cmp.Diff(byKustomize, byHelm); diff != "" {
				t.Errorf("kustomize (-) and Helm (+) make different objects:\n%s", diff)
			}
		})
	}
}

type object = map[string]any

// parse returns objects by kind and name. Different spellings of the same thing are
// made equal.
func parse(t *testing.T, manifests string) map[string]object {
	t.Helper()
	objects := map[string]object{}
	decoder := utilyaml.NewYAMLOrJSONDecoder(strings.NewReader(manifests), 4096)
	for {
		var o object
		err := decoder.Decode(&o)
		if errors.Is(err, io.EOF) {
			return objects
		}
		if err != nil {
			t.Fatal(err)
		}
		if o == nil {
			continue
		}
		metadata := o["metadata"].(object)
		key := strings.TrimSpace(fmt.Sprintf("%v %v", o["kind"], metadata["name"]))
		if objects[key] != nil {
			t.Errorf("%s is there twice", key)
		}
		switch o["kind"] {
		case "Role", "ClusterRole":
			if o["rules"] != nil {
				o["rules"] = singleRights(o["rules"].([]any))
			}
		case "ConfigMap":
			data, _ := o["data"].(object) // there is none in the one that the daemon fills
			for file, text := range data {
				var content object
				if err := yaml.UnmarshalStrict([]byte(text.(string)), &content); err != nil {
					t.Fatal(err)
				}
				data[file] = content
			}
		}
		objects[key] = o
	}
}

// singleRights splits RBAC rules: how rights are grouped into rules does not matter.
func singleRights(rules []any) []string {
	var rights []string
	list := func(rule object, key string) []any {
		values, _ := rule[key].([]any)
		return values
	}
	for _, rule := range rules {
		rule := rule.(object)
		for _, url := range list(rule, "nonResourceURLs") {
			rights = append(rights, fmt.Sprint(url, rule["verbs"]))
		}
		for _, group := range list(rule, "apiGroups") {
			for _, resource := range list(rule, "resources") {
				for _, verb := range list(rule, "verbs") {
					rights = append(rights, fmt.Sprintf("%v %v.%v %v", verb, resource, group, rule["resourceNames"]))
				}
			}
		}
	}
	slices.Sort(rights)
	return rights
}

func TestLint(t *testing.T) {
	for name, way := range ways {
		t.Run(name, func(t *testing.T) {
			arguments := append([]string{"lint", "--strict", "--namespace", "karmada-system", chart}, way.values...)
			if _, err := runHelm(t, arguments...); err != nil {
				t.Error(err)
			}
		})
	}
}

// tag is the tag of the image, which a release sets.
var tag = regexp.MustCompile(`(image: \S+/karmada-mirror:)\S+`)

// TestPackage renders the published package, which has no symbolic links.
func TestPackage(t *testing.T) {
	dir := t.TempDir()
	if _, err := runHelm(t, "package", chart, "--version=1.2.3", "--app-version=v1.2.3", "--destination", dir); err != nil {
		t.Fatal(err)
	}
	packaged := filepath.Join(dir, "karmada-mirror-1.2.3.tgz")
	for name, way := range ways {
		out, err := runHelm(t, append([]string{"template", "karmada-mirror", packaged, "--namespace", "karmada-system"}, way.values...)...)
		if err != nil {
			t.Fatal(err)
		}
		want := tag.ReplaceAllString(render(t, way.values...), "${1}v1.2.3")
		if diff := cmp.Diff(want, out); diff != "" {
			t.Errorf("%s: the package differs from the folder (-):\n%s", name, diff)
		}
	}
}

func TestBadValues(t *testing.T) {
	cases := map[string]struct {
		values  []string // without side=host
		message string
	}{
		"no side":                      {[]string{"side="}, `at '/side': value must be one of 'karmada', 'host'`},
		"another side":                 {[]string{"side=member"}, `at '/side': value must be one of 'karmada', 'host'`},
		"an unknown value":             {[]string{"replicaCount=3"}, `additional properties 'replicaCount' not allowed`},
		"a misspelt value":             {[]string{"networkPolicy.enable=true"}, `at '/networkPolicy': additional properties 'enable' not allowed`},
		"a number as text":             {[]string{"replicas=two"}, `at '/replicas': got string, want integer`},
		"a negative number":            {[]string{"replicas=-1"}, `at '/replicas': minimum: got -1, want 0`},
		"a tag with a colon":           {[]string{"image.tag=a:b"}, `at '/image/tag': 'a:b' does not match pattern`},
		"a digest without its kind":    {[]string{"image.digest=abc"}, `at '/image/digest': 'abc' does not match pattern`},
		"a pull policy":                {[]string{"image.pullPolicy=Sometimes"}, `at '/image/pullPolicy': value must be one of`},
		"an unknown flag":              {[]string{"flags.verbose=true"}, `at '/flags': additional properties 'verbose' not allowed`},
		"a flag's value":               {[]string{"flags.log-level=loud"}, `at '/flags/log-level': value must be one of 'debug', 'info', 'warn', 'error'`},
		"a flag's duration":            {[]string{"flags.leader-elect-lease-duration=15"}, `at '/flags/leader-elect-lease-duration': got number, want string`},
		"an argument without dashes":   {[]string{"extraArgs[0]=log-level=debug"}, `at '/extraArgs/0': 'log-level=debug' does not match pattern`},
		"another holder":               {[]string{"extraArgs[0]=--holder-identity=me"}, `at '/extraArgs/0'`},
		"a Lease turned off aside":     {[]string{"extraArgs[0]=--leader-elect=false"}, `at '/extraArgs/0'`},
		"two replicas without a Lease": {[]string{"flags.leader-elect=false"}, `flags.leader-elect=false needs replicas=1`},
		"an amount of memory":          {[]string{"resources.limits.memory=lots"}, `at '/resources/limits/memory'`},
		"an affinity":                  {[]string{"antiAffinity=hard"}, `at '/antiAffinity': value must be one of 'soft', 'required'`},
		"a priority of the system":     {[]string{"priorityClass.value=2000000000"}, `at '/priorityClass/value': maximum: got 2×10⁰⁹, want 1×10⁰⁹`},
		"a budget that blocks drains":  {[]string{"podDisruptionBudget.maxUnavailable=0"}, `at '/podDisruptionBudget/maxUnavailable'`},
		"a port":                       {[]string{"networkPolicy.apiServerPort=65536"}, `at '/networkPolicy/apiServerPort': maximum: got 65,536, want 65,535`},
		"a peer":                       {[]string{"networkPolicy.metricsPeers[0].cidr=10.0.0.0/8"}, `at '/networkPolicy/metricsPeers/0': additional properties 'cidr' not allowed`},
		"a schedule":                   {[]string{"tokenRotation.schedule=daily"}, `at '/tokenRotation/schedule': 'daily' does not match pattern`},
		"a token for five minutes":     {[]string{"tokenRotation.duration=5m"}, `at '/tokenRotation/duration': '5m' does not match pattern`},
		"a resource with its group":    {[]string{"configuration.resources[0].resource=deployments.apps"}, `at '/configuration/resources/0/resource'`},
		"a resource without its name":  {[]string{"configuration.resources[0].group=apps"}, `at '/configuration/resources/0': missing property 'resource'`},
		"an extra without its name":    {[]string{"extraResources[0].group=apps"}, `at '/extraResources/0': missing property 'resource'`},
		"a field of the configuration": {[]string{"configuration.deletions.works=5"}, `at '/configuration': additional properties 'deletions' not allowed`},
		"a share above the whole":      {[]string{"configuration.deletion.holdAbove.percent=101"}, `at '/configuration/deletion/holdAbove/percent': maximum: got 101, want 100`},
		"an unknown policy":            {[]string{"configuration.overridePolicies=Obey"}, `at '/configuration/overridePolicies': value must be one of 'Honor', 'Ignore'`},
		"a user without a kind":        {[]string{"users[0].name=alice"}, `at '/users/0': missing property 'kind'`},
		"the name of a Secret":         {[]string{"kubeconfigSecret=My_Secret"}, `at '/kubeconfigSecret': 'My_Secret' does not match pattern`},
		"another namespace":            {[]string{"side=karmada", "--namespace=default"}, `side=karmada must be installed in the namespace karmada-system`},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			arguments := []string{"template", "karmada-mirror", chart, "--namespace=karmada-system", "--set=side=host"}
			for _, value := range c.values {
				if !strings.HasPrefix(value, "--") {
					value = "--set=" + value
				}
				arguments = append(arguments, value)
			}
			_, err := runHelm(t, arguments...)
			if err == nil {
				t.Fatalf("%v is accepted", c.values)
			}
			if !strings.Contains(err.Error(), c.message) {
				t.Errorf("%v: the message lacks %q:\n%v", c.values, c.message, err)
			}
		})
	}
}

// TestValues sets what the comparison with kustomize leaves at its default.
func TestValues(t *testing.T) {
	cases := map[string]struct {
		values []string
		want   []string
	}{
		"a digest wins over a tag": {
			[]string{"side=host", "image.tag=v1", "image.digest=sha256:" + strings.Repeat("0", 64)},
			[]string{"image: ghcr.io/karmada-target/karmada-mirror@sha256:0000"},
		},
		"where images come from": {
			[]string{"side=host", "image.repository=registry.example.com/mirror", "image.tag=v1", "image.pullPolicy=Always", "image.pullSecrets={registry}"},
			[]string{"image: registry.example.com/mirror:v1", "imagePullPolicy: Always", "imagePullSecrets:\n      - name: registry\n"},
		},
		"flags": {
			[]string{"side=host", "flags.log-level=debug", "flags.concurrent-syncs=1000000", "flags.leader-elect=false", "replicas=1", "--set-json=flags.kube-api-qps=0.5", "extraArgs={--further=yes}"},
			[]string{`- "--log-level=debug"`, `- "--concurrent-syncs=1000000"`, `- "--leader-elect=false"`, "type: Recreate", `- "--kube-api-qps=0.5"`, `- "--further=yes"`},
		},
		"where Pods run": {
			[]string{"side=host", "nodeSelector.disk=ssd", "tolerations[0].operator=Exists", "affinity.nodeAffinity.x=y", "podLabels.team=a", "podAnnotations.note=b"},
			[]string{"nodeSelector:\n        disk: ssd", "tolerations:\n      - operator: Exists", "affinity:\n        nodeAffinity:", "team: a", "note: b"},
		},
		"an existing priority class": {
			[]string{"side=host", "priorityClass.name=system-cluster-critical"},
			[]string{"priorityClassName: system-cluster-critical"},
		},
		"the network": {
			[]string{"side=host", "networkPolicy.enabled=true", "networkPolicy.apiServerPort=6443", "networkPolicy.apiServerPeers[0].ipBlock.cidr=192.0.2.1/32"},
			[]string{"- port: 6443\n    to:\n    - ipBlock:\n        cidr: 192.0.2.1/32"},
		},
		"metrics by TLS": {
			[]string{"side=host", "metrics.secure=true", "serviceMonitor.enabled=true", "serviceMonitor.labels.release=prometheus"},
			[]string{"- --metrics-secure\n", "automountServiceAccountToken: true", "name: system:auth-delegator", "secretName: karmada-mirror-metrics-tls", "scheme: https", "release: prometheus"},
		},
		"another Secret": {
			[]string{"side=host", "kubeconfigSecret=other", "tokenRotation.enabled=true", "tokenRotation.duration=48h"},
			[]string{"secretName: other", "resourceNames: [other]", "other \"$(printf", "--duration=48h"},
		},
		"a resource, and the right to read it": {
			[]string{"side=karmada", "configuration.resources[0].group=example.com", "configuration.resources[0].resource=widgets"},
			[]string{"group: example.com", `resources: ["widgets"]`},
		},
		"an aggregated status, and the right to write it": {
			[]string{"side=karmada", "extraResources[0].group=example.com", "extraResources[0].resource=widgets", "extraResources[0].aggregateStatus=true"},
			[]string{"aggregateStatus: true", "resources: [\"widgets/status\"]\n  verbs: [patch]"},
		},
		"the finalizer, and the right to set it": {
			[]string{"side=karmada", "foregroundDeletion.enabled=true"},
			[]string{"resources: [\"deployments\"]\n  verbs: [get, list, watch, patch]"},
		},
		"nothing is allowed": {
			[]string{"side=karmada", "--set-json=configuration.authorization=[]"},
			[]string{"authorization: []"},
		},
		"who may mirror everywhere": {
			[]string{"side=karmada", "users[0].kind=Group", "users[0].name=developers"},
			[]string{"name: karmada-mirror-user\nsubjects:\n- kind: Group\n  name: developers"},
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			var arguments []string
			for _, value := range c.values {
				if !strings.HasPrefix(value, "--") {
					value = "--set=" + value
				}
				arguments = append(arguments, value)
			}
			out := render(t, arguments...)
			for _, want := range c.want {
				if !strings.Contains(out, want) {
					t.Errorf("%q is not in:\n%s", want, out)
				}
			}
			parse(t, out)
		})
	}
}

// TestExtraResources adds a resource to the defaults: in a part of the configuration of its own,
// with the right to read it.
func TestExtraResources(t *testing.T) {
	const configMap, role = "ConfigMap karmada-mirror", "ClusterRole karmada-mirror-default-resources"
	out := render(t, "--set=side=karmada", "--set=extraResources[0].group=example.com,extraResources[0].resource=widgets")
	before, after := parse(t, render(t, "--set=side=karmada")), parse(t, out)
	parts := after[configMap]["data"].(object)
	extra, _ := parts["extra-resources.yaml"].(object)
	want := []any{object{"group": "example.com", "resource": "widgets"}}
	if diff := cmp.Diff(want, extra["resources"]); diff != "" {
		t.Errorf("its part of the configuration, -want +got:\n%s", diff)
	}
	delete(parts, "extra-resources.yaml")
	wantRights := before[role]["rules"].([]string)
	for _, verb := range []string{"get", "list", "watch"} {
		wantRights = append(wantRights, verb+" widgets.example.com <nil>")
	}
	slices.Sort(wantRights)
	before[role]["rules"] = wantRights
	if diff := cmp.Diff(before, after); diff != "" {
		t.Errorf("everything else, -want +got:\n%s", diff)
	}

	// The daemon reads both parts.
	defaults := len(parts["config.yaml"].(object)["resources"].([]any))
	if said, want := validate(t, out), fmt.Sprintf("valid: %d resources\n", defaults+1); said != want {
		t.Errorf("karmada-mirror validate says %q, not %q", said, want)
	}
}

// validate returns what karmada-mirror validate says of the configuration in the manifests.
func validate(t *testing.T, manifests string) string {
	t.Helper()
	documents := strings.Split(manifests, "\n---\n")
	i := slices.IndexFunc(documents, func(document string) bool { return strings.Contains(document, "\nkind: ConfigMap\n") })
	if i < 0 {
		t.Fatalf("there is no ConfigMap in:\n%s", manifests)
	}
	file := filepath.Join(t.TempDir(), "configmap.yaml")
	if err := os.WriteFile(file, []byte(documents[i]), 0o600); err != nil {
		t.Fatal(err)
	}
	command := exec.Command("go", "run", ".", "validate", "-f", file)
	command.Dir = "../.."
	var warnings bytes.Buffer
	command.Stderr = &warnings
	said, err := command.Output()
	if err != nil {
		t.Errorf("%v: %s", err, warnings.String())
	}
	return string(said)
}

// field matches the rows for the fields of the configuration in its reference page.
var field = regexp.MustCompile("(?m)^\\| `([a-zA-Z.\\[\\]]+)` \\|")

// TestConfigurationFields checks that the schema offers every field of the configuration.
func TestConfigurationFields(t *testing.T) {
	page, err := os.ReadFile("../../docs/reference/configuration.md")
	if err != nil {
		t.Fatal(err)
	}
	var schema object
	if err := yaml.Unmarshal(read(t, "values.schema.json"), &schema); err != nil {
		t.Fatal(err)
	}
	offered := fieldsOf(schema["definitions"].(object), schema["properties"].(object)["configuration"].(object), "")
	for _, row := range field.FindAllStringSubmatch(string(page), -1) {
		if row[1] != "apiVersion" && row[1] != "kind" && !slices.Contains(offered, row[1]) {
			t.Errorf("values.schema.json has no configuration.%s", row[1])
		}
	}
	if len(offered) < 10 {
		t.Errorf("the schema offers only %q", offered)
	}
}

// fieldsOf returns the paths of the fields that a JSON schema offers: a.b for objects, a[].b for
// lists of objects.
func fieldsOf(definitions, schema object, path string) []string {
	if ref, ok := schema["$ref"].(string); ok {
		schema = definitions[strings.TrimPrefix(ref, "#/definitions/")].(object)
	}
	var paths []string
	if path != "" {
		paths = append(paths, strings.TrimPrefix(path, "."))
	}
	if items, ok := schema["items"].(object); ok {
		paths = append(paths, fieldsOf(definitions, items, path+"[]")...)
	}
	properties, _ := schema["properties"].(object)
	for name, property := range properties {
		paths = append(paths, fieldsOf(definitions, property.(object), path+"."+name)...)
	}
	return paths
}

// TestFlags checks that the daemon has the flags that the schema offers.
func TestFlags(t *testing.T) {
	command := exec.Command("go", "run", ".", "run", "--help")
	command.Dir = "../.."
	help, err := command.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, help)
	}
	for flag := range propertiesOf(t, "flags") {
		if !bytes.Contains(help, []byte("--"+flag+" ")) && !bytes.Contains(help, []byte("--"+flag+"\n")) {
			t.Errorf("karmada-mirror run has no flag --%s", flag)
		}
	}
}

func propertiesOf(t *testing.T, keys ...string) object {
	t.Helper()
	var schema object
	if err := yaml.Unmarshal(read(t, "values.schema.json"), &schema); err != nil {
		t.Fatal(err)
	}
	properties := schema["properties"].(object)
	for _, key := range keys {
		properties = properties[key].(object)["properties"].(object)
	}
	return properties
}

// TestValuesAreDescribed compares the schema, values.yaml and the table of the README.
func TestValuesAreDescribed(t *testing.T) {
	var values object
	if err := yaml.UnmarshalStrict(read(t, "values.yaml"), &values); err != nil {
		t.Fatal(err)
	}
	table := string(read(t, "README.md"))
	for name, schema := range propertiesOf(t) {
		if name == "global" { // Helm's own
			continue
		}
		if _, ok := values[name]; !ok {
			t.Errorf("values.yaml lacks %s", name)
		}
		if !strings.Contains(table, "\n| `"+name+"`") && !strings.Contains(table, "\n| `"+name+".") {
			t.Errorf("the README's table lacks %s", name)
		}
		nested, _ := values[name].(object)
		if _, ok := schema.(object)["properties"]; !ok || name == "configuration" || name == "resources" {
			continue
		}
		for key := range nested {
			if !strings.Contains(table, "`"+name+"."+key+"`") {
				t.Errorf("the README's table lacks %s.%s", name, key)
			}
		}
	}
}

func read(t *testing.T, name string) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(chart, name))
	if err != nil {
		t.Fatal(err)
	}
	return data
}
