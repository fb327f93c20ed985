/** The restoration of an organ in a parish church. */

import { frame, type World } from "../world.ts";

export const organ: World = {
  name: "second-organ",
  intents: [
    {
      says: "The organ plays every rank again at the feast of the patron saint in [town].",
      key: ["patron saint", "[town]"],
    },
    {
      says: "We hand the instrument back to the parish in the state [maker] left it in.",
      key: ["hand the instrument back", "[maker]"],
    },
    {
      says: "The congregation gets an organ it can afford to maintain, with [person] trained for it.",
      key: ["afford to maintain", "[person]"],
    },
  ],
  frames: {
    must: [
      frame(
        "no pipe leaves the church without a numbered tag, and [person] signs the list before " +
          "the van drives off.",
        "What has to happen before a pipe may travel to the workshop?",
        "Under which condition may parts be taken out of the building, and who has to approve?",
        ["[person]", "numbered tag"],
      ),
      frame(
        "the nave stays between [low=11..14] and [high=16..19] degrees while the soundboards lie " +
          "open, because the old hide splits otherwise.",
        "How warm may it get around the soundboards?",
        "What climate do we have to keep as long as the chests are uncovered?",
        ["[low]", "[high]", "degrees"],
      ),
      frame(
        "nobody sands or polishes the case front, since the paint of [year=1672..1748] under the " +
          "varnish is listed by the heritage office.",
        "Why may the case front not be treated?",
        "What protects the outer decoration from being cleaned up?",
        ["[year]", "heritage office"],
      ),
      frame(
        "the pitch stays at [hz=431..438] hertz, as the parish brass band has bought its " +
          "instruments to go with it.",
        "Which pitch are we bound to, and for whose sake?",
        "What frequency should the A have, and who depends on that?",
        ["[hz]", "brass band"],
      ),
      frame(
        "the blower is off by [until=time 18-20] on weekdays, for the house behind the sacristy " +
          "has been to the council {once|twice} already.",
        "How late is the blower allowed to run?",
        "When does the noise have to stop out of respect for neighbours?",
        ["[until]", "weekdays"],
      ),
      frame(
        "every joint is made with the bone glue from [supplier], so that the next restorer can " +
          "undo it with warm water.",
        "Where do we get the glue, and what is the point of that kind?",
        "What are loose parts to be stuck together with, and for what reason?",
        ["[supplier]", "undo"],
      ),
    ],
    aside: [
      frame(
        "I would be {grateful|glad} if the swell box were left shut overnight, since the bats " +
          "come in by the window above it.",
        "How do we leave the swell box when everybody goes home?",
        "Is there anything to close at the end of the working day because of animals?",
        ["shut overnight", "bats"],
      ),
      frame(
        "~[person] prefers to hear about any spending above [sum=150..480/10] euros beforehand, " +
          "even when the treasurer is on holiday.",
        "Who wants to know about larger spending, and from which amount on?",
        "How expensive may something be without asking anyone first?",
        ["[person]", "[sum]"],
      ),
      frame(
        "The verger said, more or less while leaving, that the north door key goes back to " +
          "[person] and never under the flowerpot.",
        "Where does the key of the north door belong?",
        "To whom do we return what opens the building?",
        ["[person]", "flowerpot"],
      ),
      frame(
        "When you photograph a pipe, it might be best to have the brass ruler from [person] in " +
          "the frame, for otherwise nobody can judge the scale.",
        "What belongs next to a pipe when we photograph it?",
        "What should be visible in images so that one sees how big things are?",
        ["[person]", "brass ruler"],
      ),
      frame(
        "If I may add one thing, the children's choir rehearses on [day] from [start=time " +
          "15-17], so hammering then would be unkind.",
        "When should we be quiet for the choir?",
        "Which hours are a bad moment to be loud?",
        ["[day]", "[start]"],
      ),
      frame(
        "It would be sensible, I suppose, to put no oil on the [stop] action, not even on the " +
          "roller that squeaks.",
        "Which action is to be left without lubricant?",
        "Where should grease be avoided in spite of a noisy part?",
        ["[stop]", "roller"],
      ),
    ],
    decision: [
      frame(
        "We keep the pneumatic pedal instead of going electric, because [person] can still draw " +
          "the lead tubing for it.",
        "How will the pedal be driven in future?",
        "Did we modernise the lowest division with magnets, and what was the argument?",
        ["pneumatic", "[person]"],
      ),
      frame(
        "The [stop] gets tongues of [gauge=31..48] hundredths in brass, since the ones we found " +
          "had been filed too thin to speak.",
        "What do we do about the tongues?",
        "Which reed rank receives replaced vibrating parts, and of what thickness?",
        ["[stop]", "[gauge]"],
      ),
      frame(
        "We chose [timber] for the missing stickers, as the board in the tower loft has been " +
          "drying since before the war.",
        "What are the missing stickers going to be made of?",
        "Which wood replaces the lost connecting rods, and where does it come from?",
        ["[timber]", "tower loft"],
      ),
      frame(
        "The tremulant goes out for good, because nobody has heard it since [year=1951..1978] " +
          "and it shakes the [stop] chest loose.",
        "What happens with the tremulant, and on what grounds?",
        "Which wobbling device are we removing, and what speaks against it?",
        ["[year]", "[stop]"],
      ),
      frame(
        "Tuning waits until [begin=date], for by then the heating will have been off long enough " +
          "for the metal to settle.",
        "When does tuning begin, and why so late?",
        "From what point do we bring everything into harmony, and why not earlier?",
        ["[begin]", "heating"],
      ),
      frame(
        "The console moves [cm=35..85] centimetres towards the pulpit, so that the organist can " +
          "see [person] conduct from the side gallery.",
        "How far does the console get shifted, and for whom?",
        "By what distance is the playing desk being relocated, and for whose benefit?",
        ["[cm]", "[person]"],
      ),
    ],
    fact: [
      frame(
        "The bellows were last releathered by [maker] in [year=1893..1938], according to a " +
          "pencil line inside the lid.",
        "Who worked on the bellows before us?",
        "Which firm renewed the skin of the wind supply, and how long ago?",
        ["[maker]", "[year]"],
      ),
      frame(
        "The [stop] was not built for this church at all but came from the chapel at [town] when " +
          "that was pulled down.",
        "Which rank came to this church from elsewhere?",
        "What part of the instrument is second-hand, and where did it stand originally?",
        ["[stop]", "[town]"],
      ),
      frame(
        "The wind pressure at the main trunk is [mm=62..88] millimetres, {a little " +
          "above|slightly below} what the contract of [maker] says.",
        "What did measuring the wind pressure give?",
        "How strong is the air it all runs on, and whose paper disagrees?",
        ["[mm]", "[maker]"],
      ),
      frame(
        "There are [count=1180..1860] pipes in total, of which [mute=21..34] in the front have " +
          "never been connected to anything.",
        "How many pipes are there, and how many of them are dummies?",
        "What is the size of the instrument, and how much of it is mere show?",
        ["[count]", "[mute]"],
      ),
      frame(
        "The woodworm report by [person] found live larvae in only two places, the bench and the " +
          "lowest [stop] rack.",
        "Where was woodworm seen, and by whom?",
        "Which spots are infested, and who says so?",
        ["[person]", "[stop]"],
      ),
      frame(
        "The transport insurance with [insurer] runs out on [end=date], and they will not extend " +
          "it past that day.",
        "How long does the insurance last, and with which company is it?",
        "Until when are the vans covered against damage, and by whom?",
        ["[insurer]", "[end]"],
      ),
    ],
    failed: [
      frame(
        "Soaking the old leather in [product] made it as stiff as card within a week, so that " +
          "leads nowhere.",
        "What came of soaking the leather?",
        "Which treatment hardened the skins?",
        ["[product]", "stiff"],
      ),
      frame(
        "Straightening the [stop] pipes on a mandrel opened the seam on [bad=41..58] of them " +
          "before anyone noticed.",
        "What happened when pipes were put on the mandrel?",
        "Which attempt at removing dents did harm, and how much?",
        ["[stop]", "[bad]"],
      ),
      frame(
        "Writing to [maker] for the original drawings came to nothing, because their archive " +
          "burned in [year=1911..1944].",
        "Can the original drawings still be had?",
        "Why are there no plans from the builder?",
        ["[maker]", "[year]"],
      ),
      frame(
        "Blowing out the dust with compressed air drove it into the [stop] pallets, which took " +
          "[evenings=12..19] evenings to put right.",
        "How did it go with getting rid of the dust?",
        "Which quick method against dirt backfired, and which part suffered?",
        ["[stop]", "[evenings]"],
      ),
      frame(
        "We glued the split soundboard with [product] under clamps, and it opened again at the " +
          "first frost.",
        "Has anyone mended the soundboard before?",
        "Which earlier repair of the crack did not hold, and when did it fail?",
        ["[product]", "frost"],
      ),
    ],
  },
  steps: [
    "labelling the trumpet pipes",
    "lifting out the pedal chest",
    "washing the keyboards",
    "releathering the bellows",
    "straightening the trackers",
    "replacing the pallet springs",
    "drawing up the rank list",
    "testing the blower motor",
    "voicing the principal",
    "repairing the wind trunk",
    "cleaning the reed boots",
    "packing the facade pipes",
    "regulating the key action",
    "writing the restoration diary",
    "rebuilding the swell shutters",
  ],
  things: [
    "the swell box",
    "the pedal chest",
    "the blower room",
    "the console",
    "the organ case",
    "the trumpet rank",
    "the tuning ladder",
    "the scaffold",
    "the wind trunk",
    "the choir gallery",
    "the pipe store",
  ],
  senders: [
    "the verger",
    "the treasurer",
    "the organist",
    "the parish office",
    "the workshop",
    "the diocesan adviser",
    "the choir leader",
    "the apprentice",
    "the scaffolder",
  ],
  pools: {
    town: ["Ottersholm", "Great Wexcombe", "Brockenau", "Sankt Hilgen", "Lydemere", "Tarnkirk"],
    maker: ["Brandlecke", "Tolvaine", "Hesperling", "Morkwitz", "Ansgarde", "Quillforth"],
    stop: [
      "Gedackt",
      "Quintadena",
      "Nachthorn",
      "Salicional",
      "Dulzian",
      "Krummhorn",
      "Subbass",
      "Zimbel",
      "Gemshorn",
      "Posaune",
    ],
    timber: ["pearwood", "limewood", "walnut", "hornbeam", "service tree", "cedar"],
    supplier: ["Kremmeling", "Ostrander", "Vellacott", "Pfisterle", "Dunmorrow"],
    insurer: ["Fidelitas Nord", "Brunswyck Mutual", "Almona", "Kirchenhort", "Steadward"],
    product: ["Lederol", "Balsamine K", "Corivax", "Tannessa", "Hydoline", "Pellifix"],
  },
};
