package cmdline

// Nearest returns the candidate with the smallest edit distance to name, the first one of equals, and the distance:
// the number of insertions, deletions and replacements that turn name into it. Without candidates it returns "".
func Nearest(name string, candidates []string) (best string, distance int) {
	distance = 1 << 30
	for _, c := range candidates {
		if d := editDistance(name, c); d < distance {
			best, distance = c, d
		}
	}
	return best, distance
}

// editDistance returns the number of insertions, deletions and replacements that turn a into b.
func editDistance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost++
			}
			diagonal = row[j+1]
			row[j+1] = min(cost, row[j]+1, diagonal+1)
		}
	}
	return row[len(b)]
}
