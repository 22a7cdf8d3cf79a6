package waves

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"
	"k8s.io/kubectl/pkg/polymorphichelpers"

	"github.com/karmada-target/karmada-mirror/render"
	"github.com/karmada-target/karmada-mirror/sandbox/karmada"
)

// write is an image that was written to the Work of a cluster, and when its member had rolled it out;
// zero if it never had.
type write struct {
	cluster, image  string
	at, isRolledOut time.Time
}

// recording notes what the Works and the members say. One process watches all of them, so that all
// times are by one clock.
type recording struct {
	mu      sync.Mutex
	writes  []*write
	err     error
	running sync.WaitGroup
	cancel  context.CancelFunc
}

// record starts to watch the Works and the Deployments of all members.
func record(ctx context.Context, k *karmada.Karmada) (*recording, error) {
	ctx, cancel := context.WithCancel(ctx)
	r := &recording{cancel: cancel}
	works, err := dynamic.NewForConfig(k.Config())
	if err == nil {
		err = r.follow(ctx, works.Resource(render.WorksResource), r.written)
	}
	for _, m := range Members() {
		var member dynamic.Interface
		if err == nil {
			member, err = dynamic.NewForConfig(k.MemberConfig(m.Name))
		}
		if err == nil {
			err = r.follow(ctx, member.Resource(deployments), func(u *unstructured.Unstructured, at time.Time) error { return r.ran(m.Name, u, at) })
		}
	}
	if err != nil {
		r.stop()
		return nil, err
	}
	return r, nil
}

func (r *recording) follow(ctx context.Context, of dynamic.NamespaceableResourceInterface, note func(*unstructured.Unstructured, time.Time) error) error {
	list, err := of.List(ctx, metav1.ListOptions{Limit: 1})
	if err != nil {
		return err
	}
	w, err := of.Watch(ctx, metav1.ListOptions{ResourceVersion: list.GetResourceVersion()})
	if err != nil {
		return err
	}
	r.running.Go(func() {
		defer w.Stop()
		for event := range w.ResultChan() {
			at := time.Now()
			u, ok := event.Object.(*unstructured.Unstructured)
			if !ok {
				r.fail(fmt.Errorf("a watch ended: %v", event.Object))
				return
			}
			if err := note(u, at); err != nil {
				r.fail(err)
				return
			}
		}
		if ctx.Err() == nil {
			r.fail(fmt.Errorf("a watch of %s ended", of))
		}
	})
	return nil
}

func (r *recording) fail(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.err = err
}

func (r *recording) stop() {
	r.cancel()
	r.running.Wait()
}

// written notes what a Work carries.
func (r *recording) written(work *unstructured.Unstructured, at time.Time) error {
	manifest, err := render.ManifestOf(work.Object)
	if err != nil || manifest["kind"] != "Deployment" {
		return nil // Karmada's own, of a Namespace
	}
	image, err := imageOf(&unstructured.Unstructured{Object: manifest})
	if err != nil {
		return err
	}
	cluster := strings.TrimPrefix(work.GetNamespace(), "karmada-es-")
	r.mu.Lock()
	defer r.mu.Unlock()
	if last := r.lastLocked(cluster); last == nil || last.image != image {
		r.writes = append(r.writes, &write{cluster: cluster, image: image, at: at})
	}
	return nil
}

// ran notes what a member says. It judges as `kubectl rollout status` does, which knows neither
// karmada-mirror nor Karmada.
func (r *recording) ran(cluster string, u *unstructured.Unstructured, at time.Time) error {
	image, err := imageOf(u)
	if err != nil {
		return err
	}
	_, isDone, err := (&polymorphichelpers.DeploymentStatusViewer{}).Status(u, 0)
	if err != nil || !isDone {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if last := r.lastLocked(cluster); last != nil && last.image == image && last.isRolledOut.IsZero() {
		last.isRolledOut = at
	}
	return nil
}

func imageOf(u *unstructured.Unstructured) (string, error) {
	containers, _, err := unstructured.NestedSlice(u.Object, "spec", "template", "spec", "containers")
	if err != nil || len(containers) == 0 {
		return "", fmt.Errorf("cannot read the containers of %q: %w", u.GetName(), err)
	}
	container, _ := containers[0].(map[string]any)
	image, _ := container["image"].(string)
	return image, nil
}

func (r *recording) lastLocked(cluster string) (last *write) {
	for _, w := range r.writes {
		if w.cluster == cluster {
			last = w
		}
	}
	return last
}

// missing returns an error until all clusters run an image.
func (r *recording) missing(image string, clusters []string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.err != nil {
		return r.err
	}
	for _, cluster := range clusters {
		if last := r.lastLocked(cluster); last == nil || last.image != image || last.isRolledOut.IsZero() {
			return fmt.Errorf("%s does not", cluster)
		}
	}
	return nil
}

// since returns the writes after a time.
func (r *recording) since(from time.Time) (all []write) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, w := range r.writes {
		if w.at.After(from) {
			all = append(all, *w)
		}
	}
	return all
}
