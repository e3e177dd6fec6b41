package slots

// Spills returns the number of slots that are in no shard.
func (t *Table) Spills() int { return len(t.spilled) }

// Places returns the number of places of all shards.
func (t *Table) Places() (n int) {
	for i := range t.shards {
		n += len(t.shards[i].entries)
	}
	return n
}
