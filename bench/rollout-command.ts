import { runVedette } from "../test/support/program/command.ts";

/** Measures the command for a rollout in one wave, in ms. Throws unless it succeeds. */
export async function measureRollout(dataDir: string, image: string): Promise<number> {
  const startedAt = performance.now();
  const args = ["rollout", "start", image, "--waves", "100", "--wait"];
  const ended = await runVedette(args, { VEDETTE_DATA_DIR: dataDir });
  if (ended.code !== 0) throw new Error(`${ended.stdout}${ended.stderr}`);
  return performance.now() - startedAt;
}
