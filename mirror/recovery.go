package mirror

import (
	"time"

	clusterv1alpha1 "github.com/karmada-io/api/cluster/v1alpha1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/tools/cache"

	"github.com/karmada-target/karmada-mirror/render"
)

// Karmada's execution controller does not look at Clusters: what it could not apply
// while a member was away it tries again when its backoff is over, which may be
// maxExecutionBackoff. It looks at once when the generation of a Work moves. So when a
// cluster has come back, the Works that wait for it are woken, by a change of their
// spec that means nothing: spec.suspendDispatching from absent to false, or back.
const (
	// maxExecutionBackoff is Karmada's (the default of --rate-limiter-max-delay, v1.18.2).
	maxExecutionBackoff = 1000 * time.Second
	// minOutage is too short for a backoff that anybody would notice: it is about as
	// long as what has been waited for. A cluster that has just joined is one.
	minOutage = 5 * time.Second
	// wakeDelay lets the second pass in which the cluster became ready, for times have
	// whole seconds; wakePause is between two Works, lest all are executed at once.
	wakeDelay = 1100 * time.Millisecond
	wakePause = 10 * time.Millisecond
)

// Recovery is when a member cluster came back. The zero value is one that has been
// there for so long that nothing waits for it.
type Recovery struct {
	// At is when it became ready, and Down when it had ceased to be; that is zero if
	// nobody has seen it.
	At, Down time.Time
}

// awaits reports whether a Work waits for a cluster that has come back.
func (r Recovery) awaits(w *Work) bool {
	written := w.written.time()
	switch {
	case r.At.IsZero() || w.Foreign != "" || written.After(r.At):
		return false // it has been looked at since
	case w.Terminating || w.State == WorkFailed || w.State == WorkPending:
		return true
	}
	// It is as it was applied before, whatever was written since.
	return w.State == WorkApplied && !r.Down.IsZero() && !written.Before(r.Down)
}

// isShort reports whether nothing can have waited for long.
func (r Recovery) isShort() bool { return !r.Down.IsZero() && r.At.Sub(r.Down) < minOutage }

// following is a recovery after another: both end one outage if the cluster had hardly
// been there in between.
func (r Recovery) following(last Recovery) Recovery {
	if r.Down.Sub(last.At) < minOutage {
		r.Down = last.Down
	}
	return r
}

// readiness is whether a cluster is ready, and since when it is or is not: since it was
// made if Karmada has not looked at it yet.
func readiness(obj *unstructured.Unstructured) (isReady bool, since time.Time) {
	list, _, _ := unstructured.NestedSlice(obj.Object, "status", "conditions")
	condition := meta.FindStatusCondition(toConditions(list), clusterv1alpha1.ClusterConditionReady)
	if condition == nil {
		return false, obj.GetCreationTimestamp().Time
	}
	return condition.Status == metav1.ConditionTrue, condition.LastTransitionTime.Time
}

// recoveryOf tells when a cluster came back, if that was lately.
func (c *Controller) recoveryOf(cluster *Cluster) Recovery {
	if !cluster.isReady || cluster.Terminating || c.Clock.Since(cluster.readySince) > maxExecutionBackoff {
		return Recovery{}
	}
	r := Recovery{At: cluster.readySince}
	if outage, ok := c.outages.Load(cluster.Name); ok {
		r.Down = outage.(Recovery).Down
	}
	if r.isShort() {
		return Recovery{}
	}
	return r
}

// clusterRecovered has the Works looked at that wait for a cluster which has come back.
func (c *Controller) clusterRecovered(before, after *Cluster) {
	outage := Recovery{At: after.readySince, Down: before.readySince}
	if last, ok := c.outages.Load(after.Name); ok {
		outage = outage.following(last.(Recovery))
	}
	c.outages.Store(after.Name, outage)
	q := c.queue.Load()
	if q == nil {
		return
	}
	recovery, delay := c.recoveryOf(after), wakeDelay
	for _, obj := range c.works.ByIndex(cache.NamespaceIndex, render.ExecutionNamespace(after.Name)) {
		if w := obj.(*Work); w.names() && recovery.awaits(w) {
			q.AddAfter(w.Source, delay)
			delay += wakePause
		}
	}
}

// lastWritten is when the metadata or the spec of an object was written last, by
// whomever.
func lastWritten(obj *unstructured.Unstructured) seconds {
	last := obj.GetCreationTimestamp().Time
	field, _, _ := unstructured.NestedFieldNoCopy(obj.Object, "metadata", "managedFields")
	entries, _ := field.([]any)
	for _, entry := range entries {
		fields, _ := entry.(map[string]any)
		text, _ := fields["time"].(string)
		if at, err := time.Parse(time.RFC3339, text); err == nil && fields["subresource"] == nil && at.After(last) {
			last = at
		}
	}
	return secondsOf(last)
}
