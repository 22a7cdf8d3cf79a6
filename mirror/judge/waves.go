package judge

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/karmada-target/karmada-mirror/mirror/state"
	"github.com/karmada-target/karmada-mirror/render"
)

// DefaultLeastBake is the usual LeastBake.
const DefaultLeastBake = 10 * time.Second

// Rollout is how far the content of a source in waves has come. It follows from what the Works are
// now: only times are remembered.
type Rollout struct {
	// Waves are those with clusters that count, in order. Of is the number of the last.
	Waves []Wave
	Of    int
	// BakesIn is when some cluster will have been healthy for long enough; 0 if none is.
	BakesIn time.Duration
	// Since is the last progress: when the source, or a Work with its content, was written, or when the turn
	// came of a wave that is being written.
	Since time.Time
	// AwaitsApplied: some wave waits for Karmada to be seen to apply a Work.
	AwaitsApplied bool
	// RestsOn are the clusters whose Works, and whether they are ready, content rests on that is to be written now, as far
	// as an old cache may not show what has become of them; nil if none is written.
	RestsOn []string
	// turn is when the last cluster came through, or came back.
	turn time.Time
}

// Wave is how far one wave has come.
type Wave struct {
	// Number counts the waves of the annotation from 1; Text is what the user has written there.
	Number int
	Text   string
	// Clusters are those that count, sorted, and Done is how many of them have come through.
	Clusters []string
	Done     int
	// Waits are for what the wave waits, by cluster; empty if it has come through.
	Waits []Wait
}

// Wait is a cluster that has not come through, why, and what Karmada reports of it, if that says more.
type Wait struct {
	Cluster, Because, Reported string
	// Leaves: it is no longer asked for, and its Work is still there. It was well there, is held, or is out of reach.
	Leaves bool
}

// because returns why the cluster has not come through, as it is reported.
func (w Wait) because() string {
	if w.Reported == "" {
		return w.Because
	}
	return fmt.Sprintf("%s (Karmada reports: %s)", w.Because, w.Reported)
}

// IsDone reports whether the next wave may begin.
func (w Wave) IsDone() bool { return len(w.Waits) == 0 }

// String names a wave and for what it waits.
func (w Wave) String() string { return w.tell(func(wait Wait) string { return wait.Because }) }

func (w Wave) tell(why func(Wait) string) string {
	name := fmt.Sprintf("wave %d (%s)", w.Number, w.Text)
	if w.IsDone() {
		return name
	}
	var waits []string
	for _, wait := range w.Waits[:min(len(w.Waits), maxListed)] {
		waits = append(waits, wait.Cluster+" "+why(wait))
	}
	if more := len(w.Waits) - maxListed; more > 0 {
		waits = append(waits, fmt.Sprintf("and %d others", more))
	}
	return name + " waits: " + strings.Join(waits, ", ")
}

// maxListed is how many clusters a message names, and maxText how much it shows of a wave.
const (
	maxListed = 5
	maxText   = 60
)

// noteOn says in which wave a cluster is; empty for none.
func (r *Rollout) noteOn(cluster string) string {
	if r == nil {
		return ""
	}
	for _, w := range r.Waves {
		if !slices.Contains(w.Clusters, cluster) {
			continue
		}
		note := fmt.Sprintf("it is in wave %d of %d: %d of %d clusters are done", w.Number, r.Of, w.Done, len(w.Clusters))
		for _, wait := range w.Waits {
			if wait.Cluster == cluster {
				note += ", and it " + wait.because()
			}
		}
		return note
	}
	return ""
}

// Current returns the first wave that has not come through; nil if all have.
func (r *Rollout) Current() *Wave {
	if r == nil {
		return nil
	}
	for i := range r.Waves {
		if !r.Waves[i].IsDone() {
			return &r.Waves[i]
		}
	}
	return nil
}

// stage is how far a cluster has come.
type stage int

const (
	// Without a stage, a cluster counts for nothing: what it has neither opens nor closes a wave.
	_ stage = iota
	// stuck counts, and nothing can be written there now.
	stuck
	// pending lacks the content, and can be given it.
	pending
	// underWay has the content, and has not come through with it.
	underWay
	// through has come through.
	through
)

// place is where a cluster stands.
type place struct {
	cluster string
	stage   stage
	// counts: the wave waits for it, which is not so if it is suspended. What is written to a
	// suspended Work would take effect later, whatever the waves have found out by then, so it is
	// passed over, like one that isAway, which is not ready.
	counts, isAway bool
	// isWritten: it is being written, or just was. leaves is that of its Wait. mayHave: it is stuck, and may have the
	// content without having come through with it. had: it is pending, and had the content until another user changed its
	// Work. hasOlder: it is pending, and has older content. isTaken: it is away, and may have had the content before, and
	// isLate: it went long after. turn is when it came through or, before that, came back.
	isWritten, leaves, mayHave, had, hasOlder, isTaken, isLate bool

	turn     time.Time
	because  string
	reported string
	bakesIn  time.Duration
}

// inWaves reports whether the source reaches its clusters in waves.
func (f Facts) inWaves() bool { return !f.Source.Waves.IsEmpty() && !f.AllAtOnce }

// rollOut holds back what it is not the turn of: for each source in waves, a cluster gets new content
// once the waves before its own have come through, and its wave has room for it. A held cluster is
// Unknown, so that whatever it has stays.
func rollOut(f Facts, renderings *renderings, v *Verdict) {
	if f.Unknown != "" || f.Source == nil || !f.inWaves() {
		return
	}
	r := &Rollout{Since: f.Source.Written}
	blockedBy, areLeft, isGiven, out := "", true, false, []place(nil)
	waves := placesOf(f, renderings, *v)
	r.AwaitsApplied = v.demandApplied(f, waves)
	for i, places := range waves {
		wave := newWave(f.Source.Waves.At(i), i, places)
		room, left := wave.roomIn(places, f.Source.Waves.At(i).AtOnce(len(wave.Clusters)))
		for k, p := range places {
			isNew := f.Works[p.cluster] == nil && f.Vanished[p.cluster] == nil // what is left elsewhere waits for it
			switch {
			case p.stage != pending:
			case p.had: // its place is counted
				v.letThrough(p.cluster, "another user has edited or deleted the Work")
				places[k].isWritten = true
			case !p.isAway && p.counts && (blockedBy == "" && room > 0 || isNew && areLeft && room+left > 0):
				room--
				places[k].isWritten, isGiven = true, true
			default:
				v.hold(f, p.cluster, whyHeld(wave, blockedBy, p))
				out = append(out, p)
			}
		}
		r.add(wave, places)
		if blockedBy == "" {
			r.noteTurn(places)
		}
		if blockedBy == "" && !wave.IsDone() {
			blockedBy = wave.String()
		}
		areLeft = areLeft && !slices.ContainsFunc(wave.Waits, func(w Wait) bool { return !w.Leaves })
	}
	for _, p := range out {
		v.repair(f, p.cluster)
	}
	if isGiven {
		r.RestsOn = restsOn(f, waves)
	}
	r.noteProgress(f, *v)
	v.Rollout = r
}

// maxCacheAge is how long a watch may lag unnoticed: client-go asks for one of 5 to 10 minutes, and then for the next.
// maxReads is how many Works are read before content is written that rests on them.
const (
	maxCacheAge = 10 * time.Minute
	maxReads    = 100
)

// restsOn returns the clusters that have come through, or leave their place to others, and those that take a place in a
// wave with a limit if the cache does not show that they were written. Of very many, it returns those that a cache that lags
// shows wrongly for certain: those that have come through since it may have been right.
func restsOn(f Facts, waves [][]place) (all []string) {
	var lately []string
	for i, places := range waves {
		isLimited := f.Source.Waves.At(i).AtOnce(len(places)) < len(places)
		for _, p := range places {
			if p.leaves || p.stage == through && f.Now.Sub(p.turn) < maxCacheAge {
				lately = append(lately, p.cluster)
			}
			if p.leaves || p.stage == through || isLimited && p.hasOlder && !p.isWritten && !p.isAway {
				all = append(all, p.cluster)
			}
		}
	}
	if len(all) > maxReads {
		return lately
	}
	return all
}

// placesOf returns where the clusters stand, by wave, sorted.
func placesOf(f Facts, r *renderings, v Verdict) [][]place {
	waves := make([][]place, f.Source.Waves.Len())
	for _, cluster := range slices.Sorted(maps.Keys(v.Targets)) {
		p := placeOf(f, r, cluster, v.Targets[cluster])
		i := f.Source.Waves.Of(cluster, f.Clusters[cluster].Labels)
		waves[i] = append(waves[i], p)
	}
	return waves
}

func placeOf(f Facts, r *renderings, cluster string, target Target) place {
	facts, w := f.Clusters[cluster], f.Works[cluster]
	p := place{cluster: cluster, isAway: facts.Away, counts: true, isWritten: facts.WriteUnderWay, turn: facts.Recovery.At}
	switch {
	case facts.WriteUnderWay:
		p.stage, p.because = underWay, "has just been written"
	case w != nil && w.IsOursFor(f.ID) && !w.Terminating && (target.Unproven || target.Decision == Unwanted): // by a mistake, perhaps
		p.stage, p.because = stuck, "is no longer asked for, and its Work is still there"
		p.leaves, p.mayHave = f.lets(w, r.isOlder(w)), !r.isOlder(w)
	case target.Decision != Wanted && !isPending(f, cluster, target):
		return place{cluster: cluster}
	case target.Decision != Wanted:
		p.stage, p.because = stuck, "cannot be written: "+target.Because
		p.mayHave = w != nil && w.Source == f.ID && !r.isOlder(w) && !f.lets(w, false)
	case w != nil && w.Terminating:
		p.stage, p.because, p.mayHave = stuck, "is still being deleted", !target.lacksContent(w)
	case target.lacksContent(w), w.State == state.WorkSuspended && !target.isSuspended():
		p.stage, p.because, p.counts, p.hasOlder = pending, "has not been written", !target.isSuspended(), w != nil
		if p.had = !p.isAway && p.counts && f.hadContent(cluster, target); p.hasOlder && !p.had && f.Changed[cluster] {
			p.stage, p.because, _ = f.judgeWork(w)
		}
	case target.isSuspended():
		return place{cluster: cluster}
	default:
		p.stage, p.because, p.bakesIn = f.judgeWork(w)
		p.reported = w.Trouble()
		if p.stage == through {
			p.turn = f.Now.Add(p.bakesIn)
		}
	}
	if p.isAway && w != nil {
		p.isTaken = p.stage == underWay || p.mayHave
		p.isLate = facts.AwaySince.After(w.Written().Add(f.Source.Waves.Bake + f.Source.Waves.Deadline))
	}
	return p
}

// isOlder reports whether a Work surely has other content than its source now. That is not known of one whose content differs
// by cluster: by which labels it was made, for example.
func (r *renderings) isOlder(w *state.Work) bool {
	s := r.f.Source
	if s.Differences.Expand || r.f.Scale != nil || len(r.f.Policies) > 0 || w.Foreign != "" {
		return false
	}
	rendering, err := r.of(w.Cluster)
	return err == nil && rendering != nil && Target{Rendering: rendering}.lacksContent(w)
}

// lets reports whether a Work that goes may leave its cluster's place to another: it has older content, or has come through
// with what it has. One that is away cannot be seen to; it was well for long enough before.
func (f Facts) lets(w *state.Work, isOlder bool) bool {
	s, _, _ := f.judgeWork(w)
	facts := f.Clusters[w.Cluster]
	_, isUnshown := f.Unshown[w.Cluster]
	switch {
	case f.Changed[w.Cluster]:
		return false
	case isOlder:
		return w.IsWell() || w.Held != nil || facts.Away
	case facts.Away:
		return w.IsWell() && !isUnshown && (w.Held != nil || facts.AwaySince.After(w.Written().Add(f.bakeOf(w))))
	}
	return s == through && !isUnshown
}

// judgeWork returns how far a Work has come that has the content. A bake that is over ends in less than 0.
func (f Facts) judgeWork(w *state.Work) (s stage, because string, bakesIn time.Duration) {
	bake := f.bakeOf(w)
	steady, isSteady := f.Steady[w.Cluster]
	switch {
	case f.Changed[w.Cluster]:
		return underWay, "has changed, and the watch of Works does not show it", 0
	case w.State != state.WorkApplied:
		return underWay, "has not been applied", 0
	case !w.IsWell():
		return underWay, "is not healthy, or has not rolled it out", 0
	case !isSteady || steady < bake:
		return underWay, "has not been healthy for " + bake.String() + " yet", bake - steady
	}
	return through, "", bake - steady
}

// bakeOf returns for how long a Work must be well.
func (f Facts) bakeOf(w *state.Work) time.Duration {
	if !w.HasRolledOut() || f.Undated[w.Cluster] {
		return max(f.Source.Waves.Bake, f.LeastBake)
	}
	return f.Source.Waves.Bake
}

// isSuspended reports whether Karmada does not apply the Work.
func (t Target) isSuspended() bool { return t.Rendering != nil && t.options.Suspend }

// lacksContent reports whether a Work is still to get the content of its source, apart from what takes
// effect at once.
func (t Target) lacksContent(w *state.Work) bool {
	return w == nil || w.Foreign != "" || !w.IsMadeFrom(t.UID()) || !t.isIn(w) && !(w.IsAltered() && w.Notes().Written == t.notes.Written)
}

func newWave(of render.Wave, i int, places []place) Wave {
	w := Wave{Number: i + 1, Text: of.Text}
	if len(w.Text) > maxText { // it has no letters of several bytes
		w.Text = w.Text[:maxText] + "…"
	}
	for _, p := range places {
		if p.counts {
			w.Clusters = append(w.Clusters, p.cluster)
		}
	}
	return w.waitFor(places)
}

// waitFor notes for which clusters a wave waits. Those that are away hold up nothing, unless all are.
func (w Wave) waitFor(places []place) Wave {
	isAway := func(p place) bool { return p.isAway || !p.counts }
	areAway := !slices.ContainsFunc(places, func(p place) bool { return !isAway(p) })
	for _, p := range places {
		switch {
		case !p.counts:
		case p.isAway && areAway:
			w.Waits = append(w.Waits, Wait{Cluster: p.cluster, Because: "is away, like all of the wave", Leaves: p.leaves})
		case p.stage == through:
			w.Done++
		case !p.isAway:
			w.Waits = append(w.Waits, Wait{p.cluster, p.because, p.reported, p.leaves})
		}
	}
	return w
}

// roomIn returns how many clusters of a wave may be given content, and how many more once those have gone that are no
// longer asked for. One that is away leaves its place to another, unless the content may be what took it away: more than
// the limit went soon after they got it, or while another still had older content, and none is done. The wave waits for
// them then.
func (w *Wave) roomIn(places []place, atOnce int) (room, left int) {
	room = atOnce
	var taken []Wait
	isUnderWay := slices.ContainsFunc(places, func(p place) bool { return p.hasOlder && p.counts && !p.isAway })
	for _, p := range places {
		switch {
		case !p.counts:
		case p.isTaken && (isUnderWay || !p.isLate):
			taken = append(taken, Wait{Cluster: p.cluster, Because: "is away since it got the content"})
		case p.isAway:
		case p.stage == underWay, p.mayHave, p.had:
			room--
			if p.leaves {
				left++
			}
		}
	}
	if w.Done == 0 && len(taken) > atOnce {
		w.Waits = append(taken, w.Waits...)
		return 0, 0
	}
	return room, left
}

func whyHeld(w Wave, blockedBy string, p place) string {
	switch {
	case blockedBy != "":
		return fmt.Sprintf("it is in wave %d, and %s", w.Number, blockedBy)
	case p.isAway:
		return fmt.Sprintf("wave %d passes over it until it is ready", w.Number)
	case !p.counts:
		return fmt.Sprintf("wave %d passes over it until it is no longer suspended", w.Number)
	}
	return fmt.Sprintf("wave %d (%s) goes on once fewer of its clusters are under way or away", w.Number, w.Text)
}

// hold makes the decision on a cluster wait. What does not depend on the content is written all the
// same.
func (v *Verdict) hold(f Facts, cluster, because string) {
	t, w := v.Targets[cluster], f.Works[cluster]
	t.Decision, t.Because, t.Waits = Unknown, because, true
	if w != nil && w.Source == f.ID && w.Foreign == "" {
		t.Adjust = w.Held != nil || !w.IsComplete() || !hasOptions(w, t.options)
	}
	v.Targets[cluster] = t
}

// add appends a wave for which some cluster counts.
func (r *Rollout) add(w Wave, places []place) {
	if len(w.Clusters) > 0 {
		r.Waves, r.Of = append(r.Waves, w), w.Number
	}
	for _, p := range places {
		if p.bakesIn > 0 && (r.BakesIn == 0 || p.bakesIn < r.BakesIn) {
			r.BakesIn = p.bakesIn
		}
	}
}
