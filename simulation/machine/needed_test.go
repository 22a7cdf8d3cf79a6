package machine

import (
	"errors"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/karmada-target/karmada-mirror/simulation/apiserver"
	"github.com/karmada-target/karmada-mirror/simulation/fault"
	"github.com/karmada-target/karmada-mirror/simulation/model"
)

// needing makes the Deployment need a ConfigMap, and have annotations, if they are not nil.
func (m *machine) needing(name string, annotations map[string]string) act {
	return func() error {
		_, err := m.store.Modify(refOf(inA(deployment)), "", func(o apiserver.Object) {
			containers := []any{map[string]any{"name": "web", "image": "web:" + name, "envFrom": []any{map[string]any{"configMapRef": map[string]any{"name": name}}}}}
			_ = unstructured.SetNestedSlice(o, containers, "spec", "template", "spec", "containers")
			if annotations != nil {
				(&unstructured.Unstructured{Object: o}).SetAnnotations(annotations)
			}
		})
		return err
	}
}

// inItsCanary begins with a Deployment that needs the page and then, if it is not at once, goes in waves. Its canary ails.
func (m *machine) inItsCanary(annotations map[string]string, then ...act) error {
	all := to("m1,m2,m3,m4")
	return m.tell(append([]act{m.page(all), m.web(annotations), pause(30 * time.Second), m.needing(thePage.Name, nil), pause(2 * time.Minute),
		m.needing(thePage.Name, inTwoWaves), pause(2 * time.Minute), m.ails("m1")}, then...)...)
}

// prunes makes the Deployment need another ConfigMap while the page is deleted, as by kubectl apply --prune.
func (m *machine) prunes() error {
	return m.tell(m.needing("other", nil), pause(30*time.Second), m.gone, pause(30*time.Second), m.keeps("m2", "1"))
}

func init() {
	needed := map[string]func(m *machine) error{
		"NeededUntilItIsThrough": func(m *machine) error {
			return m.inItsCanary(inTwoWaves, m.prunes, m.heal, pause(20*time.Minute), m.countOf(4))
		},
		"NeededWithoutWaves": func(m *machine) error {
			return m.inItsCanary(inTwoWaves, m.prunes, m.needing("other", to("m1,m2,m3,m4")), pause(time.Minute), m.heal, pause(20*time.Minute), m.countOf(4))
		},
		"NeededInNewWaves": func(m *machine) error { return m.inItsCanary(to("m1,m2,m3,m4"), m.prunes) },
		"NeededAfterARestart": func(m *machine) error {
			return m.inItsCanary(inTwoWaves, m.prunes, m.listedLate("deployments"), m.restarted, m.puts(inA(pages[1]), to("m1")), pause(30*time.Second), m.keeps("m2", "1"))
		},
		"NeededWhenItGoesBack": func(m *machine) error {
			return m.inItsCanary(inTwoWaves, m.prunes, m.needing(thePage.Name, nil), pause(time.Minute), m.keeps("m2", "1"))
		},
		"NeededBeforeThatIsSeen": func(m *machine) error { return m.inItsCanary(inTwoWaves, m.shut("deployments"), m.prunes) },
		"NeededByWhatComesBack": func(m *machine) error { // the API server is busy when the Work is created again
			return m.inItsCanary(inTwoWaves, m.prunes, m.slowly("create", "works", fault.Refuse(apierrors.NewTooManyRequests("busy", 6))),
				func() error { return m.deleteWork(target{inA(deployment), "m2"}) }, pause(time.Minute), m.keeps("m2", "1"))
		},
	}
	for name, story := range needed {
		sceneOf[name], stories[name] = inWaves, story
	}
	both, all := to("m1,m2"), to("m1,m2,m3,m4")
	sceneOf["NeededInWavesThatAreNotSeen"] = inWaves
	stories["NeededInWavesThatAreNotSeen"] = func(m *machine) error { // they come with the edit that renames what it needs
		return m.tell(m.page(all), m.web(all), m.needing(thePage.Name, nil), pause(2*time.Minute), m.ails("m1"), m.shut("deployments"), m.needing("other", inTwoWaves), m.gone, pause(30*time.Second), m.keeps("m2", "1"))
	}
	stories["NeededByManyElsewhere"] = func(m *machine) error { // of an API server that takes 60 ms for each request
		acts := []act{m.page(both)}
		for i := range 20 {
			other := model.Key{Kind: deployment.Kind, Namespace: "a", Name: fmt.Sprintf("web-%d", i)}
			acts = append(acts, func() error {
				o := numbered(other, 1)
				_ = unstructured.SetNestedSlice(o, []any{map[string]any{"name": "web", "image": "web:1", "envFrom": []any{map[string]any{"configMapRef": map[string]any{"name": thePage.Name}}}}}, "spec", "template", "spec", "containers")
				return m.adds(resources[deployment.Kind], o, to("m1"))
			})
		}
		return m.tell(append(acts, pause(time.Minute), m.countOf(22), m.far(30*time.Millisecond), m.page(to("m1")), pause(30*time.Minute), m.countOf(21))...)
	}
	stories["NeededByOneThatMayNotBeRead"] = func(m *machine) error { // and has no waves
		return m.tell(m.page(both), m.web(both), m.needing(thePage.Name, nil), pause(time.Minute), m.slowly("get", "deployments", fault.Refuse(apierrors.NewForbidden(resources[deployment.Kind], "web", errors.New("no")))),
			m.page(to("m1")), pause(30*time.Minute), m.countOf(3))
	}
	stories["NeededOnASlowAPIServer"] = func(m *machine) error { // that takes 0.7 s for each request, and without waves
		return m.tell(m.page(both), m.web(both), m.needing(thePage.Name, nil), pause(time.Minute), m.far(350*time.Millisecond), m.page(to("m1")), pause(30*time.Minute), m.countOf(3))
	}
}
