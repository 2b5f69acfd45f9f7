/**
 * Run as a program: a server of TLS that makes its clients work. `dhe`: its key exchange has numbers of 10,000 bits; `http2`:
 * says in a session of HTTP/2 where it is to be found, without end, and speaks HTTP/1.1 where that is wanted. Prints its
 * port.
 */
import { randomBytes } from "node:crypto";
import type { AddressInfo } from "node:net";
import { createServer, type TLSSocket, type TlsOptions } from "node:tls";

const [kind = "", key = "", cert = ""] = process.argv.slice(2);

function encode(tag: number, content: Buffer): Buffer {
  const length = Buffer.alloc(2);
  length.writeUInt16BE(content.length);
  return Buffer.concat([Buffer.of(tag, 0x82), length, content]);
}

function longNumbers(): string {
  const prime = randomBytes(1_250);
  prime[0] = 0xff;
  prime[prime.length - 1] = 0xff;
  const positive = Buffer.concat([Buffer.of(0), prime]);
  const both = Buffer.concat([encode(2, positive), encode(2, Buffer.of(2))]);
  const base64 = encode(0x30, both).toString("base64").replace(/.{64}/g, "$&\n");
  return `-----BEGIN DH PARAMETERS-----\n${base64}\n-----END DH PARAMETERS-----\n`;
}

/** RFC 9113, section 4.1. */
function frame(type: number, flags: number, payload = Buffer.alloc(0)): Buffer {
  const head = Buffer.alloc(9);
  head.writeUIntBE(payload.length, 0, 3);
  head.writeUInt8(type, 3);
  head.writeUInt8(flags, 4);
  return Buffer.concat([head, payload]);
}

function speakWithoutEnd(socket: TLSSocket): void {
  socket.write(Buffer.concat([frame(4, 0), frame(4, 1)]));
  const origin = frame(12, 0, Buffer.from("\0\x0fhttps://a.test/"));
  const said = Buffer.concat(Array.from({ length: 200 }, () => origin));
  const talk = () => {
    while (!socket.destroyed && socket.write(said));
    if (!socket.destroyed) socket.once("drain", talk);
  };
  talk();
}

const options: Record<string, TlsOptions> = {
  dhe: {
    maxVersion: "TLSv1.2",
    dhparam: longNumbers(),
    ciphers: "DHE-RSA-AES128-GCM-SHA256:@SECLEVEL=0",
  },
  http2: { ALPNProtocols: ["h2", "http/1.1"] },
};
const server = createServer({ key, cert, ...options[kind] }, (socket) => {
  socket.on("error", () => {});
  socket.once("data", () => {
    if (socket.alpnProtocol === "h2") speakWithoutEnd(socket);
    else socket.end("HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok");
  });
});
server.on("tlsClientError", () => {});
server.listen(0, "127.0.0.1", () => {
  process.stdout.write(`${(server.address() as AddressInfo).port}\n`);
});
