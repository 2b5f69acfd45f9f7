/** Runs SQL on Restate's own tables (`state`, `sys_invocation`, `sys_journal`, …). Returns the rows. */
export async function queryRestate(
  adminUrl: string,
  query: string,
  token?: string,
): Promise<Record<string, string>[]> {
  const answer = await fetch(`${adminUrl}/query`, {
    method: "POST",
    headers: {
      ...{ "content-type": "application/json", accept: "application/json" },
      ...(token !== undefined && { authorization: `Bearer ${token}` }),
    },
    body: JSON.stringify({ query }),
  });
  const { rows } = (await answer.json()) as { rows: Record<string, string>[] };
  return rows;
}
