package e2e

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

// Patience is how long reaching an end state may take on a busy machine.
const Patience = 3 * time.Minute

// Must fails the test on an error.
func Must(t *testing.T, errs ...error) {
	t.Helper()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
}

// Eventually waits until a condition holds; what completes "cannot wait for".
func Eventually(t *testing.T, what string, condition func(context.Context) error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), Patience)
	defer cancel()
	if err := Env.Wait(ctx, what, condition); err != nil {
		t.Fatal(err)
	}
}

// Pass waits for a time that is part of what the test shows.
func Pass(t *testing.T, d time.Duration) {
	t.Helper()
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-t.Context().Done():
	}
}

// Settle waits longer than a deletion takes to settle (--deletion-settle-period, 1 s), so
// that any wrong deletion would have been made by then.
func Settle(t *testing.T) {
	t.Helper()
	Pass(t, 3*time.Second)
}

// InMember checks a field of an object in a member.
func InMember(member string, gvr schema.GroupVersionResource, namespace, name string, want any, path ...string) func(context.Context) error {
	return func(ctx context.Context) error {
		u, err := Env.Member(member).Resource(gvr).Namespace(namespace).Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return fmt.Errorf("in %s: %w", member, err)
		}
		got, _, err := unstructured.NestedFieldNoCopy(u.Object, path...)
		if err == nil && got != want {
			err = fmt.Errorf("in %s, %s of %s is %v, not %v", member, strings.Join(path, "."), name, got, want)
		}
		return err
	}
}

// WantInMembers waits until each member has the ConfigMap with a value.
func WantInMembers(t *testing.T, namespace, name, value string, members ...string) {
	t.Helper()
	for _, member := range members {
		Eventually(t, fmt.Sprintf("ConfigMap %s with %q in %s", name, value, member), InMember(member, ConfigMaps, namespace, name, value, "data", "key"))
	}
}

// WantGone waits until the members no longer have an object.
func WantGone(t *testing.T, gvr schema.GroupVersionResource, namespace, name string, members ...string) {
	t.Helper()
	for _, member := range members {
		Eventually(t, fmt.Sprintf("%s %s to be deleted in %s", gvr.Resource, name, member), func(ctx context.Context) error {
			_, err := Env.Member(member).Resource(gvr).Namespace(namespace).Get(ctx, name, metav1.GetOptions{})
			return Absent(err)
		})
	}
}

// Absent turns the error of a GET into nil if the object does not exist.
func Absent(err error) error {
	switch {
	case err == nil:
		return errors.New("it still exists")
	case apierrors.IsNotFound(err):
		return nil
	}
	return err
}

// WantNone waits until the Karmada API server no longer has an object.
func WantNone(t *testing.T, gvr schema.GroupVersionResource, namespace, name string) {
	t.Helper()
	Eventually(t, fmt.Sprintf("%s %s to be deleted", gvr.Resource, name), func(ctx context.Context) error {
		_, err := Env.Admin.Resource(gvr).Namespace(namespace).Get(ctx, name, metav1.GetOptions{})
		return Absent(err)
	})
}

// MemberUID reads the UID of a ConfigMap in a member.
func MemberUID(t *testing.T, namespace, name, member string) types.UID {
	t.Helper()
	u, err := Env.Member(member).Resource(ConfigMaps).Namespace(namespace).Get(t.Context(), name, metav1.GetOptions{})
	Must(t, err)
	return u.GetUID()
}

// WantEvent waits for a Warning from the daemon about an object, with these words in its
// message.
func WantEvent(t *testing.T, namespace, name, reason string, words ...string) {
	t.Helper()
	Eventually(t, fmt.Sprintf("Event %s on %s/%s", reason, namespace, name), func(ctx context.Context) error {
		if namespace == "" { // of an object without a namespace
			namespace = metav1.NamespaceDefault
		}
		list, err := Env.Client.CoreV1().Events(namespace).List(ctx, metav1.ListOptions{FieldSelector: "source=karmada-mirror,involvedObject.name=" + name})
		if err != nil {
			return err
		}
		var seen []string
		for _, e := range list.Items {
			lacks := func(word string) bool { return !strings.Contains(e.Message, word) }
			if e.Reason == reason && !slices.ContainsFunc(words, lacks) {
				return nil
			}
			seen = append(seen, e.Reason+": "+e.Message)
		}
		return fmt.Errorf("there are only %q", seen)
	})
}
