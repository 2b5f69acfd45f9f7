import { once } from "node:events";
import { IncomingMessage, Server, ServerResponse } from "node:http";
import { Socket } from "node:net";
import { expect, it } from "vitest";
import { trackResponses } from "#control/open-responses.ts";

/** A server to which requests come on one connection; it is not listening. */
function startTracking() {
  const server = new Server();
  const socket = new Socket();
  const responses = trackResponses(server, { isLong: (path) => path === "/long" });
  /** Behind an earlier one: its response is not the connection's yet. */
  const request = (url: string) => {
    const message = Object.assign(new IncomingMessage(socket), { url });
    const response = new ServerResponse(message);
    server.emit("request", message, response);
    return response;
  };
  const state = { isFinished: false };
  const finish = () => {
    void responses.finish(3_600_000).then(() => {
      state.isFinished = true;
    });
    return turn();
  };
  return { socket, request, finish, state };
}

const turn = () => new Promise((resolve) => setImmediate(resolve));

it("closing waits for each response, and for none whose connection is gone", async () => {
  const { socket, request, finish, state } = startTracking();
  const [first] = [request("/a"), request("/b"), request("/c")];
  await finish();

  first.emit("close");
  await turn();
  const whileOpen = state.isFinished;
  socket.destroy();
  await once(socket, "close");
  await turn();

  expect([whileOpen, state.isFinished]).toEqual([false, true]);
});

it("closing does not wait for a long response, nor for one that came on a connection that is destroyed", async () => {
  const { socket, request, finish, state } = startTracking();
  request("/long");
  socket.destroy();
  await once(socket, "close");
  request("/a");

  await finish();

  expect(state.isFinished).toBe(true);
});
