// Package spelling tells how much two words differ, so that a name that nobody
// knows can be answered with the one that was probably meant.
package spelling

// Distance is the number of bytes to insert, remove or replace to get from a to b.
// It takes time in proportion to the product of their lengths.
func Distance(a, b string) int {
	row := make([]int, len(b)+1) // from what was read of a to each beginning of b
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			change := diagonal
			if a[i] != b[j] {
				change++
			}
			diagonal = row[j+1]
			row[j+1] = min(change, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
