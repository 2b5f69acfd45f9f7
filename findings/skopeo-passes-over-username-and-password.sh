#!/usr/bin/env bash
# One file of registry logins, read by two programs. skopeo 1.9.3 (Debian 1.9.3+ds1-1+b10) knows only `auth` in it, the
# base64 of user:password: an entry with `username` and `password`, as Kubernetes writes pull secrets, is passed over in
# silence, and the registry is asked as nobody. Docker's command line (20.10.24, Debian docker.io) reads both.
#
# Seen with a registry that wants a password (docker-registry 2.8.2+ds1-1):
#   skopeo with auth:                    reads the tag
#   skopeo with username and password:   unauthorized: authentication required
#   docker with auth:                    reads the tag
#   docker with username and password:   reads the tag
set -euo pipefail
dir=$(mktemp -d)
trap 'kill "${registry:-}" 2>/dev/null || true; rm -rf "$dir"' EXIT
cd "$dir"
apt-get download -q skopeo=1.9.3+ds1-1+b10 libgpgme11=1.18.0-3+deb12u1 libassuan0=2.5.5-5 \
  libdevmapper1.02.1=2:1.02.185-2 docker-registry=2.8.2+ds1-1 \
  docker.io=20.10.24+dfsg1-1+deb12u1+b6 >/dev/null 2>&1
for package in *.deb; do dpkg-deb -x "$package" root; done
export LD_LIBRARY_PATH=$dir/root/usr/lib/x86_64-linux-gnu:$dir/root/lib/x86_64-linux-gnu PATH=$dir/root/usr/bin:$PATH

port=$((20000 + RANDOM % 20000))
host=127.0.0.1:$port
# The password of deployer is "p:ss word".
echo 'deployer:$2b$04$CQZkOSwtgiG8Q4KH5oBjNuaSoNURCy3Wn80fuJL0KFnNgyB67Lh72' >htpasswd
cat >config.yml <<EOT
version: 0.1
log: { level: error }
storage: { filesystem: { rootdirectory: $dir/data } }
http: { addr: "$host" }
auth: { htpasswd: { realm: test, path: $dir/htpasswd } }
EOT
docker-registry serve config.yml >/dev/null 2>&1 &
registry=$!
for _ in $(seq 50); do curl -s "http://$host/v2/" >/dev/null && break || sleep 0.2; done

mkdir auth pair image
pair=$(printf 'deployer:p:ss word' | base64)
echo "{\"auths\":{\"$host\":{\"auth\":\"$pair\"}}}" >auth/config.json
echo "{\"auths\":{\"$host\":{\"username\":\"deployer\",\"password\":\"p:ss word\"}}}" >pair/config.json

# An image with one empty layer.
tar -cf image/layer.tar -T /dev/null
skopeo --insecure-policy copy -q --format v2s2 --dest-tls-verify=false --dest-authfile auth/config.json \
  "tarball:image/layer.tar" "docker://$host/team/app:v1"

look() { skopeo inspect --raw --tls-verify=false --authfile "$1/config.json" "docker://$host/team/app:v1" 2>&1 || true; }
ask() { DOCKER_CONFIG=$dir/$1 docker manifest inspect --insecure "$host/team/app:v1" 2>&1 || true; }
look auth | grep -q schemaVersion && echo "skopeo with auth: reads the tag"
look pair | grep -o "unauthorized: authentication required" | sed 's/^/skopeo with username and password: /'
ask auth | grep -q schemaVersion && echo "docker with auth: reads the tag"
ask pair | grep -q schemaVersion && echo "docker with username and password: reads the tag"
