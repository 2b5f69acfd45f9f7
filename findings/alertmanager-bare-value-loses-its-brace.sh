#!/usr/bin/env bash
# Alertmanager 0.28.1 (Debian trixie, prometheus-alertmanager=0.28.1+ds-1; the same with 0.25.0 and 0.33.1).
#
# A matcher may have its value without quotes: team=core. Where such a value ends with a closing brace, the brace
# is dropped, because a whole list of matchers may stand in braces: team={core} is a valid configuration, and
# matches the value {core with one brace, which nobody has. The alerts with team="{core}", which is how a
# template that was not filled in looks, fall through to the next route. 0.25.0 says nothing; 0.28.1 warns that
# the input is for its old parser, on the standard output of amtool among the results, and suggests to
# write team="{core" instead: the wrong value in quotes. In quotes of one's own the value is what it says.
#
# Output seen:
#   {team="{core"}  receiver: bare
#   {team="{core}"}  receiver: quoted
#   team="{core}" goes to: quoted
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"

mkdir lists cache
key=/usr/share/keyrings/debian-archive-keyring.gpg
echo "deb [signed-by=$key] http://deb.debian.org/debian trixie main" >sources.list
apt=(apt-get -q -o "Dir::Etc::sourcelist=$dir/sources.list" -o Dir::Etc::sourceparts=-
  -o "Dir::State::lists=$dir/lists" -o "Dir::Cache=$dir/cache")
{ "${apt[@]}" update && "${apt[@]}" download prometheus-alertmanager=0.28.1+ds-1; } >/dev/null 2>&1
dpkg-deb -x prometheus-alertmanager_*.deb root
amtool=root/usr/bin/amtool

cat >am.yml <<'Y'
route:
  receiver: none
  routes:
    - { receiver: bare, matchers: ['team={core}'] }
    - { receiver: quoted, matchers: ['team="{core}"'] }
receivers: [{ name: none }, { name: bare }, { name: quoted }]
Y
warned=$("$amtool" check-config am.yml 2>/dev/null)
tree=$("$amtool" config routes show --config.file=am.yml 2>/dev/null | grep -o '{team.*}  .*')
to=$("$amtool" config routes test --config.file=am.yml 'team="{core}"' 2>/dev/null | tail -1)
printf '%s\nteam="{core}" goes to: %s\n' "$tree" "$to"
test "$tree" = '{team="{core"}  receiver: bare
{team="{core}"}  receiver: quoted'
test "$to" = quoted
grep -qF 'suggestion="team=\"{core\""' <<<"$warned"
