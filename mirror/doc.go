// Package mirror is the controller: it turns every event into the identity of
// one source, gathers the facts about it, decides for each member cluster
// whether a Work is wanted there, and writes the difference. Decide and Plan
// are pure, so that commands can print the very verdict that the daemon acts
// on. The package knows no flags, files or HTTP servers.
package mirror
