/** Messages of rollouts of a whole program: at the webhook of the settings and at a channel of the definitions. */

import { writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import path from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { startFakeChat } from "../../support/alerts/fake-chat.ts";
import { runVedette } from "../../support/program/command.ts";
import { startProgram } from "../../support/program/program.ts";
import { imageV2 } from "../../support/rollout/rollout-builders.ts";
import { tempDir } from "../../support/temp-dir.ts";
import { waitFor } from "../../support/wait-for.ts";

async function startReceiver() {
  const types: string[] = [];
  const server = createServer(async (request, answer) => {
    const chunks = await request.toArray();
    types.push(JSON.parse(Buffer.concat(chunks).toString()).type);
    answer.end("{}");
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void server.close());
  return { types, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook` };
}

it("rollout messages reach Slack and a webhook, and the log of deliveries has them", async () => {
  const receiver = await startReceiver();
  const chat = await startFakeChat();
  onTestFinished(chat.stop);
  const file = path.join(tempDir(), "vedette.config.yaml");
  writeFileSync(file, `channels:\n  - { id: hook, kind: webhook, url: "${receiver.url}" }\n`);
  const program = await startProgram({
    VEDETTE_DEFINITIONS__FILE: file,
    VEDETTE_ROLLOUT__CHANNELS: "hook",
    VEDETTE_SLACK__SENTINEL_ROLLOUT_WEBHOOK_URL: chat.url,
    VEDETTE_SLACK__MESSAGE_SPACING_MS: "0",
  });
  onTestFinished(() => program.dispose());

  await program.call("Rollout", { image: imageV2 });

  await waitFor(() => chat.messages.length >= 4 && receiver.types.length >= 4, {
    withinMs: 20_000,
    what: "the messages of the rollout",
  });
  expect(receiver.types).toEqual([
    "rollout.started",
    "rollout.wave_started",
    "rollout.wave_completed",
    "rollout.completed",
  ]);
  const listed = await waitFor(
    async () => {
      const { stdout } = await runVedette(["alerts", "events", "--data-dir", program.dataDir], {});
      return stdout.split("accepted").length > 8 && stdout;
    },
    { withinMs: 20_000, what: "the deliveries to be recorded" },
  );
  expect(listed).toContain("sentinel_rollout@hook:");
  expect(listed).toContain("sentinel_rollout@sentinel_rollout:");
});

it("the start warns of an unknown channel of rollouts, and names the nearest", async () => {
  const file = path.join(tempDir(), "vedette.config.yaml");
  writeFileSync(file, `channels:\n  - { id: hook, kind: webhook, url: "http://127.0.0.1:1/" }\n`);

  const program = await startProgram({
    VEDETTE_DEFINITIONS__FILE: file,
    VEDETTE_ROLLOUT__CHANNELS: "hok",
  });
  onTestFinished(() => program.dispose());

  expect(program.output()).toContain(
    "rollout.channels: there is no channel hok: did you mean hook?",
  );
});
