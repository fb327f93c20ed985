/** Shift-planning software for hospital wards. */

import { frame, type World } from "../world.ts";

export const rota: World = {
  name: "second-rota",
  intents: [
    {
      says: "The sisters on [ward] publish the rota for a month in one sitting, without a spreadsheet.",
      key: ["one sitting", "[ward]"],
    },
    {
      says: "Every nurse can see why a duty fell to her, and [person] can see that it was fair.",
      key: ["fell to her", "[person]"],
    },
    {
      says: "The planning program from [company] is switched off and nobody on the wards misses it.",
      key: ["switched off", "[company]"],
    },
  ],
  frames: {
    must: [
      frame(
        "nobody starts an early less than [rest=11..14] hours after a late, and that check sits " +
          "in [module] and nowhere else.",
        "How much time lies between a late and an early, and where is that in the code?",
        "What is the minimum break from one duty to the next, and which file enforces it?",
        ["[rest]", "[module]"],
      ),
      frame(
        "the reason for a sick note never leaves the machine called [host], not even inside a " +
          "log line or a crash dump.",
        "Where may we store the reason for a sick note?",
        "What about medical details of staff, which server keeps them?",
        ["[host]", "crash dump"],
      ),
      frame(
        "a published rota changes only with the initials of [person] or [person2] in the audit " +
          "table.",
        "Who can authorise touching a published rota?",
        "Whose approval is needed for corrections once the plan is out?",
        ["[person]", "[person2]"],
      ),
      frame(
        "the page works on the [device] tablets in the sluice room, which are stuck at browser " +
          "version [version=61..89].",
        "Which tablets have to be supported?",
        "What is the oldest equipment staff will open this with?",
        ["[device]", "[version]"],
      ),
      frame(
        "at least [share=34..48] percent of every night team holds the resuscitation " +
          "certificate, rounded up and without exceptions for holidays.",
        "What qualification mix does the night team need?",
        "Which part of those on duty after dark has to be trained in reviving patients?",
        ["[share]", "resuscitation"],
      ),
      frame(
        "a leave request gets its answer within [days=15..24] days, and after that the system " +
          "treats it as granted.",
        "What becomes of a leave request nobody has looked at?",
        "How long may somebody wait about a holiday, and what is the default?",
        ["[days]", "granted"],
      ),
    ],
    aside: [
      frame(
        "~the porters on [ward] read the plan from a photocopy, so anything that shows only in " +
          "colour is lost on them.",
        "How do the porters get to see the plan?",
        "Who depends on printouts, and what should the layout therefore avoid?",
        ["[ward]", "colour"],
      ),
      frame(
        "I think [person] would rather be asked before a bank nurse is booked for more than " +
          "[limit=12..22] duties in a month.",
        "When does somebody have to be consulted about a bank nurse?",
        "Is there a ceiling for temporary workers, and who has a say in it?",
        ["[person]", "[limit]"],
      ),
      frame(
        "If you touch the export, do leave its columns in their order (a macro in [office] " +
          "counts them up to number [column=26..47]).",
        "What should stay as it is in the export, and who relies on it?",
        "Why is rearranging the fields of the salary file a bad idea?",
        ["[office]", "[column]"],
      ),
      frame(
        "It is a habit here, and a good one I find, that deploys happen on [day] before " +
          "[hour=time 8-10], when both matrons are in the house.",
        "When do deploys take place?",
        "What is the agreed moment for putting a fresh version live?",
        ["[day]", "[hour]"],
      ),
      frame(
        "Our union representative, [person], has so far read every text on the swap screen " +
          "first, and I would not be the one to end that.",
        "Whose eyes should the swap screen pass?",
        "Who looks over wording about exchanging duties beforehand?",
        ["[person]", "union"],
      ),
      frame(
        "Test data is fine with me, so long as it is made from [dataset] and not from real " +
          "people again.",
        "Where may test data come from?",
        "What should examples in our trials be based on?",
        ["[dataset]", "real people"],
      ),
    ],
    decision: [
      frame(
        "We gave up the [solver] engine for a plain greedy pass with repairs, because no nurse " +
          "could be told why it chose what it chose.",
        "What took the place of the engine, and what was wrong with it?",
        "How are assignments computed these days, and what spoke against the previous approach?",
        ["[solver]", "greedy"],
      ),
      frame(
        "A swap between colleagues counts after [hours=36..72] hours without an objection, since " +
          "waiting for a manager to click stalled {most|nearly all} of them.",
        "When does a swap become valid?",
        "How are mutual exchanges confirmed, and why not by a superior?",
        ["[hours]", "objection"],
      ),
      frame(
        "The weekend counter starts over on [reset=date], so that those who joined in spring are " +
          "not behind from the outset.",
        "When does the weekend counter go back to zero?",
        "From when do we tally Saturdays and Sundays afresh, and for whose sake?",
        ["[reset]", "spring"],
      ),
      frame(
        "Notifications go out as text messages through [gateway], because half of the cleaners " +
          "have no hospital mail at home.",
        "How do notifications reach people?",
        "By what channel does everyone hear about alterations, and why that one?",
        ["[gateway]", "cleaners"],
      ),
      frame(
        "A duty belongs to the date on which it begins, as [person] showed that the other way " +
          "round breaks [contracts=52..88] contracts.",
        "To which date does a duty belong when it crosses midnight?",
        "How do we book overnight stints, and whose evidence settled it?",
        ["begins", "[person]", "[contracts]"],
      ),
      frame(
        "The rule editor stays out of the interface for now, because on [ward] two contradicting " +
          "entries cost us {an entire|a whole} month.",
        "Why can users not get at the rule editor?",
        "Why do constraints have to be altered by a programmer?",
        ["[ward]", "contradicting"],
      ),
    ],
    fact: [
      frame(
        "The old system keeps its duties in a table called [table], with the start given in " +
          "minutes since [zero=time 3-5].",
        "Where did the old system put its duties?",
        "Under which name does the predecessor hold assignments, and how is their beginning " +
          "encoded?",
        ["[table]", "[zero]"],
      ),
      frame(
        "On [ward] there are [beds=19..33] beds, but it plans for [planned=41..56], because the " +
          "day clinic borrows its people.",
        "For how many beds are we really planning?",
        "What capacity do we reckon with, and why is it larger than the rooms suggest?",
        ["[ward]", "[beds]", "[planned]"],
      ),
      frame(
        "The staff list has [names=140..390] names on it, of whom [part=57..96] work less than " +
          "half time.",
        "How long is the staff list, and how many are part-timers?",
        "How big is our workforce, and how many have reduced contracts?",
        ["[names]", "[part]"],
      ),
      frame(
        "The interface to payroll is looked after by [person] at [company], and nobody else " +
          "there has ever opened it.",
        "Who takes care of the payroll interface?",
        "Whom could we contact when the link to salaries breaks?",
        ["[person]", "[company]"],
      ),
      frame(
        "The clock on [host] runs [drift=41..88] seconds fast, which the IT department regards " +
          "as within the normal range.",
        "What is wrong with the clock, and on which server?",
        "Which computer has an incorrect time, and by what margin?",
        ["[host]", "[drift]"],
      ),
      frame(
        "A full plan for four weeks takes [slow=95..240] seconds on the hospital's own hardware, " +
          "against [fast=12..24] on my laptop.",
        "How long does a full plan need to compute?",
        "What performance do we see there compared with a developer's computer?",
        ["[slow]", "[fast]"],
      ),
    ],
    failed: [
      frame(
        "Reading the wish slips with [scanner] got the initials wrong on [wrong=31..58] out of a " +
          "hundred.",
        "What about processing wish slips automatically?",
        "How well did recognising handwritten preferences go, and with what product?",
        ["[scanner]", "[wrong]"],
      ),
      frame(
        "We let the teams fill a shared sheet by themselves, and [ward] ended up with every late " +
          "taken twice and no nights.",
        "How did it go when the teams had a shared sheet?",
        "Was self-organisation ever attempted, and what came of it?",
        ["[ward]", "twice"],
      ),
      frame(
        "Keeping the fairness score in [cache] made it drift, because a single swap moves the " +
          "figures of [moved=13..26] people at once.",
        "What went wrong around storing the fairness score?",
        "Can we avoid recomputing the balance values each time?",
        ["[cache]", "[moved]"],
      ),
      frame(
        "Writing straight into private calendars broke on [vendor] accounts, which silently drop " +
          "anything longer than [max=605..715/5] minutes.",
        "Why do private calendars get no updates from us?",
        "What prevents duties from showing up on people's own phones?",
        ["[vendor]", "[max]"],
      ),
      frame(
        "A push reminder at [ping=time 6-8] woke everyone who had been on nights, and " +
          "[muted=41..77] of them muted the app for good.",
        "Why is there no push reminder?",
        "What did we learn from alerting folks early in the day?",
        ["[ping]", "[muted]"],
      ),
    ],
  },
  steps: [
    "modelling the shift types",
    "importing the staff list",
    "drawing the month view",
    "writing the rest-time check",
    "building the swap screen",
    "sending the notifications",
    "printing the wall plan",
    "measuring the fairness score",
    "migrating the leave balances",
    "hardening the login",
    "connecting the payroll export",
    "rehearsing with the matrons",
    "translating the error texts",
    "profiling the planner",
    "covering the bank holidays",
  ],
  things: [
    "the swap screen",
    "the month view",
    "the leave calendar",
    "the payroll export",
    "the fairness score",
    "the night list",
    "the planner",
    "the wall plan",
    "the audit table",
    "the login page",
    "the handover sheet",
  ],
  senders: [
    "the ward manager",
    "the night matron",
    "the payroll office",
    "the IT desk",
    "the works council",
    "the tester",
    "the backend team",
    "the head of nursing",
    "the student nurse",
  ],
  pools: {
    ward: ["Larkspur", "Bramling", "Tamarisk", "Cygnet", "Juniper East", "Meadowsweet"],
    module: ["quorum.rs", "pelican.rs", "lanternfish.rs", "mangrove.rs", "oxbow.rs", "thimble.rs"],
    host: ["amaranth", "bulrush", "cormorant", "dogwood", "esparto", "foxglove"],
    device: ["Sanitab", "Clinislate", "Wardex", "Medipane", "Asklepad"],
    office: ["Dunkerley House", "Annexe Q", "Spitalgate", "the Mews", "Old Dispensary"],
    dataset: ["marionettes.csv", "paperdolls.csv", "scarecrows.csv", "understudies.csv"],
    solver: ["Gridwell", "Ortolan", "Pinnate", "Combinarius", "Kestrelplan"],
    gateway: ["Smslark", "Pagerline", "Tellwire", "Brieftaube", "Knockknock"],
    table: ["DNST_PLAN2", "tblZeitenB", "ROST_ARCH", "dienst_alt", "pl_rows_b"],
    company: ["Hollins Berg", "Numerata", "Castellan Data", "Ubique Systems", "Vierkant"],
    scanner: ["Glyphreader", "Inkling", "Handscan Pro", "Scrivenor"],
    cache: ["Stashbox", "Larderdb", "Quickshelf", "Memovar"],
    vendor: ["Calendo", "Dayflow", "Almanach", "Terminix"],
  },
};
