// Package mirror is the controller: it turns every event into the identity of one source,
// has the facts about it gathered and judged, and writes the result; each deletion needs a
// proof of its own. It leads or stands by, and reports what it refuses. The packages beneath
// it do the parts. It knows no flags, files or HTTP servers.
package mirror
