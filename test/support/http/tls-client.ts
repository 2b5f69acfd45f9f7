/** Connections by TLS to this machine that ask for a name and trust one root alone. */
import { once } from "node:events";
import { type ConnectionOptions, connect, type TLSSocket } from "node:tls";
import { onTestFinished } from "vitest";

type Target = { port: number; name: string; root: string; options?: ConnectionOptions };

/** Rejects when the handshake fails or the certificate is not for the name. */
export async function connectTls({ port, name, root, options }: Target): Promise<TLSSocket> {
  const socket = connect({
    host: "127.0.0.1",
    port,
    servername: name,
    ca: root,
    ...options,
  });
  onTestFinished(() => void socket.destroy());
  await once(socket, "secureConnect");
  return socket;
}

/** The serial number of the certificate that a new connection is shown. */
export async function readSerial(target: Target): Promise<string> {
  const socket = await connectTls(target);
  const { serialNumber } = socket.getPeerCertificate();
  socket.destroy();
  return serialNumber;
}

/** A GET on the bare connection, which stays open; answers the whole answer. */
export async function getOver(socket: TLSSocket, path: string): Promise<string> {
  socket.write(`GET ${path} HTTP/1.1\r\nhost: test\r\n\r\n`);
  return readAnswer(socket);
}

/** Until an answer has come whole, by its content-length. Throws when the connection ends first. */
export async function readAnswer(socket: TLSSocket): Promise<string> {
  let text = "";
  for await (const chunk of socket.iterator({ destroyOnReturn: false })) {
    text += String(chunk);
    const [head = "", body] = text.split("\r\n\r\n", 2);
    const length = /^content-length: (\d+)$/im.exec(head)?.[1];
    if (body !== undefined && body.length >= Number(length)) return text;
  }
  throw new Error(`the connection ended after ${JSON.stringify(text)}`);
}
