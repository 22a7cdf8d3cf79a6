package machine

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/karmada-target/karmada-mirror/daemon"
	"github.com/karmada-target/karmada-mirror/simulation/apiserver"
	"github.com/karmada-target/karmada-mirror/simulation/model"
)

// wrongAges lists the Works that were given content older than what they had had, or than the term of who gave it, and
// those that were created again although nothing had asked for it since they were deleted.
func (m *machine) wrongAges() (wrong []string) {
	if !m.judgesAge || m.heldBack > 0 {
		return nil
	}
	for name, of := range m.targets() {
		if m.touched[of] {
			continue
		}
		newest := m.quietAt.Add(-cacheAge) // when the newest content that it has had was asked for first
		var before sight
		for _, s := range m.witness.of(name, m.quietAt, time.Now()) {
			if !s.isGiven {
				continue
			}
			first, last := m.asked(of, s)
			if !s.at.After(m.quietAt) {
				before = s
				continue
			}
			if m.isAgain(name, of, before, s.at) {
				wrong = append(wrong, fmt.Sprintf("%v was created again at %s, which nothing asked for", of, s.at.Format(clockFormat)))
			}
			if !last.IsZero() && last.Before(s.term) {
				wrong = append(wrong, fmt.Sprintf("%v was given content at %s by a leader since %s that was not asked for since %s", of, s.at.Format(clockFormat), s.term.Format(clockFormat), last.Format(clockFormat)))
			}
			before = s
			if !last.IsZero() && last.Before(newest.Add(user+1)) { // as long as it took to ask
				wrong = append(wrong, fmt.Sprintf("%v was given content at %s that is older than what it had: not asked for since %s", of, s.at.Format(clockFormat), last.Format(clockFormat)))
			}
			if first.After(newest) {
				newest = first
			}
		}
	}
	return wrong
}

// asked is when a content was asked for, since the last quiet moment first, and last, in or outside the configuration.
func (m *machine) asked(of target, s sight) (first, last time.Time) {
	for _, moment := range slices.Backward(m.history) {
		world, configuration := *moment.World, *moment.Configuration
		configuration.Without, world.Configuration = nil, &configuration
		state, like := world.Of(of.key, of.cluster)
		if moment.from.After(s.at) || state != model.Present || like.UID != s.UID || !equality.Semantic.DeepEqual(like.Content, s.Content) {
			continue
		}
		if last.IsZero() {
			if last = moment.until; last.IsZero() || last.After(s.at) {
				last = s.at
			}
		}
		if moment.until.IsZero() || moment.until.After(m.quietAt) {
			first = moment.from
		}
	}
	return first, last
}

// isAgain reports whether a Work was created although it had been deleted and has not been wanted since it had been there
// before: what asked for it last may be seen late.
func (m *machine) isAgain(work string, of target, before sight, at time.Time) bool {
	deleted, was := m.witness.lastEnding(work, at)
	var began, ended time.Time // when it was wanted last
	for _, moment := range slices.Backward(m.history) {
		if moment.from.After(at) {
			continue
		}
		state, _ := moment.Of(of.key, of.cluster)
		if state == model.Stays {
			return false
		}
		if state == model.Present && ended.IsZero() {
			ended = moment.until
		}
		if state == model.Present && ended.IsZero() || state != model.Present && !ended.IsZero() {
			break
		}
		began = moment.from
	}
	first, _ := m.asked(of, before)
	return was && !ended.IsZero() && ended.Before(deleted) && !first.Before(began)
}

// lastEnding is when the last deletion of a Work was requested before a time.
func (w *witness) lastEnding(work string, at time.Time) (last time.Time, was bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, e := range w.ended[work] {
		if e.at.Before(at) {
			last, was = e.at, true
		}
	}
	return last, was
}

// release is a source that has lost its finalizer while it was being deleted and had a Work.
type release struct {
	of target
	at time.Time
}

func (w *witness) noteRelease(e apiserver.Event) {
	if e.Old == nil || !slices.Contains(w.machine.mirrored(), e.Resource) {
		return
	}
	key, before := model.Applied(&unstructured.Unstructured{Object: e.Old})
	_, after := model.Applied(&unstructured.Unstructured{Object: e.Object})
	if !before.Leaving || after.Finalized && e.Type != watch.Deleted {
		return
	}
	for _, cluster := range w.machine.clusters {
		work := w.machine.store.Get(workRef(model.WorkKey(cluster, key)))
		u := &unstructured.Unstructured{Object: work} // without the label, which users may remove, no one sees it
		if work != nil && u.GetAnnotations()["karmada.target/source-uid"] == before.UID && u.GetLabels()["app.kubernetes.io/managed-by"] == "karmada-mirror" {
			w.mu.Lock()
			w.released = append(w.released, release{target{key, cluster}, time.Now()})
			w.mu.Unlock()
		}
	}
}

// wrongReleases lists the sources that were released too early.
func (m *machine) wrongReleases() (wrong []string) {
	m.witness.mu.Lock()
	released := m.witness.released
	m.witness.released = nil
	m.witness.mu.Unlock()
	for _, r := range released {
		if !m.touched[r.of] && m.mustHold(r.of.key, r.at) {
			wrong = append(wrong, fmt.Sprintf("%v was released at %s while its Work existed", r.of, r.at.Format(clockFormat)))
		}
	}
	return wrong
}

// mustHold reports whether an object that was being deleted had to have the finalizer all the time that a daemon may
// have acted on.
func (m *machine) mustHold(k model.Key, at time.Time) bool {
	var last *model.Object
	for _, moment := range m.history {
		if o := moment.Objects[k]; o != nil && !moment.from.After(at) {
			last = o
		}
	}
	return last != nil && !slices.ContainsFunc(m.history, func(moment *moment) bool {
		w := &model.World{Objects: one(k, last), Namespaces: moment.Namespaces, Configuration: moment.Configuration}
		return !moment.from.After(at) && (moment.until.IsZero() || moment.until.After(at.Add(-2*proofAge))) && w.Finalizer(k) != model.Present
	})
}

// ruler is the process that has led for a while, nil if there is none.
func (m *machine) ruler() *process {
	acquired, holder := m.term()
	for _, r := range m.replicas {
		if p := r.current; !acquired.IsZero() && strings.HasPrefix(holder, r.name+"_") && !p.isOver() && acquired.After(p.began) && time.Since(acquired) > cacheAge {
			return p
		}
	}
	return nil
}

// term returns since when there is a leader, and who it is; zero if there has been none.
func (m *machine) term() (since time.Time, holder string) {
	lease := &unstructured.Unstructured{Object: m.store.Get(apiserver.Ref{Resource: leases, Namespace: daemon.Namespace, Name: daemon.DefaultLease})}
	holder, _, _ = unstructured.NestedString(lease.Object, "spec", "holderIdentity")
	text, _, _ := unstructured.NestedString(lease.Object, "spec", "acquireTime")
	since, _ = time.Parse(time.RFC3339Nano, text)
	return since, holder
}

// depart notes who leads when objects with a finalizer leave the configuration.
func (m *machine) depart(next *model.Configuration) {
	before, after := m.history.now(), &model.World{Configuration: next}
	for _, gr := range m.mirrored() {
		for _, found := range m.store.List(gr, "") {
			key, o := model.Applied(&unstructured.Unstructured{Object: found})
			switch {
			case after.Includes(key):
				delete(m.departed, refOf(key))
			case before.Includes(key) && o.Finalized:
				m.departed[refOf(key)] = m.ruler()
			}
		}
	}
}
