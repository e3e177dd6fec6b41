// Package browser tests the pages in Chromium: a visitor, a trader with a key, a phone, a keyboard, lost connections. A
// few of its tests run with all the others, and make clients runs the rest.
package browser
