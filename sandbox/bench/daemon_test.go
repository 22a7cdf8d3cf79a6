package bench

import "testing"

func TestUnfinished(t *testing.T) {
	cases := map[string]struct {
		reason         string
		ended, applied float64
		finished       bool
	}{
		"Finished": {"All syncs have ended, and all Works have been seen.", 7, 2, true},
		"Syncing":  {"The last sync has left the queue and not ended.", 6, 2, false},
		"Unseen":   {"A Work has not come back through the watch.", 7, 1, false},
		"Left":     {"A Work that has to be deleted still exists.", 7, 3, false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			err := unfinished(map[string]float64{
				`workqueue_adds_total{name="mirror"}`:                      7,
				`workqueue_work_duration_seconds_count{name="mirror"}`:     tc.ended,
				`karmada_mirror_works{member_cluster="a",state="pending"}`: 3,
				`karmada_mirror_works{member_cluster="b",state="applied"}`: tc.applied,
			}, 5)
			if (err == nil) != tc.finished {
				t.Errorf("%s unfinished() = %v", tc.reason, err)
			}
		})
	}
}
