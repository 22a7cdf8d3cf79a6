package shared

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/karmada-target/karmada-mirror/render"

	. "github.com/karmada-target/karmada-mirror/sandbox/e2e"
)

// eventsIn lists the daemon's Events about the objects of a namespace.
func eventsIn(ctx context.Context, namespace string) (map[string][]corev1.Event, error) {
	list, err := Env.Client.CoreV1().Events(namespace).List(ctx, metav1.ListOptions{FieldSelector: "source=karmada-mirror"})
	if err != nil {
		return nil, err
	}
	by := map[string][]corev1.Event{}
	for _, e := range list.Items {
		by[e.InvolvedObject.Name] = append(by[e.InvolvedObject.Name], e)
	}
	return by, nil
}

// TestOptOutOfNothing: an empty list where there is nothing to opt out of is reported,
// because something else was meant.
func TestOptOutOfNothing(t *testing.T) {
	ns := Isolate(t)
	StartDaemon(t)
	Create(t, ConfigMaps, ConfigMap(ns, "page", "", "one"))
	WantEvent(t, ns, "page", "InvalidAnnotation", "remove the annotation")
	Change(t, Namespaces, "", ns, SetAnnotation(render.ClustersAnnotation, Push))
	Create(t, ConfigMaps, ConfigMap(ns, "out", "", "one")) // of an existing default
	Create(t, ConfigMaps, Plain(ns, "in", "one"))
	WantInMembers(t, ns, "in", "one", Push)
	told, err := eventsIn(t.Context(), ns)
	if err != nil || len(told["out"]) > 0 {
		t.Errorf("an Event about an object that opts out of a default: %v, %v", told["out"], err)
	}
}

// TestUnknownClusterOfNamespace: a mistake on a Namespace is reported there, and not on
// each of the objects in it.
func TestUnknownClusterOfNamespace(t *testing.T) {
	ns := Isolate(t)
	d := StartDaemon(t)
	for i := range 5 {
		Create(t, ConfigMaps, Plain(ns, fmt.Sprint("page-", i), "one"))
	}
	Create(t, ConfigMaps, ConfigMap(ns, "own", Push+",elsewhere", "one"))
	Change(t, Namespaces, "", ns, SetAnnotation(render.ClustersAnnotation, Push+",nowhere"))
	WantEvent(t, "", ns, "UnknownCluster", `"nowhere"`, "default of this Namespace")
	WantEvent(t, ns, "own", "UnknownCluster", `"elsewhere"`)
	for i := range 5 {
		WantInMembers(t, ns, fmt.Sprint("page-", i), "one", Push)
	}
	// The daemon's own ConfigMap is in the Namespace, too.
	Eventually(t, "all to be counted as refused", d.WantMetric(`karmada_mirror_refused_sources{reason="UnknownCluster"}`, 7))
	told, err := eventsIn(t.Context(), ns)
	Must(t, err)
	for i := range 5 {
		if name := fmt.Sprint("page-", i); len(told[name]) > 0 {
			t.Errorf("it is reported on %s: %s", name, told[name][0].Message)
		}
	}
	WantLine(t, MustKarmadaMirror(t, "explain", "cm/page-0", "-n", ns), `^nowhere: Unknown$`)
}

// TestDependencyNotMirrored has workloads whose Pods would wait forever, and fixes this
// with the command in the Event.
func TestDependencyNotMirrored(t *testing.T) {
	ns := Isolate(t)
	Configure(t, Resources(t, "configmaps", "serviceaccounts", "deployments.apps"))
	StartDaemon(t)
	Create(t, ConfigMaps, Plain(ns, "plain", "one"))
	Create(t, ConfigMaps, ConfigMap(ns, "half", Push, "one"))
	Create(t, ConfigMaps, ConfigMap(ns, "apart", Pull, "one"))
	Create(t, ConfigMaps, ConfigMap(ns, "whole", Push+","+Push2, "one"))
	Create(t, Deployments, needing(ns, "web", Push+","+Push2, "plain", "half", "apart", "whole", "of-the-member"))
	// The ConfigMaps come from another watch than the Deployment: the first Event may lack some.
	message := WantEvent(t, ns, "web", "DependencyNotMirrored",
		`ConfigMap "apart", which is not mirrored to `+Push+", "+Push2+":",
		`ConfigMap "half", which is not mirrored to `+Push2+":",
		`ConfigMap "plain", which is not mirrored to `+Push+", "+Push2+":")
	if strings.Contains(message, `"whole"`) || strings.Contains(message, "of-the-member") {
		t.Errorf("it says: %s", message)
	}
	WantLine(t, MustKarmadaMirror(t, "explain", "deploy/web", "-n", ns), `^  ! DependencyNotMirrored: its Pods need .*ConfigMap "half"`)
	for part := range strings.SplitSeq(message, "; ") {
		_, command, _ := strings.Cut(part, "kubectl ")
		var arguments []string
		for _, word := range strings.Fields(command) {
			arguments = append(arguments, strings.ReplaceAll(word, "'", ""))
		}
		Kubectl(t, arguments...)
	}
	WantInMembers(t, ns, "plain", "one", Push, Push2)
	WantInMembers(t, ns, "half", "one", Push, Push2)
	WantInMembers(t, ns, "apart", "one", Push, Push2)
	// Another workload may need it where it was.
	WantLine(t, Kubectl(t, "get", "configmap", "apart", "-n", ns, "-o", `jsonpath={.metadata.annotations.karmada\.target/clusters}`), "^"+Pull+","+Push+","+Push2+"$")
	if output := MustKarmadaMirror(t, "explain", "deploy/web", "-n", ns); strings.Contains(output, "DependencyNotMirrored") {
		t.Errorf("it is fixed, but still reported:\n%s", output)
	}

	// Secrets are not in the configuration: the daemon may not read them, but the user may.
	pulling := func(ns, name, clusters string) *unstructured.Unstructured {
		u := needing(ns, name, clusters)
		Must(t, unstructured.SetNestedSlice(u.Object, []any{map[string]any{"name": "pull"}}, "spec", "template", "spec", "imagePullSecrets"))
		return u
	}
	Create(t, Secrets, Object("v1", "Secret", ns, "pull", nil))
	Create(t, Deployments, pulling(ns, "puller", Push))
	WantLine(t, MustKarmadaMirror(t, "explain", "deploy/puller", "-n", ns), `^  ! DependencyNotMirrored: its Pods need Secret "pull", but Secrets are not among the resources of the configuration`)
	other := ns + "-default"
	makeTestNamespace(t, other)
	u := pulling(other, "web", "")
	u.SetAnnotations(nil)
	Create(t, Deployments, u)
	Change(t, Namespaces, "", other, SetAnnotation(render.ClustersAnnotation, Push))
	WantEvent(t, other, "web", "DependencyNotMirrored", `Secret "pull"`, "not among the resources of the configuration")
}

// needing makes a Deployment whose Pods need ConfigMaps.
func needing(ns, name, clusters string, configMaps ...string) *unstructured.Unstructured {
	var from []any
	for _, name := range configMaps {
		from = append(from, map[string]any{"configMapRef": map[string]any{"name": name}})
	}
	labels := map[string]any{"app": name}
	u := Object("apps/v1", "Deployment", ns, name, map[string]any{"spec": map[string]any{
		"selector": map[string]any{"matchLabels": labels},
		"template": map[string]any{"metadata": map[string]any{"labels": labels}, "spec": map[string]any{
			"containers": []any{map[string]any{"name": "web", "image": "nginx", "envFrom": from}}, "serviceAccountName": "default",
		}},
	}})
	u.SetAnnotations(annotations{render.ClustersAnnotation: clusters})
	return u
}

// TestEventsOnce changes the leader while an object is refused, and the object itself: one
// cause is one Event, and another cause is another.
func TestEventsOnce(t *testing.T) {
	ns := Isolate(t)
	d := StartDaemon(t)
	const name = "nowhere"
	audit := AuditFromNow(t)
	Create(t, ConfigMaps, ConfigMap(ns, name, "no-such-cluster", "one"))
	WantEvent(t, ns, name, "UnknownCluster", "no-such-cluster")
	first, err := eventsIn(t.Context(), ns)
	if err != nil {
		t.Fatal(err)
	}
	Change(t, ConfigMaps, ns, name, SetField("two", "data", "key"))
	lookAgain(t, d)
	if told := audit.Told(t, ns); told != 1 {
		t.Errorf("it was reported %d times", told)
	}
	for range 2 {
		d.MustStop(t)
		Pass(t, time.Second) // timestamps of Events are in whole seconds
		before := time.Now().Truncate(time.Second)
		d = StartDaemon(t)
		Eventually(t, "the Event to be renewed", func(ctx context.Context) error {
			now, err := eventsIn(ctx, ns)
			if err != nil {
				return err
			}
			if len(now[name]) != 1 || now[name][0].UID != first[name][0].UID || now[name][0].LastTimestamp.Time.Before(before) {
				return fmt.Errorf("there are %v", now[name])
			}
			return nil
		})
	}
	Change(t, ConfigMaps, ns, name, SetAnnotation("karmada.target/clusters", "neither-this"))
	WantEvent(t, ns, name, "UnknownCluster", "neither-this")
	if now, err := eventsIn(t.Context(), ns); err != nil || len(now[name]) != 2 {
		t.Errorf("after another mistake: %v, %v", now[name], err)
	}
}

// TestEventsOfMany makes the same mistake in more objects than client-go's recorder
// remembers: each is reported, once.
func TestEventsOfMany(t *testing.T) {
	ns := Isolate(t)
	const sources = refusedAtOnce
	audit := AuditFromNow(t)
	d := StartDaemon(t)
	InParallel(t, sources, func(ctx context.Context, i int) error {
		_, err := Env.Admin.Resource(ConfigMaps).Namespace(ns).Create(ctx, ConfigMap(ns, fmt.Sprintf("page-%d", i), "no-such-cluster", "one"), metav1.CreateOptions{})
		return err
	})
	Within(t, 4*Patience, "an Event on each", func(ctx context.Context) error {
		by, err := eventsIn(ctx, ns)
		if err == nil && len(by) != sources {
			err = fmt.Errorf("there are Events on %d", len(by))
		}
		return err
	})
	lookAgain(t, d)
	if told := audit.Told(t, ns); told != sources {
		t.Errorf("%d objects were reported %d times", sources, told)
	}
}

// lookAgain makes a daemon sync everything, more than once.
func lookAgain(t *testing.T, d *Daemon) {
	t.Helper()
	for i := range 3 {
		d.Reconfigure(t, func() { SetConfiguration(t, Resources(t, "configmaps")+fmt.Sprintf("# look %d\n", i)) })
	}
	Eventually(t, "all sources to have been synced", settled(d))
	Settle(t)
}
