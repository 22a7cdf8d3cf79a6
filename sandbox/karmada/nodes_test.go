package karmada

import (
	"context"
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
)

const deployment = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: %[1]s}
spec:
  replicas: 3
  selector: {matchLabels: {app: %[1]s}}
  template:
    metadata: {labels: {app: %[1]s}}
    spec: {containers: [{name: main, image: %[2]q}]}
`

// podsRun checks what becomes of three Deployments, by the word in their image. The
// crash loop takes the longest, so the last look is at what must not become ready.
func podsRun(t *testing.T, k *Karmada) {
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	client, err := kubernetes.NewForConfig(k.MemberConfig("member1"))
	if err != nil {
		t.Fatal(err)
	}
	deployments := []struct {
		name, image, state string
		ready              int32
	}{
		{"healthy", "nginx:1.29-alpine", "Running", 3},
		{"crashing", "nginx:1.29-broken", "CrashLoopBackOff, again", 0},
		{"unready", "nginx:never-ready", "Running", 0},
	}
	for _, d := range deployments {
		if err := Apply(ctx, k.MemberConfig("member1"), fmt.Appendf(nil, deployment, d.name, d.image)); err != nil {
			t.Fatal(err)
		}
	}
	for _, d := range deployments {
		err := k.Wait(ctx, "the Pods of Deployment "+d.name, func(ctx context.Context) error {
			pods, err := client.CoreV1().Pods(metav1.NamespaceDefault).List(ctx, metav1.ListOptions{LabelSelector: "app=" + d.name})
			if err != nil {
				return err
			}
			observed, err := client.AppsV1().Deployments(metav1.NamespaceDefault).Get(ctx, d.name, metav1.GetOptions{})
			if err != nil {
				return err
			}
			if len(pods.Items) != 3 || observed.Status.ReadyReplicas != d.ready {
				return fmt.Errorf("there are %d, and %d are ready", len(pods.Items), observed.Status.ReadyReplicas)
			}
			for i := range pods.Items {
				if state := stateOf(&pods.Items[i]); state != d.state {
					return fmt.Errorf("%s is %q", pods.Items[i].Name, state)
				}
			}
			return nil
		})
		if err != nil {
			t.Error(err)
		}
	}
}

// stateOf is the phase of a Pod, or why its container waits, and whether it does so in a loop.
func stateOf(pod *corev1.Pod) string {
	state := string(pod.Status.Phase)
	for _, container := range pod.Status.ContainerStatuses {
		if container.State.Waiting != nil {
			state = container.State.Waiting.Reason
		}
		if container.RestartCount > 1 && container.LastTerminationState.Terminated != nil {
			state += ", again"
		}
	}
	return state
}

// noNodesUnlessAsked asks both the sandbox and the system which processes serve nodes.
func noNodesUnlessAsked(t *testing.T, k *Karmada) {
	for _, name := range []string{MemberScheduler("member2"), MemberKwok("member2")} {
		if k.Component(name) != nil {
			t.Errorf("%s runs although its member has no nodes", name)
		}
	}
	commands := processesIn(t, k.options.Dir)
	for _, program := range []string{"kube-scheduler", "kwok"} {
		count := 0
		for _, command := range commands {
			if strings.Contains(command, program+".kubeconfig") {
				count++
			}
		}
		if len(commands) > 0 && count != 1 {
			t.Errorf("%d processes of %s run for one member with nodes", count, program)
		}
	}
}
