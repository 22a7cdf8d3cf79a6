// Package judge decides from the facts about a source, for each member cluster, whether a
// Work is wanted there and what to write to get there. It is pure: it has no client, no clock
// and no memory, so that the daemon and the commands reach the same result.
package judge
