/** The production of a radio play. */

import { frame, type World } from "../world.ts";

export const play: World = {
  name: "second-play",
  intents: [
    {
      says: "A listener who cannot see knows at every moment where [role] is standing.",
      key: ["cannot see", "[role]"],
    },
    {
      says: "The play is recorded, cut and approved before [person] goes on parental leave.",
      key: ["parental leave", "[person]"],
    },
    {
      says: "We make a radio play that the lighthouse people of [place] recognise as theirs.",
      key: ["recognise as theirs", "[place]"],
    },
  ],
  frames: {
    must: [
      frame(
        "the finished play lasts [min=43..57] minutes and [sec=11..39] seconds, because the news " +
          "does not wait for us.",
        "How long may the play be?",
        "What is the exact running time?",
        ["[min]", "[sec]"],
      ),
      frame(
        "no real siren is heard anywhere in the play, as drivers near [place] have braked hard " +
          "for one before.",
        "Why is there no siren, and where did it cause trouble?",
        "Which noise is banned on account of people in cars?",
        ["[place]", "braked"],
      ),
      frame(
        "the child who speaks [role] is out of the studio by [out=time 16-18], and no mother's " +
          "note changes that.",
        "How late may the child work, and in which part?",
        "Which character belongs to a minor, and when does that person go home?",
        ["[role]", "[out]"],
      ),
      frame(
        "the estate of the author hears the ending before it is broadcast, and the one to call " +
          "is [person] in [city].",
        "Who speaks for the estate of the author, and where?",
        "Whose consent is needed for the final minutes?",
        ["[person]", "[city]"],
      ),
      frame(
        "loudness is delivered at minus [lufs=16..24] LUFS, with the stems as separate files in " +
          "[folder].",
        "How is loudness set, and where do stems belong?",
        "At what level is the mix handed in, and which directory takes the single tracks?",
        ["[lufs]", "[folder]"],
      ),
      frame(
        "the dialect of [region] is spoken only by actors who were born there, which the station " +
          "has promised its audience.",
        "Who is allowed to use dialect, and which one is it?",
        "Which accent is not to be imitated, and whom do we cast for it?",
        ["[region]", "born"],
      ),
    ],
    aside: [
      frame(
        "Just so that it has been said, [person] is better not recorded from the left, on " +
          "account of the hearing aid.",
        "From which side is somebody not to be recorded?",
        "Where should a microphone not stand, and for whom?",
        ["[person]", "left"],
      ),
      frame(
        "Food stays in the [place] foyer if at all possible, after what happened to the fader " +
          "bank in [year=2004..2017].",
        "Where should food be kept, and since when?",
        "In which spot may one eat, and what accident is behind this?",
        ["[place]", "[year]"],
      ),
      frame(
        "It would be kind to let [person] read scene [scene=17..29] in one go, since a cut there " +
          "makes the breathing audible.",
        "Which scene should be done in one go, and with whom?",
        "Whose passage is better not interrupted while taping?",
        ["[person]", "[scene]"],
      ),
      frame(
        "~steps on gravel come from my own yard in [place] and never out of the library, call it " +
          "a matter of pride.",
        "Where do steps on gravel come from?",
        "How are walking noises to be made?",
        ["[place]", "yard"],
      ),
      frame(
        "The narrator, I am fairly sure, should never be heard together with [role], because " +
          "they may well be one person.",
        "Who is to be kept apart from the narrator, and why?",
        "Which character does not overlap with the storyteller, and what is the secret?",
        ["[role]", "one person"],
      ),
      frame(
        "We usually print the pages on [colour] paper (the white kind rustles into the [brand], " +
          "strangely enough).",
        "Which paper do we print on, and what would it disturb?",
        "How are scripts kept silent, and for which microphone?",
        ["[colour]", "[brand]"],
      ),
    ],
    decision: [
      frame(
        "The storm is made live by [person] on a wind machine and not taken from disc, because " +
          "its pauses have to follow the voices.",
        "How do we get the storm, and why in that way?",
        "Why is bad weather performed instead of sampled, and by whom?",
        ["[person]", "pauses"],
      ),
      frame(
        "We cut the wedding down to a single letter, since [role] would otherwise turn up before " +
          "anyone knows that name.",
        "What became of the wedding?",
        "How is the marriage told now, and for what dramatic reason?",
        ["single letter", "[role]"],
      ),
      frame(
        "Recording starts with scene [scene=31..45], as [person] leaves for a film in [city] on " +
          "the second morning.",
        "What does recording begin with, and why?",
        "In what order do we tape, and whose absence dictates it?",
        ["[scene]", "[person]", "[city]"],
      ),
      frame(
        "We mix in mono and widen afterwards, because [kitchen=58..79] percent of the audience " +
          "listens on a kitchen set.",
        "How do we mix, and on what grounds?",
        "Why does stereo come second, and how many people hardly notice it?",
        ["mono", "[kitchen]"],
      ),
      frame(
        "The music is a lone [instrument] played by [person], for the money of the quartet went " +
          "into an extra studio day.",
        "What music will there be, and by whom?",
        "Why did we shrink the ensemble, and to what?",
        ["[instrument]", "[person]"],
      ),
      frame(
        "Letters are read by whoever receives them and not by the writer, an idea of [person] " +
          "that saves us [changes=11..19] changes of acoustics.",
        "Who reads the letters, and whose idea was it?",
        "When mail is quoted, which character do we hear, and what do we gain?",
        ["receives", "[person]", "[changes]"],
      ),
    ],
    fact: [
      frame(
        "The small booth in [place] rings at [hz=140..260] hertz, which one hears on every low " +
          "vowel.",
        "What is the matter with the small booth?",
        "Which room has an unwanted resonance, and at what frequency?",
        ["[place]", "[hz]"],
      ),
      frame(
        "The rights to the poem in the last act belong to [publisher] and cost [fee=620..940/10] " +
          "euros for each broadcast.",
        "Who has rights in the poem, and what do we pay?",
        "What do we owe for the verses, and to which house?",
        ["[publisher]", "[fee]"],
      ),
      frame(
        "The manuscript exists twice, and the one from [year=1947..1968] does not have the " +
          "[role] scenes at all.",
        "What is the difference between one manuscript and the other?",
        "Which edition of the text is incomplete, and who is absent?",
        ["[year]", "[role]"],
      ),
      frame(
        "The first broadcast is on [air=date] at [at=time 20-22], straight after the shipping " +
          "forecast.",
        "When is the first broadcast?",
        "At what moment do we go on air?",
        ["[air]", "[at]"],
      ),
      frame(
        "The microphone for the whispers is the [brand] with serial number [serial], and the " +
          "other one of that make hums.",
        "Which microphone is meant for whispers?",
        "What piece of equipment captures soft speech, exactly?",
        ["[brand]", "[serial]"],
      ),
      frame(
        "Our archive holds [takes=61..94] takes of rain, all of them filed under [folder], even " +
          "the ones with hail.",
        "What is there of rain in the archive?",
        "How much wet weather can we draw on, and where does it lie?",
        ["[takes]", "[folder]"],
      ),
    ],
    failed: [
      frame(
        "Recording in the stairwell of [place] was useless, because a pump in there starts every " +
          "[pump=41..88] seconds.",
        "What about the stairwell?",
        "Which location with natural echo let us down, and what was disturbing?",
        ["[place]", "[pump]"],
      ),
      frame(
        "The denoiser [product] took the breath out of [role] and left something like a railway " +
          "announcement.",
        "Is a denoiser any help?",
        "Which clean-up tool made whom sound artificial?",
        ["[product]", "[role]"],
      ),
      frame(
        "Takes from abroad over [service] came in [late=180..340/5] milliseconds late and could " +
          "not be cut together with [person].",
        "How did takes from abroad work out?",
        "Can somebody join remotely, and how large was the lag?",
        ["[service]", "[late]", "[person]"],
      ),
      frame(
        "Celery for the breaking bones sounded like lunch, and [vegetable] was no better, even " +
          "frozen.",
        "What is wrong with celery for bones?",
        "Which foods disappointed as an effect for fractures?",
        ["lunch", "[vegetable]"],
      ),
      frame(
        "Having [person] do both twins confused [lost=13..26] of our test listeners, who took " +
          "the quarrel for a monologue.",
        "Can a single voice do the twins?",
        "Has giving siblings to the same performer been attempted, and how many got it wrong?",
        ["[person]", "[lost]"],
      ),
    ],
  },
  steps: [
    "breaking down the script",
    "casting the lighthouse crew",
    "timing the read-through",
    "marking the breaths",
    "setting up the booth",
    "recording the crowd",
    "building the sea",
    "choosing the takes",
    "cutting the dialogue",
    "laying the footsteps",
    "composing the bridge music",
    "mixing the storm",
    "checking the loudness",
    "writing the announcement",
    "labelling the masters",
  ],
  things: [
    "the script",
    "the crowd scene",
    "the vocal booth",
    "the sea recording",
    "the cast list",
    "the second act",
    "the mixing desk",
    "the bridge music",
    "the trailer",
    "the rehearsal room",
    "the props table",
  ],
  senders: [
    "the director",
    "the dramaturge",
    "the sound engineer",
    "the production office",
    "the author's agent",
    "the foley artist",
    "the casting office",
    "the announcer",
    "the editor",
  ],
  pools: {
    role: ["Old Brannoch", "Sister Evadne", "Captain Luff", "Little Osk", "Widow Tamsin", "Jory"],
    place: ["Kettlewell", "Funkhof", "Sandergate", "Mirrlees", "Tower Quay", "Ballastrand"],
    city: ["Ljubljana", "Aarhus", "Cagliari", "Tromso", "Lugano", "Oporto"],
    region: ["Vogtmark", "Upper Sael", "the Skerries", "Wendland", "Marrowdale"],
    folder: ["masters/gannet", "masters/puffin", "vault/dunlin", "vault/skua", "drop/eider"],
    brand: ["Sennholm", "Orpheon", "Ribbonette", "Klangwart", "Tuba Nine"],
    serial: ["B40772", "C91835", "F60614", "H73129"],
    instrument: ["nyckelharpa", "serpent", "theorbo", "harmonium", "musette", "cimbalom"],
    publisher: ["Halbmond", "Quire and Sons", "Edition Tornow", "Penhallow"],
    product: ["Hushify", "Clearbreath", "Stillwater", "Denoisine"],
    service: ["Linecall", "Booth Anywhere", "Farstudio", "Patchbay Live"],
    vegetable: ["kohlrabi", "rhubarb", "chicory", "salsify", "fennel"],
  },
};
