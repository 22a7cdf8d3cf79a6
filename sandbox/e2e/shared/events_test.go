package shared

import (
	"context"
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	. "github.com/karmada-target/karmada-mirror/sandbox/e2e"
)

// eventsIn lists what the daemon has said about the objects of a namespace.
func eventsIn(ctx context.Context, namespace string) (map[string][]corev1.Event, error) {
	list, err := Env.Client.CoreV1().Events(namespace).List(ctx, metav1.ListOptions{FieldSelector: "source=karmada-mirror"})
	if err != nil {
		return nil, err
	}
	by := map[string][]corev1.Event{}
	for _, e := range list.Items {
		by[e.InvolvedObject.Name] = append(by[e.InvolvedObject.Name], e)
	}
	return by, nil
}

// TestEventsOnce has leaders change while an object is refused, and the object itself: one
// cause is one Event, another cause another.
func TestEventsOnce(t *testing.T) {
	ns := Isolate(t)
	d := StartDaemon(t)
	const name = "nowhere"
	audit := AuditFromNow(t)
	Create(t, ConfigMaps, ConfigMap(ns, name, "no-such-cluster", "one"))
	WantEvent(t, ns, name, "UnknownCluster", "no-such-cluster")
	first, err := eventsIn(t.Context(), ns)
	if err != nil {
		t.Fatal(err)
	}
	Change(t, ConfigMaps, ns, name, SetField("two", "data", "key"))
	lookAgain(t, d)
	if told := audit.Told(t, ns); told != 1 {
		t.Errorf("it was told %d times", told)
	}
	for range 2 {
		d.MustStop(t)
		Pass(t, time.Second) // times of Events have whole seconds
		before := time.Now().Truncate(time.Second)
		d = StartDaemon(t)
		Eventually(t, "the Event to be renewed", func(ctx context.Context) error {
			now, err := eventsIn(ctx, ns)
			if err != nil {
				return err
			}
			if len(now[name]) != 1 || now[name][0].UID != first[name][0].UID || now[name][0].LastTimestamp.Time.Before(before) {
				return fmt.Errorf("there are %v", now[name])
			}
			return nil
		})
	}
	Change(t, ConfigMaps, ns, name, SetAnnotation("karmada.target/clusters", "neither-this"))
	WantEvent(t, ns, name, "UnknownCluster", "neither-this")
	if now, err := eventsIn(t.Context(), ns); err != nil || len(now[name]) != 2 {
		t.Errorf("after another mistake: %v, %v", now[name], err)
	}
}

// TestEventsOfMany makes one mistake in more objects than client-go's recorder keeps: the
// owner of each is told, once.
func TestEventsOfMany(t *testing.T) {
	ns := Isolate(t)
	const sources = refusedAtOnce
	audit := AuditFromNow(t)
	d := StartDaemon(t)
	InParallel(t, sources, func(ctx context.Context, i int) error {
		_, err := Env.Admin.Resource(ConfigMaps).Namespace(ns).Create(ctx, ConfigMap(ns, fmt.Sprintf("page-%d", i), "no-such-cluster", "one"), metav1.CreateOptions{})
		return err
	})
	Within(t, 4*Patience, "an Event on each", func(ctx context.Context) error {
		by, err := eventsIn(ctx, ns)
		if err == nil && len(by) != sources {
			err = fmt.Errorf("there are Events on %d", len(by))
		}
		return err
	})
	lookAgain(t, d)
	if told := audit.Told(t, ns); told != sources {
		t.Errorf("%d objects were told of %d times", sources, told)
	}
}

// lookAgain has a daemon look at everything, more than once.
func lookAgain(t *testing.T, d *Daemon) {
	t.Helper()
	for i := range 3 {
		d.Reconfigure(t, func() { SetConfiguration(t, Resources(t, "configmaps")+fmt.Sprintf("# look %d\n", i)) })
	}
	Eventually(t, "all to have been looked at", settled(d))
	Settle(t)
}
