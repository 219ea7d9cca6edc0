// The page's own script, first part: light and dark, where this tab is, asking the program and hearing from it. Gradio serves the
// page; whatever a person does goes over the routes of `web/routes.py`, so that a program that went away is told in our words.
window.moechat = (() => {
  const RETRY_MS = 1500;
  const dark = window.matchMedia("(prefers-color-scheme: dark)");
  const $ = (selector) => document.querySelector(selector);
  const tab = (sessionStorage["moechat.tab"] ??= Math.random().toString(36).slice(2));
  const listeners = { frame: [], live: [] };
  const state = { place: kept("place") ?? {}, language: "", labels: {}, edition: -1, isAway: false };
  let source = null;
  let retry = 0;

  // ---- what this browser keeps

  function kept(name) {
    try {
      return JSON.parse(sessionStorage[`moechat.${name}`] ?? localStorage[`moechat.${name}`] ?? "null");
    } catch {
      return null;
    }
  }

  function keep(name, value) {
    sessionStorage[`moechat.${name}`] = localStorage[`moechat.${name}`] = JSON.stringify(value);
  }

  function isDark() {
    const chosen = localStorage["moechat.theme"];
    return chosen ? chosen === "dark" : dark.matches;
  }

  function applyTheme() {
    document.body?.classList.toggle("dark", isDark());
    $("#frame")?.classList.toggle("tinkers", kept("tinkers") === true); // Gradio scopes our styles to what is inside of it
    document.documentElement.style.colorScheme = isDark() ? "dark" : "light";
  }

  function toggleTheme() {
    const next = isDark() ? "light" : "dark";
    // back at what the system says: follow the system again
    if ((next === "dark") === dark.matches) localStorage.removeItem("moechat.theme");
    else localStorage["moechat.theme"] = next;
    applyTheme();
  }

  function chooseLanguage(language) {
    state.language = language;
    document.documentElement.lang = language === "en" ? "en" : "zh-CN";
  }

  // ---- asking

  function wish(more) {
    return { ...state.place, language: state.language, tab, ...more };
  }

  // What the program answers; null where it cannot be reached, which the page says then.
  async function ask(verb, more = {}) {
    let answer;
    try {
      answer = await fetch(`/page/do/${verb}`, {
        method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(wish(more)),
      });
    } catch {
      away();
      return null;
    }
    if (answer.status === 401) location.assign("/login");
    const view = answer.ok ? await answer.json() : { note: `${answer.status}`, bad: true };
    if (view.note) tell(view.note, view.bad, []);
    return view;
  }

  // A line about what became of something, with buttons: [words, what they do].
  function tell(text, isBad, offers) {
    const note = $("#note");
    note.textContent = text;
    note.className = isBad ? "bad" : "";
    note.hidden = !text;
    for (const [words, go] of offers) {
      const button = document.createElement("button");
      Object.assign(button, { type: "button", className: "act", textContent: words });
      button.addEventListener("click", () => { tell("", false, []); go(); });
      note.append(button);
    }
    clearTimeout(tell.timer);
    if (text && !offers.length) tell.timer = setTimeout(() => tell("", false, []), 6000);
  }

  // ---- hearing

  function away() {
    state.isAway = true;
    source?.close();
    source = null;
    const line = $("#away");
    line.textContent = state.labels.away ?? "…";
    line.hidden = false;
    clearTimeout(retry);
    retry = setTimeout(open, RETRY_MS);
  }

  function here() {
    if (state.isAway) tell(state.labels.back_again, false, []);
    state.isAway = false;
    $("#away").hidden = true;
  }

  function listen() {
    source?.close();
    source = null;
    if (document.visibilityState === "hidden") return; // A browser has few connections; the tab catches up when it is seen.
    const { character, world, talk, held } = state.place;
    const query = new URLSearchParams({ character, world, talk, held, language: state.language });
    const mine = (source = new EventSource(`/page/news?${query}`));
    const hear = (name, use) => mine.addEventListener(name, (event) => mine === source && use(JSON.parse(event.data)));
    hear("talk", (view) => show(view));
    hear("live", (view) => listeners.live.forEach((use) => use(view)));
    hear("shut", () => open());
    mine.onerror = () => {
      if (mine !== source) return;
      mine.close();
      source = null;
      clearTimeout(retry);
      retry = setTimeout(open, 200);
    };
  }

  function show(view) {
    here();
    state.place = view.place;
    keep("place", view.place);
    if (view.labels) state.labels = view.labels;
    listeners.frame.forEach((use) => use(view));
  }

  // Everything anew: at the start, elsewhere, and when the program is there again.
  async function open() {
    clearTimeout(retry);
    const view = await ask("open");
    if (!view) return;
    if (!view.place) return away(); // It answered that it cannot answer: asked again, as if it were not there.
    show(view);
    if (!view.shut) listen();
  }

  function go(place) {
    state.place = { character: state.place.character, world: "", talk: "", held: 0, ...place };
    return open();
  }

  document.addEventListener("visibilitychange", () => {
    if (document.visibilityState === "visible") open();
    else { source?.close(); source = null; }
  });
  window.addEventListener("online", () => open());

  applyTheme();
  dark.addEventListener("change", applyTheme);
  const starting = new MutationObserver(() => {
    const frame = $("#frame");
    if (!frame) return;
    starting.disconnect();
    applyTheme(); // Gradio sets its own when it starts
    const browser = navigator.language.toLowerCase().startsWith("zh") ? "zh" : "en";
    chooseLanguage(kept("language") || frame.dataset.language || browser);
    document.dispatchEvent(new Event("moechat:frame"));
    open();
  });
  starting.observe(document.documentElement, { childList: true, subtree: true });

  // What the person gets as a file.
  function handOut(blob, name) {
    const link = Object.assign(document.createElement("a"), { href: URL.createObjectURL(blob), download: name });
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 60000);
  }

  return { $, state, kept, keep, ask, tell, go, open, handOut, listeners, toggleTheme, applyTheme, chooseLanguage };
})();
