/** A mail server of ours, whose answers a test decides. */
import type { AddressInfo } from "node:net";
import { SMTPServer, type SMTPServerOptions, type SMTPServerSession } from "smtp-server";
import { onTestFinished } from "vitest";

type Mail = { to: string; text: string; isSecure: boolean; user: string | undefined };

type Given = SMTPServerOptions & {
  /** The code with which a recipient is refused; undefined: taken. */
  codeOf?: (to: string) => number | undefined;
  /** What happens to a mail whose text has arrived; undefined: it is taken. */
  afterData?: (() => "hang" | "drop" | undefined) | undefined;
};

/** Stopped when the test ends. */
export async function startMailServer({ codeOf, afterData, ...options }: Given = {}) {
  const mails: Mail[] = [];
  const server = new SMTPServer({
    authOptional: true,
    disableReverseLookup: true,
    logger: false,
    ...(options.key === undefined && { disabledCommands: ["STARTTLS"] }),
    onRcptTo: ({ address }, _, done) => {
      const code = codeOf?.(address);
      const fault = Object.assign(new Error(`5.1.1 <${address}> refused`), { responseCode: code });
      done(code === undefined ? null : fault);
    },
    onData: (stream, session, done) => {
      const chunks: Buffer[] = [];
      stream.on("data", (chunk: Buffer) => chunks.push(chunk));
      stream.on("end", () => {
        mails.push(readMail(Buffer.concat(chunks).toString(), session));
        const fate = afterData?.();
        if (fate === undefined) done(null);
        if (fate === "drop") for (const one of server.connections) one.close();
      });
    },
    ...options,
  });
  server.on("error", () => {});
  await new Promise<void>((resolve) =>
    server.listen(0, options.key === undefined ? "127.0.0.1" : "0.0.0.0", resolve),
  );
  onTestFinished(() => new Promise<void>((resolve) => server.close(() => resolve())));
  const { port } = server.server.address() as AddressInfo;
  return { mails, port, url: `smtp://127.0.0.1:${port}` };
}

function readMail(text: string, { envelope, secure, user }: SMTPServerSession): Mail {
  const [to] = envelope.rcptTo;
  return {
    to: to?.address ?? "",
    text,
    isSecure: secure,
    user: user === undefined ? undefined : String(user),
  };
}
