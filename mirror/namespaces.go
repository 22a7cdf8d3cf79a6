package mirror

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"

	workv1alpha2 "github.com/karmada-io/api/work/v1alpha2"
	"go.uber.org/zap"
	corev1 "k8s.io/api/core/v1"

	"github.com/karmada-target/karmada-mirror/mirror/judge"
	"github.com/karmada-target/karmada-mirror/mirror/state"
	"github.com/karmada-target/karmada-mirror/render"
)

// namespaceChanged requests a sync of the objects in a Namespace: its defaults apply to
// them, and the configuration may select it by its labels. Sources that choose a cluster wait for its
// execution namespace.
func (c *Controller) namespaceChanged(before, after *state.Namespace) {
	name := cmp.Or(after, before).Name
	c.reportNamespace(name)
	c.enqueueObjectsIn(name)
	isOther := before == nil || after == nil || before.UID != after.UID || before.Terminating != after.Terminating
	if of, ok := render.ClusterOf(name); ok && isOther {
		if cluster := c.caches.Cluster(of); cluster != nil {
			c.enqueueChoosing(cluster, func(render.Identity) bool { return true })
		}
	}
}

func (c *Controller) enqueueObjectsIn(namespace string) {
	for o := range c.caches.ObjectsIn(namespace) {
		c.enqueue(o.ID)
	}
}

func namespaceIdentity(name string) render.Identity {
	return render.Identity{Kind: "Namespace", Name: name}
}

// quoteAll quotes and joins names for a message.
func quoteAll(names []string) string {
	quoted := make([]string, len(names))
	for i, name := range names {
		quoted[i] = strconv.Quote(name)
	}
	return strings.Join(quoted, ", ")
}

// reportNamespace reports a mistake in the defaults of a Namespace once, on the Namespace
// itself – there may be a thousand objects in it – and warns what its deletion would do.
func (c *Controller) reportNamespace(name string) {
	if c.queue.Load() == nil {
		return
	}
	c.namespaceReports.Lock() // two watches report Namespaces, and the last report must be the current one
	defer c.namespaceReports.Unlock()
	n, found := c.caches.Namespace(name)
	if !found {
		c.noticed.Replace(namespaceIdentity(name), nil)
		return
	}
	var all []judge.Refusal
	if n.Invalid != "" {
		all = append(all, judge.Refusal{Reason: judge.InvalidAnnotation, Message: n.Invalid + "; until you correct it, objects here that rest on the defaults of this Namespace are not mirrored, and what the members have of them stays as it is"})
	}
	if n.Asks() && !n.IsProtected() {
		all = append(all, judge.Refusal{Reason: judge.NamespaceUnprotected, Message: "if this Namespace is deleted, Karmada deletes it in the members too, with everything in it, and the deletion breaker cannot hold that: " +
			"label it " + workv1alpha2.DeletionProtectionLabelKey + "=" + workv1alpha2.DeletionProtectionAlways})
	}
	if n.Asks() && n.SkipsPropagation() {
		all = append(all, judge.NotPropagated(n.Name))
	}
	if missing := c.caches.MissingClusters(n.ClusterNames()); len(missing) > 0 {
		all = append(all, judge.Refusal{Reason: judge.UnknownCluster, Message: fmt.Sprintf("no cluster %s has joined yet: correct the default of this Namespace, or let the cluster join", quoteAll(missing))})
	}
	if n.Asks() && n.Invalid == "" && !c.caches.ChoosesSome(n.Wishes) {
		all = judge.AddRefusal(all, judge.Refusal{Reason: judge.UnknownCluster, Message: "it asks for " + n.Wishes.Targets() + ", which matches no cluster"})
	}
	id := namespaceIdentity(n.Name)
	for _, r := range c.noticed.Replace(id, all) {
		c.logger(id).Warn("a Namespace needs attention", zap.String("reason", string(r.Reason)), zap.String("message", r.Message))
		about := &corev1.ObjectReference{APIVersion: "v1", Kind: id.Kind, Name: n.Name, UID: n.UID, ResourceVersion: n.ResourceVersion}
		c.announcements.add(announcementOf(&c.noticed, id, about, r, c.Clock.Now()))
	}
}
