package health

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/argoproj/argo-cd/gitops-engine/pkg/health"
	lua "github.com/yuin/gopher-lua"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/cli-utils/pkg/kstatus/status"

	"github.com/karmada-target/karmada-mirror/render/aggregate"
)

// manyRollouts is how many Deployments are judged.
const manyRollouts = 20_000

// TestDeployments checks that both libraries call a Deployment of a new generation finished when
// it is, and not before. kstatus never does so if the members together have more replicas than
// spec.replicas: see the package comment of render/aggregate. Where the generation was observed
// before, as when a target is added, Argo CD, which reads no conditions, may only be wrong by calling
// it healthy.
func TestDeployments(t *testing.T) {
	random := rand.New(rand.NewPCG(40, 41))
	counts := map[string]int{}
	for range 2 * manyRollouts {
		r := newRollout(random)
		observed := 1 + random.Int64N(2)
		source := r.summedUp(t, observed)
		wantArgo, wantKstatus := health.HealthStatusProgressing, status.InProgressStatus
		switch {
		case r.isComplete && r.sum == r.wanted:
			wantArgo, wantKstatus = health.HealthStatusHealthy, status.CurrentStatus
			counts["complete"]++
		case r.isComplete:
			wantArgo = health.HealthStatusHealthy
			counts["complete, with more replicas than kstatus accepts"]++
		default:
			counts["in progress"]++
		}
		if argo := argoOf(t, source); argo == health.HealthStatusHealthy && observed == 2 && !r.isComplete {
			counts["in progress, and healthy to Argo CD"]++
		} else if argo != wantArgo && (observed == 1 || r.isComplete) {
			t.Fatalf("Argo CD says %s, want %s: %s\n%v", argo, wantArgo, r, source)
		}
		if kstatus := kstatusOf(t, source); kstatus != wantKstatus {
			t.Fatalf("kstatus says %s, want %s: %s\n%v", kstatus, wantKstatus, r, source)
		}
	}
	t.Logf("%d Deployments: %v", 2*manyRollouts, counts)
	if len(counts) != 4 || counts["complete"] < manyRollouts/10 || counts["in progress"] < manyRollouts/2 {
		t.Errorf("too few to judge: %v", counts)
	}
}

// TestOtherKinds holds what the package comment of render/aggregate says about other kinds.
func TestOtherKinds(t *testing.T) {
	const replicas = `"replicas":3,"readyReplicas":3,"availableReplicas":3,"currentReplicas":3,"updatedReplicas":3`
	const daemons = `"currentNumberScheduled":2,"desiredNumberScheduled":2,"numberAvailable":2,"numberReady":2,"updatedNumberScheduled":2`
	const seen = `,"generation":4,"observedGeneration":4,"resourceTemplateGeneration":2}`
	cases := map[string]struct {
		reason, apiVersion, kind string
		spec                     map[string]any
		reports                  []string
		kstatus                  status.Status
		argo                     health.HealthStatusCode
	}{
		"StatefulSetOne":   {"One member has what is wanted.", "apps/v1", "StatefulSet", map[string]any{"replicas": int64(3)}, []string{`{` + replicas + `,"generation":4,"resourceTemplateGeneration":2}`}, status.CurrentStatus, health.HealthStatusHealthy},
		"StatefulSetBoth":  {"Two have it, which is more than kstatus accepts.", "apps/v1", "StatefulSet", map[string]any{"replicas": int64(3)}, []string{`{` + replicas + seen, `{` + replicas + seen}, status.InProgressStatus, health.HealthStatusHealthy},
		"StatefulSetHalf":  {"The second has nothing, but the sum is enough for both.", "apps/v1", "StatefulSet", map[string]any{"replicas": int64(3)}, []string{`{` + replicas + seen, `{"replicas":0` + seen}, status.CurrentStatus, health.HealthStatusHealthy},
		"StatefulSetEarly": {"The second has reported nothing.", "apps/v1", "StatefulSet", map[string]any{"replicas": int64(3)}, []string{`{` + replicas + seen, ``}, status.InProgressStatus, health.HealthStatusProgressing},
		"ReplicaSetOne":    {"Members do not report fullyLabeledReplicas, for which kstatus waits.", "apps/v1", "ReplicaSet", map[string]any{"replicas": int64(3)}, []string{`{` + replicas + seen}, status.InProgressStatus, health.HealthStatusHealthy},
		"DaemonSetBoth":    {"A sum is compared with a sum.", "apps/v1", "DaemonSet", map[string]any{}, []string{`{` + daemons + seen, `{` + daemons + seen}, status.CurrentStatus, health.HealthStatusHealthy},
		"DaemonSetHalf":    {"A member has no Pod yet.", "apps/v1", "DaemonSet", map[string]any{}, []string{`{` + daemons + seen, `{"desiredNumberScheduled":2` + seen}, status.InProgressStatus, health.HealthStatusProgressing},
		"JobComplete":      {"It is complete in all members.", "batch/v1", "Job", map[string]any{}, []string{`{"succeeded":1,"startTime":"2026-11-24T09:00:00Z","completionTime":"2026-11-24T09:00:00Z","conditions":[{"type":"Complete","status":"True"}]}`}, status.CurrentStatus, health.HealthStatusHealthy},
		"JobFailed":        {"It has failed in one.", "batch/v1", "Job", map[string]any{}, []string{``, `{"failed":1,"startTime":"2026-11-24T09:00:00Z","conditions":[{"type":"Failed","status":"True"}]}`}, status.FailedStatus, health.HealthStatusDegraded},
		"JobFailing":       {"It still runs in the other: it has not failed yet.", "batch/v1", "Job", map[string]any{}, []string{`{"active":1,"startTime":"2026-11-24T09:00:00Z"}`, `{"failed":1,"startTime":"2026-11-24T09:00:00Z","conditions":[{"type":"Failed","status":"True"}]}`}, status.CurrentStatus, health.HealthStatusProgressing},
		"PodRunning":       {"kstatus waits for the condition Ready.", "v1", "Pod", map[string]any{"restartPolicy": "Always"}, []string{`{"phase":"Running","conditions":[{"type":"Ready","status":"True"}]}`}, status.InProgressStatus, health.HealthStatusProgressing},
		"ClaimBound":       {"It is bound in both members.", "v1", "PersistentVolumeClaim", map[string]any{}, []string{`{"phase":"Bound"}`, `{"phase":"Bound"}`}, status.CurrentStatus, health.HealthStatusHealthy},
		"ClaimUnreported":  {"A member has reported nothing.", "v1", "PersistentVolumeClaim", map[string]any{}, []string{`{"phase":"Bound"}`, ``}, status.InProgressStatus, health.HealthStatusProgressing},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			var members []aggregate.Member
			for i, report := range tc.reports {
				members = append(members, aggregate.Member{Cluster: fmt.Sprint("m", i), Status: []byte(report), Generation: 2, Settled: true})
			}
			source := summedUp(t, newSource(tc.apiVersion, tc.kind, tc.spec, 1), members)
			if kstatus := kstatusOf(t, source); kstatus != tc.kstatus {
				t.Errorf("%s kstatus says %s, want %s: %v", tc.reason, kstatus, tc.kstatus, source)
			}
			if argo := argoOf(t, source); argo != tc.argo {
				t.Errorf("%s Argo CD says %s, want %s: %v", tc.reason, argo, tc.argo, source)
			}
		})
	}
}

// rollout is a Deployment in the middle of a rollout, or at its end.
type rollout struct {
	wanted  int64
	states  []string
	members []aggregate.Member
	// isComplete means that each member has all it wants, and that it is enough. sum is what they
	// have together if so.
	isComplete bool
	sum        int64
}

func (r *rollout) String() string { return fmt.Sprintf("%d replicas, %q", r.wanted, r.states) }

func newRollout(random *rand.Rand) *rollout {
	r := &rollout{wanted: random.Int64N(5), isComplete: true}
	isDivided := random.IntN(2) == 0
	n := 1 + random.Int64N(3)
	for i := range n {
		share := r.wanted
		if isDivided {
			share = (r.wanted + i) / n
		}
		r.add(random, share)
	}
	r.isComplete = r.isComplete && r.sum >= r.wanted
	return r
}

// add adds a member that wants some replicas.
func (r *rollout) add(random *rand.Rand, share int64) {
	m := aggregate.Member{Cluster: fmt.Sprint("m", len(r.members)), Generation: 2, Settled: true}
	states := []string{"complete", "complete", "complete", "complete", "unsettled", "unreported", "old content", "not observed"}
	if share > 0 {
		states = append(states, "updating", "unavailable", "without Pods", "too few Pods")
	}
	state := states[random.IntN(len(states))]
	replicas, updated, available, observed, content := share, share, share, 7, 2
	wants := share
	switch state {
	case "unsettled":
		m.Settled = false
	case "old content":
		content = 1
	case "not observed":
		observed = 6
	case "updating":
		wants += random.Int64N(2)
		replicas, updated = wants, random.Int64N(share)
		available = random.Int64N(replicas + 1)
	case "unavailable":
		available = random.Int64N(share)
	case "without Pods":
		replicas, updated, available = 0, 0, 0
	case "too few Pods":
		replicas = random.Int64N(share)
		updated, available = replicas, replicas
	}
	if state != "unreported" {
		m.Status = fmt.Appendf(nil, `{"replicas":%d,"updatedReplicas":%d,"readyReplicas":%d,"availableReplicas":%d,"unavailableReplicas":%d,"generation":7,"observedGeneration":%d,"resourceTemplateGeneration":%d}`,
			replicas, updated, available, available, wants-available, observed, content)
	}
	r.isComplete = r.isComplete && state == "complete"
	r.sum += share
	r.states = append(r.states, state)
	r.members = append(r.members, m)
}

// summedUp returns the source after its status is written. Before, it had observed a generation.
func (r *rollout) summedUp(t *testing.T, observed int64) *unstructured.Unstructured {
	t.Helper()
	return summedUp(t, newSource("apps/v1", "Deployment", map[string]any{"replicas": r.wanted, "progressDeadlineSeconds": int64(600)}, observed), r.members)
}

func newSource(apiVersion, kind string, spec map[string]any, observed int64) *unstructured.Unstructured {
	u := &unstructured.Unstructured{Object: map[string]any{"spec": spec}}
	if apiVersion == "apps/v1" {
		u.Object["status"] = map[string]any{"observedGeneration": observed}
	}
	u.SetAPIVersion(apiVersion)
	u.SetKind(kind)
	u.SetName("web")
	u.SetNamespace("shop")
	u.SetGeneration(2)
	return u
}

func summedUp(t *testing.T, source *unstructured.Unstructured, members []aggregate.Member) *unstructured.Unstructured {
	t.Helper()
	sum, err := aggregate.Status(source, members, time.Date(2026, 11, 25, 12, 0, 0, 0, time.UTC))
	if err != nil {
		t.Fatal(err)
	}
	source.Object["status"] = sum
	return source
}

func kstatusOf(t *testing.T, source *unstructured.Unstructured) status.Status {
	t.Helper()
	result, err := status.Compute(source)
	if err != nil {
		t.Fatal(err)
	}
	return result.Status
}

func argoOf(t *testing.T, source *unstructured.Unstructured) health.HealthStatusCode {
	t.Helper()
	result, err := health.GetResourceHealth(source, nil)
	if err != nil {
		t.Fatal(err)
	}
	return result.Status
}

// TestAutoscaler runs the health check that the how-to gives, as Argo CD runs it, in the same Lua.
func TestAutoscaler(t *testing.T) {
	page, err := os.ReadFile("../../docs/how-to/argo-cd-and-flux.md")
	if err != nil {
		t.Fatal(err)
	}
	_, check, found := strings.Cut(string(page), "autoscaling_HorizontalPodAutoscaler: |\n")
	check, _, _ = strings.Cut(check, "```")
	if !found {
		t.Fatal("the page has no health check")
	}
	reported := func(current, desired string) []byte {
		return []byte(`{"currentReplicas":` + current + `,"desiredReplicas":` + desired + `,"observedGeneration":4,"generation":4,"resourceTemplateGeneration":2}`)
	}
	for name, tc := range map[string]struct {
		reports [][]byte
		want    health.HealthStatusCode
	}{
		"Unreported": {[][]byte{nil, nil}, health.HealthStatusProgressing},
		"Scaling":    {[][]byte{reported("2", "2"), reported("1", "3")}, health.HealthStatusProgressing},
		"Scaled":     {[][]byte{reported("2", "2"), reported("3", "3")}, health.HealthStatusHealthy},
	} {
		var members []aggregate.Member
		for i, report := range tc.reports {
			members = append(members, aggregate.Member{Cluster: fmt.Sprint("m", i), Status: report, Generation: 2, Settled: true})
		}
		source := summedUp(t, newSource("autoscaling/v2", "HorizontalPodAutoscaler", map[string]any{"maxReplicas": int64(6)}, 1), members)
		if argo := argoOf(t, source); argo == health.HealthStatusHealthy {
			t.Errorf("%s: Argo CD's own check says %s: the page need not give another", name, argo)
		}
		if got := inLua(t, check, source); got != tc.want {
			t.Errorf("%s: %s, not %s: %v", name, got, tc.want, source.Object["status"])
		}
	}
}

func inLua(t *testing.T, check string, obj *unstructured.Unstructured) health.HealthStatusCode {
	t.Helper()
	l := lua.NewState()
	defer l.Close()
	l.SetGlobal("obj", luaOf(l, obj.Object))
	if err := l.DoString(check); err != nil {
		t.Fatal(err)
	}
	hs, ok := l.Get(-1).(*lua.LTable)
	if !ok {
		t.Fatal("the health check returns no table")
	}
	return health.HealthStatusCode(hs.RawGetString("status").String())
}

// luaOf turns a value into one of Lua.
func luaOf(l *lua.LState, value any) lua.LValue {
	switch v := value.(type) {
	case map[string]any:
		table := l.NewTable()
		for key, field := range v {
			table.RawSetString(key, luaOf(l, field))
		}
		return table
	case int64:
		return lua.LNumber(v)
	case float64:
		return lua.LNumber(v)
	case string:
		return lua.LString(v)
	}
	return lua.LNil
}
