package bench

import (
	"github.com/karmada-target/karmada-mirror/sandbox/process"

	"strings"
	"testing"
	"time"
)

const someSeries = `# HELP workqueue_adds_total Total number of adds handled by workqueue
# TYPE workqueue_adds_total counter
workqueue_adds_total{name="mirror"} 7
workqueue_work_duration_seconds_bucket{name="mirror",le="1e-08"} 0
workqueue_work_duration_seconds_count{name="mirror"} 7
karmada_mirror_works{member_cluster="a",state="pending"} 3
karmada_mirror_works{member_cluster="b",state="applied"} 2
karmada_mirror_works{member_cluster="b",state="deleting"} 9
etcd_disk_wal_write_bytes_total 4.2014e+06
`

func TestUnfinished(t *testing.T) {
	cases := map[string]struct {
		reason   string
		old, new string
		works    int
		finished bool
	}{
		"Finished": {reason: "All syncs have ended, and all Works have been seen.", works: 5, finished: true},
		"Syncing":  {reason: "The last sync has left the queue and not ended.", old: `_count{name="mirror"} 7`, new: `_count{name="mirror"} 6`, works: 5},
		"Unseen":   {reason: "A Work has not come back through the watch.", works: 6},
		"Left":     {reason: "A Work that has to be deleted still exists.", works: 4},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			series, err := process.ParseSeries(strings.ReplaceAll(someSeries, tc.old, tc.new))
			if tc.old == "" {
				series, err = process.ParseSeries(someSeries)
			}
			if err != nil {
				t.Fatal(err)
			}
			if err := unfinished(series, tc.works); (err == nil) != tc.finished {
				t.Errorf("%s unfinished() = %v", tc.reason, err)
			}
		})
	}
}

func TestLastSynced(t *testing.T) {
	const log = `not JSON
{"level":"info","ts":"2026-11-22T10:00:00.5Z","msg":"synced","resource":"configmaps"}
{"level":"info","ts":"2026-11-22T10:00:01.25Z","msg":"synced","resource":"configmaps"}
{"level":"info","ts":"2026-11-22T10:00:02Z","msg":"synced","resource":"deployments.apps"}
{"level":"info","ts":"2026-11-22T10:00:03Z","msg":"wrote a Work","resource":"configmaps"}
`
	got, err := lastSynced(strings.NewReader(log), "configmaps")
	if want := time.Date(2026, 11, 22, 10, 0, 1, 250_000_000, time.UTC); err != nil || !got.Equal(want) {
		t.Errorf("lastSynced() = %s, %v, want %s", got, err, want)
	}
	if got, err := lastSynced(strings.NewReader(log), "secrets"); err == nil {
		t.Errorf("lastSynced() = %s for a resource that was never synced", got)
	}
}
