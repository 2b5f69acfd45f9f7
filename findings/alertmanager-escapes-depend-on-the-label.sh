#!/usr/bin/env bash
# Alertmanager 0.28.1 (Debian trixie, prometheus-alertmanager=0.28.1+ds-1; the same with 0.33.1 of sid).
#
# The same quoted value means two things in matchers, depending on the NAME of the label beside it.
#   foo="\u0041"       matches the six characters \u0041, and amtool warns of a "disagreement" of its parsers;
#   foo.bar="\u0041"   matches A: a name that only the UTF-8 parser takes brings that parser's escapes along.
# So a matcher whose label is renamed from service_name to service.name may no longer match. And an escape that
# foo="\d" carries as it stands makes the configuration with foo.bar="\d" invalid.
# A backslash that is written as \\ means the same in both.
#
# Output seen:
#   {foo="\\u0041"}  receiver: plain
#   {foo.bar="A"}  receiver: dotted
#   foo="\d": accepted
#   foo.bar="\d": refused
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
    - { receiver: plain, matchers: ['foo="\u0041"'] }
    - { receiver: dotted, matchers: ['foo.bar="\u0041"'] }
receivers: [{ name: none }, { name: plain }, { name: dotted }]
Y
tree=$("$amtool" config routes show --config.file=am.yml 2>/dev/null | grep -o '{foo.*')
echo "$tree"
test "$tree" = '{foo="\\u0041"}  receiver: plain
{foo.bar="A"}  receiver: dotted'

verdict() {
  printf "route: { receiver: n, routes: [{ receiver: n, matchers: ['%s'] }] }\n" "$1" >one.yml
  echo 'receivers: [{ name: n }]' >>one.yml
  if "$amtool" check-config one.yml >/dev/null 2>&1; then echo accepted; else echo refused; fi
}
plain=$(verdict 'foo="\d"')
dotted=$(verdict 'foo.bar="\d"')
printf 'foo="\\d": %s\nfoo.bar="\\d": %s\n' "$plain" "$dotted"
test "$plain $dotted" = "accepted refused"
