/** How long a rollout takes when its deploys take no time: what is left is ours. */
import { callRollout, createFleet, sizesFrom, startServers, usageOf } from "./fixture.ts";

const fleet = createFleet();
const servers = await startServers(fleet);
const rows: Record<string, string | number>[] = [];

fleet.sizeTo(1_000);
await callRollout(servers.ingressUrl, "Rollout", { image: fleet.image() });

for (const size of sizesFrom([5_000, 10_000, 50_000])) {
  fleet.sizeTo(size);
  const node = process.cpuUsage();
  const restate = usageOf(servers.restatePid());
  const startedAt = performance.now();
  const answer = await callRollout(servers.ingressUrl, "Rollout", { image: fleet.image() });
  const wallMs = performance.now() - startedAt;
  const used = process.cpuUsage(node);
  const after = usageOf(servers.restatePid());
  if (answer["succeeded"] !== size) throw new Error(`incomplete: ${JSON.stringify(answer)}`);
  rows.push({
    sentinels: size,
    "wall s": (wallMs / 1_000).toFixed(1),
    "wall ms each": (wallMs / size).toFixed(3),
    "node cpu ms each": ((used.user + used.system) / 1_000 / size).toFixed(3),
    "restate cpu ms each": ((after.cpuMs - restate.cpuMs) / size).toFixed(3),
    "node MB": Math.round(usageOf(process.pid).rssMb),
    "restate MB": Math.round(after.rssMb),
  });
}

console.table(rows);
await servers.stop();
process.exit(0);
