package karmada

import (
	"context"
	"fmt"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// startNodes gives the Pods of a member nodes to run on, a scheduler that chooses one,
// and kwok, which says of each Pod what a kubelet would say. No container runs.
func (k *Karmada) startNodes(ctx context.Context, m *member) error {
	starting, startCtx := errgroup.WithContext(ctx)
	starting.Go(func() error {
		return k.run(startCtx, func() (spec, error) { return k.kubeSchedulerSpec(m) })
	})
	starting.Go(func() error {
		return k.run(startCtx, func() (spec, error) { return k.kwokSpec(m) })
	})
	var names []string
	var nodes []*unstructured.Unstructured
	for i := range m.Nodes {
		name := fmt.Sprintf("%s-node-%d", m.Name, i+1)
		names = append(names, name)
		nodes = append(nodes, node(name))
	}
	starting.Go(func() error { return apply(startCtx, m.server.config, nodes...) })
	if err := starting.Wait(); err != nil {
		return err
	}
	return k.waitCondition(ctx, m.server.config, corev1.SchemeGroupVersion.WithResource("nodes"), string(corev1.NodeReady), names...)
}

// node has the labels that a kubelet sets. kwok adds the capacity, which no Pod exhausts.
func node(name string) *unstructured.Unstructured {
	n := object("v1", "Node", name)
	n.SetLabels(map[string]string{corev1.LabelHostname: name, corev1.LabelOSStable: "linux", corev1.LabelArchStable: "amd64"})
	return n
}

// kubeSchedulerSpec has no probe: to serve one, kube-scheduler would watch its
// certificate, and Karmadas side by side are short of inotify instances, of which Linux
// gives a user 128. Until it is ready, Pods are pending.
func (k *Karmada) kubeSchedulerSpec(m *member) (spec, error) {
	kubeconfig, err := m.server.component("kube-scheduler")
	if err != nil {
		return spec{}, err
	}
	return spec{
		name: MemberScheduler(m.Name), program: "kube-scheduler", tier: callers,
		flags: []string{"--kubeconfig=" + kubeconfig, "--leader-elect=false", "--secure-port=0"},
	}, nil
}

// kwokSpec gives nodes no address and no port: otherwise `kubectl logs` would make the
// API server call whatever listens there.
func (k *Karmada) kwokSpec(m *member) (spec, error) {
	kubeconfig, err := m.server.component("kwok")
	if err != nil {
		return spec{}, err
	}
	ports, err := k.ports.take(1)
	if err != nil {
		return spec{}, err
	}
	flags := []string{
		"--kubeconfig=" + kubeconfig,
		"--server-address=" + address(ports[0]),
		"--manage-all-nodes",
	}
	for _, stages := range k.options.Programs.Stages {
		flags = append(flags, "--config="+stages)
	}
	return spec{
		name: MemberKwok(m.Name), binary: k.options.Programs.Kwok, tier: callers,
		probe: "http://" + address(ports[0]) + "/healthz",
		flags: flags,
	}, nil
}
