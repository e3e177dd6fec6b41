package edge

import "bytes"

// AppendQuotedDecimals appends body with every decimal as a string of the same text, for
// ?decimals=string (docs/contract/market-data.md#decimals). Decimals always have a point and
// integers never do, so the text alone distinguishes them.
func AppendQuotedDecimals(dst, body []byte) []byte {
	for i := 0; i < len(body); {
		switch c := body[i]; {
		case c == '"':
			end := stringEnd(body, i)
			dst = append(dst, body[i:end]...)
			i = end
		case c == '-' || c-'0' <= 9:
			end := i + 1
			for end < len(body) && (body[end]-'0' <= 9 || body[end] == '.') {
				end++
			}
			if number := body[i:end]; bytes.IndexByte(number, '.') >= 0 {
				dst = append(append(append(dst, '"'), number...), '"')
			} else {
				dst = append(dst, number...)
			}
			i = end
		default:
			dst = append(dst, c)
			i++
		}
	}
	return dst
}

// stringEnd returns the position after the JSON string that starts at i.
func stringEnd(body []byte, i int) int {
	for i++; i < len(body); i++ {
		switch body[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return len(body)
}
