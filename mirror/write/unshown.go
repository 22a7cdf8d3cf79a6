package write

import (
	"time"

	"k8s.io/utils/clock"

	"github.com/karmada-target/karmada-mirror/mirror/state"
	"github.com/karmada-target/karmada-mirror/render"
)

// forgetUnshown is when the watch of Works is no longer expected to show a Work: a list of them has
// replaced it long before.
const forgetUnshown = time.Hour

// unshown are the Works that were created, or may have been, because no answer has come, and that the
// watch has not shown. The cache alone does not prove that they do not exist.
type unshown struct {
	clock clock.Clock
	// by is since when.
	by byWork[creation]
}

// creation is when a Work was created, and the version that the cache of Works had before.
type creation struct {
	at      time.Time
	version string
}

func newUnshown(c clock.Clock) *unshown { return &unshown{clock: c} }

// note notes that a Work was created, or may have been.
func (u *unshown) note(id render.Identity, cluster, version string) {
	u.by.set(id, cluster, creation{u.clock.Now(), version})
}

// shown notes that the watch has shown a Work. Its handlers may lag: an earlier Work is none that was created.
func (u *unshown) shown(w *state.Work) {
	if made, ok := u.by.get(w.Source, w.Cluster); ok && state.IsOlder(made.version, w.ResourceVersion) {
		u.by.drop(w.Source, w.Cluster)
	}
}

// MayHaveCreated reports whether a source may have a Work that the watch has not shown.
func (u *unshown) MayHaveCreated(id render.Identity) bool {
	return u.by.has(id, func(creation) bool { return true })
}

func (u *unshown) prune() {
	now := u.clock.Now()
	u.by.take(func(made creation) bool { return now.Sub(made.at) >= forgetUnshown })
	u.by.prune()
}
