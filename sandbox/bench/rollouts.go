package bench

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"github.com/karmada-target/karmada-mirror/sandbox/karmada"
)

// compareRollouts compares karmada-mirror's aggregated statuses with those of Karmada's policies,
// while every Deployment is rolled out: with Karmada's rate limits and without.
func compareRollouts(ctx context.Context, w *world, r *report) (err error) {
	s := scenario{deployment, pick(w.quick, 5, 100), pick(w.quick, 2, 3)}
	if err := w.allowStatuses(ctx); err != nil {
		return err
	}
	if err := w.joinMembers(ctx, s.clusters); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, w.dismissMembers(ctx, s.clusters)) }()
	arms := rolloutArms()
	var all [][]rolledOut
	for repetition := range w.repetitions {
		outcomes := make([]rolledOut, len(arms))
		for turn := range arms {
			i := (turn + repetition) % len(arms)
			began := time.Now()
			if outcomes[i], err = w.rollOut(ctx, arms[i], s); err != nil {
				return fmt.Errorf("rollouts of %s, %s: %w", s, arms[i].name(), err)
			}
			w.say("rollouts of %s, %d of %d, %s: %s (took %s)", s, repetition+1, w.repetitions, arms[i].name(), outcomes[i], time.Since(began).Round(time.Second))
		}
		all = append(all, outcomes)
	}
	reportRollouts(r, s, arms, all)
	return nil
}

// allowStatuses grants karmada-mirror the right to write statuses.
func (w *world) allowStatuses(ctx context.Context) error {
	role, err := os.ReadFile(filepath.Join(w.repository, "manifests", "components", "aggregate-status", "clusterrole.yaml"))
	if err != nil {
		return err
	}
	return karmada.Apply(ctx, w.Config(), role)
}

const (
	// rolledOutImage is what an edit changes [deploymentImage] to.
	rolledOutImage = "registry.example/shop/web:1.27.4"
	// rolloutPatience is how long all rollouts together may take.
	rolloutPatience = 20 * time.Minute
)

// rollOut creates all Deployments, waits until they run, and then measures how a new image is
// rolled out.
func (w *world) rollOut(ctx context.Context, a arm, s scenario) (result rolledOut, err error) {
	if err := w.provide(ctx, s.batch(a.mark()), s.load); err != nil {
		return rolledOut{}, err
	}
	w.present = batch{} // they are about to change
	if err := w.emptyMembers(ctx, s.clusters); err != nil {
		return rolledOut{}, err
	}
	run, err := a.start(ctx, w, s)
	if err != nil {
		return rolledOut{}, err
	}
	defer func() { err = errors.Join(err, run.stop()) }()
	seen, err := watchCompletions(ctx, w.serversOf(s))
	if err != nil {
		return rolledOut{}, err
	}
	defer seen.stop()
	settle, err := w.newMeter(ctx, run.pids, run.users...)
	if err != nil {
		return rolledOut{}, err
	}
	seen.expect(deploymentImage)
	if err := run.fire(ctx); err != nil {
		return rolledOut{}, err
	}
	if err := w.awaitRollouts(ctx, seen, s); err != nil {
		return rolledOut{}, err
	}
	if err := settle.awaitRest(ctx, run.unfinished); err != nil {
		return rolledOut{}, err
	}
	meter, err := w.newMeter(ctx, run.pids, run.users...)
	if err != nil {
		return rolledOut{}, err
	}
	seen.expect(rolledOutImage)
	edited, err := w.editImages(ctx, s)
	if err != nil {
		return rolledOut{}, err
	}
	if err := w.awaitRollouts(ctx, seen, s); err != nil {
		return rolledOut{}, err
	}
	if err := meter.awaitRest(ctx, run.unfinished); err != nil {
		return rolledOut{}, err
	}
	return newRolledOut(ctx, meter, seen, s, edited)
}

// serversOf are the servers where a Deployment is, by the name of their cluster.
func (w *world) serversOf(s scenario) map[string]*rest.Config {
	servers := map[string]*rest.Config{"": w.Config()}
	for _, cluster := range s.clusterNames() {
		servers[cluster] = w.MemberConfig(cluster)
	}
	return servers
}

func (s scenario) clusterNames() []string {
	var names []string
	for i := range s.clusters {
		names = append(names, clusterName(i))
	}
	return names
}

// awaitRollouts waits until all rollouts are complete, in the members and by the sources.
func (w *world) awaitRollouts(ctx context.Context, seen *completions, s scenario) error {
	ctx, cancel := context.WithTimeoutCause(ctx, rolloutPatience, fmt.Errorf("the rollouts have not ended within %s", rolloutPatience))
	defer cancel()
	return w.Wait(ctx, "the rollouts", func(context.Context) error { return seen.missing(s.works() + s.sources) })
}

// editImages changes the image of every source, and returns when each edit began.
func (w *world) editImages(ctx context.Context, s scenario) (map[string]time.Time, error) {
	at := make([]time.Time, s.sources)
	patch := fmt.Appendf(nil, `[{"op":"replace","path":"/spec/template/spec/containers/0/image","value":%q}]`, rolledOutImage)
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(inParallel)
	for i := range s.sources {
		group.Go(func() error {
			at[i] = time.Now()
			_, err := w.admin.Resource(s.load.resource).Namespace(namespace).Patch(ctx, sourceName(i), types.JSONPatchType, patch, metav1.PatchOptions{})
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	edited := map[string]time.Time{}
	for i := range s.sources {
		edited[sourceName(i)] = at[i]
	}
	return edited, nil
}

// rolledOut is how the rollouts of a scenario went with one arm.
type rolledOut struct {
	sources int
	// writes is how often the status of each source was written, sorted.
	writes []float64
	// after is from when a rollout was complete in its last member to when it was so by the
	// status of the source, and whole is from the edit to then.
	after, whole latencies
	cost
}

func newRolledOut(ctx context.Context, meter *meter, seen *completions, s scenario, edited map[string]time.Time) (o rolledOut, err error) {
	o.sources = s.sources
	if o.cost, err = meter.read(ctx); err != nil {
		return rolledOut{}, err
	}
	writes, err := meter.statusWrites(s.load.resource)
	if err != nil {
		return rolledOut{}, err
	}
	for name, began := range edited {
		members, source := seen.finished(name, s.clusterNames())
		o.after, o.whole = append(o.after, source.Sub(members)), append(o.whole, source.Sub(began))
		o.writes = append(o.writes, float64(writes[name]))
	}
	slices.Sort(o.writes)
	slices.Sort(o.after)
	slices.Sort(o.whole)
	return o, nil
}

func (o rolledOut) String() string {
	return fmt.Sprintf("%.0f status writes for each, at most %.0f; from the last member to the source %s; %.2f s from the edit; %.0f ms of CPU for each",
		o.typicalWrites(), o.mostWrites(), o.after, o.whole.quantile(0.5), 1000*o.cpuOfControlPlane())
}

func (o rolledOut) typicalWrites() float64 { return summarize(o.writes).median }
func (o rolledOut) mostWrites() float64    { return summarize(o.writes).greatest }

// early is how many sources claimed that their rollout was complete while it was not.
func (o rolledOut) early() float64 {
	n, _ := slices.BinarySearch(o.after, 0)
	return float64(n)
}

// cpuOf is the seconds of CPU of a process for each source.
func (o rolledOut) cpuOf(process string) float64 { return o.cpu[process] / float64(o.sources) }

// cpuOfControlPlane is that of all measured processes but etcd, which serves the members, too.
func (o rolledOut) cpuOfControlPlane() float64 {
	return (total(o.cpu) - o.cpu[karmada.Etcd]) / float64(o.sources)
}
