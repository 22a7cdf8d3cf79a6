package state

import (
	"fmt"
	"runtime"
	"runtime/debug"
)

// guarded reduces an object to what is kept of it. If that panics, it returns what poisoned makes of
// the cause.
func guarded[T any](reduce func() T, poisoned func(cause string) T) T {
	kept, err := caught(reduce)
	if err != nil {
		return poisoned("cannot read the object, " + err.Error())
	}
	return kept
}

func caught[T any](do func() T) (result T, err error) {
	defer Catch(&err)
	return do(), nil
}

// Panic is the error of a panic that was caught.
type Panic struct {
	cause string
	// Stack is where it was.
	Stack string
}

// Error implements error.
func (p *Panic) Error() string { return "please report this: " + p.cause }

// Catch makes err a [Panic] if the function that defers it panics: what one object causes must not
// stop the daemon, which would meet the object again at every start.
func Catch(err *error) {
	if cause := recover(); cause != nil {
		*err = &Panic{describePanic(cause), string(debug.Stack())}
	}
}

// describePanic repeats only panics of the Go runtime. Other values may contain a part
// of the object, which may be a Secret.
func describePanic(cause any) string {
	if err, ok := cause.(runtime.Error); ok {
		return err.Error()
	}
	return fmt.Sprintf("a panic with a %T", cause)
}
