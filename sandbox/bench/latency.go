package bench

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"github.com/karmada-target/karmada-mirror/mirror/judge"
	"github.com/karmada-target/karmada-mirror/render"
)

// steadyRate is how many sources are created per second.
const steadyRate = 50

// turn is how many objects an arm of the latency benchmark gets before the other's turn: one
// second's worth.
const turn = steadyRate

// compareLatency compares the time from a source to its Work with that of a bare
// POST of the Work.
func compareLatency(ctx context.Context, w *world, r *report) error {
	s := scenario{configMap1k, pick(w.quick, 250, 500), 1}
	if err := w.joinClusters(ctx, s.clusters); err != nil {
		return err
	}
	var posts, works latencies
	var over, over99 []float64
	for range w.repetitions {
		p, l, err := w.latencies(ctx, s)
		if err != nil {
			return err
		}
		w.say("bare POST %s; annotated object to Work %s", p, l)
		over = append(over, l.quantile(0.5)/p.quantile(0.5))
		over99 = append(over99, l.quantile(0.99)/p.quantile(0.99))
		posts, works = append(posts, p...), append(works, l...)
	}
	slices.Sort(posts)
	slices.Sort(works)
	r.latency = works
	r.measured(fmt.Sprintf("object to Work, at %d objects/s, 1 kB ConfigMaps, one cluster", steadyRate), "%s", works)
	r.measured("bare POST of the Work to its response, taking turns with the above every second", "%s", posts)
	r.measured("object to Work ÷ bare POST, in the same run", "p50 %s, p99 %s", summarize(over).format(2), summarize(over99).format(2))
	r.atMost(fmt.Sprintf("p50 from object to Work ÷ p50 of a bare POST, at %d objects/s", steadyRate), 3, summarize(over))
	return r.plot("latency.svg", fmt.Sprintf("Distribution of the latency at %d objects a second", steadyRate), fmt.Sprintf("Latency at %d objects a second", steadyRate), "milliseconds", "share that is done", true,
		distribution("bare POST", posts), distribution("from the object to its Work", works))
}

// distribution returns the cumulative distribution of latencies.
func distribution(name string, l latencies) line {
	drawn := line{name: name}
	for i := 1; i < 200; i++ {
		q := float64(i) / 200
		drawn.add(1000*l.quantile(q), q)
	}
	return drawn
}

// paced calls do for each of n numbers at a given rate, each in a goroutine of its own, so
// that a slow call does not delay the others.
func paced(ctx context.Context, n int, perSecond float64, do func(i int) error) error {
	ticker := time.NewTicker(time.Duration(float64(time.Second) / perSecond))
	defer ticker.Stop()
	results := make(chan error, n)
	for i := range n {
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
		go func() { results <- do(i) }()
	}
	var errs []error
	for range n {
		errs = append(errs, <-results)
	}
	return errors.Join(errs...)
}

// latencies lets bare POSTs and annotated sources take turns beside one daemon, and measures
// both.
func (w *world) latencies(ctx context.Context, s scenario) (posts, works latencies, err error) {
	if err := w.reset(ctx); err != nil {
		return nil, nil, err
	}
	if err := w.configure(ctx, s.load.resource); err != nil {
		return nil, nil, err
	}
	d, err := w.startDaemon(ctx)
	if err != nil {
		return nil, nil, err
	}
	defer func() { err = errors.Join(err, d.Stop()) }()
	eyes, err := observe(ctx, w.Config(), nil, s.load.resource, worksResource)
	if err != nil {
		return nil, nil, err
	}
	defer eyes.stop()
	client, err := loopClient(w.kubeconfig)
	if err != nil {
		return nil, nil, err
	}
	posts = make(latencies, s.sources)
	create := func(i int) error { return w.createSources(ctx, s.load, i, 1, annotated) }
	post := func(i int) (err error) {
		posts[i], err = timedPost(ctx, client, s, i)
		return err
	}
	// The first Work after a start is about a tenth of a second late, and does not belong to
	// a steady rate.
	if err := create(s.sources); err != nil {
		return nil, nil, err
	}
	appeared := s.clusters
	if err := eyes.await(ctx, worksResource, appeared); err != nil {
		return nil, nil, err
	}
	for i, t := range turns(s.sources) {
		arms := []struct {
			works int
			do    func(int) error
		}{{t.n * s.clusters, create}, {t.n, post}}
		if i%2 == 1 {
			slices.Reverse(arms)
		}
		for _, arm := range arms {
			err := paced(ctx, t.n, steadyRate, func(i int) error { return arm.do(t.first + i) })
			if err != nil {
				return nil, nil, err
			}
			appeared += arm.works
			if err := eyes.await(ctx, worksResource, appeared); err != nil {
				return nil, nil, err
			}
		}
	}
	slices.Sort(posts)
	works, err = s.latencies(eyes)
	return posts, works, err
}

// portion is a range of numbers.
type portion struct{ first, n int }

// turns divides n objects into turns.
func turns(n int) []portion {
	var portions []portion
	for first := 0; first < n; first += turn {
		portions = append(portions, portion{first, min(turn, n-first)})
	}
	return portions
}

func (s scenario) latencies(eyes *observer) (latencies, error) {
	sources, works := eyes.times(s.load.resource), eyes.times(worksResource)
	var l latencies
	for i := range s.sources {
		name := sourceName(i)
		begin, ok := sources[types.NamespacedName{Namespace: namespace, Name: name}]
		if !ok {
			return nil, fmt.Errorf("source %s was never seen", name)
		}
		var last time.Time
		for _, work := range s.worksOf(name) {
			if works[work].After(last) {
				last = works[work]
			}
		}
		l = append(l, max(0, last.Sub(begin)))
	}
	slices.Sort(l)
	return l, nil
}

// timedPost measures a bare POST of a Work, up to its response. The daemon that runs beside
// it would delete a Work that has the daemon's label but no source, so this one's label has
// another value of the same length.
func timedPost(ctx context.Context, client rest.Interface, s scenario, i int) (time.Duration, error) {
	u := s.load.make(fmt.Sprintf("posted-%05d", i))
	annotated.put(u)
	u.SetUID(types.UID(fmt.Sprintf("4f6c0d3e-0f1c-4a53-9d52-%012d", i)))
	u.SetCreationTimestamp(metav1.Now())
	body := disown(judge.NewSource(u, render.Wishes{}).Template.Work(clusterName(0)))
	begin := time.Now()
	err := post(ctx, client, render.ExecutionNamespace(clusterName(0)), body)
	return time.Since(begin), err
}

// disown changes the label of a Work so that it is not the daemon's.
func disown(work []byte) []byte {
	label := func(value string) []byte { return fmt.Appendf(nil, "%q:%q", render.ManagedByLabel, value) }
	return bytes.Replace(work, label(render.ManagedByValue), label(strings.Repeat("x", len(render.ManagedByValue))), 1)
}
