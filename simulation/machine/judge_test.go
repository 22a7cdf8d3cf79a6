package machine

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/karmada-target/karmada-mirror/daemon"
	"github.com/karmada-target/karmada-mirror/simulation/apiserver"
	"github.com/karmada-target/karmada-mirror/simulation/fault"
	"github.com/karmada-target/karmada-mirror/simulation/model"
)

// clockFormat is how times are printed: without the day, which is the same for all worlds.
const clockFormat = "15:04:05.000"

const (
	// lookPeriod is how often it is checked whether all is quiet, and awaitPeriod any other condition.
	lookPeriod  = 2 * time.Second
	awaitPeriod = time.Second / 2
	// idlePeriod is how long the daemons must not have written a Work until it is quiet: longer than
	// a new leader needs.
	idlePeriod = 20 * time.Second
	// quietLimit is how long everything may take once all faults have ended: a Lease, a start, and the five
	// minutes after which a report is believed. In waves, each may wait as long for an Event about a Work.
	quietLimit, wavesLimit = 6 * time.Minute, 30 * time.Minute
	// proofAge bounds how old the evidence for a deletion may be: one second for the
	// source, one more for its Namespace and its cluster, and the way to the API server.
	proofAge = 3 * time.Second
	// settlePeriod is how long the daemons wait before they delete a Work or give up an override.
	settlePeriod = time.Second
	// cacheAge is for how long after a quiet moment the daemon may still act on the state
	// before it: where the model lets anything stay, no check notices that a cache is
	// behind.
	cacheAge = 2 * time.Second
)

// look ends all faults, waits until the Works match the model, and returns what is still
// wrong: Works that do not match, deletions that the model would not have made, overrides that
// were lost meanwhile, changes that a sweep has found.
func (m *machine) look() (wrong []string) {
	m.denying.Store("")
	for _, r := range m.replicas {
		r.settle()
	}
	for _, server := range m.servers {
		for _, gr := range append(m.mirrored(), works) {
			server.SetLag(gr, 0)
		}
	}
	if err := m.heal(); err != nil {
		return []string{err.Error()}
	}
	var there map[string]*unstructured.Unstructured
	begun := time.Now()
	limit := begun.Add(quietLimit)
	switch {
	case m.inWaves:
		limit = begun.Add(wavesLimit)
	case m.isSighted:
		limit = begun.Add(soon)
	}
	for {
		m.each((*replica).revive)
		m.unstick()
		m.report()
		there = m.works()
		wrong = m.differences(there)
		idle := min(time.Since(m.audit.busyUntil()), time.Since(begun))
		if len(wrong) == 0 && idle > idlePeriod || time.Now().After(limit) {
			break
		}
		if len(wrong) == 0 && !m.reporting {
			time.Sleep(idlePeriod - idle)
		}
		time.Sleep(lookPeriod)
	}
	wrong = append(wrong, m.wrongDeletions()...)
	wrong = append(wrong, m.wrongLosses()...)
	wrong = append(wrong, m.wrongContents()...)
	wrong = append(wrong, m.wrongEvents()...)
	wrong = append(wrong, m.wrongOrder()...)
	wrong = append(wrong, m.wrongAges()...)
	wrong = append(wrong, m.wrongReleases()...)
	wrong, m.costs = append(wrong, m.costs...), nil
	wrong = append(wrong, m.witness.counts.drops()...)
	for _, r := range m.replicas {
		wrong = append(wrong, r.complaints()...)
	}
	m.remember(there)
	if m.steps["restore"] > 0 {
		m.keep()
	}
	return wrong
}

// differences lists what is not yet as it must be, and what is still under way.
func (m *machine) differences(there map[string]*unstructured.Unstructured) (wrong []string) {
	wrong = append(m.underWay(), m.unfinished(there)...)
	wrong = append(wrong, m.compare(there)...)
	wrong = append(wrong, m.compareFinalizers()...)
	wrong = append(wrong, m.compareStatuses(there)...)
	if len(wrong) == 0 {
		wrong = m.compareMembers()
	}
	return wrong
}

// unstick removes the finalizers of Works that Karmada never completes, as an administrator must: those that
// preserve an object that is no longer in the member, or is not Karmada's there.
func (m *machine) unstick() {
	for name, of := range m.targets() {
		work := m.store.Get(workRef(name))
		u := &unstructured.Unstructured{Object: work}
		preserved, _, _ := unstructured.NestedBool(work, "spec", "preserveResourcesOnDeletion")
		if work == nil || u.GetDeletionTimestamp() == nil || !preserved {
			continue
		}
		there := &unstructured.Unstructured{Object: m.karmada.Member(of.cluster).Store.Get(refOf(of.key))}
		if there.GetLabels()["karmada.io/managed"] == "true" {
			continue
		}
		m.touched[of] = true
		_, _ = m.store.Modify(workRef(name), "", func(o apiserver.Object) { unstructured.RemoveNestedField(o, "metadata", "finalizers") }) // or it is gone meanwhile
	}
}

// works are the Works that are ours and judged, by namespace/name.
func (m *machine) works() map[string]*unstructured.Unstructured {
	ours := map[string]*unstructured.Unstructured{}
	for _, o := range m.store.List(works, "") {
		if u := (&unstructured.Unstructured{Object: o}); u.GetLabels()["app.kubernetes.io/managed-by"] == "karmada-mirror" && !isHostile(u.GetNamespace()+"/") {
			ours[u.GetNamespace()+"/"+u.GetName()] = u
		}
	}
	return ours
}

// underWay lists the replicas that wait for responses, or do not follow the configuration or the clusters: client-go opens a
// watch that was cut often only after up to a minute.
func (m *machine) underWay() (open []string) {
	for _, r := range m.replicas {
		if n := r.underWay(); n > 0 {
			open = append(open, fmt.Sprintf("replica %s waits for %d responses", r.name, n))
		}
		if !r.hasEnded() && r.layer.InFlight(fault.Match{Verb: "watch", Resource: "configmaps", Namespace: "karmada-system"}) == 0 {
			open = append(open, fmt.Sprintf("replica %s does not follow the configuration", r.name))
		}
		if !r.hasEnded() && r.layer.InFlight(watchOf("clusters")) == 0 {
			open = append(open, fmt.Sprintf("replica %s does not follow the clusters", r.name))
		}
	}
	return open
}

// unfinished lists the Works, namespaces and clusters that are still being deleted.
func (m *machine) unfinished(there map[string]*unstructured.Unstructured) (going []string) {
	for _, o := range m.store.List(clusters, "") {
		if u := (&unstructured.Unstructured{Object: o}); u.GetDeletionTimestamp() != nil && u.GetName() != hostile {
			going = append(going, fmt.Sprintf("cluster %s is still leaving", u.GetName()))
		}
	}
	for key, work := range there {
		if work.GetDeletionTimestamp() != nil {
			going = append(going, fmt.Sprintf("Work %s still exists", key))
		}
	}
	for name := range m.going {
		if m.store.Get(apiserver.Ref{Resource: namespaces, Name: name}) != nil {
			going = append(going, fmt.Sprintf("namespace %s still exists", name))
		}
	}
	return going
}

// compare lists the Works that do not match the model.
func (m *machine) compare(works map[string]*unstructured.Unstructured) (wrong []string) {
	left, world := maps.Clone(works), m.worldWith(works)
	for _, k := range m.keys() {
		for _, cluster := range m.clusters {
			of := target{k, cluster}
			delete(left, model.WorkKey(cluster, k))
			if why := m.judge(world, of, works); why != "" {
				wrong = append(wrong, fmt.Sprintf("%v: %s", of, why))
			}
		}
	}
	for key, work := range left {
		if !strings.HasPrefix(work.GetName(), anchor.Name+"-") {
			wrong = append(wrong, "there is a Work without a known source: "+key)
		}
	}
	return wrong
}

// compareFinalizers lists the objects that should have the finalizer and do not, or the other way
// round, and those that have been deleted and still exist. Outside the configuration, it removes the
// finalizers as an administrator must: there may have been no daemon when the configuration changed, or a clock an hour ahead
// has said that another daemon has set them since.
func (m *machine) compareFinalizers() (wrong []string) {
	world := m.history.now()
	for _, gr := range m.mirrored() {
		for _, found := range m.store.List(gr, "") {
			key, o := model.Applied(&unstructured.Unstructured{Object: found})
			switch {
			case key.Namespace == daemon.Namespace:
			case !world.Includes(key) && o.Finalized && m.steps["clock"] == 0 && m.departed[refOf(key)] != nil && m.departed[refOf(key)] == m.ruler():
				wrong = append(wrong, fmt.Sprintf("%v is outside the configuration and keeps its finalizer, although a replica led when it left", key))
			case !world.Includes(key) && o.Leaving:
				_, err := m.store.Modify(refOf(key), "", func(o apiserver.Object) { unstructured.RemoveNestedField(o, "metadata", "finalizers") })
				wrong = append(wrong, fmt.Sprintf("%v was left with a finalizer: %v", key, err)) // not in the next round
			case o.Leaving:
				wrong = append(wrong, fmt.Sprintf("%v still exists", key))
			case world.Objects[key] != nil && !finalizerFits(world.Finalizer(key), o.Finalized):
				wrong = append(wrong, fmt.Sprintf("%v has a finalizer: %t", key, o.Finalized))
			}
		}
	}
	return wrong
}

// compareStatuses lists the Deployments whose status is not the sum of what the members report.
func (m *machine) compareStatuses(there map[string]*unstructured.Unstructured) (wrong []string) {
	world := m.worldWith(there)
	for _, found := range m.store.List(deployments, "") {
		u := &unstructured.Unstructured{Object: found}
		key, _ := model.Applied(u)
		if world.Objects[key] == nil || m.isHostile { // then it is a claim
			continue
		}
		want, isKnown := world.Replicas(key, m.clusters)
		isKnown = isKnown && !slices.ContainsFunc(m.clusters, func(cluster string) bool {
			of := target{key, cluster}
			left := unstructured.Unstructured{Object: m.karmada.Member(cluster).Store.Get(refOf(key))} // with Karmada's label, perhaps, from before it was left there
			return m.isContested(of, there) || m.isHeldUp(world, of, there) || left.GetLabels()["resourcetemplate.karmada.io/retain-replicas"] == "true"
		})
		if got, _, _ := unstructured.NestedInt64(u.Object, "status", "replicas"); isKnown && got != want {
			wrong = append(wrong, fmt.Sprintf("%v has %d replicas in its status, not %d", key, got, want))
		}
		if got, _, _ := unstructured.NestedInt64(u.Object, "status", "observedGeneration"); isKnown && got != u.GetGeneration() {
			wrong = append(wrong, fmt.Sprintf("%v has generation %d, and %d in its status", key, u.GetGeneration(), got))
		}
	}
	return wrong
}

// isContested reports whether Karmada refuses to apply an object to a cluster, which has one that was left there.
func (m *machine) isContested(of target, there map[string]*unstructured.Unstructured) bool {
	work := there[model.WorkKey(of.cluster, of.key)]
	return work != nil && (m.left[of] || m.mayBeLeft(of, time.Now())) && !isWell(work)
}

func finalizerFits(must model.State, has bool) bool {
	return must == model.Stays || has == (must == model.Present)
}

// worldWith is the current world, with the autoscalers and shares that there are: ties may be broken either way.
func (m *machine) worldWith(works map[string]*unstructured.Unstructured) *model.World {
	world := *m.history.now()
	world.Lingering, world.Shares = map[model.Place]model.Key{}, m.shares()
	for _, k := range m.keys() {
		for _, cluster := range m.clusters {
			if work := works[model.WorkKey(cluster, k)]; work != nil && k.Kind == autoscaler.Kind {
				if carried, err := model.ManifestOf(work); err == nil {
					world.Lingering[model.Place{Key: k, Cluster: cluster}] = model.Scaled(carried)
				}
			}
		}
	}
	return &world
}

// judge says what is wrong with the Work of an object in a cluster, or with its absence.
func (m *machine) judge(world *model.World, of target, there map[string]*unstructured.Unstructured) string {
	state, want := world.Of(of.key, of.cluster)
	work := there[model.WorkKey(of.cluster, of.key)]
	if work != nil && state != model.Present && model.IsHeld(work) && (m.breaker != "" || m.undefines && of.key.Kind == widget.Kind) {
		return ""
	}
	switch state {
	case model.Present:
		if m.isHeldUp(world, of, there) {
			return m.judgeHeldUp(of, want, work)
		}
		if work == nil {
			return "it is missing"
		}
		if err := model.Carries(work, want); err != nil && !(model.CarriesMore(work, want) && m.lacks(world, of.key)) {
			return err.Error()
		}
	case model.Absent:
		if work != nil {
			return fmt.Sprintf("it exists, but must not: %s", described(work))
		}
	case model.Held:
		if work != nil && world.Includes(of.key) { // while the kind is not served, nothing is known
			return fmt.Sprintf("its definition was deleted, and its deletion is not held: %s", described(work))
		}
	case model.Stays:
		return m.judgeStaying(of, work)
	}
	return ""
}

// lacks reports whether an object cannot be written to one of its clusters: the others keep what that one lacks.
func (m *machine) lacks(world *model.World, k model.Key) bool {
	return slices.ContainsFunc(m.clusters, func(cluster string) bool {
		state, _ := world.Of(k, cluster)
		return state == model.Stays && world.Clusters[cluster] != nil
	})
}

// judgeStaying checks that a Work that has to stay has stayed, or has become something
// that it had to be at some time since the last quiet moment or shortly before it.
func (m *machine) judgeStaying(of target, work *unstructured.Unstructured) string {
	may := map[model.State]bool{}
	var options []model.Copy // that may have been given to it meanwhile
	for _, o := range m.history.possible(of, m.quietAt.Add(-cacheAge), time.Now()) {
		may[o.state] = true
		if o.state == model.Stays && o.like.UID != "" {
			options = append(options, o.like)
		}
	}
	before := m.before[of]
	switch {
	case m.touched[of]:
	case before != nil && work == nil && !may[model.Absent]:
		return "it existed and had to stay"
	case before == nil && work != nil && !may[model.Present]:
		return fmt.Sprintf("it did not exist and nothing has asked for it: %s", described(work))
	case before != nil && work != nil && !may[model.Present] && !may[model.Absent]:
		wasSuspended := slices.ContainsFunc(options, func(o model.Copy) bool { return o.Suspended })
		if err := model.Carries(work, *before); err != nil && !slices.ContainsFunc(options, func(o model.Copy) bool {
			like := *before
			like.Suspended, like.Preserved = wasSuspended || like.Suspended, o.Preserved // a suspension outlasts its reason
			return model.Carries(work, like) == nil
		}) {
			return "it had to stay as it was: " + err.Error()
		}
	}
	return ""
}

func described(work *unstructured.Unstructured) string {
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
	maps.DeleteFunc(m.touched, func(of target, _ bool) bool { // a Work that a user has deleted, or whose label is gone, may be given back once its source is right
		work := model.WorkKey(of.cluster, of.key)
		return works[work] != nil || m.before[of] == nil && len(m.witness.of(work, m.quietAt, now)) == 0 && m.store.Get(workRef(work)) == nil
	})
	m.before, m.quietAt, m.heldBack = map[target]*model.Copy{}, now, 0
	m.blinded = false
	for _, k := range m.keys() {
		for _, cluster := range m.clusters {
			if work := works[model.WorkKey(cluster, k)]; work != nil {
				if like, err := model.CopyOf(work); err == nil {
					m.before[target{k, cluster}] = &like
				}
			}
		}
	}
}

// wrongDeletions lists the deletions that the model would not have requested at the time, and
// those of Works that did not have the preserve option that their source asked for.
func (m *machine) wrongDeletions() (wrong []string) {
	targets, deletions := m.targets(), m.audit.takeDeletions()
	wrong = m.emptied(deletions)
	for _, d := range deletions {
		of, known := targets[model.ShortKey(d.work)]
		if !known && (m.isStranger(d.work) || isHostile(d.work)) {
			continue
		}
		if !known {
			wrong = append(wrong, "a Work without a known source was deleted: "+d.work)
			continue
		}
		if why := m.judgeDeletion(of, d.work, d.at, d.hasHappened); why != "" {
			wrong = append(wrong, fmt.Sprintf("%v was deleted at %s: %s", of, d.at.Format(clockFormat), why))
		}
	}
	return wrong
}

// wrongLosses lists the writes that have taken an override from a Work although, by the model, it
// was overridden all the time that the daemon may have acted on.
func (m *machine) wrongLosses() (wrong []string) {
	targets := m.targets()
	for _, l := range m.witness.lostAfter(m.judgedAt) {
		m.judgedAt = l.at
		of, known := targets[l.work]
		if known && !m.mayLose(of, l) {
			wrong = append(wrong, fmt.Sprintf("%v has lost %s at %s, which was there", of, l.policy, l.at.Format(clockFormat)))
		}
	}
	return wrong
}

func (m *machine) mayLose(of target, l loss) bool {
	return slices.ContainsFunc(m.history.possibleBy(of, m.since(m.quietAt, l.at), l.at.Add(-proofAge-m.heldBack), l.at), func(o outcome) bool {
		return o.state == model.Present && !slices.Contains(strings.Split(o.like.OverriddenBy, ","), l.policy)
	})
}

// targets are all objects that may be in clusters, by the namespace/name of their Works.
func (m *machine) targets() map[string]target {
	targets := map[string]target{}
	for _, k := range m.keys() {
		for _, cluster := range m.clusters {
			targets[model.WorkKey(cluster, k)] = target{k, cluster}
		}
	}
	return targets
}

func (m *machine) judgeDeletion(of target, work string, at time.Time, hasHappened bool) string {
	since := at.Add(-proofAge)
	if m.isSighted && !m.blinded {
		since = at.Add(-sightAge)
	}
	if m.history.now().Clusters[of.cluster] == nil && m.quietAt.Before(since) {
		since = m.quietAt // as long as a cluster is leaving, its labels say what selects it
	}
	reasons := slices.DeleteFunc(m.history.possible(of, since, at), func(o outcome) bool { return o.state != model.Absent })
	if len(reasons) == 0 {
		return m.judgeReplacement(of, work, at)
	}
	if !hasHappened {
		return ""
	}
	end, found := m.witness.endingAfter(work, at)
	if !found {
		return "" // another user had deleted it before
	}
	if !m.hasObject(of.key, at) { // what its source would say is no longer known
		return ""
	}
	switch mayPreserve := func(o outcome) bool { return o.like.Preserved }; {
	case end.Preserved && !slices.ContainsFunc(reasons, mayPreserve) && !m.mayBeLeft(of, at):
		return "its Work preserved it, which its source has not asked for"
	case !end.Preserved && !slices.ContainsFunc(reasons, func(o outcome) bool { return !mayPreserve(o) }) && !m.isAnother(of, end):
		return "its Work did not preserve it"
	}
	return ""
}

// judgeReplacement says what is wrong with the deletion of the Work of an object that is there: the Work must carry an earlier one
// that cannot become what it is now, and it must be its turn.
func (m *machine) judgeReplacement(of target, work string, at time.Time) (why string) {
	from := m.since(m.quietAt, at)
	for _, was := range m.witness.of(work, from, at) {
		if was.Content == nil || was.Content.Payload["immutable"] != true || was.Preserved {
			continue
		}
		for _, moment := range m.history {
			if moment.from.After(at) || !moment.until.IsZero() && moment.until.Before(from) {
				continue
			}
			state, like := moment.Of(of.key, of.cluster)
			if state != model.Present || like.UID == was.UID || like.Suspended || like.Preserved || equality.Semantic.DeepEqual(like.Content.Payload, was.Content.Payload) {
				continue
			}
			if why = m.tooEarly(moment.World, of, sight{at: at}, from); why == "" {
				return ""
			}
		}
	}
	return cmp.Or(why, "there was no reason for it")
}

// isAnother reports whether a Work that has ended was made from another object than each of those that existed since the
// last quiet moment: they do not speak for it.
func (m *machine) isAnother(of target, end sight) bool {
	uids := map[string]bool{end.UID: true}
	for _, moment := range m.history {
		if o := moment.Objects[of.key]; o != nil && !moment.from.After(end.at) && (moment.until.IsZero() || moment.until.After(m.quietAt)) {
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

// isHeldUp reports whether a cluster keeps what it has, for as long as it takes: it is suspended, or an earlier wave
// cannot be given its content or come through with it, or as many of its own as its wave allows at once.
func (m *machine) isHeldUp(world *model.World, of target, there map[string]*unstructured.Unstructured) bool {
	_, like := world.Of(of.key, of.cluster)
	if like.Suspended || !world.InWaves(of.key) {
		return like.Suspended && (world.InWaves(of.key) || isBarred(there[model.WorkKey(of.cluster, of.key)], like))
	}
	number, atOnce := world.WaveOf(of.key, of.cluster)
	beside := 0 // in its own wave, each of those may have the content
	for _, other := range m.clusters {
		state, like := world.Of(of.key, other)
		isStuck := other != of.cluster && (state == model.Stays && like.UID != "" && world.Clusters[other] != nil || m.isContested(target{of.key, other}, there))
		switch wave, _ := world.WaveOf(of.key, other); {
		case isStuck && wave < number:
			return true
		case isStuck && wave == number:
			beside++
		}
	}
	return beside >= atOnce
}

// isBarred reports whether a Work carries an object that was deleted, and that Kubernetes lets no one change into the one that was created
// again: to replace it, its Work is deleted, and of a suspended one nothing new would come.
func isBarred(work *unstructured.Unstructured, like model.Copy) bool {
	has, err := model.CopyOf(cmp.Or(work, &unstructured.Unstructured{}))
	return err == nil && has.UID != like.UID && has.Content.Payload["immutable"] == true && !equality.Semantic.DeepEqual(has.Content.Payload, like.Content.Payload)
}

// judgeHeldUp checks that a Work that is held up has stayed, or stayed suspended, and what takes effect at once.
func (m *machine) judgeHeldUp(of target, want model.Copy, work *unstructured.Unstructured) string {
	if work == nil {
		return m.judgeStaying(of, work)
	}
	if has, err := model.CopyOf(work); err != nil || want.Suspended && !has.Suspended || has.Preserved != want.Preserved {
		return "it is not suspended or preserved as it must be: " + described(work)
	}
	return m.judgeStaying(of, work)
}
