//go:build long

package machine

import "time"

const (
	usual          = 7 * time.Minute
	usualInMembers = 2 * time.Minute
	usualInWaves   = 4 * time.Minute
)
