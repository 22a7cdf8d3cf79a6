package state

import (
	"fmt"
	"runtime"
)

// guarded reduces an object to what is kept of it. If that panics, poisoned makes
// the best of it: an object that cannot be read must not stop the others, for the
// daemon would meet it again at every start.
func guarded[T any](reduce func() T, poisoned func(cause string) T) (kept T) {
	defer func() {
		if cause := recover(); cause != nil {
			kept = poisoned("the object cannot be read: please report this: " + describePanic(cause))
		}
	}()
	return reduce()
}

// describePanic repeats only what the runtime says. Other values may hold a part of
// the object, which may be a Secret.
func describePanic(cause any) string {
	if err, ok := cause.(runtime.Error); ok {
		return err.Error()
	}
	return fmt.Sprintf("a panic with a %T", cause)
}
