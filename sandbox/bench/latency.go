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

// compareLatency compares the time from a source to its Work with that of a bare POST of the
// Work, at several rates.
func compareLatency(ctx context.Context, w *world, r *report) error {
	if err := w.joinClusters(ctx, 1); err != nil {
		return err
	}
	for _, rate := range []int{1, 10, 50} { // objects per second
		n := rate * pick(w.quick, 5, 20)
		posts, works := map[float64][]float64{}, map[float64][]float64{}
		for range w.repetitions {
			p, l, err := w.latencies(ctx, n, rate)
			if err != nil {
				return err
			}
			for _, q := range quantiles {
				posts[q], works[q] = append(posts[q], quantile(p, q)), append(works[q], quantile(l, q))
			}
			w.say("%d objects/s: bare POST %.1f ms, object to Work %.1f ms (medians of %d)", rate, quantile(p, 0.5), quantile(l, 0.5), n)
		}
		what := fmt.Sprintf("%d × %s on 1 cluster, %d/s", n, configMap1k.name, rate)
		for _, q := range quantiles {
			figure := fmt.Sprintf("ms, P%.0f", 100*q)
			r.add(what, "bare POST", figure, posts[q]...)
			r.addOver(what, "object to Work", figure, works[q], "bare POST", posts[q])
		}
	}
	return nil
}

var quantiles = []float64{0.5, 0.99}

// latencies creates a source and half a period later POSTs a Work, n times beside one daemon,
// and returns the time of each POST and from each source to its Work, sorted. A slow request
// does not delay the next one.
func (w *world) latencies(ctx context.Context, n, rate int) (posts, works []time.Duration, err error) {
	if err := w.reset(ctx); err != nil {
		return nil, nil, err
	}
	if err := w.configure(ctx, configMaps); err != nil {
		return nil, nil, err
	}
	d, err := w.startDaemon(ctx, w.daemon)
	if err != nil {
		return nil, nil, err
	}
	defer func() { err = errors.Join(err, d.Stop()) }()
	eyes, err := observe(ctx, w.Config(), configMaps, worksResource)
	if err != nil {
		return nil, nil, err
	}
	defer eyes.stop()
	client, err := loopClient(w.kubeconfig)
	if err != nil {
		return nil, nil, err
	}
	// The first Work after a start is about a tenth of a second late, and does not belong to
	// a steady rate.
	if err := w.create(ctx, configMaps, configMap1k.source(n, allClusters)); err != nil {
		return nil, nil, err
	}
	if err := eyes.await(ctx, worksResource, 1); err != nil {
		return nil, nil, err
	}
	ticker := time.NewTicker(time.Second / time.Duration(2*rate))
	defer ticker.Stop()
	posts = make([]time.Duration, n)
	results := make(chan error, 2*n)
	for i := range n {
		<-ticker.C
		go func() { results <- w.create(ctx, configMaps, configMap1k.source(i, allClusters)) }()
		<-ticker.C
		go func() {
			took, err := timedPost(ctx, client, n+1+i)
			posts[i] = took
			results <- err
		}()
	}
	for range 2 * n {
		err = errors.Join(err, <-results)
	}
	if err == nil {
		err = eyes.await(ctx, worksResource, 1+2*n)
	}
	if err != nil {
		return nil, nil, err
	}
	begun, done := eyes.times(configMaps), eyes.times(worksResource)
	for i := range n {
		source := types.NamespacedName{Namespace: namespace, Name: sourceName(i)}
		work := configMap1k.workOf(source.Name, clusterName(0))
		if begun[source].IsZero() || done[work].IsZero() {
			return nil, nil, fmt.Errorf("the source %s or its Work was never seen", source.Name)
		}
		works = append(works, max(0, done[work].Sub(begun[source])))
	}
	slices.Sort(posts)
	slices.Sort(works)
	return posts, works, nil
}

// timedPost measures a bare POST of a Work, up to its response. The daemon that runs beside
// it would delete a Work that has the daemon's label but no source, so this one's label has
// another value of the same length.
func timedPost(ctx context.Context, client rest.Interface, i int) (time.Duration, error) {
	u := configMap1k.source(i, allClusters)
	u.SetUID(types.UID(fmt.Sprintf("4f6c0d3e-0f1c-4a53-9d52-%012d", i)))
	u.SetCreationTimestamp(metav1.Now())
	label := func(value string) []byte { return fmt.Appendf(nil, "%q:%q", render.ManagedByLabel, value) }
	work := judge.NewSource(u, render.Wishes{}).Template.Work(clusterName(0))
	body := bytes.Replace(work, label(render.ManagedByValue), label(strings.Repeat("x", len(render.ManagedByValue))), 1)
	if bytes.Equal(body, work) {
		return 0, errors.New("the Work has not the label of karmada-mirror's Works")
	}
	begun := time.Now()
	err := post(ctx, client, render.ExecutionNamespace(clusterName(0)), body)
	return time.Since(begun), err
}
