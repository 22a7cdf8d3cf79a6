// Package waves draws docs/waves.svg from a run: a Deployment is rolled out in waves to members
// whose Pods run or fail, with a real karmada-mirror on a real Karmada. What the picture shows is
// read from the Works and from the members, not from karmada-mirror.
package waves

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"time"

	clusterv1alpha1 "github.com/karmada-io/api/cluster/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	"github.com/karmada-target/karmada-mirror/render"
	"github.com/karmada-target/karmada-mirror/sandbox/karmada"
	"github.com/karmada-target/karmada-mirror/sandbox/process"
)

const (
	system, account = "karmada-system", "karmada-mirror"
	namespace, name = "shop", "web"
	inWaves         = "canary-*; east-*(2); *"
	bake            = 5 * time.Second
	// held is how long the bad image stays.
	held = 20 * time.Second
	// patience is how long all clusters together may take for a change.
	patience = 5 * time.Minute
)

var (
	deployments = schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "deployments"}
	namespaces  = schema.GroupVersionResource{Version: "v1", Resource: "namespaces"}
)

// Watchfulness is that of Karmada's defaults: with the sandbox's, it would take members for lost while
// so many share a machine.
var Watchfulness = map[string][]string{karmada.ControllerManager: {
	"--cluster-status-update-frequency=10s", "--cluster-failure-threshold=30s",
	"--cluster-monitor-period=5s", "--cluster-monitor-grace-period=40s",
}}

// Members are the clusters of the picture, in the order of its rows.
func Members() (all []karmada.Member) {
	for _, group := range []struct {
		name string
		n    int
	}{{"canary", 2}, {"east", 5}, {"west", 5}} {
		for i := range group.n {
			all = append(all, karmada.Member{Name: fmt.Sprintf("%s-%d", group.name, i+1), Mode: clusterv1alpha1.Push, Nodes: 1})
		}
	}
	return all
}

// Options configure a run.
type Options struct {
	// Karmada is a sandbox with the Members.
	Karmada *karmada.Karmada
	// Repository is the folder of the repository, Dir the folder for the run's files.
	Repository, Dir string
	// Daemon is the path of karmada-mirror.
	Daemon string
	// Picture is the file to write; its ending says the format.
	Picture string
	Out     io.Writer
}

// run is a Deployment that is rolled out.
type run struct {
	Options
	admin dynamic.Interface
	seen  *recording
}

// Run rolls out a good image and a bad one, reverts that, and draws it.
func Run(ctx context.Context, o Options) (err error) {
	r := &run{Options: o}
	if r.admin, err = dynamic.NewForConfig(o.Karmada.Config()); err != nil {
		return err
	}
	daemon, err := r.start(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, daemon.Stop()) }()
	if r.seen, err = record(ctx, o.Karmada); err != nil {
		return err
	}
	defer r.seen.stop()
	story, err := r.tell(ctx)
	if err != nil {
		return err
	}
	p, err := story.plot()
	if err != nil {
		return err
	}
	return p.Save(width, height, o.Picture)
}

// start starts karmada-mirror with the manifests.
func (r *run) start(ctx context.Context) (*process.Daemon, error) {
	if err := karmada.ApplyKustomization(ctx, r.Karmada.Config(), filepath.Join(r.Repository, "manifests", "karmada")); err != nil {
		return nil, err
	}
	kubeconfig, err := r.Karmada.ServiceAccountKubeconfig(ctx, system, account)
	if err != nil {
		return nil, err
	}
	return process.StartDaemon(process.DaemonOptions{
		Program: []string{r.Daemon}, Kubeconfig: kubeconfig, LogFile: filepath.Join(r.Dir, "karmada-mirror.log"),
	})
}

// story is what the picture shows.
type story struct {
	clusters []string
	edits    []edit
	end      time.Time
	writes   []write
}

// edit is a change of the source.
type edit struct {
	what string
	at   time.Time
}

// tell makes the changes.
func (r *run) tell(ctx context.Context) (s story, err error) {
	for _, m := range Members() {
		s.clusters = append(s.clusters, m.Name)
	}
	const first, good, bad = "nginx:1.29", "nginx:1.30", "nginx:1.31-broken"
	fmt.Fprintln(r.Out, "  the Deployment is created")
	if err := r.create(ctx, first); err != nil {
		return s, err
	}
	if err := r.await(ctx, first, s.clusters); err != nil {
		return s, err
	}
	steps := []struct {
		what, image string
		then        func() error
	}{
		{"a new image", good, func() error { return errors.Join(r.await(ctx, good, s.clusters), rest(ctx, 2*bake)) }},
		{"a bad image", bad, func() error { return rest(ctx, held) }},
		{"the revert", good, func() error { return errors.Join(r.await(ctx, good, s.clusters), rest(ctx, 2*bake)) }},
	}
	for _, step := range steps {
		fmt.Fprintf(r.Out, "  %s\n", step.what)
		s.edits = append(s.edits, edit{step.what, time.Now()})
		if err := r.set(ctx, step.image); err != nil {
			return s, err
		}
		if err := step.then(); err != nil {
			return s, fmt.Errorf("after %s: %w", step.what, err)
		}
	}
	s.end, s.writes = time.Now(), r.seen.since(s.edits[0].at)
	return s, nil
}

func rest(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (r *run) create(ctx context.Context, image string) error {
	ns := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{"name": namespace}}}
	if _, err := r.admin.Resource(namespaces).Create(ctx, ns, metav1.CreateOptions{}); err != nil {
		return err
	}
	labels := map[string]any{"app": name}
	source := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "apps/v1", "kind": "Deployment",
		"metadata": map[string]any{"name": name, "namespace": namespace},
		"spec": map[string]any{
			"replicas": int64(3), "minReadySeconds": int64(1),
			"selector": map[string]any{"matchLabels": labels},
			"template": map[string]any{
				"metadata": map[string]any{"labels": labels},
				"spec":     map[string]any{"containers": []any{map[string]any{"name": name, "image": image}}},
			},
		},
	}}
	source.SetAnnotations(map[string]string{
		render.ClustersAnnotation: "*", render.WavesAnnotation: inWaves,
		render.WaveBakeAnnotation: bake.String(),
	})
	_, err := r.admin.Resource(deployments).Namespace(namespace).Create(ctx, source, metav1.CreateOptions{})
	return err
}

func (r *run) set(ctx context.Context, image string) error {
	patch := fmt.Appendf(nil, `[{"op":"replace","path":"/spec/template/spec/containers/0/image","value":%q}]`, image)
	_, err := r.admin.Resource(deployments).Namespace(namespace).Patch(ctx, name, types.JSONPatchType, patch, metav1.PatchOptions{})
	return err
}

// await waits until all clusters run an image.
func (r *run) await(ctx context.Context, image string, clusters []string) error {
	ctx, cancel := context.WithTimeoutCause(ctx, patience, fmt.Errorf("not all clusters run %s within %s", image, patience))
	defer cancel()
	return r.Karmada.Wait(ctx, "all clusters to run "+image, func(context.Context) error { return r.seen.missing(image, clusters) })
}
