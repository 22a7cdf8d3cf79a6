package machine

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
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

func (m *machine) adoptedAfter(writes int) (isDone bool, err error) {
	page, clusters := refOf(thePage), []string{"m1", "m2"}
	propagate := func() error { return m.karmada.Propagate(page, clusters...) }
	if err := m.tell(m.page(nil), propagate, pause(time.Minute), m.hasInMember("m1", "1"), m.hasInMember("m2", "1")); err != nil {
		return false, err
	}
	var deleted atomic.Int32
	for _, cluster := range clusters {
		defer m.karmada.Member(cluster).Store.Subscribe(func(e apiserver.Event) {
			if e.Ref() == page && e.Type == watch.Deleted {
				deleted.Add(1)
			}
		})()
	}
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
	if a := u.GetAnnotations(); a["karmada.target/conflict-resolution"] != "" || a[clustersKey] != "m1,m2" || deleted.Load() > 0 {
		return false, fmt.Errorf("it has %v, and was deleted %d times in members", a, deleted.Load())
	}
	return isDone, m.tell(m.page(to("m1,m2")), m.quiet, m.page(nil), m.quiet) // what the model knows
}
