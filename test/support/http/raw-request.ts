/** A request with exactly the headers that are given, also those that fetch keeps to itself. */
import { type IncomingHttpHeaders, request } from "node:http";
import { text } from "node:stream/consumers";

type RawRequest = { path: string; method: string; headers: Record<string, string>; body: string };

export function sendRaw(
  origin: string,
  { path, method, headers, body }: RawRequest,
): Promise<{ status: number; headers: IncomingHttpHeaders; body: string }> {
  const { hostname, port } = new URL(origin);
  return new Promise((resolve, reject) => {
    const asked = request({ hostname, port, path, method, headers }, (answer) => {
      text(answer).then(
        (body) => resolve({ status: answer.statusCode ?? 0, headers: answer.headers, body }),
        reject,
      );
    });
    // What is refused early is not read to its end.
    asked.once("error", (error: NodeJS.ErrnoException) => {
      if (error.code !== "EPIPE" && error.code !== "ECONNRESET") reject(error);
    });
    if (method === "GET") asked.end();
    else asked.end(body);
  });
}
