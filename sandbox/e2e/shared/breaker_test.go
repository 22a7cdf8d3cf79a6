package shared

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/karmada-target/karmada-mirror/config"
	"github.com/karmada-target/karmada-mirror/render"
	"github.com/karmada-target/karmada-mirror/sandbox/model"

	. "github.com/karmada-target/karmada-mirror/sandbox/e2e"
)

// TestBreaker deletes everything at once, and checks that only an approval releases it.
func TestBreaker(t *testing.T) {
	ns := Isolate(t)
	const sources = 60
	// All must be counted before the first may be deleted, even on a busy machine.
	settle := []string{"--deletion-settle-period", "5s"}
	d := StartDaemon(t, settle...)
	// Overridden objects count like others.
	policy := model.Key{Kind: "OverridePolicy", Namespace: ns, Name: "pages"}
	Create(t, OverridePolicies, Overriding(policy, &model.Policy{Kind: "ConfigMap", Labels: map[string]string{"stage": "edge"}}))
	d.Reconfigure(t, func() { Configure(t, withBreaker(t)+HonorPolicies) })
	f := NewFault(t, "60 of 60 objects deleted at once; the daemon restarted", ns, OverridePolicies)
	f.Note = "60 held, 58 of them recreated, two held across a restart until approved"
	ids := CreatePages(t, ns, Push, sources)
	WantInMembers(t, ns, fmt.Sprintf("page-%d", sources-1), "one", Push)
	Eventually(t, "the Works", func(ctx context.Context) error { return Disagreement(ctx, ns, ConfigMaps, OverridePolicies) })

	removeAtOnce(t, d, ns)
	Eventually(t, "all deletions to be held", d.WantMetric(Held("configmaps"), float64(sources)))
	WantEvent(t, Home(t), Account, "DeletionHeld", "more than deletion.holdAbove allows")

	// Recreated objects are no longer due, so the remaining number would not trip the
	// breaker: only the marks hold them.
	for i := range sources - 2 {
		Create(t, ConfigMaps, ConfigMap(ns, fmt.Sprintf("page-%d", i), Push, "two"))
	}
	Eventually(t, "two deletions to be left", d.WantMetric(Held("configmaps"), 2))
	d.MustStop(t)
	d = StartDaemon(t, settle...)
	Eventually(t, "the syncs after a restart", AtLeastSyncs(d, sources-2))
	Eventually(t, "all sources to have been synced", settled(d))
	Eventually(t, "the two to be refused", d.WantMetric(`karmada_mirror_refused_sources{reason="DeletionHeld"}`, 2))
	f.WantNoDeletes()

	t.Run("Approved", func(t *testing.T) {
		WantLine(t, MustKarmadaMirror(t, "deletions", "list"), `^configmaps +`+ns+` +2 +2 +member1 +\S+Z$`)
		for _, spelled := range []string{"cm", "configmap", "configmaps"} {
			WantLine(t, MustKarmadaMirror(t, "deletions", "list", "--resource", spelled, "-n", ns), `^configmaps +`+ns+` +2 +2 +member1 `)
		}
		WantLine(t, MustKarmadaMirror(t, "deletions", "list", "-n", System), `^No deletion is held.$`)
		WantLine(t, MustKarmadaMirror(t, "deletions", "list", "--works"), `^configmaps +ConfigMap/`+ns+`/page-59 +member1 +\S+Z +the source does not exist$`)
		explanation := MustKarmadaMirror(t, "explain", "cm", "page-59", "-n", ns)
		WantLine(t, explanation, `^`+Push+`: Unwanted$`)
		WantLine(t, explanation, `^  To do: +karmada-mirror deletions list, then karmada-mirror deletions approve$`)
		if output, code := diff(t, "cm", "page-59", "-n", ns); code != 0 || !strings.Contains(output, "is held") {
			t.Errorf("diff of a held deletion: exit code %d\n%s", code, output)
		}
		if output, err := KarmadaMirror(t, "deletions", "approve", "--yes", "--resource", "secrets"); err == nil {
			t.Errorf("an approval without held deletions: %s", output)
		}
		if output, err := KarmadaMirror(t, "deletions", "approve", "--yes", "-n", System); err == nil {
			t.Errorf("an approval in another namespace: %s", output)
		}
		for _, id := range ids[sources-2:] {
			f.Allow(id, Push)
		}
		f.Heal()
		chosen := []string{"deletions", "approve", "--resource", "cm", "-n", ns}
		WantLine(t, MustKarmadaMirror(t, append(chosen, "--dry-run")...), `^would be approved: 2 deletions of configmaps in namespace `+ns+` in `+Push+`$`)
		if output, err := KarmadaMirror(t, chosen...); err == nil || !strings.Contains(output, "--yes") {
			t.Errorf("without a terminal: %v, %s", err, output)
		}
		if output, err := KarmadaMirror(t, append(chosen, "--yes", "--member", Push2)...); err == nil {
			t.Errorf("an approval in another cluster: %s", output)
		}
		wantHeldList(t, ids[sources-2:])
		WantLine(t, MustKarmadaMirror(t, append(chosen, "--yes", "--member", Push)...), `^approved: 2 deletions of configmaps in namespace `+ns+` in `+Push+`$`)
		f.Converge(Patience)
		WantLine(t, MustKarmadaMirror(t, "deletions", "list"), `^No deletion is held.$`)
	})
	t.Run("AnOldApprovalIsNotReplayed", func(t *testing.T) {
		f.End()
		f := NewFault(t, "An old approval, replayed during another mass deletion", ns, OverridePolicies)
		removeAtOnce(t, d, ns, func() { Remove(t, OverridePolicies, ns, policy.Name) })
		Eventually(t, "all deletions to be held", d.WantMetric(Held("configmaps"), float64(sources-2)))
		old := annotationOf(t, config.ApprovalsAnnotation)
		Change(t, ConfigMaps, Home(t), Account, SetAnnotation(config.ApprovalsAnnotation, ""))
		Change(t, ConfigMaps, Home(t), Account, SetAnnotation(config.ApprovalsAnnotation, old))
		Change(t, ConfigMaps, Home(t), Account, SetAnnotation(config.ApprovalsAnnotation, "configmaps=2999-01-01T00:00:00Z"))
		WantEvent(t, Home(t), Account, "InvalidApproval")
		Settle(t)
		Eventually(t, "all to be still held", d.WantMetric(Held("configmaps"), float64(sources-2)))
		f.WantNoDeletes()
		for _, work := range WorksOf(t, ns) {
			if by := work.GetAnnotations()["karmada.target/overridden-by"]; by != "OverridePolicy/pages" {
				t.Errorf("Work %s is held, and now overridden by %q", work.GetName(), by)
			}
		}
		for _, id := range ids {
			f.Allow(id, Push)
		}
		f.Heal()
		MustKarmadaMirror(t, "deletions", "approve", "--yes")
		f.Converge(Patience)
	})
}

// TestBreakerOfTwoLeaders lets two daemons write by mistake, and deletes one object after the
// other: together they delete no more than one may.
func TestBreakerOfTwoLeaders(t *testing.T) {
	ns := Isolate(t)
	const sources, allowed = 150, 50 // of BreakerOn
	first, second := StartDaemon(t, "--leader-elect=false"), StartDaemon(t, "--leader-elect=false")
	Eventually(t, "the first to write", Leads(first))
	Eventually(t, "the second to write", Leads(second))
	first.Reconfigure(t, func() { Configure(t, withBreaker(t)) })
	Eventually(t, "the second to have the configuration", second.WantLogged(InForce, 2))
	CreatePages(t, ns, Push, sources)
	WantSources(t, ns)

	audit := AuditFromNow(t)
	for i := range sources {
		Remove(t, ConfigMaps, ns, fmt.Sprintf("page-%d", i))
		Pass(t, 100*time.Millisecond) // so that few are pending at any time
	}
	deleted := 0
	Eventually(t, "the rest to be held", func(ctx context.Context) error {
		names := audit.Deleted(t)
		slices.Sort(names)
		deleted = len(slices.Compact(names))
		return first.WantMetric(Held("configmaps"), float64(sources-deleted))(ctx)
	})
	t.Logf("together they have deleted %d of %d", deleted, sources)
	if deleted == 0 || deleted > allowed {
		t.Errorf("%d Works were deleted, and %d deletions are allowed", deleted, allowed)
	}
}

// wantHeldList parses the list as a program would.
func wantHeldList(t *testing.T, ids []render.Identity) {
	t.Helper()
	var list struct {
		Items []struct{ Source, Cluster, Resource, Because string }
	}
	if err := json.Unmarshal([]byte(MustKarmadaMirror(t, "deletions", "list", "-o", "json", "--member", Push)), &list); err != nil {
		t.Fatal(err)
	}
	var held, want []string
	for _, item := range list.Items {
		held = append(held, item.Source+" "+item.Cluster+" "+item.Resource)
	}
	for _, id := range ids {
		want = append(want, id.String()+" "+Push+" configmaps")
	}
	slices.Sort(want)
	if diff := cmp.Diff(want, held); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// removeAtOnce deletes all pages before the daemon sees the first deletion. Otherwise, on
// a busy machine, the API server would need longer than a deletion takes to settle, and
// the daemon would make as many deletions as the breaker allows. It does more at the same time.
func removeAtOnce(t *testing.T, d *Daemon, ns string, more ...func()) {
	t.Helper()
	Must(t, d.Signal(syscall.SIGSTOP))
	RemoveAll(t, ConfigMaps, ns, AllPages)
	for _, do := range more {
		do()
	}
	Must(t, d.Signal(syscall.SIGCONT))
}

func annotationOf(t *testing.T, key string) string {
	t.Helper()
	u, err := Env.Admin.Resource(ConfigMaps).Namespace(Home(t)).Get(t.Context(), Account, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return u.GetAnnotations()[key]
}
