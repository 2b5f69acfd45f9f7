/** The load of bench/load.ts, with autocannon. */
import autocannon from "autocannon";
import type { Fire } from "../load.ts";

export const fire: Fire = async ({ url, path, headers, body, seconds, connections }) => {
  const { requests, latency, non2xx, errors, timeouts } = await autocannon({
    url: `${url}${path}`,
    connections,
    duration: seconds,
    requests: [
      {
        method: "POST",
        path,
        headers: { "content-type": "application/json", ...headers },
        setupRequest: (request) => ({ ...request, body: body() }),
      },
    ],
  });
  return {
    sent: requests.total,
    failed: non2xx + errors + timeouts,
    perSecond: requests.average,
    p50Ms: latency.p50,
    p99Ms: latency.p99,
  };
};
