package mirror

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	corev1 "k8s.io/api/core/v1"

	"github.com/karmada-target/karmada-mirror/config"
	"github.com/karmada-target/karmada-mirror/mirror/judge"
	"github.com/karmada-target/karmada-mirror/mirror/memory"
	"github.com/karmada-target/karmada-mirror/mirror/state"
	"github.com/karmada-target/karmada-mirror/mirror/write"
	"github.com/karmada-target/karmada-mirror/render"
)

// maxEventMessage is the longest message that the API server accepts in an Event.
const maxEventMessage = 1024

// report reports new refusals and notices to the source's owner by Events, and in the log.
func (c *Controller) report(f judge.Facts, refusals, notices []judge.Refusal) {
	c.tell("refused", f, &c.refused, refusals)
	c.tell("needs attention", f, &c.noticed, notices)
}

// contested returns a notice if another writer keeps undoing Works, or what asks for them, and has the source looked at again when
// that may be over.
func (c *Controller) contested(v judge.Verdict, o *write.Outcome) (all []judge.Refusal) {
	undone, comeAndGo, left := c.memory.Contested(v.ID, v.Targets)
	o.RetryAfter(left)
	if len(undone) > 0 {
		all = judge.AddRefusal(all, judge.Refusal{Reason: judge.WorkContested, Advice: judge.WorkContested.Hint(),
			Message: "another writer keeps undoing what karmada-mirror writes to its Works for " + strings.Join(undone, ", ") + ", which are written less often"})
	}
	if len(comeAndGo) > 0 {
		all = judge.AddRefusal(all, judge.Refusal{Reason: judge.WorkContested, Advice: "find in its managedFields, or in those of its Namespace, who sets the annotations and who removes them",
			Message: "it asks for " + strings.Join(comeAndGo, ", ") + ", and then does not, again and again: its Works there are created less often"})
	}
	edited, left := c.memory.EditedInMembers(v.ID, v.Targets)
	if o.RetryAfter(left); len(edited) > 0 {
		all = judge.AddRefusal(all, judge.Refusal{Reason: judge.MemberContested, Advice: judge.MemberContested.Hint(),
			Message: "its object is edited again and again in " + strings.Join(edited, ", ") + ", though its Work is not: Karmada writes back what another writer edits there"})
	}
	return all
}

// reportIncompleteMove reports that an object was removed from clusters but could not be
// created in others. That is retried, and the object may be nowhere until then.
func (c *Controller) reportIncompleteMove(f judge.Facts, from, missing []string) {
	slices.Sort(from)
	slices.Sort(missing)
	missing = slices.Compact(missing)
	c.logger(f.ID).Warn("removed from clusters, but cannot be created in others yet", zap.Strings("from", from), zap.Strings("to", missing))
	if about := c.about(f); about != nil {
		c.announcements.add(announcement{about: about, at: c.Clock.Now(), refusal: judge.Refusal{Reason: judge.MoveIncomplete, Advice: judge.MoveIncomplete.Hint(), Message: fmt.Sprintf(
			"removed from %s, but its Works for %s are still missing", strings.Join(from, ", "), strings.Join(missing, ", "))}})
	}
}

// reportOrphans reports that an object is deleted and what it owns is to stay, which the members do not learn.
func (c *Controller) reportOrphans(o *state.Object) {
	namespace, _ := c.caches.Namespace(o.ID.Namespace)
	s := judge.SourceOf(o, namespace.Wishes)
	if !s.Wishes.Ask() || s.Wishes.OptOut() || s.Options.PreserveOnDeletion {
		return
	}
	about := c.about(judge.Facts{ID: o.ID, Source: s})
	c.announcements.add(announcement{about: about, at: c.Clock.Now(), refusal: judge.Refusal{Reason: judge.OrphansDeleted, Advice: judge.OrphansDeleted.Hint(),
		Message: "deleted with --cascade=orphan, which does not reach the members: unless its Works preserve it, Karmada deletes it there with all that it owns"}})
}

func (c *Controller) tell(what string, f judge.Facts, told *memory.Refusals, now []judge.Refusal) {
	for _, r := range told.Replace(f.ID, now) {
		log := c.logger(f.ID)
		if r.Elsewhere {
			log = c.failures.With(identify(f.ID)...) // there may be very many
		}
		log.Warn(what, zap.String("reason", string(r.Reason)), zap.String("message", r.Message))
		if about := c.about(f); about != nil && !r.Elsewhere {
			c.announcements.add(announcementOf(told, f.ID, about, r, c.Clock.Now()))
		}
	}
}

// about returns what Events about a source refer to; nil if it is not there. One that has left the configuration may have
// our finalizer.
func (c *Controller) about(f judge.Facts) *corev1.ObjectReference {
	ref := &corev1.ObjectReference{Kind: f.ID.Kind, Namespace: f.ID.Namespace, Name: f.ID.Name}
	if r, ok := c.caches.ServedAs(f.ID.GroupKind()); ok {
		ref.APIVersion = r.GroupVersion().String()
	}
	left := c.memory.Departure(f.ID)
	switch {
	case f.Source != nil:
		ref.UID, ref.ResourceVersion = f.Source.UID, f.Source.ResourceVersion
	case left != nil:
		ref.UID, ref.APIVersion = left.UID, left.Resource.GroupVersion().String()
	default:
		return nil
	}
	return ref
}

func (c *Controller) logger(id render.Identity) *zap.Logger {
	return c.Logger.With(identify(id)...)
}

func identify(id render.Identity) []zap.Field {
	return []zap.Field{zap.Stringer("kind", id.GroupKind()), zap.String("namespace", id.Namespace), zap.String("name", id.Name)}
}

// Sparing makes a logger log only the first ten lines with the same message in a minute,
// and every hundredth after that.
func Sparing() zap.Option {
	return zap.WrapCore(func(core zapcore.Core) zapcore.Core {
		return zapcore.NewSamplerWithOptions(core, time.Minute, 10, 100)
	})
}

// writeReports reports what the writer does.
type writeReports struct{ *Controller }

// Tried implements write.Reports. It does not count operations on clusters that have left:
// their series would stay for ever.
func (r writeReports) Tried(id render.Identity, op judge.Operation, work string, err error) {
	if r.caches.HasCluster(op.Cluster) {
		r.Metrics.Operation(verb(op.Kind), op.Cluster, err)
	}
	if err == nil {
		r.logger(id).Info("wrote a Work", zap.String("operation", string(op.Kind)), zap.String("cluster", op.Cluster),
			zap.String("work", work), zap.String("reason", op.Because))
	}
}

// Noticed implements write.Reports.
func (r writeReports) Noticed(id render.Identity, cluster, notice string) {
	r.logger(id).Warn(notice, zap.String("cluster", cluster))
}

// reportHeld reports the deletions that are held.
func (c *Controller) reportHeld(context.Context) {
	if !c.hasPassed.Load() { // what an earlier term held has been approved, maybe
		return
	}
	for _, a := range c.breaker.Alarms() {
		c.alarm(a)
	}
}

// alarm tells administrators which deletions are held, and what to do.
func (c *Controller) alarm(a write.Alarm) {
	what, choice := "of "+a.Resource, "--resource "+a.Resource
	switch {
	case a.Cluster != "":
		what, choice = "on cluster "+strconv.Quote(a.Cluster), "--member "+a.Cluster
	case a.Namespace != "":
		what, choice = what+" in namespace "+strconv.Quote(a.Namespace), choice+" --namespace "+a.Namespace
	}
	subject := c.Subject()
	if subject != nil && subject.Namespace+"/"+subject.Name != config.DefaultConfigMap {
		choice += " --config-map " + subject.Namespace + "/" + subject.Name
	}
	message := fmt.Sprintf("held %d deletions %s: %s. "+
		"See them with `karmada-mirror deletions list`, approve them with `karmada-mirror deletions approve %s`", a.Held, what, a.Because, choice)
	c.Logger.Warn("deletions held", zap.String("resource", a.Resource), zap.String("namespace", a.Namespace), zap.String("cluster", a.Cluster), zap.Int("works", a.Held), zap.String("reason", a.Because))
	if subject != nil {
		c.announcements.add(announcement{about: subject, refusal: judge.Refusal{Reason: judge.DeletionHeld, Key: choice, Message: message}, at: c.Clock.Now(), isInForce: func() bool { return c.breaker.Holds(a) }})
	}
}

// withdrawn counts the deletions that the last approvals covered, and those in force do not.
func (c *Controller) withdrawn(last config.Approvals) (n int) {
	for w := range c.caches.Works() {
		if c.caches.IsHeld(w) && write.IsApproved(last, w.Held.Resource, w) && !c.breaker.IsApproved(w) {
			n++
		}
	}
	return n
}

// reportWithdrawn reports that an approval is gone before the deletions that it covers: a tool has
// replaced the ConfigMap, maybe.
func (c *Controller) reportWithdrawn(last config.Approvals) {
	held := c.withdrawn(last)
	if held == 0 || c.queue.Load() == nil {
		return
	}
	c.Logger.Warn("approval withdrawn, deletions still held", zap.Int("works", held))
	if subject := c.Subject(); subject != nil {
		c.Announce(subject, "ApprovalWithdrawn", fmt.Sprintf("approval withdrawn, %d deletions still held: "+
			"the annotation "+config.ApprovalsAnnotation+" was removed or changed, perhaps by a tool that replaces the ConfigMap. Approve them again", held), func() bool { return !c.caches.HasSyncedWorks() || c.withdrawn(last) > 0 })
	}
}

// verb returns the value of the label operation of the metric work_operations_total.
func verb(of judge.OperationKind) string {
	switch {
	case of.Deletes():
		return string(judge.Delete)
	case of == judge.Create:
		return string(judge.Create)
	}
	return string(judge.Update)
}
