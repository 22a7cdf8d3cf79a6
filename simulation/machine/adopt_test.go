package machine

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/karmada-target/karmada-mirror/simulation/apiserver"
)

// interrupted is an API server that a command reaches for some writes only, and then it is interrupted.
type interrupted struct {
	http.RoundTripper
	writes int
	end    func()
}

func (i *interrupted) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Method != http.MethodGet && r.URL.Query().Get("dryRun") == "" {
		if i.writes--; i.writes < 0 {
			i.end()
			return nil, errors.New("interrupted")
		}
	}
	return i.RoundTripper.RoundTrip(r)
}

// adopted moves what a policy propagates, interrupted after each number of writes: another run completes it, and the objects in
// the members stay the same all the time.
func (m *machine) adopted() error {
	const least = 6 // writes: less would mean that it is not interrupted
	for writes, isDone := 0, false; !isDone; writes++ {
		var err error
		if isDone, err = m.adoptedAfter(writes); err != nil {
			return fmt.Errorf("interrupted after %d writes: %w", writes, err)
		}
		if isDone && writes < least {
			return fmt.Errorf("it has made %d writes only", writes)
		}
	}
	return nil
}

// reverted is an API server on which a GitOps tool reverts the policy right before adopt deletes it, or which answers late then.
type reverted struct {
	http.RoundTripper
	revert func()
	late   time.Duration
}

func (r reverted) RoundTrip(request *http.Request) (*http.Response, error) {
	isDeleted := request.Method == http.MethodDelete && strings.Contains(request.URL.Path, "/propagationpolicies/")
	if isDeleted && r.revert != nil {
		r.revert()
	}
	response, err := r.RoundTripper.RoundTrip(request)
	if isDeleted {
		time.Sleep(r.late)
	}
	return response, err
}

// adoptRefuses: what would be deleted, taken over, or left alone in a member is not moved, and nothing is changed. It moves a policy that
// is reverted in between all the same.
func (m *machine) adoptRefuses() error {
	page := refOf(thePage)
	policy := apiserver.Ref{Resource: schema.GroupResource{Group: "policy.karmada.io", Resource: "propagationpolicies"}, Namespace: page.Namespace, Name: "policy"}
	other := apiserver.Object{"metadata": apiserver.Object{"name": "other"}, "spec": apiserver.Object{"resourceSelectors": []any{apiserver.Object{"apiVersion": "v1", "kind": "ConfigMap"}}, "placement": apiserver.Object{}}}
	otherRef := apiserver.Ref{Resource: schema.GroupResource{Group: "policy.karmada.io", Resource: "clusterpropagationpolicies"}, Name: "other"}
	creates := func() error { _, err := m.store.Create(otherRef.Resource, other); return err }
	deletes := func() error { return m.store.Delete(otherRef, metav1.DeleteOptions{}) }
	unchanged := func() error {
		if u := (unstructured.Unstructured{Object: m.store.Get(page)}); m.store.Get(policy) == nil || u.GetAnnotations()[clustersKey] != "" {
			return errors.New("something was changed")
		}
		return nil
	}
	says := func(placement apiserver.Object) act {
		return func() error {
			_, err := m.store.Modify(policy, "", func(o apiserver.Object) { o["spec"] = apiserver.Object{"placement": placement} })
			return err
		}
	}
	const adopt = "adopt --policy a/policy --yes"
	refuses := func(text string) act { return func() error { return m.tell(m.refuses(adopt, text), unchanged) } }
	reverts := func() {
		_, _ = m.store.Modify(policy, "", func(o apiserver.Object) { o["spec"].(apiserver.Object)["preserveResourcesOnDeletion"] = false })
		time.Sleep(10 * time.Second)
	}
	deleted := m.deletions(page, "m1", "m2")
	return m.tell(m.page(nil), func() error { return m.karmada.Propagate(page, "m1", "m2") }, pause(time.Minute), m.hasInMember("m1", "1"),
		creates, refuses("ClusterPropagationPolicy other selects it, too"), deletes,
		says(apiserver.Object{}), refuses("these annotations choose m1, m2, m3"),
		says(apiserver.Object{"spreadConstraints": []any{apiserver.Object{"spreadByField": "region"}}}), refuses("spreadConstraints"),
		says(apiserver.Object{"overflowAffinities": []any{}}), refuses("fields that this command does not know"),
		says(apiserver.Object{"clusterAffinity": apiserver.Object{"clusterNames": []any{"m1", "m2"}}}), m.goes("m2"), pause(time.Minute), refuses(`while cluster "m2" is away`), m.comes("m2"), pause(time.Minute),
		m.stopped, pause(time.Minute), refuses("no replica"), m.started, pause(time.Minute), func() error {
			out, err := m.commandOver(context.Background(), reverted{RoundTripper: m.store.NewServer(), revert: reverts}, strings.Fields(adopt)...)
			if n := deleted(); err != nil || n > 0 {
				return fmt.Errorf("%w, with %d deletions in members\n%s", err, n, out)
			}
			return nil
		}, m.page(to("m1,m2")), m.quiet)
}

// deletions counts how often an object is deleted in members.
func (m *machine) deletions(of apiserver.Ref, clusters ...string) (end func() int32) {
	var deleted atomic.Int32
	var stops []func()
	for _, cluster := range clusters {
		stops = append(stops, m.karmada.Member(cluster).Store.Subscribe(func(e apiserver.Event) {
			if e.Ref() == of && e.Type == watch.Deleted {
				deleted.Add(1)
			}
		}))
	}
	return func() int32 {
		for _, stop := range stops {
			stop()
		}
		return deleted.Load()
	}
}

func (m *machine) adoptedAfter(writes int) (isDone bool, err error) {
	page, clusters := refOf(thePage), []string{"m1", "m2"}
	propagate := func() error { return m.karmada.Propagate(page, clusters...) }
	if err := m.tell(m.page(nil), propagate, pause(time.Minute), m.hasInMember("m1", "1"), m.hasInMember("m2", "1")); err != nil {
		return false, err
	}
	deletions := m.deletions(page, clusters...)
	ctx, end := context.WithCancel(context.Background())
	defer end()
	const adopt, again = "adopt --policy a/policy --yes", "of PropagationPolicy a/policy adopted"
	out, err := m.commandOver(ctx, &interrupted{m.store.NewServer(), writes, end}, strings.Fields(adopt)...)
	if isDone = err == nil; !isDone {
		if err := m.runs(adopt, again)(); err != nil {
			return false, fmt.Errorf("%w\nafter\n%s", err, out)
		}
	}
	u := unstructured.Unstructured{Object: m.store.Get(page)}
	if a := u.GetAnnotations(); a["karmada.target/conflict-resolution"] != "" || a[clustersKey] != "m1,m2" {
		return false, fmt.Errorf("it has %v", a)
	}
	if n := deletions(); n > 0 {
		return false, fmt.Errorf("it was deleted %d times in members", n)
	}
	return isDone, m.tell(m.page(to("m1,m2")), m.quiet, m.page(nil), m.quiet) // what the model knows
}

// adoptedAgain moves to a policy what was mirrored, and back: the daemon takes back its Works, which say that they were its own, as
// soon as the policy is gone, so that the binding is left without any. It waits for nothing.
func (m *machine) adoptedAgain() error {
	page, clusters := refOf(thePage), []string{"m1", "m2"}
	var from time.Time
	mirrored := m.tellAll(m.page(to("m1,m2")), m.quiet, m.hasInMember("m1", "1"))
	propagated := func() error { return m.karmada.Propagate(page, clusters...) }
	if err := m.tell(mirrored, propagated, pause(time.Minute), m.page(nil), pause(time.Minute)); err != nil {
		return err
	}
	deletions := m.deletions(page, clusters...)
	if err := now(&from)(); err != nil {
		return err
	}
	out, err := m.commandOver(context.Background(), reverted{RoundTripper: m.store.NewServer(), late: time.Minute}, "adopt", "--policy", "a/policy", "--yes")
	if err != nil {
		return fmt.Errorf("%w: %s", err, out)
	}
	if took := time.Since(from); took > 90*time.Second || deletions() > 0 {
		return fmt.Errorf("it took %s, and was deleted %d times in members", took, deletions())
	}
	return m.tell(m.page(to("m1,m2")), m.quiet)
}
