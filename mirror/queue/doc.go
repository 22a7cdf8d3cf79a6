// Package queue holds the sources to sync: which is next, what is known about when the
// others follow, and which fail. It knows only the identity of a
// source, and nothing of what a sync does.
package queue
