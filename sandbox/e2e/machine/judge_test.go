package machine

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/karmada-target/karmada-mirror/sandbox/e2e"
	"github.com/karmada-target/karmada-mirror/sandbox/model"
)

const (
	// quietLimit is how long everything may take once all faults have ended: a Lease of
	// 4 s, a start, and a backoff of some seconds.
	quietLimit = 45 * time.Second
	// proofAge bounds how old the evidence for a deletion may be: one second for the
	// source, one more for its Namespace and its cluster, and the way to the API server.
	proofAge = 3 * time.Second
	// settlePeriod is how long the daemons wait before they delete a Work or give up an override.
	settlePeriod = 100 * time.Millisecond
	// cacheAge is for how long after a quiet moment the daemon may still act on the state
	// before it: where the model lets anything stay, no check notices that a cache is
	// behind.
	cacheAge = 2 * time.Second
)

// look ends all faults, waits until the Works match the model, and returns what is still
// wrong: Works that do not match, deletions that the model would not have made, overrides that
// were lost meanwhile, changes that a sweep has found.
func (m *machine) look() (wrong []string) {
	for _, r := range m.replicas {
		r.settle()
	}
	if err := m.heal(); err != nil {
		return []string{err.Error()}
	}
	works, limit := map[string]*unstructured.Unstructured{}, time.Now().Add(quietLimit)
	for {
		if err := m.revive(); err != nil {
			return []string{err.Error()}
		}
		wrong = m.underWay() // must come before reading the Works
		var err error
		if works, err = m.works(); err != nil {
			return []string{err.Error()}
		}
		wrong = append(wrong, m.unfinished(works)...)
		wrong = append(wrong, m.compare(works)...)
		wrong = append(wrong, m.compareFinalizers()...)
		wrong = append(wrong, m.compareStatuses()...)
		if len(wrong) == 0 && m.hasMembers {
			wrong = m.compareMembers()
		}
		if len(wrong) == 0 || time.Now().After(limit) {
			break
		}
		time.Sleep(100 * time.Millisecond)
	}
	wrong = append(wrong, m.wrongDeletions()...)
	wrong = append(wrong, m.wrongLosses()...)
	wrong = append(wrong, m.wrongOrder()...)
	for _, r := range m.replicas {
		wrong = append(wrong, r.complaints()...)
	}
	m.remember(works)
	return wrong
}

// revive starts the daemons again that have lost their Leases.
func (m *machine) revive() error {
	var errs []error
	for _, r := range m.replicas {
		errs = append(errs, r.revive())
	}
	return errors.Join(errs...)
}

// works are the Works that are ours, by namespace/name.
func (m *machine) works() (map[string]*unstructured.Unstructured, error) {
	list, err := e2e.Env.Admin.Resource(e2e.Works).List(m.t.Context(), metav1.ListOptions{LabelSelector: "app.kubernetes.io/managed-by=karmada-mirror"})
	if err != nil {
		return nil, err
	}
	works := map[string]*unstructured.Unstructured{}
	for i := range list.Items {
		if strings.HasPrefix(e2e.SourceNamespace(&list.Items[i]), m.prefix) {
			works[list.Items[i].GetNamespace()+"/"+list.Items[i].GetName()] = &list.Items[i]
		}
	}
	return works, nil
}

// underWay lists the replicas that wait for responses.
func (m *machine) underWay() (open []string) {
	for _, r := range m.replicas {
		if n := r.underWay(); n > 0 {
			open = append(open, fmt.Sprintf("replica %s waits for %d responses", r.name, n))
		}
	}
	return open
}

// unfinished lists the Works and namespaces that are still being deleted.
func (m *machine) unfinished(works map[string]*unstructured.Unstructured) (going []string) {
	for key, work := range works {
		if work.GetDeletionTimestamp() != nil {
			going = append(going, fmt.Sprintf("Work %s still exists", key))
		}
	}
	for name := range m.going {
		if _, err := e2e.Env.Admin.Resource(e2e.Namespaces).Get(m.t.Context(), m.namespace(name), metav1.GetOptions{}); !apierrors.IsNotFound(err) {
			going = append(going, fmt.Sprintf("namespace %s still exists: %v", name, err))
		}
	}
	return going
}

// compare lists the Works that do not match the model.
func (m *machine) compare(works map[string]*unstructured.Unstructured) (wrong []string) {
	left, world := len(works), m.worldWith(works)
	for _, k := range m.keys() {
		for _, cluster := range m.clusters {
			of := target{k, cluster}
			work := works[e2e.WorkKey(cluster, k)]
			if work != nil {
				left--
			}
			if why := m.judge(world, of, work); why != "" {
				wrong = append(wrong, fmt.Sprintf("%v: %s", of, why))
			}
		}
	}
	if left > 0 {
		wrong = append(wrong, fmt.Sprintf("there are %d Works without a known source", left))
	}
	return wrong
}

// compareFinalizers lists the objects that should have the finalizer and do not, or the other way
// round, and those that have been deleted and still exist. Outside the configuration, it removes the
// finalizers as an administrator must: there may have been no daemon when the configuration changed.
func (m *machine) compareFinalizers() (wrong []string) {
	world := m.history.now()
	for kind, resource := range resources {
		list, err := e2e.Env.Admin.Resource(resource).List(m.t.Context(), metav1.ListOptions{})
		if err != nil {
			return []string{err.Error()}
		}
		for i := range list.Items {
			key, o := e2e.Applied(&list.Items[i])
			switch {
			case !strings.HasPrefix(key.Namespace, m.prefix):
			case !world.Includes(key) && o.Leaving:
				client := e2e.Env.Admin.Resource(resource).Namespace(key.Namespace)
				_, err := client.Patch(m.t.Context(), key.Name, types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`), metav1.PatchOptions{})
				wrong = append(wrong, fmt.Sprintf("%s %v was left with a finalizer: %v", kind, key, err)) // not in the next round
			case o.Leaving:
				wrong = append(wrong, fmt.Sprintf("%s %v still exists", kind, key))
			case world.Objects[key] != nil && !finalizerFits(world.Finalizer(key), o.Finalized):
				wrong = append(wrong, fmt.Sprintf("%s %v has a finalizer: %t", kind, key, o.Finalized))
			}
		}
	}
	return wrong
}

// compareStatuses lists the Deployments whose status is not the sum of what the members report.
func (m *machine) compareStatuses() (wrong []string) {
	world := m.history.now()
	list, err := e2e.Env.Admin.Resource(e2e.Deployments).List(m.t.Context(), metav1.ListOptions{})
	if err != nil {
		return []string{err.Error()}
	}
	for i := range list.Items {
		u := &list.Items[i]
		key, _ := e2e.Applied(u)
		if world.Objects[key] == nil || m.hasMembers {
			continue
		}
		want, isKnown := world.Replicas(key, m.clusters)
		if got, _, _ := unstructured.NestedInt64(u.Object, "status", "replicas"); isKnown && got != want {
			wrong = append(wrong, fmt.Sprintf("%v has %d replicas in its status, not %d", key, got, want))
		}
		if got, _, _ := unstructured.NestedInt64(u.Object, "status", "observedGeneration"); isKnown && got != u.GetGeneration() {
			wrong = append(wrong, fmt.Sprintf("%v has generation %d, and %d in its status", key, u.GetGeneration(), got))
		}
	}
	return wrong
}

func finalizerFits(must model.State, has bool) bool {
	return must == model.Stays || has == (must == model.Present)
}

// worldWith is the current world, with the autoscalers that are in the clusters.
func (m *machine) worldWith(works map[string]*unstructured.Unstructured) *model.World {
	world := *m.history.now()
	world.Lingering = map[model.Place]model.Key{}
	for _, k := range m.keys() {
		for _, cluster := range m.clusters {
			if work := works[e2e.WorkKey(cluster, k)]; work != nil && k.Kind == autoscaler.Kind {
				if carried, err := e2e.ManifestOf(work); err == nil {
					world.Lingering[model.Place{Key: k, Cluster: cluster}] = e2e.Scaled(carried)
				}
			}
		}
	}
	return &world
}

// judge says what is wrong with the Work of an object in a cluster, or with its absence.
func (m *machine) judge(world *model.World, of target, work *unstructured.Unstructured) string {
	switch state, want := world.Of(of.key, of.cluster); state {
	case model.Present:
		if work == nil {
			return "it is missing"
		}
		if err := e2e.Carries(work, want); err != nil {
			return err.Error()
		}
	case model.Absent:
		if work != nil {
			return fmt.Sprintf("it exists, but must not: %s", describe(work))
		}
	case model.Stays:
		return m.judgeStaying(of, work)
	}
	return ""
}

// judgeStaying checks that a Work that has to stay has stayed, or has become something
// that it had to be at some time since the last quiet moment or shortly before it.
func (m *machine) judgeStaying(of target, work *unstructured.Unstructured) string {
	may := map[model.State]bool{}
	for _, o := range m.history.possible(of, m.quietAt.Add(-cacheAge), time.Now()) {
		may[o.state] = true
	}
	before := m.before[of]
	switch {
	case m.touched[of]:
	case before != nil && work == nil && !may[model.Absent]:
		return "it existed and had to stay"
	case before == nil && work != nil && !may[model.Present]:
		return fmt.Sprintf("it did not exist and nothing has asked for it: %s", describe(work))
	case before != nil && work != nil && !may[model.Present] && !may[model.Absent]:
		if err := e2e.Carries(work, *before); err != nil {
			return "it had to stay as it was: " + err.Error()
		}
	}
	return ""
}

func describe(work *unstructured.Unstructured) string {
	return fmt.Sprintf("version %s, generation %d, labels %v, annotations %v, deleted %v",
		work.GetResourceVersion(), work.GetGeneration(), work.GetLabels(), work.GetAnnotations(), work.GetDeletionTimestamp())
}

// remember records the current Works as those that have to stay.
func (m *machine) remember(works map[string]*unstructured.Unstructured) {
	now := time.Now()
	for _, k := range m.keys() {
		for _, cluster := range m.clusters {
			if of := (target{k, cluster}); m.mayBeLeft(of, now) {
				m.left[of] = true
			}
		}
	}
	m.before, m.touched, m.quietAt, m.heldBack = map[target]*model.Copy{}, map[target]bool{}, now, 0
	m.blinded = false
	for _, k := range m.keys() {
		for _, cluster := range m.clusters {
			if work := works[e2e.WorkKey(cluster, k)]; work != nil {
				if like, err := e2e.CopyOf(work); err == nil {
					m.before[target{k, cluster}] = &like
				}
			}
		}
	}
}

// wrongDeletions lists the deletions that the model would not have requested at the time, and
// those of Works that did not have the preserve option that their source asked for.
func (m *machine) wrongDeletions() (wrong []string) {
	targets := m.targets()
	for _, r := range m.audit.Requests(m.t) {
		if r.Verb != "delete" || r.ObjectRef.Resource != e2e.Works.Resource {
			continue
		}
		work := r.ObjectRef.Namespace + "/" + r.ObjectRef.Name
		of, known := targets[work]
		if !known {
			wrong = append(wrong, "a Work without a known source was deleted: "+work)
			continue
		}
		if why := m.judgeDeletion(of, work, r.RequestReceivedTimestamp, r.Succeeded()); why != "" {
			wrong = append(wrong, fmt.Sprintf("%v was deleted at %s: %s", of, r.RequestReceivedTimestamp.Format("15:04:05.000"), why))
		}
	}
	m.audit = e2e.AuditFromNow(m.t)
	return wrong
}

// wrongLosses lists the writes that have taken an override from a Work although, by the model, it
// was overridden all the time that the daemon may have acted on.
func (m *machine) wrongLosses() (wrong []string) {
	if m.hasMembers {
		return nil
	}
	targets := m.targets()
	for _, l := range m.executor.lostAfter(m.judgedAt) {
		m.judgedAt = l.at
		of, known := targets[l.work]
		if known && !m.mayLose(of, l) {
			wrong = append(wrong, fmt.Sprintf("%v has lost %s at %s, which was there", of, l.policy, l.at.Format("15:04:05.000")))
		}
	}
	return wrong
}

func (m *machine) mayLose(of target, l loss) bool {
	return slices.ContainsFunc(m.history.possible(of, l.at.Add(-proofAge-m.heldBack), l.at), func(o outcome) bool {
		return o.state == model.Present && !slices.Contains(strings.Split(o.like.OverriddenBy, ","), l.policy)
	})
}

// targets are all objects that may be in clusters, by the namespace/name of their Works.
func (m *machine) targets() map[string]target {
	targets := map[string]target{}
	for _, k := range m.keys() {
		for _, cluster := range m.clusters {
			targets[e2e.WorkKey(cluster, k)] = target{k, cluster}
		}
	}
	return targets
}

func (m *machine) judgeDeletion(of target, work string, at time.Time, hasHappened bool) string {
	reasons := slices.DeleteFunc(m.history.possible(of, at.Add(-proofAge), at), func(o outcome) bool { return o.state != model.Absent })
	if len(reasons) == 0 {
		return "there was no reason for it"
	}
	if m.hasMembers || !hasHappened {
		return "" // judged by what happens in the members, or nothing happened
	}
	end, found := m.executor.endingAfter(work, at)
	if !found {
		return "" // another user had deleted it before
	}
	if !m.hasObject(of.key, at) { // what its source would say is no longer known
		return ""
	}
	switch mayPreserve := func(o outcome) bool { return o.like.Preserved }; {
	case end.preserved && !slices.ContainsFunc(reasons, mayPreserve) && !m.mayBeLeft(of, at):
		return "its Work preserved it, which its source has not asked for"
	case !end.preserved && !slices.ContainsFunc(reasons, func(o outcome) bool { return !mayPreserve(o) }) && !m.wasRecreated(of.key, at):
		return "its Work did not preserve it"
	}
	return ""
}

// wasRecreated reports whether an object was another one at some time since the last quiet moment:
// it does not speak for the Works of the earlier one.
func (m *machine) wasRecreated(k model.Key, at time.Time) bool {
	uids := map[string]bool{}
	for _, moment := range m.history {
		if o := moment.Objects[k]; o != nil && !moment.from.After(at) && (moment.until.IsZero() || moment.until.After(m.quietAt)) {
			uids[o.UID] = true
		}
	}
	return len(uids) > 1
}

// hasObject reports whether an object existed all the time that a proof may cover.
func (m *machine) hasObject(k model.Key, at time.Time) bool {
	for _, moment := range m.history {
		if !moment.from.After(at) && (moment.until.IsZero() || moment.until.After(at.Add(-proofAge))) && moment.Objects[k] == nil {
			return false
		}
	}
	return true
}
