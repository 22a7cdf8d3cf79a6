package bench

import (
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// TestCompletions plays what the watches show of one Deployment in two members and of its source.
func TestCompletions(t *testing.T) {
	at := func(second int64) time.Time { return time.Unix(second, 0) }
	deploymentOf := func(image string, generation, observed, updated int64) *unstructured.Unstructured {
		u := makeDeployment("web")
		u.SetGeneration(generation)
		containers := u.Object["spec"].(map[string]any)["template"].(map[string]any)["spec"].(map[string]any)["containers"].([]any)
		containers[0].(map[string]any)["image"] = image
		u.Object["status"] = map[string]any{"observedGeneration": observed, "replicas": int64(3), "updatedReplicas": updated, "availableReplicas": int64(3)}
		return u
	}
	complete := deploymentOf(rolledOutImage, 2, 2, 3)
	cases := map[string]struct {
		reason string
		// note is what happens before the rest, which is that m2 and the source are complete
		// after 5 and 6 seconds.
		note            func(*completions)
		members, source int64
		// isMissing: the rollouts count as incomplete.
		isMissing bool
	}{
		"Complete": {reason: "all are complete", note: func(c *completions) { c.note("m1", complete, at(3)) }, members: 5, source: 6},
		"SlowMember": {reason: "the last member counts", note: func(c *completions) {
			c.note("m1", deploymentOf(rolledOutImage, 2, 2, 1), at(3))
			c.note("m1", complete, at(9))
		}, members: 9, source: 6},
		"TakenBack": {reason: "of a source the first time counts, when kubectl ends; of a member the last", note: func(c *completions) {
			for _, cluster := range []string{"", "m1"} {
				c.note(cluster, complete, at(1))
				c.note(cluster, deploymentOf(rolledOutImage, 2, 2, 2), at(2))
			}
			c.note("m1", complete, at(4))
		}, members: 5, source: 1},
		"OtherImage": {reason: "an earlier rollout was complete before the edit", note: func(c *completions) {
			c.note("m1", deploymentOf(deploymentImage, 1, 1, 3), at(1))
		}, members: 5, source: 6, isMissing: true},
		"Unobserved": {reason: "the counts are those of an earlier generation", note: func(c *completions) {
			c.note("m1", deploymentOf(rolledOutImage, 2, 1, 3), at(1))
		}, members: 5, source: 6, isMissing: true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			c := &completions{}
			c.expect(rolledOutImage)
			tc.note(c)
			c.note("m2", complete, at(5))
			c.note("", complete, at(6))
			members, source := c.finished("web", []string{"m1", "m2"})
			if members != at(tc.members) || source != at(tc.source) {
				t.Errorf("%s: finished() = %d and %d, want %d and %d", tc.reason, members.Unix(), source.Unix(), tc.members, tc.source)
			}
			if err := c.missing(3); (err != nil) != tc.isMissing {
				t.Errorf("%s: missing() = %v", tc.reason, err)
			}
		})
	}
}
