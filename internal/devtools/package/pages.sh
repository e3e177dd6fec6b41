#!/usr/bin/env bash
# Writes to the folder $2 what an installation has beside the program: manual page, completions, configuration. The
# program $1, of this machine, prints them. The completions call the tickhive that PATH has, wherever that is.
set -euo pipefail
program=$(realpath "$1")
mkdir -p "$2"
cd "$2"
mkdir -p etc/tickhive share/man/man1 share/bash-completion/completions share/zsh/vendor-completions \
	share/fish/vendor_completions.d

complete() { "$program" completion -c "$1" | sed "s|$program|tickhive|"; }

"$program" man >share/man/man1/tickhive.1
gzip -9nf share/man/man1/tickhive.1
complete bash >share/bash-completion/completions/tickhive
complete fish >share/fish/vendor_completions.d/tickhive.fish
# zsh runs this file at the first completion of a shell: it answers that one, too.
{
	echo '#compdef tickhive'
	complete zsh
	# shellcheck disable=SC2016 # zsh expands it
	echo 'eval "$_comps[tickhive]"'
} >share/zsh/vendor-completions/_tickhive
{
	echo '# The built-in configuration of tickhive. A key that is left out keeps its built-in value.'
	env -i "$program" config print --data-dir /var/lib/tickhive
} >etc/tickhive/tickhive.toml
