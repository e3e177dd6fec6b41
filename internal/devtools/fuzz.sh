#!/usr/bin/env bash
# Runs every fuzz target of the tree, cheapest first, in FUZZ_SECONDS together. The cost of a target is the time
# that its seeds take. Each target gets an equal share of the time that is left; the time to build its package with
# instrumentation counts, but is not cut short. The exit code is 1 when a target failed; the others still run.
set -euo pipefail
cd "$(dirname "$0")/../.."
go=${GO:-go}
total=${FUZZ_SECONDS:-600}
out=$(mktemp)
trap 'rm -f "$out"' EXIT

mapfile -t packages < <(git grep -lE '^func Fuzz' -- '*_test.go' | xargs -n1 dirname | sort -u | sed 's|^|./|')
seeds=$("$go" test -vet=off -pgo=off -count=1 -run '^Fuzz' -json "${packages[@]}") || {
	echo "fuzz: the seeds of a target fail:" >&2
	sed -n 's/.*"Output":"\(.*\)\\n".*/\1/p' <<<"$seeds" | grep -E -- '--- FAIL|_test.go' >&2 || true
	exit 1
}
mapfile -t targets < <(sed -nE \
	's/.*"Action":"pass","Package":"([^"]*)","Test":"(Fuzz[^"\/]*)","Elapsed":([0-9.e-]*).*/\3 \1 \2/p' <<<"$seeds" | sort -g)
end=$((SECONDS + total))
failed=0
for i in "${!targets[@]}"; do
	read -r cost package name <<<"${targets[$i]}"
	share=$(((end - SECONDS) / (${#targets[@]} - i)))
	((share > 0)) || share=1
	if "$go" test -vet=off -pgo=off -run '^$' -fuzz "^$name\$" -fuzztime "${share}s" "$package" >"$out" 2>&1; then
		result=ok
	else
		result=FAILED failed=1
	fi
	execs=$(sed -nE 's/.*execs: ([0-9]+).*/\1/p' "$out" | tail -n 1)
	printf '%-32s %-22s seeds %5ss, %3d s, %9s executions: %s\n' "$package" "$name" "$cost" "$share" "${execs:-0}" "$result"
	[[ $result == ok ]] || cat "$out"
done
echo "fuzz: ${#targets[@]} targets in $((SECONDS - end + total)) s"
exit "$failed"
