/** The booking interface of a shipping line. */

import { frame, type World } from "../world.ts";

export const cargo: World = {
  name: "second-cargo",
  intents: [
    {
      says: "A forwarder books a box on the [ship] through the API without ever phoning our desk.",
      key: ["without ever phoning", "[ship]"],
    },
    {
      says: "We move the agents in [port] off the telex form and onto the booking API.",
      key: ["telex form", "[port]"],
    },
    {
      says:
        "The booking API survives the fruit season of [customer] without a night shift on our " +
        "side.",
      key: ["fruit season", "[customer]"],
    },
  ],
  frames: {
    must: [
      frame(
        "a confirmed booking is never rejected afterwards, it is rolled to the following voyage " +
          "of the [ship].",
        "What happens to a confirmed booking when she is full?",
        "What do we do with customers who were promised a place once there is no room?",
        ["rolled", "[ship]"],
      ),
      frame(
        "goods of class [hazard] wait for a second look by [person] before the API hands out a " +
          "number.",
        "Which class of goods is checked by a human, and by whom?",
        "What hazardous freight wants manual review, and whose?",
        ["[hazard]", "[person]"],
      ),
      frame(
        "every response is out within [latency=240..480/5] milliseconds at the [port] gateway, " +
          "since the cranes give up after that.",
        "How fast does a response have to be, and where?",
        "What latency is tolerable, and at which location is it taken?",
        ["[latency]", "[port]"],
      ),
      frame(
        "weights are stored as whole kilograms, and [customer] gets no exception, whatever their " +
          "salesman was told.",
        "How are weights stored, and who wanted it otherwise?",
        "In which unit do we keep how heavy cargo is, and who asked for special treatment?",
        ["kilograms", "[customer]"],
      ),
      frame(
        "the field [field] stays in the answer until [sunset=date] for the sake of the old " +
          "scanners, although it is always empty.",
        "Which empty field are we carrying along, and how long?",
        "What useless piece of the payload cannot be removed yet, and when can it?",
        ["[field]", "[sunset]"],
      ),
      frame(
        "the names of drivers are erased [days=21..45] days after they pass the gate, the " +
          "backups in [port] included.",
        "What becomes of the names of drivers?",
        "What is our retention period for personal details on truckers?",
        ["[days]", "[port]"],
      ),
    ],
    aside: [
      frame(
        "Whoever touches the tariff code should, I think, have a coffee with [person], because " +
          "the rounding for [port] is written down nowhere.",
        "Whom does one see about the tariff code, and why?",
        "Which undocumented price quirk is there, and who knows it?",
        ["[person]", "[port]"],
      ),
      frame(
        "We tend to keep releases away from the [day] after a public holiday (the yard in [port] " +
          "is bedlam then).",
        "When do we avoid releases, and because of which yard?",
        "What is an unfortunate moment to go live?",
        ["[day]", "[port]"],
      ),
      frame(
        "~[customer] still sends its container numbers in lower case, and I would simply accept " +
          "that.",
        "What is peculiar about the container numbers some people give us?",
        "With whose sloppy identifiers should we be lenient, and in what respect?",
        ["[customer]", "lower case"],
      ),
      frame(
        "It may sound fussy, but an error text had better not name the [ship], since her owners " +
          "read everything we return.",
        "What should an error text keep silent about, and why?",
        "Whose identity does not belong in failure messages?",
        ["[ship]", "owners"],
      ),
      frame(
        "If retries are needed, and they will be, a pause of [pause=35..75] seconds would keep " +
          "[host] from falling over again.",
        "How should retries be spaced, and for the sake of what?",
        "How long does a polite client wait, and which machine is delicate?",
        ["[pause]", "[host]"],
      ),
      frame(
        "The test booking [ref] looks like rubbish, but I would leave it alone, because customs " +
          "in [port] takes it for our heartbeat.",
        "Which test booking should stay, and who needs it?",
        "What odd entry is not to be cleaned up, and which authority relies on that?",
        ["[ref]", "[port]"],
      ),
    ],
    decision: [
      frame(
        "We went with [broker] for the events, because [broker2] lost them whenever the " +
          "satellite link in [port] dropped.",
        "What carries our events, and what was tested against it?",
        "Which queue product was chosen, and what was its rival's weakness?",
        ["[broker]", "[broker2]", "[port]"],
      ),
      frame(
        "Cut-offs are computed in the local time of the quay and not in UTC, since " +
          "[trucks=31..64] lorries were sent home last autumn.",
        "On which clock are cut-offs based, and why?",
        "In what zone do deadlines count, and which incident led to that?",
        ["local time", "[trucks]"],
      ),
      frame(
        "Overbooking is switched on for the [ship] alone, up to [over=11..19] percent, as that " +
          "is how many of her boxes never show up.",
        "Where is overbooking on, and how far does it go?",
        "By what margin may we sell more room than exists, and on which vessel?",
        ["[ship]", "[over]"],
      ),
      frame(
        "A price is frozen for [hold=25..55] minutes from the request, because the brokers in " +
          "[port] phone their clients first.",
        "For how long does a price stay the same, and why?",
        "What period does a quote hold, and on whose account?",
        ["[hold]", "[port]"],
      ),
      frame(
        "Large bookings get a ticket at [endpoint] instead of an immediate answer, since the " +
          "stowage check takes up to [stow=110..290] seconds.",
        "How do large bookings get their result?",
        "Why are some calls asynchronous, and where does one poll?",
        ["[endpoint]", "[stow]"],
      ),
      frame(
        "An amendment adds a new version and overwrites nothing, because [customer] won a " +
          "dispute about an edit nobody could date.",
        "What does an amendment do, and whose case led to it?",
        "Why is no record ever modified in place?",
        ["new version", "[customer]"],
      ),
    ],
    fact: [
      frame(
        "The [ship] has [plugs=120..240] reefer plugs on deck, of which [dead=13..29] are out of " +
          "order until the next dock.",
        "How many reefer plugs are there, and how many work?",
        "What is the capacity for refrigerated cargo, and on which vessel?",
        ["[ship]", "[plugs]", "[dead]"],
      ),
      frame(
        "The terminal in [port] answers in XML and writes the year with two digits, even in " +
          "birth dates.",
        "What is odd about the XML of a terminal, and which one is it?",
        "Which partner has an ambiguous calendar notation, and in what way?",
        ["[port]", "two digits"],
      ),
      frame(
        "About [share=56..83] percent of all calls come from [customer], most of them before " +
          "[early=time 5-7].",
        "Where do most calls come from, and when?",
        "Who causes our traffic, and how much of it?",
        ["[share]", "[customer]", "[early]"],
      ),
      frame(
        "The sandbox runs on [host] with timetables from [year=2008..2019], so the voyages in it " +
          "look {absurd|ancient}.",
        "Where is the sandbox, and what is loaded there?",
        "Which machine can outsiders play with, and how old is its content?",
        ["[host]", "[year]"],
      ),
      frame(
        "The contract for the tracking feed is with [vendor] and ends on [end=date], without a " +
          "renewal clause.",
        "Whose tracking feed do we use, and how long?",
        "Who tells us positions of ships, and until when will that last?",
        ["[vendor]", "[end]"],
      ),
      frame(
        "Our own booking numbers have [chars=11..17] characters, and the last one is a check " +
          "digit modulo [mod=23..37].",
        "What do our booking numbers look like?",
        "How is an identifier built and validated?",
        ["[chars]", "[mod]"],
      ),
    ],
    failed: [
      frame(
        "Guessing the container type from [field] was wrong for [wrong=21..38] percent of the " +
          "reefers and all of the flat racks.",
        "Is there a way to infer the container type?",
        "How reliable was deriving the kind of box automatically, and what was it derived of?",
        ["[field]", "[wrong]"],
      ),
      frame(
        "Locking the whole voyage during a booking brought [port] to a standstill for " +
          "[stuck=41..78] minutes.",
        "What did locking the voyage do?",
        "Which approach to concurrency blocked everyone, and where?",
        ["[port]", "[stuck]"],
      ),
      frame(
        "The GraphQL layer that [person] put before the old core ended with [queries=210..380] " +
          "queries for a single page.",
        "What came of GraphQL?",
        "How did wrapping the legacy system in something flexible turn out, and whose work was " +
          "that?",
        ["[person]", "[queries]"],
      ),
      frame(
        "Push updates to the ships through [provider] failed, because their antenna is up for " +
          "only [window=12..19] minutes a day.",
        "Why do ships get no push updates?",
        "Can vessels be informed at once, and what is the obstacle?",
        ["[provider]", "[window]"],
      ),
      frame(
        "We asked all terminals to hash their manifests, and only [port] ever did, over text in " +
          "[encoding].",
        "How did it go with asking terminals to hash?",
        "Did partners deliver checksums of cargo lists, and in what shape?",
        ["[port]", "[encoding]"],
      ),
    ],
  },
  steps: [
    "sketching the booking schema",
    "stubbing the terminals",
    "paging the sailing list",
    "validating container numbers",
    "pricing the surcharges",
    "writing the retry policy",
    "signing the webhooks",
    "loading the port codes",
    "rate-limiting the agents",
    "testing the cut-off rules",
    "documenting the error codes",
    "migrating the old agents",
    "replaying the peak week",
    "auditing the amendments",
    "splitting the stowage call",
  ],
  things: [
    "the booking form",
    "the sailing list",
    "the tariff table",
    "the stowage service",
    "the agent portal",
    "the error catalogue",
    "the reefer module",
    "the webhook queue",
    "the port directory",
    "the invoice run",
    "the staging cluster",
  ],
  senders: [
    "the sales desk",
    "the platform team",
    "the port agent",
    "the integration lead",
    "the chief mate",
    "the legal department",
    "the on-call engineer",
    "the stowage planner",
    "the support line",
  ],
  pools: {
    ship: ["Halcyra", "Nordvane", "Pelagia Star", "Tormentil", "Sorrelwind", "Ketterick"],
    port: [
      "Nouadhibou",
      "Vlissingen",
      "Setubal",
      "Paranagua",
      "Iskenderun",
      "Gdynia",
      "Toamasina",
      "Klaipeda",
      "Arica",
      "Esbjerg",
      "Kotka",
      "Berbera",
    ],
    customer: [
      "Brightmoor Fruit",
      "Ostler Timber",
      "Van Drooge",
      "Casa Belinho",
      "Quarrick Steel",
      "Ilmari Paper",
    ],
    hazard: ["4.3", "5.2", "6.1", "2.3", "1.4"],
    field: ["legVoyage", "altPolCode", "hazFlagOld", "shipperRef2", "tareHint"],
    host: ["bollard", "fairlead", "gangway", "hawsepipe", "keelson"],
    ref: ["ZQX-0017", "OOP-0093", "TTY-0055", "NUL-0068"],
    broker: ["Quaybus", "Tidelog", "Marlinq", "Sternpost", "Lighter"],
    endpoint: ["v3/tickets", "later/claims", "hold/receipts", "defer/stubs"],
    vendor: ["Seawhere", "Marinaut", "Hullwatch", "Posidonia"],
    provider: ["Orbicast", "Farcaller", "Satyrlink", "Overhorizon"],
    encoding: ["EBCDIC", "KOI8", "Shift-JIS", "Latin-5"],
  },
};
