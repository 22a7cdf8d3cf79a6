//go:build !long

package machine

import "time"

// These say how long the machines run by default.
const (
	usual          = 2 * time.Minute
	usualInMembers = 30 * time.Second
	usualInWaves   = time.Minute
)
