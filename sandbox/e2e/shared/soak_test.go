//go:build long

package shared

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/karmada-target/karmada-mirror/config"
	"github.com/karmada-target/karmada-mirror/render"
	"github.com/karmada-target/karmada-mirror/sandbox/fault"

	. "github.com/karmada-target/karmada-mirror/sandbox/e2e"
)

const (
	soakSources = 40 // names of sources to act on
	soakSteps   = 60 // between two looks
	soakPause   = 100 * time.Millisecond
)

// faultOnAll names the faults that hit requests of all kinds, including the Lease's.
const faultOnAll = "fault on all requests"

// soak is a random workload on one namespace. Its seed determines what it does, but not
// when.
type soak struct {
	t      *testing.T
	random *rand.Rand
	ns     string
	proxy  *fault.Proxy
	daemon *Supervised
	rules  []*fault.Rule
	// shortened says that lists have been cut short in this round.
	shortened bool
	row       *FaultRow      // of the round
	done      map[string]int // by the name of the step
}

// TestSoak makes random steps of users, operators and networks. From time to time it
// stops, and checks whether everything is as it should be.
func TestSoak(t *testing.T) {
	ns := Isolate(t)
	lasts, seed := soakOptions(t)
	t.Logf("to repeat this: make soak SOAK=%s SEED=%d", lasts, seed)
	s := &soak{t: t, random: rand.New(rand.NewPCG(seed, seed)), ns: ns, proxy: StartProxy(t), done: map[string]int{}}
	Configure(t, Resources(s.t, "configmaps"))
	s.daemon = Supervise(t, "--kubeconfig", s.proxy.Kubeconfig(), "--holder-identity", "soak", "--list-deadline", "5s", NoMutationDetector, NoListDetector)
	var first, last usage
	result := Row{Fault: fmt.Sprintf("Soak: a random workload with faults for %s", lasts)}
	looks := 0
	for begun := time.Now(); time.Since(begun) < lasts || looks < 2; looks++ {
		took, wrong, used := s.round()
		result.Converged = max(result.Converged, took)
		result.WrongDeletes += wrong
		last = used
		if looks == 0 {
			first = last
		}
		t.Logf("%s: look %d, in sync after %s, %s", time.Since(begun).Round(time.Second), looks, took.Round(10*time.Millisecond), last)
	}
	result.Note = fmt.Sprintf("seed %d, %d steps, %d looks, %d starts of the daemon; first %s, last %s", seed, soakSteps*looks, looks, s.daemon.Starts, first, last)
	AddRow(result)
	t.Logf("%s; steps: %v", result.Note, s.done)
	if last.goroutines > first.goroutines+10 || last.heap > 1.3*first.heap+3e6 || last.connections > first.connections+3 {
		t.Errorf("the daemon has grown: %s at first, %s at last", first, last)
	}
	// The Lease can only be lost by a fault that hits all requests.
	if lost := s.daemon.Starts - 1 - int(s.daemon.Kills.Load()); lost > s.done[faultOnAll] {
		t.Errorf("the daemon has ended by itself %d times, with %d faults that could make it", lost, s.done[faultOnAll])
	}
}

// soakOptions are how long it lasts, SOAK in the environment, and the seed, SEED: 0 takes
// one from the clock. They are not flags, because the same command also tests packages
// that lack them.
func soakOptions(t *testing.T) (lasts time.Duration, seed uint64) {
	t.Helper()
	lasts, seed = 30*time.Second, uint64(time.Now().UnixNano())
	if text := os.Getenv("SOAK"); text != "" {
		given, err := time.ParseDuration(text)
		Must(t, err)
		lasts = given
	}
	if text := os.Getenv("SEED"); text != "" && text != "0" {
		given, err := strconv.ParseUint(text, 10, 64)
		Must(t, err)
		seed = given
	}
	return lasts, seed
}

// usage is what the daemon uses.
type usage struct {
	goroutines, heap float64
	connections      int
}

func (u usage) String() string {
	return fmt.Sprintf("%.0f goroutines, %.1f MB, %d connections", u.goroutines, u.heap/1e6, u.connections)
}

func (s *soak) usage() usage {
	goroutines, heap := s.daemon.Current.Load().Settled(s.t)
	return usage{goroutines, heap, s.proxy.Connections()}
}

// round makes some steps, and checks the outcome. It returns how long convergence took,
// how many Works were deleted that were wanted all the time, and what the daemon uses. The
// effects of the last steps have settled by then.
func (s *soak) round() (took time.Duration, wrongDeletes int, used usage) {
	s.t.Helper()
	s.row = NewFault(s.t, "a round of the soak", s.ns)
	for range soakSteps {
		s.step()
		time.Sleep(time.Duration(s.random.Int64N(2 * int64(soakPause))))
	}
	took = s.quiescent()
	used = s.usage()
	s.row.End() // a later round may delete what had to stay in this one
	s.row.WantNoDeletes()
	return took, len(s.row.WrongDeletes()), used
}

// step makes one random step.
func (s *soak) step() {
	s.t.Helper()
	s.daemon.Ensure(s.t)
	steps := []struct {
		name   string
		weight int
		do     func()
	}{
		{"create", 8, s.create},
		{"edit", 8, s.edit},
		{"retarget", 6, s.retarget},
		{"delete", 4, s.delete},
		{"recreate", 3, s.recreate},
		{"edit a Work", 3, s.editWork},
		{"delete a Work", 3, s.deleteWork},
		{"configuration", 1, s.reconfigure},
		{"relabel a Cluster", 1, s.relabelCluster},
		{"kill", 1, s.kill},
		{"fault", 3, s.injectFault},
		{"end of faults", 2, s.removeFaults},
	}
	total := 0
	for _, step := range steps {
		total += step.weight
	}
	choice := s.random.IntN(total)
	for _, step := range steps {
		if choice -= step.weight; choice < 0 {
			s.done[step.name]++
			step.do()
			return
		}
	}
}

func (s *soak) name() string { return fmt.Sprintf("page-%d", s.random.IntN(soakSources)) }

func (s *soak) value() string { return fmt.Sprint(s.random.Uint32()) }

func (s *soak) clusters() string {
	all := []string{Push, Push2, Pull, "member*", "!" + Push2, "nowhere"}
	s.random.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	chosen := all[:1+s.random.IntN(3)]
	if !slices.ContainsFunc(chosen, func(c string) bool { return !strings.HasPrefix(c, "!") }) {
		chosen = append(chosen, Push)
	}
	return strings.Join(chosen, ",")
}

// must fails the test if the workload itself fails; that a random name exists, or does
// not, is expected.
func (s *soak) must(err error) {
	s.t.Helper()
	if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsAlreadyExists(err) && !apierrors.IsConflict(err) {
		s.t.Fatal(err)
	}
}

func (s *soak) create() { s.createNamed(s.name()) }

func (s *soak) createNamed(name string) {
	_, err := Env.Admin.Resource(ConfigMaps).Namespace(s.ns).Create(s.t.Context(), ConfigMap(s.ns, name, s.clusters(), s.value()), metav1.CreateOptions{})
	s.must(err)
}

func (s *soak) update(change func(*unstructured.Unstructured)) {
	ctx, pages := s.t.Context(), Env.Admin.Resource(ConfigMaps).Namespace(s.ns)
	u, err := pages.Get(ctx, s.name(), metav1.GetOptions{})
	if err == nil {
		change(u)
		_, err = pages.Update(ctx, u, metav1.UpdateOptions{})
	}
	s.must(err)
}

func (s *soak) edit() { s.update(SetField(s.value(), "data", "key")) }

func (s *soak) retarget() {
	s.update(func(u *unstructured.Unstructured) {
		if s.random.IntN(6) == 0 {
			s.unwant(u.GetName(), Push, Push2, Pull)
			u.SetAnnotations(nil)
			return
		}
		SetAnnotation(render.ClustersAnnotation, s.clusters())(u)
		terms, err := render.ParseTerms(u.GetAnnotations()[render.ClustersAnnotation])
		s.must(err)
		s.unwant(u.GetName(), slices.DeleteFunc([]string{Push, Push2, Pull}, func(cluster string) bool { return terms.Matches(cluster, nil) })...)
	})
}

// unwant notes that from now on the Works of a source on these clusters may be deleted,
// until the round is over.
func (s *soak) unwant(name string, clusters ...string) {
	s.row.Allow(render.Identity{Kind: "ConfigMap", Namespace: s.ns, Name: name}, clusters...)
}

func (s *soak) delete() { s.deleteNamed(s.name()) }

func (s *soak) recreate() {
	name := s.name()
	s.deleteNamed(name)
	s.createNamed(name)
}

func (s *soak) deleteNamed(name string) {
	s.unwant(name, Push, Push2, Pull)
	s.must(Env.Admin.Resource(ConfigMaps).Namespace(s.ns).Delete(s.t.Context(), name, metav1.DeleteOptions{}))
}

func (s *soak) editWork() {
	name := ConfigMapWork(s.ns, s.name(), Push)
	patch := []byte(`{"spec":{"suspendDispatching":true},"metadata":{"labels":{"` + render.SourceIDLabel + `":"x"}}}`)
	_, err := Env.Admin.Resource(Works).Namespace(name.Namespace).Patch(s.t.Context(), name.Name, "application/merge-patch+json", patch, metav1.PatchOptions{})
	s.must(err)
}

func (s *soak) deleteWork() {
	name := ConfigMapWork(s.ns, s.name(), Push2)
	s.must(Env.Admin.Resource(Works).Namespace(name.Namespace).Delete(s.t.Context(), name.Name, metav1.DeleteOptions{}))
}

// kill kills the daemon only now and then, so that it also gets old.
func (s *soak) kill() {
	if s.random.IntN(8) == 0 {
		s.daemon.Kill()
	}
}

// reconfigure removes the sources' resource, writes an invalid configuration, or changes
// something irrelevant; quiescent restores the configuration.
func (s *soak) reconfigure() {
	texts := []string{Resources(s.t, "services"), "resources: [", Resources(s.t, "configmaps", "services"), Resources(s.t, "configmaps")}
	Change(s.t, ConfigMaps, Home(s.t), Account, SetField(texts[s.random.IntN(len(texts))], "data", config.Key))
}

func (s *soak) relabelCluster() {
	Change(s.t, Clusters, "", Push, SetAnnotation("soak", s.value()))
}

func (s *soak) injectFault() {
	matches := []fault.Match{{Share: 0.3}, {Verb: "watch"}, {Verb: "list"}, {Verb: "create"}, {Resource: "works", Share: 0.5}, watchSources, watchClusters}
	faults := []fault.Fault{
		fault.Delay(200 * time.Millisecond), fault.Reset(), broken, fault.Refuse(apierrors.NewTooManyRequests("injected", 1)),
		fault.SwallowBookmarks(), fault.Expire(), fault.Drop(),
		fault.Chain(fault.Expire(), fault.EmptyList()), fault.Chain(fault.Expire(), fault.TruncatedList(3)),
	}
	truncating := len(faults) - 2 // the last two
	match := s.random.IntN(len(matches))
	m := matches[match]
	if match == 0 {
		s.done[faultOnAll]++
	}
	chosen := s.random.IntN(len(faults))
	s.shortened = s.shortened || chosen >= truncating
	s.rules = append(s.rules, s.proxy.Inject(m, faults[chosen]))
	switch s.random.IntN(4) {
	case 0:
		s.proxy.Cut()
	case 1:
		s.proxy.End(m)
	}
}

func (s *soak) removeFaults() {
	for _, r := range s.rules {
		r.Remove()
	}
	s.rules = nil
}

// listAnew expires the watches that every decision needs: no watch brings an object that was
// missing from a truncated list. Without its Namespace, nothing is known about a source.
func (s *soak) listAnew() {
	s.t.Helper()
	// The first rule is for the daemon's own ConfigMap, so that its watch does not count
	// as the sources'.
	matches := []fault.Match{{Verb: "watch", Resource: "configmaps", Namespace: s.ns}, watchSources, watchClusters, watchNamespaces, watchWorks}
	for _, m := range matches {
		s.rules = append(s.rules, s.proxy.Inject(m, fault.Expire()))
		s.proxy.End(m)
	}
	Within(s.t, 3*time.Minute, "the watches to expire", func(context.Context) error {
		s.daemon.Ensure(s.t)
		for i, r := range s.rules {
			if r.Hits() == 0 {
				return fmt.Errorf("the watch of %s has not", matches[i].Resource)
			}
		}
		return nil
	})
	s.removeFaults()
}

// quiescent ends all faults and waits until everything is as it should be. It has to be as
// patient as client-go, which waits for up to a minute before it lists again.
func (s *soak) quiescent() time.Duration {
	s.t.Helper()
	s.removeFaults()
	Change(s.t, ConfigMaps, Home(s.t), Account, SetField(Resources(s.t, "configmaps"), "data", config.Key))
	begun := time.Now()
	if s.shortened {
		s.listAnew()
		s.shortened = false
	}
	Within(s.t, 3*time.Minute, "everything to be as it should be", func(ctx context.Context) error {
		s.daemon.Ensure(s.t)
		if err := Disagreement(ctx, s.ns, ConfigMaps); err != nil {
			return err
		}
		if s.daemon.Current.Load().Probe(ctx, "/readyz") != nil {
			return errors.New("the daemon is not ready")
		}
		return nil
	})
	return time.Since(begun)
}
