package apart

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/karmada-target/karmada-mirror/render"
	"github.com/karmada-target/karmada-mirror/sandbox/karmada"

	. "github.com/karmada-target/karmada-mirror/sandbox/e2e"
)

const (
	everywhere = Push + "," + Push2 + "," + Pull
	// aggregatingConfiguration sums up the statuses of Deployments.
	aggregatingConfiguration = ConfigurationHead + BreakerOff + "overridePolicies: Honor\nresources:\n- {group: apps, resource: deployments, aggregateStatus: true}\n"
	// statusWrites counts what the daemon has written.
	statusWrites = `karmada_mirror_status_updates_total{resource="deployments.apps",result="success"}`
	quick        = "--timeout=6s"
	patient      = "--timeout=90s"
)

var overridePolicies = schema.GroupVersionResource{Group: "policy.karmada.io", Version: "v1alpha1", Resource: "overridepolicies"}

// TestRollout follows rollouts by the status of their source. The members say when they are
// complete.
func TestRollout(t *testing.T) {
	StartOwn(t, karmada.Options{Dir: t.TempDir(), Members: WithNodes(Named(Push, Push2, Pull))})
	Must(t, Env.Install(t.Context()))
	SetConfiguration(t, aggregatingConfiguration)
	daemon := StartDaemon(t)
	r := rollout{t: t, ns: NewNamespace(t)}

	Create(t, Deployments, r.deployment("nginx:1", everywhere))
	Eventually(t, "an Event that names the missing right", r.deniedEvent)
	GrantStatus(t)
	Eventually(t, "the right to count", func(ctx context.Context) error {
		Change(t, Deployments, r.ns, "web", SetAnnotation("look", time.Now().String())) // an event
		return r.shows(ctx, "readyReplicas", 6)
	})
	r.wantEnd("the first rollout", "nginx:1", everywhere)

	r.setImage("nginx:2")
	r.wantHealthy("a rollout", "nginx:2", everywhere)
	r.wantEnd("a rollout", "nginx:2", everywhere)
	WantLine(t, MustKarmadaMirror(t, "status", "deploy", "web", "-n", r.ns), `^Deployment\.apps/`+r.ns+`/web +3/3 +- +6/6 +True +Healthy`)
	r.setImage("never-ready:1")
	r.wantNoEnd("a rollout that cannot end")
	r.setImage("nginx:3")
	r.wantEnd("its successor", "nginx:3", everywhere)

	// A suspended member does not get the content, so the rollout waits for it.
	Change(t, Deployments, r.ns, "web", SetAnnotation(render.SuspendAnnotation, Push2))
	r.setImage("nginx:4")
	r.wantNoEnd("a rollout that waits for a suspended member")
	Change(t, Deployments, r.ns, "web", SetAnnotation(render.SuspendAnnotation, "false"))
	r.wantEnd("the rollout after the suspension", "nginx:4", everywhere)

	// A recreated object takes over the Works, which report about the one before. Its generation is 1 each time.
	works := r.works()
	r.recreate("nginx:5")
	r.wantEnd("the rollout of a recreated object", "nginx:5", everywhere)
	r.recreate("never-ready:2")
	r.wantNoEnd("the rollout of a recreated object that cannot end")
	r.setImage("nginx:6")
	r.wantEnd("its successor", "nginx:6", everywhere)
	if after := r.works(); !maps.Equal(works, after) {
		t.Errorf("the Works were recreated, too: %v, before %v", after, works)
	}

	// An edit that an override undoes changes nothing in the members, and must end all the same.
	Create(t, overridePolicies, Object("policy.karmada.io/v1alpha1", "OverridePolicy", r.ns, "pin", map[string]any{"spec": map[string]any{
		"overrideRules": []any{map[string]any{"overriders": map[string]any{"plaintext": []any{
			map[string]any{"path": "/spec/template/spec/containers/0/image", "operator": "replace", "value": "nginx:7"},
		}}}},
	}}))
	Eventually(t, "the override to reach the members", r.membersHave("nginx:7", everywhere))
	r.setImage("nginx:8")
	r.wantEnd("an edit that reaches no member", "nginx:7", everywhere)

	r.wantIdle(daemon)
	daemon.MustStop(t)
	r.wantIdle(StartDaemon(t))
}

// TestContestedStatus lets another writer change the status of a source again and again: a condition, which the
// daemon writes back with a new time.
func TestContestedStatus(t *testing.T) {
	StartOwn(t, karmada.Options{Dir: t.TempDir(), Members: WithNodes(Named(Push))})
	Must(t, Env.Install(t.Context()))
	GrantStatus(t)
	SetConfiguration(t, aggregatingConfiguration)
	daemon := StartDaemon(t)
	r := rollout{t: t, ns: NewNamespace(t)}
	Create(t, Deployments, r.deployment("nginx:1", Push))
	r.wantEnd("the rollout", "nginx:1", Push)
	writes := daemon.Number(t, statusWrites)

	Within(t, time.Minute, "the contest to be reported", func(ctx context.Context) error {
		_, err := Env.Admin.Resource(Deployments).Namespace(r.ns).Patch(ctx, "web", types.MergePatchType, []byte(`{"status":{"conditions":[{"type":"Available","status":"False","reason":"Other"}]}}`), metav1.PatchOptions{}, "status")
		if err != nil {
			return err
		}
		return r.event(ctx, r.ns, "StatusContested", "")
	})
	Settle(t)
	if n := daemon.Number(t, statusWrites) - writes; n < 4 || n > 6 { // the first follows from the rollout
		t.Errorf("the daemon has written %g times against another writer", n)
	}
	r.wantIdle(daemon)
}

// rollout is a Deployment whose rollouts are followed.
type rollout struct {
	t  *testing.T
	ns string
}

func (r rollout) deployment(image, clusters string) *unstructured.Unstructured {
	u := Object("apps/v1", "Deployment", r.ns, "web", map[string]any{"spec": map[string]any{
		"replicas": int64(2),
		"selector": map[string]any{"matchLabels": map[string]any{"app": "web"}},
		"template": map[string]any{
			"metadata": map[string]any{"labels": map[string]any{"app": "web"}},
			"spec":     map[string]any{"containers": []any{map[string]any{"name": "web", "image": image}}},
		},
	}})
	u.SetAnnotations(map[string]string{render.ClustersAnnotation: clusters})
	return u
}

func (r rollout) setImage(image string) {
	r.t.Helper()
	Kubectl(r.t, "-n", r.ns, "set", "image", "deployment/web", "web="+image)
}

// recreate deletes the object, and creates another one before its Works are deleted.
func (r rollout) recreate(image string) {
	r.t.Helper()
	Must(r.t, Env.Admin.Resource(Deployments).Namespace(r.ns).Delete(r.t.Context(), "web", metav1.DeleteOptions{}))
	Create(r.t, Deployments, r.deployment(image, everywhere))
}

// works returns the UIDs of all Works of ours, by namespace and name.
func (r rollout) works() map[types.NamespacedName]types.UID {
	r.t.Helper()
	list, err := Env.Admin.Resource(render.WorksResource).List(r.t.Context(), metav1.ListOptions{LabelSelector: render.ManagedByLabel + "=" + render.ManagedByValue})
	Must(r.t, err)
	uids := map[types.NamespacedName]types.UID{}
	for _, w := range list.Items {
		uids[types.NamespacedName{Namespace: w.GetNamespace(), Name: w.GetName()}] = w.GetUID()
	}
	return uids
}

// wantEnd waits until kubectl says that the rollout is complete, and then looks into the members.
func (r rollout) wantEnd(what, image, clusters string) {
	r.t.Helper()
	Kubectl(r.t, "-n", r.ns, "rollout", "status", "deployment/web", patient)
	if err := r.membersHave(image, clusters)(r.t.Context()); err != nil {
		r.t.Errorf("%s has ended too early: %v", what, err)
	}
}

// wantHealthy waits for what the command calls healthy, and then looks into the members. (Karmada
// calls a Deployment healthy before its Pods are available.)
func (r rollout) wantHealthy(what, image, clusters string) {
	r.t.Helper()
	MustKarmadaMirror(r.t, "wait", "deployment/web", "-n", r.ns, "--for=healthy", patient)
	for _, cluster := range strings.Split(clusters, ",") {
		u, err := Env.Member(cluster).Resource(Deployments).Namespace(r.ns).Get(r.t.Context(), "web", metav1.GetOptions{})
		Must(r.t, err)
		if err := hasContent(u, image); err != nil {
			r.t.Errorf("%s is called healthy too early: %s %v", what, cluster, err)
		}
	}
}

func (r rollout) wantNoEnd(what string) {
	r.t.Helper()
	if output, err := TryKubectl(r.t, "-n", r.ns, "rollout", "status", "deployment/web", quick); err == nil {
		r.t.Errorf("%s has ended: %s", what, output)
	}
}

// membersHave checks that a rollout is complete in each member.
func (r rollout) membersHave(image, clusters string) func(context.Context) error {
	return func(ctx context.Context) error {
		for _, cluster := range strings.Split(clusters, ",") {
			u, err := Env.Member(cluster).Resource(Deployments).Namespace(r.ns).Get(ctx, "web", metav1.GetOptions{})
			if err != nil {
				return fmt.Errorf("%s: %w", cluster, err)
			}
			if err := hasContent(u, image); err != nil {
				return fmt.Errorf("%s %w", cluster, err)
			}
			wanted, _, _ := unstructured.NestedInt64(u.Object, "spec", "replicas")
			for field, want := range map[string]int64{"replicas": wanted, "updatedReplicas": wanted, "availableReplicas": wanted} {
				if got, _, _ := unstructured.NestedInt64(u.Object, "status", field); got != want {
					return fmt.Errorf("%s has %s %d, not %d", cluster, field, got, want)
				}
			}
		}
		return nil
	}
}

// hasContent checks that a Deployment in a member has an image, and that its controller has seen it.
func hasContent(u *unstructured.Unstructured, image string) error {
	containers, _, _ := unstructured.NestedSlice(u.Object, "spec", "template", "spec", "containers")
	if got := containers[0].(map[string]any)["image"]; got != image {
		return fmt.Errorf("has image %q, not %q", got, image)
	}
	if got, _, _ := unstructured.NestedInt64(u.Object, "status", "observedGeneration"); got != u.GetGeneration() {
		return fmt.Errorf("has observedGeneration %d, not %d", got, u.GetGeneration())
	}
	return nil
}

// shows checks a field in the status of the source.
func (r rollout) shows(ctx context.Context, field string, want int64) error {
	u, err := Env.Admin.Resource(Deployments).Namespace(r.ns).Get(ctx, "web", metav1.GetOptions{})
	if err != nil {
		return err
	}
	if got, _, _ := unstructured.NestedInt64(u.Object, "status", field); got != want {
		return fmt.Errorf("the source has %s %d, not %d", field, got, want)
	}
	return nil
}

func (r rollout) deniedEvent(ctx context.Context) error {
	return r.event(ctx, System, "NotAuthorized", `{apiGroups: ["apps"], resources: [deployments/status], verbs: [patch]}`)
}

// event looks for an Event with a reason whose message contains something.
func (r rollout) event(ctx context.Context, namespace, reason, contains string) error {
	events, err := Env.Client.CoreV1().Events(namespace).List(ctx, metav1.ListOptions{FieldSelector: "reason=" + reason})
	if err != nil {
		return err
	}
	for _, e := range events.Items {
		if e.Type == corev1.EventTypeWarning && strings.Contains(e.Message, contains) {
			return nil
		}
	}
	return errors.New("there is none")
}

// wantIdle checks that a daemon writes no status while nothing happens.
func (r rollout) wantIdle(daemon *Daemon) {
	r.t.Helper()
	Settle(r.t)
	count := func() float64 {
		all, err := daemon.Series(r.t.Context())
		Must(r.t, err)
		return all[statusWrites]
	}
	before := count()
	Pass(r.t, 5*time.Second)
	if n := count() - before; n > 0 {
		r.t.Errorf("the daemon has written %g statuses while nothing happened", n)
	}
}
