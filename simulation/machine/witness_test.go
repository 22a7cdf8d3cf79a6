package machine

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/karmada-target/karmada-mirror/simulation/apiserver"
	"github.com/karmada-target/karmada-mirror/simulation/karmada"
	"github.com/karmada-target/karmada-mirror/simulation/model"
)

// witness sees every state of every Work, in the order of etcd. It knows nothing of waves.
type witness struct {
	mu   sync.Mutex
	seen map[string][]sight // by the namespace/name of the Work
	// held is what the members have had, by the namespace/name of its Work.
	held map[string][]sight
	// lost are the overrides that writes have taken from Works, and ended Works when their deletions were requested.
	lost  []loss
	ended map[string][]sight
	// released are the sources that have lost their finalizer while they were being deleted and had Works.
	released []release
	counts   *counts
	machine  *machine
}

// sight is a Work at some time.
type sight struct {
	at time.Time
	model.Copy
	// isWell: it is reported as applied and, for a Deployment, as rolled out. isGiven: its content is
	// not what it was before, or Karmada may apply it now.
	isWell, isGiven bool
	// term is since when there was the leader that there was then.
	term time.Time
}

// loss is a write that has taken an override from a Work.
type loss struct {
	work, policy string
	at           time.Time
}

func newWitness(m *machine) *witness {
	w := &witness{seen: map[string][]sight{}, held: map[string][]sight{}, ended: map[string][]sight{}, machine: m, counts: newCounts(m)}
	m.store.Subscribe(w.note)
	return w
}

func (w *witness) note(e apiserver.Event) {
	if e.Resource != works {
		w.noteRelease(e)
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	old, now := &unstructured.Unstructured{Object: e.Old}, &unstructured.Unstructured{Object: e.Object}
	key := now.GetNamespace() + "/" + now.GetName()
	if isEnding(now, e.Type) && (e.Old == nil || !isEnding(old, watch.Modified)) {
		like, _ := model.CopyOf(now) // users do not break manifests
		w.ended[key] = append(w.ended[key], sight{at: time.Now(), Copy: like})
	}
	if e.Type == watch.Deleted { // the next one has new content
		w.seen[key] = append(w.seen[key], sight{at: time.Now()})
		return
	}
	w.see(key, now)
	if e.Old != nil {
		w.compare(key, old, now)
	}
}

// follow sees every state of the objects in a member.
func (w *witness) follow(cluster string, member *apiserver.Store) {
	if !w.machine.inWaves {
		return
	}
	member.Subscribe(func(e apiserver.Event) {
		key, o := model.Applied(&unstructured.Unstructured{Object: e.Object})
		if e.Type == watch.Deleted {
			o.Content = nil
		}
		w.mu.Lock()
		defer w.mu.Unlock()
		name := model.WorkKey(cluster, key)
		w.held[name] = append(w.held[name], sight{at: time.Now(), Copy: model.Copy{Content: o.Content}})
	})
}

// hasHeld reports whether a member had a content at some time in an interval; an autoscaler there may set its replicas.
func (w *witness) hasHeld(work string, content *model.Content, from, to time.Time) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.ContainsFunc(between(w.held[work], from, to), func(s sight) bool {
		return s.Content != nil && equality.Semantic.DeepEqual(s.Content.WithReplicas(0).Payload, content.WithReplicas(0).Payload)
	})
}

func isEnding(work *unstructured.Unstructured, by watch.EventType) bool {
	return by == watch.Deleted || work.GetDeletionTimestamp() != nil
}

func (w *witness) see(key string, work *unstructured.Unstructured) {
	like, err := model.CopyOf(work)
	if err != nil {
		return
	}
	s := sight{at: time.Now(), Copy: like, isWell: isWell(work)}
	before := w.seen[key]
	last := append([]sight{{}}, before...)[len(before)]
	s.isGiven = last.UID != like.UID || !equality.Semantic.DeepEqual(last.Content, like.Content) || last.Suspended && !like.Suspended && work.GetDeletionTimestamp() == nil
	if s.isGiven && w.machine.judgesAge {
		s.term, _ = w.machine.term()
	}
	w.seen[key] = append(before, s)
}

// compare records the policies that have changed a Work and no longer do.
func (w *witness) compare(key string, before, now *unstructured.Unstructured) {
	const note = "karmada.target/overridden-by"
	current := strings.Split(now.GetAnnotations()[note], ",")
	if before.GetUID() != now.GetUID() || slices.Contains(current, strangePolicy) {
		return // it is another Work, or a user has edited the note
	}
	for _, policy := range strings.Split(before.GetAnnotations()[note], ",") {
		if policy != "" && !slices.Contains(current, policy) {
			w.lost = append(w.lost, loss{key, policy, time.Now()})
		}
	}
}

// lostAfter are the overrides that were lost after a time.
func (w *witness) lostAfter(at time.Time) []loss {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(w.lost), func(l loss) bool { return !l.at.After(at) })
}

// endingAfter is the first deletion of a Work from a time on.
func (w *witness) endingAfter(key string, at time.Time) (sight, bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, known := range w.ended[key] {
		if !known.at.Before(at) {
			return known, true
		}
	}
	return sight{}, false
}

// of returns what was seen of a Work until a time, from the last sight before another time on.
func (w *witness) of(work string, from, to time.Time) []sight {
	w.mu.Lock()
	defer w.mu.Unlock()
	return between(w.seen[work], from, to)
}

func between(sights []sight, from, to time.Time) (all []sight) {
	for _, s := range sights {
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

// isWell reports whether a Work is reported as applied and, for a Deployment, as rolled out.
func isWell(work *unstructured.Unstructured) bool {
	conditions, _, _ := unstructured.NestedFieldNoCopy(work.Object, "status", "conditions")
	all, _ := conditions.([]any)
	isApplied := slices.ContainsFunc(all, func(item any) bool {
		c, _ := item.(map[string]any)
		return c["type"] == "Applied" && c["status"] == "True"
	})
	manifest, err := model.ManifestOf(work)
	if err != nil || !isApplied || manifest.GetKind() != deployment.Kind {
		return isApplied && err == nil
	}
	found, _, _ := unstructured.NestedFieldNoCopy(work.Object, "status", "manifestStatuses")
	reports, _ := found.([]any)
	if len(reports) != 1 {
		return false
	}
	report, _ := reports[0].(map[string]any)
	number := func(field string) int64 { n, _, _ := unstructured.NestedInt64(report, "status", field); return n }
	replicas, _, _ := unstructured.NestedInt64(manifest.Object, "spec", "replicas")
	if manifest.GetLabels()["resourcetemplate.karmada.io/retain-replicas"] == "true" {
		replicas = number("replicas")
	}
	present := number("replicas") // there may be more
	return fmt.Sprint(number("resourceTemplateGeneration")) == manifest.GetAnnotations()["resourcetemplate.karmada.io/generation"] &&
		number("observedGeneration") == number("generation") && present >= replicas && number("updatedReplicas") == present && number("availableReplicas") == present
}

// wrongContents lists the Works that were given content that nothing has asked for, whatever a daemon may have seen. Where there
// are override policies, or etcd is restored, it cannot tell: each may have been seen at another time, or in another history.
func (m *machine) wrongContents() (wrong []string) {
	if !m.isRandom || m.steps["override"] > 0 || m.steps["restore"] > 0 {
		return nil
	}
	for name, of := range m.targets() {
		for _, s := range m.witness.of(name, m.quietAt, time.Now()) {
			if s.isGiven && s.at.After(m.quietAt) && !m.touched[of] && !m.mayGive(of, s) {
				wrong = append(wrong, fmt.Sprintf("%v was given content at %s that nothing asked for", of, s.at.Format(clockFormat)))
			}
		}
	}
	return wrong
}

// mayGive reports whether a Work may have been given its content. How replicas are divided depends on other clusters. What was
// deleted to be replaced in waves gets back what it had, if its turn is over.
func (m *machine) mayGive(of target, s sight) bool {
	had := func(x sight) bool {
		return x.at.Before(s.at) && x.UID == s.UID && x.Content != nil && x.Content.Payload["immutable"] == true && equality.Semantic.DeepEqual(x.Content, s.Content)
	}
	if m.history.hasWaves(of.key) && slices.ContainsFunc(m.witness.of(model.WorkKey(of.cluster, of.key), m.quietAt, s.at), had) {
		return true
	}
	asks := func(state model.State, like model.Copy) bool {
		return state == model.Present && like.UID == s.UID && (s.Suspended || !like.Suspended) && equality.Semantic.DeepEqual(like.Content.WithReplicas(0), s.Content.WithReplicas(0))
	}
	from := m.since(m.quietAt.Add(-cacheAge), s.at)
	return slices.ContainsFunc(m.history, func(moment *moment) bool {
		return !moment.from.After(s.at) && (moment.until.IsZero() || !moment.until.Before(from)) && asks(moment.Of(of.key, of.cluster))
	}) || slices.ContainsFunc(m.history.possible(of, from, s.at), func(o outcome) bool { return asks(o.state, o.like) })
}

// wrongOrder lists the Works that were given content before their waves, or more of them at once than
// their wave allows.
func (m *machine) wrongOrder() (wrong []string) {
	from := m.quietAt.Add(-cacheAge)
	for _, k := range m.keys() {
		if !m.history.hasWaves(k) {
			continue
		}
		for _, cluster := range m.clusters {
			of := target{k, cluster}
			for _, s := range m.witness.of(model.WorkKey(cluster, k), m.quietAt, time.Now()) {
				if !s.isGiven || !s.at.After(m.quietAt) || m.touched[of] {
					continue
				}
				if why := m.judgeOrder(of, s, m.since(from, s.at)); why != "" {
					wrong = append(wrong, fmt.Sprintf("%v was given content at %s: %s", of, s.at.Format(clockFormat), why))
				}
			}
		}
	}
	return wrong
}

// hasWaves reports whether an object has ever asked for waves.
func (h history) hasWaves(k model.Key) bool {
	return slices.ContainsFunc(h, func(m *moment) bool { return m.Objects[k] != nil && m.Objects[k].Annotations[wavesKey] != "" })
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
	had := func(x sight) bool {
		return x.at.Before(s.at) && x.UID == s.UID && equality.Semantic.DeepEqual(x.Content, s.Content)
	}
	if s.Suspended && slices.ContainsFunc(m.witness.of(model.WorkKey(of.cluster, of.key), time.Time{}, s.at), had) {
		return "" // a user has deleted it before, and Karmada does not apply it
	}
	clusters := map[string]*model.Object{} // with those that leave, which takes a while
	for _, moment := range m.history {
		if moment.from.After(s.at) || !moment.until.IsZero() && moment.until.Before(from) {
			continue
		}
		maps.Copy(clusters, moment.Clusters)
		before := *moment.World
		before.Clusters = maps.Clone(clusters)
		for _, world := range []*model.World{moment.World, &before} {
			state, like := world.Of(of.key, of.cluster)
			if state != model.Present || !equality.Semantic.DeepEqual(like.Content, s.Content) {
				continue
			}
			if why = m.tooEarly(world, of, s, from); like.Suspended && world.InWaves(of.key) {
				why = "it is suspended"
			}
			if why == "" {
				return ""
			}
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
		if state != model.Present || like.Suspended || wave > number || m.wasAway(other, from, s.at) || m.touched[target{of.key, other}] {
			continue
		}
		has := func(x sight) bool { return x.UID == like.UID && equality.Semantic.DeepEqual(x.Content, like.Content) }
		seen := m.witness.of(model.WorkKey(other, of.key), from, s.at)
		isThrough := func(x sight) bool { return has(x) && x.isWell }
		isHeld, given := m.witness.hasHeld(model.WorkKey(other, of.key), like.Content, from, s.at), lastGiven(seen)
		switch {
		case wave < number && !(isHeld && slices.ContainsFunc(seen, isThrough)):
			return fmt.Sprintf("it is in wave %d, and %s of wave %d has not come through: reported %t", number+1, other, wave+1, slices.ContainsFunc(seen, isThrough))
		case wave == number && slices.ContainsFunc(given, func(x sight) bool { return has(x) && !x.Suspended }) && !slices.ContainsFunc(given, isThrough):
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
	if m.store.Get(apiserver.Ref{Resource: clusters, Name: name}) == nil { // one that is leaving may come back first
		return nil
	}
	if err := m.karmada.SetReady(name, isReady); err != nil {
		return ignoreNotFound(err) // it has just left
	}
	if !isReady {
		m.outages = append(m.outages, outage{cluster: name, from: time.Now()})
		return nil
	}
	for i := range m.outages {
		if o := &m.outages[i]; o.cluster == name && o.to.IsZero() {
			o.to = time.Now()
		}
	}
	return nil
}

// ail makes a member refuse what Karmada writes, fail makes its workloads run nothing, and halt makes Karmada stand still for
// it; healMembers ends all that.
func (m *machine) ail(cluster string) error {
	return m.inMember(cluster, func(member *karmada.Member) { member.Sick(true) })
}

func (m *machine) fail(cluster string) error {
	return m.inMember(cluster, func(member *karmada.Member) { member.SetFailing(func(apiserver.Object) bool { return true }) })
}

func (m *machine) halt(cluster string) error {
	return m.inMember(cluster, func(member *karmada.Member) { member.Halt(true) })
}

func (m *machine) goesOn(cluster string) act {
	return func() error {
		return m.inMember(cluster, func(member *karmada.Member) { member.Halt(false) })
	}
}

func (m *machine) inMember(cluster string, do func(*karmada.Member)) error {
	if member := m.karmada.Member(cluster); member != nil {
		do(member)
	}
	return nil
}

func (m *machine) healMembers() {
	for _, name := range m.clusters {
		_ = m.inMember(name, func(member *karmada.Member) { // it has no error
			member.Sick(false)
			member.SetFailing(nil)
			member.Halt(false)
		})
	}
}

// heal makes all members well, and all clusters ready.
func (m *machine) heal() error {
	m.healMembers()
	if m.judgesCounts {
		m.karmada.Restart() // or it would wait for longer than the quiet limit to try what has failed for long
	}
	for _, name := range m.clusters {
		if err := m.setReady(name, true); err != nil {
			return err
		}
	}
	return nil
}
