// Package mirror is the controller: it turns every event into the identity of one source,
// has the facts about it gathered and judged, and what follows written, deletions after a
// proof of their own; it leads or stands by, and tells of what it refuses. What it needs for
// that is in the packages beneath it. It knows no flags, files or HTTP servers.
package mirror
