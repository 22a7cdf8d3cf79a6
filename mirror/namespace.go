package mirror

import (
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

// namespaceChanged asks for a sync of the objects in a Namespace: its defaults are theirs,
// and the configuration may look at its labels.
func (c *Controller) namespaceChanged(before, after *state.Namespace) {
	if after == nil {
		c.noticed.replace(namespaceIdentity(before.Name), nil)
		c.enqueueObjectsIn(before.Name)
		return
	}
	c.reportNamespace(after)
	c.enqueueObjectsIn(after.Name)
}

func (c *Controller) enqueueObjectsIn(namespace string) {
	for o := range c.caches.ObjectsIn(namespace) {
		c.enqueue(o.ID)
	}
}

func namespaceIdentity(name string) render.Identity {
	return render.Identity{Kind: "Namespace", Name: name}
}

// quoteAll lists names for a message.
func quoteAll(names []string) string {
	quoted := make([]string, len(names))
	for i, name := range names {
		quoted[i] = strconv.Quote(name)
	}
	return strings.Join(quoted, ", ")
}

// reportNamespace tells on the Namespace itself, once, of a mistake in its defaults – the
// objects in it may be a thousand – and of what its deletion would come to.
func (c *Controller) reportNamespace(n *state.Namespace) {
	if c.queue.Load() == nil {
		return
	}
	c.namespaceReports.Lock() // two watches tell of it, and what is told last must be what is now
	defer c.namespaceReports.Unlock()
	if now, found := c.caches.Namespace(n.Name); found {
		n = now
	}
	var all []judge.Refusal
	if n.Invalid != "" {
		all = append(all, judge.Refusal{Reason: judge.InvalidAnnotation, Message: n.Invalid + "; no default of this Namespace changes until it is mended"})
	}
	if n.Asks() && !n.IsProtected() {
		all = append(all, judge.Refusal{Reason: judge.NamespaceUnprotected, Message: "whoever deletes this Namespace deletes it in the members too, with all that is in it, and no breaker holds that: " +
			"label it " + workv1alpha2.DeletionProtectionLabelKey + "=" + workv1alpha2.DeletionProtectionAlways})
	}
	if missing := c.caches.MissingClusters(n.ClusterNames()); len(missing) > 0 {
		all = append(all, judge.Refusal{Reason: judge.UnknownCluster, Message: fmt.Sprintf("no cluster %s has joined yet: correct the default of this Namespace, or let the cluster join", quoteAll(missing))})
	}
	id := namespaceIdentity(n.Name)
	for _, r := range c.noticed.replace(id, all) {
		c.logger(id).Warn("a Namespace needs a look", zap.String("reason", string(r.Reason)), zap.String("message", r.Message))
		about := &corev1.ObjectReference{APIVersion: "v1", Kind: id.Kind, Name: n.Name, UID: n.UID, ResourceVersion: n.ResourceVersion}
		c.announcements.add(announcement{of: &c.noticed, id: id, about: about, refusal: r})
	}
}
