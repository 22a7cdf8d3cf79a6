package bench

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/prometheus/procfs"
)

// sizing is what a daemon needs for so many Works.
type sizing struct {
	footprint
	// limit is the container's memory limit under which a daemon was then started
	// again, in bytes; peak is the most that it has had resident since, and took how long
	// it took until it had seen everything.
	limit, peak float64
	took        time.Duration
}

// measureSizing lets Works grow to 200,000, and then starts a daemon under the limit that
// is recommended for so many.
func measureSizing(ctx context.Context, w *world, r *report) error {
	thousand := pick(w.quick, 10, 1000)
	steps := []step{
		{what: "annotated", add: 5 * thousand, mark: annotated, join: true},
		{what: "annotated", add: 15 * thousand, mark: annotated},
		{what: "annotated", add: 30 * thousand, mark: annotated},
		{what: "annotated", join: true},
		{what: "annotated", join: true},
		{what: "annotated", join: true},
	}
	footprints, err := w.grow(ctx, steps...)
	if err != nil {
		return err
	}
	last := sizing{footprint: footprints[len(footprints)-1]}
	last.limit = limitFor(last.heap)
	if err := w.measureUnderLimit(ctx, &last); err != nil {
		return err
	}
	var rows [][]string
	fullest := 0.0
	for _, f := range footprints {
		fullest = max(fullest, (f.heap+f.besides)/(goShare*limitFor(f.heap)))
		rows = append(rows, []string{fmt.Sprint(f.objects), fmt.Sprint(f.works), fmt.Sprintf("%.0f", f.heap/1e6), fmt.Sprintf("%.0fMi", limitFor(f.heap)/(1<<20))})
	}
	r.table("Memory by size", "Of a daemon with 1 kB ConfigMaps.", []string{"annotated objects", "Works", "heap after a garbage collection, MB", "memory limit"}, rows)
	r.atMost("share of Go's memory limit that is in use under the limit of any row", alertAbove, exactly(fullest))
	r.atMost(fmt.Sprintf("peak of resident memory at %d Works, over that limit", last.works), 1, exactly(last.peak/last.limit))
	w.say("sizing: %d Works under a limit of %.0f MB: at most %.0f MB resident, everything known after %s", last.works, last.limit/1e6, last.peak/1e6, last.took)
	return nil
}

const (
	// goShare is the share of a container's memory limit that the daemon allows Go.
	goShare = 0.9
	// alertAbove is the share of Go's limit above which KarmadaMirrorMemoryHigh fires.
	alertAbove = 0.8
)

// limitFor is the memory limit that is recommended for a heap, in bytes: as much again for
// garbage, of which Go's limit is 90 %, in steps of 128 MiB.
func limitFor(heap float64) float64 {
	const unit = 128 << 20
	units := int(heap*2/goShare/unit) + 1
	return float64(units * unit)
}

// measureUnderLimit starts a daemon with Go's limit for a container's, and waits until it
// knows everything.
func (w *world) measureUnderLimit(ctx context.Context, s *sizing) (err error) {
	w.environment = []string{fmt.Sprintf("GOMEMLIMIT=%.0f", goShare*s.limit)}
	defer func() { w.environment = nil }()
	began := time.Now()
	d, err := w.startDaemon(ctx, serveProfiles...)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, d.Stop()) }()
	if err := d.settled(ctx, s.works); err != nil {
		return err
	}
	s.took = time.Since(began)
	if _, err := d.memory(ctx); err != nil { // for the peak of a garbage collection more
		return err
	}
	if strings.Contains(d.Log(), "a list has stalled") {
		return errors.New("a list has taken too long and was restarted")
	}
	process, err := procfs.NewProc(d.PID())
	if err != nil {
		return err
	}
	status, err := process.NewStatus()
	s.peak = float64(status.VmHWM)
	return err
}
