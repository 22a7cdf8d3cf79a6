// Package override changes a manifest as the OverridePolicies and ClusterOverridePolicies of
// Karmada say: which policies apply to an object on a cluster, in which order, and what they
// change in it. It knows no client and no cache, and not which objects are mirrored.
//
// The same policies give the same manifest here and in Karmada (pkg/util/overridemanager,
// v1.18.2), with these exceptions, all of which refuse what Karmada lets through:
//
//   - a change of apiVersion, kind, name or namespace: the Work would carry another object
//     than the one that it is named after, maybe in another tenant's Namespace;
//   - a policy with fields or operators that this version does not know: Karmada ignores
//     unknown fields, so the member would get an object that lacks an override;
//   - whatever makes Karmada panic, such as an item of a command that is in no list, or a
//     field selector with a value that is no label value;
//   - a fieldOverrider with neither json nor yaml, by which Karmada empties the field: its
//     webhook rejects that only in overrideRules;
//   - a command or args with an item that is no string, which Karmada would format as Go
//     does.
package override
