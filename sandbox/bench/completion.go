package bench

import (
	"context"
	"fmt"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/kubectl/pkg/polymorphichelpers"
)

// place is where a Deployment is: in a cluster or, if that is empty, on the Karmada API server.
type place struct{ cluster, name string }

// completion is when a rollout was complete by the status of a Deployment.
type completion struct {
	// first is when it was so for the first time, and last when it became so for good.
	first, last time.Time
	now         bool
}

// completions records when the rollouts of an image are complete, in each member and by the status
// of each source. One process watches all of them, so that all times are by one clock.
type completions struct {
	mu      sync.Mutex
	image   string
	of      map[place]*completion
	err     error
	running sync.WaitGroup
	cancel  context.CancelFunc
}

// watchCompletions starts watching the Deployments in the namespace of the sources, on several
// servers by the name of their cluster.
func watchCompletions(ctx context.Context, servers map[string]*rest.Config) (*completions, error) {
	ctx, cancel := context.WithCancel(ctx)
	c := &completions{of: map[place]*completion{}, cancel: cancel}
	for cluster, config := range servers {
		if err := c.follow(ctx, cluster, config); err != nil {
			c.stop()
			return nil, fmt.Errorf("cannot watch the Deployments of %q: %w", cluster, err)
		}
	}
	return c, nil
}

func (c *completions) follow(ctx context.Context, cluster string, config *rest.Config) error {
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return err
	}
	list, err := client.Resource(deployments).Namespace(namespace).List(ctx, metav1.ListOptions{Limit: 1})
	if err != nil {
		return err
	}
	w, err := client.Resource(deployments).Namespace(namespace).Watch(ctx, metav1.ListOptions{ResourceVersion: list.GetResourceVersion()})
	if err != nil {
		return err
	}
	c.running.Go(func() {
		defer w.Stop()
		for event := range w.ResultChan() {
			u, ok := event.Object.(*unstructured.Unstructured)
			if !ok {
				c.fail(fmt.Errorf("the watch of %q ended: %v", cluster, event.Object))
				return
			}
			c.note(cluster, u, time.Now())
		}
		if ctx.Err() == nil {
			c.fail(fmt.Errorf("the watch of %q ended", cluster))
		}
	})
	return nil
}

func (c *completions) fail(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.err = err
}

// expect forgets all rollouts but those of an image, which are yet to begin.
func (c *completions) expect(image string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.image, c.of = image, map[place]*completion{}
}

func (c *completions) note(cluster string, u *unstructured.Unstructured, at time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	isComplete, err := isRolledOut(u, c.image)
	if err != nil {
		c.err = err
		return
	}
	where := place{cluster, u.GetName()}
	known := c.of[where]
	if known == nil {
		known = &completion{}
		c.of[where] = known
	}
	if isComplete && !known.now {
		known.last = at
		if known.first.IsZero() {
			known.first = at
		}
	}
	known.now = isComplete
}

// isRolledOut judges as `kubectl rollout status` does, which knows neither karmada-mirror nor Karmada.
func isRolledOut(u *unstructured.Unstructured, image string) (bool, error) {
	containers, _, err := unstructured.NestedSlice(u.Object, "spec", "template", "spec", "containers")
	if err != nil || len(containers) == 0 {
		return false, fmt.Errorf("cannot read the containers of %q: %w", u.GetName(), err)
	}
	if first, ok := containers[0].(map[string]any); !ok || first["image"] != image {
		return false, nil
	}
	_, done, err := (&polymorphichelpers.DeploymentStatusViewer{}).Status(u, 0)
	return done, err
}

// missing returns an error until so many rollouts are complete.
func (c *completions) missing(n int) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err != nil {
		return c.err
	}
	complete := 0
	for _, known := range c.of {
		if known.now {
			complete++
		}
	}
	if complete < n {
		return fmt.Errorf("%d of %d rollouts are complete", complete, n)
	}
	return nil
}

// finished returns when the last of some clusters had rolled out, and when the status of the
// source first said so.
func (c *completions) finished(name string, clusters []string) (members, source time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, cluster := range clusters {
		if at := c.of[place{cluster, name}].last; at.After(members) {
			members = at
		}
	}
	return members, c.of[place{"", name}].first
}

func (c *completions) stop() {
	c.cancel()
	c.running.Wait()
}
