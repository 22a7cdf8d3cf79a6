// Package write carries operations out, and restrains them: by slots, by a memory of what
// this process has written before, and by the breaker of deletions. It is told what to write
// and for which verdict, and judges nothing itself; what has become of the Works it asks
// whoever keeps the caches.
package write
