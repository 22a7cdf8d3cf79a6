// Package gather collects the facts for a judgement: for the daemon from its caches, and by
// live reads where a deletion must be proved; for the commands by live reads alone. It keeps
// the caches and reports what changes in them. It does not know what follows from a fact, and
// it writes nothing.
package gather
