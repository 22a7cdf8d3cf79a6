package cli

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/karmada-target/karmada-mirror/config"
	"github.com/karmada-target/karmada-mirror/mirror/judge"
	"github.com/karmada-target/karmada-mirror/render"
)

// obeyed holds what a terminal obeys: it clears the screen, twice, sets the title, overwrites the line, and turns the text round.
const obeyed = "\x1b[2J\u009b2J\x1b]0;forged\x07\r\u202e"

// told returns what a user sees of a command: its output, and its error as Main prints it.
func told(output string, err error) string {
	var b bytes.Buffer
	b.WriteString(output)
	if err != nil {
		printError(&b, err)
	}
	return b.String()
}

// isText reports whether a text has nothing that a terminal would obey.
func isText(text string) bool {
	return strings.IndexFunc(text, func(r rune) bool { return r != '\n' && r != '\t' && (unicode.IsControl(r) || r == '\u202e') }) < 0
}

// bomb returns YAML that grows tenfold with each line.
func bomb() string {
	b := strings.Builder{}
	b.WriteString("a0: &a0 [x,x,x,x,x,x,x,x,x,x]\n")
	for i := range 12 {
		fmt.Fprintf(&b, "a%d: &a%d [%s*a%d]\n", i+1, i+1, strings.Repeat(fmt.Sprintf("*a%d,", i), 9), i)
	}
	return b.String()
}

const manifestHead = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: page, namespace: shop}\n"

// TestHostileFile gives the commands that read files hostile ones.
func TestHostileFile(t *testing.T) {
	escaped := strconv.QuoteToASCII(obeyed)
	deep := strings.Repeat("[", 20_000) + strings.Repeat("]", 20_000)
	cases := map[string]struct {
		reason, manifest, configuration string
		// renders is true if the manifest is odd, but valid.
		renders bool
	}{
		"Bomb":      {"aliases of aliases", manifestHead + bomb(), configHead + bomb(), false},
		"Deep":      {"a file must not exhaust the stack", manifestHead + "data: " + deep + "\n", configHead + "resources: " + deep + "\n", false},
		"Binary":    {"a program", "\x7fELF\x02\x01\x01\x00\x00\xff\xfe", "\x7fELF\x02\x01\x01\x00\x00\xff\xfe", false},
		"Raw":       {"raw escapes", manifestHead + "data: {key: \"" + obeyed + "\"}\n", configHead + "resources: [{resource: \"" + obeyed + "\"}]\n", false},
		"Value":     {"escapes as YAML escapes them", manifestHead + "data: {key: " + escaped + "}\n", configHead + "resources: [{resource: " + escaped + "}]\n", true},
		"Key":       {"in a key", manifestHead + "data: {" + escaped + ": x}\n", configHead + escaped + ": x\n", true},
		"Namespace": {"in a name", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: page, namespace: " + escaped + "}\n", configHead + "resources: [{resource: configmaps, namespaces: [" + escaped + "]}]\n", true},
		"Kind":      {"in the kind", "apiVersion: v1\nkind: " + escaped + "\nmetadata: {name: page}\n", "apiVersion: v1\nkind: " + escaped + "\n", true},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			manifest, configuration := filepath.Join(dir, "manifest.yaml"), filepath.Join(dir, "configuration.yaml")
			if err := errors.Join(os.WriteFile(manifest, []byte(c.manifest), 0o600), os.WriteFile(configuration, []byte(c.configuration), 0o600)); err != nil {
				t.Fatal(err)
			}
			output, err := execute("render", "-f", manifest, "--clusters", "m1")
			if text := told(output, err); (err == nil) != c.renders || !isText(text) || len(text) > 64<<10 {
				t.Errorf("%s: render: %.1000q", c.reason, text)
			}
			output, err = execute("validate", "-f", configuration)
			if text := told(output, err); err == nil || !isText(text) || len(text) > 64<<10 {
				t.Errorf("%s: validate: %.1000q", c.reason, text)
			}
		})
	}
}

const configHead = "apiVersion: mirror.karmada.target/v1alpha1\nkind: MirrorConfiguration\n"

// The paths of what server has.
const (
	configMapPath = "/api/v1/namespaces/karmada-system/configmaps/karmada-mirror"
	pagePath      = "/api/v1/namespaces/shop/configmaps/page"
	clustersPath  = "/apis/cluster.karmada.io/v1alpha1/clusters"
	workAPIPath   = "/apis/work.karmada.io/v1alpha1"
	worksPath     = workAPIPath + "/works"
)

// workAPI is how Karmada's API server says that it serves Works.
func workAPI() metav1.APIResourceList {
	return serving("work.karmada.io/v1alpha1", namespaced("works", "Work"))
}

// server returns as much of a Karmada API server as explain and diff need.
func server() map[string]any {
	return map[string]any{
		"/api":    metav1.APIVersions{TypeMeta: metav1.TypeMeta{Kind: "APIVersions"}, Versions: []string{"v1"}},
		"/apis":   metav1.APIGroupList{TypeMeta: metav1.TypeMeta{Kind: "APIGroupList", APIVersion: "v1"}},
		"/api/v1": serving("v1", namespaced("configmaps", "ConfigMap")),
		configMapPath: map[string]any{
			"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": "karmada-mirror", "namespace": "karmada-system"},
			"data": map[string]any{config.Key: configHead + "resources: [{resource: configmaps}]\n"},
		},
		clustersPath: map[string]any{
			"apiVersion": "cluster.karmada.io/v1alpha1", "kind": "ClusterList", "metadata": map[string]any{"resourceVersion": "1"},
			"items": []any{map[string]any{"apiVersion": "cluster.karmada.io/v1alpha1", "kind": "Cluster", "metadata": map[string]any{"name": "m1"}}},
		},
		"/api/v1/namespaces/shop": map[string]any{"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{"name": "shop"}},
		pagePath: map[string]any{
			"apiVersion": "v1", "kind": "ConfigMap",
			"metadata": map[string]any{"name": "page", "namespace": "shop", "uid": "u", "annotations": map[string]any{render.ClustersAnnotation: "m1"}},
		},
		workAPIPath: workAPI(),
		worksPath: map[string]any{
			"apiVersion": "work.karmada.io/v1alpha1", "kind": "WorkList", "metadata": map[string]any{"resourceVersion": "1"}, "items": []any{},
		},
	}
}

// serving returns how an API server says what resources it serves in a version.
func serving(version string, resources ...metav1.APIResource) metav1.APIResourceList {
	return metav1.APIResourceList{TypeMeta: metav1.TypeMeta{Kind: "APIResourceList", APIVersion: "v1"}, GroupVersion: version, APIResources: resources}
}

func namespaced(name, kind string) metav1.APIResource {
	resource := clusterWide(name, kind)
	resource.Namespaced = true
	return resource
}

func clusterWide(name, kind string) metav1.APIResource {
	return metav1.APIResource{Name: name, SingularName: strings.ToLower(kind), Kind: kind, Verbs: metav1.Verbs{"get", "list", "watch"}}
}

// refusal is an answer of an API server that does not do what it was asked for.
func refusal(code int32, reason metav1.StatusReason) metav1.Status {
	return metav1.Status{TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}, Status: metav1.StatusFailure, Code: code, Reason: reason}
}

// answerFrom answers a request from a map of paths.
func answerFrom(w http.ResponseWriter, r *http.Request, paths map[string]any) {
	w.Header().Set("Content-Type", "application/json")
	body, ok := paths[r.URL.Path]
	if !ok {
		status := refusal(http.StatusNotFound, metav1.StatusReasonNotFound)
		status.Details = &metav1.StatusDetails{Name: path.Base(r.URL.Path)}
		body = status
	}
	if status, isRefused := body.(metav1.Status); isRefused {
		w.WriteHeader(int(status.Code))
	}
	_ = json.NewEncoder(w).Encode(body) // fails only if the client has disconnected
}

// serve starts a server that answers from a map of paths, or by answer if that is not nil.
func serve(t *testing.T, paths map[string]any, answer http.HandlerFunc) (kubeconfig string) {
	t.Helper()
	s := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if answer != nil {
			answer(w, r)
			return
		}
		answerFrom(w, r, paths)
	}))
	t.Cleanup(s.Close)
	kubeconfig = filepath.Join(t.TempDir(), "kubeconfig")
	text := fmt.Sprintf("{apiVersion: v1, kind: Config, current-context: c, contexts: [{name: c, context: {cluster: c, user: u}}], clusters: [{name: c, cluster: {server: %q, certificate-authority-data: %s}}], users: [{name: u, user: {}}]}",
		s.URL, base64.StdEncoding.EncodeToString(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw})))
	if err := os.WriteFile(kubeconfig, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return kubeconfig
}

// TestHostileServer runs the commands against a server that answers with anything but what
// they expect: they end with an error, and print nothing that a terminal would obey.
func TestHostileServer(t *testing.T) {
	status := func(code int, contentType, body string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", contentType)
			w.WriteHeader(code)
			_, _ = w.Write([]byte(body))
		}
	}
	failure, err := json.Marshal(metav1.Status{TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}, Status: metav1.StatusFailure, Code: 403, Reason: metav1.StatusReasonForbidden, Message: "no" + obeyed})
	if err != nil {
		t.Fatal(err)
	}
	answers := map[string]http.HandlerFunc{
		"Text":    status(http.StatusOK, "text/plain", "no JSON"+obeyed),
		"HTML":    status(http.StatusOK, "text/html", "<html>"+obeyed),
		"Half":    status(http.StatusOK, "application/json", `{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"`),
		"Kind":    status(http.StatusOK, "application/json", `{"kind":"\u001b[2J","apiVersion":"v1"}`),
		"Array":   status(http.StatusOK, "application/json", `[[[[]]]]`),
		"Failure": status(http.StatusForbidden, "application/json", string(failure)),
		"Garbage": status(http.StatusInternalServerError, "text/plain", obeyed),
		"Endless": func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			tick := time.NewTicker(10 * time.Millisecond)
			defer tick.Stop()
			for _, err := w.Write([]byte(`{"a":"`)); err == nil; _, err = w.Write(bytes.Repeat([]byte("a"), 1024)) {
				w.(http.Flusher).Flush()
				select {
				case <-r.Context().Done():
					return
				case <-tick.C:
				}
			}
		},
	}
	for name, answer := range answers {
		t.Run(name, func(t *testing.T) {
			kubeconfig := serve(t, nil, answer)
			for _, command := range [][]string{{"explain", "cm", "page"}, {"diff", "cm", "page"}, {"status"}} {
				arguments := append(command, "--kubeconfig", kubeconfig, "--cache-dir", t.TempDir(), "--request-timeout", "1s", "-n", "shop")
				output, err := execute(arguments...)
				if text := told(output, err); err == nil || !isText(text) || len(text) > 64<<10 {
					t.Errorf("%s: %.1000q", command[0], text)
				}
			}
		})
	}
}

// TestHostileDiff compares objects and Works with hostile names and values: diff runs
// on files that we name ourselves, in a folder of its own, and shows no escape.
func TestHostileDiff(t *testing.T) {
	elsewhere := t.TempDir()
	outside := "../../../../../../../.." + filepath.Join(elsewhere, "forged")
	cases := map[string]struct {
		reason      string
		name, value string
		work        string // the namespace of a Work that the API server lists
		want        string // in what the user sees
	}{
		"Value":     {"YAML escapes it", "page", obeyed, "", "key: \"\\e[2J\\x9B2J\\e]0;forged\\a\\r\ufffd\""},
		"Parent":    {"it is not a valid object name", outside, "x", "", "invalid resource name"},
		"Flag":      {"a flag of diff is not valid either", "--to-file=forged", "x", "", "RenderFailed"},
		"Escape":    {"an escape is not valid either", obeyed, "x", "", "RenderFailed"},
		"Namespace": {"a Work is where the API server says", "page", "x", "karmada-es-" + outside, "invalid namespace"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			dir, tmp := t.TempDir(), t.TempDir()
			t.Setenv("TMPDIR", tmp)
			t.Chdir(dir)
			object := map[string]any{
				"apiVersion": "v1", "kind": "ConfigMap", "data": map[string]any{"key": c.value},
				"metadata": map[string]any{"name": c.name, "namespace": "shop", "annotations": map[string]any{render.ClustersAnnotation: "m1"}},
			}
			manifest, err := json.Marshal(object)
			if err != nil {
				t.Fatal(err)
			}
			manifest = bytes.ReplaceAll(manifest, []byte("\u009b"), []byte(`\u009b`)) // as YAML accepts it
			file := filepath.Join(t.TempDir(), "manifest.yaml")
			if err := os.WriteFile(file, manifest, 0o600); err != nil {
				t.Fatal(err)
			}
			paths := server()
			paths[pagePath] = object // the live object, and the dry run's result
			if c.work != "" {
				paths[worksPath].(map[string]any)["items"] = []any{workIn(t, object, c.work)}
			}
			output, err := execute("diff", "-f", file, "--kubeconfig", serve(t, paths, nil), "--cache-dir", t.TempDir())
			text := told(output, err)
			if !isText(text) || !strings.Contains(text, c.want) {
				t.Errorf("%s: %.1000q does not say %q", c.reason, text, c.want)
			}
			for line := range strings.Lines(text) {
				if file, isFile := strings.CutPrefix(line, "+++ "); isFile && !strings.HasPrefix(file, tmp+"/karmada-mirror-diff-") {
					t.Errorf("%s: diff has read %s", c.reason, file)
				}
			}
			for _, folder := range []string{dir, tmp, elsewhere} {
				if left, err := os.ReadDir(folder); err != nil || len(left) > 0 {
					t.Errorf("%s: there is %v, %v", c.reason, left, err)
				}
			}
		})
	}
}

// TestHostileMember: what a member says in the status of a Work is text in each form of output, and ends no command.
func TestHostileMember(t *testing.T) {
	paths := server()
	work := workIn(t, paths[pagePath].(map[string]any), "karmada-es-m1")
	work["status"] = map[string]any{"conditions": []any{map[string]any{"type": "Applied", "status": "False", "reason": "Failed", "message": obeyed}}}
	paths[worksPath].(map[string]any)["items"] = []any{work}
	kubeconfig := serve(t, paths, nil)
	for _, command := range []string{"status", "explain"} {
		for _, form := range []string{"", "yaml", "json"} {
			output, err := execute(command, "configmaps/page", "-n", "shop", "-o", form, "--kubeconfig", kubeconfig, "--cache-dir", t.TempDir())
			if text := told(output, err); err != nil || !isText(text) || !strings.Contains(text, "2J") {
				t.Errorf("%s as %q: %v: %.1000q", command, form, err, text)
			}
		}
	}
}

// workIn returns the Work of an object, in a namespace that the API server makes up.
func workIn(t *testing.T, object map[string]any, namespace string) map[string]any {
	t.Helper()
	source := judge.NewSource(&unstructured.Unstructured{Object: runtime.DeepCopyJSON(object)}, render.Wishes{})
	work := &unstructured.Unstructured{}
	if err := work.UnmarshalJSON(source.Template.Work("m1")); err != nil {
		t.Fatal(err)
	}
	work.SetNamespace(namespace)
	return work.Object
}
