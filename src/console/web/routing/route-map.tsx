/** The simulation as a diagram: the alert on the left, the routes of its source, who is notified on the right. */
import type { RoutingView } from "#console/contract.ts";
import { Notice } from "#console/web/parts/blocks.tsx";
import { Sign } from "#console/web/parts/mark.tsx";

type Simulation = RoutingView["simulation"];

type Props = { simulation: Simulation; nobody: string | undefined };

/** `nobody`: why no alert leaves this program yet. */
export function RouteMap({ simulation, nobody }: Props) {
  const { source, labels, routes, pages, channels } = simulation;
  const said = Object.entries(labels).filter(([, value]) => value !== "");
  return (
    <div class="route-map" aria-live="polite">
      <div class="route-alert">
        <b>{source}</b>
        {said.map(([name, value]) => (
          <span key={name} class="mono">{`${name}=${value}`}</span>
        ))}
      </div>
      <ul class="route-list" aria-label="Routes of this source">
        {routes.map((route) => (
          <Route key={route.route} route={route} />
        ))}
        {routes.length === 0 && <li class="quiet">No route takes alerts of this source.</li>}
      </ul>
      <Outcome pages={pages} channels={channels} nobody={nobody} />
    </div>
  );
}

function Route({ route }: { route: Simulation["routes"][number] }) {
  const { matches, because, escalation, channel } = route;
  return (
    <li class={matches ? "route taken" : "route"}>
      <span class="badge">
        <Sign tone={matches ? "good" : "mute"} />
        {route.route}
      </span>
      <span class="quiet">{`${matches ? "takes it" : "does not take it"}: ${because}`}</span>
      {matches && <span>{`${escalation ?? "pages nobody"} · ${channel}`}</span>}
    </li>
  );
}

type OutcomeProps = Pick<Simulation, "pages" | "channels"> & Pick<Props, "nobody">;

function Outcome({ pages, channels, nobody }: OutcomeProps) {
  if (pages.length === 0 && channels.length === 0) {
    return (
      <Notice tone="bad">Nobody is notified: no route takes this alert, so it is dropped.</Notice>
    );
  }
  return (
    <div class="route-outcome">
      <p>
        <b>Paged</b> {pagesWords(pages, nobody)}
      </p>
      <p>
        <b>Posted to</b> {(nobody === undefined && channels.join(", ")) || "nowhere"}
      </p>
    </div>
  );
}

/** While no alert of any check leaves the program: says so, and why. */
export function Nobody({ reason }: { reason: string | undefined }) {
  if (reason === undefined) return null;
  return (
    <Notice tone="warn">
      <b>No alert leaves this program yet:</b> {reason}. What to set is said by{" "}
      <code class="mono">npx vedette doctor</code>.
    </Notice>
  );
}

/** Names the people that the alerts of a check page: nobody before its channel is set up. */
export function pagesWords(pages: readonly string[], why: string | undefined): string {
  const later = pages.join(", ");
  if (why === undefined) return later || "nobody";
  return `nobody (${why}${later === "" ? "" : `; later ${later}`})`;
}
