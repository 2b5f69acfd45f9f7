/** `vedette alerts test`: whether a channel takes alerts. */
import { AlertTest, alertEvents } from "#alerts/contract.ts";
import { connect } from "#cli/connection.ts";
import type { GlobalOptions } from "#cli/options.ts";
import { printAnswer } from "#cli/print.ts";
import { plain } from "#cli/table.ts";
import { formatDuration } from "#kernel/duration.ts";

export async function testChannel(channel: string, options: GlobalOptions): Promise<number> {
  const { callToEnd } = connect(options);
  const result = await callToEnd(`${alertEvents.name}/Test`, { channel }, AlertTest);
  printAnswer(result, options.json, () => result.messages.map(report).join("\n"));
  return result.messages.every(({ outcome }) => outcome === "accepted") ? 0 : 1;
}

function report({ status, outcome, cause, remark, duration_ms }: AlertTest["messages"][number]) {
  const because = [cause, remark].flatMap((text) => (text === null ? [] : [`: ${plain(text)}`]));
  return `${status} ${outcome} after ${formatDuration(duration_ms)}${because.join("")}`;
}
