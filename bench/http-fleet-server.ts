/** A fleet behind the `http` driver's protocol in a process of its own: every deploy is ready at once. */
import { createServer } from "node:http";
import { text } from "node:stream/consumers";

type Member = { image: string; deployId?: string };

/** True if an order is answered with the state of its deploy. */
const tellsAtOnce = process.env["BENCH_TELLS"] === "1";
const members = new Map<string, Member>();

function resize(size: number): void {
  members.clear();
  const image = "registry.example.com/vedette/sentinel:v1";
  for (let i = 0; i < size; i++) members.set(`sentinel-${String(i).padStart(6, "0")}`, { image });
}

function stateOf(id: string, { image, deployId }: Member) {
  const region = ["eu-central-1", "us-east-1", "ap-southeast-1"][id.charCodeAt(14) % 3];
  const member = { id, region, image, running_image: image, healthy: true };
  return { ...member, status: "ready", deploy_id: deployId };
}

function page({ searchParams }: URL) {
  const first = Number(searchParams.get("cursor") ?? 0);
  const next = first + Number(searchParams.get("limit"));
  const sentinels = [...members].slice(first, next).map(([id, member]) => stateOf(id, member));
  return next < members.size ? { sentinels, next_cursor: String(next) } : { sentinels };
}

const server = createServer(async (request, response) => {
  const url = new URL(request.url ?? "", "http://fleet");
  const [, root, id = ""] = url.pathname.split("/");
  const answer = (status: number, body?: unknown) => {
    response.writeHead(status, { "content-type": "application/json" });
    response.end(body === undefined ? "" : JSON.stringify(body));
  };
  if (root === "resize") {
    resize(Number(id));
    return answer(204);
  }
  if (id === "") return answer(200, page(url));
  if (request.method === "GET") return answer(200, stateOf(id, members.get(id) ?? { image: "" }));
  const { image, deploy_id: deployId } = JSON.parse(await text(request));
  members.set(id, { image, deployId });
  return tellsAtOnce ? answer(200, stateOf(id, { image, deployId })) : answer(202);
});

server.listen(0, "127.0.0.1", () => {
  const address = server.address();
  if (address === null || typeof address !== "object") return;
  process.send?.({ url: `http://127.0.0.1:${address.port}` });
});
// Whoever has started it is gone.
process.once("disconnect", () => process.exit());
