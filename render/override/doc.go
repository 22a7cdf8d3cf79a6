// Package override changes a manifest as the OverridePolicies and ClusterOverridePolicies of
// Karmada say: which policies apply to an object on a cluster, in which order, and what they
// change in it. It knows no client and no cache, and not which objects are mirrored.
//
// The same policies give the same manifest here and in Karmada (pkg/util/overridemanager,
// v1.18.2), with these exceptions, all of which are refused here:
//
//   - a change of apiVersion, kind, name or namespace: the Work would carry another object
//     than the one that it is named after, maybe in another tenant's Namespace;
//   - a policy with fields that this version does not know: Karmada ignores them, so the
//     member would get an object that lacks an override;
//   - other operators than add, remove and replace in a JSON patch: Karmada's CRD rejects
//     them, and its library knows test, move and copy;
//   - whatever makes Karmada panic, such as a container that is not an object, or a
//     field selector with a value that no label can have;
//   - a fieldOverrider with neither json nor yaml, by which Karmada empties the field: its
//     webhook rejects that only in overrideRules;
//   - a fieldOverrider for YAML whose aliases stand for more than etcd accepts;
//   - a command or args with an item that is not a string: Karmada writes Go's
//     error text (%!s(int64=5)) instead.
package override
