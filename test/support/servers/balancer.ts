/** One address for servers that come and go: each connection goes to the next of them that takes it. */
import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";

export type Balancer = Awaited<ReturnType<typeof startBalancer>>;

export async function startBalancer(first: readonly number[] = []) {
  let ports = first;
  let turn = 0;
  const open = new Set<Socket>();

  const keep = (socket: Socket) => {
    open.add(socket);
    socket.once("close", () => open.delete(socket));
  };

  /** A port that refuses has taken nothing of the request yet. */
  const join = (caller: Socket, left: readonly number[]): void => {
    const [port, ...others] = left;
    if (port === undefined || caller.destroyed) {
      caller.destroy();
      return;
    }
    const server = connect(port, "127.0.0.1");
    keep(server);
    server.once("connect", () => {
      caller.pipe(server).pipe(caller);
      caller.once("close", () => server.destroy());
      server.once("close", () => caller.destroy());
    });
    server.on("error", () => {
      if (server.connecting || server.bytesWritten === 0) join(caller, others);
      else caller.destroy();
    });
  };

  const server = createServer((caller) => {
    keep(caller);
    caller.on("error", () => {});
    turn += 1;
    join(
      caller,
      ports.map((_, i) => ports[(i + turn) % ports.length] as number),
    );
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  return {
    port,
    url: `http://127.0.0.1:${port}`,
    /** New connections go to these from now on; those that are open stay. */
    pointTo: (to: readonly number[]) => {
      ports = to;
    },
    stop: async () => {
      for (const socket of open) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
