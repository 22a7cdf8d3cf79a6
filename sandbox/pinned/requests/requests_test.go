package requests

import (
	"context"
	"flag"
	"fmt"
	"net/http"
	"os"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/yaml"

	"github.com/karmada-target/karmada-mirror/sandbox/build"
	"github.com/karmada-target/karmada-mirror/sandbox/karmada"
	"github.com/karmada-target/karmada-mirror/simulation/apiserver"
	simulated "github.com/karmada-target/karmada-mirror/simulation/karmada"
	"pgregory.net/rapid"
)

// workers is how many sequences are played at a time.
const workers = 8

func TestMain(m *testing.M) {
	flag.Parse()
	if err := flag.Set("test.parallel", fmt.Sprint(workers)); err != nil { // they wait more than they compute
		panic(err)
	}
	goleak.VerifyTestMain(m)
}

// pair is a real API server, and what a simulated one starts with.
type pair struct {
	client   *http.Client
	base     string
	begun    string
	count    atomic.Int64
	resource []apiserver.Resource
}

// start starts a real API server with Karmada's definitions and webhook.
func start(t *testing.T) *pair {
	builder, err := build.New(t.Context(), os.Stderr)
	must(t, err)
	hyperkarmada, err := builder.Hyperkarmada(t.Context())
	must(t, err)
	k, err := karmada.Start(t.Context(), karmada.Options{
		Dir: t.TempDir(), Programs: karmada.Programs{Hyperkarmada: hyperkarmada, Karmada: builder.KarmadaSources()},
		Bare: true, Environment: []string{"GOGC=400"}, Progress: os.Stderr,
	})
	must(t, err)
	t.Cleanup(func() { must(t, k.Stop()) })
	config := k.Config()
	p := &pair{base: config.Host, begun: fmt.Sprintf("%x", time.Now().Unix()), resource: append(apiserver.Builtin(), apiserver.KarmadaResources()...)}
	p.client, err = rest.HTTPClientFor(config)
	must(t, err)
	t.Cleanup(p.client.CloseIdleConnections)
	definitions := dynamic.NewForConfigOrDie(config).Resource(schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"})
	for _, text := range []string{thing, loose} {
		o := &unstructured.Unstructured{}
		must(t, yaml.Unmarshal([]byte(text), &o.Object))
		_, err := definitions.Create(t.Context(), o, metav1.CreateOptions{})
		must(t, err)
		resource, err := apiserver.Defined(o.Object)
		must(t, err)
		p.resource = append(p.resource, resource)
	}
	for _, served := range kinds {
		must(t, k.Wait(t.Context(), served.resource+" to be served", func(context.Context) error {
			answer, err := newSide(p.client, p.base, metav1.NamespaceDefault).send(step{Method: "GET", Path: served.collection()})
			if err == nil && answer.Code != http.StatusOK {
				err = fmt.Errorf("code %d", answer.Code)
			}
			return err
		}))
	}
	return p
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// differences plays a sequence on the real server, in a Namespace of its own, and on a new
// simulated one. It plays it again when they differ: for a moment after a Namespace changes, the
// real server's admission may see the old one, while the simulation always answers the same.
func (p *pair) differences(q sequence) (d string, err error) {
	for range 3 {
		namespace := fmt.Sprintf("p-%s-%d", p.begun, p.count.Add(1))
		store := apiserver.NewStore(p.resource...)
		store.ControllerDelay = -1 // there are none beside the real server either
		store.Admit(simulated.AdmitWork)
		d, err = differences(newSide(p.client, p.base, namespace), newSide(&http.Client{Transport: store.NewServer()}, "http://simulated", namespace), q)
		if err == nil && d == "" {
			break
		}
	}
	return d, err
}

// TestRequests plays sequences that have differed before, and draws others.
func TestRequests(t *testing.T) {
	p := start(t)
	t.Run("definition", p.changeDefinition)
	for name, q := range regressions {
		t.Run(name, func(t *testing.T) {
			d, err := p.differences(q)
			must(t, err)
			if d != "" {
				t.Error(d)
			}
		})
	}
	must(t, flag.Set("rapid.checks", fmt.Sprint(sequences/workers)))
	must(t, flag.Set("rapid.nofailfile", "true"))
	begun := time.Now()
	var failing atomic.Int64 // the worker that makes its failure smaller; the others stop
	t.Run("drawn", func(t *testing.T) {
		for w := range workers {
			t.Run(fmt.Sprint(w), func(t *testing.T) {
				t.Parallel()
				rapid.Check(t, func(rt *rapid.T) {
					q := drawSequence(rt)
					if other := failing.Load(); other != 0 && other != int64(w+1) {
						return
					}
					d, err := p.differences(q)
					rt.Logf("%v\n%s\n%s", err, d, q)
					if (err != nil || d != "") && (failing.CompareAndSwap(0, int64(w+1)) || failing.Load() == int64(w+1)) {
						// Rapid makes only the same failure smaller: the text must not change.
						rt.Fatal("the servers differ, or one cannot be asked")
					}
				})
			})
		}
	})
	t.Logf("%d sequences in %s", p.count.Load(), time.Since(begun).Round(time.Second))
}
