package write

import (
	"time"

	"k8s.io/utils/clock"

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
	by byWork[time.Time]
}

func newUnshown(c clock.Clock) *unshown { return &unshown{clock: c} }

// note notes that a Work was created, or may have been.
func (u *unshown) note(id render.Identity, cluster string) { u.by.set(id, cluster, u.clock.Now()) }

// MayHaveCreated reports whether a source may have a Work that the watch has not shown.
func (u *unshown) MayHaveCreated(id render.Identity) bool {
	return u.by.has(id, func(time.Time) bool { return true })
}

func (u *unshown) prune() {
	now := u.clock.Now()
	u.by.take(func(since time.Time) bool { return now.Sub(since) >= forgetUnshown })
	u.by.prune()
}
