package shared

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/karmada-target/karmada-mirror/render"
	"github.com/karmada-target/karmada-mirror/sandbox/fault"

	. "github.com/karmada-target/karmada-mirror/sandbox/e2e"
)

// overridable makes a Deployment that asks for nothing.
func overridable(ns, name string) *unstructured.Unstructured {
	return Object("apps/v1", "Deployment", ns, name, map[string]any{"spec": map[string]any{
		"replicas": int64(3), "selector": map[string]any{"matchLabels": map[string]any{"app": "web"}},
		"template": map[string]any{
			"metadata": map[string]any{"labels": map[string]any{"app": "web"}},
			"spec": map[string]any{"containers": []any{map[string]any{
				"name": "web", "image": "registry.example.com/shop/web:v1", "command": []any{"serve"}, "args": []any{"-v"},
			}}},
		},
	}})
}

// overriding makes an override policy for the Deployments of a namespace.
func overriding(kind, ns, name string, rules ...any) *unstructured.Unstructured {
	u := Object("policy.karmada.io/v1alpha1", kind, ns, name, map[string]any{"spec": map[string]any{
		"resourceSelectors": []any{map[string]any{"apiVersion": "apps/v1", "kind": "Deployment", "namespace": ns}},
		"overrideRules":     rules,
	}})
	if kind == "ClusterOverridePolicy" {
		u.SetNamespace("")
	}
	return u
}

func rule(overriders map[string]any, clusters ...any) map[string]any {
	r := map[string]any{"overriders": overriders}
	if len(clusters) > 0 {
		r["targetCluster"] = map[string]any{"clusterNames": clusters}
	}
	return r
}

// one makes a list of one overrider.
func one(fields ...any) []any {
	o := map[string]any{}
	for i := 0; i < len(fields); i += 2 {
		o[fields[i].(string)] = fields[i+1]
	}
	return []any{o}
}

// TestOverridePolicies propagates one Deployment by a policy and mirrors its twin: in each member
// they are the same, overridden by the same policies.
func TestOverridePolicies(t *testing.T) {
	ns := Isolate(t)
	Configure(t, Resources(t, "deployments.apps")+HonorPolicies)
	StartDaemon(t)
	Create(t, ClusterOverridePolicies, overriding("ClusterOverridePolicy", ns, ns, rule(map[string]any{
		"imageOverrider":  one("component", "Registry", "operator", "replace", "value", "wide.example.com"),
		"labelsOverrider": one("operator", "add", "value", map[string]any{"stage": "wide"}),
	})))
	t.Cleanup(func() {
		if err := Env.Admin.Resource(ClusterOverridePolicies).Delete(context.Background(), ns, metav1.DeleteOptions{}); err != nil {
			t.Errorf("cannot delete the ClusterOverridePolicy: %v", err)
		}
	})
	Create(t, OverridePolicies, overriding("OverridePolicy", ns, "images", rule(map[string]any{
		"imageOverrider":       one("component", "Registry", "operator", "replace", "value", "second.example.com"),
		"argsOverrider":        one("containerName", "web", "operator", "add", "value", []any{"-member2"}),
		"commandOverrider":     one("containerName", "web", "operator", "add", "value", []any{"now"}),
		"annotationsOverrider": one("operator", "add", "value", map[string]any{"example.com/cluster": "second"}),
		"plaintext":            one("path", "/spec/replicas", "operator", "replace", "value", int64(1)),
	}, Push2)))
	mirrored := overridable(ns, "mirrored")
	mirrored.SetAnnotations(map[string]string{render.ClustersAnnotation: Push + "," + Push2})
	Create(t, Deployments, mirrored)
	Create(t, Deployments, overridable(ns, "propagated"))
	Create(t, Policies, Object("policy.karmada.io/v1alpha1", "PropagationPolicy", ns, "web", map[string]any{"spec": map[string]any{
		"resourceSelectors": []any{map[string]any{"apiVersion": "apps/v1", "kind": "Deployment", "name": "propagated"}},
		"placement":         map[string]any{"clusterAffinity": map[string]any{"clusterNames": []any{Push, Push2}}},
	}}))
	in := func(ctx context.Context, member, name string) (map[string]any, error) {
		u, err := Env.Member(member).Resource(Deployments).Namespace(ns).Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return nil, err
		}
		return map[string]any{"spec": u.Object["spec"], "labels": usersOwn(u.GetLabels()), "annotations": usersOwn(u.GetAnnotations())}, nil
	}
	for member, image := range map[string]string{Push: "wide.example.com/shop/web:v1", Push2: "second.example.com/shop/web:v1"} {
		Eventually(t, "the same Deployment twice in "+member, func(ctx context.Context) error {
			theirs, err := in(ctx, member, "propagated")
			if err != nil {
				return err
			}
			ours, err := in(ctx, member, "mirrored")
			if err != nil {
				return err
			}
			if diff := cmp.Diff(theirs, ours); diff != "" || !strings.Contains(fmt.Sprint(ours), image) {
				return fmt.Errorf("by a policy and mirrored differ, or are not overridden:\n%s", diff)
			}
			return nil
		})
	}
	Must(t, inMember(Push2, Deployments, ns, "mirrored", int64(1), "spec", "replicas")(t.Context()))
	output := MustKarmadaMirror(t, "explain", "deploy/mirrored", "-n", ns)
	WantLine(t, output, `Differs: +OverridePolicy/images changes .*spec.replicas`)
	WantLine(t, output, `Differs: +ClusterOverridePolicy/`+ns+` changes metadata.labels.stage`)
	if output := MustKarmadaMirror(t, "diff", "deploy/mirrored", "-n", ns); output != "" {
		t.Errorf("diff says %s", output)
	}
	planned := overriding("OverridePolicy", ns, "planned", rule(map[string]any{"labelsOverrider": one("operator", "add", "value", map[string]any{"planned": "yes"})}, Push))
	planOutput, code := diff(t, "-f", writeAll(t, filepath.Join(t.TempDir(), "planned.yaml"), planned, mirrored))
	if code != 1 || strings.Count(planOutput, "planned: \"yes\"") != 1 || strings.Contains(planOutput, "karmada-es-"+Push2) {
		t.Errorf("with a policy that is not applied yet, diff says %s", planOutput)
	}

	// A cluster that gains or loses the label by which a policy selects it.
	edge := rule(map[string]any{"labelsOverrider": one("operator", "add", "value", map[string]any{"edge": "yes"})})
	key := ns + ".example.com/edge"
	edge["targetCluster"] = map[string]any{"labelSelector": map[string]any{"matchLabels": map[string]any{key: "yes"}}}
	Create(t, OverridePolicies, overriding("OverridePolicy", ns, "edge", edge))
	t.Cleanup(func() { label(t, Push, key, "") })
	label(t, Push, key, "yes")
	Eventually(t, "the override of the labelled cluster", inMember(Push, Deployments, ns, "mirrored", "yes", "metadata", "labels", "edge"))
	label(t, Push, key, "")
	Eventually(t, "the override to go with the label", inMember(Push, Deployments, ns, "mirrored", nil, "metadata", "labels", "edge"))

	// A rule that fails concerns its cluster alone, and what is there stays.
	Change(t, OverridePolicies, ns, "images", SetField([]any{rule(map[string]any{"plaintext": one("path", "/spec/none", "operator", "remove")}, Push2)}, "spec", "overrideRules"))
	WantEvent(t, ns, "mirrored", "OverrideFailed", Push2, "OverridePolicy/images", "/spec/none")
	Change(t, Deployments, ns, "mirrored", SetField(int64(5), "spec", "replicas"))
	Eventually(t, "the other cluster to follow", inMember(Push, Deployments, ns, "mirrored", int64(5), "spec", "replicas"))
	Must(t, inMember(Push2, Deployments, ns, "mirrored", int64(1), "spec", "replicas")(t.Context()))

	// Once the policy is certainly gone, so is its override.
	Remove(t, OverridePolicies, ns, "images")
	Eventually(t, "the source's replicas", inMember(Push2, Deployments, ns, "mirrored", int64(5), "spec", "replicas"))
}

// usersOwn omits what Karmada adds.
func usersOwn(all map[string]string) map[string]string {
	own := map[string]string{}
	for key, value := range all {
		if !strings.Contains(key, "karmada.io/") {
			own[key] = value
		}
	}
	return own
}

// TestOverridesStay: a cache that has lost the policies, or cannot get them, changes no Work.
func TestOverridesStay(t *testing.T) {
	ns := Isolate(t)
	Configure(t, Resources(t, "deployments.apps")+HonorPolicies)
	p := StartProxy(t)
	first := StartDaemon(t, "--kubeconfig", p.Kubeconfig(), "--leader-elect=false", NoListDetector)
	Create(t, OverridePolicies, overriding("OverridePolicy", ns, "few", rule(map[string]any{"plaintext": one("path", "/spec/replicas", "operator", "replace", "value", int64(1))})))
	web := overridable(ns, "web")
	web.SetAnnotations(map[string]string{render.ClustersAnnotation: Push})
	Create(t, Deployments, web)
	few := inMember(Push, Deployments, ns, "web", int64(1), "spec", "replicas")
	Eventually(t, "the override", few)
	Eventually(t, "its note", func(ctx context.Context) error {
		id := render.Identity{Group: "apps", Kind: "Deployment", Namespace: ns, Name: "web"}
		w, err := Env.Admin.Resource(Works).Namespace(render.ExecutionNamespace(Push)).Get(ctx, id.WorkName(), metav1.GetOptions{})
		if err == nil && w.GetAnnotations()["karmada.target/overridden-by"] != "OverridePolicy/few" {
			err = fmt.Errorf("the annotations are %v", w.GetAnnotations())
		}
		return err
	})

	audit := AuditFromNow(t)
	watchPolicies := fault.Match{Verb: "watch", Resource: "overridepolicies"}
	lost := p.Inject(watchPolicies, fault.Chain(fault.Expire(), fault.EmptyList()))
	p.End(watchPolicies)
	Eventually(t, "the cache to lose the policy", func(context.Context) error { return Took(lost) })
	Change(t, Deployments, ns, "web", SetField("two", "metadata", "labels", "edited"))
	Eventually(t, "the policies to be read live", func(context.Context) error {
		for _, r := range audit.Requests(t) {
			if r.Verb == "list" && r.ObjectRef.Resource == "overridepolicies" {
				return nil
			}
		}
		return fmt.Errorf("they have not been")
	})
	Eventually(t, "the edit", inMember(Push, Deployments, ns, "web", "two", "metadata", "labels", "edited"))
	Must(t, few(t.Context()))
	first.MustStop(t)
	lost.Remove()

	// A daemon that cannot list the policies writes nothing at all.
	refused := p.Inject(fault.Match{Resource: "overridepolicies"}, broken)
	audit = AuditFromNow(t)
	SpawnDaemon(t, "--kubeconfig", p.Kubeconfig(), "--leader-elect=false")
	Eventually(t, "a list to be refused", func(context.Context) error { return Hit(refused) })
	Change(t, Deployments, ns, "web", SetField("three", "metadata", "labels", "edited"))
	Pass(t, 5*time.Second)
	if writes := audit.Writes(t); len(writes) > 0 {
		t.Errorf("without the policies, it writes %v", writes)
	}
	refused.Remove()
	Eventually(t, "the edit", inMember(Push, Deployments, ns, "web", "three", "metadata", "labels", "edited"))
	Must(t, few(t.Context()))
}
