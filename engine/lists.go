package engine

// placeList places the orders of a list, or none of them.
func (b *book) placeList(cmd *Command) {
	b.stream.refuse(cmd, ListPrices)
}
