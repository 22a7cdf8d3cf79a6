// Package write carries operations out, and restrains them: by slots, by a memory of what
// this process has written before, and by the deletion breaker. Callers say what to write
// and for which verdict, and this package judges nothing itself. It asks the caches, by an
// interface, for the current state of the Works.
package write
