package bench

import (
	"context"
	"fmt"
	"path/filepath"

	"github.com/karmada-target/karmada-mirror/sandbox/karmada"
)

const revisionsSection = "revisions"

// revision is karmada-mirror compiled from some revision.
type revision struct {
	daemonArm
	title, program string
}

func (r revision) name() string { return r.title }

func (r revision) start(ctx context.Context, w *world, s scenario) (run started, err error) {
	err = w.with(r.program, func() (err error) {
		run, err = r.daemonArm.start(ctx, w, s)
		return err
	})
	return run, err
}

// with lets a function start another program as the daemon.
func (w *world) with(program string, f func() error) error {
	own := w.daemon
	w.daemon = program
	defer func() { w.daemon = own }()
	return f()
}

// compareRevisions compares the daemon with that of an earlier revision: how fast it writes, what a
// restart costs, and what it keeps. Both read the same configuration, and have the rights of this
// revision.
func compareRevisions(ctx context.Context, w *world, r *report) error {
	revisions := []revision{{title: "this revision", program: w.daemon}, {title: filepath.Base(w.earlier), program: w.earlier}}
	var rows [][]string
	for _, s := range []scenario{
		{configMap1k, pick(w.quick, 300, 1_000), 1},
		{configMap1k, pick(w.quick, 150, 500), 2},
		{deployment, pick(w.quick, 100, 333), 3},
		{deployment, pick(w.quick, 3, 10), 100},
	} {
		c, err := w.compare(ctx, s, revisions[0], revisions[1])
		if err != nil {
			return err
		}
		rows = append(rows, []string{
			s.load.name, fmt.Sprint(s.sources), fmt.Sprint(s.clusters),
			c.of(0, outcome.rate).format(0), c.of(1, outcome.rate).format(0), c.over(0, 1, rateOver).format(2),
			c.over(0, 1, cpuOver).format(2), c.over(0, 1, ownCPUOver).format(2), c.over(0, 1, apiServerCPUOver).format(2),
		})
	}
	r.table("Compared with an earlier revision", "They took turns. Works/s are first to last; ratios divide this revision's figure by the earlier one's.",
		[]string{"object", "objects", "clusters", "this, Works/s", "earlier, Works/s", "ratio", "CPU per Work, ratio", "of the daemon alone", "of kube-apiserver alone"}, rows)
	if err := w.compareRestartsOf(ctx, r, revisions); err != nil {
		return err
	}
	return w.compareFootprints(ctx, r, revisions)
}

func ownCPUOver(o, other outcome) float64 {
	return o.cpuOf(daemonArm{}.name()) / other.cpuOf(daemonArm{}.name())
}

func apiServerCPUOver(o, other outcome) float64 {
	return o.cpuOf(karmada.APIServer) / other.cpuOf(karmada.APIServer)
}

// cpuOf returns the seconds of CPU of one process per Work.
func (o outcome) cpuOf(process string) float64 { return o.cpu[process] / float64(o.works) }

// compareRestartsOf compares how long it takes after a restart until every object is synced.
func (w *world) compareRestartsOf(ctx context.Context, r *report, revisions []revision) error {
	s := scenario{configMap1k, w.manyObjects(), 1}
	if err := w.mirrorOnce(ctx, s); err != nil {
		return err
	}
	var ratios []float64
	for repetition := range w.repetitions {
		took := make([]float64, len(revisions))
		for turn := range revisions {
			i := (turn + repetition) % len(revisions)
			err := w.with(revisions[i].program, func() error {
				toReady, toSync, writes, err := w.restart(ctx, s)
				w.say("restart of %s with %s: ready after %s, everything synced after %s, %d writes", revisions[i].title, s, toReady, toSync, writes)
				took[i] = toSync.Seconds()
				return err
			})
			if err != nil {
				return err
			}
		}
		ratios = append(ratios, took[0]/took[1])
	}
	r.measured(fmt.Sprintf("restart with %s until all is synced, ÷ that of the earlier revision", s), "%s", summarize(ratios).format(2))
	return nil
}

// compareFootprints compares what the daemons keep of objects and Works.
func (w *world) compareFootprints(ctx context.Context, r *report, revisions []revision) error {
	var rows [][]string
	for _, revision := range revisions {
		err := w.with(revision.program, func() error {
			stubs, sources, err := w.growBoth(ctx)
			if err != nil {
				return err
			}
			each := keptOf(stubs, sources)
			rows = append(rows, []string{revision.title, fmt.Sprintf("%.0f", each.stub), fmt.Sprintf("%.0f", each.source), fmt.Sprintf("%.0f", each.work)})
			return nil
		})
		if err != nil {
			return err
		}
	}
	r.table("Heap, compared with an earlier revision", fmt.Sprintf("With %d ConfigMaps of 1 kB, after a garbage collection.", w.manyObjects()),
		[]string{"daemon", "bytes per object without annotation", "bytes per annotated object", "bytes per Work"}, rows)
	return nil
}
