package bench

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
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
type daemon struct {
	*process.Daemon
	w *world
}

// startIdleDaemon starts karmada-mirror with nothing to mirror.
func (w *world) startIdleDaemon(ctx context.Context) (*daemon, error) {
	if err := w.configure(ctx, schema.GroupVersionResource{Version: "v1", Resource: "serviceaccounts"}); err != nil {
		return nil, err
	}
	return w.startDaemon(ctx)
}

// startDaemon starts karmada-mirror and waits until it is ready.
func (w *world) startDaemon(ctx context.Context, flags ...string) (*daemon, error) {
	program, err := w.daemonProgram()
	if err != nil {
		return nil, err
	}
	started, err := process.StartDaemon(process.DaemonOptions{
		Program: program, Kubeconfig: w.kubeconfig, LogFile: filepath.Join(filepath.Dir(w.AuditLog()), "log", "karmada-mirror.log"),
		Environment: w.environment,
		Flags:       append([]string{"--config-map", configurationNamespace + "/" + configurationName, "--leader-elect=false"}, flags...),
	})
	if err != nil {
		return nil, err
	}
	d := &daemon{started, w}
	alive, ends := context.WithCancelCause(ctx)
	go func() {
		<-d.Ended()
		ends(fmt.Errorf("karmada-mirror exited: %w: %s", d.Err(), lastLine(d.Log())))
	}()
	err = until(alive, "karmada-mirror is ready", func(ctx context.Context) error { return d.Probe(ctx, "/readyz") })
	if err != nil {
		return nil, errors.Join(err, d.Stop())
	}
	return d, nil
}

func lastLine(text string) string {
	text = strings.TrimSpace(text)
	return text[strings.LastIndexByte(text, '\n')+1:]
}

// startMirroring starts karmada-mirror and waits until the Works of a scenario exist.
func (w *world) startMirroring(ctx context.Context, s scenario, flags ...string) (*daemon, error) {
	all := allWorks{s.batch(annotated), s.clusters}
	if w.made != all {
		if err := w.joinClusters(ctx, s.clusters); err != nil {
			return nil, err
		}
		if err := w.provide(ctx, all.of, s.load); err != nil {
			return nil, err
		}
	}
	if err := w.configure(ctx, s.load.resource); err != nil {
		return nil, err
	}
	d, err := w.startDaemon(ctx, flags...)
	if err != nil {
		return nil, err
	}
	if err := d.settled(ctx, s.works()); err != nil {
		return nil, errors.Join(err, d.Stop())
	}
	w.made = all
	return d, nil
}

// mirrorOnce lets a daemon create the Works of a scenario, and stops it.
func (w *world) mirrorOnce(ctx context.Context, s scenario) error {
	d, err := w.startMirroring(ctx, s)
	if err != nil {
		return err
	}
	return d.Stop()
}

// DaemonCommand is the name of the subcommand that runs karmada-mirror and profiles it.
const DaemonCommand = "bench-daemon"

// daemonProgram returns the command that starts karmada-mirror.
func (w *world) daemonProgram() ([]string, error) {
	if w.profiles == "" {
		return []string{w.daemon}, nil
	}
	program, err := os.Executable()
	if err != nil {
		return nil, err
	}
	w.profiled++
	return []string{program, DaemonCommand, filepath.Join(w.profiles, fmt.Sprintf("%03d.cpu", w.profiled))}, nil
}

// settled waits until there are exactly this many Works and nothing is left to do.
func (d *daemon) settled(ctx context.Context, works int) error {
	return d.w.Wait(ctx, fmt.Sprintf("%d Works", works), func(ctx context.Context) error { return d.unfinished(ctx, works) })
}

// unfinished returns an error until the daemon has nothing left to do and its own watch has
// shown it exactly this many Works.
func (d *daemon) unfinished(ctx context.Context, works int) error {
	all, err := d.Series(ctx)
	if err != nil {
		return err
	}
	return unfinished(all, works)
}

// unfinished judges by metrics. The queue is empty before the last sync has ended, so it
// compares the syncs that were queued with those that have ended. A deleted Work stays,
// because no controller removes Karmada's finalizer.
func unfinished(series map[string]float64, works int) error {
	added, ended := series[`workqueue_adds_total{name="mirror"}`], series[`workqueue_work_duration_seconds_count{name="mirror"}`]
	seen := 0.0
	for name, value := range series {
		if strings.HasPrefix(name, "karmada_mirror_works{") && !strings.Contains(name, `state="deleting"`) {
			seen += value
		}
	}
	if ended < added || int(seen) != works {
		return fmt.Errorf("karmada-mirror has seen %.0f of %d Works, and has %.0f syncs to do", seen, works, added-ended)
	}
	return nil
}

// listed returns when the daemon had listed all objects of a resource, according to its log.
func (d *daemon) listed(resource schema.GroupVersionResource) (time.Time, error) {
	return lastSynced(strings.NewReader(d.Log()), resource.GroupResource().String())
}

// lastSynced finds the last time that a watch of a resource was synced. The last one counts
// because ConfigMaps are watched earlier, too, for the configuration.
func lastSynced(log io.Reader, resource string) (time.Time, error) {
	var last time.Time
	lines := bufio.NewScanner(log)
	for lines.Scan() {
		var entry struct {
			TS            time.Time
			Msg, Resource string
		}
		if json.Unmarshal(lines.Bytes(), &entry) == nil && entry.Msg == "synced" && entry.Resource == resource {
			last = entry.TS
		}
	}
	if err := lines.Err(); err != nil {
		return time.Time{}, err
	}
	if last.IsZero() {
		return time.Time{}, fmt.Errorf("the log of karmada-mirror does not say that %s were synced", resource)
	}
	return last, nil
}

// configure makes karmada-mirror mirror resources in the namespace of the sources.
func (w *world) configure(ctx context.Context, resources ...schema.GroupVersionResource) error {
	var entries []string
	for _, resource := range resources {
		entries = append(entries, fmt.Sprintf("{group: %q, resource: %s, namespaces: [%s]}", resource.Group, resource.Resource, namespace))
	}
	return w.configureEntries(ctx, entries...)
}

// configureAggregation is configure for a resource whose statuses are aggregated.
func (w *world) configureAggregation(ctx context.Context, resource schema.GroupVersionResource) error {
	return w.configureEntries(ctx, fmt.Sprintf("{group: %q, resource: %s, namespaces: [%s], aggregateStatus: true}", resource.Group, resource.Resource, namespace))
}

func (w *world) configureEntries(ctx context.Context, entries ...string) error {
	text := "apiVersion: mirror.karmada.target/v1alpha1\nkind: MirrorConfiguration\ndeletion: {holdAbove: {works: 1000000}}\n"
	if w.earlier == "" { // an earlier revision may not know it
		text += "overridePolicies: Honor\n"
	}
	text += "resources:\n"
	for _, entry := range entries {
		text += "- " + entry + "\n"
	}
	u := &unstructured.Unstructured{Object: map[string]any{"data": map[string]any{"config.yaml": text}}}
	u.SetAPIVersion("v1")
	u.SetKind("ConfigMap")
	u.SetName(configurationName)
	_, err := w.admin.Resource(configMaps).Namespace(configurationNamespace).Apply(ctx, configurationName, u, metav1.ApplyOptions{FieldManager: "bench", Force: true})
	return err
}
