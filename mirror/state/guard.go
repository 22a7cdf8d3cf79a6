package state

import (
	"fmt"
	"runtime"
)

// guarded reduces an object to what is kept of it. If that panics, it returns what
// poisoned makes of the cause: one unreadable object must not stop the daemon, which
// would meet it again at every start.
func guarded[T any](reduce func() T, poisoned func(cause string) T) (kept T) {
	defer func() {
		if cause := recover(); cause != nil {
			kept = poisoned("cannot read the object, please report this: " + describePanic(cause))
		}
	}()
	return reduce()
}

// describePanic repeats only panics of the Go runtime. Other values may contain a part
// of the object, which may be a Secret.
func describePanic(cause any) string {
	if err, ok := cause.(runtime.Error); ok {
		return err.Error()
	}
	return fmt.Sprintf("a panic with a %T", cause)
}
