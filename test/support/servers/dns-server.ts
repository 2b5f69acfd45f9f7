/** A name server of UDP that answers with records made by hand. */
import { createSocket, type RemoteInfo } from "node:dgram";
import { once } from "node:events";
import { onTestFinished } from "vitest";

export type DnsReply = {
  /** The response code: 0 no error, 2 SERVFAIL, 3 NXDOMAIN, 5 REFUSED. */
  code?: number;
  /** The type of the records and their data, as they are on the wire. */
  records?: { type: number; data: Buffer }[];
  /** The name that the answer is about; absent: that of the query. */
  question?: string;
  /** Sent in place of an answer. */
  raw?: Buffer;
};

/** null: no answer. Returns the address. */
export async function startDnsServer(answer: () => DnsReply | null): Promise<string> {
  const socket = createSocket("udp4");
  socket.on("message", (query: Buffer, from: RemoteInfo) => {
    const reply = answer();
    if (reply !== null) socket.send(reply.raw ?? encode(query, reply), from.port, from.address);
  });
  socket.bind(0, "127.0.0.1");
  await once(socket, "listening");
  onTestFinished(() => void socket.close());
  return `127.0.0.1:${socket.address().port}`;
}

/** The question is repeated; each record has its name by a pointer to that. */
function encode(query: Buffer, { code = 0, records = [], question: name }: DnsReply): Buffer {
  const header = Buffer.alloc(12);
  query.copy(header, 0, 0, 2);
  header.writeUInt16BE(0x8180 | code, 2);
  header.writeUInt16BE(1, 4);
  header.writeUInt16BE(records.length, 6);
  const asked = query.subarray(12, query.indexOf(0, 12) + 5);
  const question = name === undefined ? asked : Buffer.concat([wireName(name), asked.subarray(-4)]);
  return Buffer.concat([header, question, ...records.map(encodeRecord)]);
}

function encodeRecord({ type, data }: { type: number; data: Buffer }): Buffer {
  const head = Buffer.alloc(12);
  head.writeUInt16BE(0xc00c, 0);
  head.writeUInt16BE(type, 2);
  head.writeUInt16BE(1, 4);
  head.writeUInt32BE(60, 6);
  head.writeUInt16BE(data.length, 10);
  return Buffer.concat([head, data]);
}

/** A name as it is on the wire. */
export function wireName(name: string): Buffer {
  const labels = name.split(".").map((label) => Buffer.from([label.length, ...Buffer.from(label)]));
  return Buffer.concat([...labels, Buffer.from([0])]);
}
