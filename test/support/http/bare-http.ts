/** What no HTTP client sends: bytes on a bare connection. */
import { once } from "node:events";
import { connect } from "node:net";

/** Sends `chunks`, one every `everyMs`, and answers all that comes back until the connection ends. */
export async function sendBytes(
  url: string,
  chunks: readonly string[],
  everyMs = 0,
): Promise<{ answer: string; tookMs: number }> {
  const startedAtMs = performance.now();
  const { hostname, port } = new URL(url);
  const socket = connect(Number(port), hostname);
  let answer = "";
  socket.on("data", (chunk) => {
    answer += chunk;
  });
  // A reset after the answer is one way to close.
  socket.on("error", () => {});
  const closed = once(socket, "close");
  const left = [...chunks];
  const timer = setInterval(() => {
    const chunk = left.shift();
    if (chunk !== undefined && socket.writable) socket.write(chunk);
  }, everyMs);
  await closed;
  clearInterval(timer);
  return { answer, tookMs: performance.now() - startedAtMs };
}
