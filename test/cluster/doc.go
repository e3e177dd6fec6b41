// Package cluster tests several processes over one stream: replicas, standbys, takeovers, servers that fail, other
// versions. make cluster runs all of them, and TestClusterLosesNothing for eight minutes; make test the short ones.
package cluster
