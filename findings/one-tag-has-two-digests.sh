#!/usr/bin/env bash
# docker-registry 2.8.2 (Debian 2.8.2+ds1-1): which digest a tag has depends on `Accept`. For a Docker manifest list a request
# that takes only a single manifest is answered 200 with that of linux/amd64, and Docker-Content-Digest names this one: not
# what the tag stands for. For an OCI index the same request is answered 404, and so is `Accept: */*`, which takes anything.
# A program that checks whether an image exists, or pins its digest, has to accept all four types.
#
# Seen, of a request that takes list and manifest, one that takes the manifest, and one of `*/*`:
#   docker: 200 the list, 200 the manifest, 400
#   oci: 200 the list, 404, 404
set -euo pipefail
dir=$(mktemp -d)
trap 'kill "${registry:-}" 2>/dev/null || true; rm -rf "$dir"' EXIT
cd "$dir"
apt-get download -q docker-registry=2.8.2+ds1-1 >/dev/null 2>&1
dpkg-deb -x docker-registry_*.deb root
host=127.0.0.1:$((20000 + RANDOM % 20000))
cat >config.yml <<EOT
version: 0.1
log: { level: error }
storage: { filesystem: { rootdirectory: $dir/data } }
http: { addr: "$host" }
EOT
root/usr/bin/docker-registry serve config.yml >/dev/null 2>&1 &
registry=$!
base=http://$host/v2/team/app
for _ in $(seq 50); do curl -s "http://$host/v2/" >/dev/null && break || sleep 0.2; done

digest() { echo "sha256:$(sha256sum "$1" | cut -d' ' -f1)"; }
blob() { # Pushes a file; prints its descriptor, of the type $2.
  place=$(curl -sS -D - -o /dev/null -X POST "$base/blobs/uploads/" | tr -d '\r' | sed -n 's/^Location: //p')
  curl -sS -X PUT -H 'content-type: application/octet-stream' --data-binary @"$1" "$place&digest=$(digest "$1")"
  echo "{\"mediaType\":\"$2\",\"digest\":\"$(digest "$1")\",\"size\":$(stat -c%s "$1")}"
}
put() { curl -sSf -X PUT -H "content-type: $1" --data-binary @"$2" "$base/manifests/$3"; }
ask() { # The status, and what the digest is of.
  curl -sS -I -H "accept: $2" "$base/manifests/$1" | tr -d '\r' >head
  named=$(sed -n 's/^Docker-Content-Digest: //p' head)
  of=$([ "$named" = "$(digest whole)" ] && echo " the list" || { [ "$named" = "$(digest one)" ] && echo " the manifest" || true; })
  echo "$(sed -n '1s/.* \([0-9]*\) .*/\1/p' head)$of"
}
echo '{"architecture":"amd64","os":"linux"}' >config; echo layer >layer
v2=application/vnd.docker.distribution oci=application/vnd.oci.image
for kind in "docker $v2.manifest.v2+json $v2.manifest.list.v2+json application/vnd.docker.container.image.v1+json" \
  "oci $oci.manifest.v1+json $oci.index.v1+json $oci.config.v1+json"; do
  read -r tag manifest list type <<<"$kind"
  echo "{\"schemaVersion\":2,\"mediaType\":\"$manifest\",\"config\":$(blob config "$type"),\"layers\":[$(blob layer "$oci.layer.v1.tar")]}" >one
  platform='"platform":{"architecture":"amd64","os":"linux"}'
  put "$manifest" one "$(digest one)"
  echo "{\"schemaVersion\":2,\"mediaType\":\"$list\",\"manifests\":[{\"mediaType\":\"$manifest\",\"digest\":\"$(digest one)\",\"size\":$(stat -c%s one),$platform}]}" >whole
  put "$list" whole "$tag"
  echo "$tag: $(ask "$tag" "$list, $manifest"), $(ask "$tag" "$manifest"), $(ask "$tag" '*/*')" | tee -a seen
done
grep -q '^docker: 200 the list, 200 the manifest, ' seen
grep -q '^oci: 200 the list, 404, 404$' seen
