// Package queue holds the sources that are to be synced: which is looked at next, what is
// known of when the others are, and since when somebody waits for one. It knows a source by
// its name alone, and nothing of what a sync does.
package queue
