package machine

import (
	"fmt"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/karmada-target/karmada-mirror/sandbox/e2e"
	"github.com/karmada-target/karmada-mirror/sandbox/model"
)

// witness sees every state of every Work, in the order of etcd: one watch shows them all. It knows
// nothing of waves.
type witness struct {
	mu   sync.Mutex
	seen map[string][]sight // by the namespace/name of the Work
}

// sight is a Work at some time.
type sight struct {
	at time.Time
	model.Copy
	// isWell: it is reported as applied and, for a Deployment, as rolled out. isGiven: its content is
	// not what it was before.
	isWell, isGiven bool
}

func (w *witness) see(work *unstructured.Unstructured) {
	like, err := e2e.CopyOf(work)
	if err != nil {
		return
	}
	s := sight{at: time.Now(), Copy: like, isWell: isWell(work)}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.seen == nil {
		w.seen = map[string][]sight{}
	}
	key := work.GetNamespace() + "/" + work.GetName()
	before := w.seen[key]
	s.isGiven = len(before) == 0 || before[len(before)-1].UID != like.UID || !equality.Semantic.DeepEqual(before[len(before)-1].Content, like.Content)
	w.seen[key] = append(before, s)
}

// forget forgets a deleted Work: the next one has new content.
func (w *witness) forget(work *unstructured.Unstructured) {
	w.mu.Lock()
	defer w.mu.Unlock()
	key := work.GetNamespace() + "/" + work.GetName()
	w.seen[key] = append(w.seen[key], sight{at: time.Now()})
}

// of returns what was seen of a Work until a time, from the last sight before another time on.
func (w *witness) of(work string, from, to time.Time) []sight {
	w.mu.Lock()
	defer w.mu.Unlock()
	var all []sight
	for _, s := range w.seen[work] {
		if s.at.After(to) {
			break
		}
		if !s.at.After(from) {
			all = nil
		}
		all = append(all, s)
	}
	return all
}

// isWell reports whether the executor has reported all that it reports of a Work that is well.
func isWell(work *unstructured.Unstructured) bool {
	return isApplied(work, metav1.ConditionTrue) && equality.Semantic.DeepEqual(rolledOut(work), nestedSlice(work, "status", "manifestStatuses"))
}

// wrongOrder lists the Works that were given content before their waves, or more of them at once than
// their wave allows.
func (m *machine) wrongOrder() (wrong []string) {
	if m.executor == nil {
		return nil
	}
	from := m.quietAt.Add(-cacheAge)
	for _, k := range m.keys() {
		for _, cluster := range m.clusters {
			of := target{k, cluster}
			for _, s := range m.executor.witness.of(e2e.WorkKey(cluster, k), m.quietAt, time.Now()) {
				if !s.isGiven || !s.at.After(m.quietAt) || m.touched[of] {
					continue
				}
				if why := m.judgeOrder(of, s, m.since(from, s.at)); why != "" {
					wrong = append(wrong, fmt.Sprintf("%v was given content at %s: %s", of, s.at.UTC().Format("15:04:05.000"), why))
				}
			}
		}
	}
	return wrong
}

// since is from when on a daemon may have acted on what it saw at a time.
func (m *machine) since(quiet, at time.Time) time.Time {
	if recent := at.Add(-proofAge - m.heldBack); !m.blinded && recent.After(quiet) {
		return recent
	}
	return quiet
}

// judgeOrder says what is wrong with the order in which a Work was given content; empty if some world
// of the interval explains it, or if none of them wants this content.
func (m *machine) judgeOrder(of target, s sight, from time.Time) (why string) {
	for _, moment := range m.history {
		if moment.from.After(s.at) || !moment.until.IsZero() && moment.until.Before(from) {
			continue
		}
		state, like := moment.Of(of.key, of.cluster)
		if state != model.Present || !equality.Semantic.DeepEqual(like.Content, s.Content) {
			continue
		}
		if why = m.tooEarly(moment.World, of, s, from); why == "" {
			return ""
		}
	}
	return why
}

// tooEarly says which clusters of earlier waves had not come through in a world, or which of the same
// were under way.
func (m *machine) tooEarly(w *model.World, of target, s sight, from time.Time) string {
	number, atOnce := w.WaveOf(of.key, of.cluster)
	var underWay []string
	for _, other := range m.clusters {
		state, like := w.Of(of.key, other)
		wave, _ := w.WaveOf(of.key, other)
		if state != model.Present || wave > number || m.wasAway(other, from, s.at) || m.touched[target{of.key, other}] {
			continue
		}
		has := func(x sight) bool { return x.UID == like.UID && equality.Semantic.DeepEqual(x.Content, like.Content) }
		seen := m.executor.witness.of(e2e.WorkKey(other, of.key), from, s.at)
		isThrough := func(x sight) bool { return has(x) && x.isWell }
		given := lastGiven(seen)
		switch {
		case wave < number && !slices.ContainsFunc(seen, isThrough):
			return fmt.Sprintf("it is in wave %d, and %s of wave %d has not come through", number+1, other, wave+1)
		case wave == number && slices.ContainsFunc(given, has) && !slices.ContainsFunc(given, isThrough):
			underWay = append(underWay, other)
		}
	}
	if len(underWay) > atOnce {
		return fmt.Sprintf("%v are under way, more than %d", underWay, atOnce)
	}
	return ""
}

// lastGiven is what was seen since content was given last, or all if that was longer ago.
func lastGiven(seen []sight) []sight {
	for i, s := range slices.Backward(seen) {
		if s.isGiven {
			return seen[i:]
		}
	}
	return seen
}

// outage is when a cluster was not ready.
type outage struct {
	cluster  string
	from, to time.Time
}

func (m *machine) wasAway(cluster string, from, to time.Time) bool {
	return slices.ContainsFunc(m.outages, func(o outage) bool {
		return o.cluster == cluster && !o.from.After(to) && (o.to.IsZero() || !o.to.Before(from))
	})
}

// setReady says whether Karmada can reach a cluster.
func (m *machine) setReady(name string, isReady bool) error {
	if m.history.now().Clusters[name] == nil {
		return nil
	}
	status, now := metav1.ConditionTrue, time.Now()
	if !isReady {
		status = metav1.ConditionFalse
		m.outages = append(m.outages, outage{cluster: name, from: now})
	}
	patch := fmt.Sprintf(`{"status":{"conditions":[{"type":"Ready","status":%q,"reason":"Machine","message":"","lastTransitionTime":%q}]}}`, status, now.UTC().Format(time.RFC3339))
	if _, err := e2e.Env.Admin.Resource(e2e.Clusters).Patch(m.t.Context(), name, types.MergePatchType, []byte(patch), metav1.PatchOptions{}, "status"); err != nil {
		return err
	}
	for i := range m.outages {
		if o := &m.outages[i]; isReady && o.cluster == name && o.to.IsZero() {
			o.to = time.Now()
		}
	}
	return nil
}

// heal makes all members well, and all clusters ready.
func (m *machine) heal() error {
	if !m.inWaves {
		return nil
	}
	m.executor.heal()
	for _, name := range m.clusters {
		if err := m.setReady(name, true); err != nil {
			return err
		}
	}
	return nil
}
