/** Firmware of an orchard's irrigation controller. */

import { frame, type World } from "../world.ts";

export const orchard: World = {
  name: "second-orchard",
  intents: [
    {
      says:
        "The controller brings the trees on [block] through a dry summer without anyone sleeping " +
        "in the barn.",
      key: ["sleeping in the barn", "[block]"],
    },
    {
      says: "We use a third less water than [farm] next door and lose no fruit over it.",
      key: ["third less", "[farm]"],
    },
    {
      says:
        "A seasonal worker can start, stop and understand the watering with what [person] " +
        "teaches in ten minutes.",
      key: ["seasonal worker", "[person]"],
    },
  ],
  frames: {
    must: [
      frame(
        "when the controller has lost its clock, all valves close and remain so until [person] " +
          "has pressed the reset in the pump house.",
        "What do the valves do when the controller has no clock?",
        "How should the system behave once it no longer knows the hour?",
        ["[person]", "reset"],
      ),
      frame(
        "no more than [open=11..19] valves are open at once, because the main below [block] " +
          "bursts above that.",
        "How many valves can we have running together?",
        "What is the limit for simultaneous watering, and which line cannot take any extra?",
        ["[open]", "[block]"],
      ),
      frame(
        "the firmware fits into [size=180..240] kilobytes of flash, and that includes the " +
          "fallback image.",
        "How large may the firmware get?",
        "What is the ceiling on program size, and what does it comprise?",
        ["[size]", "fallback image"],
      ),
      frame(
        "nothing is sprayed between [from=time 9-10] and [to=time 16-18] while the bees from the " +
          "monastery are in the blossom.",
        "What do we owe to the bees?",
        "At which hours is watering forbidden out of regard for insects?",
        ["[from]", "[to]"],
      ),
      frame(
        "every litre from the [well] borehole is logged with its meter reading, as the authority " +
          "fines us [fine=350..900/10] euros per missing line.",
        "Which borehole is the authority strict about, and how strict?",
        "Which source needs gapless bookkeeping, and what does a lapse cost?",
        ["[well]", "[fine]"],
      ),
      frame(
        "the manual lever on the [block] manifold wins over the software at any moment, even " +
          "halfway through an upgrade.",
        "What takes precedence over the software, and where?",
        "Who prevails if a person's hand contradicts the program?",
        ["manual lever", "[block]"],
      ),
    ],
    aside: [
      frame(
        "My brother, who does the wiring, would like the [colour] strand kept free for the " +
          "lightning return, if that is possible.",
        "Which strand should we not use, and what is it for?",
        "What part of the cable is reserved in case of a thunderstorm?",
        ["[colour]", "lightning"],
      ),
      frame(
        "Messages to the pickers, if there are going to be any, had better be in [language] and " +
          "shorter than [chars=61..95] characters.",
        "What should messages to the pickers look like?",
        "In which tongue do we write to the harvesters, and how much?",
        ["[language]", "[chars]"],
      ),
      frame(
        "It would not hurt to leave [gap=21..44] minutes between two runs on [block], for the " +
          "clay there drinks slowly.",
        "How much time should lie between two runs?",
        "Where should we pause, and for how long, given the heavy soil?",
        ["[gap]", "[block]"],
      ),
      frame(
        "Please do not take it amiss, but nobody goes up the mast at [hill] alone, not even for " +
          "a loose antenna.",
        "What is the custom about the mast, and which one is meant?",
        "Where is working at height without company unwelcome?",
        ["[hill]", "alone"],
      ),
      frame(
        "~the people at [farm] have their turn at the pond on [day], so I would keep our pump " +
          "idle then.",
        "Who else has a turn at the pond, and when?",
        "Which neighbours may draw from our reservoir, and on what occasion?",
        ["[farm]", "[day]"],
      ),
      frame(
        "I {suppose|imagine} you know that a young [variety] gets at most [litres=14..26] litres " +
          "a day, however hot it is.",
        "What is the most that a young tree can take?",
        "Which saplings want limiting, and to how much?",
        ["[variety]", "[litres]"],
      ),
    ],
    decision: [
      frame(
        "We run a cable to the valves on [block] instead of using radio, because wet leaves " +
          "swallow the signal from June on.",
        "Where do valves get a cable, and why?",
        "Why did we not go wireless, and which part of the land is concerned?",
        ["[block]", "wet leaves"],
      ),
      frame(
        "Soil moisture is read every [period=22..48] minutes and no faster, since the [sensor] " +
          "probes warm the ground when they measure.",
        "What is the rhythm for soil moisture, and why?",
        "At what interval do we take samples from the earth, and which device is to blame?",
        ["[period]", "[sensor]"],
      ),
      frame(
        "The schedule lives on the controller itself and the phone only edits it, because the " +
          "barn was offline for [offline=41..90] hours last August.",
        "Why is the schedule kept where it is?",
        "What speaks against holding the timetable in the app?",
        ["controller itself", "[offline]"],
      ),
      frame(
        "We ship on the [board] although its successor is cheaper, for [person] has a drawer " +
          "with [spares=31..58] spares.",
        "What do we ship on, and who has the spares?",
        "Why did we go for outdated hardware?",
        ["[board]", "[person]", "[spares]"],
      ),
      frame(
        "Rain in the forecast no longer cancels a run, because [service] promised [rain=24..39] " +
          "millimetres in May and the ground stayed dust.",
        "What role does the forecast play, and what happened with it?",
        "Do we trust weather predictions about when to water, and why?",
        ["[service]", "[rain]"],
      ),
      frame(
        "Fertiliser dosing gets a process of its own with a watchdog of [dog=45..95] seconds, as " +
          "a stuck injector once killed a row on [block].",
        "How is fertiliser dosing kept safe, and what led to that?",
        "Why is the nutrient part separated from everything else, and with what timeout?",
        ["[dog]", "[block]"],
      ),
    ],
    fact: [
      frame(
        "The flow meter at [well] gives [pulses=420..480] pulses per litre, and not what is " +
          "printed on its lid.",
        "How does the flow meter translate into amounts?",
        "What conversion factor applies to volume readings, and on which pipe?",
        ["[well]", "[pulses]"],
      ),
      frame(
        "There are [trees=1150..1950] trees standing in [rows=31..57] rows, and about a third of " +
          "them were {grafted|replanted} last winter.",
        "How many trees do we have, and how are they set?",
        "How big is the plantation, and how is it laid out?",
        ["[trees]", "[rows]"],
      ),
      frame(
        "The solar panel on the shed yields [watts=110..185] watts at noon and nothing worth " +
          "naming after [dusk=time 17-19].",
        "What can we expect from the solar panel?",
        "How much electricity can we count on, and until when?",
        ["[watts]", "[dusk]"],
      ),
      frame(
        "The previous controller was written in [language2=lang] by [person], and its source " +
          "disappeared with a stolen laptop.",
        "Who made the previous controller, and in what?",
        "Is the code of the predecessor available, and whose work was it?",
        ["[language2]", "[person]"],
      ),
      frame(
        "Valve number [valve=31..58] on [block] is wired backwards, so that for this one open " +
          "means shut.",
        "Which valve is the odd one out?",
        "Where does an outlet behave the opposite way?",
        ["[valve]", "[block]"],
      ),
      frame(
        "The pond holds [full=640..980/10] cubic metres at its best, and below [low=120..190] " +
          "the pump begins to pull air.",
        "How much is in the pond, and when is it too little?",
        "What is our reserve, and at what level does suction fail?",
        ["[full]", "[low]"],
      ),
    ],
    failed: [
      frame(
        "The leaf sensors by [sensor] reported rain all day once the earwigs had moved into them.",
        "Why do we have no leaf sensors any more?",
        "Which instruments were spoiled by insects?",
        ["[sensor]", "earwigs"],
      ),
      frame(
        "Pulsing the drip lines every few minutes hammered the joints until [joints=16..29] of " +
          "them came off on [block].",
        "Why not have the drip lines go on and off quickly?",
        "What damage did very short bursts of watering do, and where?",
        ["[joints]", "[block]"],
      ),
      frame(
        "We let [library] work out evaporation on the board itself, and it ate [battery=71..94] " +
          "percent of the battery by noon.",
        "Can evaporation be calculated on site?",
        "Which computation turned out to be too hungry for power?",
        ["[library]", "[battery]"],
      ),
      frame(
        "Upgrading over the mesh left [dead=22..37] nodes bricked, because [person] drove the " +
          "tractor through the relay halfway.",
        "What came of upgrading over the mesh?",
        "How did installing new software remotely go?",
        ["[dead]", "[person]"],
      ),
      frame(
        "Burying the cable [depth=15..28] centimetres deep did not save it, as the voles on " +
          "[block] had found it within a month.",
        "Was burying the cable any use, and where did we do it?",
        "Does putting wires underground protect them from rodents?",
        ["[depth]", "[block]"],
      ),
    ],
  },
  steps: [
    "mapping the drip lines",
    "calibrating the flow meters",
    "writing the valve driver",
    "simulating a dry week",
    "debouncing the rain gauge",
    "storing the schedule in flash",
    "signing the firmware image",
    "pairing the moisture probes",
    "drawing the phone screens",
    "waterproofing the enclosure",
    "measuring the sleep current",
    "logging the borehole meter",
    "testing the brown-out restart",
    "dosing the fertiliser",
    "training the pickers",
  ],
  things: [
    "the pump house",
    "the valve driver",
    "the phone app",
    "the rain gauge",
    "the relay box",
    "the test bench",
    "the borehole meter",
    "the frost alarm",
    "the drip line",
    "the barn computer",
    "the watering schedule",
  ],
  senders: [
    "the grower",
    "the electrician",
    "the firmware team",
    "the foreman",
    "the water association",
    "the agronomist",
    "the app developer",
    "the beekeeper",
    "the neighbour",
  ],
  pools: {
    block: [
      "Heronfield",
      "Lower Quarr",
      "Saltmeadow",
      "Windpump Piece",
      "Ladle Croft",
      "Crook Acre",
      "Vixen Bank",
      "Parsonage Strip",
      "Hatchet Piece",
      "Gosling Dip",
    ],
    farm: ["Oxenhythe", "Gallowmead", "Trebannoc", "Sorrelhurst", "Kinderhof"],
    hill: ["Tolpenny", "Ravensknap", "Bleak Edge", "Hornbury", "Skirl Top"],
    well: ["Cuddy", "Marl Pit", "Saint Osyth", "Deepholm", "Brindle"],
    variety: ["Belmarken", "Rosenquist", "Vintner Russet", "Pomeroy Late", "Ashmole"],
    language: ["Romansh", "Galician", "Wolof", "Tagalog", "Latgalian", "Ladino"],
    lang: ["Forth", "Modula-2", "Oberon", "Occam", "PL/M"],
    sensor: ["Velmora", "Terrasond", "Drosera", "Humilis", "Pluvion"],
    board: ["Tarsier C2", "Mudlark", "Pintail R", "Stoat Mini", "Weevil"],
    service: ["Nimbusline", "Wolkenamt", "Meteora", "Skywarden"],
    library: ["Penmanta", "Thornveld", "Hygrolib", "Dewpond"],
  },
};
