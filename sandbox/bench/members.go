package bench

import (
	"context"
	"errors"
	"fmt"

	clusterv1alpha1 "github.com/karmada-io/api/cluster/v1alpha1"
	"golang.org/x/sync/errgroup"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"

	"github.com/karmada-target/karmada-mirror/sandbox/karmada"
)

// watchfulness is that of Karmada's defaults. With the sandbox's, which notice an outage earlier,
// Karmada would take members for lost while all processes share two cores.
var watchfulness = []string{
	"--cluster-status-update-frequency=10s", "--cluster-failure-threshold=30s",
	"--cluster-monitor-period=5s", "--cluster-monitor-grace-period=40s",
}

// joinMembers replaces all clusters by n members whose Pods become ready.
func (w *world) joinMembers(ctx context.Context, n int) (err error) {
	w.made = allWorks{}
	if err := errors.Join(w.wipe(ctx, "cluster.karmada.io/clusters/"), w.reset(ctx)); err != nil {
		return err
	}
	manager := w.Component(karmada.ControllerManager)
	if err := manager.RestartWith(ctx, watchfulness...); err != nil {
		return err
	}
	group, joinCtx := errgroup.WithContext(ctx)
	for i := range n {
		group.Go(func() error {
			return w.Join(joinCtx, karmada.Member{Name: clusterName(i), Mode: clusterv1alpha1.Push, Nodes: 1})
		})
	}
	return errors.Join(group.Wait(), manager.Stop())
}

// dismissMembers removes them again, with their processes.
func (w *world) dismissMembers(ctx context.Context, n int) error {
	if err := w.reset(ctx); err != nil {
		return err
	}
	manager := w.Component(karmada.ControllerManager)
	if err := manager.RestartWith(ctx, watchfulness...); err != nil {
		return err
	}
	var errs []error
	for i := range n {
		errs = append(errs, w.Unjoin(ctx, clusterName(i)))
	}
	return errors.Join(append(errs, manager.Stop())...)
}

// emptyMembers deletes what earlier runs have left in the members. The Works are gone, and with them
// whatever would create it again.
func (w *world) emptyMembers(ctx context.Context, n int) error {
	group, ctx := errgroup.WithContext(ctx)
	for i := range n {
		group.Go(func() error { return w.emptyMember(ctx, clusterName(i)) })
	}
	return group.Wait()
}

func (w *world) emptyMember(ctx context.Context, name string) error {
	member, err := dynamic.NewForConfig(w.MemberConfig(name))
	if err != nil {
		return err
	}
	background := metav1.DeletePropagationBackground
	err = member.Resource(deployments).Namespace(namespace).DeleteCollection(ctx, metav1.DeleteOptions{PropagationPolicy: &background}, metav1.ListOptions{})
	if err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("cannot empty member %q: %w", name, err)
	}
	return w.Wait(ctx, "member "+name+" to be empty", func(ctx context.Context) error {
		for _, resource := range []schema.GroupVersionResource{deployments, deployments.GroupVersion().WithResource("replicasets"), {Version: "v1", Resource: "pods"}} {
			left, err := member.Resource(resource).Namespace(namespace).List(ctx, metav1.ListOptions{})
			if err != nil {
				return err
			}
			if n := len(left.Items); n > 0 {
				return fmt.Errorf("it has %d %s", n, resource.Resource)
			}
		}
		return nil
	})
}
