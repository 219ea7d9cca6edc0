// The talk: what was said, what can be done with it, and the box. Every exchange is drawn by the program and put in its place here.
document.addEventListener("moechat:frame", () => {
  const { $, state, ask, tell, go, keep, kept, listeners } = window.moechat;
  const SWIPE = 60; // px that a finger moves sideways to another reply
  const NEAR = 80; // px from the end that count as "at the end"
  const talk = $("#talk");
  const said = $("#said");
  const box = $("#box");
  const items = new Map(); // what the program sent of each exchange, by id
  let atEnd = true;
  let stoodAt = 0; // where the talk stood when it was last looked at
  let isBack = false; // looking at an older page
  let isBusy = false;
  let isFetching = false;
  let pending = null; // a message on its way: {text, edition}

  // ---- drawing

  function article(id) {
    return said.querySelector(`article[data-id="${CSS.escape(id)}"]`);
  }

  function made(html) {
    const holder = document.createElement("template");
    holder.innerHTML = html.trim();
    furnish(holder.content.firstElementChild);
    if (holder.content.firstElementChild.matches("article")) {
      for (const part of holder.content.querySelectorAll("button, summary, a, pre")) part.tabIndex = -1;
    }
    return holder.content.firstElementChild;
  }

  // Code gets its language and a button that copies it.
  function furnish(node) {
    for (const code of node.querySelectorAll("pre")) {
      const head = document.createElement("div");
      const button = document.createElement("button");
      Object.assign(button, { type: "button", className: "act quiet", textContent: state.labels.copy });
      button.dataset.do = "copy-code";
      head.className = "code-head";
      head.append(Object.assign(document.createElement("span"), { textContent: code.dataset.language }), button);
      const holder = Object.assign(document.createElement("div"), { className: "code" });
      code.replaceWith(holder);
      code.tabIndex = 0;
      holder.append(head, code);
    }
  }

  // Put an exchange where it belongs; one that is being edited stays as it is.
  function put(item, before) {
    const old = article(item.id);
    const isSame = old && items.get(item.id)?.html === item.html;
    items.set(item.id, item);
    if (isSame || old?.querySelector("form")) return old;
    const node = made(item.html);
    if (!old) {
      said.insertBefore(node, before ?? null);
      return node;
    }
    const unfolded = [...old.querySelectorAll("details")].map((one) => one.open);
    node.querySelectorAll("details").forEach((one, n) => { one.open = unfolded[n] ?? false; });
    node.classList.toggle("acting", old.classList.contains("acting"));
    const used = old.contains(document.activeElement) ? document.activeElement : null;
    old.replaceWith(node);
    if (used === old) node.focus({ preventScroll: true });
    else if (used) (node.querySelector(`[data-do="${used.dataset.do}"]:not([disabled])`) ?? node).focus({ preventScroll: true });
    return node;
  }

  function grow(item) {
    const old = article(item.id);
    if (!old) return;
    const fresh = made(item.html).querySelector(".side.char");
    old.className = "exchange streaming";
    old.setAttribute("aria-busy", "true");
    const reply = old.querySelector(".side.char");
    if (reply) reply.replaceWith(fresh);
    else old.append(fresh);
    items.delete(item.id);
    settle();
  }

  function days() {
    said.querySelectorAll(".day").forEach((line) => line.remove());
    let day = "";
    for (const one of said.querySelectorAll("article[data-day]")) {
      if (one.dataset.day !== day) {
        day = one.dataset.day;
        const line = Object.assign(document.createElement("div"), { className: "day", textContent: one.dataset.dayWords });
        one.before(line);
      }
    }
  }

  function greet(html) {
    said.querySelector(".greeting")?.remove();
    if (html) said.prepend(made(html));
  }

  function drawTalk(view) {
    isBusy = view.busy;
    $("#send").hidden = isBusy;
    $("#stop").hidden = !isBusy;
    for (const one of view.older ?? []) if (article(one.id)) put(one);
    if (isBack) {
      for (const one of view.exchanges) if (article(one.id)) put(one);
      return;
    }
    const ids = new Set(view.exchanges.map((one) => one.id));
    const there = [...said.querySelectorAll("article[data-id]")];
    const first = there.findIndex((one) => one.dataset.id === view.exchanges[0]?.id);
    there.slice(Math.max(first, 0)).forEach((one) => { if (!ids.has(one.dataset.id)) { items.delete(one.dataset.id); one.remove(); } });
    said.querySelectorAll(":scope > .empty").forEach((one) => one.remove());
    deliver(view);
    let after = null;
    for (const one of view.exchanges) after = put(one, after ? after.nextElementSibling : said.querySelector(".pending"));
    if (first <= 0) {
      $("#more").hidden = !view.more;
      greet(view.greeting);
    }
    $("#notice").innerHTML = view.notice;
    days();
    settle();
  }

  // A message on its way has arrived, or comes back into the box.
  function deliver(view) {
    if (!pending) return;
    const isThere = view.exchanges.some((one) => one.user === pending.text && !pending.before.has(one.id));
    const isLost = !isThere && !view.busy && pending.edition !== null && view.edition >= pending.edition;
    if (!isThere && !isLost) return;
    said.querySelector(".pending")?.remove();
    if (isLost && !box.value) box.value = pending.text;
    else if (isThere) write("");
    pending = null;
    fit();
  }

  // What is the same stays: a click that has begun there ends there, and the focus is kept.
  const shown = new Map();
  function show(place, html) {
    if (shown.get(place) !== html) $(place).innerHTML = html;
    shown.set(place, html);
  }

  function drawFrame(view) {
    for (const place of ["brand", "characters", "talks", "title", "problems"]) show(`#${place}`, view[place]);
    if (view.doors) show("#doors", view.doors);
    const { labels } = state;
    $("#send").textContent = labels.send;
    $("#skip").textContent = labels.skip;
    $("#stop").textContent = labels.stop;
    $("#more").textContent = labels.earlier_words;
    $("#newest").textContent = labels.newest;
    talk.setAttribute("aria-label", labels.conversation);
    box.setAttribute("aria-label", labels.message);
    const isShut = Boolean(view.shut);
    box.disabled = $("#send").disabled = isShut;
    box.placeholder = isShut ? view.shut : view.write;
    $("#kept").textContent = view.kept ?? "";
    $("#kept").hidden = !view.kept;
    if (isShut) {
      said.replaceChildren(Object.assign(document.createElement("p"), { className: "empty", textContent: view.shut }));
      $("#title").replaceChildren(Object.assign(document.createElement("h1"), { textContent: view.name ?? "" }));
      shown.delete("#title");
    }
  }

  // One exchange has stops of the tab key, the one that has the focus or else the newest; arrows lead to the others.
  let stopping = null;
  function stopAt(one) {
    for (const other of one === stopping ? [] : [stopping, one]) {
      for (const part of other?.querySelectorAll("button, summary, a, pre") ?? []) part.tabIndex = other === one ? 0 : -1;
    }
    stopping = one;
  }
  const stopWhereIsFocus = () => stopAt(document.activeElement?.closest("#said article") ?? said.querySelector("article:last-of-type"));

  let drawnPlace = "";
  listeners.frame.push((view) => {
    const place = JSON.stringify([view.place, state.language]);
    if (place !== drawnPlace) {
      drawnPlace = place;
      items.clear();
      said.replaceChildren();
      [isBack, atEnd, stoodAt, pending] = [false, true, 0, null];
      $("#newest").hidden = true;
      box.value = draft();
      fit();
    }
    const isFirst = box.disabled;
    drawFrame(view);
    if (!view.shut) drawTalk(view.talk);
    stopWhereIsFocus();
    // A finger would get the keyboard with it.
    if (isFirst && document.activeElement === document.body && matchMedia("(hover: hover)").matches) box.focus();
  });
  listeners.live.push(grow);

  // ---- staying at the end, and going back

  function isAtEnd() {
    return talk.scrollHeight - talk.scrollTop - talk.clientHeight < NEAR;
  }

  function settle() {
    if (talk.scrollTop < stoodAt) atEnd = isAtEnd(); // Somebody scrolled up, and the event of that is still on its way.
    if (atEnd && !isBack) talk.scrollTop = talk.scrollHeight;
    stoodAt = talk.scrollTop;
  }

  async function earlier() {
    const first = said.querySelector("article[data-id]");
    if (isFetching || !first || $("#more").hidden) return;
    isFetching = true;
    const view = await ask("earlier", { id: first.dataset.id });
    isFetching = false;
    if (!view?.exchanges || !first.isConnected) return;
    const fromEnd = talk.scrollHeight - talk.scrollTop;
    for (const one of view.exchanges) put(one, first);
    $("#more").hidden = !view.more;
    greet(view.greeting);
    days();
    talk.scrollTop = talk.scrollHeight - fromEnd;
  }

  async function around(id) {
    const view = await ask("around", { id });
    if (!view?.exchanges) return;
    items.clear();
    said.replaceChildren();
    isBack = false;
    drawTalk(view);
    isBack = !view.is_newest;
    $("#newest").hidden = view.is_newest;
    atEnd = false;
    const there = article(id);
    there?.scrollIntoView({ block: "center" });
    there?.focus({ preventScroll: true });
  }

  function newest() {
    drawnPlace = "";
    window.moechat.open();
  }

  talk.addEventListener("scroll", () => {
    atEnd = isAtEnd();
    stoodAt = talk.scrollTop;
    if (stoodAt < 300) earlier();
  }, { passive: true });
  new ResizeObserver(settle).observe(talk);
  document.addEventListener("toggle", (event) => {
    if (event.target.open && event.target.closest?.("#talk")) event.target.scrollIntoView({ block: "nearest" });
  }, true);

  // ---- the box

  function draftKey() {
    const { character, world, talk: name, held } = state.place;
    return `moechat.draft.${JSON.stringify([character, world, name, held])}`;
  }
  function draft() {
    return (state.place.held ? sessionStorage : localStorage)[draftKey()] ?? "";
  }
  function write(text) {
    const kept = state.place.held ? sessionStorage : localStorage;
    if (text) kept[draftKey()] = text;
    else delete kept[draftKey()];
  }
  function fit() {
    box.style.height = "auto";
    box.style.height = `${Math.min(box.scrollHeight + 2, 180)}px`;
  }

  async function send() {
    const text = box.value;
    if (!text.trim() || pending) return;
    if (isBusy && !state.isAway) return tell(state.labels.busy, true, []);
    if (isBack) await around(said.querySelector("article:last-of-type")?.dataset.id ?? "").then(newest);
    pending = { text, edition: null, before: new Set(items.keys()) };
    box.value = "";
    fit();
    const node = made('<article class="exchange pending"><div class="side user"><div class="said"><div class="bubble"></div></div></div></article>');
    node.querySelector(".bubble").textContent = text;
    said.append(node);
    atEnd = true;
    settle();
    const view = await ask("say", { text });
    if (pending && view?.edition !== undefined) pending.edition = view.edition;
    if (view && !view.bad) return;
    node.remove();
    pending = null;
    if (!box.value) box.value = text;
    fit();
    if (!view) tell(state.labels.not_sent, true, []);
  }

  box.addEventListener("input", () => { write(box.value); fit(); });
  box.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" || event.shiftKey || event.isComposing || event.keyCode === 229) return;
    event.preventDefault();
    send();
  });
  $("#composer").addEventListener("submit", (event) => { event.preventDefault(); send(); box.focus(); });
  $("#stop").addEventListener("click", () => ask("stop"));
  $("#newest").addEventListener("click", newest);

  // ---- what can be done with an exchange

  const again = (id) => { atEnd = !article(id)?.nextElementSibling; return ask("again", { id }); };
  const branch = (id) => ask("branch", { id, side: "end" });
  const doings = {
    again,
    "go-on": (id) => { atEnd = !article(id)?.nextElementSibling; return ask("go-on", { id }); },
    choose: (id, button) => ask("choose", { id, variant: Number(button.dataset.variant) }),
    branch: (id) => ask("branch", { id }),
    "branch-to": (_, button) => branch(button.dataset.id),
    "flip-branch": (_, button) => branch(button.closest("[data-ids]").dataset.ids.split(" ")[Number(button.dataset.variant)]),
    copy: (id, button) => copy(items.get(id)[button.dataset.side]),
    "copy-code": (_, button) => copy(button.closest(".code").querySelector("code").textContent),
    edit: (id, button) => change(id, button.dataset.side),
    remember: (id) => form(article(id).querySelector(".side.user .said"), items.get(id).user, state.labels.remember_hint,
      (text) => ask("remember", { text })),
    delete: async (id) => {
      const view = await ask("delete", { id });
      if (view?.offers) tell(view.note, false, [[state.labels.undo, () => ask("restore", { ids: view.ids })]]);
    },
    trace: async (id, button) => {
      const view = await ask("trace", { id });
      if (view?.html) button.insertAdjacentHTML("afterend", view.html);
    },
  };

  async function copy(text) {
    try {
      await navigator.clipboard.writeText(text);
    } catch { // no secure context: the old way
      const area = Object.assign(document.createElement("textarea"), { value: text });
      document.body.append(area);
      area.select();
      document.execCommand("copy");
      area.remove();
    }
    tell(state.labels.copied, false, []);
  }

  function change(id, side) {
    form(article(id).querySelector(`.side.${side} .said`), items.get(id)[side], "", async (text) => {
      const view = await ask("correct", { id, side, text });
      if (view?.offers) tell(view.note, false, [[state.labels.again, () => again(id)], [state.labels.no_thanks, () => {}]]);
    });
  }

  // A field in the place of a bubble. Escape leaves everything as it was.
  function form(place, text, hint, use) {
    if (place.querySelector("form")) return;
    const node = made('<form class="inline"><textarea></textarea><p class="hint"></p><div class="actions"><button type="submit" class="act primary"></button><button type="button" class="act"></button></div></form>');
    const [area, [save, cancel]] = [node.querySelector("textarea"), node.querySelectorAll("button")];
    area.value = text;
    area.setAttribute("aria-label", state.labels.message);
    node.querySelector("p").textContent = hint;
    [save.textContent, cancel.textContent] = [state.labels.save, state.labels.cancel];
    place.classList.add("editing");
    const leave = () => {
      node.remove();
      place.classList.remove("editing");
      const one = place.closest("article");
      one?.focus({ preventScroll: true });
    };
    node.addEventListener("submit", (event) => { event.preventDefault(); const words = area.value; leave(); use(words); });
    cancel.addEventListener("click", leave);
    node.addEventListener("keydown", (event) => {
      if (event.key === "Escape") leave();
      if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) node.requestSubmit();
    });
    place.prepend(node);
    area.style.height = `${Math.min(area.scrollHeight + 4, 320)}px`;
    area.focus();
    node.scrollIntoView({ block: "nearest" });
  }

  document.addEventListener("focusin", stopWhereIsFocus);
  said.addEventListener("click", (event) => {
    const button = event.target.closest("[data-do]");
    const one = event.target.closest("article");
    if (button && one) doings[button.dataset.do]?.(one.dataset.id, button);
    else if (one && event.target.closest(".bubble") && !event.target.closest("a") && String(getSelection()) === "") {
      for (const other of said.querySelectorAll(".acting")) if (other !== one) other.classList.remove("acting");
      one.classList.toggle("acting");
    }
  });
  // To the reply before (0) or after (-1); after the last one, to another.
  function flip(one, at) {
    const way = [...(one?.querySelectorAll(".side.char .flip button") ?? [])].at(at);
    const isPast = way?.dataset.do === "again"; // Only the last message is answered once more by a mere arrow.
    if (way && !(isPast && (at === 0 || one.nextElementSibling))) way.click();
  }
  let touch = null;
  said.addEventListener("touchstart", (event) => {
    touch = event.touches.length === 1 && event.target.closest(".bubble") && !event.target.closest("pre, table") ? event.touches[0] : null;
  }, { passive: true });
  said.addEventListener("touchend", (event) => {
    if (!touch) return;
    const [right, down] = [event.changedTouches[0].clientX - touch.clientX, event.changedTouches[0].clientY - touch.clientY];
    if (Math.abs(right) > SWIPE && Math.abs(right) > 2 * Math.abs(down)) flip(event.target.closest("article"), right > 0 ? 0 : -1);
  }, { passive: true });
  // Arrows go from exchange to exchange, and flip the replies of the one that has the focus.
  talk.addEventListener("keydown", (event) => {
    const one = event.target.closest("article");
    const all = [...said.querySelectorAll("article[data-id]")];
    if (event.target !== talk && event.target !== one) return;
    const way = { ArrowUp: -1, ArrowDown: 1 }[event.key];
    if (way) {
      event.preventDefault();
      const next = one ? all[all.indexOf(one) + way] : way < 0 ? all.at(-1) : null;
      next?.focus();
      next?.scrollIntoView({ block: "nearest" });
    } else if (one && (event.key === "ArrowLeft" || event.key === "ArrowRight")) {
      flip(one, event.key === "ArrowLeft" ? 0 : -1);
    }
  });

  // ---- the sheet: which character, which talk, a new one, and what was said where

  const sheet = $("#sheet");
  function unfold(...nodes) {
    sheet.replaceChildren(...nodes);
    sheet.hidden = false;
    sheet.querySelector("input, button")?.focus();
  }
  function fold() {
    sheet.hidden = true;
    sheet.replaceChildren();
  }
  function part(id) {
    const node = document.createElement("div");
    node.className = id;
    node.innerHTML = $(`#${id}`).innerHTML;
    return node;
  }
  // All talks, and whatever was said in any of them.
  async function find() {
    const input = Object.assign(document.createElement("input"), { type: "search", placeholder: state.labels.search_talk });
    input.setAttribute("aria-label", state.labels.search_talk);
    const list = Object.assign(document.createElement("div"), { className: "hits" });
    let newest = 0;
    async function look() {
      const mine = ++newest;
      const view = await ask("find", { text: input.value });
      if (view && mine === newest) list.innerHTML = view.html ?? "";
    }
    let waiting = 0;
    input.addEventListener("input", () => { clearTimeout(waiting); waiting = setTimeout(look, 250); });
    unfold(input, list);
    await look();
  }
  // To where it was said: in another talk, on another branch.
  async function toPlace({ id, talk: name, world, held, branch }) {
    fold();
    const place = { talk: name, world, held: Number(held) };
    if (Object.keys(place).some((key) => (state.place[key] || "") !== (place[key] || ""))) await go(place);
    if (branch) {
      const view = await ask("branch", { id, side: "end" });
      if (!view || view.bad) return;
      tell(state.labels.other_branch, false, []);
      await window.moechat.open(); // News of the other branch that is still on its way would take this one off again.
    }
    await around(id);
  }
  async function begin(data) {
    const name = data.get("name").trim();
    const kind = data.get("kind");
    if (data.getAll("with").length) {
      const view = await ask("gather", { ids: data.getAll("with") });
      if (!view?.place) return;
      if (name) await ask("talk-do", { ...view.place, action: { act: "title", title: name } });
      await go(view.place);
    } else if (kind === "held") {
      const view = await ask("hold");
      if (view?.place) await go(view.place);
    } else if (!name && kind === "world") {
      return tell(state.labels.needs_name, true, []);
    } else if (!name) {
      await go({ talk: `page ${new Date().toISOString().slice(0, 19)}`, held: 0 });
    } else {
      const world = kind === "world" ? name : state.place.world;
      await go({ world, talk: kind === "world" ? "" : name });
    }
    fold();
    box.focus();
  }
  async function withTalk(name, action) {
    const view = await ask("talk-do", { talk: name, action });
    if (!view || view.bad) return;
    if (view.file) {
      return window.moechat.handOut(new Blob([view.text]), view.file);
    }
    fold();
    const { world } = state.place;
    await (view.gone && name === state.place.talk ? go({ world }) : window.moechat.open());
    if (view.offers) {
      tell(view.note, false, [[state.labels.undo, () => withTalk(name, { act: view.offers }).then(() => go({ world, talk: name }))]]);
    }
    box.focus();
  }
  async function recast(name, action) {
    const view = await ask("recast", { talk: name, action });
    if (view?.html) unfold(made(view.html));
    else if (view && !view.bad) fold();
  }
  const around_the_talk = {
    go: ({ talk: name, world, held }) => { fold(); go({ talk: name, world, held: Number(held) }); },
    talks: () => (sheet.hidden ? unfold(part("characters"), part("talks")) : fold()),
    "one-talk": async ({ talk: name }) => {
      const view = await ask("one-talk", { talk: name });
      if (view?.html) unfold(made(view.html));
    },
    "talk-do": (data, button) => {
      if (data.sure && !data.asked) { // What cannot be undone is asked once more.
        button.textContent = data.sure;
        data.asked = "true";
        return;
      }
      const reasons = String(sheet.querySelector("[name=reasons]")?.checked ?? false);
      withTalk(data.talk, { act: data.act, form: data.form, forget: data.forget, reasons });
    },
    recast: ({ act, who, talk: there }) => recast(there, { act, name: who ?? "" }),
    "new-talk": () => {
      const form = made(`<div>${state.labels.new_talk}</div>`);
      const others = [...document.querySelectorAll("#characters [data-name]")].filter((one) => one.dataset.name !== state.place.character);
      for (const one of others) { // Whoever is ticked is in the talk as well.
        const label = Object.assign(document.createElement("label"), { className: "choice" });
        const tick = Object.assign(document.createElement("input"), { type: "checkbox", name: "with", value: one.dataset.name });
        label.append(tick, Object.assign(document.createElement("span"), { textContent: one.querySelector(".name").firstChild.textContent.trim() }));
        form.querySelector(".with").append(label);
      }
      form.querySelector(".with").hidden = !others.length;
      unfold(form);
    },
    find: () => (sheet.querySelector("input[type=search]") ? fold() : find()),
    close: fold,
    "to-place": toPlace,
    write: () => { location.hash = "chat"; setTimeout(() => box.focus()); },
    settings: () => { location.hash = "settings"; },
    theme: () => window.moechat.toggleTheme(),
    tinkers: () => { keep("tinkers", kept("tinkers") !== true); window.moechat.applyTheme(); },
    language: () => {
      window.moechat.chooseLanguage(state.language === "zh" ? "en" : "zh");
      keep("language", state.language);
      window.moechat.open();
    },
  };
  document.addEventListener("click", (event) => {
    const name = event.target.closest("[data-name]");
    const button = event.target.closest("[data-do]");
    if (name && name.closest("#characters, #sheet")) {
      fold();
      go({ character: name.dataset.name }).then(() => box.focus());
    } else if (button && !button.closest("#said") && button.tagName !== "FORM") {
      around_the_talk[button.dataset.do]?.(button.dataset, button);
    }
  });
  sheet.addEventListener("submit", (event) => {
    event.preventDefault();
    const data = new FormData(event.target);
    if (event.target.dataset.do === "person") recast(event.target.dataset.talk, { act: event.submitter?.value || "person", name: data.get("person") });
    else if (event.target.dataset.do === "title") withTalk(event.target.dataset.talk, { act: "title", title: data.get("title") });
    else begin(data);
  });
  sheet.addEventListener("keydown", (event) => { if (event.key === "Escape") fold(); });
});
