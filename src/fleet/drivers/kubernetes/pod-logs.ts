/** The end of a pod's log: of which pod and which of its containers, and how it is asked for. */
import type { LogCall, LogTail } from "#fleet/drivers/driver.ts";
import { type LogPart, reachEnd } from "#fleet/drivers/reach-end.ts";
import { parseJson } from "#kernel/body.ts";
import { maxRawLog } from "#kernel/log-text.ts";
import { type Cluster, messageOf } from "./client.ts";
import { isReady } from "./judge.ts";
import type { ContainerStatus, Pod } from "./schemas.ts";

/** Of the lines that are asked for: a server counts from the first of them. */
const maxRead = 1_048_576;

/** `previous`: of the run before the present one. */
export type LogOf = { pod: Pod; container: string; previous: boolean };

/** What says most of several pods of one template; undefined: there is none. Pure. */
export function chooseLog(pods: readonly Pod[], container: string): LogOf | undefined {
  const pod = pods.find((one) => !isReady(one)) ?? pods[0];
  if (pod === undefined) return undefined;
  const { initContainerStatuses, containerStatuses } = pod.status;
  const all = [...initContainerStatuses, ...containerStatuses];
  const own = containerStatuses.find(({ name }) => name === container);
  // What keeps a pod from being ready may be a container beside the sentinel's, or one that comes before it.
  const ill = isIll(own) ? own : all.find(isIll);
  return { pod, container: ill?.name ?? container, previous: hasRestarted(ill ?? own) };
}

function isIll(status: ContainerStatus | undefined): boolean {
  if (status === undefined || status.ready === true) return false;
  const { terminated } = status.state ?? {};
  const hasRun = terminated != null || status.lastState?.terminated != null;
  return hasRun && terminated?.exitCode !== 0;
}

/** The run that has ended says why; the present one may have just begun. */
function hasRestarted(status: ContainerStatus | undefined): boolean {
  const { state, lastState } = status ?? {};
  return lastState?.terminated != null && state?.terminated == null && status?.ready !== true;
}

/** What came until the signal ended the call counts. */
export function readPodLog(
  cluster: Pick<Cluster, "readEnd">,
  of: LogOf,
  call: LogCall,
): Promise<LogTail> {
  return reachEnd(call, (asked) => readOnce(cluster, of, asked));
}

async function readOnce(
  cluster: Pick<Cluster, "readEnd">,
  of: LogOf,
  call: LogCall,
): Promise<LogPart> {
  const answer = await ask(cluster, of, call);
  // The run before may have been cleared away.
  const again = answer.status === 400 && of.previous;
  const last = again ? await ask(cluster, { ...of, previous: false }, call) : answer;
  return { tail: toTail(last), stop: last.stop };
}

function ask(
  cluster: Pick<Cluster, "readEnd">,
  { pod, container, previous }: LogOf,
  { lines, signal }: LogCall,
) {
  const { namespace, name } = pod.metadata;
  const query = new URLSearchParams({
    container,
    tailLines: String(lines),
    limitBytes: String(maxRead),
    ...(previous && { previous: "true" }),
  });
  const path = `/api/v1/namespaces/${encodeURIComponent(namespace)}/pods/${encodeURIComponent(name)}/log`;
  const limits = { keepBytes: maxRawLog, maxBytes: maxRead };
  return cluster.readEnd({ path: `${path}?${query}`, signal, ...limits });
}

function toTail({ status, text }: { status: number; text: string }): LogTail {
  if (status === 200) return { text };
  if (status === 404) return { absent: "its pod is not there any more" };
  const words = messageOf(parseJson(Buffer.from(text)));
  if (status === 403) return { absent: `no right to read logs (get pods/log): ${words}` };
  return { absent: words || `the API server answered ${status}` };
}
