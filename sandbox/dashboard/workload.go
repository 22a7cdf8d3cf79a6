package dashboard

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"

	"github.com/karmada-target/karmada-mirror/render"
	"github.com/karmada-target/karmada-mirror/sandbox/karmada"
	"github.com/karmada-target/karmada-mirror/sandbox/process"
)

const (
	system  = "karmada-system"
	account = "karmada-mirror"
	shop    = "shop"   // edited all the time
	legacy  = "legacy" // deleted at once: more than the breaker allows
)

// run is a karmada-mirror with two replicas on a Karmada.
type run struct {
	Options
	kubeconfig string
	addresses  [2]string
	replicas   [2]*process.Daemon
	client     kubernetes.Interface
}

func newRun(ctx context.Context, o Options) (*run, error) {
	r := &run{Options: o}
	if err := karmada.ApplyKustomization(ctx, o.Karmada.Config(), filepath.Join(o.Repository, "manifests", "karmada")); err != nil {
		return nil, err
	}
	var err error
	if r.kubeconfig, err = o.Karmada.ServiceAccountKubeconfig(ctx, system, account); err != nil {
		return nil, err
	}
	if r.client, err = kubernetes.NewForConfig(o.Karmada.Config()); err != nil {
		return nil, err
	}
	for i := range r.replicas {
		if r.addresses[i], err = process.FreeAddress(); err != nil {
			return nil, err
		}
		if err := r.start(i); err != nil {
			return nil, err
		}
	}
	return r, nil
}

func (r *run) start(i int) (err error) {
	// A restarted replica keeps its address, so that Prometheus finds it.
	r.replicas[i], err = process.StartDaemon(process.DaemonOptions{
		Program: []string{r.Daemon}, Kubeconfig: r.kubeconfig, LogFile: filepath.Join(r.Dir, fmt.Sprintf("karmada-mirror-%d.log", i)),
		Flags: []string{"--holder-identity", fmt.Sprintf("karmada-mirror-%d", i), "--metrics-bind-address", r.addresses[i]},
	})
	return err
}

func (r *run) stop() error {
	var errs []error
	for _, replica := range r.replicas {
		if replica != nil {
			errs = append(errs, replica.Stop())
		}
	}
	return errors.Join(errs...)
}

// workload packs a few days of a cluster into minutes.
func (r *run) workload(ctx context.Context) error {
	group, ctx := errgroup.WithContext(ctx)
	edits, stopEdits := context.WithCancel(ctx)
	defer stopEdits()
	steps := []struct {
		what string
		do   func(context.Context) error
		rest time.Duration
	}{
		{"objects are created", r.create, 15 * time.Second},
		{"mistakes are made", r.makeMistakes, 15 * time.Second},
		{"a member has objects with the same names", r.occupy, 15 * time.Second},
		{"the configuration gets a mistake", func(ctx context.Context) error { return r.reconfigure(ctx, "resources:", "resourcez:") }, 15 * time.Second},
		{"the mistake is fixed", func(ctx context.Context) error { return r.reconfigure(ctx, "resourcez:", "resources:") }, 10 * time.Second},
		{"a member goes down", func(context.Context) error {
			return r.Karmada.Component(karmada.MemberAPIServer("member2")).Stop()
		}, 35 * time.Second},
		{"the member comes back", func(ctx context.Context) error {
			return r.Karmada.Component(karmada.MemberAPIServer("member2")).Restart(ctx)
		}, 15 * time.Second},
		{"a namespace is deleted", func(ctx context.Context) error {
			return r.client.CoreV1().ConfigMaps(legacy).DeleteCollection(ctx, metav1.DeleteOptions{}, metav1.ListOptions{LabelSelector: "app=" + legacy})
		}, 10 * time.Second},
		{"the leader is killed", r.killLeader, 30 * time.Second},
		{"the deletions are approved", r.approve, 20 * time.Second},
	}
	group.Go(func() error {
		defer stopEdits()
		for i, step := range steps {
			fmt.Fprintf(r.Out, "  %s\n", step.what)
			if err := step.do(ctx); err != nil {
				return fmt.Errorf("cannot carry out the step %q: %w", step.what, err)
			}
			if i == 0 { // from now on there is something to edit
				group.Go(func() error { return r.edit(edits) })
			}
			if err := rest(ctx, step.rest); err != nil {
				return err
			}
		}
		return nil
	})
	return group.Wait()
}

func rest(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func page(namespace, name, clusters string) *corev1.ConfigMap {
	return &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: namespace, Name: name, Labels: map[string]string{"app": namespace},
			Annotations: map[string]string{render.ClustersAnnotation: clusters},
		},
		Data: map[string]string{"text": "one"},
	}
}

func (r *run) create(ctx context.Context) error {
	for _, name := range []string{shop, legacy} {
		_, err := r.client.CoreV1().Namespaces().Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{})
		if err != nil {
			return err
		}
	}
	for i := range 120 {
		for namespace, clusters := range map[string]string{shop: "member1,member2,member3", legacy: "member1,member2"} {
			if _, err := r.client.CoreV1().ConfigMaps(namespace).Create(ctx, page(namespace, fmt.Sprintf("page-%d", i), clusters), metav1.CreateOptions{}); err != nil {
				return err
			}
		}
		if i%4 == 0 {
			service := &corev1.Service{
				ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("front-%d", i), Annotations: map[string]string{render.ClustersAnnotation: "member1,member3"}},
				Spec:       corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 80}}},
			}
			if i%16 == 0 {
				service.Annotations[render.SuspendAnnotation] = "true"
			}
			if _, err := r.client.CoreV1().Services(shop).Create(ctx, service, metav1.CreateOptions{}); err != nil {
				return err
			}
		}
		if err := rest(ctx, 150*time.Millisecond); err != nil {
			return err
		}
	}
	return nil
}

// edit changes objects, at a varying rate, until ctx is done.
func (r *run) edit(ctx context.Context) error {
	for i := 0; ; i++ {
		if err := rest(ctx, time.Duration(60+i%300)*time.Millisecond); err != nil {
			return nil
		}
		patch := fmt.Appendf(nil, `{"data":{"text":"%d"}}`, i)
		_, err := r.client.CoreV1().ConfigMaps(shop).Patch(ctx, fmt.Sprintf("page-%d", i*7%120), types.MergePatchType, patch, metav1.PatchOptions{})
		if err != nil && ctx.Err() == nil {
			return err
		}
	}
}

// makeMistakes names clusters that do not exist, and annotates objects that must not be
// mirrored. Annotations that cannot be parsed are rejected at admission.
func (r *run) makeMistakes(ctx context.Context) error {
	for i, namespace := range []string{shop, shop, shop, shop, shop, "kube-public", "kube-public"} {
		if _, err := r.client.CoreV1().ConfigMaps(namespace).Create(ctx, page(namespace, fmt.Sprintf("mistake-%d", i), "member1,member9"), metav1.CreateOptions{}); err != nil {
			return err
		}
	}
	return nil
}

// occupy creates objects in a member that are then mirrored to it: Karmada does not
// overwrite them.
func (r *run) occupy(ctx context.Context) error {
	member, err := kubernetes.NewForConfig(r.Karmada.MemberConfig("member3"))
	if err != nil {
		return err
	}
	for i := range 6 {
		own := page(shop, fmt.Sprintf("occupied-%d", i), "")
		own.Annotations = nil
		if _, err := member.CoreV1().ConfigMaps(shop).Create(ctx, own, metav1.CreateOptions{}); err != nil {
			return err
		}
		if _, err := r.client.CoreV1().ConfigMaps(shop).Create(ctx, page(shop, own.Name, "member1,member3"), metav1.CreateOptions{}); err != nil {
			return err
		}
	}
	return nil
}

func (r *run) reconfigure(ctx context.Context, before, after string) error {
	configMap, err := r.client.CoreV1().ConfigMaps(system).Get(ctx, account, metav1.GetOptions{})
	if err != nil {
		return err
	}
	configMap.Data["config.yaml"] = strings.Replace(configMap.Data["config.yaml"], before, after, 1)
	_, err = r.client.CoreV1().ConfigMaps(system).Update(ctx, configMap, metav1.UpdateOptions{})
	return err
}

// killLeader kills the leader and restarts it once the other replica has taken over.
func (r *run) killLeader(ctx context.Context) error {
	lease, err := r.client.CoordinationV1().Leases(system).Get(ctx, account, metav1.GetOptions{})
	if err != nil {
		return err
	}
	holder, leader := *lease.Spec.HolderIdentity, 0
	if strings.HasPrefix(holder, "karmada-mirror-1_") {
		leader = 1
	}
	if err := r.replicas[leader].Kill(); err != nil {
		return err
	}
	err = wait.PollUntilContextTimeout(ctx, time.Second, time.Minute, true, func(ctx context.Context) (bool, error) {
		lease, err := r.client.CoordinationV1().Leases(system).Get(ctx, account, metav1.GetOptions{})
		return err == nil && *lease.Spec.HolderIdentity != holder, err
	})
	if err != nil {
		return err
	}
	return r.start(leader)
}

func (r *run) approve(ctx context.Context) error {
	command := exec.CommandContext(ctx, r.Daemon, "deletions", "approve", "--yes", "--kubeconfig", r.Karmada.Kubeconfig())
	output, err := command.CombinedOutput()
	if err != nil {
		return fmt.Errorf("%w: %s", err, output)
	}
	_, err = io.WriteString(r.Out, "  "+string(output))
	return err
}
