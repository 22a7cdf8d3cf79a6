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
		name, image string
		check       func(*corev1.Pod) error
		ready       int32
	}{
		{"healthy", "nginx:1.29-alpine", isReady, 3},
		{"crashing", "nginx:1.29-broken", crashesAgain, 0},
		{"unready", "nginx:never-ready", runsUnready, 0},
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
			if len(pods.Items) != 3 {
				return fmt.Errorf("there are %d", len(pods.Items))
			}
			for i := range pods.Items {
				if err := d.check(&pods.Items[i]); err != nil {
					return fmt.Errorf("%s: %w", pods.Items[i].Name, err)
				}
			}
			observed, err := client.AppsV1().Deployments(metav1.NamespaceDefault).Get(ctx, d.name, metav1.GetOptions{})
			if err != nil {
				return err
			}
			if observed.Status.ReadyReplicas != d.ready {
				return fmt.Errorf("%d of its replicas are ready", observed.Status.ReadyReplicas)
			}
			return nil
		})
		if err != nil {
			t.Error(err)
		}
	}
}

func isReady(pod *corev1.Pod) error {
	if pod.Status.Phase != corev1.PodRunning || !conditionTrue(pod, corev1.PodReady) {
		return unexpected(pod)
	}
	return nil
}

// crashesAgain wants a second restart, so that it is a loop.
func crashesAgain(pod *corev1.Pod) error {
	if len(pod.Status.ContainerStatuses) != 1 || conditionTrue(pod, corev1.PodReady) {
		return unexpected(pod)
	}
	container := pod.Status.ContainerStatuses[0]
	waits := container.State.Waiting != nil && container.State.Waiting.Reason == "CrashLoopBackOff"
	if container.Ready || container.RestartCount < 2 || !waits || container.LastTerminationState.Terminated == nil {
		return unexpected(pod)
	}
	return nil
}

func runsUnready(pod *corev1.Pod) error {
	if pod.Status.Phase != corev1.PodRunning || len(pod.Status.ContainerStatuses) != 1 || conditionTrue(pod, corev1.PodReady) {
		return unexpected(pod)
	}
	container := pod.Status.ContainerStatuses[0]
	if container.Ready || container.State.Running == nil {
		return unexpected(pod)
	}
	return nil
}

func conditionTrue(pod *corev1.Pod, condition corev1.PodConditionType) bool {
	for _, c := range pod.Status.Conditions {
		if c.Type == condition {
			return c.Status == corev1.ConditionTrue
		}
	}
	return false
}

func unexpected(pod *corev1.Pod) error {
	return fmt.Errorf("it is %s, with the containers %+v", pod.Status.Phase, pod.Status.ContainerStatuses)
}

// noNodesUnlessAsked asks both the sandbox and the system which processes serve nodes.
func noNodesUnlessAsked(t *testing.T, k *Karmada) {
	for _, member := range []string{"member2"} {
		for _, name := range []string{MemberScheduler(member), MemberKwok(member)} {
			if k.Component(name) != nil {
				t.Errorf("%s runs although its member has no nodes", name)
			}
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
