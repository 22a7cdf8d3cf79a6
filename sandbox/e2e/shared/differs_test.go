package shared

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/karmada-target/karmada-mirror/render"

	. "github.com/karmada-target/karmada-mirror/sandbox/e2e"
)

// inMember checks a field of an object in a member.
func inMember(member string, gvr schema.GroupVersionResource, namespace, name string, want any, path ...string) func(context.Context) error {
	return func(ctx context.Context) error {
		u, err := Env.Member(member).Resource(gvr).Namespace(namespace).Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		got, _, err := unstructured.NestedFieldNoCopy(u.Object, path...)
		if err == nil && got != want {
			err = fmt.Errorf("in %s, %s of %s is %v, not %v", member, strings.Join(path, "."), name, got, want)
		}
		return err
	}
}

// TestExpand: variables stand for what each cluster says about itself, and follow it. A cluster
// that lacks a value keeps what it has, and holds up no other.
func TestExpand(t *testing.T) {
	ns := Isolate(t)
	key := ns + ".example.com/tier"
	t.Cleanup(func() {
		for _, cluster := range []string{Push, Push2} {
			label(t, cluster, key, "")
		}
	})
	label(t, Push, key, "gold")
	label(t, Push2, key, "silver")
	StartDaemon(t)
	u := ConfigMap(ns, "page", "member*", "$(cluster.name) $(cluster.label:"+key+") $(HOST) $$(cluster.name)")
	SetAnnotation(render.ExpandAnnotation, "true")(u)
	Create(t, ConfigMaps, u)
	plain := ConfigMap(ns, "plain", Push, "$(cluster.name)")
	Create(t, ConfigMaps, plain)
	value := func(member, tier string) func(context.Context) error {
		return inMember(member, ConfigMaps, ns, "page", member+" "+tier+" $(HOST) $(cluster.name)", "data", "key")
	}
	Eventually(t, "the values of member1", value(Push, "gold"))
	Eventually(t, "the values of member2", value(Push2, "silver"))
	Eventually(t, "the object that does not ask for it", inMember(Push, ConfigMaps, ns, "plain", "$(cluster.name)", "data", "key"))
	WantEvent(t, ns, "page", "OverrideFailed", Pull, key)
	WantNoWork(t, ConfigMapWork(ns, "page", Pull))

	audit := AuditFromNow(t)
	label(t, Push2, key, "copper")
	Eventually(t, "the new value of member2", value(Push2, "copper"))
	if diff := cmp.Diff(map[string]int{"patch works": 1}, audit.Writes(t)); diff != "" {
		t.Errorf("writes after the change of a label, -want +got:\n%s", diff)
	}
	label(t, Push2, key, "")
	WantEvent(t, ns, "page", "OverrideFailed", Push2)
	Must(t, value(Push2, "copper")(t.Context()))
}

// TestSuspendedClusters: only the Works of the clusters that the annotation names are suspended.
func TestSuspendedClusters(t *testing.T) {
	ns := Isolate(t)
	StartDaemon(t)
	Create(t, ConfigMaps, ConfigMap(ns, "page", Push+","+Push2, "one"))
	WantInMembers(t, ns, "page", "one", Push, Push2)
	Change(t, Namespaces, "", ns, SetAnnotation(render.SuspendAnnotation, "*,!"+Push))
	suspended := func(want bool) func(context.Context) error {
		return func(ctx context.Context) error {
			name := ConfigMapWork(ns, "page", Push2)
			u, err := Env.Admin.Resource(Works).Namespace(name.Namespace).Get(ctx, name.Name, metav1.GetOptions{})
			if err != nil {
				return err
			}
			if got, _, _ := unstructured.NestedBool(u.Object, "spec", "suspendDispatching"); got != want {
				return fmt.Errorf("suspended: %v", got)
			}
			return nil
		}
	}
	Eventually(t, "the Work for member2 to be suspended", suspended(true))
	Change(t, ConfigMaps, ns, "page", SetField("two", "data", "key"))
	WantInMembers(t, ns, "page", "two", Push)
	WantInMembers(t, ns, "page", "one", Push2)
	Change(t, Namespaces, "", ns, SetAnnotation(render.SuspendAnnotation, "false"))
	Eventually(t, "the Work for member2 to be resumed", suspended(false))
	WantInMembers(t, ns, "page", "two", Push2)
	Change(t, ConfigMaps, ns, "page", SetAnnotation(render.SuspendAnnotation, "nowhere"))
	WantEvent(t, ns, "page", "UnknownCluster", "nowhere", render.SuspendAnnotation)
}

// TestDividedReplicas: each member gets its share, and members that get more get it first.
func TestDividedReplicas(t *testing.T) {
	ns := Isolate(t)
	Configure(t, Resources(t, "deployments.apps", "jobs.batch"))
	StartDaemon(t)
	template := map[string]any{
		"metadata": map[string]any{"labels": map[string]any{"app": "web"}},
		"spec":     map[string]any{"restartPolicy": "Always", "containers": []any{map[string]any{"name": "web", "image": "nginx"}}},
	}
	web := Object("apps/v1", "Deployment", ns, "web", map[string]any{"spec": map[string]any{
		"replicas": int64(7), "selector": map[string]any{"matchLabels": map[string]any{"app": "web"}}, "template": template,
	}})
	web.SetAnnotations(map[string]string{render.ClustersAnnotation: Push + "," + Push2, render.ReplicasAnnotation: Push + "=5," + Push2 + "=2"})
	Create(t, Deployments, web)
	want := func(first, second int64) {
		t.Helper()
		Eventually(t, "the share of member1", inMember(Push, Deployments, ns, "web", first, "spec", "replicas"))
		Eventually(t, "the share of member2", inMember(Push2, Deployments, ns, "web", second, "spec", "replicas"))
	}
	want(5, 2)
	audit := AuditFromNow(t)
	Change(t, Deployments, ns, "web", SetAnnotation(render.ReplicasAnnotation, Push+"=2,"+Push2+"=5"))
	want(2, 5)
	var order []string
	for _, r := range audit.Requests(t) {
		if r.Verb == "patch" && r.ObjectRef.Resource == "works" && r.Succeeded() {
			order = append(order, r.ObjectRef.Namespace)
		}
	}
	if diff := cmp.Diff([]string{"karmada-es-" + Push2, "karmada-es-" + Push}, order); diff != "" {
		t.Errorf("the order of the writes, -want +got:\n%s", diff)
	}
	Change(t, Deployments, ns, "web", SetAnnotation(render.ReplicasAnnotation, Push2+"=0"))
	want(7, 0)
	Change(t, Deployments, ns, "web", SetAnnotation(render.ClustersAnnotation, Push+","+Push2+",nowhere"))
	Change(t, Deployments, ns, "web", SetAnnotation(render.ReplicasAnnotation, "divide"))
	Eventually(t, "member1 or member2 to get the odd replica", func(ctx context.Context) error {
		for _, shares := range [][2]int64{{4, 3}, {3, 4}} {
			err := inMember(Push, Deployments, ns, "web", shares[0], "spec", "replicas")(ctx)
			if err == nil {
				return inMember(Push2, Deployments, ns, "web", shares[1], "spec", "replicas")(ctx)
			}
		}
		return fmt.Errorf("neither has its share")
	})
}

// TestDividedBesideAFailure: an override that fails on a cluster that joins keeps neither an edit nor the
// replicas from the other clusters.
func TestDividedBesideAFailure(t *testing.T) {
	ns := Isolate(t)
	Configure(t, Resources(t, "deployments.apps")+HonorPolicies)
	StartDaemon(t)
	web := overridable(ns, "web")
	SetField(int64(6), "spec", "replicas")(web)
	web.SetAnnotations(map[string]string{render.ClustersAnnotation: Push + "," + Push2, render.ReplicasAnnotation: "divide"})
	Create(t, Deployments, web)
	want := func(edited any, replicas int64, members ...string) {
		t.Helper()
		for _, member := range members {
			Eventually(t, "the edit in "+member, inMember(member, Deployments, ns, "web", edited, "metadata", "labels", "edited"))
			Eventually(t, "the replicas in "+member, inMember(member, Deployments, ns, "web", replicas, "spec", "replicas"))
		}
	}
	want(nil, 3, Push, Push2)
	Create(t, OverridePolicies, overriding("OverridePolicy", ns, "failing", rule(map[string]any{"plaintext": one("path", "/spec/none", "operator", "remove")}, Pull)))
	Change(t, Deployments, ns, "web", func(u *unstructured.Unstructured) {
		SetAnnotation(render.ClustersAnnotation, Push+","+Push2+","+Pull)(u)
		SetField("yes", "metadata", "labels", "edited")(u)
	})
	want("yes", 3, Push, Push2)
	WantEvent(t, ns, "web", "OverrideFailed", Pull, "OverridePolicy/failing")
	WantEvent(t, ns, "web", "ReplicasUnplaced", "2 of 6", Pull)
	WantLine(t, MustKarmadaMirror(t, "explain", "deploy/web", "-n", ns), `it gets fewer replicas once the other clusters have more`)
	end, code := diff(t, "deploy/web", "-n", ns)
	WantLine(t, end, `^- +replicas: 3`)
	WantLine(t, end, `^\+ +replicas: 2`)
	if code != 1 {
		t.Errorf("diff exits with %d: %s", code, end)
	}
	Remove(t, OverridePolicies, ns, "failing")
	want("yes", 2, Push, Push2, Pull)
}

// TestStrip: labels and annotations that the configuration strips do not reach a member, and a
// changed list concerns only the objects that have them.
func TestStrip(t *testing.T) {
	ns := Isolate(t)
	Configure(t, Resources(t, "configmaps"))
	StartDaemon(t)
	u := ConfigMap(ns, "page", Push, "one")
	u.SetLabels(map[string]string{"argocd.argoproj.io/instance": "shop", "app": "web"})
	SetAnnotation("argocd.argoproj.io/tracking-id", "x")(u)
	Create(t, ConfigMaps, u)
	Create(t, ConfigMaps, ConfigMap(ns, "other", Push, "one"))
	WantInMembers(t, ns, "page", "one", Push)
	WantInMembers(t, ns, "other", "one", Push)
	Must(t, inMember(Push, ConfigMaps, ns, "page", "shop", "metadata", "labels", "argocd.argoproj.io/instance")(t.Context()))

	stripping := Resources(t, "configmaps") + "strip: {labels: [\"argocd.argoproj.io/*\"], annotations: [\"argocd.argoproj.io/*\"]}\n"
	file := filepath.Join(t.TempDir(), "config.yaml")
	WriteFile(t, file, []byte(stripping))
	output, err := KarmadaMirror(t, "diff", "configmaps", "-n", ns, "--config", file)
	if err == nil {
		t.Errorf("diff finds no difference: %s", output)
	}
	WantLine(t, output, `with this configuration: 1$`)
	WantLine(t, output, `^-\s+argocd.argoproj.io/instance: shop`)
	audit := AuditFromNow(t)
	SetConfiguration(t, stripping)
	Eventually(t, "the label to be stripped", inMember(Push, ConfigMaps, ns, "page", nil, "metadata", "labels", "argocd.argoproj.io/instance"))
	Eventually(t, "the annotation to be stripped", inMember(Push, ConfigMaps, ns, "page", nil, "metadata", "annotations", "argocd.argoproj.io/tracking-id"))
	Must(t, inMember(Push, ConfigMaps, ns, "page", "web", "metadata", "labels", "app")(t.Context()))
	if diff := cmp.Diff(map[string]int{"patch works": 1}, audit.Writes(t)); diff != "" {
		t.Errorf("writes after the change of the configuration, -want +got:\n%s", diff)
	}
}
