//go:build long

package apart

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/karmada-target/karmada-mirror/render"
	. "github.com/karmada-target/karmada-mirror/sandbox/e2e"
	"github.com/karmada-target/karmada-mirror/sandbox/karmada"
	"github.com/karmada-target/karmada-mirror/sandbox/proxy"
	"github.com/karmada-target/karmada-mirror/simulation/fault"
)

// TestSoak makes random changes for SOAK, through a proxy that fails at random; a seed other
// than 0 in SEED repeats one. From time to time it stops: then the members have what the
// objects ask for, and the daemon has not grown.
func TestSoak(t *testing.T) {
	lasts, err := time.ParseDuration(os.Getenv("SOAK"))
	if err != nil {
		lasts = 3 * time.Minute
	}
	seed, _ := strconv.ParseUint(os.Getenv("SEED"), 10, 64)
	if seed == 0 {
		seed = uint64(time.Now().UnixNano())
	}
	t.Logf("to repeat this: make soak SOAK=%s SEED=%d", lasts, seed)
	install(t, "- {resource: configmaps}\ndeletion: {holdAbove: {works: 0, percent: 25}}\n") // it deletes at random
	p := StartProxy(t)
	s := &soak{random: rand.New(rand.NewPCG(seed, seed)), ns: NewNamespace(t), proxy: p, want: map[string]map[string]string{Push: {}, Pull: {}}}
	daemon := &supervised{options: DaemonOptions{Kubeconfig: p.Kubeconfig, Flags: []string{"--leader-elect=false", "--list-deadline", "5s"}}}
	kills, first := 0, 0.0
	for begun, round := time.Now(), 0; time.Since(begun) < lasts || round < 2; round++ {
		for range 60 {
			daemon.ensure(t)
			s.step(t)
			Pass(t, time.Duration(s.random.Int64N(int64(200*time.Millisecond))))
		}
		if round%4 == 3 { // only now and then, so that it also gets old
			kills++
			Must(t, daemon.KillNow())
			first = 0
		}
		s.heal()
		for member, want := range s.want {
			daemon.eventually(t, "the objects in "+member, func(ctx context.Context) error {
				got, err := values(ctx, member, s.ns)
				if err == nil && !maps.Equal(got, want) {
					err = fmt.Errorf("they are %v, not %v", got, want)
				}
				return err
			})
		}
		daemon.eventually(t, "the daemon not to have grown", func(ctx context.Context) error {
			goroutines, err := daemon.Metric(ctx, "go_goroutines")
			if first == 0 {
				first = goroutines
			}
			if err == nil && goroutines > first+10 {
				err = fmt.Errorf("%g goroutines, %g at first", goroutines, first)
			}
			return errors.Join(err, daemon.Probe(ctx, "/readyz"))
		})
		t.Logf("%s: round %d, %d starts", time.Since(begun).Round(time.Second), round, daemon.starts)
	}
	if daemon.starts != 1+kills {
		t.Errorf("the daemon was killed %d times, and started %d times", kills, daemon.starts)
	}
}

type soak struct {
	random *rand.Rand
	ns     string
	proxy  *proxy.Proxy
	rules  []*fault.Rule
	// want are the values of the objects in each member.
	want map[string]map[string]string
}

// step creates, edits, retargets or deletes an object or a Work, or changes the faults.
func (s *soak) step(t *testing.T) {
	t.Helper()
	name, value := fmt.Sprint("page-", s.random.IntN(20)), fmt.Sprint(s.random.Uint32())
	clusters := []string{Push, Pull, Both, "member*", "*,!" + Push, ""}[s.random.IntN(6)]
	switch s.random.IntN(10) {
	case 0:
		s.inject()
		return
	case 1:
		s.heal()
		return
	case 2:
		work := ConfigMapWork(s.ns, name, Push)
		Remove(t, Works, work.Namespace, work.Name)
		return
	}
	for member, pages := range s.want {
		delete(pages, name)
		if strings.Contains(clusters, member) != strings.Contains(clusters, "*") {
			pages[name] = value
		}
	}
	if clusters == "" {
		Remove(t, ConfigMaps, s.ns, name)
		return
	}
	Must(t, karmada.Apply(t.Context(), Env.Config(), fmt.Appendf(nil, "{apiVersion: v1, kind: ConfigMap, metadata: {name: %s, namespace: %s, annotations: {%s: %q}}, data: {key: %q}}",
		name, s.ns, render.ClustersAnnotation, clusters, value)))
}

func (s *soak) inject() {
	matches := []fault.Match{{Share: 0.3}, {Verb: "watch"}, {Verb: "list"}, {Verb: "create"}, {Resource: "works", Share: 0.5}}
	faults := []fault.Fault{
		fault.Delay(200 * time.Millisecond), fault.Reset(), fault.Drop(), fault.DelayAnswer(time.Second), fault.LoseAnswer(),
		fault.Refuse(apierrors.NewInternalError(errors.New("injected"))), fault.Refuse(apierrors.NewTooManyRequests("injected", 1)),
	}
	s.rules = append(s.rules, s.proxy.Faults.Inject(matches[s.random.IntN(len(matches))], faults[s.random.IntN(len(faults))]))
	if s.random.IntN(3) == 0 {
		s.proxy.Cut()
	}
}

func (s *soak) heal() {
	for _, r := range s.rules {
		r.Remove()
	}
	s.rules = nil
}
