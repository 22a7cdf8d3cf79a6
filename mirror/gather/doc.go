// Package gather gets the facts that a judgement rests on: for the daemon from its caches,
// and by live reads where a deletion must be proved; for the commands by live reads alone.
// It keeps the caches and says what has changed in them. What follows from a fact it does
// not know, and it writes nothing.
package gather
