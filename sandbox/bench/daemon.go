package bench

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/karmada-target/karmada-mirror/sandbox/process"
)

const (
	// daemonUser is the name under which karmada-mirror makes requests.
	daemonUser = "system:serviceaccount:karmada-system:karmada-mirror"
	// configurationNamespace and configurationName are those of the ConfigMap with its
	// configuration, in a namespace that no run wipes.
	configurationNamespace, configurationName = "karmada-system", "karmada-mirror-bench"
)

// daemon is a running karmada-mirror, as released, with its defaults.
type daemon struct{ *process.Daemon }

// startDaemon starts karmada-mirror and waits until it is ready.
func (w *world) startDaemon(ctx context.Context, program string, flags ...string) (daemon, error) {
	started, err := process.StartDaemon(process.DaemonOptions{
		Program: []string{program}, Kubeconfig: w.kubeconfig, LogFile: filepath.Join(filepath.Dir(w.AuditLog()), "log", "karmada-mirror.log"),
		Flags: append([]string{"--config-map", configurationNamespace + "/" + configurationName, "--leader-elect=false"}, flags...),
	})
	if err != nil {
		return daemon{}, err
	}
	err = until(ctx, time.Minute, "karmada-mirror is ready", func(ctx context.Context) error { return started.Probe(ctx, "/readyz") })
	if err != nil {
		return daemon{}, errors.Join(err, started.Stop())
	}
	return daemon{started}, nil
}

// settled waits until there are exactly this many sources and Works and nothing is left to do.
func (d daemon) settled(ctx context.Context, resource schema.GroupVersionResource, sources, works int) error {
	return until(ctx, 10*time.Minute, "karmada-mirror has nothing left to do", func(ctx context.Context) error {
		known, err := d.Metric(ctx, fmt.Sprintf("karmada_mirror_sources{resource=%q}", resource.GroupResource()))
		if err == nil && int(known) != sources {
			err = fmt.Errorf("it knows %.0f of %d sources", known, sources)
		}
		return errors.Join(err, d.unfinished(ctx, works))
	})
}

// unfinished returns an error until the daemon has nothing left to do and its own watch has
// shown it exactly this many Works.
func (d daemon) unfinished(ctx context.Context, works int) error {
	all, err := d.Series(ctx)
	if err != nil {
		return err
	}
	return unfinished(all, works)
}

// unfinished judges by metrics. The queue is empty before the last sync has ended, so it
// compares the syncs that were queued with those that have ended.
func unfinished(series map[string]float64, works int) error {
	added, ended := series[`workqueue_adds_total{name="mirror"}`], series[`workqueue_work_duration_seconds_count{name="mirror"}`]
	seen := 0.0
	for name, value := range series {
		if strings.HasPrefix(name, "karmada_mirror_works{") {
			seen += value
		}
	}
	if ended < added || int(seen) != works {
		return fmt.Errorf("karmada-mirror has seen %.0f of %d Works, and has %.0f syncs to do", seen, works, added-ended)
	}
	return nil
}

// configure makes karmada-mirror mirror a resource in the namespace of the sources.
func (w *world) configure(ctx context.Context, resource schema.GroupVersionResource) error {
	text := fmt.Sprintf("apiVersion: mirror.karmada.target/v1alpha1\nkind: MirrorConfiguration\ndeletion: {holdAbove: {works: 1000000}}\n"+
		"resources: [{group: %q, resource: %s, namespaces: [%s]}]\n", resource.Group, resource.Resource, namespace)
	u := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": configurationName}, "data": map[string]any{"config.yaml": text},
	}}
	_, err := w.admin.Resource(configMaps).Namespace(configurationNamespace).Apply(ctx, configurationName, u, metav1.ApplyOptions{FieldManager: "bench", Force: true})
	return err
}
