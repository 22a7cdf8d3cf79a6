package apart

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/karmada-target/karmada-mirror/render"
	"github.com/karmada-target/karmada-mirror/sandbox/fault"
	"github.com/karmada-target/karmada-mirror/sandbox/karmada"

	. "github.com/karmada-target/karmada-mirror/sandbox/e2e"
)

var pods = schema.GroupVersionResource{Version: "v1", Resource: "pods"}

// inWaves is the order in which these tests roll out: one member, and then the others one by one.
const inWaves = Push + ";*(1)"

// waves is a Deployment that is rolled out in waves.
type waves struct {
	rollout
	audit AuditLog
}

// startWaves creates the Deployment, and waits until all members run it.
func startWaves(t *testing.T) waves {
	w := waves{rollout{t: t, ns: NewNamespace(t)}, AuditFromNow(t)}
	u := w.deployment("nginx:1", everywhere)
	SetAnnotation(render.WavesAnnotation, inWaves)(u)
	SetAnnotation(render.WaveDeadlineAnnotation, "10s")(u)
	Create(t, Deployments, u)
	w.wantDone("nginx:1")
	return w
}

// wantDone waits until all waves have come through.
func (w waves) wantDone(image string) {
	w.t.Helper()
	MustKarmadaMirror(w.t, "wait", "deployment/web", "-n", w.ns, "--for=healthy", patient)
	Eventually(w.t, "all members to run "+image, w.membersHave(image, everywhere))
}

// uids are those of the Pods in a member.
func (w waves) uids(member string) string {
	w.t.Helper()
	list, err := Env.Member(member).Resource(pods).Namespace(w.ns).List(w.t.Context(), metav1.ListOptions{})
	Must(w.t, err)
	var uids []string
	for _, pod := range list.Items {
		uids = append(uids, string(pod.GetUID()))
	}
	slices.Sort(uids)
	return strings.Join(uids, " ")
}

// writes are the members whose Works were written with content or options since the last call, in
// order.
func (w *waves) writes() (members []string) {
	w.t.Helper()
	requests := w.audit.Requests(w.t)
	slices.SortFunc(requests, func(a, b Request) int { return a.RequestReceivedTimestamp.Compare(b.RequestReceivedTimestamp) })
	for _, r := range requests {
		if r.ObjectRef.Resource == Works.Resource && r.Succeeded() && slices.Contains([]string{"create", "patch", "delete"}, r.Verb) {
			members = append(members, strings.TrimPrefix(r.ObjectRef.Namespace, "karmada-es-"))
		}
	}
	w.audit = AuditFromNow(w.t)
	return members
}

func (w *waves) wantWrites(what string, want ...string) {
	w.t.Helper()
	if got := w.writes(); !slices.Equal(got, want) {
		w.t.Errorf("%s: writes to %v, not %v", what, got, want)
	}
}

// work returns the Work for a member.
func (w waves) work(member string) *unstructured.Unstructured {
	w.t.Helper()
	for _, work := range WorksOf(w.t, w.ns) {
		if work.GetNamespace() == "karmada-es-"+member {
			return work
		}
	}
	w.t.Fatalf("there is no Work for %s", member)
	return nil
}

// image is the one in a member.
func (w waves) image(ctx context.Context, member string) (string, error) {
	u, err := Env.Member(member).Resource(Deployments).Namespace(w.ns).Get(ctx, "web", metav1.GetOptions{})
	if err != nil {
		return "", err
	}
	containers, _, _ := unstructured.NestedSlice(u.Object, "spec", "template", "spec", "containers")
	return containers[0].(map[string]any)["image"].(string), nil
}

func (w waves) wantImage(member, want string) {
	w.t.Helper()
	Eventually(w.t, member+" to have "+want, func(ctx context.Context) error {
		got, err := w.image(ctx, member)
		if err == nil && got != want {
			err = fmt.Errorf("it has %s", got)
		}
		return err
	})
}

// TestWaves rolls out in waves, with Pods that really run or fail.
func TestWaves(t *testing.T) {
	StartOwn(t, karmada.Options{Dir: t.TempDir(), Members: WithNodes(Named(Push, Push2, Pull))})
	Must(t, Env.Install(t.Context()))
	daemon := StartDaemon(t)
	w := startWaves(t)
	w.wantWrites("the first creation", Push, Push2, Pull)

	w.setImage("nginx:2")
	w.wantDone("nginx:2")
	w.wantWrites("a good image", Push, Push2, Pull)

	others := map[string]string{Push2: w.uids(Push2), Pull: w.uids(Pull)}
	w.setImage("broken:1")
	w.wantImage(Push, "broken:1")
	WantEvent(t, w.ns, "web", "WaveHeld", "wave 1 ("+Push+")", "not healthy", "clusters that keep what they have: 2")
	w.wantWrites("a bad image", Push)
	if n := daemon.Number(t, `karmada_mirror_wave_held_sources{resource="deployments.apps"}`); n != 1 {
		t.Errorf("%g sources are held", n)
	}
	WantLine(t, MustKarmadaMirror(t, "status", "deploy", "web", "-n", w.ns), `0 of 1 done: wave 1 \(`+Push+`\) waits`)
	WantLine(t, MustKarmadaMirror(t, "explain", "deploy", "web", "-n", w.ns), `Note: +it is in wave 2 of 2: 0 of 2 clusters are done`)
	if output, err := KarmadaMirror(t, "diff", "deploy", "web", "-n", w.ns); err == nil || strings.Count(output, "later: ") != 2 {
		t.Errorf("diff: %v, %s", err, output)
	}

	// The members whose turn it is not yet are looked after.
	Must(t, Env.Member(Pull).Resource(Deployments).Namespace(w.ns).Delete(t.Context(), "web", metav1.DeleteOptions{}))
	w.wantImage(Pull, "nginx:2")
	Eventually(t, "the Pods to be replaced", w.membersHave("nginx:2", Pull))
	others[Pull] = w.uids(Pull)
	work := w.work(Push2)
	_, err := Env.Admin.Resource(Works).Namespace(work.GetNamespace()).Patch(t.Context(), work.GetName(), types.JSONPatchType,
		[]byte(`[{"op": "replace", "path": "/spec/workload/manifests/0/spec/template/metadata/labels/app", "value": "web"}, {"op": "add", "path": "/spec/workload/manifests/0/metadata/labels/by", "value": "hand"}]`), metav1.PatchOptions{})
	Must(t, err)
	Eventually(t, "the edit to be repaired", func(context.Context) error {
		manifest, err := ManifestOf(w.work(Push2))
		if err == nil && manifest.GetLabels()["by"] != "" {
			err = fmt.Errorf("its labels are %v", manifest.GetLabels())
		}
		return err
	})
	w.wantWrites("an edit by hand", Push2)
	for member, uids := range others {
		if got := w.uids(member); got != uids {
			t.Errorf("the Pods of %s were %s and are %s", member, uids, got)
		}
		if image, err := w.image(t.Context(), member); err != nil || image != "nginx:2" {
			t.Errorf("%s runs %s, %v", member, image, err)
		}
	}

	w.setImage("nginx:2")
	w.wantDone("nginx:2")
	w.wantWrites("the revert", Push)
	if now := map[string]string{Push2: w.uids(Push2), Pull: w.uids(Pull)}; !maps.Equal(now, others) {
		t.Errorf("the revert has replaced Pods: %v, %v", others, now)
	}
	Eventually(t, "nothing to be held", func(context.Context) error {
		if n := daemon.Number(t, `karmada_mirror_wave_held_sources{resource="deployments.apps"}`); n != 0 {
			return fmt.Errorf("%g sources are held", n)
		}
		return nil
	})

	// One leaves in the middle, and comes back.
	w.setImage("broken:2")
	w.wantImage(Push, "broken:2")
	Change(t, Deployments, w.ns, "web", SetAnnotation(render.ClustersAnnotation, Push+","+Pull))
	WantGone(t, Deployments, w.ns, "web", Push2)
	Change(t, Deployments, w.ns, "web", SetAnnotation(render.ClustersAnnotation, everywhere))
	Pass(t, 2*time.Second)
	w.wantWrites("one that leaves and comes back", Push, Push2)
	w.setImage("nginx:3")
	w.wantDone("nginx:3")
	w.wantWrites("and the end", Push, Push2, Pull)

	// Without waves, all get it.
	w.setImage("broken:3")
	w.wantImage(Push, "broken:3")
	Change(t, Deployments, w.ns, "web", func(u *unstructured.Unstructured) {
		unstructured.RemoveNestedField(u.Object, "metadata", "annotations", render.WavesAnnotation)
	})
	w.wantImage(Push2, "broken:3")
	w.wantImage(Pull, "broken:3")
}

// TestWavesSurvive kills the daemon just before and just after each write of a rollout in waves. Each
// time, the rollout goes on where it was: in order, and with no write more.
func TestWavesSurvive(t *testing.T) {
	StartOwn(t, karmada.Options{Dir: t.TempDir(), Members: WithNodes(Named(Push, Push2, Pull))})
	Must(t, Env.Install(t.Context()))
	p := StartProxy(t)
	daemon := Supervise(t, "--kubeconfig", p.Kubeconfig(), "--leader-elect=false")
	w := startWaves(t)
	w.wantWrites("the first creation", Push, Push2, Pull)
	for number := 1; number <= 3; number++ {
		for _, done := range []bool{false, true} {
			t.Run(fmt.Sprintf("Killed-%d-%t", number, done), func(t *testing.T) {
				w := w
				w.t = t
				w.audit = AuditFromNow(t)
				var crashed atomic.Bool
				p.Witness(func(write fault.Write) bool {
					if write.Number != number || write.Done != done || crashed.Swap(true) {
						return true
					}
					daemon.Kill()
					return false
				}, Works.Resource)
				defer p.Witness(nil)
				image := fmt.Sprintf("nginx:%d.%t", number, done)
				w.setImage(image)
				Within(t, 2*time.Minute, "the rollout", func(ctx context.Context) error {
					daemon.Ensure(t)
					return w.membersHave(image, everywhere)(ctx)
				})
				if !crashed.Load() {
					t.Error("there was no such write")
				}
				w.wantWrites("a rollout with a crash", Push, Push2, Pull)
			})
		}
	}
	daemon.WantStarts(t, 0)
}
