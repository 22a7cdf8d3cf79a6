package judge

import (
	"fmt"
	"slices"
	"time"

	"github.com/karmada-target/karmada-mirror/mirror/state"
	"github.com/karmada-target/karmada-mirror/render"
	"github.com/karmada-target/karmada-mirror/render/aggregate"
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
	return name + " waits: " + w.tellWaits(why)
}

// WaitsFor says for what a wave waits.
func (w Wave) WaitsFor() string { return w.tellWaits(func(wait Wait) string { return wait.Because }) }

func (w Wave) tellWaits(why func(Wait) string) string {
	var waits []string
	for _, wait := range w.Waits {
		waits = append(waits, wait.Cluster+" "+why(wait))
	}
	return aggregate.SomeOf(waits)
}

// maxText is how much a message shows of a wave.
const maxText = 60

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

// IsUnderWay reports whether the content of a Work may change, or come back, in waves. Of a source that is refused, or of which
// nothing can be known, only its Work tells whether it has waves.
func (j Judgement) IsUnderWay(w *state.Work) bool {
	s, t := j.Facts.Source, j.Verdict.Targets[w.Cluster]
	switch {
	case j.Facts.Unwatched, s != nil && s.Refusal != nil:
		return w.Notes().Written != ""
	case j.Facts.Unknown != "":
		return true
	case s == nil || !s.Asks || !j.Facts.inWaves():
		return false
	}
	return t.Waits || t.Rendering != nil && t.lacksContent(w) || j.Verdict.Rollout.Current() != nil
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
		atOnce := f.Source.Waves.At(i).AtOnce(len(wave.Clusters))
		room, left, busy := wave.roomIn(places, atOnce)
		again := roomAgain(places, atOnce)
		for k, p := range places {
			free := room
			if !p.isBusy {
				free -= busy
			}
			isNew := f.Works[p.cluster] == nil && f.Vanished[p.cluster] == nil // what is left elsewhere waits for it
			switch {
			case p.isAltered && (p.isAway || blockedBy != "" || again <= 0):
				v.hold(f, p.cluster, whyHeld(wave, blockedBy, p))
			case p.isAltered:
				again--
				places[k].isWritten, isGiven = true, true
			case p.stage != pending:
			case p.had: // its place is counted
				v.letThrough(p.cluster, f.whyGone(p.cluster))
				places[k].isWritten = true
			case !p.isAway && p.counts && !p.mayHave && (blockedBy == "" && free > 0 || isNew && areLeft && free+left > 0):
				room--
				if p.isBusy {
					busy--
				}
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
	for cluster := range f.Vanished {
		if f.Works[cluster] == nil && (v.Targets[cluster].Decision == Wanted || v.Targets[cluster].from != nil) && !slices.Contains(r.RestsOn, cluster) { // it may have left with its cluster
			r.RestsOn = append(r.RestsOn, cluster)
		}
	}
	r.noteProgress(f, *v)
	v.Rollout = r
}

func newWave(of render.Wave, i int, places []place) Wave {
	w := Wave{Number: i + 1, Text: of.Text}
	if len(w.Text) > maxText { // it is ASCII
		w.Text = w.Text[:maxText] + "…"
	}
	for _, p := range places {
		if p.counts {
			w.Clusters = append(w.Clusters, p.cluster)
		}
	}
	slices.Sort(w.Clusters)
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
			w.Waits = append(w.Waits, Wait{Cluster: p.cluster, Because: "is not ready, like every cluster of its wave", Leaves: p.leaves})
		case p.stage == through:
			w.Done++
		case !p.isAway:
			w.Waits = append(w.Waits, Wait{p.cluster, p.because, p.reported, p.leaves})
		}
	}
	return w
}

// roomIn returns how many clusters of a wave may be given content, how many more once those have gone that are no longer
// asked for, and for how many of them it is kept, which have not come through with what they have. One that is away leaves
// its place to another, unless the content may be what took it away: more than the limit went soon after they got it, or
// while another still had older content, and none is done. The wave waits for them then.
func (w *Wave) roomIn(places []place, atOnce int) (room, left, busy int) {
	room = atOnce
	var taken []Wait
	isUnderWay := slices.ContainsFunc(places, func(p place) bool { return p.hasOlder && p.counts && !p.isAway })
	for _, p := range places {
		switch {
		case !p.counts:
		case p.isAway && p.isTaken() && (isUnderWay || !p.wentLate):
			taken = append(taken, Wait{Cluster: p.cluster, Because: "is away since it got the content"})
		case p.isAway:
		case p.isTaken():
			room--
			if p.leaves {
				left++
			}
		case p.isBusy:
			busy++
		}
	}
	if w.Done == 0 && len(taken) > atOnce {
		w.Waits = append(taken, w.Waits...)
		return 0, 0, 0
	}
	return room, left, busy
}

// roomAgain returns how many clusters of a wave may be written again that have the content, as admission has altered it.
func roomAgain(places []place, atOnce int) int {
	for _, p := range places {
		if p.isTaken() && !p.isAltered && !p.isAway {
			atOnce--
		}
	}
	return atOnce
}

func whyHeld(w Wave, blockedBy string, p place) string {
	switch {
	case blockedBy != "":
		return fmt.Sprintf("it is in wave %d, and %s", w.Number, blockedBy)
	case p.isAway:
		return fmt.Sprintf("skipped by wave %d until it is ready", w.Number)
	case !p.counts:
		return fmt.Sprintf("skipped by wave %d until it is no longer suspended", w.Number)
	}
	return fmt.Sprintf("wave %d (%s) goes on once fewer of its clusters are under way or away", w.Number, w.Text)
}

// hold makes the decision on a cluster wait. What does not depend on the content is written all the
// same. A wanted Work of another owner is one to take back.
func (v *Verdict) hold(f Facts, cluster, because string) {
	t, w := v.Targets[cluster], f.Works[cluster]
	t.Decision, t.Because, t.Waits = Unknown, because, true
	t.adjusts = w != nil && (w.Foreign != "" || w.Held != nil || !w.IsComplete() || !hasOptions(w, t.options))
	v.Targets[cluster] = t
}

// add appends a wave for which some cluster counts.
func (r *Rollout) add(w Wave, places []place) {
	if len(w.Clusters) > 0 {
		r.Waves, r.Of = append(r.Waves, w), w.Number
	}
	for _, p := range places {
		r.BakesIn = Sooner(r.BakesIn, p.bakesIn)
	}
}
