package mirror

import (
	"strings"
	"testing"
	"time"

	"go.uber.org/zap"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"

	"github.com/karmada-target/karmada-mirror/config"
	"github.com/karmada-target/karmada-mirror/mirror/internal/sample"
	"github.com/karmada-target/karmada-mirror/mirror/state"
	"github.com/karmada-target/karmada-mirror/mirror/write"
	"github.com/karmada-target/karmada-mirror/render"
)

// TestHeldEvent: the Event says why the deletions are held, and how to approve just them.
func TestHeldEvent(t *testing.T) {
	cases := map[string]struct{ reason, configMap, namespace, cluster, because, want string }{
		"Other": {"a second daemon has a ConfigMap of its own", "shop", "", "", "their CRD was deleted",
			"held 3 deletions of configmaps: their CRD was deleted. See them with `karmada-mirror deletions list`, approve them with `karmada-mirror deletions approve --resource configmaps --config-map karmada-system/shop`"},
		"All": {"they are in several namespaces", "karmada-mirror", "", "", "their CRD was deleted",
			"held 3 deletions of configmaps: their CRD was deleted. See them with `karmada-mirror deletions list`, approve them with `karmada-mirror deletions approve --resource configmaps`"},
		"One": {"only this namespace's are", "karmada-mirror", "shop", "", "more than deletion.holdAbove allows",
			"held 3 deletions of configmaps in namespace \"shop\": more than deletion.holdAbove allows. See them with `karmada-mirror deletions list`, approve them with `karmada-mirror deletions approve --resource configmaps --namespace shop`"},
		"Cluster": {"only that cluster's are, of whatever resource", "karmada-mirror", "", "m1", "of its labels",
			"held 3 deletions on cluster \"m1\": of its labels. See them with `karmada-mirror deletions list`, approve them with `karmada-mirror deletions approve --member m1`"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			subject := func() *corev1.ObjectReference {
				return &corev1.ObjectReference{Kind: "ConfigMap", Namespace: "karmada-system", Name: c.configMap}
			}
			told := newAnnouncements()
			held := &Controller{Options: Options{Subject: subject, Logger: zap.NewNop(), Clock: clock.RealClock{}}, announcements: told}
			held.alarm(write.Alarm{Resource: "configmaps", Namespace: c.namespace, Cluster: c.cluster, Held: 3, Because: c.because})
			if got := told.take(); len(got) != 1 || got[0].refusal.Event() != c.want {
				t.Errorf("%s: %v", c.reason, got)
			}
		})
	}
}

// TestOrphansDeleted: the leader says that members do not keep what a deleted object owns.
func TestOrphansDeleted(t *testing.T) {
	c := newControllerOf(t, newAPIServer(t), configured("", "", ""), clock.RealClock{})
	gone := func(finalizer string, annotations sample.Annotations) *state.Object {
		u := sample.Object(annotations)
		u.SetFinalizers([]string{finalizer})
		u.SetDeletionTimestamp(&metav1.Time{Time: sample.Created})
		return state.NewObject(u)
	}
	asking := sample.Annotations{render.ClustersAnnotation: "m1"}
	told := func(o *state.Object) int { c.objectChanged(o, nil); return len(c.announcements.take()) }
	if told(gone(metav1.FinalizerOrphanDependents, asking)) != 0 {
		t.Error("a standby leaves it to the leader")
	}
	leading(t, c)
	preserved := sample.Annotations{render.ClustersAnnotation: "m1", render.PreserveOnDeletionAnnotation: "true"}
	if told(gone(metav1.FinalizerOrphanDependents, preserved)) != 0 || told(gone(metav1.FinalizerOrphanDependents, nil)) != 0 || told(gone(metav1.FinalizerDeleteDependents, asking)) != 0 {
		t.Error("it is preserved, or not mirrored, or nothing was to stay")
	}
	if told(gone(metav1.FinalizerOrphanDependents, asking)) != 1 {
		t.Error("it is not said")
	}
}

// TestApprovalWithdrawn: the leader says so if an approval is gone before what it covers, and only then.
func TestApprovalWithdrawn(t *testing.T) {
	s := newAPIServer(t)
	s.list(render.WorksResource, sample.Work(sample.Asking("1", "m1"), "m1", sample.Marked))
	c := newControllerOf(t, s, configured("", "", ""), clock.RealClock{})
	c.Subject = func() *corev1.ObjectReference { return &corev1.ObjectReference{Kind: "ConfigMap"} }
	before, now := time.Unix(0, 0), time.Now()
	for _, step := range []struct {
		reason    string
		approvals config.Approvals
		leads     bool
		want      int
	}{
		{"a standby leaves it to the leader", config.Approvals{"configmaps": now}, false, 0},
		{"a standby leaves it to the leader", nil, false, 0},
		{"it is given", config.Approvals{"configmaps": now, "secrets": now}, true, 0},
		{"it is given in another form", config.Approvals{"shop/configmaps": now}, true, 0},
		{"an older one does not cover it", config.Approvals{"shop/configmaps": before}, true, 1},
		{"it was not covered", nil, true, 0},
	} {
		if step.leads && c.queue.Load() == nil {
			leading(t, c)
		}
		c.announcements.take()
		c.Approve(step.approvals)
		told := c.announcements.take()
		if len(told) != step.want {
			t.Errorf("%s: %d Events", step.reason, len(told))
		}
		for _, a := range told {
			if got := a.refusal.Event(); !strings.Contains(got, "approval withdrawn, 1 deletions still held") {
				t.Error(got)
			}
			isInForce := a.isInForce()
			if c.breaker.Approve(config.Approvals{"configmaps": now}); !isInForce || a.isInForce() {
				t.Errorf("%s: it is not in force, or still is once that is approved again", step.reason)
			}
			c.breaker.Approve(step.approvals)
		}
	}
}
