import { writeFileSync } from "node:fs";
import path from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { findUnknownChannels } from "#app/fleets.ts";
import { readConfig } from "#config.ts";
import { makeTempDir } from "../support/temp-dir.ts";

function read(toml: string, environment: Record<string, string> = {}) {
  const dir = makeTempDir();
  onTestFinished(dir.remove);
  const file = path.join(dir.path, "vedette.toml");
  writeFileSync(file, toml);
  return readConfig({ file, environment });
}

const rows = [{ id: "ops-chat" }, { id: "pager" }];

describe("the setting rollout.channels", () => {
  it("has the events that each channel wants", () => {
    const { rollout } = read(
      '[[rollout.channels]]\nchannel = "pager"\nevents = ["paused", "resumed"]\n',
    );

    expect(rollout.channels).toEqual([{ channel: "pager", events: ["paused", "resumed"] }]);
  });

  it("takes ids alone as channels with all events, also in the environment", () => {
    const all = [
      { channel: "ops-chat", events: undefined },
      { channel: "pager", events: undefined },
    ];

    expect(read('[rollout]\nchannels = ["ops-chat", "pager"]').rollout.channels).toEqual(all);
    expect(read("", { VEDETTE_ROLLOUT__CHANNELS: "ops-chat, pager" }).rollout.channels).toEqual(
      all,
    );
  });

  it("refuses an event that there is not, and names the nearest", () => {
    const given = '[[rollout.channels]]\nchannel = "pager"\nevents = ["pausd"]\n';

    expect(() => read(given)).toThrow("there is no event of a rollout pausd: did you mean paused?");
  });

  it("is warned of a channel that the definitions do not have, and names the nearest", () => {
    const config = read('[rollout]\nchannels = ["ops-caht"]');

    expect(findUnknownChannels(config, rows).map(({ message }) => message)).toEqual([
      "setting rollout.channels: there is no channel ops-caht: did you mean ops-chat?",
    ]);
  });

  it("is warned of an unknown channel of a fleet of its own", () => {
    const config = read(
      [
        "[fleets.staging]",
        'driver = "http"',
        'http = { url = "http://fleet.example.com" }',
        'rollout = { channels = ["pagr"] }',
      ].join("\n"),
    );

    expect(findUnknownChannels(config, rows).map(({ message }) => message)).toEqual([
      "setting fleets.staging.rollout.channels: there is no channel pagr: did you mean pager?",
    ]);
  });
});

it("the setting audit.channel is warned of a channel that the definitions do not have", () => {
  const config = read('[audit]\nchannel = "pagr"');

  expect(findUnknownChannels(config, rows).map(({ message }) => message)).toEqual([
    "setting audit.channel: there is no channel pagr: did you mean pager?",
  ]);
  expect(findUnknownChannels(read('[audit]\nchannel = "pager"'), rows)).toEqual([]);
});
