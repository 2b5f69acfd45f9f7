/** Stands between a server and a worker, and ends the worker when so many pieces of data have passed. */
import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";

type Trap = { after: number; spring: () => void };

export type CrashProxy = Awaited<ReturnType<typeof startCrashProxy>>;

export async function startCrashProxy() {
  const open = new Set<Socket>();
  let targetPort = 0;
  let passed = 0;
  let trap: Trap | undefined;

  const cut = () => {
    for (const socket of open) socket.resetAndDestroy();
  };
  const springNow = () => {
    const sprung = trap;
    trap = undefined;
    sprung?.spring();
    cut();
  };
  /** Before it passes: what one side has sent is never known to the other. */
  const isCaught = () => {
    passed += 1;
    if (trap === undefined || passed <= trap.after) return false;
    springNow();
    return true;
  };
  const join = (from: Socket, to: Socket) => {
    open.add(from);
    from.on("data", (piece) => {
      if (!isCaught()) to.write(piece);
    });
    from.on("error", () => to.destroy());
    from.on("close", () => {
      open.delete(from);
      to.destroy();
    });
  };
  const server = createServer((caller) => {
    const worker = connect(targetPort, "127.0.0.1");
    join(caller, worker);
    join(worker, caller);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");

  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    pointTo: (port: number) => {
      targetPort = port;
      cut();
    },
    /** Counts from now on; after so many pieces `spring` is called and every connection broken. */
    arm: (next: Trap) => {
      passed = 0;
      trap = next;
    },
    /** Without waiting for so many pieces. */
    spring: springNow,
    passed: () => passed,
    isSprung: () => trap === undefined,
    stop: async () => {
      cut();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
