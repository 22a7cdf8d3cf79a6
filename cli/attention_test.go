package cli

import (
	"net/http"
	"strings"
	"testing"

	"github.com/karmada-target/karmada-mirror/mirror/judge"
	"github.com/karmada-target/karmada-mirror/render"
)

// TestStatusOfNothing: an empty list says whether all is well, or that nothing could be in it.
func TestStatusOfNothing(t *testing.T) {
	for name, tc := range map[string]struct {
		reason, arguments string
		want              string
	}{
		"Attention":  {"the object has been written for an hour", "status -n shop --needs-attention configmaps/page", "page"},
		"Well":       {"nothing asks to be mirrored", "status -n empty --needs-attention", "Nothing needs your attention; objects: 0, clusters: 0."},
		"NoSuch":     {"a name may be misspelt", "status -n shpo", `There is no namespace "shpo".`},
		"FormerName": {"the former name stays", "status -n empty --failed", "Nothing needs your attention"},
		"Unlisted":   {"the daemon does not watch them", "status -n shop pods", "pods is not among the resources of the daemon's configuration"},
		"Cluster":    {"kubectl's own --cluster", "status -n shop --cluster m1", "a member cluster is chosen by --member"},
	} {
		t.Run(name, func(t *testing.T) {
			paths := server()
			list := func(kind string, items ...any) map[string]any {
				return map[string]any{"apiVersion": "v1", "kind": kind + "List", "metadata": map[string]any{"resourceVersion": "1"}, "items": append([]any{}, items...)}
			}
			paths["/api/v1"] = serving("v1", namespaced("configmaps", "ConfigMap"), namespaced("pods", "Pod"))
			paths["/api/v1/namespaces/shop/pods"], paths["/api/v1/namespaces/shop/configmaps"], paths["/api/v1/namespaces/empty/configmaps"], paths["/api/v1/namespaces/shpo/configmaps"] = list("Pod"), list("ConfigMap", paths[pagePath]), list("ConfigMap"), list("ConfigMap")
			paths["/api/v1/namespaces/empty"] = map[string]any{"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{"name": "empty"}}
			paths[pagePath].(map[string]any)["metadata"].(map[string]any)["creationTimestamp"] = "2020-01-01T00:00:00Z"
			output, err := execute(append(strings.Fields(tc.arguments), "--kubeconfig", serve(t, paths, nil), "--cache-dir", t.TempDir())...)
			if output := told(output, err); !strings.Contains(output, tc.want) {
				t.Errorf("%s: %s", tc.reason, output)
			}
		})
	}
}

// TestMissingKubeconfig: the command says so, and does not try an API server on this machine.
func TestMissingKubeconfig(t *testing.T) {
	t.Setenv("KUBECONFIG", "/no/such/file")
	if _, err := execute("status", "-A"); err == nil || !strings.Contains(err.Error(), "no file of $KUBECONFIG exists: /no/such/file") {
		t.Error(err)
	}
	if _, err := execute("status", "-A", "--server", "https://127.0.0.1:1"); err == nil || strings.Contains(err.Error(), "KUBECONFIG exists") {
		t.Error(err)
	}
}

// TestNoticeOf: a line is about its own cluster.
func TestNoticeOf(t *testing.T) {
	v := judge.Verdict{Targets: map[string]judge.Target{
		"m1": {Notices: map[judge.Reason]string{judge.KindNotServed: `cluster "m1" lacks it`}},
		"m2": {Notices: map[judge.Reason]string{judge.KindNotServed: `cluster "m2" lacks it`}},
		"m3": {},
	}, Notices: []judge.Refusal{{Reason: judge.KindNotServed, PerCluster: true, Message: `cluster "m1" lacks it; cluster "m2" lacks it`}}}
	for cluster, want := range map[string]string{"m1": `KindNotServed: cluster "m1" lacks it`, "m2": `KindNotServed: cluster "m2" lacks it`, "m3": ""} {
		if got := noticeOf(v, cluster, &workStatus{}); got != want {
			t.Errorf("%s: %q", cluster, got)
		}
	}
}

// TestNoticeOfUnhealthy: what the daemon knows about a workload that is not healthy says more than its conditions.
func TestNoticeOfUnhealthy(t *testing.T) {
	v := judge.Verdict{Targets: map[string]judge.Target{"m1": {Notices: map[judge.Reason]string{judge.DependencyNotMirrored: "its Pods need it"}}, "m2": {}}, Notices: []judge.Refusal{
		{Reason: judge.TooLarge, Message: "it is nearly full"}, {Reason: judge.DependencyNotMirrored, Message: "its Pods need it", PerCluster: true},
	}}
	for name, tc := range map[string]struct {
		work workStatus
		want string
	}{
		"Unhealthy": {workStatus{Applied: "True", Health: "Unhealthy", Ailment: "it is amiss"}, "DependencyNotMirrored: its Pods need it; it is amiss"},
		"Healthy":   {workStatus{Applied: "True", Health: "Healthy"}, ""},
		"Failed":    {workStatus{Applied: "False", Health: "Unhealthy"}, ""}, // why is more important
		"New":       {workStatus{}, "TooLarge: it is nearly full"},
	} {
		if got := noticeOf(v, "m1", &tc.work); got != tc.want {
			t.Errorf("%s: %q", name, got)
		}
	}
	if got := noticeOf(v, "m2", &workStatus{Applied: "True", Health: "Unhealthy"}); got != "" {
		t.Errorf("of another cluster: %q", got)
	}
}

// TestFewAreReadAlone: of one object, only its own Works are read, of however many there are.
func TestFewAreReadAlone(t *testing.T) {
	for arguments, reads := range map[string]bool{"status configmaps/page -n shop": false, "diff configmaps/page -n shop": false, "status -n shop configmaps/a configmaps/b configmaps/c configmaps/d configmaps/e configmaps/page": true} {
		paths, all := server(), false
		kubeconfig := serve(t, paths, func(w http.ResponseWriter, r *http.Request) {
			all = all || r.URL.Path == worksPath && r.URL.Query().Get("labelSelector") == render.OurWorks
			answerFrom(w, r, paths)
		})
		output, err := execute(append(strings.Fields(arguments), "--kubeconfig", kubeconfig, "--cache-dir", t.TempDir())...)
		if all != reads || !strings.Contains(told(output, err), "page") {
			t.Errorf("%s: reads all Works %v: %s", arguments, all, told(output, err))
		}
	}
}
