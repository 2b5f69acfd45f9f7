/** The frame of every page: navigation, the signed-in operator, and whether the shown data is current. */
import { useEffect } from "preact/hooks";
import type { Session } from "#console/contract.ts";
import { Brand, SignInPage } from "#console/web/pages/sign-in.tsx";
import { Missing, Notice } from "#console/web/parts/blocks.tsx";
import { ask, Confirmation } from "#console/web/parts/confirm.tsx";
import { readSession, signOut } from "./api.ts";
import {
  chooseFleet,
  chosenFleet,
  defaultName,
  fleetNames,
  hasSeveralFleets,
  titleOf,
} from "./chosen-fleet.ts";
import { ago } from "./format.ts";
import { connection, lastEventAtMs, listen, nowMs, trouble } from "./live.ts";
import { limitWords } from "./may.ts";
import { isOutdated } from "./outdated.ts";
import { routes } from "./pages.tsx";
import { tryUntilDone } from "./retry.ts";
import { Link, ownTitle, path } from "./router.tsx";
import { notifyOtherTabs, onOtherTab, onTicket, session } from "./session.ts";
import { type Theme, theme, themes } from "./theme.ts";

export function App() {
  useEffect(() => {
    let stop = () => {};
    const begin = (attempt: () => Promise<void>) => {
      stop();
      stop = tryUntilDone(attempt);
    };
    // Whoever comes back from the identity provider has signed in on another page.
    const arrive = () => begin(() => readSession().then(notifyOtherTabs));
    arrive();
    const forgetTicket = onTicket(arrive);
    const forgetTabs = onOtherTab(() => begin(readSession));
    return () => {
      stop();
      forgetTicket();
      forgetTabs();
    };
  }, []);
  if (session.value === undefined)
    return <p class="waiting connecting">Connecting to the server…</p>;
  return session.value === null ? (
    <SignInPage />
  ) : (
    <Shell signedIn={session.value} fleet={chosenFleet.value} />
  );
}

function Shell({ signedIn, fleet }: { signedIn: Session; fleet: string }) {
  useEffect(() => listen(fleet), [fleet]);
  useEffect(() => leaveUnknownFleet(signedIn), [signedIn]);
  const route = routes.find(({ matches }) => matches(path.value));
  const ofFleet = hasSeveralFleets() ? ` · ${titleOf(fleet)}` : "";
  const title = `${ownTitle.value ?? route?.title ?? "Not found"}${ofFleet} · Vedette`;
  useEffect(() => {
    document.title = title;
  }, [title]);
  return (
    <>
      <a class="skip" href="#main">
        Skip to the content
      </a>
      <header class="bar">
        <Brand />
        <nav aria-label="Pages">
          {routes
            .filter(
              ({ nav, needsFleets }) => nav !== undefined && (!needsFleets || hasSeveralFleets()),
            )
            .map(({ nav, title, section }) => (
              <Link key={title} to={nav ?? "/"} current={route?.section === section}>
                {title}
              </Link>
            ))}
        </nav>
        <div class="bar-end">
          <FleetChoice />
          <Connection />
          <ThemeChoice />
          <SignOut signedIn={signedIn} />
        </div>
      </header>
      <main id="main" tabIndex={-1}>
        <Troubles />
        {route === undefined ? <NoPage /> : <route.Page key={fleet} />}
      </main>
      <Confirmation />
    </>
  );
}

function NoPage() {
  return (
    <Missing title="Page not found" back={{ to: "/", words: "The current rollout" }}>
      The console has no page at <span class="mono">{path.value}</span>.
    </Missing>
  );
}

/** An address may name a fleet that the settings do not have any more. */
function leaveUnknownFleet({ fleets = [] }: Session): void {
  if (!fleets.includes(chosenFleet.peek())) chooseFleet(defaultName);
}

/** Shows who is signed in, and what they may do if that is not everything. */
function SignOut({ signedIn }: { signedIn: Session }) {
  const { actor } = signedIn;
  const limits = limitWords(signedIn);
  return (
    <button
      type="button"
      class="plain"
      onClick={() => ask(signOutQuestion(actor, limits))}
      title={`Signed in as ${actor}`}
    >
      <span class="who">
        {actor} {limits !== undefined && <span class="limits">{limits}</span>}
      </span>{" "}
      Sign out
    </button>
  );
}

function signOutQuestion(actor: string, limits: string | undefined) {
  const ends = `This ends the session of ${actor} in this browser. Rollouts are not affected.`;
  return {
    title: "Sign out?",
    lines: [ends, ...(limits === undefined ? [] : [`This session ${limits}.`])],
    verb: "Sign out",
    isGrave: false,
    run: signOut,
  };
}

function Connection() {
  const state = connection.value;
  const words = { live: "Live", connecting: "Connecting", lost: "Not live" };
  return (
    <span class={`connection ${state}`} role="status">
      <i aria-hidden="true" />
      {words[state]}
    </span>
  );
}

function Troubles() {
  const seen = ago(new Date(lastEventAtMs.value).toISOString(), nowMs.value);
  return (
    <>
      {connection.value === "lost" && (
        <Notice tone="warn">
          The connection is lost; this page was updated {seen}. Reconnecting; rollouts continue
          meanwhile.
        </Notice>
      )}
      {isOutdated.value && (
        <Notice tone="info">
          A new version of this page is there.{" "}
          <button type="button" onClick={() => location.reload()}>
            Reload
          </button>
        </Notice>
      )}
      {trouble.value.map(({ part, detail }) => (
        <Notice key={part} tone="warn">
          <b>{part}</b>: {detail}. The page shows its last known state.
        </Notice>
      ))}
    </>
  );
}

const themeNames: Record<Theme, string> = { auto: "Auto", light: "Light", dark: "Dark" };

function ThemeChoice() {
  return (
    <label class="theme">
      <span class="visually-hidden">Colours</span>
      <select
        value={theme.value}
        onChange={(event) => {
          theme.value = event.currentTarget.value as Theme;
        }}
      >
        {themes.map((name) => (
          <option key={name} value={name}>
            {themeNames[name]}
          </option>
        ))}
      </select>
    </label>
  );
}

/** Chooses the fleet that the pages show, where there are several. */
function FleetChoice() {
  if (!hasSeveralFleets()) return null;
  return (
    <label class="fleet-choice">
      <span>Fleet</span>
      <select
        value={chosenFleet.value}
        onChange={(event) => chooseFleet(event.currentTarget.value)}
      >
        {fleetNames().map((name) => (
          <option key={name} value={name}>
            {titleOf(name)}
          </option>
        ))}
      </select>
    </label>
  );
}
