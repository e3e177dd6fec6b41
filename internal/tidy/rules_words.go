package tidy

import (
	"fmt"
	"regexp"
)

// givenTexts lists documents by others that must stay unchanged.
var givenTexts = map[string]bool{"docs/contract/api.md": true}

// bannedWords lists phrases that a native speaker would not use, and what to write instead
// (docs/STYLE.md#words-to-avoid). Code spans may contain them.
var bannedWords = []struct {
	pattern *regexp.Regexp
	instead string
}{
	{regexp.MustCompile(`(?i)\bwhoever\b`), "name the agent: the caller, the client"},
	{regexp.MustCompile(`(?i)\bmade anew\b|\banew\b`), "again"},
	{regexp.MustCompile(`(?i)\bfurnish(es|ed)?\b`), "fill, set up"},
	{regexp.MustCompile(`(?i)\b(is|are|was|were|be) told\b`), "is notified, is reported, receives"},
	{regexp.MustCompile(`(?i)\bhears? of\b`), "is notified of"},
	{regexp.MustCompile(`(?i)\bstands? (for|in|there|at|under|beside|twice|still)\b`), "is, appears, means"},
	{regexp.MustCompile(`(?i)\bof now\b`), "current"},
	{regexp.MustCompile(`(?i)\bnobody\b`), "no client, nothing; name the agent"},
	{regexp.MustCompile(`(?i)\bcompany\b`), "contention, other submitters"},
	{regexp.MustCompile(`(?i)\bthat of (a|an|the|its|his|their)\b`), "repeat the noun: the hash of the empty string"},
	{
		regexp.MustCompile(`(?i)\b(is|are|has|have) (what|how many|how much|who|whether|where|when|why) ` +
			`(is|are|it|they|the|a|an)\b`),
		"a verb: returns, reports, holds, counts",
	},
	{
		regexp.MustCompile(`(?i)\b(himself|herself)\b|` +
			`\b(his|her) (key|keys|orders?|account|balances?|figures|discounts?)\b`),
		"its, their",
	},
	{regexp.MustCompile(`(?i)\b(so|such) that each\b|\bsuch as was\b`), "so each"},
	{regexp.MustCompile(`(?i)\bdesk\b`), "handlers, service"},
	{regexp.MustCompile(`(?i)\bgoodbye\b`), "close handshake"},
	{regexp.MustCompile(`(?i)\b(takes?|took) (part|place) in nobody`), "is excluded"},
	{regexp.MustCompile(`(?i)\bas it is\b`), "unchanged, current"},
}

// Words reports banned words in a page.
func Words(p *Page) (out []string) {
	if givenTexts[p.Path] {
		return nil
	}
	for i, line := range p.Lines {
		out = append(out, banned(fmt.Sprintf("%s:%d", p.Path, i+1), mdCode.ReplaceAllString(line, ""))...)
	}
	return out
}

// banned reports the banned words of a text.
func banned(at, text string) (out []string) {
	for _, w := range bannedWords {
		if m := w.pattern.FindString(text); m != "" {
			out = append(out, fmt.Sprintf("%s: %q: write %s", at, m, w.instead))
		}
	}
	return out
}
