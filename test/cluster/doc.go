// Package cluster tests several processes over one stream: replicas, standbys, takeovers, servers that fail, other
// versions. TestClusterLosesNothing is what make cluster runs.
package cluster
