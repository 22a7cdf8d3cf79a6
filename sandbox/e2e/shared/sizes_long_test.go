//go:build long

package shared

import "time"

// These say how much `make test-long` tries.
const (
	massRecreated       = 1000
	upgradedObjects     = 500 // unless UPGRADE is set
	configurationCycles = 200
	refusedAtOnce       = 1200            // objects with the same mistake; client-go's recorder keeps 1,000 Events
	crashEvery          = 1               // one in so many writes at which a daemon is killed
	fleetObjects        = 500             // objects created while clusters join and leave
	policyStride        = 4               // one in so many Namespaces, and one in so many steps in each, are tried; all take half an hour
	randomTenantFor     = 6 * time.Minute // unless TENANT is set
	squatters           = 8               // objects with the same Work names as Karmada's own
)
