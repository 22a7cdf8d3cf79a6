package karmada

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	clusterv1alpha1 "github.com/karmada-io/api/cluster/v1alpha1"
	"golang.org/x/sync/errgroup"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"
)

// member is a Member with a server.
type member struct {
	Member
	server *server
	// token makes Karmada an administrator of a member in push mode.
	token string
}

// Join starts a member cluster with an empty API server of its own, registers it
// with Karmada, and returns when Karmada reports it ready. After an error, Unjoin
// cleans up.
func (k *Karmada) Join(ctx context.Context, wanted Member) error {
	m, err := k.startMember(ctx, wanted)
	if err != nil {
		return err
	}
	return k.join(ctx, m)
}

// Unjoin deletes the Cluster, waits until Karmada has removed it, and then stops
// the member's components. If the member joins again, it is a new, empty cluster.
func (k *Karmada) Unjoin(ctx context.Context, name string) error {
	clusters, err := k.clusters()
	if err != nil {
		return err
	}
	if err := clusters.Delete(ctx, name, metav1.DeleteOptions{}); err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("cannot delete cluster %q: %w", name, err)
	}
	err = k.Wait(ctx, fmt.Sprintf("cluster %q to be gone", name), func(ctx context.Context) error {
		_, err := clusters.Get(ctx, name, metav1.GetOptions{})
		if err == nil {
			return errors.New("it still exists")
		}
		if !apierrors.IsNotFound(err) {
			return err
		}
		return nil
	})
	if err != nil {
		return err
	}
	return k.remove(name)
}

// MemberConfig is an administrator's client configuration for a member's API
// server, without a rate limit. The caller owns it. It is nil if there is no such
// member.
func (k *Karmada) MemberConfig(name string) *rest.Config {
	if m := k.member(name); m != nil {
		return rest.CopyConfig(m.server.config)
	}
	return nil
}

// MemberKubeconfig is the path of a kubeconfig with the rights of MemberConfig, or
// empty if there is no such member.
func (k *Karmada) MemberKubeconfig(name string) string {
	if m := k.member(name); m != nil {
		return m.server.kubeconfig
	}
	return ""
}

func (k *Karmada) member(name string) *member {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.members[name]
}

// startMember starts a member's own components, all but its agent.
func (k *Karmada) startMember(ctx context.Context, wanted Member) (*member, error) {
	if wanted.Name == "" || wanted.Name == k.server.name || k.member(wanted.Name) != nil {
		return nil, fmt.Errorf("cannot start member %q: the name is taken", wanted.Name)
	}
	if wanted.Nodes > 0 && k.options.Programs.Kwok == "" {
		return nil, fmt.Errorf("cannot start member %q with nodes: Programs.Kwok is not set", wanted.Name)
	}
	s, err := k.newServer(wanted.Name)
	if err != nil {
		return nil, err
	}
	m := &member{Member: wanted, server: s, token: rand.Text()}
	k.mu.Lock()
	k.joins++
	prefix := fmt.Sprintf("/%s-%d", m.Name, k.joins)
	k.members[m.Name] = m
	k.mu.Unlock()

	tokens := filepath.Join(s.dir, "tokens.csv")
	if err := os.WriteFile(tokens, []byte(fmt.Sprintf("%s,karmada,karmada,%s\n", m.token, administrators)), 0o600); err != nil {
		return nil, fmt.Errorf("cannot write the tokens of member %q: %w", m.Name, err)
	}
	err = k.run(ctx, func() (spec, error) {
		return k.kubeAPIServerSpec(s, MemberAPIServer(m.Name), prefix,
			"--token-auth-file="+tokens,
			// It taints a new node until the node lifecycle controller, which does not
			// run here, finds it ready.
			"--disable-admission-plugins=TaintNodesByCondition",
		)
	})
	if err != nil {
		return nil, err
	}
	starting, startCtx := errgroup.WithContext(ctx)
	starting.Go(func() error {
		return k.run(startCtx, func() (spec, error) {
			return k.kubeControllerManagerSpec(s, MemberControllerManager(m.Name), memberControllers)
		})
	})
	if m.Nodes > 0 {
		starting.Go(func() error { return k.startNodes(startCtx, m) })
	}
	return m, starting.Wait()
}

// join registers a started member with Karmada and waits until it is ready.
func (k *Karmada) join(ctx context.Context, m *member) error {
	register := k.registerPush
	if m.Mode == clusterv1alpha1.Pull {
		register = k.registerPull
	}
	if err := register(ctx, m); err != nil {
		return err
	}
	clusters, err := k.clusters()
	if err != nil {
		return err
	}
	err = k.Wait(ctx, fmt.Sprintf("cluster %q to be ready", m.Name), func(ctx context.Context) error {
		observed, err := clusters.Get(ctx, m.Name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		return hasCondition(observed, clusterv1alpha1.ClusterConditionReady)
	})
	if err != nil {
		return err
	}
	k.say("%s has joined in %s mode", m.Name, m.Mode)
	return nil
}

// registerPush does what `karmadactl join` does, but uses a static token instead
// of creating ServiceAccounts in the member.
func (k *Karmada) registerPush(ctx context.Context, m *member) error {
	memberClient, err := typedcorev1.NewForConfig(m.server.config)
	if err != nil {
		return fmt.Errorf("cannot create a client of member %q: %w", m.Name, err)
	}
	// Karmada refuses two Clusters with the same ID, and looks for the ID here.
	system, err := memberClient.Namespaces().Get(ctx, metav1.NamespaceSystem, metav1.GetOptions{})
	if err != nil {
		return fmt.Errorf("cannot read the id of member %q: %w", m.Name, err)
	}
	credentials, err := k.writeCredentials(ctx, m)
	if err != nil {
		return err
	}
	cluster := &clusterv1alpha1.Cluster{
		TypeMeta:   metav1.TypeMeta{APIVersion: clusterv1alpha1.GroupVersion.String(), Kind: "Cluster"},
		ObjectMeta: metav1.ObjectMeta{Name: m.Name},
		Spec: clusterv1alpha1.ClusterSpec{
			ID:                    string(system.UID),
			SyncMode:              clusterv1alpha1.Push,
			APIEndpoint:           m.server.config.Host,
			SecretRef:             credentials,
			ImpersonatorSecretRef: credentials,
		},
	}
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(cluster)
	if err != nil {
		return fmt.Errorf("cannot convert cluster %q: %w", m.Name, err)
	}
	clusters, err := k.clusters()
	if err != nil {
		return err
	}
	if _, err := clusters.Create(ctx, &unstructured.Unstructured{Object: content}, metav1.CreateOptions{}); err != nil {
		return fmt.Errorf("cannot create cluster %q: %w", m.Name, err)
	}
	return nil
}

// writeCredentials writes the Secret that Karmada uses to reach the member.
func (k *Karmada) writeCredentials(ctx context.Context, m *member) (*clusterv1alpha1.LocalSecretReference, error) {
	secret := object("v1", "Secret", m.Name)
	secret.SetNamespace(clusterNamespace)
	secret.Object["stringData"] = map[string]any{
		clusterv1alpha1.SecretTokenKey:  m.token,
		clusterv1alpha1.SecretCADataKey: string(m.server.authority.pem),
	}
	if err := apply(ctx, k.server.config, secret); err != nil {
		return nil, err
	}
	return &clusterv1alpha1.LocalSecretReference{Namespace: clusterNamespace, Name: m.Name}, nil
}

// remove stops a member's components and forgets it.
func (k *Karmada) remove(name string) error {
	for _, component := range []string{Agent(name), MemberKwok(name), MemberScheduler(name), MemberControllerManager(name), MemberAPIServer(name)} {
		if c := k.Component(component); c != nil {
			if err := c.Stop(); err != nil {
				return err
			}
		}
		k.mu.Lock()
		k.components = slices.DeleteFunc(k.components, func(c *Component) bool { return c.name == component })
		delete(k.records, component)
		delete(k.deaths, component)
		k.mu.Unlock()
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	delete(k.members, name)
	return k.writeStateLocked()
}

func (k *Karmada) clusters() (dynamic.ResourceInterface, error) {
	client, err := dynamic.NewForConfig(k.server.config)
	if err != nil {
		return nil, fmt.Errorf("cannot create a client: %w", err)
	}
	return client.Resource(schema.GroupVersion(clusterv1alpha1.GroupVersion).WithResource(clusterv1alpha1.ResourcePluralCluster)), nil
}
