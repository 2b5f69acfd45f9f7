// Vedette's protocol (docs/fleets.md, "Your own fleet") for the sentinels of fleet.json. replace.sh replaces one.
import { execFile } from "node:child_process";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { json } from "node:stream/consumers";

const { FLEET_TOKEN, PORT = "4100" } = process.env;
if (!FLEET_TOKEN) throw new Error("set FLEET_TOKEN to the token that Vedette sends");

// state.json is what this program knows of each sentinel; fleet.json is how it starts.
const stateFile = "state.json";
const read = (file) => JSON.parse(readFileSync(file, "utf8"));
const fleet = existsSync(stateFile) ? read(stateFile) : read("fleet.json").map(asFirstSeen);
const running = new Map(); // The run of replace.sh for a sentinel.

for (const sentinel of fleet) if (sentinel.status === "progressing") replace(sentinel);

function asFirstSeen({ id, region, image, labels = {} }) {
  return { id, region, labels, image, running_image: image, healthy: true, status: "ready" };
}

function save() {
  writeFileSync(stateFile, JSON.stringify(fleet, null, 2));
}

// A newer order ends the run of the one before. After a restart an unfinished one runs again.
function replace(sentinel) {
  const { id, image } = sentinel;
  running.get(id)?.kill();
  const run = execFile("./replace.sh", [id, image], (error, stdout, stderr) => {
    if (running.get(id) !== run) return;
    running.delete(id);
    process.stdout.write(stdout);
    if (error) {
      const reason = stderr.trim().split("\n").at(-1) || error.message;
      Object.assign(sentinel, { status: "failed", reason });
    } else {
      Object.assign(sentinel, { status: "ready", running_image: image });
    }
    save();
  });
  running.set(id, run);
}

// The same deploy_id again is the same order: it changes nothing.
function order(sentinel, { image, deploy_id }) {
  if (deploy_id === sentinel.deploy_id) return;
  Object.assign(sentinel, { image, deploy_id, status: "progressing", reason: "" });
  save();
  replace(sentinel);
}

const server = createServer(async (request, response) => {
  const answer = (status, body = {}) => response.writeHead(status).end(JSON.stringify(body));
  if (request.headers.authorization !== `Bearer ${FLEET_TOKEN}`) return answer(401);
  const [, list, id, more] = request.url.split("?")[0].split("/");
  if (list !== "sentinels" || more !== undefined) return answer(404);
  if (id === undefined) return answer(200, { sentinels: fleet });
  const sentinel = fleet.find((one) => one.id === decodeURIComponent(id));
  if (sentinel === undefined) return answer(404);
  if (request.method === "GET") return answer(200, sentinel);
  if (request.method !== "PUT") return answer(405);
  const body = await json(request).catch(() => ({}));
  if (!body.image || !body.deploy_id) return answer(400);
  order(sentinel, body);
  answer(202);
});
server.listen(Number(PORT), "127.0.0.1", () => {
  console.log(`the fleet listens at http://127.0.0.1:${server.address().port}`);
});
