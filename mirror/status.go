package mirror

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"strings"
	"sync"
	"time"

	jsonpatch "github.com/evanphx/json-patch/v5"
	"go.uber.org/zap"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/karmada-target/karmada-mirror/mirror/gather"
	"github.com/karmada-target/karmada-mirror/mirror/judge"
	"github.com/karmada-target/karmada-mirror/mirror/memory"
	"github.com/karmada-target/karmada-mirror/mirror/queue"
	"github.com/karmada-target/karmada-mirror/mirror/state"
	"github.com/karmada-target/karmada-mirror/mirror/write"
	"github.com/karmada-target/karmada-mirror/render"
	"github.com/karmada-target/karmada-mirror/render/aggregate"
)

const (
	// statusWorkers is how many statuses are written at once. They have slots of their own, so
	// that no Work waits for them.
	statusWorkers = 8
	// statusUnread is when to look again at a source whose content is being read.
	statusUnread = time.Second
)

// statuses aggregates the statuses that the members report in those of their sources, while this
// replica leads. Like the Works, they are looked at whenever anything changes that they depend on.
type statuses struct {
	*Controller
	queue *queue.Queue
	// denied is where no status can be written, and told are the resources of which that was reported.
	denied *memory.Denials[place]
	told   *memory.Denials[schema.GroupResource]
	// contested are the sources whose status another writer keeps changing.
	contested memory.Refusals
}

func newStatuses(c *Controller) *statuses {
	c.memory.ForgetStatuses()
	s := &statuses{Controller: c, denied: memory.NewDenials[place](c.Clock, denialPeriod), told: memory.NewDenials[schema.GroupResource](c.Clock, denialPeriod)}
	s.queue = queue.New("status", func(render.Identity) bool { return false }, statusWorkers)
	return s
}

// run writes statuses until the queue is shut down, and returns when the last write has ended.
func (s *statuses) run(ctx context.Context) {
	var workers sync.WaitGroup
	for range statusWorkers {
		workers.Go(func() {
			for s.processNext(ctx) {
			}
		})
	}
	workers.Wait()
}

func (s *statuses) processNext(ctx context.Context) bool {
	id, shutdown := s.queue.Get()
	if shutdown {
		return false
	}
	defer s.queue.Done(id)
	if s.queue.ShuttingDown() || ctx.Err() != nil {
		return true
	}
	limited, end := s.limit(ctx)
	defer end()
	retry, err := s.sync(limited, id)
	if err != nil {
		if ctx.Err() == nil {
			s.failures.With(identify(id)...).Warn("cannot aggregate the status, retrying", failure(err)...)
		}
		s.queue.AddRateLimited(id)
		return true
	}
	s.queue.Forget(id)
	if retry > 0 {
		s.queue.AddAfter(id, retry)
	}
	return true
}

// sync makes the status of a source what its members report. It returns when to look again
// without an event; 0 for never.
func (s *statuses) sync(ctx context.Context, id render.Identity) (retry time.Duration, err error) {
	defer state.Catch(&err)
	j := judge.On(s.caches.Facts(id))
	turn, err := s.look(ctx, j)
	if err == nil {
		s.reportContested(j.Facts, turn.Contested)
	}
	return turn.After, err
}

// look writes the status of a judged source, if it is its turn.
func (s *statuses) look(ctx context.Context, j judge.Judgement) (memory.Turn, error) {
	if !s.caches.Aggregates(j.Facts.ID.GroupKind()) || len(j.Reporting()) == 0 {
		return memory.Turn{}, nil
	}
	if j.Facts.Source.Unread {
		return memory.Turn{After: statusUnread}, nil
	}
	reports, err := s.caches.Reports(ctx, j)
	if err != nil {
		return memory.Turn{}, err
	}
	reports, recalled := j.Recall(reports, s.Clock.Now())
	s.caches.Believe(recalled)
	status, err := j.Status(reports, s.Clock.Now())
	if err != nil || status == nil {
		return memory.Turn{}, err
	}
	s.caches.Believe(j.Believed(reports, s.Clock.Now()))
	trust := j.TrustIn(reports, s.Clock.Now())
	content, patch, err := patchOf(reports.Source, status)
	if err != nil || patch == nil {
		return memory.Turn{After: trust}, err
	}
	progress := aggregate.ProgressOf(j.Facts.ID.GroupKind(), reports.Source.Generation, status)
	turn := s.memory.StatusTurn(reports.Source, content, progress)
	if turn == (memory.Turn{}) {
		turn.After, err = s.write(ctx, reports.Source, content, patch, progress)
	}
	if trust > 0 && (turn.After == 0 || trust < turn.After) {
		turn.After = trust
	}
	return turn, err
}

// patchOf returns what a status says, by which it is recognized, and the merge patch that gives it to
// exactly this version of the source; the patch is nil if the source has it.
func patchOf(source *state.SourceStatus, status map[string]any) (content string, patch []byte, err error) {
	encoded, err := json.Marshal(status)
	if err != nil {
		return "", nil, fmt.Errorf("cannot encode the status: %w", err)
	}
	before := source.Status
	if before == nil {
		before = []byte("{}")
	}
	change, err := jsonpatch.CreateMergePatch(before, encoded)
	if err != nil {
		return "", nil, fmt.Errorf("cannot compare the status with the last one: %w", err)
	}
	if string(change) == "{}" {
		return "", nil, nil
	}
	patch, err = json.Marshal(map[string]any{"metadata": map[string]any{"uid": source.UID, "resourceVersion": source.Version}, "status": json.RawMessage(change)})
	if err != nil {
		return "", nil, err
	}
	content, err = withoutTimes(status)
	return content, patch, err
}

// withoutTimes returns the JSON of a status without the times of its conditions, which may be those of the writes:
// by that, a status is recognized if another writer keeps undoing it.
func withoutTimes(status map[string]any) (string, error) {
	if conditions, isList := status["conditions"].([]any); isList {
		timeless := make([]any, len(conditions))
		for i, item := range conditions {
			timeless[i] = item
			if condition, ok := item.(map[string]any); ok {
				condition = maps.Clone(condition)
				maps.DeleteFunc(condition, func(field string, _ any) bool { return strings.HasSuffix(field, "Time") })
				timeless[i] = condition
			}
		}
		status = maps.Clone(status)
		status["conditions"] = timeless
	}
	encoded, err := json.Marshal(status)
	return string(encoded), err
}

// write writes a status. A source that no longer exists, or has changed, is left to its event.
func (s *statuses) write(ctx context.Context, source *state.SourceStatus, content string, patch []byte, progress aggregate.Progress) (retry time.Duration, err error) {
	served, ok := s.caches.ServedAs(source.ID.GroupKind())
	if !ok {
		return 0, nil
	}
	resource := served.GroupResource()
	anywhere, here := place{resource, ""}, place{resource, source.ID.Namespace}
	for _, at := range []place{anywhere, here} {
		if wait, _ := s.denied.Wait(at, source.ID); wait > 0 {
			return wait, nil
		}
	}
	client := s.Dynamic.Resource(served).Namespace(source.ID.Namespace)
	inTime, cancel := context.WithTimeout(ctx, write.Deadline)
	defer cancel()
	u, err := client.Patch(inTime, source.ID.Name, types.MergePatchType, patch, metav1.PatchOptions{}, "status")
	s.Metrics.StatusUpdate(resource.String(), err)
	switch {
	case err == nil:
		s.memory.WroteStatus(source, content, u.GetResourceVersion(), state.NewSourceStatus(u).Status, progress)
		s.denied.End(here)
		s.denied.End(anywhere)
		return 0, nil
	case apierrors.IsConflict(err):
		return 0, nil
	case apierrors.IsForbidden(err) && !write.IsDenied(err):
		return s.deny(here, source.ID, fmt.Sprintf("in namespace %q, karmada-mirror lacks the right: to a ClusterRole with the label %s, add the rule "+
			"{apiGroups: [%q], resources: [%s/status], verbs: [patch]}", source.ID.Namespace, aggregationLabel, served.Group, served.Resource)), nil
	case apierrors.IsNotFound(err), apierrors.IsMethodNotSupported(err):
		// The answer is the same whether the object is gone or its kind has no status.
		if now, err := client.Get(ctx, source.ID.Name, metav1.GetOptions{}); gather.ProvesAbsence(err, source.ID.Name) || err == nil && now.GetUID() != source.UID {
			return 0, nil
		} else if err != nil {
			return 0, fmt.Errorf("cannot tell whether the source exists: %w", err)
		}
		return s.deny(anywhere, source.ID, "objects of this kind have no status to write: remove aggregateStatus from its entry in the configuration"), nil
	}
	return 0, fmt.Errorf("cannot write the status: %w", err)
}

// aggregationLabel is the label by which the daemon's ClusterRole collects the rules of others.
const aggregationLabel = `rbac.karmada.target/aggregate-to-karmada-mirror: "true"`

// reportContested reports that another writer keeps changing the status of a source, or that it no
// longer does.
func (s *statuses) reportContested(f judge.Facts, isContested bool) {
	var notices []judge.Refusal
	if isContested {
		notices = []judge.Refusal{{Reason: judge.StatusContested, Message: "another writer keeps changing its status: the members' statuses are not summed up in it for an hour", Advice: judge.StatusContested.Hint()}}
	}
	s.tell("needs attention", f, &s.contested, notices)
}

// deny notes that the statuses of a resource cannot be written, in one Namespace or anywhere, and reports it now and again. It
// returns when to try again.
func (s *statuses) deny(at place, id render.Identity, because string) (retry time.Duration) {
	s.denied.Begin(at, id, nil)
	if !s.told.Begin(at.GroupResource, id, nil) {
		return denialPeriod
	}
	s.Logger.Warn("cannot write statuses", zap.Stringer("resource", at), zap.String("namespace", at.namespace), zap.String("reason", because))
	if subject := s.Subject(); subject != nil {
		s.Announce(subject, judge.NotAuthorized, fmt.Sprintf("cannot write the status of %s: %s", at, because), s.denied.Some)
	}
	return denialPeriod
}
