// Package judge decides, by the facts about a source, for each member cluster whether a
// Work is wanted there, and what is to be written to make it so. It is pure: it knows no
// client, no clock and no memory, so that the daemon and the commands come to the same.
package judge
