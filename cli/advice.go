package cli

import "regexp"

// advices match Karmada's messages about Works that it cannot apply, mostly the member's own
// answers, to what to do about them. The first match wins.
var advices = []struct {
	message *regexp.Regexp
	advice  string
}{
	{regexp.MustCompile(`already exists in the cluster`),
		"The member has an object of that name without Karmada's label: another one, or yours, if someone has removed the label. To take it over, annotate yours: karmada.target/conflict-resolution=overwrite. Otherwise rename one of the two, or delete the member's."},
	{regexp.MustCompile(`namespaces "[^"]*" not found`),
		"The Namespace is missing in the member. Create it there, or let Karmada create it: remove the label namespace.karmada.io/skip-auto-propagation from the Namespace."},
	{regexp.MustCompile(`is being terminated`),
		"The Namespace is being deleted in the member, and something in it keeps it: kubectl get namespace -o yaml there says what, in its status. Karmada creates it again when it is gone."},
	{regexp.MustCompile(`no matches for kind|could not find the requested resource|the server doesn't have a resource type`),
		"The member does not serve this kind, or not in this version. Install its CustomResourceDefinition there, with this version."},
	{regexp.MustCompile(`exceeded quota`),
		"A ResourceQuota in the member's Namespace is exhausted. Raise it there, or request less."},
	{regexp.MustCompile(`admission webhook|ValidatingAdmissionPolicy|violates PodSecurity`),
		"The member's admission rejects the object. The message says why: change the object, or the rule in the member."},
	{regexp.MustCompile(`immutable|Forbidden: updates to|may not be changed|may not change|first value must match|cannot change roleRef`),
		"The member's object has a field that cannot be changed. Delete the object in the member: Karmada creates it again with the new content. " +
			"For Kubernetes' own kinds, kubectl replace --force with another value of the field replaces the members' objects too, unless they are to be preserved."},
	{regexp.MustCompile(`is forbidden: User`),
		"Karmada may not write this kind in the member: grant it that right there."},
	{regexp.MustCompile(`connection refused|no such host|i/o timeout|context deadline exceeded|EOF|TLS handshake`),
		"Karmada cannot reach the member, and retries. See kubectl get clusters."},
	{regexp.MustCompile(`is invalid: `),
		"The member's API server rejects the object. The message names the field: correct it."},
}

// advice returns what to do about a Work that Karmada cannot apply, by Karmada's message.
func advice(message string) string {
	for _, a := range advices {
		if a.message.MatchString(message) {
			return a.advice
		}
	}
	return "The message comes from Karmada or the member. Karmada retries."
}
