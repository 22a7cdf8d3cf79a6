package shared

import (
	"context"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	. "github.com/karmada-target/karmada-mirror/sandbox/e2e"
	"github.com/karmada-target/karmada-mirror/sandbox/karmada"
)

// TestPodSecurity has a real API server admit the Pods of the manifests under the Pod Security
// level restricted, and checks what this level does not require.
func TestPodSecurity(t *testing.T) {
	t.Parallel()
	hostMu.Lock()
	defer hostMu.Unlock()
	// The daemon has nothing to ask the host cluster, except who scrapes.
	for kustomization, tokens := range map[string]int{filepath.Join(Env.Builder.Repository(), "manifests", "host"): 0, secured: 1} {
		t.Run(filepath.Base(kustomization), func(t *testing.T) { isRestricted(t, installHost(t, kustomization), tokens) })
	}
}

func isRestricted(t *testing.T, host kubernetes.Interface, tokens int) {
	// The ServiceAccount there does not opt out of tokens.
	Must(t, karmada.Apply(t.Context(), Env.MemberConfig(hostCluster), []byte(`
apiVersion: v1
kind: Namespace
metadata: {name: restricted, labels: {pod-security.kubernetes.io/enforce: restricted, pod-security.kubernetes.io/enforce-version: latest}}
---
apiVersion: v1
kind: ServiceAccount
metadata: {name: karmada-mirror, namespace: restricted}
`)))
	deployment, err := host.AppsV1().Deployments(System).Get(t.Context(), Account, metav1.GetOptions{})
	Must(t, err)
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "pod"}, Spec: deployment.Spec.Template.Spec}
	admit := func(change func(*corev1.PodSpec)) (admitted *corev1.Pod, err error) {
		changed := pod.DeepCopy()
		change(&changed.Spec)
		return host.CoreV1().Pods("restricted").Create(t.Context(), changed, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
	}
	var admitted *corev1.Pod
	Eventually(t, "the Pod to be admitted", func(context.Context) (err error) { // the policy and the account are cached
		admitted, err = admit(func(*corev1.PodSpec) {})
		return err
	})
	if _, err := admit(func(s *corev1.PodSpec) { s.SecurityContext.RunAsNonRoot = new(false) }); err == nil || !strings.Contains(err.Error(), "PodSecurity") {
		t.Errorf("a Pod that may run as root is admitted: %v", err)
	}
	if n := tokensIn(admitted); n != tokens {
		t.Errorf("the Pod has %d tokens of the host cluster, not %d", n, tokens)
	}
	// As a control, the API server adds a token unless something prevents it.
	if open, err := admit(func(s *corev1.PodSpec) { s.AutomountServiceAccountToken = nil }); err != nil || tokensIn(open) != 1 {
		t.Errorf("a Pod that does not opt out gets no token: %v", err)
	}
	wantClosedFiles(t, admitted)
}

// tokensIn counts the ServiceAccount tokens that a Pod gets.
func tokensIn(pod *corev1.Pod) (tokens int) {
	for _, volume := range pod.Spec.Volumes {
		if volume.Projected != nil && slices.ContainsFunc(volume.Projected.Sources, func(s corev1.VolumeProjection) bool { return s.ServiceAccountToken != nil }) {
			tokens++
		}
	}
	return tokens
}

// wantClosedFiles checks that nothing is writable, and that only the daemon's group can read
// Secrets.
func wantClosedFiles(t *testing.T, pod *corev1.Pod) {
	t.Helper()
	for _, container := range pod.Spec.Containers {
		if readOnly := container.SecurityContext.ReadOnlyRootFilesystem; readOnly == nil || !*readOnly {
			t.Error("the root file system is writable")
		}
		if slices.ContainsFunc(container.VolumeMounts, func(m corev1.VolumeMount) bool { return !m.ReadOnly }) {
			t.Errorf("a volume is writable: %v", container.VolumeMounts)
		}
	}
	secrets := slices.DeleteFunc(slices.Clone(pod.Spec.Volumes), func(v corev1.Volume) bool { return v.Secret == nil })
	group := pod.Spec.SecurityContext
	isLoose := func(v corev1.Volume) bool { return v.Secret.DefaultMode == nil || *v.Secret.DefaultMode != 0o440 }
	if len(secrets) == 0 || slices.ContainsFunc(secrets, isLoose) || group.FSGroup == nil || group.RunAsGroup == nil || *group.FSGroup != *group.RunAsGroup {
		t.Errorf("%d Secrets are not readable by the daemon's group alone: %v, %v", len(secrets), secrets, group)
	}
}
