package machine

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/karmada-target/karmada-mirror/config"
	"github.com/karmada-target/karmada-mirror/daemon"
	"github.com/karmada-target/karmada-mirror/simulation/apiserver"
	"github.com/karmada-target/karmada-mirror/simulation/fault"
	"github.com/karmada-target/karmada-mirror/simulation/model"
)

var (
	broken      = fault.Refuse(apierrors.NewInternalError(errors.New("injected")))
	throttled   = fault.Refuse(apierrors.NewTooManyRequests("injected", 1))
	conflicting = fault.Refuse(apierrors.NewConflict(schema.GroupResource{}, "", errors.New("injected")))
	refusing    = fault.Refuse(apierrors.NewForbidden(schema.GroupResource{}, "", errors.New("injected")))
	away        = fault.Refuse(apierrors.NewServiceUnavailable("injected"))
	foreground  = map[string]string{clustersKey: "m1,m2", deletionKey: "foreground"}
)

// pageOf is one of a crowd of pages, of which there may be any number.
func pageOf(i int) model.Key {
	return inA(model.Key{Kind: "ConfigMap", Name: fmt.Sprintf("page-%d", i)})
}

// everyone applies a change to n pages at once.
func (m *machine) everyone(n int, send func(k model.Key) error, apply func(w *model.World, k model.Key)) error {
	s := *m.scene
	for i := len(s.objects) - 2; i < n; i++ {
		s.objects = append(s.objects[:len(s.objects):len(s.objects)], model.Key{Kind: "ConfigMap", Name: pageOf(i).Name})
	}
	m.scene = &s
	return m.change(func() (err error) {
		for i := range n {
			err = errors.Join(err, send(pageOf(i)))
		}
		return err
	}, func(w *model.World) {
		for i := range n {
			apply(w, pageOf(i))
		}
	})
}

// crowd creates n pages, or replaces them.
func (m *machine) crowd(n, value int, annotations map[string]string) act {
	return func() error {
		return m.everyone(n, func(k model.Key) error {
			o := numbered(k, value)
			(&unstructured.Unstructured{Object: o}).SetAnnotations(maps.Clone(annotations))
			_, err := m.apply(configMaps, o)
			return err
		}, func(w *model.World, k model.Key) {
			_, w.Objects[k] = model.Applied(&unstructured.Unstructured{Object: m.store.Get(refOf(k))})
			m.values[w.Objects[k]] = value
		})
	}
}

// crowdGoes deletes the first n of them.
func (m *machine) crowdGoes(n int) act {
	return func() error {
		return m.everyone(n, func(k model.Key) error { return m.store.Delete(refOf(k), metav1.DeleteOptions{}) }, func(w *model.World, k model.Key) { delete(w.Objects, k) })
	}
}

// workload edits, moves, deletes, recreates and creates pages.
func (m *machine) workload() error {
	return m.tell(m.puts(pageOf(0), to("m1,m2")), m.changed(pageOf(1), 3), m.puts(pageOf(2), to("m2,m3")), m.puts(pageOf(3), to("")),
		m.deleted(pageOf(4)), func() error { return m.recreate(pageOf(5)) }, m.web(to("m1")), m.defaults("m3"), m.changed(pageOf(1), 2))
}

// careful turns the breaker on, as it is by default.
func (m *machine) careful() error {
	m.sections = ""
	return m.configure("*", none, true)
}

func (m *machine) deleted(k model.Key) act { return func() error { return m.delete(k) } }

func (m *machine) changed(k model.Key, value int) act {
	return func() error { return m.edit(k, value) }
}

// set replaces what is in the configuration beside the resources.
func (m *machine) set(settings string) act {
	return func() error {
		m.sections = settings
		return m.configure("*", none, true)
	}
}

// held checks how many Works are held.
func (m *machine) held(least, most int) act {
	return func() error {
		n := 0
		for _, work := range m.works() {
			if work.GetAnnotations()["karmada.target/deletion-held"] != "" {
				n++
			}
		}
		if n < least || n > most {
			return fmt.Errorf("%d Works are held", n)
		}
		return nil
	}
}

// deletes checks how many Works the replicas have tried to delete since a time.
func (m *machine) deletes(since *time.Time, least, most int) act {
	return m.requests(since, least, most, of(works, "delete"))
}

// misled makes the caches believe wrong lists of a resource.
func (m *machine) misled(resource string, f fault.Fault) act {
	return func() error {
		m.each(func(r *replica) { r.mislead(resource, f) })
		return nil
	}
}

// fails injects a fault into requests.
func (m *machine) fails(match fault.Match, f fault.Fault) act {
	return func() error { m.each(func(r *replica) { r.pass(match, f) }); return nil }
}

func (m *machine) stopped() error { m.each((*replica).stop); return nil }
func (m *machine) started() error { m.each((*replica).start); return nil }

// flags restarts the replicas with other flags.
func (m *machine) flags(flags ...string) act {
	return m.tellAll(m.stopped, func() error { m.each(func(r *replica) { r.flags = flags }); return nil }, m.started)
}

// inSync waits until everything is as the model says although the faults go on.
func (m *machine) inSync() error {
	return await("everything to be as the model says", func() error {
		m.each((*replica).revive)
		if wrong := m.differences(m.works()); len(wrong) > 0 {
			return fmt.Errorf("%.1000q", wrong)
		}
		return nil
	})
}

// logged checks how many lines of the current logs have a text.
func (m *machine) logged(text string, least, most int) act {
	return func() error {
		var all []string
		m.each(func(r *replica) { all = append(all, r.current.log.said(text)...) })
		if len(all) < least || len(all) > most {
			return fmt.Errorf("%q is in %d lines of the logs: %.2000q", text, len(all), all)
		}
		return nil
	}
}

// told checks how many Events of the replicas there are with a reason, or that begin so.
func (m *machine) told(reason string, least, most int) act {
	return func() error {
		all := slices.DeleteFunc(m.events(), func(text string) bool { return reason != "" && !strings.HasPrefix(text, reason+" ") })
		if len(all) < least || len(all) > most {
			return fmt.Errorf("there are %d Events %s: %.2000q", len(all), reason, all)
		}
		return nil
	}
}

// eventsExpire is what happens to all Events after an hour.
func (m *machine) eventsExpire() (err error) {
	events := schema.GroupResource{Resource: "events"}
	for _, o := range m.store.List(events, "") {
		u := &unstructured.Unstructured{Object: o}
		err = errors.Join(err, m.store.Delete(apiserver.Ref{Resource: events, Namespace: u.GetNamespace(), Name: u.GetName()}, metav1.DeleteOptions{}))
	}
	return err
}

// events are the replicas' Events: reason, object and message.
func (m *machine) events() (all []string) {
	for _, o := range m.store.List(schema.GroupResource{Resource: "events"}, "") {
		said := func(path ...string) string { text, _, _ := unstructured.NestedString(o, path...); return text }
		if said("source", "component") == "karmada-mirror" {
			all = append(all, said("reason")+" "+said("involvedObject", "name")+" "+said("message"))
		}
	}
	return all
}

// counted waits until the leader has a value in a series.
func (m *machine) counted(series string, want float64) act {
	return func() error {
		return await(series, func() error {
			leader, _, err := m.leader()
			if err != nil {
				return err
			}
			if got, err := leader.series(series); err != nil || got != want {
				return fmt.Errorf("it is %g, not %g: %v", got, want, err)
			}
			return nil
		})
	}
}

// isReady checks that the leader says that it is ready, and isNotReady that it does not.
func (m *machine) isReady() error {
	leader, _, err := m.leader()
	if err != nil {
		return err
	}
	return leader.isReady()
}

func (m *machine) isNotReady() error {
	if m.isReady() == nil {
		return errors.New("the leader says that it is ready")
	}
	return nil
}

// forbids makes the API servers forbid requests of the replicas, and allows ends that.
func (m *machine) forbids(fits func(verb string, r apiserver.Ref) bool) act {
	return func() error {
		m.each(func(r *replica) {
			r.api.Authorize(func(verb string, of apiserver.Ref, _ string) bool { return !fits(verb, of) })
		})
		return nil
	}
}

func (m *machine) allows() error {
	m.each(func(r *replica) { r.api.Authorize(nil) })
	return nil
}

// admits puts a webhook in the way of writes during some acts.
func (m *machine) admits(a apiserver.Admission, acts ...act) act {
	return func() error {
		defer m.store.Admit(a)()
		return m.tell(acts...)
	}
}

// inB is an object in the other namespace.
func inB(k model.Key) model.Key {
	k.Namespace = "b"
	return k
}

// configMap writes a ConfigMap with a configuration into the daemon's namespace.
func (m *machine) configMap(name, text string) act {
	return func() error {
		_, err := m.apply(configMaps, object("v1", "ConfigMap", daemon.Namespace, name, map[string]any{"data": map[string]any{config.Key: text}}))
		return err
	}
}

func (m *machine) configMapGoes(name string) act {
	return func() error {
		return m.store.Delete(apiserver.Ref{Resource: configMaps, Namespace: daemon.Namespace, Name: name}, metav1.DeleteOptions{})
	}
}

// countOf checks how many Works there are.
func (m *machine) countOf(want int) act {
	return func() error {
		if n := len(m.works()); n != want {
			return fmt.Errorf("there are %d Works, not %d", n, want)
		}
		return nil
	}
}

// isFinalized checks whether the page has the finalizer.
func (m *machine) isFinalized(want bool) act {
	return func() error {
		if _, o := model.Applied(&unstructured.Unstructured{Object: m.store.Get(refOf(thePage))}); o.Finalized != want {
			return fmt.Errorf("it has a finalizer: %t", o.Finalized)
		}
		return nil
	}
}

// inOrder checks the writes of sources and Works since a time.
func (m *machine) inOrder(since *time.Time, want ...string) act {
	return func() error {
		var got []string
		for _, c := range m.audit.those(*since, func(c call) bool {
			return c.isWrite() && (c.Ref.Resource == works || c.Ref.Resource == configMaps && c.Ref.Namespace != daemon.Namespace)
		}) {
			got = append(got, c.Verb+" "+c.Ref.Resource.Resource)
		}
		if !slices.Equal(got, want) {
			return fmt.Errorf("the writes are %q, not %q", got, want)
		}
		return nil
	}
}
