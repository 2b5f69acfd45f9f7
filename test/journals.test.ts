/** Replays the journals that each version has recorded on the handlers as they are: calls of that version continue after an upgrade. */
import { globSync } from "node:fs";
import path from "node:path";
import { type ObjectContext, object } from "@restatedev/restate-sdk";
import { createEndpointHandler } from "@restatedev/restate-sdk/fetch";
import { describe, expect, it } from "vitest";
import { watchedServices } from "#app/versions.ts";
import { type Journal, readJournals, replayJournal } from "#journals/journals.ts";
import { findPrivate } from "./support/journals/find-private.ts";
import { createProgramEndpoint } from "./support/journals/program-endpoint.ts";

/**
 * Why the journals of a version's handlers do not fit any more, by the version and `<service>/<handler>`, the service without
 * `vedette.v1.`. Calls of these are ended at an upgrade, and repeated as src/app/versions.ts says.
 */
const broken: Record<string, Record<string, string>> = {};

const { endpoint, services } = createProgramEndpoint();
const recordings = globSync("test/journals/*").map((folder) => ({
  version: path.basename(folder),
  journals: [...readJournals(folder)],
}));

describe.each(recordings)("the calls that $version has started", ({ version, journals }) => {
  const listed = broken[version] ?? {};
  const nameOf = ({ service, handler }: Journal) =>
    `${service.replace("vedette.v1.", "")}/${handler}`;

  it.each(journals.filter(([, journal]) => !(nameOf(journal) in listed)))(
    "%s continues",
    async (_file, journal) => {
      expect(await replayJournal(endpoint, journal)).toEqual({ fits: true });
    },
  );

  it("of a handler that is listed as broken do not all continue", async () => {
    const own = journals.map(([, journal]) => journal).filter((one) => nameOf(one) in listed);
    const verdicts = await Promise.all(own.map((one) => replayJournal(endpoint, one)));

    const found = own.filter((_, i) => verdicts[i]?.fits === false).map(nameOf);
    expect(new Set(found)).toEqual(new Set(Object.keys(listed)));
  });

  it("hold no secret and no folder of a machine", () => {
    expect(journals.flatMap(([, journal]) => findPrivate(journal))).toEqual([]);
  });
});

it("calls of each service are watched: those that cannot continue are released", () => {
  expect(services.toSorted()).toEqual(watchedServices.toSorted());
});

const [, notice] = recordings
  .flatMap(({ journals }) => journals)
  .find(([file]) => file.startsWith("vedette.v1.Notices.post")) as [string, Journal];

/** Another version of the handler to which the notice was posted. */
const postedBy = (post: (ctx: ObjectContext) => Promise<unknown>) =>
  createEndpointHandler({
    services: [object({ name: notice.service, handlers: { post } })],
    logger: () => {},
  });

it("a journal does not fit a handler whose step has another name, and the verdict names the journal's", async () => {
  const changed = postedBy((ctx) => ctx.run("add-notice", () => null));

  const verdict = await replayJournal(changed, notice);

  expect(verdict).toMatchObject({ fits: false, at: "enqueue-notice" });
  expect(verdict).toHaveProperty("text", expect.stringContaining("enqueue-notice != add-notice"));
});

it("a journal fits a handler that has one step more at its end, and that step's failure is none", async () => {
  const longer = postedBy(async (ctx) => {
    await ctx.run("enqueue-notice", () => null);
    await ctx.run("count-notice", () => Promise.reject(new Error("refused")));
  });

  expect(await replayJournal(longer, notice)).toEqual({ fits: true });
});

it("a journal does not fit a handler that has one step less, and the verdict names it", async () => {
  const verdict = await replayJournal(
    postedBy(async () => null),
    notice,
  );

  expect(verdict).toMatchObject({ fits: false, at: "enqueue-notice" });
});

it.each([
  ["cannot read what a step has returned", () => Promise.reject(new Error("no lines")), "no lines"],
  ["does not answer", () => new Promise<null>(() => {}), "no answer within 200 ms"],
])("a journal does not fit a handler that %s", async (_what, post, text) => {
  const verdict = await replayJournal(postedBy(post), notice, { limitMs: 200 });

  expect(verdict).toEqual({ fits: false, text: expect.stringContaining(text) });
});

it("a journal does not fit an endpoint without its handler", async () => {
  const verdict = await replayJournal(createEndpointHandler({ services: [] }), notice);

  expect(verdict).toEqual({ fits: false, text: expect.stringContaining("HTTP 404") });
});
