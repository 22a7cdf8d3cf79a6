package bench

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"time"

	"golang.org/x/sync/errgroup"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"

	"github.com/karmada-target/karmada-mirror/render"
)

// measureRestart starts karmada-mirror with everything in sync, and compares the time with
// that of the lists alone.
func measureRestart(ctx context.Context, w *world, r *report) error {
	s := scenario{configMap1k, w.manyObjects(), 1}
	if err := w.mirrorOnce(ctx, s); err != nil {
		return err
	}
	var over, lists, streams, ready, inSync, writes []float64
	for range w.repetitions {
		bare, err := w.bareReads(ctx, s.load.resource, readList)
		if err != nil {
			return err
		}
		stream, err := w.bareReads(ctx, s.load.resource, readStreamingList)
		if err != nil {
			return err
		}
		toReady, toSync, n, err := w.restart(ctx, s)
		if err != nil {
			return err
		}
		w.say("bare lists %s, streaming lists %s; ready after %s, everything synced after %s, %d writes", bare, stream, toReady, toSync, n)
		over = append(over, toReady.Seconds()/bare.Seconds())
		lists, streams = append(lists, bare.Seconds()), append(streams, stream.Seconds())
		ready, inSync = append(ready, toReady.Seconds()), append(inSync, toSync.Seconds())
		writes = append(writes, float64(n))
	}
	r.measured(fmt.Sprintf("restart with %d objects and as many Works", s.sources), "ready after %s s, every object synced after %s s, %s writes",
		summarize(ready).format(2), summarize(inSync).format(2), summarize(writes).format(0))
	r.measured("the same lists alone, in parallel, their bytes discarded", "plain lists %s s; streaming lists, which the daemon uses, %s s", summarize(lists).format(2), summarize(streams).format(2))
	r.never(fmt.Sprintf("write requests of a restart with %d Works", s.works()), 0, summarize(writes))
	r.atMost("time to ready after a restart ÷ time of the plain lists alone", 1.5, summarize(over))
	return nil
}

// bareReads returns how long it takes to read everything that a daemon reads, in parallel,
// without decoding it.
func (w *world) bareReads(ctx context.Context, sources schema.GroupVersionResource, read func(context.Context, *rest.Request) error) (time.Duration, error) {
	client, err := loopClient(w.kubeconfig)
	if err != nil {
		return 0, err
	}
	began := time.Now()
	var group errgroup.Group
	for _, path := range []string{
		"/api/v1/namespaces/" + namespace + "/" + sources.Resource,
		"/apis/work.karmada.io/v1alpha1/works?labelSelector=" + url.QueryEscape(render.OurWorks),
	} {
		group.Go(func() error { return read(ctx, client.Get().RequestURI(path)) })
	}
	err = group.Wait()
	return time.Since(began), err
}

func readList(ctx context.Context, request *rest.Request) error {
	stream, err := request.Param("resourceVersion", "0").Stream(ctx)
	if err != nil {
		return err
	}
	defer stream.Close()
	_, err = io.Copy(io.Discard, stream)
	return err
}

// readStreamingList reads a watch until its bookmark says that all existing objects have been
// sent.
func readStreamingList(ctx context.Context, request *rest.Request) error {
	stream, err := request.Param("watch", "true").Param("sendInitialEvents", "true").Param("allowWatchBookmarks", "true").
		Param("resourceVersionMatch", string(metav1.ResourceVersionMatchNotOlderThan)).Stream(ctx)
	if err != nil {
		return err
	}
	defer stream.Close()
	for lines := bufio.NewReaderSize(stream, 1<<20); ; {
		line, err := lines.ReadSlice('\n')
		if err != nil {
			return err
		}
		if bytes.Contains(line[:min(len(line), 512)], []byte(metav1.InitialEventsAnnotationKey)) {
			return nil
		}
	}
}

// restart starts a daemon that has nothing to write.
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
	defer func() { err = errors.Join(err, d.Stop()) }()
	toReady = time.Since(began)
	err = until(ctx, "every object has been synced", func(ctx context.Context) error {
		syncs, err := d.Metric(ctx, `karmada_mirror_sync_duration_seconds_count{result="success"}`)
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
