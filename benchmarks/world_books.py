"""World books as SillyTavern fires them: its own function, run in its page, beside ours, case by case.

    make doors                                    # among the front ends
    python -m benchmarks.world_books              # alone; SillyTavern is fetched as for `make doors`
    python -m benchmarks.world_books --record     # keep what it answered in tests/cards/firing_answers.json

The cases are in tests/cards/firing_cases.yaml; an ordinary test holds ours against the answers that were kept.
"""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks.doorframe import serving, window
from benchmarks.doors_tavern import CARD, FETCHED, HOW, tavern
from tests.cards.firing import ANSWERS, MARKS, answered, cases

ASK = """async ([one, marks]) => {
  const worlds = await import('/scripts/world-info.js');
  const app = SillyTavern.getContext(), drawn = Math.random;
  const settings = Object.assign(
    {depth: 2, recursive: true, match_whole_words: true, case_sensitive: false, names: true, budget: 2500,
     min_activations: 0, min_activations_depth_max: 0, use_group_scoring: false, max_recursion_steps: 0}, one.settings);
  const named = {budget: 'budget_cap', names: 'include_names'};
  const said = {world_info: {}, world_info_budget: 100};
  for (const [name, value] of Object.entries(settings)) said['world_info_' + (named[name] ?? name)] = value;
  worlds.setWorldInfoSettings(said, {world_names: ['case']});
  const entries = {};
  one.entries.forEach((entry, uid) => {
    entries[uid] = {...structuredClone(worlds.newWorldInfoEntryTemplate), uid, content: `words ${uid}`, ...entry};
  });
  worlds.worldInfoCache.set('case', {entries});
  worlds.selected_world_info.splice(0, Infinity, 'case');
  for (const key of Object.keys(app.chatMetadata)) delete app.chatMetadata[key];
  const her = app.characters[app.characterId];
  app.tagMap[her.avatar] = ['tag-of-hers'];
  const total = one.talk.length;
  const talk = one.talk.map((mes, at) => {
    const is_user = (total - 1 - at) % 2 === 0;
    return {name: is_user ? app.name1 : app.name2, is_user, mes, send_date: '', extra: {}};
  });
  const scene = one.scene ?? {};
  const around = {
    personaDescription: scene.persona ?? '', characterDescription: scene.description ?? '',
    characterPersonality: scene.personality ?? '', characterDepthPrompt: scene.note ?? '', scenario: scene.scenario ?? '',
    creatorNotes: scene.creator_notes ?? '', trigger: one.trigger ?? 'normal',
  };
  try {
    if (one.roll !== undefined) Math.random = () => one.roll;
    if (one.prompt) {
      const card = one.card ?? {};
      her.data.post_history_instructions = card.after_history ?? '';
      const {note: prompt = '', note_depth: depth = 4, note_role: role = 'system'} = card;
      her.data.extensions.depth_prompt = {prompt, depth, role};
      talk.at(-1).mes += ` (${one.name})`;  // The page makes prompts of its own besides, to count.
      app.chat.splice(0, Infinity, ...talk);
      const ready = app.eventTypes.CHAT_COMPLETION_PROMPT_READY, made = [];
      const keep = whole => made.push(structuredClone(whole.chat));
      app.eventSource.on(ready, keep);
      await app.generate('normal', {}, true);
      app.eventSource.removeListener(ready, keep);
      const ours = made.find(whole => whole.some(({content}) => content.includes(`(${one.name})`)));
      const rows = ours.map(({role, content}) => [role, content.match(new RegExp(marks, 'g')) ?? []]);
      return rows.filter(([, there]) => there.length);
    }
    const answers = [];
    for (const count of one.scans ?? [total]) {
      const spoken = talk.slice(0, count).map(({name, mes}) => settings.names ? `${name}: ${mes}` : mes).reverse();
      const found = await worlds.checkWorldInfo(spoken, 8000, false, around);
      const fires = [...found.allActivatedEntries];
      const uid = words => fires.find(entry => entry.content === words).uid;
      const places = {
        before_char: found.worldInfoBefore.split('\\n').filter(Boolean),
        after_char: found.worldInfoAfter.split('\\n').filter(Boolean),
        before_note: found.ANBeforeEntries, after_note: found.ANAfterEntries,
        before_examples: found.EMEntries.filter(one => one.position === 0).map(one => one.content),
        after_examples: found.EMEntries.filter(one => one.position === 1).map(one => one.content),
      };
      for (const {depth, role, entries} of found.WIDepthEntries)
        places[`depth ${depth} ${['system', 'user', 'assistant'][role]}`] = entries;
      for (const [name, entries] of Object.entries(found.outletEntries)) places[`outlet ${name}`] = entries;
      answers.push({
        fires: fires.map(entry => entry.uid).sort((a, b) => a - b),
        places: Object.fromEntries(
          Object.entries(places).filter(([, words]) => words.length).map(([at, words]) => [at, words.map(uid)])),
      });
    }
    return answers;
  } finally { Math.random = drawn; }
}"""


def ask(asked: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """What SillyTavern answers, by the name of the case."""
    with (
        tempfile.TemporaryDirectory(prefix="moechat-worlds-") as folder,
        serving(Path(folder)) as watch,
        tavern(watch.url, Path(folder)) as address,
        window(address) as page,
    ):
        page.locator("#preloader").wait_for(state="detached")
        page.locator("#rightNavHolder .drawer-icon").click()
        page.locator(f'.character_select:has-text("{CARD}")').click()
        page.locator("#chat .mes").first.wait_for()
        return {one["name"]: page.evaluate(ASK, [one, MARKS]) for one in asked}


def main() -> int:
    if not FETCHED.exists():
        sys.stderr.write(f"world books: SillyTavern is not here; {HOW}\n")
        return 0
    asked = cases()
    answers = ask(asked)
    if "--record" in sys.argv:
        rows = [f"{json.dumps(name)}: {json.dumps(answer)}" for name, answer in answers.items()]
        ANSWERS.write_text("{\n" + ",\n".join(rows) + "\n}\n", encoding="utf-8")
    kept = json.loads(ANSWERS.read_text(encoding="utf-8"))
    equal = 0
    for one in asked:
        theirs, ours = answers[one["name"]], answered(one)
        equal += theirs == ours
        was = "" if theirs == kept.get(one["name"]) else "  (another answer than the one that is kept)"
        sys.stdout.write(f"{'equal' if theirs == ours else 'DIFFERS'}: {one['name']}{was}\n")
        if theirs != ours:
            sys.stdout.write(f"    SillyTavern {json.dumps(theirs)}\n    MoeChat     {json.dumps(ours)}\n")
    sys.stdout.write(f"world books: {equal} of {len(asked)} cases equal\n")
    return int(any(answers[name] != answer for name, answer in kept.items() if name in answers))


if __name__ == "__main__":
    raise SystemExit(main())
