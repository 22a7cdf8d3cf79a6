package bench

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/karmada-target/karmada-mirror/sandbox/karmada"
)

// comparison holds the outcomes of arms that took turns: for each repetition, in the order
// of the arms.
type comparison struct {
	scenario
	repetitions [][]outcome
}

// compare runs arms in turns, so that other load on the machine affects all of them alike.
func (w *world) compare(ctx context.Context, s scenario, arms ...arm) (comparison, error) {
	return w.compareTimes(ctx, w.repetitions, s, arms...)
}

func (w *world) compareTimes(ctx context.Context, repetitions int, s scenario, arms ...arm) (comparison, error) {
	c := comparison{scenario: s}
	if err := w.joinClusters(ctx, s.clusters); err != nil {
		return c, err
	}
	for repetition := range repetitions {
		outcomes := make([]outcome, len(arms))
		for turn := range arms {
			i := (turn + repetition) % len(arms)
			began := time.Now()
			var err error
			if outcomes[i], err = w.run(ctx, arms[i], s); err != nil {
				return c, fmt.Errorf("%s, %s: %w", s, arms[i].name(), err)
			}
			w.say("%s, %d of %d, %s: %.0f Works/s first to last, %.0f start to last, %.2f ms of CPU per Work (took %s)",
				s, repetition+1, repetitions, outcomes[i].arm, outcomes[i].rate(), outcomes[i].wholeRate(), 1000*outcomes[i].cpuPerWork(), time.Since(began).Round(100*time.Millisecond))
		}
		c.repetitions = append(c.repetitions, outcomes)
	}
	return c, nil
}

// of summarizes a figure of one arm, and over a figure of two arms in the same repetition.
func (c comparison) of(arm int, figure func(outcome) float64) summary {
	return c.over(arm, arm, func(o, _ outcome) float64 { return figure(o) })
}

func (c comparison) over(arm, other int, figure func(o, other outcome) float64) summary {
	var figures []float64
	for _, outcomes := range c.repetitions {
		figures = append(figures, figure(outcomes[arm], outcomes[other]))
	}
	return summarize(figures)
}

func rateOver(o, other outcome) float64      { return o.rate() / other.rate() }
func wholeRateOver(o, other outcome) float64 { return o.wholeRate() / other.wholeRate() }
func cpuOver(o, other outcome) float64       { return o.cpuPerWork() / other.cpuPerWork() }

// bareAndMirror are the two arms that every comparison with the loop has; the constants
// below are their indexes.
var bareAndMirror = []arm{loop{}, daemonArm{}}

const (
	bare = iota
	mirrored
	// watching is compared only for Deployments.
	watching
)

// againstLoop is a comparison with the bare loop. The report judges every one of them.
type againstLoop struct {
	comparison
	// variant is what differs from the other comparisons; empty if nothing does.
	variant string
}

// compareWithLoop lets karmada-mirror, the bare loop and others take turns.
func (w *world) compareWithLoop(ctx context.Context, r *report, variant string, repetitions int, s scenario, others ...arm) (comparison, error) {
	c, err := w.compareTimes(ctx, repetitions, s, slices.Concat(bareAndMirror, others)...)
	if err != nil {
		return c, err
	}
	r.againstLoop = append(r.againstLoop, againstLoop{c, variant})
	return c, nil
}

// throughput compares karmada-mirror with the bare loop.
func throughput(ctx context.Context, w *world, r *report) error {
	works := pick(w.quick, 600, 1000)
	var scenarios []scenario
	add := func(load workload, works int, clusters ...int) {
		for _, n := range clusters {
			scenarios = append(scenarios, scenario{load, max(1, works/n), n})
		}
	}
	if w.quick {
		add(configMap1k, works, 2, 100)
		add(deployment, works, 3)
	} else {
		add(configMap1k, works, 1, 2, 3, 10, 100)
		add(deployment, works, 2, 3, 100)
		add(configMap100k, works/5, 2)
		add(widget, works, 2)
	}
	var all []comparison
	for _, s := range scenarios {
		var others []arm
		if s.load.name == deployment.name {
			others = []arm{loop{watches: true}}
		}
		c, err := w.compareWithLoop(ctx, r, "", w.repetitions, s, others...)
		if err != nil {
			return err
		}
		all = append(all, c)
	}
	r.kinds = all
	reportCosts(r, all)
	reportWatching(r, all)
	judgeRequests(r, all)
	return plotThroughput(r, all)
}

func reportCosts(r *report, all []comparison) {
	var rows [][]string
	for _, c := range all {
		for arm, name := range []string{"bare loop", "karmada-mirror"} {
			row := []string{c.load.name, fmt.Sprint(c.clusters), name}
			for _, process := range []string{name, karmada.APIServer, karmada.Etcd, karmada.Webhook} {
				row = append(row, c.of(arm, func(o outcome) float64 { return 1000 * o.cpu[process] / float64(o.works) }).format(2))
			}
			rows = append(rows, append(row, c.of(arm, kilobytes).format(1)))
		}
	}
	r.table("CPU and etcd log per Work", "CPU is in milliseconds per Work; the log is what etcd writes for it.",
		[]string{"object", "clusters", "writer", "writer, ms", "kube-apiserver, ms", "etcd, ms", "karmada-webhook, ms", "etcd log, kB"}, rows)
}

func kilobytes(o outcome) float64 { return o.logged() / 1000 }

// reportWatching reports what it costs to also watch the Works.
func reportWatching(r *report, all []comparison) {
	var rows [][]string
	for _, c := range all {
		if c.load.name != deployment.name {
			continue
		}
		rows = append(rows, []string{
			c.load.name, fmt.Sprint(c.clusters),
			c.over(watching, bare, rateOver).format(2), c.over(watching, bare, cpuOver).format(2),
			c.over(mirrored, watching, rateOver).format(2), c.over(mirrored, watching, cpuOver).format(2),
		})
	}
	r.table("The cost of watching the Works", "The watching loop is a bare loop that also watches its Works, and discards the events. Works/s are first to last, CPU is per Work.",
		[]string{"object", "clusters", "watching ÷ bare loop, Works/s", "watching ÷ bare loop, CPU", "karmada-mirror ÷ watching loop, Works/s", "karmada-mirror ÷ watching loop, CPU"}, rows)
}

// judgeRequests judges the requests for creates: one per Work, and no reads.
func judgeRequests(r *report, all []comparison) {
	var writes, reads []float64
	for _, c := range all {
		for _, outcomes := range c.repetitions {
			o := outcomes[mirrored]
			writes = append(writes, float64(writesOf(o.requests))/float64(o.works))
			reads = append(reads, float64(readsOf(o.requests))/float64(o.works))
		}
	}
	r.never("write requests per created Work", 1, summarize(writes))
	r.never("read requests per created Work", 0, summarize(reads))
}

// describeRequests lists the requests per source; rarer ones than one per hundred sources
// are omitted.
func (o outcome) describeRequests() string {
	return listRequests(o.requests, func(n int) string {
		if each := float64(n) / float64(o.sources); each >= 0.01 {
			return fmt.Sprintf("%.2f", each)
		}
		return ""
	})
}

// listRequests lists requests by verb and resource, with a number for each; a request whose
// number is empty is omitted.
func listRequests(requests map[string]int, number func(n int) string) string {
	var parts []string
	for _, what := range slices.Sorted(maps.Keys(requests)) {
		if n := number(requests[what]); n != "" {
			if strings.HasSuffix(what, " ") { // a request for a URL, such as discovery
				what += "(no resource)"
			}
			parts = append(parts, what+" "+n)
		}
	}
	return strings.Join(parts, ", ")
}

func plotThroughput(r *report, all []comparison) error {
	var lines []line
	for _, load := range []workload{configMap1k, deployment} {
		for arm, name := range []string{"bare loop", "karmada-mirror"} {
			l := line{name: load.name + ", " + name}
			for _, c := range all {
				if c.load.name == load.name {
					l.add(float64(c.clusters), c.of(arm, outcome.rate).median)
				}
			}
			lines = append(lines, l)
		}
	}
	return r.plot("throughput.svg", "Works per second by the number of clusters", "Works per second", "clusters", "Works/s", true, lines...)
}
