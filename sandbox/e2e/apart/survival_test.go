package apart

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/karmada-target/karmada-mirror/render"
	"github.com/karmada-target/karmada-mirror/sandbox/fault"
	"github.com/karmada-target/karmada-mirror/sandbox/karmada"

	. "github.com/karmada-target/karmada-mirror/sandbox/e2e"
)

// sourceWrites is how many writes of its source a rollout and a deletion in the foreground take at
// least: the finalizer and back, and two statuses.
const sourceWrites = 4

// TestSourceWritesSurvive disturbs everything that is written to a source itself: its status and its
// finalizer. The daemon is killed just before and just after each write, and the requests fail in
// several ways. Each time, kubectl sees the rollout end when the members are done, and the object go
// when they have deleted it.
func TestSourceWritesSurvive(t *testing.T) {
	StartOwn(t, karmada.Options{Dir: t.TempDir(), Members: WithNodes(Named(Push, Pull))})
	Must(t, Env.Install(t.Context()))
	GrantStatus(t)
	SetConfiguration(t, aggregatingConfiguration)
	p := StartProxy(t)
	daemon := Supervise(t, "--kubeconfig", p.Kubeconfig(), "--leader-elect=false", "--deletion-settle-period", "100ms")
	for number := 1; number <= sourceWrites; number++ {
		for _, done := range []bool{false, true} {
			t.Run(fmt.Sprintf("Killed-%d-%t", number, done), func(t *testing.T) {
				var crashed atomic.Bool
				p.Witness(func(w fault.Write) bool {
					if w.Number != number || w.Done != done || crashed.Swap(true) {
						return true
					}
					daemon.Kill()
					return false
				}, Deployments.Resource)
				defer p.Witness(nil)
				rollAndDelete(t, daemon)
				if !crashed.Load() {
					t.Error("there was no such write")
				}
			})
		}
	}
	daemon.WantStarts(t, 0)

	for name, f := range map[string]fault.Fault{
		"Throttled":      fault.Refuse(apierrors.NewTooManyRequests("later", 1)),
		"InternalErrors": fault.Refuse(apierrors.NewInternalError(errors.New("boom"))),
		"Conflicts":      fault.Refuse(apierrors.NewConflict(Deployments.GroupResource(), "web", errors.New("again"))),
		"Forbidden":      fault.Refuse(apierrors.NewForbidden(Deployments.GroupResource(), "web", errors.New("no"))),
		"Reset":          fault.Reset(),
		"Late":           fault.Delay(2 * time.Second),
		"AnsweredLate":   fault.DelayAnswer(2 * time.Second),
	} {
		t.Run(name, func(t *testing.T) {
			rule := p.Inject(fault.Match{Verb: "patch", Group: Deployments.Group, Resource: Deployments.Resource}, f)
			healed := time.AfterFunc(8*time.Second, rule.Remove)
			defer healed.Stop()
			defer rule.Remove()
			rollAndDelete(t, daemon)
			if rule.Hits() == 0 {
				t.Error("the fault has hit nothing")
			}
		})
	}
}

// rollAndDelete rolls a Deployment out, and deletes it in the foreground.
func rollAndDelete(t *testing.T, daemon *Supervised) {
	t.Helper()
	r := rollout{t: t, ns: NewNamespace(t)}
	u := r.deployment("nginx:1", Push+","+Pull)
	SetAnnotation(render.DeletionAnnotation, "foreground")(u)
	Create(t, Deployments, u)
	kubectl := func(arguments ...string) {
		t.Helper()
		Within(t, 2*time.Minute, "kubectl "+strings.Join(arguments, " "), func(context.Context) error {
			daemon.Ensure(t)
			output, err := TryKubectl(t, append([]string{"-n", r.ns}, arguments...)...)
			if err != nil {
				return fmt.Errorf("%w: %s", err, output)
			}
			return nil
		})
	}
	kubectl("rollout", "status", "deployment/web", "--timeout=3s")
	if err := r.membersHave("nginx:1", Push+","+Pull)(t.Context()); err != nil {
		t.Errorf("the rollout has ended too early: %v", err)
	}
	kubectl("delete", "deployment/web", "--ignore-not-found", "--timeout=3s")
	for _, work := range WorksOf(t, r.ns) {
		t.Errorf("the object is gone, and Work %s/%s is not", work.GetNamespace(), work.GetName())
	}
	WantGone(t, Deployments, r.ns, "web", Push, Pull)
}
