/** What bench/limit.ts asks, of ours and of others: callers enough that every one passes. */
export const limitBody = { namespace: "bench", limit: 1_000, duration: 60_000 };

const callers = 10_000;

export function nextLimitBody(): string {
  const identifier = `caller-${Math.floor(Math.random() * callers)}`;
  return JSON.stringify({ ...limitBody, identifier });
}
