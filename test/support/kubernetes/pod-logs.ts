/** The logs of pods, as a kubelet answers for them: of the present run of a container, or of the one before. */
import { type Answer, type Asked, notFound, refusal } from "./asked.ts";
import type { Objects } from "./objects.ts";

/** What a container prints that fails, and one that serves. */
const lastWords = "reading settings\nno database: password=hunter2\n";
const firstWords = "listening\n";

export function answerLog(asked: Asked, objects: Objects): Answer | { text: string } {
  const pod = objects.get({ ...asked, resource: "pods" });
  if (pod === undefined) return notFound(asked);
  const name = asked.query.get("container");
  const status = pod.status?.containerStatuses?.find((one: { name: string }) => one.name === name);
  if (status === undefined) return bad(`container ${name} is not valid for pod ${asked.name}`);
  const { state, lastState } = status;
  if (asked.query.get("previous") === "true") {
    const words = `previous terminated container "${name}" in pod "${asked.name}" not found`;
    return lastState?.terminated ? { text: tail(lastWords, asked) } : bad(words);
  }
  if (state?.terminated) return { text: tail(lastWords, asked) };
  if (state?.running) return { text: tail(firstWords, asked) };
  // Of one that waits for its next run it is that of the last one.
  if (lastState?.terminated) return { text: tail(lastWords, asked) };
  return bad(`container "${name}" in pod "${asked.name}" is waiting to start: ContainerCreating`);
}

function bad(words: string): Answer {
  return refusal(400, "BadRequest", words);
}

function tail(text: string, { query }: Asked): string {
  const lines = text.trimEnd().split("\n");
  return `${lines.slice(-Number(query.get("tailLines") ?? lines.length)).join("\n")}\n`;
}
