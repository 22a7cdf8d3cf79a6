package bench

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"golang.org/x/sync/errgroup"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/karmada-target/karmada-mirror/render"
)

// measureRestart starts karmada-mirror where everything is in sync, and compares the
// time with that of the lists alone.
func measureRestart(ctx context.Context, w *world, r *report) error {
	s := scenario{configMap1k, w.manyObjects(), 1}
	d, err := w.startMirroring(ctx, s)
	if err != nil {
		return err
	}
	if err := d.stop(); err != nil {
		return err
	}
	var over, lists, ready, inSync []float64
	writes := 0
	for range w.repetitions {
		bare, err := w.bareLists(ctx, s.load.resource)
		if err != nil {
			return err
		}
		toReady, toSync, n, err := w.restart(ctx, s)
		if err != nil {
			return err
		}
		w.say("bare lists %s; ready after %s, all looked at after %s, %d writes", bare, toReady, toSync, n)
		over = append(over, toReady.Seconds()/bare.Seconds())
		lists, ready, inSync = append(lists, bare.Seconds()), append(ready, toReady.Seconds()), append(inSync, toSync.Seconds())
		writes += n
	}
	r.text("**Restart** with %d objects and as many Works: ready after %s s, everything looked at after %s s, %d writes; the bare lists, at once and their bytes thrown away, take %s s.",
		s.sources, summarize(ready).format(2), summarize(inSync).format(2), writes, summarize(lists).format(2))
	r.atMost(fmt.Sprintf("writes of a restart with %d Works", s.works()), 0, exactly(float64(writes)))
	r.atMost("time to ready, over that of the bare lists", 1.5, summarize(over))
	return nil
}

// bareLists is how long it takes to read all that a daemon lists, at once, without
// a look at what comes.
func (w *world) bareLists(ctx context.Context, sources schema.GroupVersionResource) (time.Duration, error) {
	client, err := loopClient(w.kubeconfig)
	if err != nil {
		return 0, err
	}
	began := time.Now()
	var group errgroup.Group
	for _, path := range []string{
		"/api/v1/namespaces/" + namespace + "/" + sources.Resource,
		"/apis/work.karmada.io/v1alpha1/works?labelSelector=" + render.ManagedByLabel + "%3D" + render.ManagedByValue,
	} {
		group.Go(func() error {
			stream, err := client.Get().RequestURI(path).Param("resourceVersion", "0").Stream(ctx)
			if err != nil {
				return err
			}
			defer stream.Close()
			_, err = io.Copy(io.Discard, stream)
			return err
		})
	}
	err = group.Wait()
	return time.Since(began), err
}

// restart starts a daemon where it has nothing to do.
func (w *world) restart(ctx context.Context, s scenario) (toReady, toSync time.Duration, writes int, err error) {
	meter, err := w.newMeter(ctx, nil, daemonUser)
	if err != nil {
		return 0, 0, 0, err
	}
	began := time.Now()
	d, err := w.startDaemon(ctx)
	if err != nil {
		return 0, 0, 0, err
	}
	defer func() { err = errors.Join(err, d.stop()) }()
	toReady = time.Since(began)
	err = until(ctx, "everything is looked at", func(ctx context.Context) error {
		syncs, err := d.metric(ctx, `karmada_mirror_sync_duration_seconds_count{result="success"}`)
		if err == nil && int(syncs) < s.sources {
			err = fmt.Errorf("%.0f syncs so far", syncs)
		}
		return err
	})
	toSync = time.Since(began)
	if err != nil {
		return 0, 0, 0, err
	}
	spent, err := meter.read(ctx)
	return toReady, toSync, writesOf(spent.requests), err
}
