package bench

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/karmada-target/karmada-mirror/render"
)

// measureRestart starts karmada-mirror with everything in sync, and compares the time with
// that of the lists alone.
func measureRestart(ctx context.Context, w *world, r *report) error {
	s := scenario{configMap1k, w.manyObjects(), 1}
	if err := w.joinClusters(ctx, s.clusters); err != nil {
		return err
	}
	if err := w.provide(ctx, s); err != nil {
		return err
	}
	if err := w.configure(ctx, configMaps); err != nil {
		return err
	}
	if _, _, _, err := w.restart(ctx, s); err != nil { // creates the Works
		return err
	}
	var lists, ready, settled, writes []float64
	for range w.repetitions {
		list, err := w.bareLists(ctx)
		if err != nil {
			return err
		}
		toReady, toRest, n, err := w.restart(ctx, s)
		if err != nil {
			return err
		}
		w.say("bare lists %s; ready after %s, everything synced after %s, %d writes", list, toReady, toRest, n)
		lists, ready, settled = append(lists, list.Seconds()), append(ready, toReady.Seconds()), append(settled, toRest.Seconds())
		writes = append(writes, float64(n))
	}
	what := fmt.Sprintf("restart with %d Works", s.works())
	r.add(what, "bare lists", "s", lists...)
	r.addOver(what, "karmada-mirror", "s until ready", ready, "bare lists", lists)
	r.addOver(what, "karmada-mirror", "s until all is synced", settled, "bare lists", lists)
	r.add(what, "karmada-mirror", "writes", writes...)
	return nil
}

// bareLists returns how long it takes to list everything that a daemon reads, in parallel,
// without decoding it.
func (w *world) bareLists(ctx context.Context) (time.Duration, error) {
	client, err := loopClient(w.kubeconfig)
	if err != nil {
		return 0, err
	}
	begun := time.Now()
	var group errgroup.Group
	for _, path := range []string{
		"/api/v1/namespaces/" + namespace + "/configmaps?resourceVersion=0",
		"/apis/work.karmada.io/v1alpha1/works?resourceVersion=0&labelSelector=" + url.QueryEscape(render.OurWorks),
	} {
		group.Go(func() error {
			stream, err := client.Get().RequestURI(path).Stream(ctx)
			if err != nil {
				return err
			}
			defer stream.Close()
			_, err = io.Copy(io.Discard, stream)
			return err
		})
	}
	err = group.Wait()
	return time.Since(begun), err
}

// restart starts a daemon, and stops it when it has synced everything.
func (w *world) restart(ctx context.Context, s scenario) (toReady, toRest time.Duration, writes int, err error) {
	meter, err := w.newMeter(nil, daemonUser)
	if err != nil {
		return 0, 0, 0, err
	}
	begun := time.Now()
	d, err := w.startDaemon(ctx, w.daemon)
	if err != nil {
		return 0, 0, 0, err
	}
	defer func() { err = errors.Join(err, d.Stop()) }()
	toReady = time.Since(begun)
	if err := d.settled(ctx, configMaps, s.sources, s.works()); err != nil {
		return 0, 0, 0, err
	}
	toRest = time.Since(begun)
	spent, err := meter.read()
	return toReady, toRest, spent.writes, err
}
