package e2e

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// WantInMembers waits until each member has the ConfigMap with a value.
func WantInMembers(t *testing.T, namespace, name, value string, members ...string) {
	t.Helper()
	for _, member := range members {
		Eventually(t, fmt.Sprintf("ConfigMap %s with %q in %s", name, value, member), func(ctx context.Context) error {
			u, err := Env.Member(member).Resource(ConfigMaps).Namespace(namespace).Get(ctx, name, metav1.GetOptions{})
			if err != nil {
				return err
			}
			if got, _, _ := unstructured.NestedString(u.Object, "data", "key"); got != value {
				return fmt.Errorf("its value is %q", got)
			}
			return nil
		})
	}
}

// WantGone waits until the members no longer have an object.
func WantGone(t *testing.T, gvr schema.GroupVersionResource, namespace, name string, members ...string) {
	t.Helper()
	for _, member := range members {
		Eventually(t, fmt.Sprintf("%s %s to be deleted in %s", gvr.Resource, name, member), func(ctx context.Context) error {
			_, err := Env.Member(member).Resource(gvr).Namespace(namespace).Get(ctx, name, metav1.GetOptions{})
			if err == nil {
				return errors.New("it is still there")
			}
			if apierrors.IsNotFound(err) {
				return nil
			}
			return err
		})
	}
}

// WantEvent waits for a Warning from the daemon about an object, with these words in its
// message, which it returns.
func WantEvent(t *testing.T, namespace, name, reason string, words ...string) (message string) {
	t.Helper()
	Eventually(t, fmt.Sprintf("Event %s on %s/%s", reason, namespace, name), func(ctx context.Context) error {
		list, err := Env.Admin.Resource(Events).Namespace(namespace).List(ctx, metav1.ListOptions{})
		if err != nil {
			return err
		}
		var seen []string
		for _, e := range list.Items {
			about, _, _ := unstructured.NestedString(e.Object, "involvedObject", "name")
			component, _, _ := unstructured.NestedString(e.Object, "source", "component")
			got, _, _ := unstructured.NestedString(e.Object, "reason")
			if about != name || component != "karmada-mirror" {
				continue
			}
			message, _, _ = unstructured.NestedString(e.Object, "message")
			lacks := func(word string) bool { return !strings.Contains(message, word) }
			if got == reason && !slices.ContainsFunc(words, lacks) {
				return nil
			}
			seen = append(seen, got+": "+message)
		}
		return fmt.Errorf("there are only %q", seen)
	})
	return message
}

// Held is the series that counts the held deletions of a resource.
func Held(resource string) string {
	return fmt.Sprintf("karmada_mirror_deletions_held{resource=%q}", resource)
}

// WantLine fails the test unless a line of the output matches a pattern.
func WantLine(t *testing.T, output, pattern string) {
	t.Helper()
	if !regexp.MustCompile(`(?m)` + pattern).MatchString(output) {
		t.Errorf("no line matches %q in:\n%s", pattern, output)
	}
}
