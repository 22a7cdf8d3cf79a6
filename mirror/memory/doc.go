// Package memory is what this process remembers that the API server does not hold. It calls no API server.
//
// Most of it is in one record for each source, one for each of its Works (see the tables in memory.go), and one for each cluster
// (clusters.go). Beside the records is what counts over many of them, or is about none:
//
//	what          since                         until                               what a restart loses
//	contests      a Work was written            ten minutes of peace                a contest is noticed again
//	Refusals      something was reported        it is not in force                  it is reported again
//	Denials       a right is missing, or        it is granted; no source has        each is tried, and reported, again
//	              something refuses a write     waited for it for three periods
//	Reports       a source or Work was seen     it is gone, or not aggregated       it is read again; for whose source a
//	                                                                                status is: five minutes tell
//
// What the other packages remember of more than the current sync follows from what a watch has shown, or is theirs alone:
//
//	mirror/gather  definitions that were ever seen (definition.go), whole objects of defaults (contents.go), reads of the last
//	               second (recentreads.go)
//	mirror/queue   what waits, is under way, is scheduled, or fails (tracker.go, lanes.go)
//	mirror/write   the breaker: deletions that are due, and held without a mark (breakercircuit.go); a new leader is suspicious
//	mirror         Events to record (announce.go), resources that left the configuration unlisted (departures.go)
package memory
