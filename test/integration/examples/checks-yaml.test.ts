/** examples/checks-yaml, read by the command that its README names first. */
import path from "node:path";
import { expect, it } from "vitest";
import { runVedette } from "../../support/program/command.ts";

const example = path.resolve("examples/checks-yaml");

it("`config check` finds no mistake and no warning once the secret is set", async () => {
  const environment = {
    VEDETTE_SECRET_OPS_CHAT_URL: "https://hooks.slack.com/services/T000/B000/abc",
  };

  const { code, stdout, stderr } = await runVedette(["config", "check"], environment, example);

  expect({ code, stdout, stderr }).toEqual({
    code: 0,
    stdout: "vedette.config.yaml: no mistakes (1 channel, 3 checks, 1 heartbeat)\n",
    stderr: "",
  });
});
