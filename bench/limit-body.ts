/** The request of bench/limit.ts to ours and to others, with so many callers that each is within its limit. */
const limitBody = { namespace: "bench", limit: 1_000, duration: 60_000 };

const callers = 10_000;

export function nextLimitBody(): string {
  const identifier = `caller-${Math.floor(Math.random() * callers)}`;
  return JSON.stringify({ ...limitBody, identifier });
}
