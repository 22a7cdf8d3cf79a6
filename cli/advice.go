package cli

import "regexp"

// advices are what to do about what Karmada says of a Work that it cannot apply: mostly that is
// the member's own answer. The first that fits is given.
var advices = []struct {
	message *regexp.Regexp
	advice  string
}{
	{regexp.MustCompile(`already exists in the cluster`),
		"An object of that name is there that Karmada does not manage. To take it over, annotate yours: karmada.target/conflict-resolution=overwrite. Otherwise rename one of the two, or delete the one in the member."},
	{regexp.MustCompile(`namespaces "[^"]*" not found`),
		"The Namespace is missing in the member. Create it there, or let Karmada create it: remove the label namespace.karmada.io/skip-auto-propagation from the Namespace."},
	{regexp.MustCompile(`no matches for kind|could not find the requested resource|the server doesn't have a resource type`),
		"The member does not serve this kind. Install its CustomResourceDefinition there."},
	{regexp.MustCompile(`exceeded quota`),
		"A ResourceQuota in the member's Namespace is used up. Raise it there, or ask for less."},
	{regexp.MustCompile(`admission webhook|ValidatingAdmissionPolicy|violates PodSecurity`),
		"The member's admission refuses the object. The message says why: change the object, or the rule in the member."},
	{regexp.MustCompile(`field is immutable|Forbidden: updates to|may not be changed`),
		"This field cannot be changed once the object exists. Delete the object on the Karmada API server and create it again: the member's is then replaced as well."},
	{regexp.MustCompile(`is forbidden: User`),
		"Karmada may not write this kind in the member: it lacks a right there."},
	{regexp.MustCompile(`connection refused|no such host|i/o timeout|context deadline exceeded|EOF|TLS handshake`),
		"Karmada does not reach the member, and tries again: kubectl get clusters."},
	{regexp.MustCompile(`is invalid: `),
		"The member's API server does not accept the object. The message names the field: correct it."},
}

// advice is what to do about a Work that Karmada cannot apply, and says so.
func advice(message string) string {
	for _, a := range advices {
		if a.message.MatchString(message) {
			return a.advice
		}
	}
	return "The message is Karmada's, or the member's. Karmada tries again."
}
