package metrics

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
)

func TestMetrics(t *testing.T) {
	registry := prometheus.NewPedanticRegistry()
	m := New(registry, Build{Version: "v1", Revision: "abc", GoVersion: "go1"})
	m.Operation("create", "member1", nil)
	m.Operation("create", "member1", errors.New("no"))
	m.Operation("create", "member2", nil)
	m.ForgetCluster("member2")
	m.KnowCluster("member3")
	m.Sync("success", time.Millisecond)
	m.Propagation("configmaps", time.Millisecond)
	m.Propagation("secrets", time.Millisecond)
	m.StatusUpdate("deployments.apps", nil)
	m.StatusUpdate("deployments.apps", errors.New("no"))
	m.KnowStatuses("secrets")
	m.KnowStatuses("jobs.batch")
	m.ForgetResource("secrets")
	if n, err := testutil.GatherAndCount(registry, "karmada_mirror_config_last_reload_successful"); n != 0 || err != nil {
		t.Errorf("before the first verdict: %d series, %v", n, err)
	}
	m.ConfigReload(nil, time.Unix(7, 0))
	m.ConfigReload(errors.New("bad"), time.Unix(8, 0))
	m.Configuration("karmada-system/shop")
	m.Leading(true)
	m.LeaderPresent(func() bool { return false })
	m.Token(func() (issued, expires time.Time) { return time.Unix(1, 0), time.Unix(2, 0) })
	m.Observe(func() Snapshot {
		return Snapshot{
			Watches: []Watch{
				{Resource: "deployments.apps", State: "ready", LastEvent: time.Unix(9, 0), Sources: 3},
				{Resource: "works.work.karmada.io", State: "degraded", Own: true},
			},
			Works:     map[WorkKey]int{{Cluster: "member1", State: "applied"}: 2},
			Refused:   map[string]int{"TooLarge": 1, "UnknownCluster": 2},
			Denied:    map[string]int{"size": 1},
			Held:      map[string]int{"deployments.apps": 4},
			WaveHeld:  map[string]int{"deployments.apps": 5},
			Contested: map[string]int{"WorkContested": 7},
			Failing:   map[string]Failing{"mirror": {Sources: 6, Since: time.Unix(10, 0)}, "status": {}},
		}
	})
	problems, err := testutil.GatherAndLint(registry)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range problems {
		t.Errorf("%s: %s", p.Metric, p.Text)
	}
	want := `
# HELP karmada_mirror_build_info The version of the program; always 1.
# TYPE karmada_mirror_build_info gauge
karmada_mirror_build_info{go_version="go1",revision="abc",version="v1"} 1
# HELP karmada_mirror_config_last_reload_success_timestamp_seconds When a configuration was last accepted, in Unix time.
# TYPE karmada_mirror_config_last_reload_success_timestamp_seconds gauge
karmada_mirror_config_last_reload_success_timestamp_seconds 7
# HELP karmada_mirror_config_last_reload_successful Whether the last configuration was accepted (1) or rejected (0).
# TYPE karmada_mirror_config_last_reload_successful gauge
karmada_mirror_config_last_reload_successful 0
# HELP karmada_mirror_deletions_held Works whose deletion waits for an approval.
# TYPE karmada_mirror_deletions_held gauge
karmada_mirror_deletions_held{resource="deployments.apps"} 4
# HELP karmada_mirror_contested_sources Sources with a Work, an object in a member, or an aggregated status that another writer keeps changing, by reason. Only the leader reports it.
# TYPE karmada_mirror_contested_sources gauge
karmada_mirror_contested_sources{reason="WorkContested"} 7
# HELP karmada_mirror_denied_sources Sources with a Work that the API server refuses to write or delete, by what refuses it.
# TYPE karmada_mirror_denied_sources gauge
karmada_mirror_denied_sources{by="size"} 1
# HELP karmada_mirror_failing_sources Sources whose last sync failed and is retried: that of their Works (mirror) or of their aggregated status (status), which may also lack a right. And objects whose finalizer may not be removed (finalizer). Only the leader reports it.
# TYPE karmada_mirror_failing_sources gauge
karmada_mirror_failing_sources{queue="mirror"} 6
karmada_mirror_failing_sources{queue="status"} 0
# HELP karmada_mirror_leader_present Whether some replica holds the Lease and renews it (1), as this replica sees it. Absent without leader election.
# TYPE karmada_mirror_leader_present gauge
karmada_mirror_leader_present{configuration="karmada-system/shop"} 0
# HELP karmada_mirror_leading Whether this replica writes Works (1), with leader election or without.
# TYPE karmada_mirror_leading gauge
karmada_mirror_leading{configuration="karmada-system/shop"} 1
# HELP karmada_mirror_oldest_failure_timestamp_seconds Since when each sync of some failing source has failed, in Unix time. Absent if none fails.
# TYPE karmada_mirror_oldest_failure_timestamp_seconds gauge
karmada_mirror_oldest_failure_timestamp_seconds{queue="mirror"} 10
# HELP karmada_mirror_refused_sources Sources that are not mirrored, or not to every cluster, by reason.
# TYPE karmada_mirror_refused_sources gauge
karmada_mirror_refused_sources{reason="TooLarge"} 1
karmada_mirror_refused_sources{reason="UnknownCluster"} 2
# HELP karmada_mirror_sources Known objects that ask to be mirrored, by their own annotation or their Namespace's.
# TYPE karmada_mirror_sources gauge
karmada_mirror_sources{resource="deployments.apps"} 3
# HELP karmada_mirror_status_updates_total Writes of the aggregated statuses of sources. The series of a resource are deleted when it leaves the configuration.
# TYPE karmada_mirror_status_updates_total counter
karmada_mirror_status_updates_total{resource="deployments.apps",result="error"} 1
karmada_mirror_status_updates_total{resource="deployments.apps",result="success"} 1
karmada_mirror_status_updates_total{resource="jobs.batch",result="error"} 0
karmada_mirror_status_updates_total{resource="jobs.batch",result="success"} 0
# HELP karmada_mirror_token_expiration_timestamp_seconds When the token for the Karmada API server expires, in Unix time. Absent if it does not expire.
# TYPE karmada_mirror_token_expiration_timestamp_seconds gauge
karmada_mirror_token_expiration_timestamp_seconds 2
# HELP karmada_mirror_token_issued_timestamp_seconds When the token for the Karmada API server was issued, in Unix time. Absent if it does not expire.
# TYPE karmada_mirror_token_issued_timestamp_seconds gauge
karmada_mirror_token_issued_timestamp_seconds 1
# HELP karmada_mirror_watch_last_event_timestamp_seconds When the last event of the resource arrived, in Unix time.
# TYPE karmada_mirror_watch_last_event_timestamp_seconds gauge
karmada_mirror_watch_last_event_timestamp_seconds{resource="deployments.apps"} 9
# HELP karmada_mirror_watch_state The state of each watch, of configured resources and of those that the daemon itself needs: 1 for the current state.
# TYPE karmada_mirror_watch_state gauge
karmada_mirror_watch_state{resource="deployments.apps",state="degraded"} 0
karmada_mirror_watch_state{resource="deployments.apps",state="pending"} 0
karmada_mirror_watch_state{resource="deployments.apps",state="ready"} 1
karmada_mirror_watch_state{resource="deployments.apps",state="syncing"} 0
karmada_mirror_watch_state{resource="works.work.karmada.io",state="degraded"} 1
karmada_mirror_watch_state{resource="works.work.karmada.io",state="pending"} 0
karmada_mirror_watch_state{resource="works.work.karmada.io",state="ready"} 0
karmada_mirror_watch_state{resource="works.work.karmada.io",state="syncing"} 0
# HELP karmada_mirror_wave_held_sources Sources with a wave of clusters that has not come through by its deadline.
# TYPE karmada_mirror_wave_held_sources gauge
karmada_mirror_wave_held_sources{resource="deployments.apps"} 5
# HELP karmada_mirror_work_operations_total Writes of Works. The series of a cluster are deleted when it leaves.
# TYPE karmada_mirror_work_operations_total counter
karmada_mirror_work_operations_total{member_cluster="member1",operation="create",result="error"} 1
karmada_mirror_work_operations_total{member_cluster="member1",operation="create",result="success"} 1
karmada_mirror_work_operations_total{member_cluster="member3",operation="create",result="error"} 0
karmada_mirror_work_operations_total{member_cluster="member3",operation="create",result="success"} 0
karmada_mirror_work_operations_total{member_cluster="member3",operation="delete",result="error"} 0
karmada_mirror_work_operations_total{member_cluster="member3",operation="delete",result="success"} 0
karmada_mirror_work_operations_total{member_cluster="member3",operation="update",result="error"} 0
karmada_mirror_work_operations_total{member_cluster="member3",operation="update",result="success"} 0
# HELP karmada_mirror_works Known Works, by member cluster and by how far Karmada has processed them.
# TYPE karmada_mirror_works gauge
karmada_mirror_works{member_cluster="member1",state="applied"} 2
`
	names := []string{
		"karmada_mirror_leading", "karmada_mirror_leader_present", "karmada_mirror_token_expiration_timestamp_seconds", "karmada_mirror_token_issued_timestamp_seconds",
		"karmada_mirror_build_info", "karmada_mirror_config_last_reload_success_timestamp_seconds",
		"karmada_mirror_config_last_reload_successful", "karmada_mirror_contested_sources", "karmada_mirror_denied_sources", "karmada_mirror_failing_sources", "karmada_mirror_oldest_failure_timestamp_seconds", "karmada_mirror_refused_sources", "karmada_mirror_sources",
		"karmada_mirror_status_updates_total", "karmada_mirror_watch_last_event_timestamp_seconds", "karmada_mirror_watch_state",
		"karmada_mirror_wave_held_sources",
		"karmada_mirror_work_operations_total", "karmada_mirror_works",
	}
	if err := testutil.GatherAndCompare(registry, strings.NewReader(want), names...); err != nil {
		t.Error(err)
	}
	for _, histogram := range []string{"karmada_mirror_sync_duration_seconds", "karmada_mirror_propagation_duration_seconds"} {
		if n, err := testutil.GatherAndCount(registry, histogram); n != 1 || err != nil {
			t.Errorf("%s: %d series, %v", histogram, n, err)
		}
	}
}
