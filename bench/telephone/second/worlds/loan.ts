/** The loan of valuable objects from one museum to another. */

import { frame, type World } from "../world.ts";

export const loan: World = {
  name: "second-loan",
  intents: [
    {
      says: "The [object] comes to us, is seen by the town, and goes home in the condition it came in.",
      key: ["seen by the town", "[object]"],
    },
    {
      says: "We open the exhibition with all promised pieces, and [museum] wants to lend to us again.",
      key: ["lend to us again", "[museum]"],
    },
    {
      says: "The treasury of [city] is under one roof for the first time since it was dispersed.",
      key: ["under one roof", "[city]"],
    },
  ],
  frames: {
    must: [
      frame(
        "light on the [object] never exceeds [lux=42..58] lux, and the reading goes into the " +
          "{condition book|object file} each morning.",
        "How much light is permitted, and on what?",
        "What brightness is tolerable for which sensitive exhibit?",
        ["[object]", "[lux]"],
      ),
      frame(
        "a crate stays closed for [hours=20..36] hours after it has come in, so that the wood " +
          "inside can take on the climate of the hall.",
        "When may a crate be opened, and what are we waiting for?",
        "How long do we let things rest before unpacking, and why?",
        ["[hours]", "climate"],
      ),
      frame(
        "a courier of the lender sits in the lorry from door to door, and [person] is the only " +
          "one who may relieve them.",
        "Who can stand in for the courier, and over which stretch?",
        "Who is entitled to take over accompanying the truck?",
        ["[person]", "door to door"],
      ),
      frame(
        "cover of [sum=12..38] million is confirmed in writing by [insurer] before anything " +
          "comes off the wall.",
        "What cover has to exist, and from whom?",
        "For which amount is the shipment insured, and which company guarantees it?",
        ["[sum]", "[insurer]"],
      ),
      frame(
        "no photograph of the back of the [object] is published, as the stamp on it is part of " +
          "an ownership case in [city].",
        "Why is a photograph of the back out of the question?",
        "Which picture has to be kept from the press, and where is the dispute pending?",
        ["[object]", "[city]"],
      ),
      frame(
        "the showcase key exists twice, with [person] and in the sealed envelope at the [gate] " +
          "desk, and is not copied.",
        "Who has a key to the showcase?",
        "Where are the means of unlocking the vitrine to be found?",
        ["[person]", "[gate]"],
      ),
    ],
    aside: [
      frame(
        "I am told the lender likes to be called [museum] on the first panel, and without the " +
          "word collection after it.",
        "What does the lender like to be called?",
        "Where should credit be given, and in what form?",
        ["[museum]", "first panel"],
      ),
      frame(
        "The family would not enjoy reading about the auction of [year=1907..1934] on a label, " +
          "so [person] and I tend to say acquired.",
        "How do we put it on a label that there was an auction?",
        "What wording is customary about how it came into our hands?",
        ["[year]", "acquired"],
      ),
      frame(
        "~drinks are fine at the opening as long as they stay below the [gate] stairs, which has " +
          "always been the deal.",
        "Where may drinks be had at the opening?",
        "How far may guests carry a glass?",
        ["[gate]", "below"],
      ),
      frame(
        "School groups (I love them, but still) should come through in parties of at most " +
          "[pupils=14..24], with [person] told the day before.",
        "How do we handle school groups?",
        "How many youngsters at once, and who wants advance notice?",
        ["[pupils]", "[person]"],
      ),
      frame(
        "The cleaners know it already, but it cannot hurt to repeat that the mop keeps " +
          "[distance=140..260/5] centimetres away from the plinth.",
        "What do the cleaners have to mind near the plinth?",
        "Up to which line is moisture tolerated on the floor?",
        ["mop", "[distance]"],
      ),
      frame(
        "If it were up to me, nothing would reach [museum] on a [day], when the registrar is " +
          "away and the temp signs for anything.",
        "When is the registrar not there, and where?",
        "What is a bad moment for deliveries, and to which partner?",
        ["[museum]", "[day]"],
      ),
    ],
    decision: [
      frame(
        "The [object] goes by road through [city] and not by air, because the vibration log of " +
          "its last flight was {terrible|worrying}.",
        "What goes by road, and which way?",
        "Which route do we take, and what spoke against a plane?",
        ["[city]", "vibration"],
      ),
      frame(
        "We show it lying at [slope=12..28] degrees instead of upright, since [person] found the " +
          "upper edge too weak to hang from.",
        "Why is it not upright, and how do we show it?",
        "How is the exhibit tilted, and who recommended this?",
        ["[slope]", "[person]"],
      ),
      frame(
        "The loan ends on [end=date], earlier than the contract says, because the boiler of the " +
          "[gate] wing is being replaced.",
        "When is the loan over, and why?",
        "Until what point can we keep it, and why is the time cut short?",
        ["[end]", "[gate]"],
      ),
      frame(
        "We pay [person] for a copy of the frame, for the original would need [screws=31..47] " +
          "screws drawn out of old gilding.",
        "What happens about the frame, and why?",
        "Why is a replica being made, and by which craftsman?",
        ["[person]", "[screws]"],
      ),
      frame(
        "Tickets are sold in slots of [slot=17..28] minutes, as the fire officer lets only " +
          "[people=41..65] people into the vault.",
        "How are tickets organised, and why in that way?",
        "How is the flow of visitors divided, and what limits it?",
        ["[slot]", "[people]"],
      ),
      frame(
        "The wall texts follow the spelling of [person] and not the database, because the " +
          "director abroad wrote a thesis on it.",
        "Which spelling do the wall texts use, and why?",
        "Whose way of putting names did we adopt, and for what reason?",
        ["[person]", "thesis"],
      ),
    ],
    fact: [
      frame(
        "The largest crate measures [width=131..168] by [length=172..218] centimetres, and the " +
          "goods lift takes it only on the diagonal.",
        "How big is the largest crate?",
        "What are the outer dimensions of the box, and does it go up?",
        ["[width]", "[length]"],
      ),
      frame(
        "Humidity in the hall was [wet=43..54] percent all through the winter, with a jump of " +
          "[jump=11..17] points when the choir sang.",
        "How did humidity behave in the hall?",
        "How stable was moisture in the air there?",
        ["[wet]", "[jump]"],
      ),
      frame(
        "The condition report of [year=1986..2009] lists [losses=21..36] old losses along the " +
          "lower edge, none of them restored.",
        "What does the condition report say, and when was it made?",
        "How much damage was documented back then, and how long ago is that?",
        ["[year]", "[losses]"],
      ),
      frame(
        "Our contact at the customs office in [city] is [person], who insists on having " +
          "everything by fax.",
        "Who deals with us at the customs office?",
        "Which civil servant handles the import documents, and where?",
        ["[city]", "[person]"],
      ),
      frame(
        "The transport quote from [haulier] stands at [price=18400..39700/100] euros, and the " +
          "police escort is not in it.",
        "What does the transport quote come to, and whose is it?",
        "Which firm moves our things, and how much do they charge?",
        ["[haulier]", "[price]"],
      ),
      frame(
        "The number painted on the [object] is [inv], while the lender's own list has it as " +
          "[inv2].",
        "Which number is painted on it, and which one does the lender use?",
        "Under what conflicting identifiers is it registered?",
        ["[inv]", "[inv2]"],
      ),
    ],
    failed: [
      frame(
        "The gel packs from [product] dried out within [days=13..25] days and cannot hold a " +
          "showcase steady.",
        "How did the gel packs do?",
        "Which passive means of regulating dampness gave up, and how soon?",
        ["[product]", "[days]"],
      ),
      frame(
        "Sharing a lorry with the show in [city] fell through, since [haulier] refuses mixed " +
          "loads from two owners.",
        "What about sharing a lorry?",
        "Could we split freight costs with someone else, and who said no?",
        ["[city]", "[haulier]"],
      ),
      frame(
        "Our request for the companion piece was turned down by [museum] in a letter of " +
          "[sent=date] that gives no reason.",
        "Will we get the companion piece?",
        "Who will not give us the counterpart, and when did we hear?",
        ["[museum]", "[sent]"],
      ),
      frame(
        "Fibre lighting by [maker] hummed at [hz=110..190] hertz, loudly enough for the guards " +
          "to unplug it.",
        "Why did we drop fibre lighting?",
        "Which lamps were unbearable, and what was their tone?",
        ["[maker]", "[hz]"],
      ),
      frame(
        "Scanning the [object] with the laser arm gave nothing but speckle, because its gilding " +
          "throws back [mirror=71..93] percent of the beam.",
        "Is there any point in scanning with the laser?",
        "Can we get a digital model, and what stands against it?",
        ["[object]", "[mirror]"],
      ),
    ],
  },
  steps: [
    "drafting the loan agreement",
    "booking the couriers",
    "measuring the goods lift",
    "writing the wall texts",
    "building the plinths",
    "checking the condition reports",
    "ordering the showcase glass",
    "clearing the customs papers",
    "training the guards",
    "hanging the lamps",
    "printing the tickets",
    "planning the opening night",
    "mounting the tapestry",
    "briefing the press",
    "packing for the return",
  ],
  things: [
    "the loan agreement",
    "the showcase",
    "the goods lift",
    "the treasury hall",
    "the opening speech",
    "the ticket desk",
    "the condition book",
    "the lighting plan",
    "the press kit",
    "the packing list",
    "the audio guide",
  ],
  senders: [
    "the registrar",
    "the curator",
    "the conservator",
    "the front desk",
    "the lender's secretary",
    "the exhibition architect",
    "the head of security",
    "the education team",
    "the carpenter",
  ],
  pools: {
    museum: ["Vasterling Museum", "Ormskjold House", "Pellegrane", "Stift Tuchau", "Lindisvaar"],
    object: ["astrolabe", "reliquary", "virginal", "aquamanile", "altar cloth", "nautilus cup"],
    city: ["Kalmar", "Udine", "Tartu", "Coimbra", "Szeged", "Bergamo", "Kotor"],
    gate: ["Ravelin", "Postern", "Barbican", "Orangery", "Cistern"],
    insurer: ["Artemon Trust", "Lloyd Vennemar", "Kunsthort", "Bellwarden", "Palladia"],
    haulier: ["Korvander", "Transmuse", "Artesk", "Bruggeman Fine", "Halvorsund"],
    maker: ["Lumenor", "Glasfaden", "Noctiluce", "Brightwick"],
    product: ["Hygrosil", "Aridax", "Prosorbin", "Caskadry"],
    inv: ["K-7714", "VR-3092", "LX-5581", "HB-6420", "TN-8836", "QS-2957"],
  },
};
