import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { startTestRestate } from "vedette/testing";
import { counter } from "./counter.mjs";

let restate;

before(async () => {
  restate = await startTestRestate({ services: [counter], alwaysReplay: true });
});

after(() => restate?.stop());

async function add(key, amount) {
  const answer = await fetch(`${restate.ingressUrl}/restate/call/counter/${key}/add`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(amount),
  });
  return answer.json();
}

test("each key has a sum of its own, which outlives a power failure", async () => {
  assert.equal(await add("a", 2), 2);
  assert.equal(await add("b", 5), 5);

  await restate.kill9();
  await restate.restart();

  assert.equal(await add("a", 3), 5);
});
