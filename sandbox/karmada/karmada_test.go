package karmada

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	clusterv1alpha1 "github.com/karmada-io/api/cluster/v1alpha1"
	"github.com/karmada-target/karmada-mirror/sandbox/build"
	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
)

// patience is how long one step may take on a busy machine.
const patience = 2 * time.Minute

// programs builds what Start needs, like the command.
func programs(t *testing.T) Programs {
	t.Helper()
	builder, err := build.New(t.Context(), t.Output())
	if err != nil {
		t.Fatal(err)
	}
	binary, err := builder.Hyperkarmada(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	kwok, stages, err := builder.Kwok(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return Programs{Hyperkarmada: binary, Karmada: builder.KarmadaSources(), Kwok: kwok, Stages: stages}
}

// TestSandbox goes through the life of one sandbox: steps depend on those
// before.
func TestSandbox(t *testing.T) {
	dir := t.TempDir()
	k, err := Start(t.Context(), Options{
		Dir:      dir,
		Programs: programs(t),
		Members: []Member{
			{Name: "member1", Mode: clusterv1alpha1.Push, Nodes: 2},
			{Name: "member2", Mode: clusterv1alpha1.Push},
			{Name: "member3", Mode: clusterv1alpha1.Pull},
		},
		Progress: t.Output(),
	})
	if err != nil {
		t.Fatal(err)
	}
	// In case the test fails half-way; Stop may be called twice.
	defer func() {
		if err := k.Stop(); err != nil {
			t.Error(err)
		}
	}()
	steps := []struct {
		name string
		test func(*testing.T, *Karmada)
	}{
		{"WorksReachMembers", worksReachMembers},
		{"PodsRun", podsRun},
		{"NoNodesUnlessAsked", noNodesUnlessAsked},
		{"ServiceAccount", serviceAccount},
		{"AuditLog", auditLog},
		{"PausedWebhook", pausedWebhook},
		{"Restart", restart},
		{"DeathIsVisible", deathIsVisible},
		{"JoinAndUnjoin", joinAndUnjoin},
		{"StopLeavesNothing", stopLeavesNothing},
	}
	for _, step := range steps {
		if !t.Run(step.name, func(t *testing.T) { step.test(t, k) }) {
			return
		}
	}
}

func worksReachMembers(t *testing.T, k *Karmada) {
	for _, member := range []string{"member1", "member2", "member3"} {
		t.Run(member, func(t *testing.T) { workReaches(t, k, member) })
	}
}

func serviceAccount(t *testing.T, k *Karmada) {
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	const manifests = `
apiVersion: v1
kind: ServiceAccount
metadata: {namespace: karmada-system, name: reader}
---
apiVersion: v1
kind: Secret
type: kubernetes.io/service-account-token
metadata:
  namespace: karmada-system
  name: reader
  annotations: {kubernetes.io/service-account.name: reader}
`
	if err := Apply(ctx, k.Config(), []byte(manifests)); err != nil {
		t.Fatal(err)
	}
	path, err := k.ServiceAccountKubeconfig(ctx, "karmada-system", "reader")
	if err != nil {
		t.Fatal(err)
	}
	config, err := clientcmd.BuildConfigFromFlags("", path)
	if err != nil {
		t.Fatal(err)
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	review := &authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{
		ResourceAttributes: &authorizationv1.ResourceAttributes{Verb: "list", Resource: "secrets"},
	}}
	review, err = client.AuthorizationV1().SelfSubjectAccessReviews().Create(ctx, review, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if review.Status.Allowed {
		t.Error("a ServiceAccount without grants may list Secrets")
	}
}

func auditLog(t *testing.T, k *Karmada) {
	log, err := os.ReadFile(k.AuditLog())
	if err != nil {
		t.Fatal(err)
	}
	const user = `"username":"system:serviceaccount:karmada-system:reader"`
	for line := range bytes.Lines(log) {
		if bytes.Contains(line, []byte(user)) && bytes.Contains(line, []byte(`"verb":"create"`)) {
			return
		}
	}
	t.Error("the review that a ServiceAccount just created is not in the audit log")
}

func pausedWebhook(t *testing.T, k *Karmada) {
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	webhook := k.Component(Webhook)
	if err := webhook.Pause(); err != nil {
		t.Fatal(err)
	}
	if err := create(ctx, k, "member1", "paused"); err == nil {
		t.Error("a Work was created although its webhook is paused")
	}
	if err := webhook.Resume(); err != nil {
		t.Fatal(err)
	}
	workReaches(t, k, "member1")
}

func restart(t *testing.T, k *Karmada) {
	for _, name := range []string{Etcd, APIServer, Webhook, ControllerManager, Agent("member3"), MemberAPIServer("member1"), MemberScheduler("member1"), MemberKwok("member1")} {
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		component := k.Component(name)
		before := component.PID()
		if err := component.Restart(ctx); err != nil {
			t.Error(err)
		}
		cancel()
		if component.PID() == before {
			t.Errorf("%s has the same pid after its restart", name)
		}
	}
	worksReachMembers(t, k)
}

func deathIsVisible(t *testing.T, k *Karmada) {
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	component := k.Component(Webhook)
	if err := syscall.Kill(component.PID(), syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	err := k.Wait(ctx, "what never comes", func(context.Context) error { return errors.New("not yet") })
	var death *ComponentError
	if !errors.As(err, &death) || death.Name != Webhook || len(death.LastLines) == 0 {
		t.Errorf("Wait() = %v, want the death of %s with its last lines", err, Webhook)
	}
	if err := component.Restart(ctx); err != nil {
		t.Fatal(err)
	}
	if err := k.Err(); err != nil {
		t.Errorf("a restarted component still counts as dead: %v", err)
	}
}

func joinAndUnjoin(t *testing.T, k *Karmada) {
	for name, mode := range map[string]clusterv1alpha1.ClusterSyncMode{
		"member4": clusterv1alpha1.Push, "member5": clusterv1alpha1.Pull,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithTimeout(t.Context(), patience)
			defer cancel()
			if err := k.Join(ctx, Member{Name: name, Mode: mode, Nodes: 1}); err != nil {
				t.Fatal(err)
			}
			workReaches(t, k, name)
			if err := k.Unjoin(ctx, name); err != nil {
				t.Fatal(err)
			}
			if k.MemberConfig(name) != nil || k.Component(MemberAPIServer(name)) != nil || k.Component(MemberKwok(name)) != nil {
				t.Error("the member is still known")
			}
		})
	}
}

func stopLeavesNothing(t *testing.T, k *Karmada) {
	records := slices.Collect(maps.Values(k.records))
	begun := time.Now()
	if err := k.Stop(); err != nil {
		t.Fatal(err)
	}
	t.Logf("%d components stopped in %s", len(records), time.Since(begun))
	for _, r := range records {
		if runs, err := r.runs(); err != nil || runs {
			t.Errorf("%s (process %d) runs = %v, %v", r.Name, r.PID, runs, err)
		}
	}
	for _, command := range processesIn(t, k.options.Dir) {
		t.Errorf("leftover process: %s", command)
	}
}

// processesIn lists the command lines that name a folder, if there is a /proc.
// It finds processes that the sandbox itself does not know about.
func processesIn(t *testing.T, dir string) []string {
	t.Helper()
	paths, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for _, path := range paths {
		line, err := os.ReadFile(path)
		if err == nil && bytes.Contains(line, []byte(dir)) {
			found = append(found, fmt.Sprintf("%q", line))
		}
	}
	return found
}

// A component that cannot start makes Start fail, say why, and leave nothing
// behind.
func TestStartFails(t *testing.T) {
	dir := t.TempDir()
	_, err := Start(t.Context(), Options{
		Dir:      dir,
		Programs: programs(t),
		Flags:    map[string][]string{APIServer: {"--no-such-flag"}},
	})
	var death *ComponentError
	if !errors.As(err, &death) || death.Name != APIServer {
		t.Fatalf("Start() = %v, want the death of %s", err, APIServer)
	}
	if !strings.Contains(strings.Join(death.LastLines, ""), "no-such-flag") {
		t.Errorf("the last lines do not say why: %q", death.LastLines)
	}
	for _, command := range processesIn(t, dir) {
		t.Errorf("leftover process: %s", command)
	}
	if _, err := Start(t.Context(), Options{Dir: dir}); err == nil {
		t.Error("a second sandbox started in the folder of the first")
	}
}
