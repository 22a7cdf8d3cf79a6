//go:build long

package shared

import "time"

// How much is tried in `make test-long`.
const (
	massRecreated       = 1000
	configurationCycles = 200
	refusedAtOnce       = 1200             // objects with one mistake; client-go's recorder keeps 1,000 Events
	crashEvery          = 1                // of the writes that a daemon is killed at
	fleetObjects        = 500              // that are made while clusters join and leave
	policyStride        = 1                // of so many Namespaces, and of so many steps in each, a policy is tried with one
	randomTenantFor     = 10 * time.Minute // if TENANT does not say otherwise
	squatters           = 8                // objects whose Works have the names of Karmada's own
)
