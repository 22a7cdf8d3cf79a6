package apart

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/karmada-target/karmada-mirror/render"
	. "github.com/karmada-target/karmada-mirror/sandbox/e2e"
	"github.com/karmada-target/karmada-mirror/sandbox/karmada"
)

// TestCanary has Karmada stand still before it applies the canary's content, and then a canary that fails: no later wave begins.
func TestCanary(t *testing.T) {
	install(t, "- {resource: configmaps}\n- {group: apps, resource: deployments, aggregateStatus: true}\n- {group: batch, resource: jobs, aggregateStatus: true}\n")
	StartDaemon(t, DaemonOptions{})
	ns, jobs := NewNamespace(t), schema.GroupVersionResource{Group: "batch", Version: "v1", Resource: "jobs"}
	inWaves := SetAnnotation(render.WavesAnnotation, Push+";*")
	page := ConfigMap(ns, "page", Both, "one")
	inWaves(page)
	Create(t, ConfigMaps, page)
	WantInMembers(t, ns, "page", "one", Push, Pull)

	Must(t, Env.Component(karmada.ControllerManager).Stop())
	Change(t, ConfigMaps, ns, "page", SetField("two", "data", "key"))
	Pass(t, 15*time.Second) // what has been applied for 10 s lets the next wave begin
	Must(t, InMember(Pull, ConfigMaps, ns, "page", "one", "data", "key")(t.Context()))
	if output, err := KarmadaMirror(t, "wait", "configmap/page", "-n", ns, "--for=applied", "--timeout=2s"); err == nil {
		t.Errorf("what Karmada has not applied is applied: %s", output)
	}
	restart(t, karmada.ControllerManager)
	WantInMembers(t, ns, "page", "two", Push, Pull)
	prunedInWaves(t)

	job := Asking(Object("batch/v1", "Job", ns, "migrate", map[string]any{"spec": map[string]any{
		"activeDeadlineSeconds": int64(1), "template": map[string]any{"spec": map[string]any{
			"restartPolicy": "Never", "containers": []any{map[string]any{"name": "migrate", "image": "broken:1"}},
		}},
	}}), Both)
	inWaves(job)
	SetAnnotation(render.WaveDeadlineAnnotation, "10s")(job)
	Create(t, jobs, job)
	Eventually(t, "the Job to have failed in "+Push, func(ctx context.Context) error {
		u, err := Env.Member(Push).Resource(jobs).Namespace(ns).Get(ctx, "migrate", metav1.GetOptions{})
		if err != nil {
			return err
		}
		if conditions, _, _ := unstructured.NestedSlice(u.Object, "status", "conditions"); !strings.Contains(fmt.Sprint(conditions), "type:Failed") {
			return fmt.Errorf("its conditions are %v", conditions)
		}
		return nil
	})
	WantEvent(t, ns, "migrate", "WaveHeld", Push)
	if _, err := Env.Member(Pull).Resource(jobs).Namespace(ns).Get(t.Context(), "migrate", metav1.GetOptions{}); Absent(err) != nil {
		t.Errorf("a Job that has failed in the canary is in %s: %v", Pull, err)
	}
	if output, err := KarmadaMirror(t, "wait", "job/migrate", "-n", ns, "--for=healthy", "--timeout=2s"); err == nil {
		t.Errorf("a Job that has failed is healthy: %s", output)
	}
}

// prunedInWaves prunes the ConfigMap of the earlier content, as tools do that give each version its own name, while the canary is not
// well: it stays where the earlier content is.
func prunedInWaves(t *testing.T) {
	t.Helper()
	deployments := schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "deployments"}
	ns := NewName(t, "pruned")
	Kubectl(t, "apply", "-f", fieldIn(t, ns, "08-waves-pruned-configmap"))
	t.Cleanup(func() { _ = Env.Admin.Resource(Namespaces).Delete(context.Background(), ns, metav1.DeleteOptions{}) })
	has := func(member, name string, isThere bool) {
		t.Helper()
		Eventually(t, fmt.Sprintf("%s in %s: %v", name, member, isThere), func(ctx context.Context) error {
			_, err := Env.Member(member).Resource(ConfigMaps).Namespace(ns).Get(ctx, name, metav1.GetOptions{})
			if isThere {
				return err
			}
			return Absent(err)
		})
	}
	has(Pull, "settings-aaa", true)
	Eventually(t, "the Deployment in "+Pull, InMember(Pull, deployments, ns, "web", int64(1), "spec", "replicas"))
	Kubectl(t, "-n", ns, "create", "configmap", "settings-bbb", "--from-literal=level=debug")
	rolls := func(image string) {
		Change(t, deployments, ns, "web", func(u *unstructured.Unstructured) {
			containers := []any{map[string]any{"name": "web", "image": image, "envFrom": []any{map[string]any{"configMapRef": map[string]any{"name": "settings-bbb"}}}}}
			SetField(containers, "spec", "template", "spec", "containers")(u)
		})
	}
	rolls("broken:1")
	Eventually(t, "the content in "+Push, func(ctx context.Context) error {
		u, err := Env.Member(Push).Resource(deployments).Namespace(ns).Get(ctx, "web", metav1.GetOptions{})
		if err == nil && !strings.Contains(fmt.Sprint(u.Object["spec"]), "settings-bbb") {
			err = errors.New("it still has the earlier content")
		}
		return err
	})
	Remove(t, ConfigMaps, ns, "settings-aaa")
	has(Push, "settings-aaa", false)
	Pass(t, 5*time.Second)
	has(Pull, "settings-aaa", true)
	if output := MustKarmadaMirror(t, "explain", "configmap/settings-aaa", "-n", ns); !strings.Contains(output, "Deployment.apps/"+ns+"/web need it") {
		t.Errorf("explain does not say why it stays:\n%s", output)
	}
	rolls("web:2")
	has(Pull, "settings-aaa", false)
}
