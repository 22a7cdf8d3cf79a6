//go:build !long

package machine

import "time"

// How long the machines run if nothing else is said.
const (
	usual          = 2 * time.Minute
	usualInMembers = 30 * time.Second
)
